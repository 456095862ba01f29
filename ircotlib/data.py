"""The records of the workbench, and reading and writing them as JSON lines."""

import dataclasses
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ircotlib.errors import DataError


@dataclass(frozen=True, slots=True)
class Paragraph:
    """The unit of retrieval: a titled paragraph of a corpus. `id` is unique within the corpus."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a data set.

    `answers`: the gold answer first, then its aliases. `gold`: ids of the paragraphs that support
    the answer, in the corpus of `dataset`. `kind`: the data set's own type of question ("bridge",
    "comparison", "3hop1", ...). `passage`: the main passage that the question is about, always
    given to the model (IIRC; IRCoT App. B); None: there is none. `steps`: how the data set itself
    answers it, step by step; (): it does not say.
    """

    id: str
    text: str
    answers: tuple[str, ...]
    gold: tuple[str, ...]
    dataset: str
    kind: str = ""
    passage: Paragraph | None = None
    steps: tuple["GoldStep", ...] = ()


@dataclass(frozen=True, slots=True)
class GoldStep:
    """A step to a question's answer, as its data set states it.

    `question`: the sub-question, in which "#1" stands for the answer of the first step; "": the
    data set has none. `gold`: ids of the paragraphs that support the step; `title`: theirs.
    `subject`: what it is about, as it would be looked up; "": the data set does not say.
    `sentence`: the step as a statement, with earlier answers filled in; "": there is none.
    """

    question: str
    answer: str
    gold: tuple[str, ...] = ()
    title: str = ""
    subject: str = ""
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A worked example in a prompt (IRCoT §3.1). `answer`: a chain of thought, or an answer."""

    id: str
    paragraphs: tuple[Paragraph, ...]
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a system returns for one question.

    `paragraphs`: all retrieved paragraphs in order, after the question's main passage if it has
    one. `thoughts`: the chain written while retrieving (IRCoT §3.1). `reading`: the reader's text,
    which contains `answer`. `nodes`: the nodes of all chains of query (SearChain §3.2). `fault`: in
    a few words, which part of a reply could not be read; "" if all could.
    """

    answer: str = ""
    paragraphs: tuple[Paragraph, ...] = ()
    thoughts: tuple[str, ...] = ()
    reading: str = ""
    nodes: tuple["Node", ...] = ()
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of SearChain's tree of reasoning: a query and its answer in a chain (SearChain §3.2).

    `round`: the round of interaction, from 1. `number`: its place in that round's chain, from 1.
    `unsolved`: the model says that it does not know the answer. `after`: the place in
    `Prediction.nodes` of the node before it in its chain; for the first node of a later round, of
    the node whose feedback it follows; None for the very first. `passage`: the id of the passage
    retrieved for it, "" if it was not compared with any. `found`, `confidence`: what was extracted
    from that passage. `feedback`: "verification", "completion", or "" if the node passed. `mark`:
    its number on the correct path, to which a mark such as [1] in the answer refers; 0: not on it.
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
    """Write records, one JSON object per line; return their number.

    Half of a surrogate pair, which a server's reply may hold, is written as a JSON escape.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        for count, record in enumerate(records, start=1):
            row = dataclasses.asdict(record) if dataclasses.is_dataclass(record) else record
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return count


def read_jsonl(path: Path) -> Iterator[dict]:
    """Yield the objects of a JSON-lines file. Raises DataError, which names the line."""
    return (row for row, _ in read_lines(path))


def read_lines(path: Path) -> Iterator[tuple[dict, str]]:
    """As `read_jsonl`, each object with its place, `path:line`."""
    with open(path, "rb") as file:
        yield from read_objects(file, str(path))


def read_objects(lines: Iterable[bytes], path: str) -> Iterator[tuple[dict, str]]:
    """As `read_lines`, of a file that is open."""
    number = 0
    try:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                row = json.loads(line.decode("utf-8-sig"))
                if not isinstance(row, dict):
                    raise ValueError(f"found {excerpt(row)}, expected one JSON object")
                yield row, f"{path}:{number}"
    except (ValueError, EOFError, OSError) as error:  # no JSON, no UTF-8; a bz2 that is cut off
        raise DataError(f"{path}:{number}: {error}: get the file again, or correct it") from None


def parse_json(content: bytes, where: str, expected: str) -> object:
    """The value of a JSON text in UTF-8. Raises DataError, which begins with `where`."""
    try:
        return json.loads(content.decode("utf-8-sig"))
    except ValueError as error:
        remedy = "get the file again, or correct it"
        raise DataError(f"{where}: expected {expected}: {error}: {remedy}") from None


def read_text(path: Path) -> str:
    """The text of a file in UTF-8, with line feeds at its line ends. Raises DataError."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: {error}: save it in UTF-8, or get it again") from None


def excerpt(value: object) -> str:
    """The beginning of a value, in one line, for an error message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."
