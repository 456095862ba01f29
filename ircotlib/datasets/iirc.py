"""IIRC's official files (Ferguson et al. 2020), https://allenai.org/data/iirc"""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal

import ijson
from rapidfuzz import fuzz

from ircotlib.data import Paragraph, Question
from ircotlib.datasets import Dataset, FullCorpus, QuestionContext, Score, drop
from ircotlib.datasets.official import AGAIN, Record, String, Text, find_file, read_records, stream
from ircotlib.datasets.pooled import digest, make_id
from ircotlib.errors import DataError

ARTICLES = "context_articles.json"  # the pages, in the folder of the questions
SOURCE = "https://allenai.org/data/iirc"
MAIN = "main"  # the name of the main passage in the contexts of a question
# needs no parser: everything between these tags is text
SIMPLE_TAG = re.compile(r"""</?(?:a|b|br|i|li|ol|p|ul)(?: [a-z]+="[^"<>]*")*>""")


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
    """The answerable questions of a file (IRCoT §4), without contexts: their pages are in
    context_articles.json in the same folder.

    `answers`: several spans make one answer, written as a JSON list; a value with a unit makes two,
    without and with the unit. `kind`: the type of the answer. `gold`: for each context, the
    paragraph of its page that contains it, otherwise the most similar one; for a page without
    paragraphs, one that is in no corpus. The main passage is given and so not gold (released
    program), unless nothing else is. `released`: answers as in IRCoT's released program, values
    without units and all texts corrected by ftfy. Differs from the released program: there, recall
    is 0 if only the main passage is gold.
    """
    answerable = []
    for entry, where in read_records(path, _Passage):
        passage = page_paragraph(entry.title.strip(), entry.text.strip())
        # IRCoT §4: only questions that the pages answer
        for asked in (each for each in entry.questions if each.answer.type not in ("none", "bad")):
            answerable.append((passage, asked, _read_answers(asked.answer, where, released)))
    wanted = {context.page for _, asked, _ in answerable for context in asked.context} - {MAIN}
    articles = _find_articles(path)
    pages = dict(read_pages(articles, wanted))
    if missing := sorted(wanted - pages.keys()):
        lost = f"{path} names {len(missing)} pages that are not there, such as {missing[0]!r}"
        raise DataError(f"{articles}: {lost}: {AGAIN}")
    questions = []
    for passage, asked, answers in answerable:
        # IRCoT App. B: the main passage is given, and so nothing to retrieve (their program)
        pairs = ((context.page, context.text) for context in asked.context if context.page != MAIN)
        found = dict.fromkeys(_find_gold(page, pages[page], text).id for page, text in pairs)
        text = asked.question.strip()
        id = asked.qid or f"iirc-{digest(f'{passage.id} {text}', 16)}"
        gold = tuple(found) or (passage.id,)
        question = Question(id, text, answers, gold, "iirc", asked.answer.type, passage)
        questions.append((question, ()))
    return questions


def _find_articles(questions: Path) -> Path:
    return find_file("pages of iirc", [ARTICLES], [Path(questions).parent], SOURCE)


def _find_gold(page: str, paragraphs: Sequence[Paragraph], snippet: str) -> Paragraph:
    """The first paragraph with a snippet, in any white space, or else the most similar one."""
    words = " ".join(snippet.split())

    def likeness(paragraph: Paragraph) -> tuple[bool, float]:
        text = " ".join(paragraph.text.split())
        return words in text, fuzz.partial_ratio(text, words)

    return max(paragraphs, key=likeness, default=page_paragraph(page, words))


def _read_answers(answer: _Answer, where: str, released: bool) -> tuple[str, ...]:
    """The texts of an answer: one, or two for a value with a unit, without and with the unit."""
    is_span = answer.type == "span"
    texts = [span.text for span in answer.answer_spans] if is_span else [answer.answer_value]
    if not (texts := [text.strip() for text in texts if text.strip()]):
        raise DataError(f"{where}: found no text in an answer of type {answer.type}: {AGAIN}")
    unit = (answer.answer_unit or "").strip()
    # their program leaves the unit out; an answer with it is as right
    if answer.type == "value" and unit and not released:
        return _one_answer(texts), _one_answer([f"{texts[0]} {unit}"])
    return (_one_answer([*map(_mend, texts)] if released else texts),)


