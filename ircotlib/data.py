"""The records of the workbench, and reading and writing them as JSON lines."""

import dataclasses
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One unit of retrieval: a titled paragraph of a corpus. `id` is unique within the corpus."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a data set.

    `answers`: the gold answer first, then its aliases. `gold`: ids of the paragraphs that support
    the answer, in the corpus of `dataset`. `kind`: the data set's own type of question ("bridge",
    "comparison", "3hop1", ...). `passage`: the main passage that the question is about, always
    given to the model (IIRC; IRCoT App. B); None: there is none.
    """

    id: str
    text: str
    answers: tuple[str, ...]
    gold: tuple[str, ...]
    dataset: str
    kind: str = ""
    passage: Paragraph | None = None


@dataclass(frozen=True, slots=True)
class Demonstration:
    """One worked example of a prompt (IRCoT §3.1): `answer` is a chain of thought or, for direct
    prompting, the bare answer.
    """

    id: str
    paragraphs: tuple[Paragraph, ...]
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a system says of one question.

    `paragraphs`: all that was retrieved, in order, after the question's main passage if it has one.
    `thoughts`: the chain written while retrieving (IRCoT §3.1). `reading`: what the reader wrote,
    of which `answer` is a part. `nodes`: those of all chains of query (SearChain §3.2). `fault`:
    what of a reply could not be read, in a few words; "" where all could.
    """

    answer: str = ""
    paragraphs: tuple[Paragraph, ...] = ()
    thoughts: tuple[str, ...] = ()
    reading: str = ""
    nodes: tuple["Node", ...] = ()
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of SearChain's tree of reasoning: a query and its answer, as a chain has them (§3.2).

    `round` counts from 1, `number` is its place in that round's chain, from 1; `unsolved`: the
    model says that it lacks the answer. `after`: the place in `Prediction.nodes` of the node before
    it in its chain; of a later round's first, that of the node whose feedback it follows; None: it
    is the first of all. `passage`: the id of the one retrieved for it, "" for a node that was not
    compared with any. `found` and `confidence`: what was extracted from it. `feedback`:
    "verification", "completion" or "" for a node that passed. `mark`: its number on the correct
    path, to which a mark as [1] in the text of the answer refers; 0: it is not on it.
    """

    query: str
    answer: str
    round: int
    number: int
    unsolved: bool = False
    after: int | None = None
    passage: str = ""
    found: str = ""
    confidence: float = 0.0
    feedback: str = ""
    mark: int = 0


def write_jsonl(path: Path, records: Iterable) -> int:
    """Write records, one JSON object a line, through a temporary file; return how many."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    count = 0
    with partial.open("w", encoding="utf-8") as file:
        for count, record in enumerate(records, start=1):
            row = dataclasses.asdict(record) if dataclasses.is_dataclass(record) else record
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    partial.replace(path)
    return count


def read_jsonl(path: Path, kind: type = dict) -> Iterator:
    """Yield the records of a JSON-lines file as `kind` (Question, Paragraph, or dict); raise
    ValueError naming file, line and field.
    """
    with Path(path).open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                row = json.loads(line)
                yield (
                    row
                    if kind is dict
                    else kind(**{name: _frozen(value) for name, value in row.items()})
                )
            except (json.JSONDecodeError, TypeError, AttributeError) as error:
                raise ValueError(
                    f"{path}, line {number}: expected one {kind.__name__} as a JSON object, found"
                    f" {line[:80]!r} ({error})"
                ) from error


def _frozen(value):
    """A value read from JSON as a record holds it: lists as tuples, an object as the paragraph it
    is.
    """
    if isinstance(value, dict):
        return Paragraph(**value)
    return tuple(value) if isinstance(value, list) else value
