"""HotpotQA's official files (Yang et al. 2018), https://hotpotqa.github.io"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ircotlib.data import GoldStep, Paragraph, Question
from ircotlib.datasets import Dataset, QuestionContext
from ircotlib.datasets.abstracts import ABSTRACTS
from ircotlib.datasets.fields import List, Record, String, Text, read_list
from ircotlib.datasets.full import find_ids
from ircotlib.datasets.pooled import digest, make_paragraph
from ircotlib.errors import DataError
from ircotlib.metrics import cover_em, exact_match, hotpotqa_f1


class Contexts(Record):
    """The context of a question: a list of paragraphs [title, [sentence, ...]]."""

    context: list[Annotated[tuple[String, list[String]], List]]


class _Supported(Record):
    # a list of [title, number of the sentence]
    supporting_facts: list[Annotated[tuple[String, int], List]] = Field(min_length=1)


class Asking(Contexts, _Supported):
    """The fields that questions of HotpotQA and 2WikiMultihopQA have in common."""

    id: Text | None = Field(alias="_id")
    question: Text
    answer: Text
    type: str


class _Asking(Asking):
    type: Literal["bridge", "comparison"]


def read_hotpotqa(path: Path, corpus_ids: Mapping[str, str] | None = None) -> list[QuestionContext]:
    """The questions of a file, each with its context paragraphs, in order (IRCoT §4).

    `corpus_ids`: the corpus's ids by title, of which gold ids are then taken: for the full corpus
    and the fullwiki setting, whose contexts lack gold paragraphs. None: those of the context. A
    question whose `_id` is null gets an id made from its text. Raises DataError, naming file,
    record and field, if the file is not in the official format or a gold title is not found.
    """
    records = read_list(path, _Asking)
    return [read_asked(record, where, "hotpotqa", "", corpus_ids) for record, where in records]


def find_gold_ids(path: Path, corpus: Iterable[Paragraph]) -> dict[str, str]:
    """The `corpus_ids` of read_hotpotqa, of the paragraphs that support a file's questions."""
    facts = (fact for record, _ in read_list(path, _Supported) for fact in record.supporting_facts)
    return find_ids(corpus, [title for title, _ in facts])


def read_asked(
    record: Asking,
    where: str,
    dataset: str,
    separator: str,
    corpus_ids: Mapping[str, str] | None = None,
) -> QuestionContext:
    """A question in the format of HotpotQA and 2WikiMultihopQA; `separator` joins sentences."""
    context = read_context(record, separator)
    if corpus_ids is None:  # the first of several with the same title
        corpus_ids = {paragraph.title: paragraph.id for paragraph in reversed(context)}
    titles = [title for title, _ in record.supporting_facts]
    if missing := [title for title in titles if title not in corpus_ids]:
        expected = "expected titles of paragraphs in the context (fullwiki: in corpus_ids)"
        wrong = f"{expected}, found {missing[0]!r}: is it a fullwiki file? Then pass corpus_ids"
        raise DataError(f"{where}, field 'supporting_facts': {wrong}")
    # IRCoT §4.1: whole paragraphs are gold, not the sentences that the file names in them
    gold = tuple(dict.fromkeys(corpus_ids[title] for title in titles))
    id = record.id or f"{dataset}-{digest(record.question, 16)}"
    stated = {"kind": record.type, "steps": _read_steps(record, corpus_ids)}
    return Question(id, record.question, (record.answer,), gold, dataset, **stated), context


def _read_steps(record: Asking, corpus_ids: Mapping[str, str]) -> tuple[GoldStep, ...]:
    """A step for each supporting sentence, without a sub-question; () if one is not in the context,
    as in the fullwiki setting.
    """
    texts = {title: parts for title, parts in reversed(record.context)}
    facts = dict.fromkeys(record.supporting_facts)
    pairs = [(title, texts.get(title, [])[n : n + 1]) for title, n in facts if n >= 0]
    stated = [(title, part[0].strip()) for title, part in pairs if part and part[0].strip()]
    if {title for title, _ in stated} != {title for title, _ in facts}:
        return ()
    return tuple(GoldStep("", "", (corpus_ids[t],), t, t, sentence) for t, sentence in stated)


def read_context(record: Contexts, separator: str) -> tuple[Paragraph, ...]:
    """The paragraphs of a record's context, in order; `separator` joins the sentences of each."""
    pairs = record.context
    return tuple(make_paragraph(title, separator.join(parts).strip()) for title, parts in pairs)


DATASET = Dataset(
    name="hotpotqa",
    title="HotpotQA",
    files=("hotpot_dev_distractor_v1.json", "dev_distractor_498.json"),
    source="https://hotpotqa.github.io",
    read=read_hotpotqa,
    scores={"f1": hotpotqa_f1, "em": exact_match, "cover_em": cover_em},
    full_corpus=ABSTRACTS,
    # abstracts may differ from the contexts in text, so gold paragraphs are found by title
    read_with_corpus=lambda path, corpus: read_hotpotqa(path, find_gold_ids(path, corpus)),
    order=1,
)
