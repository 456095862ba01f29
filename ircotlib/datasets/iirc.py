"""IIRC's official files (Ferguson et al. 2020), and its scores, DROP's (Dua et al.
2019).
"""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal

import numpy as np
from rapidfuzz import fuzz

from ircotlib.data import Paragraph, Question
from ircotlib.datasets import (
    Dataset,
    FullCorpus,
    QuestionContext,
    Score,
    digest,
    make_paragraph,
)
from ircotlib.datasets.official import AGAIN, Record, String, Text, read_records, stream
from ircotlib.errors import DataError
from ircotlib.metrics import against_best
from ircotlib.text import ARTICLE, NO_PUNCTUATION

ARTICLES = "context_articles.json"  # the pages, in the folder of the questions
SOURCE = "https://allenai.org/data/iirc"
MAIN = "main"  # the name of the main passage in the contexts of a question
WITHOUT_LIST_MARKS = str.maketrans("", "", '"[]')


class _Span(Record):
    text: String


class _Answer(Record):
    type: Literal["span", "value", "binary", "none", "bad"]
    answer_spans: list[_Span] = []
    answer_value: String = ""
    answer_unit: String | None = None


class _Context(Record):
    passage: Text
    text: String

    @property
    def page(self) -> str:
        return self.passage.strip().lower()


class _Asking(Record):
    qid: Text | None = None
    question: Text
    answer: _Answer
    context: list[_Context] = []


class _Passage(Record):
    title: Text
    text: Text
    questions: list[_Asking]


def read_iirc(path: Path, released: bool = False) -> list[QuestionContext]:
    """The answerable questions of a file (IRCoT §4), without contexts.

    `answers`: several spans make one answer, written as a JSON list; a value with a
    unit makes two, without and with the unit. `gold`: for each context, the paragraph
    of its page that contains it, otherwise the most similar one; for a page without
    paragraphs, one that is in no corpus. The main passage is given and so not gold
    (released program), unless nothing else is. `released`: answers as in IRCoT's
    released program, values without units and all texts corrected by ftfy. Differs from
    the released program: there, recall is 0 if only the main passage is gold.
    """
    answerable = []
    for entry, where in read_records(path, _Passage):
        passage = page_paragraph(entry.title.strip(), entry.text.strip())
        # IRCoT §4: only questions that the pages answer
        for asked in (
            each for each in entry.questions if each.answer.type not in ("none", "bad")
        ):
            answerable.append(
                (passage, asked, _read_answers(asked.answer, where, released))
            )
    wanted = {
        context.page for _, asked, _ in answerable for context in asked.context
    } - {MAIN}
    pages = dict(read_pages(path, wanted))
    if missing := wanted - pages.keys():
        raise DataError(
            f"{path}: found no page {min(missing)!r} in {ARTICLES}: {AGAIN}"
        )
    questions = []
    for passage, asked, answers in answerable:
        # IRCoT App. B: the main passage is given, and so nothing to retrieve (their
        # program)
        pairs = (
            (context.page, context.text)
            for context in asked.context
            if context.page != MAIN
        )
        found = dict.fromkeys(
            _find_gold(page, pages[page], text).id for page, text in pairs
        )
        text, gold = asked.question.strip(), tuple(found) or (passage.id,)
        id = asked.qid or f"iirc-{digest(f'{passage.id} {text}', 16)}"
        question = Question(id, text, answers, gold, "iirc", asked.answer.type, passage)
        questions.append((question, ()))
    return questions


def _find_gold(page: str, paragraphs: Sequence[Paragraph], snippet: str) -> Paragraph:
    """The first paragraph with a snippet, in any white space, or else the most similar
    one.
    """
    words = " ".join(snippet.split())

    def likeness(paragraph: Paragraph) -> tuple[bool, float]:
        text = " ".join(paragraph.text.split())
        return words in text, fuzz.partial_ratio(text, words)

    return max(paragraphs, key=likeness, default=page_paragraph(page, words))


def _read_answers(answer: _Answer, where: str, released: bool) -> tuple[str, ...]:
    is_span = answer.type == "span"
    texts = (
        [span.text for span in answer.answer_spans]
        if is_span
        else [answer.answer_value]
    )
    if not (texts := [text.strip() for text in texts if text.strip()]):
        raise DataError(
            f"{where}: found no text in an answer of type {answer.type}: {AGAIN}"
        )
    unit = (answer.answer_unit or "").strip()
    # their program leaves the unit out; an answer with it is as right
    if answer.type == "value" and unit and not released:
        return _one_answer(texts), _one_answer([f"{texts[0]} {unit}"])
    return (_one_answer([*map(_mend, texts)] if released else texts),)


def _one_answer(spans: list[str]) -> str:
    # else "Salem [sic]" would be read as a list
    alone = len(spans) == 1 and not _is_list(spans[0])
    return spans[0] if alone else json.dumps(spans, ensure_ascii=False)


def _is_list(text: str) -> bool:
    """Whether a text is read as a list: by a bracket at one end (released program)."""
    return text.startswith("[") or text.endswith("]")


def _mend(text: str) -> str:
    from ftfy import fix_text  # slow to import, and few runs need it

    return fix_text(text)


