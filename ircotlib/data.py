"""The records of the workbench, and files of them: JSON lines."""

import dataclasses
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ircotlib.errors import DataError

REPAIR = "get the file again, or correct it"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """The unit of retrieval: a titled paragraph of a corpus."""

    id: str  # unique within the corpus
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a data set."""

    id: str
    text: str
    answers: tuple[str, ...]  # the gold answer, then its aliases
    gold: tuple[str, ...]  # ids of the paragraphs that support the answer
    dataset: str
    kind: str = ""  # the data set's own: "bridge", "comparison", "3hop1", ...
    passage: Paragraph | None = None  # the main one, always shown (IRCoT App. B)
    steps: tuple["GoldStep", ...] = ()  # how the data set answers it, if it says


@dataclass(frozen=True, slots=True)
class GoldStep:
    """A step to a question's answer, as far as its data set states it."""

    question: str  # in which "#1" stands for the answer of the first step
    answer: str
    gold: tuple[str, ...] = ()  # ids of the paragraphs that support it
    title: str = ""  # of these paragraphs
    sentence: str = ""  # a statement, with earlier answers filled in


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A worked example in a prompt (IRCoT §3.1)."""

    id: str
    paragraphs: tuple[Paragraph, ...]
    question: str
    answer: str  # or the chain of thought that ends with it


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a system returns for one question."""

    answer: str = ""
    paragraphs: tuple[Paragraph, ...] = ()  # the main passage, then all retrieved
    thoughts: tuple[str, ...] = ()  # the chain written while retrieving (IRCoT §3.1)
    reading: str = ""  # the reader's text, which contains `answer`
    nodes: tuple["Node", ...] = ()  # of all chains of query (SearChain §3.2)
    fault: str = ""  # which part of a reply could not be read


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the tree of reasoning: a query and its answer (SearChain §3.2)."""

    query: str
    answer: str
    round: int  # of interaction, from 1
    number: int  # in that round's chain, from 1
    unsolved: bool = False  # the model says that it does not know the answer
    # the place in `Prediction.nodes` of the node before it; for the first node of a
    # later round, of the one whose feedback it follows
    after: int | None = None
    passage: str = ""  # id of the passage that it was compared with
    found: str = ""  # extracted from that passage
    confidence: float = 0.0
    feedback: str = ""  # "verification", "completion", or "": the node passed
    mark: int = 0  # its number on the correct path, as [1] in the answer; 0: not on it


def write_jsonl(path: Path, records: Iterable) -> None:
    """Write dataclasses or dicts, one JSON object per line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # half of a surrogate pair, which a server's reply may hold, becomes a JSON escape
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        for record in records:
            row = record if isinstance(record, dict) else dataclasses.asdict(record)
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def read_jsonl(path: Path) -> Iterator[dict]:
    """Yield the objects of a JSON-lines file. Raises DataError with the line."""
    with open(path, "rb") as file:
        for row, _ in read_objects(file, str(path)):
            yield row


def read_objects(lines: Iterable[bytes], path: str) -> Iterator[tuple[dict, str]]:
    """As `read_jsonl`, from an open file, each object with its place, `path:line`."""
    number = 0
    try:
        for number, line in enumerate(lines, start=1):
            text = line.decode("utf-8-sig").strip()
            if text:
                row = json.loads(text)
                if not isinstance(row, dict):
                    raise ValueError(f"found {row!r:.60}, expected one JSON object")
                yield row, f"{path}:{number}"
    # not JSON or not UTF-8; a truncated bz2; nothing but brackets
    except (ValueError, EOFError, OSError, RecursionError) as error:
        raise _damaged(f"{path}:{number}", error) from None


def parse_json(content: bytes, where: str, pairs: type | None = None) -> object:
    """The value of a JSON text in UTF-8, its objects as `pairs`. Raises DataError."""
    try:
        return json.loads(content.decode("utf-8-sig"), object_pairs_hook=pairs)
    except (ValueError, RecursionError) as error:
        raise _damaged(where, error) from None


def _damaged(where: str, error: Exception) -> DataError:
    advice = REPAIR
    if isinstance(error, UnicodeDecodeError):
        advice = "save it in UTF-8, or get it again"
    return DataError(f"{where}: {error}: {advice}")


def read_text(path: Path) -> str:
    """The text of a file in UTF-8, its line ends line feeds. Raises DataError."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: {error}: save it in UTF-8, or get it again") from None


def whole(text: str) -> str:
    """A text without lone halves of surrogate pairs, which UTF-8 cannot hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "ignore")
