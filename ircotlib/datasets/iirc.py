"""IIRC's official files (Ferguson et al. 2020), https://allenai.org/data/iirc"""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import Field
from rapidfuzz import fuzz

from ircotlib.data import Paragraph, Question
from ircotlib.datasets import Dataset, FullCorpus, QuestionContext, Score, drop
from ircotlib.datasets.articles import page_paragraph, read_articles, read_pages
from ircotlib.datasets.downloads import find_file
from ircotlib.datasets.fields import Record, String, Text, check, read_list
from ircotlib.datasets.pooled import digest
from ircotlib.errors import DataError

ARTICLES = "context_articles.json"  # the pages, in the folder of the questions
SOURCE = "https://allenai.org/data/iirc"
MAIN = "main"  # the name of the main passage in the contexts of a question


class _Kind(Record):
    type: Literal["span", "value", "binary", "none", "bad"]


class _Untyped(Record):
    question: Text
    answer: _Kind


class _Passage(Record):
    title: Text
    text: Text
    questions: list[object]


class _Span(Record):
    text: String


class _Spans(Record):
    answer_spans: list[_Span] = Field(min_length=1)


class _Value(Record):
    answer_value: Text
    answer_unit: String | None = None


class _Context(Record):
    passage: Text
    text: String

    @property
    def page(self) -> str:
        return self.passage.strip().lower()


class _Asking(_Untyped):
    qid: Text | None = None
    context: list[_Context]


def read_iirc(path: Path, released: bool = False) -> list[QuestionContext]:
    """The answerable questions of a file (IRCoT §4), without contexts: their pages are in
    context_articles.json in the same folder.

    Only the pages that questions refer to are held in memory. `answers`: several spans make one
    answer, written as a JSON list; a value with a unit makes two, without and with the unit.
    `kind`: the type of the answer. `gold`: for each context, the paragraph of its page that
    contains it, otherwise the most similar one; for a page without paragraphs, one that is in no
    corpus. The main passage is given and so not gold (released program), unless nothing else is.
    `released`: answers as in IRCoT's released program, values without units and all texts corrected
    by ftfy. Raises DataError, naming file, record and field, if a file is not in the official
    format or a page is missing, and FileNotFoundError without the pages. Differs from the released
    program: there, recall is 0 if only the main passage is gold.
    """
    articles = _find_articles(path)
    answerable = []
    for entry, where in read_list(path, _Passage):
        passage = page_paragraph(entry.title.strip(), entry.text.strip())
        for number, question in enumerate(entry.questions, start=1):
            at = f"{where}, question {number}"
            kind = check(question, _Untyped, at).answer.type
            # IRCoT §4: only questions that the pages answer
            if kind not in ("none", "bad"):
                answers = _read_answers(kind, question["answer"], f"{at}, field 'answer'", released)
                answerable.append((passage, check(question, _Asking, at), answers))
    wanted = {context.page for _, record, _ in answerable for context in record.context} - {MAIN}
    pages = dict(read_pages(articles, wanted))
    if missing := sorted(wanted - pages.keys()):
        expected = f"expected a page {missing[0]!r} ({len(missing)} are missing)"
        raise DataError(f"{articles}: {expected}, which {path} refers to")
    if empty := sorted(page for page in wanted if not pages[page]):
        lost = f"{len(empty)} pages have no paragraph to be gold, such as {empty[0]!r}"
        print(f"{articles}: {lost}", file=sys.stderr, flush=True)
    questions = []
    for passage, record, answers in answerable:
        # IRCoT App. B: the main passage is given, and so nothing to retrieve (their program)
        pairs = ((context.page, context.text) for context in record.context if context.page != MAIN)
        found = dict.fromkeys(_find_gold(page, pages[page], text).id for page, text in pairs)
        gold = tuple(found) or (passage.id,)
        text = record.question.strip()
        id = record.qid or f"iirc-{digest(f'{passage.id} {text}', 16)}"
        asked = Question(id, text, answers, gold, "iirc", record.answer.type, passage)
        questions.append((asked, ()))
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


def _read_answers(kind: str, answer: dict, where: str, released: bool) -> tuple[str, ...]:
    """The texts of an answer: one, or two for a value with a unit, without and with the unit."""
    mend = _mend if released else str
    if kind == "span":
        texts = [span.text.strip() for span in check(answer, _Spans, where).answer_spans]
        if not any(texts):
            expected = "expected at least one span with a text"
            raise DataError(f"{where}, field 'answer_spans': {expected}, found {texts}")
        spans = [mend(text) for text in texts if text]
        return (_one_answer(spans),)
    record = check(answer, _Value, where)
    value = record.answer_value.strip()
    unit = (record.answer_unit or "").strip()
    # their program leaves the unit out; an answer with it is as right
    if kind == "value" and unit and not released:
        return _one_answer([value]), _one_answer([f"{value} {unit}"])
    return (_one_answer([mend(value)]),)


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


_SCORES = {"f1": drop.f1, "em": drop.exact_match}
_RELEASED = {name: partial(score_as_released, score) for name, score in _SCORES.items()}
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
_AS_RELEASED = replace(_PAPER, read=partial(read_iirc, released=True), scores=_RELEASED)
DATASET = replace(_PAPER, as_released=_AS_RELEASED)
