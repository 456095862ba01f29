"""The records of the workbench, and reading and writing them as JSON lines."""

import bz2
import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ircotlib.errors import DataError

EXPECTED = {  # by pydantic's type of error
    "missing": "one more entry",
    "model_type": "a JSON object",
    "string_type": "a text",
    "string_too_short": "a text that is not empty",
    "string_pattern_mismatch": "a text that is not blank",
    "string_unicode": "a text without halves of surrogate pairs",
    **dict.fromkeys(("list_type", "tuple_type"), "a list"),
    "too_short": "a list of at least {min_length}",
    "too_long": "a list of at most {max_length}",
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
}


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
    answers it, step by step; (): it does not say (docs/gold.md).
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
    """Yield the objects of a JSON-lines file. Raises DataError with the file and the line."""
    for row, where in read_lines(path):
        if not isinstance(row, dict):
            raise DataError(f"{where}: expected one JSON object, found {excerpt(row)}")
        yield row


def read_lines(path: Path) -> Iterator[tuple[object, str]]:
    """Yield the values of a file of JSON lines, plain or bz2, each with its place ("file, line 1").
    Blank lines are skipped. Raises DataError, in one line, if the file is damaged.
    """
    path = Path(path)
    number = 0
    with bz2.open(path) if path.suffix == ".bz2" else path.open("rb") as file:
        try:
            for number, line in enumerate(file, start=1):
                if line.strip(b" \t\r\n"):
                    where = f"{path}, line {number}"
                    yield parse_json(line, where, "one JSON object"), where
        except (EOFError, OSError) as error:
            found = f"found it cut off or damaged after line {number} ({error})"
            raise DataError(f"{path}: {found}: get the file again") from error


def parse_json(content: bytes, where: str, expected: str) -> object:
    """The value of a JSON text in UTF-8, with or without a byte order mark. Raises DataError, in
    one line that begins with `where`.
    """
    try:
        return json.loads(decode_text(content))
    except (ValueError, RecursionError) as error:
        start = excerpt(content[:60].decode("utf-8", "replace"))
        found = f"{len(content)} bytes that start with {start} and cannot be read ({error})"
    remedy = "the file is cut off, damaged (get it again) or of another kind"
    raise DataError(f"{where}: expected {expected}, found {found}: {remedy}")


def read_text(path: Path) -> str:
    """The text of a file in UTF-8, with or without a byte order mark, with all line ends as line
    feeds. Raises DataError, in one line, for another encoding.
    """
    try:
        text = decode_text(Path(path).read_bytes())
    except ValueError as error:
        found = f"{path}: found text that cannot be read ({error})"
        raise DataError(f"{found}, expected UTF-8; save it in UTF-8, or get it again") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def decode_text(content: bytes) -> str:
    """Decode UTF-8, without its byte order mark. Raises DataError for another encoding."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = f"line {line}, byte {error.start}: 0x{content[error.start]:02x}"
        raise DataError(f"{byte} is not UTF-8") from None


def excerpt(value: object) -> str:
    """The beginning of a value, in one line, for an error message."""
    try:
        text = repr(value)
    except RecursionError:
        return "values nested too deeply"
    return text if len(text) <= 60 else text[:60] + "..."


def expected_by(error: Mapping) -> str:
    """What pydantic expected where it found an error, in a few words."""
    message = error["msg"]
    for opening in ("Value error, ", "Input should be ", "expected "):
        message = message.removeprefix(opening)
    words = EXPECTED.get(error["type"], "{message}")
    return words.format(message=message, **error.get("ctx", {}))
