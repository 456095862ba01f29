"""HotpotQA's official files (Yang et al. 2018), https://hotpotqa.github.io"""

import bz2
import html
import tarfile
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path

from pydantic import Field

from ircotlib.data import GoldStep, Paragraph, Question, read_objects
from ircotlib.datasets import Dataset, FullCorpus, QuestionContext
from ircotlib.datasets.official import AGAIN, Record, String, Text, check, read_records
from ircotlib.datasets.pooled import digest, make_paragraph
from ircotlib.errors import DataError
from ircotlib.metrics import cover_em, exact_match, hotpotqa_f1

# folders AA, AB, ... of wiki_00.bz2 to wiki_99.bz2
FOLDER = "enwiki-20171001-pages-meta-current-withlinks-abstracts"
ARCHIVE = f"{FOLDER}.tar.bz2"


class Contexts(Record):
    """The context of a question: a list of paragraphs [title, [sentence, ...]]."""

    context: list[tuple[String, list[String]]]


class Asking(Contexts):
    """The fields that questions of HotpotQA and 2WikiMultihopQA have in common."""

    id: Text | None = Field(alias="_id")
    question: Text
    answer: Text
    type: str
    # a list of [title, number of the sentence]
    supporting_facts: list[tuple[String, int]] = Field(min_length=1)


class _Abstract(Record):
    title: String
    text: list[String]  # sentences


def read_hotpotqa(path: Path, corpus_ids: Mapping[str, str] | None = None) -> list[QuestionContext]:
    """The questions of a file, each with its context paragraphs, in order (IRCoT §4).

    `corpus_ids`: the corpus's ids by title, of which gold ids are then taken: for the full corpus
    and the fullwiki setting, whose contexts lack gold paragraphs. None: those of the context. A
    question whose `_id` is null gets an id made from its text.
    """
    records = read_records(path, Asking)
    return [read_asked(record, where, "hotpotqa", "", corpus_ids) for record, where in records]


def find_gold_ids(path: Path, corpus: Iterable[Paragraph]) -> dict[str, str]:
    """The `corpus_ids` of read_hotpotqa for a file's supporting titles, from one pass over the
    corpus (IRCoT §4); of several with a title the first, but one in the same encoding before one in
    another ("&amp;" for "&", an accent as a separate character).
    """
    facts = chain.from_iterable(record.supporting_facts for record, _ in read_records(path, Asking))
    plain = {title: _plain(title) for title, _ in facts}
    wanted, same, alike = {*plain.values()}, {}, {}
    for paragraph in corpus:
        if (title := _plain(paragraph.title)) in wanted:
            same.setdefault(paragraph.title, paragraph.id)
            alike.setdefault(title, paragraph.id)
    return {t: same.get(t, alike[name]) for t, name in plain.items() if name in alike}


def _plain(title: str) -> str:
    return unicodedata.normalize("NFC", html.unescape(title))


def read_asked(
    record: Asking, where: str, dataset: str, separator: str, corpus_ids: Mapping | None = None
) -> QuestionContext:
    """A question in the format of HotpotQA and 2WikiMultihopQA; `separator` joins sentences."""
    context = read_context(record, separator)
    if corpus_ids is None:  # the first of several with the same title
        corpus_ids = {paragraph.title: paragraph.id for paragraph in reversed(context)}
    titles = [title for title, _ in record.supporting_facts]
    if missing := [title for title in titles if title not in corpus_ids]:
        expected = "expected the title of a paragraph (fullwiki: in corpus_ids)"
        raise DataError(f"{where}, field supporting_facts: {expected}, found {missing[0]!r}")
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


def read_abstracts(archive: Path) -> Iterator[Paragraph]:
    """The abstracts of Wikipedia's pages of 2017 in HotpotQA's archive, in its order, also those
    without a sentence: the paper's count has them (IRCoT App. A).
    """
    try:
        with bz2.open(archive) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in filter(tarfile.TarInfo.isfile, tar):
                shard = bz2.open(tar.extractfile(member))
                for row, where in read_objects(shard, f"{archive}, {member.name}"):
                    record = check(row, _Abstract, where)
                    yield make_paragraph(record.title, "".join(record.text).strip())
    except (tarfile.TarError, EOFError, OSError) as error:
        raise DataError(f"{archive}: {error}: {AGAIN}") from None


ABSTRACTS = FullCorpus(
    name="hotpotqa",
    files=(ARCHIVE,),
    source=f"https://nlp.stanford.edu/projects/hotpotqa/{ARCHIVE} (1,553,565,403 bytes, MD5"
    " 01edf64cd120ecc03a2745352779514c; described on https://hotpotqa.github.io/wiki-readme.html)",
    count=5_233_329,
    read=read_abstracts,
)
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
