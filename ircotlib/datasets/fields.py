"""The records of official files, checked as they are read; errors name file, record and field."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError

from ircotlib.data import excerpt, expected_by, parse_json, read_lines
from ircotlib.errors import DataError

# the pattern is a constraint: without one, pydantic accepts halves of surrogate pairs
String = Annotated[str, Field(pattern="^")]
Text = Annotated[str, Field(pattern=r"\S")]  # not blank
List = Strict(False)  # marks a tuple, which is a list in JSON
GET_ANOTHER = "get the file again, or correct it"
ANOTHER = "is it another data set's file?"


class Record(BaseModel):
    """The fields that are read from a record; other fields are ignored."""

    model_config = ConfigDict(strict=True)


R = TypeVar("R", bound=Record)


def check(value: object, kind: type[R], where: str, hint: str = "") -> R:
    """A value from JSON as a record. Raises DataError, naming `where` and the field at fault."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in wrong["loc"])
    at = f"{where}, field {name.removeprefix('.')!r}" if name else where
    expected = expected_by(wrong)
    found = excerpt(wrong["input"])
    if wrong["type"] == "missing" and isinstance(wrong["input"], dict):
        expected = "this field"
        found = f"only {excerpt(', '.join(wrong['input']))}"
    usual = ANOTHER if wrong["type"] in ("missing", "literal_error") else GET_ANOTHER
    raise DataError(f"{at}: expected {expected}, found {found}: {hint or usual}")


def read_list(path: Path, kind: type[R]) -> Iterator[tuple[R, str]]:
    """The records of a file that is one JSON list, each with its place; it is read at once."""
    expected = "one JSON list of questions"
    records = parse_json(Path(path).read_bytes(), str(path), expected)
    if not isinstance(records, list):
        raise DataError(f"{path}: expected {expected}, found {excerpt(records)}: {ANOTHER}")
    for number, record in enumerate(records, start=1):
        where = f"{path}, record {number}"
        yield check(record, kind, where), where


def read_rows(path: Path, kind: type[R]) -> Iterator[tuple[R, str]]:
    """The records of a file of JSON lines, plain or bz2, each with its place, read one by one."""
    for row, where in read_lines(path):
        yield check(row, kind, where), where
