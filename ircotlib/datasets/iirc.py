"""IIRC's official files (Ferguson et al. 2020), and DROP's scores (Dua et al. 2019)."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from html import unescape
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import RootModel
from rapidfuzz import fuzz

from ircotlib.data import REPAIR, Paragraph, Question, parse_json
from ircotlib.datasets import (
    Dataset,
    FullCorpus,
    QuestionContext,
    digest,
    make_paragraph,
)
from ircotlib.datasets.official import Record, String, Text, check, read_records
from ircotlib.errors import DataError
from ircotlib.files import need
from ircotlib.metrics import Score, against_best
from ircotlib.text import ARTICLE, NO_PUNCTUATION

ARTICLES = "context_articles.json"  # the pages, in the folder of the questions
MAIN = "main"  # the name of the main passage in the contexts of a question
_Pages = RootModel[dict[str, str]]
TAG = re.compile("</?[A-Za-z][^<>]*>")
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


class _Asking(Record):
    qid: Text | None = None
    question: Text
    answer: _Answer
    context: list[_Context] = []

    @property
    def snippets(self) -> list[tuple[str, str]]:
        """Pages and their texts, but for the main passage, which is given (App. B)."""
        pairs = [(each.passage.strip().lower(), each.text) for each in self.context]
        return [(page, text) for page, text in pairs if page != MAIN]


class _Passage(Record):
    title: Text
    text: Text
    questions: list[_Asking]


def read_iirc(path: Path, released: bool = False) -> list[QuestionContext]:
    """The answerable questions of a file (IRCoT §4), without contexts.

    Several spans are one answer, as a JSON list; a value with a unit is two, without
    and with it. `released`: values have no units, and ftfy corrects all texts. Gold is,
    for each context, the paragraph of its page that contains it or is the most similar
    (of an empty page, one that is in no corpus), and the main passage only if nothing
    else is. Differs from the released program, whose recall is then 0.
    """
    answerable = [
        (entry, asked, _read_answers(asked.answer, where, released))
        for entry, where in read_records(path, _Passage)
        for asked in entry.questions
        if asked.answer.type not in ("none", "bad")
    ]
    wanted = {page for _, asked, _ in answerable for page, _ in asked.snippets}
    pages = {title: page for title, page in read_pages(path) if title in wanted}
    missing = sorted(wanted - pages.keys())
    if missing:
        raise DataError(f"{path}: found no page {missing[0]!r} in {ARTICLES}: {REPAIR}")
    examples: list[QuestionContext] = []
    for entry, asked, answers in answerable:
        passage = page_paragraph(entry.title.strip(), entry.text.strip())
        text = asked.question.strip()
        gold = [_find_gold(page, pages[page], text).id for page, text in asked.snippets]
        question = Question(
            id=asked.qid or f"iirc-{digest(f'{passage.id} {text}', 16)}",
            text=text,
            answers=answers,
            gold=tuple(dict.fromkeys(gold)) or (passage.id,),
            dataset="iirc",
            kind=asked.answer.type,
            passage=passage,
        )
        examples.append((question, ()))
    return examples


def _find_gold(page: str, paragraphs: Sequence[Paragraph], snippet: str) -> Paragraph:
    """The first paragraph with a snippet (in any white space) or the most similar."""
    words = " ".join(snippet.split())

    def likeness(paragraph: Paragraph) -> tuple[bool, float]:
        text = " ".join(paragraph.text.split())
        return words in text, fuzz.partial_ratio(text, words)

    return max(paragraphs, key=likeness, default=page_paragraph(page, words))


def _read_answers(answer: _Answer, where: str, released: bool) -> tuple[str, ...]:
    texts = [answer.answer_value]
    if answer.type == "span":
        texts = [span.text for span in answer.answer_spans]
    texts = [text.strip() for text in texts if text.strip()]
    if not texts:
        raise DataError(f"{where}: found no text in a {answer.type} answer: {REPAIR}")
    unit = (answer.answer_unit or "").strip()
    if released:
        texts = [_mend(text) for text in texts]
    elif answer.type == "value" and unit:  # ours: an answer with the unit is as right
        return _one_answer(texts), _one_answer([f"{texts[0]} {unit}"])
    return (_one_answer(texts),)


def _one_answer(spans: list[str]) -> str:
    if len(spans) == 1 and not _is_list(spans[0]):  # not "Salem [sic]"
        return spans[0]
    return json.dumps(spans, ensure_ascii=False)


def _is_list(text: str) -> bool:
    """Whether a text is read as a list: by a bracket at one end (released program)."""
    return text.startswith("[") or text.endswith("]")


def _mend(text: str) -> str:
    """A text corrected by ftfy (released program)."""
    need("ftfy", "iirc")
    from ftfy import fix_text

    return fix_text(text)


def read_articles(path: Path) -> Iterator[Paragraph]:
    """The paragraphs of the pages beside the questions, of each page by their ids.

    They are the lines with more than 10 words, without HTML, titles in lower case
    (IRCoT App. A). Differs from the paper: that shuffles, as most gold paragraphs begin
    their page (footnote 19), and keeps both of two pages whose titles differ in case.
    """
    for _, paragraphs in read_pages(path):
        yield from sorted(paragraphs, key=lambda paragraph: paragraph.id)


def read_pages(path: Path) -> Iterator[tuple[str, list[Paragraph]]]:
    """Titles, in lower case, and distinct paragraphs of the pages beside the questions.
    Of equal titles, the first page counts.
    """
    path = path.with_name(ARTICLES)
    # the HTML of pages, by title
    pages = check(parse_json(path.read_bytes(), str(path)), _Pages, str(path)).root
    seen = set()
    for name, html in pages.items():
        title = name.strip().lower()
        if title not in seen:
            text = unescape(TAG.sub("", html))
            lines = dict.fromkeys(line.strip() for line in text.split("\n"))
            long = [line for line in lines if len(line.split()) > 10]
            yield title, [page_paragraph(title, line) for line in long]
        seen.add(title)


def page_paragraph(title: str, text: str) -> Paragraph:
    """A paragraph with 16 digits of hashes: with 8, two of two million may be equal."""
    paragraph = make_paragraph(title, text)
    return replace(paragraph, id=paragraph.id + digest(f"{text}\n{title}", 8))


@against_best
def exact_match(prediction: str, answer: str) -> float:
    """1.0 if both have the same normalised spans, in any order (DROP's scorer)."""
    predicted, gold = _spans(prediction), _spans(answer)
    return float(set(predicted) == set(gold) and len(predicted) == len(gold))


@against_best
def f1(prediction: str, answer: str) -> float:
    """The F1 of the words of spans, paired for the greatest sum (DROP's scorer).

    The sum is divided by the number of spans on the longer side, and has two decimals.
    A word counts once, unlike in SQuAD's scorer.
    """
    from scipy.optimize import linear_sum_assignment  # takes a while to import

    predicted = [set(span.split()) for span in _spans(prediction)]
    gold = [set(span.split()) for span in _spans(answer)]
    scores = np.array([[_span_f1(words, span) for words in predicted] for span in gold])
    total = scores[linear_sum_assignment(scores, maximize=True)].sum()
    return float(np.round(total / max(scores.shape), 2))


def _span_f1(predicted: set[str], answer: set[str]) -> float:
    # DROP's scorer: of the answer's numbers, one must be there, or nothing counts
    numbers = {word for word in answer if _is_number(word)}
    if numbers and not numbers & predicted:
        return 0.0
    if not predicted or not answer:
        return float(predicted == answer)
    if not predicted & answer:
        return 0.0
    precision = len(predicted & answer) / len(predicted)
    recall = len(predicted & answer) / len(answer)
    return 2 * precision * recall / (precision + recall)


def _spans(text: str) -> list[str]:
    """The normalised items of a list, or the whole text."""
    text = text.strip()
    if not _is_list(text):
        return [_normalise(text)]
    try:
        spans = json.loads(text)
    except (ValueError, RecursionError):  # a list as the model wrote it
        spans = text.translate(WITHOUT_LIST_MARKS).split(",")  # released program
    if not isinstance(spans, list) or not spans:
        return [""]
    return [_normalise(str(span)) for span in spans]


def _normalise(text: str) -> str:
    """The words between spaces and hyphens: numbers by value, others as in SQuAD.

    >>> _normalise("The 53-year-old's 1e3 $1.50")
    '53.0 year olds 1000.0 150.0'
    """
    normal = []
    for word in re.split("[ -]", text.lower()):
        if not _is_number(word):
            word = word.translate(NO_PUNCTUATION)
        if _is_number(word):  # "$1.50" only now
            word = str(float(word))
        normal.append(ARTICLE.sub(" ", word))
    return " ".join(" ".join(normal).split())


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def score_as_released(score: Score, prediction: str, answers: Sequence[str]) -> float:
    """A score as the released program corrects it: a list is split at every comma."""
    spans = [prediction]
    if _is_list(prediction.strip()):
        spans = prediction.translate(WITHOUT_LIST_MARKS).split(",")
    return score(json.dumps([_mend(span) for span in spans]), answers)


SCORES: dict[str, Score] = {"f1": f1, "em": exact_match}
PAGES = FullCorpus("iirc", (ARTICLES,), count=1_882_415, read=read_articles)
IIRC = Dataset(
    name="iirc",
    title="IIRC",
    files=("dev.json",),
    read=read_iirc,
    scores=SCORES,
    full_corpus=PAGES,
    read_paragraphs=read_articles,
    order=4,
)
RELEASED = replace(
    IIRC,
    read=partial(read_iirc, released=True),
    scores={name: partial(score_as_released, score) for name, score in SCORES.items()},
)
DATASETS = [replace(IIRC, as_released=RELEASED)]
