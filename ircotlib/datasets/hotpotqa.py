"""HotpotQA's official files (Yang et al. 2018), https://hotpotqa.github.io"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ircotlib.data import Paragraph, Question
from ircotlib.datasets.fields import field, read_json_list, shown
from ircotlib.datasets.pooled import digest, make_paragraph

KINDS = ("bridge", "comparison")


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
        read_record(record, f"{path}, record {number}", "hotpotqa", KINDS, "", corpus_ids)
        for number, record in records
    ]


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
            f"{where}, field 'type': expected one of {', '.join(kinds)}, found {kind!r}: is it another data set's file?"
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
                    f"{where}, field 'context': expected [title, [sentence, ...]] for each paragraph, found {shown(entry)}"
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
                    f"{where}, field 'supporting_facts': expected titles of paragraphs in the context (fullwiki: in corpus_ids),"
                    f" found {title!r}: is it a fullwiki file? Then pass corpus_ids"
                )
            case _:
                raise ValueError(
                    f"{where}, field 'supporting_facts': expected [title, number of the sentence], found {shown(fact)}"
                )
    return tuple(ids)