def _one_answer(spans: list[str]) -> str:
    """The text of an answer: its only span, or a JSON list of several, or of one that would be read
    as a list by itself, such as "Salem [sic]".
    """
    alone = len(spans) == 1 and not (spans[0].startswith("[") or spans[0].endswith("]"))
    return spans[0] if alone else json.dumps(spans, ensure_ascii=False)


def _mend(text: str) -> str:
    """A text with its encoding and quotation marks corrected by ftfy (released program)."""
    from ftfy import fix_text  # slow to import, and few runs need it

    return fix_text(text)


def score_as_released(score: Score, prediction: str, answers: Sequence[str]) -> float:
    """The score of a prediction as IRCoT's released program splits and corrects it: a list at every
    comma, whether it is JSON or not.
    """
    listed = prediction.strip().startswith("[") or prediction.strip().endswith("]")
    bare = prediction.translate(str.maketrans("", "", '"[]'))
    spans = bare.split(",") if listed else [prediction]
    return score(json.dumps([_mend(span) for span in spans]), answers)


def read_articles(path: Path) -> Iterator[Paragraph]:
    """The paragraphs of the pages in context_articles.json: the lines with more than 10 words,
    without HTML, titles in lower case (IRCoT App. A).

    Repeated lines of a page and repeated titles count once. Pages are in the order of the file, the
    paragraphs of a page in that of their ids, which does not reveal their places on it. Differs
    from the paper: that shuffles, and keeps both of two pages whose titles differ in case.
    """
    for _, paragraphs in read_pages(path):
        # IRCoT App. A, footnote 19: most gold paragraphs begin their page, so the paper shuffles
        yield from sorted(paragraphs, key=lambda paragraph: paragraph.id)


def read_pages(
    path: Path, wanted: Collection[str] | None = None
) -> Iterator[tuple[str, list[Paragraph]]]:
    """Yield the title, in lower case, and the distinct paragraphs of each page, in the order of
    file and page. `wanted`: titles in lower case; None: all pages.
    """
    seen = set()
    for name, html in stream(path, ijson.kvitems, ""):
        title = name.strip().lower()
        if title not in seen and (wanted is None or title in wanted):
            lines = dict.fromkeys(line.strip() for line in page_lines(html))
            long = (line for line in lines if len(line.split()) > 10)  # released program
            yield title, [page_paragraph(title, line) for line in long]
        seen.add(title)
    if not seen:
        raise DataError(f"{path}: expected one JSON object {{title: HTML}}, found no page: {AGAIN}")


def page_paragraph(title: str, text: str) -> Paragraph:
    """A paragraph whose id has 16 digits of a hash: with 8, two of two million could be equal."""
    return Paragraph(make_id(title, text) + digest(f"{text}\n{title}", 8), title, text)


def page_lines(html: str) -> list[str]:
    """The lines of a page as text, without tags, comments, scripts, styles (IRCoT App. A)."""
    pieces = SIMPLE_TAG.split(html)
    if not any("<" in piece for piece in pieces):
        return "".join(map(unescape, pieces)).split("\n")
    parser = _Text(convert_charrefs=True)  # reads any HTML, at a tenth of the speed
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


_SCORES = {"f1": drop.f1, "em": drop.exact_match}
_PAPER = Dataset(
    name="iirc",
    title="IIRC",
    files=("dev.json",),
    source=SOURCE,
    read=read_iirc,
    scores=_SCORES,
    full_corpus=FullCorpus(
        name="iirc",
        files=(ARTICLES,),
        source=f"{SOURCE} (https://iirc-dataset.s3.us-west-2.amazonaws.com/context_articles.tar.gz)",
        count=1_882_415,
        read=read_articles,
    ),
    read_paragraphs=lambda path: read_articles(_find_articles(path)),
    order=4,
)
_AS_RELEASED = replace(
    _PAPER,
    read=partial(read_iirc, released=True),
    scores={name: partial(score_as_released, score) for name, score in _SCORES.items()},
)
DATASET = replace(_PAPER, as_released=_AS_RELEASED)
