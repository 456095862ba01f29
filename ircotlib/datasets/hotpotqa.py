"""HotpotQA's official files (Yang et al. 2018), https://hotpotqa.github.io"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ircotlib.data import Paragraph, Question
from ircotlib.datasets import Dataset
from ircotlib.datasets.abstracts import ABSTRACTS
from ircotlib.datasets.fields import excerpt, field, read_json_list
from ircotlib.datasets.full import find_ids
from ircotlib.datasets.pooled import digest, make_paragraph
from ircotlib.metrics import cover_em, exact_match, hotpotqa_f1

QUESTION_TYPES = ("bridge", "comparison")


def read_hotpotqa(
    path: Path, corpus_ids: Mapping[str, str] | None = None
) -> list[tuple[Question, tuple[Paragraph, ...]]]:
    """The questions of a file, each with its context paragraphs, in order (IRCoT §4).

    `corpus_ids`: for the fullwiki setting, whose contexts lack gold paragraphs: paragraph ids by
    title of the Wikipedia abstracts used as corpus, from which gold ids are then taken; None
    (distractor setting): they are taken from the context. A question whose `_id` is null gets one
    made from its text. Raises ValueError naming file, record and field where the file is not in the
    official format or a gold title is nowhere.
    """
    records = enumerate(read_json_list(path), start=1)
    return [
        read_record(record, f"{path}, record {number}", "hotpotqa", QUESTION_TYPES, "", corpus_ids)
        for number, record in records
    ]


def find_gold_ids(path: Path, corpus: Iterable[Paragraph]) -> dict[str, str]:
    """The ids in a corpus of abstracts of the paragraphs that support a file's questions, by title:
    `corpus_ids` of read_hotpotqa.
    """
    titles = []
    for record in read_json_list(path):
        match record:  # what is not in the official format is for read_hotpotqa to name
            case {"supporting_facts": [*facts]}:
                titles += [
                    fact[0]
                    for fact in facts
                    if isinstance(fact, list) and fact and isinstance(fact[0], str)
                ]
    return find_ids(corpus, titles)


def read_record(
    record: object,
    where: str,
    dataset: str,
    kinds: Sequence[str],
    separator: str,
    corpus_ids: Mapping[str, str] | None = None,
) -> tuple[Question, tuple[Paragraph, ...]]:
    """One record of HotpotQA's schema, which 2WikiMultihopQA shares; `separator` joins the
    sentences of a paragraph.
    """
    text = field(record, "question", str, where)
    id = (
        f"{dataset}-{digest(text, 16)}"
        if record.get("_id", "") is None
        else field(record, "_id", str, where)
    )
    kind = field(record, "type", str, where)
    if kind not in kinds:
        raise ValueError(
            f"{where}, field 'type': expected one of {', '.join(kinds)}, found {kind!r}: is it"
            " another data set's file?"
        )
    context = read_context(record, where, separator)
    if corpus_ids is None:  # of several paragraphs with one title, the first
        corpus_ids = {paragraph.title: paragraph.id for paragraph in reversed(context)}
    question = Question(
        id,
        text,
        (field(record, "answer", str, where),),
        _gold(record, where, corpus_ids),
        dataset,
        kind,
    )
    return question, context


def read_context(record: dict, where: str, separator: str) -> tuple[Paragraph, ...]:
    """The paragraphs of a record's context, in order; `separator` joins the sentences of each."""
    paragraphs = []
    for entry in field(record, "context", list, where):
        match entry:
            case [str(title), [*parts]] if all(isinstance(part, str) for part in parts):
                paragraphs.append(make_paragraph(title, separator.join(parts).strip()))
            case _:
                raise ValueError(
                    f"{where}, field 'context': expected [title, [sentence, ...]] for each"
                    f" paragraph, found {excerpt(entry)}"
                )
    return tuple(paragraphs)


def _gold(record: dict, where: str, corpus_ids: Mapping[str, str]) -> tuple[str, ...]:
    """The ids of the paragraphs of the supporting facts, each once, in order."""
    ids = {}
    for fact in field(record, "supporting_facts", list, where):
        match fact:
            case [str(title), int()] if title in corpus_ids:
                ids[corpus_ids[title]] = None
            case [str(title), int()]:
                raise ValueError(
                    f"{where}, field 'supporting_facts': expected titles of paragraphs in the"
                    f" context (fullwiki: in corpus_ids), found {title!r}: is it a fullwiki file?"
                    " Then pass corpus_ids"
                )
            case _:
                raise ValueError(
                    f"{where}, field 'supporting_facts': expected [title, number of the sentence],"
                    f" found {excerpt(fact)}"
                )
    return tuple(ids)


DATASET = Dataset(
    name="hotpotqa",
    title="HotpotQA",
    files=("hotpot_dev_distractor_v1.json", "dev_distractor_498.json"),
    source="https://hotpotqa.github.io",
    read=read_hotpotqa,
    scores={"f1": hotpotqa_f1, "em": exact_match, "cover_em": cover_em},
    full=ABSTRACTS,
    # whose texts need not be those of the contexts: gold by title
    read_in=lambda path, corpus: read_hotpotqa(path, find_gold_ids(path, corpus)),
    order=1,
)