def read_articles(path: Path) -> Iterator[Paragraph]:
    """The paragraphs of the pages beside the questions: the lines with more than 10
    words, without HTML, titles in lower case (IRCoT App. A), in the order of their ids.
    Differs from the paper: that shuffles, and keeps both of two pages whose titles
    differ in case.
    """
    for _, paragraphs in read_pages(path):
        # IRCoT App. A, footnote 19: most gold paragraphs begin their page, so the paper
        # shuffles
        yield from sorted(paragraphs, key=lambda paragraph: paragraph.id)


def read_pages(
    path: Path, wanted: Collection[str] | None = None
) -> Iterator[tuple[str, list[Paragraph]]]:
    """The titles, in lower case, and the distinct paragraphs of the pages beside the
    questions.
    """
    path, seen = Path(path).with_name(ARTICLES), set()
    for name, html in stream(path, by_key=True):
        title = name.strip().lower()
        if title not in seen and (wanted is None or title in wanted):
            lines = dict.fromkeys(line.strip() for line in page_lines(html))
            # released program
            long = (line for line in lines if len(line.split()) > 10)
            yield title, [page_paragraph(title, line) for line in long]
        seen.add(title)
    if not seen:
        raise DataError(
            f"{path}: found no page, expected one JSON object {{title: HTML}}: {AGAIN}"
        )


def page_paragraph(title: str, text: str) -> Paragraph:
    """A paragraph whose id has 16 digits of a hash: with 8, two of two million could be
    equal.
    """
    paragraph = make_paragraph(title, text)
    return replace(paragraph, id=paragraph.id + digest(f"{text}\n{title}", 8))


def page_lines(html: str) -> list[str]:
    """The lines of a page as text, without tags, comments, scripts, styles (IRCoT App.
    A).
    """
    parser = _Text()
    parser.feed(html.replace("<![", "&lt;!["))  # a marked section would be refused
    parser.close()
    return "".join(parser.pieces).split("\n")


class _Text(HTMLParser):
    def reset(self) -> None:
        super().reset()
        self.pieces: list[str] = []

    def handle_data(self, data: str) -> None:
        if self.cdata_elem not in ("script", "style"):
            self.pieces.append(data)


@against_best
def exact_match(prediction: str, answer: str) -> float:
    """1.0 if both have the same normalised spans, in any order (official scorer of
    DROP).
    """
    predicted, gold = _spans(prediction), _spans(answer)
    return float(set(predicted) == set(gold) and len(predicted) == len(gold))


@against_best
def f1(prediction: str, answer: str) -> float:
    """The word F1 of sets of words (official scorer of DROP), of spans paired for the
    greatest sum, divided by the number of spans on the longer side and rounded to two
    decimals.
    """
    from scipy.optimize import linear_sum_assignment  # takes a while to import

    # SQuAD's scorer compares bags of words
    predicted = [set(span.split()) for span in _spans(prediction)]
    gold = [set(span.split()) for span in _spans(answer)]
    scores = np.array(
        [[_span_f1(words, wanted) for words in predicted] for wanted in gold]
    )
    total = scores[linear_sum_assignment(scores, maximize=True)].sum()
    return float(np.round(total / max(scores.shape), 2))


def _span_f1(predicted: set[str], answer: set[str]) -> float:
    # DROP's scorer: of the answer's numbers, one must be there, or nothing counts
    numbers = set(filter(_is_number, answer))
    if numbers and not numbers & predicted:
        return 0.0
    if not predicted or not answer:
        return float(predicted == answer)
    precision, recall = (
        len(predicted & answer) / len(words) for words in (predicted, answer)
    )
    return 2 * precision * recall / (precision + recall) if precision else 0.0


def _spans(text: str) -> list[str]:
    """The normalised items of a list, or the whole text."""
    text = text.strip()
    if not _is_list(text):
        return [_normalise(text)]
    try:
        spans = json.loads(text)
    # as IRCoT's program reads a list that the model wrote
    except (ValueError, RecursionError):
        spans = text.translate(WITHOUT_LIST_MARKS).split(",")
    spans = spans if isinstance(spans, list) and spans else [""]
    return [_normalise(str(span)) for span in spans]


def _normalise(text: str) -> str:
    """The words between spaces and hyphens: numbers by value, others as in SQuAD
    (DROP).
    """
    normal = []
    for word in re.split("[ -]", text.lower()):
        if not _is_number(word):
            word = word.translate(NO_PUNCTUATION)
        word = str(float(word)) if _is_number(word) else word
        normal.append(ARTICLE.sub(" ", word))
    return " ".join(" ".join(normal).split())


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def score_as_released(score: Score, prediction: str, answers: Sequence[str]) -> float:
    """A score as IRCoT's released program corrects it: a list is split at every comma."""
    bare = prediction.translate(WITHOUT_LIST_MARKS)
    spans = bare.split(",") if _is_list(prediction.strip()) else [prediction]
    return score(json.dumps([*map(_mend, spans)]), answers)


_SCORES = {"f1": f1, "em": exact_match}
_PAPER = Dataset(
    name="iirc",
    title="IIRC",
    files=("dev.json",),
    source=SOURCE,
    read=read_iirc,
    scores=_SCORES,
    full_corpus=FullCorpus(
        "iirc", (ARTICLES,), SOURCE, count=1_882_415, read=read_articles
    ),
    read_paragraphs=read_articles,
    order=4,
)
_RELEASED = {name: partial(score_as_released, score) for name, score in _SCORES.items()}
_AS_RELEASED = replace(_PAPER, read=partial(read_iirc, released=True), scores=_RELEASED)
DATASET = replace(_PAPER, as_released=_AS_RELEASED)
