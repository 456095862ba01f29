"""The files of HotpotQA (Yang et al. 2018) and 2WikiMultihopQA (Ho et al. 2020)."""

import bz2
import html
import tarfile
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import Field

from ircotlib.data import REPAIR, GoldStep, Paragraph, Question, read_objects
from ircotlib.datasets import (
    Dataset,
    FullCorpus,
    QuestionContext,
    digest,
    make_paragraph,
)
from ircotlib.datasets.official import Record, String, Text, check, read_records
from ircotlib.errors import DataError
from ircotlib.metrics import cover_em, exact_match, hotpotqa_f1

# of folders AA, AB, ... with wiki_00.bz2 to wiki_99.bz2
FOLDER = "enwiki-20171001-pages-meta-current-withlinks-abstracts"
ARCHIVE = f"{FOLDER}.tar.bz2"
ALIASES = "id_aliases.json"  # JSON lines, beside 2WikiMultihopQA's questions


class _Contexts(Record):
    context: list[tuple[String, list[String]]]  # titles and sentences

    def paragraphs(self, separator: str) -> tuple[Paragraph, ...]:
        return tuple(
            make_paragraph(title, separator.join(sentences).strip())
            for title, sentences in self.context
        )


class _Asking(_Contexts):
    id: Text | None = Field(alias="_id")
    question: Text
    answer: Text
    type: str
    # titles and numbers of sentences, from 0
    supporting_facts: list[tuple[String, int]] = Field(min_length=1)
    # of 2WikiMultihopQA; evidences are subjects, relations and objects
    answer_id: String | None = None
    evidences: list[tuple[String, String, String]] = []

    @property
    def supporting_titles(self) -> list[str]:
        return list(dict.fromkeys(title for title, _ in self.supporting_facts))


class _Names(Record):
    Q_id: Text
    aliases: list[String]
    demonyms: list[String]


class _Abstract(Record):
    title: String
    text: list[String]  # sentences


def read_hotpotqa(
    path: Path, corpus: Iterable[Paragraph] | None = None
) -> list[QuestionContext]:
    """The questions of a file with their context paragraphs, in order (IRCoT §4).

    Gold are those of the context or, by title, those of the full `corpus`, whose texts
    may differ.
    """
    corpus_ids = None if corpus is None else find_gold_ids(path, corpus)
    return [
        _read_question(record, where, "hotpotqa", "", corpus_ids)
        for record, where in read_records(path, _Asking)
    ]


def find_gold_ids(path: Path, corpus: Iterable[Paragraph]) -> dict[str, str]:
    """The ids of gold paragraphs by title, from one pass over the corpus: of the first
    with a title, also in another encoding ("&amp;", accents apart).
    """
    plain: dict[str, str] = {}
    for record, _ in read_records(path, _Asking):
        plain.update({title: _plain(title) for title in record.supporting_titles})
    ids: dict[str, str] = dict.fromkeys(plain.values(), "")
    for paragraph in corpus:
        title = _plain(paragraph.title)
        if ids.get(title) == "":
            ids[title] = paragraph.id
    return {title: ids[name] for title, name in plain.items() if ids[name]}


def _plain(title: str) -> str:
    return unicodedata.normalize("NFC", html.unescape(title))


def _read_question(
    record: _Asking,
    where: str,
    dataset: str,
    separator: str,
    corpus_ids: Mapping[str, str] | None = None,
) -> QuestionContext:
    context = record.paragraphs(separator)
    if corpus_ids is None:  # the first of several with the same title
        corpus_ids = {paragraph.title: paragraph.id for paragraph in reversed(context)}
    for title in record.supporting_titles:
        if title not in corpus_ids:
            raise DataError(f"{where}, supporting_facts: found no paragraph {title!r}")
    # whole paragraphs are gold, not the sentences that the file names (IRCoT §4.1)
    gold = {title: corpus_ids[title] for title in record.supporting_titles}
    question = Question(
        id=record.id or f"{dataset}-{digest(record.question, 16)}",
        text=record.question,
        answers=(record.answer,),
        gold=tuple(dict.fromkeys(gold.values())),
        dataset=dataset,
        kind=record.type,
        steps=_supporting_steps(record, gold),
    )
    return question, context


def _supporting_steps(record: _Asking, gold: Mapping[str, str]) -> tuple[GoldStep, ...]:
    """A step for each supporting sentence; () if a title has none (fullwiki)."""
    texts = {title: sentences for title, sentences in reversed(record.context)}
    steps = []
    for title, number in dict.fromkeys(record.supporting_facts):
        sentences = dict(enumerate(texts.get(title, [])))
        sentence = sentences.get(number, "").strip()  # some numbers are too high
        if sentence:
            steps.append(GoldStep("", "", (gold[title],), title, sentence))
    if {step.title for step in steps} != gold.keys():
        return ()
    return tuple(steps)


