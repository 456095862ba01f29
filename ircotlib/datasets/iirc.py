"""IIRC's official files (Ferguson et al. 2020), https://allenai.org/data/iirc"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rapidfuzz import fuzz

from ircotlib.data import Paragraph, Question
from ircotlib.datasets import Dataset, FullCorpus, Score
from ircotlib.datasets.articles import page_paragraph, read_articles, read_pages
from ircotlib.datasets.fields import excerpt, field, read_json_list
from ircotlib.datasets.pooled import digest
from ircotlib.metrics import drop_exact_match, drop_f1

ARTICLES = "context_articles.json"  # the pages, beside the questions
SOURCE = "https://allenai.org/data/iirc"
UNANSWERED = ("none", "bad")  # types of answers outside the answerable subset
MAIN = "main"  # what the contexts of a question call its main passage


class _Asked(NamedTuple):
    """A question of a file: its main passage, its record, and where it stands."""

    passage: Paragraph
    record: dict
    where: str


def read_iirc(path: Path, released: bool = False) -> list[tuple[Question, tuple[Paragraph, ...]]]:
    """The answerable questions of a file (IRCoT §4), each without a context: their pages lie beside
    the file, in context_articles.json.

    Only the pages that questions refer to are held in memory. `answers`: several spans are one
    answer, written as a JSON list; a value is followed by the value with its unit. `kind`: the type
    of the answer. `gold`: for each context the paragraph of its page that contains it, else the one
    most like it; where the page has no paragraph, one that is in no corpus. The main passage is
    always there and therefore not gold (released program), unless nothing else is. `released`: as
    IRCoT's released program takes answers, values without their units and every text through ftfy.
    Raises ValueError naming file, record and field where a file is not in the official format or a
    page is missing. Differs from the released program: where only the main passage is gold, its
    recall is 0.
    """
    articles = _find_articles(path)
    asked = list(_read_asked(path))
    wanted = {
        _page(context, question.where)
        for question in asked
        for context in field(question.record, "context", list, question.where)
    } - {MAIN}
    pages = dict(read_pages(articles, wanted))
    if missing := sorted(wanted - pages.keys()):
        raise ValueError(
            f"{articles}: expected a page {missing[0]!r} ({len(missing)} are missing), which"
            f" {path} refers to"
        )
    return [(_read_question(question, pages, released), ()) for question in asked]


def _find_articles(questions: Path) -> Path:
    path = Path(questions).with_name(ARTICLES)
    if not path.is_file():
        raise FileNotFoundError(
            f"no pages of iirc: looked for {path}; get {ARTICLES} from {SOURCE} and put it there"
        )
    return path


def _read_asked(path: Path) -> Iterator[_Asked]:
    """Each answerable question."""
    for number, record in enumerate(read_json_list(path), start=1):
        where = f"{path}, record {number}"
        passage = page_paragraph(
            field(record, "title", str, where).strip(), field(record, "text", str, where).strip()
        )
        for place, question in enumerate(field(record, "questions", list, where), start=1):
            at = f"{where}, question {place}"
            field(question, "question", str, at)
            kind = field(question.get("answer"), "type", str, f"{at}, field 'answer'")
            if kind not in UNANSWERED:
                yield _Asked(passage, question, at)


def _read_question(
    asked: _Asked, pages: Mapping[str, Sequence[Paragraph]], released: bool
) -> Question:
    passage, record, where = asked
    text = record["question"].strip()
    if record.get("qid") is not None:
        id = field(record, "qid", str, where)
    else:
        id = f"iirc-{digest(f'{passage.id} {text}', 16)}"
    answers = _read_answers(record["answer"], f"{where}, field 'answer'", released)
    gold = {}
    for context in record["context"]:
        page = _page(context, where)
        snippet = field(context, "text", str, f"{where}, field 'context'")
        if page != MAIN:
            gold[_find_gold(page, pages[page], snippet).id] = None
    gold = tuple(gold) or (passage.id,)
    return Question(id, text, answers, gold, "iirc", record["answer"]["type"], passage)


def _page(context: object, where: str) -> str:
    return field(context, "passage", str, f"{where}, field 'context'").strip().lower()


def _find_gold(page: str, paragraphs: Sequence[Paragraph], snippet: str) -> Paragraph:
    """The first paragraph of a page that contains a snippet, but for white space, else the one most
    like it (released program).
    """
    words = " ".join(snippet.split())
    texts = [" ".join(paragraph.text.split()) for paragraph in paragraphs]
    if not texts:
        return page_paragraph(page, words)
    best = max(
        range(len(texts)),
        key=lambda place: (words in texts[place], fuzz.partial_ratio(texts[place], words), -place),
    )
    return paragraphs[best]


def _read_answers(answer: dict, where: str, released: bool) -> tuple[str, ...]:
    """The texts of an answer: one, and for a value with a unit another."""
    mend = _mend if released else str
    match answer["type"]:
        case "span":
            spans = [mend(span) for span in _read_spans(answer, where)]
            return (spans[0] if len(spans) == 1 else json.dumps(spans, ensure_ascii=False),)
        case "value":
            value = field(answer, "answer_value", str, where).strip()
            unit = (answer.get("answer_unit") or "").strip()
            return (value, f"{value} {unit}") if unit and not released else (mend(value),)
        case "binary":
            return (mend(field(answer, "answer_value", str, where).strip()),)
        case kind:
            raise ValueError(
                f"{where}, field 'type': expected one of span, value, binary, none, found"
                f" {kind!r}: is it IIRC's file?"
            )


def _read_spans(answer: dict, where: str) -> list[str]:
    spans = field(answer, "answer_spans", list, where)
    where = f"{where}, field 'answer_spans'"
    texts = [field(span, "text", str, where) for span in spans]
    if not any(text.strip() for text in texts):
        raise ValueError(f"{where}: expected at least one span with a text, found {excerpt(texts)}")
    return [text.strip() for text in texts if text.strip()]


def _mend(text: str) -> str:
    """A text with its encoding mended and its quotation marks straight, as by ftfy (released
    program: answers and predictions, before they are scored).
    """
    from ftfy import fix_text  # which takes a while to import, and few runs need

    return fix_text(text)


def score_as_released(score: Score, prediction: str, answers: Sequence[str]) -> float:
    """A score of a prediction that was cut and mended as in IRCoT's released program, which cuts a
    list at every comma, JSON or not.
    """
    listed = prediction.strip().startswith("[") or prediction.strip().endswith("]")
    bare = prediction.translate(str.maketrans("", "", '"[]'))
    spans = bare.split(",") if listed else [prediction]
    return score(json.dumps([_mend(span) for span in spans]), answers)


_SCORES = {"f1": drop_f1, "em": drop_exact_match}
_PAPER = Dataset(
    name="iirc",
    title="IIRC",
    files=("dev.json",),
    source=SOURCE,
    read=read_iirc,
    scores=_SCORES,
    full=FullCorpus(
        name="iirc",
        files=(ARTICLES,),
        source=f"{SOURCE} (in https://iirc-dataset.s3.us-west-2.amazonaws.com/"
        "context_articles.tar.gz)",
        count=1_882_415,
        read=read_articles,
    ),
    paragraphs=lambda path: read_articles(_find_articles(path)),
    order=4,
)
_RELEASED = replace(
    _PAPER,
    read=partial(read_iirc, released=True),
    scores={name: partial(score_as_released, score) for name, score in _SCORES.items()},
)
DATASET = replace(_PAPER, released=_RELEASED)
