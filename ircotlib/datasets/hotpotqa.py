"""The official files of HotpotQA (Yang et al. 2018) and 2WikiMultihopQA (Ho et al.
2020).
"""

import bz2
import html
import tarfile
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import Field

from ircotlib.data import GoldStep, Paragraph, Question, read_objects
from ircotlib.datasets import (
    Dataset,
    FullCorpus,
    QuestionContext,
    digest,
    make_paragraph,
)
from ircotlib.datasets.official import AGAIN, Record, String, Text, check, read_records
from ircotlib.errors import DataError
from ircotlib.metrics import cover_em, exact_match, hotpotqa_f1

# of folders AA, AB, ... with wiki_00.bz2 to wiki_99.bz2
FOLDER = "enwiki-20171001-pages-meta-current-withlinks-abstracts"
ARCHIVE = f"{FOLDER}.tar.bz2"
# JSON lines, in the same archive as 2WikiMultihopQA's questions
ALIASES = "id_aliases.json"
HOTPOTQA = "https://hotpotqa.github.io"
WIKI = "https://github.com/Alab-NII/2wikimultihop"


class _Contexts(Record):
    context: list[tuple[String, list[String]]]  # titles and sentences


class _Asking(_Contexts):
    id: Text | None = Field(alias="_id")
    question: Text
    answer: Text
    type: str
    # titles, numbers of sentences
    supporting_facts: list[tuple[String, int]] = Field(min_length=1)
    # of 2WikiMultihopQA
    answer_id: String | None = None
    evidences: list[tuple[String, String, String]] = []  # subjects, relations, objects


class _Names(Record):
    Q_id: Text
    aliases: list[String]
    demonyms: list[String]


class _Abstract(Record):
    title: String
    text: list[String]  # sentences


def read_hotpotqa(
    path: Path, corpus_ids: Mapping[str, str] | None = None
) -> list[QuestionContext]:
    """The questions of a file, each with its context paragraphs, in order (IRCoT §4).
    `corpus_ids`: the ids of gold paragraphs by title in the full corpus; None: those of
    the context.
    """
    records = read_records(path, _Asking)
    return [
        _read_asked(record, where, "hotpotqa", "", corpus_ids)
        for record, where in records
    ]


def find_gold_ids(path: Path, corpus: Iterable[Paragraph]) -> dict[str, str]:
    """The `corpus_ids` of read_hotpotqa, from one pass over the corpus: the first
    paragraph with a title or, without one, with the title in another encoding ("&amp;"
    for "&", accents apart).
    """
    records = (record for record, _ in read_records(path, _Asking))
    plain = {
        title: _plain(title)
        for record in records
        for title, _ in record.supporting_facts
    }
    wanted, same, alike = {*plain.values()}, {}, {}
    for paragraph in corpus:
        if (title := _plain(paragraph.title)) in wanted:
            same.setdefault(paragraph.title, paragraph.id)
            alike.setdefault(title, paragraph.id)
    return {t: same.get(t, alike[name]) for t, name in plain.items() if name in alike}


def _plain(title: str) -> str:
    return unicodedata.normalize("NFC", html.unescape(title))


def _read_asked(
    record: _Asking,
    where: str,
    dataset: str,
    separator: str,
    corpus_ids: Mapping | None = None,
) -> QuestionContext:
    context = _read_context(record, separator)
    if corpus_ids is None:  # the first of several with the same title
        corpus_ids = {paragraph.title: paragraph.id for paragraph in reversed(context)}
    titles = [title for title, _ in record.supporting_facts]
    if missing := [title for title in titles if title not in corpus_ids]:
        raise DataError(
            f"{where}, field supporting_facts: found no paragraph {missing[0]!r}"
        )
    # IRCoT §4.1: whole paragraphs are gold, not the sentences that the file names in
    # them
    gold = tuple(dict.fromkeys(corpus_ids[title] for title in titles))
    id = record.id or f"{dataset}-{digest(record.question, 16)}"
    stated = {"kind": record.type, "steps": _stated_steps(record, corpus_ids)}
    return Question(
        id, record.question, (record.answer,), gold, dataset, **stated
    ), context


def _stated_steps(
    record: _Asking, corpus_ids: Mapping[str, str]
) -> tuple[GoldStep, ...]:
    """A step for each supporting sentence; () if one is not in the context (fullwiki)."""
    texts = {title: parts for title, parts in reversed(record.context)}
    facts = dict.fromkeys(record.supporting_facts)
    pairs = [(title, texts.get(title, [])[n : n + 1]) for title, n in facts if n >= 0]
    stated = [
        (title, part[0].strip()) for title, part in pairs if part and part[0].strip()
    ]
    if {title for title, _ in stated} != {title for title, _ in facts}:
        return ()
    return tuple(
        GoldStep("", "", (corpus_ids[t],), t, t, sentence) for t, sentence in stated
    )