def read_abstracts(archive: Path) -> Iterator[Paragraph]:
    """The abstracts of Wikipedia's pages of 2017 in HotpotQA's archive, in its order.

    Those without a sentence are kept: the paper's count has them (IRCoT App. A).
    """
    try:
        with tarfile.open(archive, "r:bz2") as tar:
            for member in filter(tarfile.TarInfo.isfile, tar):
                shard = tar.extractfile(member)
                assert shard is not None  # only a folder or a link would have none
                lines = bz2.open(shard)
                for row, where in read_objects(lines, f"{archive}, {member.name}"):
                    record = check(row, _Abstract, where)
                    yield make_paragraph(record.title, "".join(record.text).strip())
    except (tarfile.TarError, EOFError, OSError) as error:
        raise DataError(f"{archive}: {error}: {REPAIR}") from None


def read_2wikimultihopqa(path: Path) -> list[QuestionContext]:
    """The questions of a file with their context paragraphs, in order (IRCoT §4).

    Answers are followed by their aliases and demonyms in id_aliases.json, if it is
    there: the official scorer takes the best of them.
    """
    aliases: dict[str | None, set[str]] = {}
    names = path.with_name(ALIASES)
    if names.is_file():
        for row, _ in read_records(names, _Names):
            aliases[row.Q_id] = set(filter(str.strip, (*row.aliases, *row.demonyms)))
    examples: list[QuestionContext] = []
    for record, where in read_records(path, _Asking):
        question, context = _read_question(record, where, "2wikimultihopqa", " ")
        others = aliases.get(record.answer_id, set()) - {record.answer}
        answers = (record.answer, *sorted(others))
        steps = _evident_steps(record, question.gold)
        examples.append((replace(question, answers=answers, steps=steps), context))
    return examples


def _evident_steps(record: _Asking, gold: tuple[str, ...]) -> tuple[GoldStep, ...]:
    """The evidences as steps, in our words.

    Several objects of one relation are one answer. The n-th gold paragraph is of the
    n-th subject or, if their numbers differ, of the n-th evidence.
    """
    objects: dict[tuple[str, str], list[str]] = {}
    for evidence in record.evidences:
        subject, relation, value = map(str.strip, evidence)
        objects.setdefault((subject, relation), []).append(value)
    subjects = list(dict.fromkeys(subject for subject, _ in objects))
    steps: list[GoldStep] = []
    numbers: dict[str, int] = {}  # of the last step with an answer, from 1
    for place, ((subject, relation), values) in enumerate(objects.items()):
        answer = " and ".join(values)
        named = f"#{numbers[subject]}" if subject in numbers else subject
        n = subjects.index(subject) if len(subjects) == len(gold) else place
        step = GoldStep(
            question=f"What is the {relation} of {named}?",
            answer=answer,
            gold=gold[n : n + 1],
            title="".join(record.supporting_titles[n : n + 1]),
            sentence=f"The {relation} of {subject} is {answer.removesuffix('.')}.",
        )
        steps.append(step)
        numbers[answer] = len(steps)
    return tuple(steps)


def read_contexts(path: Path) -> Iterator[Paragraph]:
    """The paragraphs of contexts, also those of a test set, which has no answers."""
    for record, _ in read_records(path, _Contexts):
        yield from record.paragraphs(" ")


ABSTRACTS = FullCorpus(
    name="hotpotqa",
    files=(ARCHIVE,),
    count=5_233_329,
    read=read_abstracts,
)
CONTEXTS = FullCorpus(
    name="2wikimultihopqa",
    files=("dev.json", "test.json", "train.json"),
    # of data_ids.zip of December 2020; data_ids_april7.zip has some other sentences
    count=430_225,
    read=read_contexts,
)
# 2WikiMultihopQA's scorer is a copy of HotpotQA's
SCORES = {"f1": hotpotqa_f1, "em": exact_match, "cover_em": cover_em}
DATASETS = [
    Dataset(
        name="hotpotqa",
        title="HotpotQA",
        files=("hotpot_dev_distractor_v1.json", "dev_distractor_498.json"),
        read=read_hotpotqa,
        scores=SCORES,
        full_corpus=ABSTRACTS,
        read_with_corpus=read_hotpotqa,
        order=1,
    ),
    Dataset(
        name="2wikimultihopqa",
        title="2WikiMQA",
        files=("dev.json", "dev_657.json"),
        read=read_2wikimultihopqa,
        scores=SCORES,
        full_corpus=CONTEXTS,
        order=2,
    ),
]