def _read_context(record: _Contexts, separator: str) -> tuple[Paragraph, ...]:
    texts = ((title, separator.join(sentences)) for title, sentences in record.context)
    return tuple(make_paragraph(title, text.strip()) for title, text in texts)


def read_abstracts(archive: Path) -> Iterator[Paragraph]:
    """The abstracts of Wikipedia's pages of 2017 in HotpotQA's archive, in its order,
    also those without a sentence: the paper's count has them (IRCoT App. A).
    """
    try:
        with (
            bz2.open(archive) as stream,
            tarfile.open(fileobj=stream, mode="r|") as tar,
        ):
            for member in filter(tarfile.TarInfo.isfile, tar):
                shard = bz2.open(tar.extractfile(member))
                for row, where in read_objects(shard, f"{archive}, {member.name}"):
                    record = check(row, _Abstract, where)
                    yield make_paragraph(record.title, "".join(record.text).strip())
    except (tarfile.TarError, EOFError, OSError) as error:
        raise DataError(f"{archive}: {error}: {AGAIN}") from None


def read_2wikimultihopqa(path: Path) -> list[QuestionContext]:
    """The questions of a file, each with its context paragraphs, in order (IRCoT §4);
    if id_aliases.json is beside it, answers are followed by their aliases and demonyms.
    """
    names = Path(path).with_name(ALIASES)
    aliases, questions = {}, []
    for row, _ in read_records(names, _Names) if names.is_file() else ():
        aliases[row.Q_id] = set(filter(str.strip, (*row.aliases, *row.demonyms)))
    for record, where in read_records(path, _Asking):
        question, context = _read_asked(record, where, "2wikimultihopqa", " ")
        # its official scorer, too, takes the best of the answer and its aliases
        others = sorted(aliases.get(record.answer_id, set()) - {record.answer})
        answers, steps = (record.answer, *others), _evident_steps(record, question.gold)
        questions.append((replace(question, answers=answers, steps=steps), context))
    return questions


def _evident_steps(record: _Asking, gold: tuple[str, ...]) -> tuple[GoldStep, ...]:
    """The evidences, in our words; several objects of one relation are one answer. The
    n-th subject has the n-th gold paragraph or, if their numbers differ, the n-th
    evidence has it.
    """
    objects = {}
    for subject, relation, value in record.evidences:
        objects.setdefault((subject.strip(), relation.strip()), []).append(
            value.strip()
        )
    if not all(
        subject and relation and all(v) for (subject, relation), v in objects.items()
    ):
        return ()
    titles = [*dict.fromkeys(title for title, _ in record.supporting_facts)]
    subjects = [*dict.fromkeys(subject for subject, _ in objects)]
    steps = []
    for number, ((subject, relation), values) in enumerate(objects.items()):
        answer = " and ".join(values)
        earlier = [n for n, step in enumerate(steps, start=1) if step.answer == subject]
        named = f"#{earlier[-1]}" if earlier else subject
        place = subjects.index(subject) if len(subjects) == len(gold) else number
        asked = f"What is the {relation} of {named}?"
        supporting = gold[place : place + 1], "".join(titles[place : place + 1])
        stated = f"The {relation} of {subject} is {answer.removesuffix('.')}."
        steps.append(GoldStep(asked, answer, *supporting, subject, stated))
    return tuple(steps)


def read_contexts(path: Path) -> Iterator[Paragraph]:
    """The paragraphs of contexts, also those of a test set, which has no answers."""
    for record, _ in read_records(path, _Contexts):
        yield from _read_context(record, " ")


PAGE = f"{HOTPOTQA}/wiki-readme.html"
ABSTRACTS = FullCorpus(
    "hotpotqa", (ARCHIVE,), PAGE, count=5_233_329, read=read_abstracts
)
# 2WikiMultihopQA's scorer is a copy of HotpotQA's
SCORES = {"f1": hotpotqa_f1, "em": exact_match, "cover_em": cover_em}
DATASETS = (
    Dataset(
        name="hotpotqa",
        title="HotpotQA",
        files=("hotpot_dev_distractor_v1.json", "dev_distractor_498.json"),
        source=HOTPOTQA,
        read=read_hotpotqa,
        scores=SCORES,
        full_corpus=ABSTRACTS,
        # abstracts may differ from the contexts in text, so gold paragraphs are found
        # by title
        read_with_corpus=lambda path, corpus: read_hotpotqa(
            path, find_gold_ids(path, corpus)
        ),
        order=1,
    ),
    Dataset(
        name="2wikimultihopqa",
        title="2WikiMQA",
        files=("dev.json", "dev_657.json"),
        source=WIKI,
        read=read_2wikimultihopqa,
        scores=SCORES,
        full_corpus=FullCorpus(
            name="2wikimultihopqa",
            files=("dev.json", "test.json", "train.json"),
            source=f"{WIKI} (the paper's number is of data_ids.zip, of December 2020;"
            " data_ids_april7.zip cuts some sentences in other places)",
            count=430_225,
            read=read_contexts,
            drop_repeats=True,
        ),
        order=2,
    ),
)
