"""Official files: found in a user's folder, and read as records (pydantic)."""

from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, Field, ValidationError

from ircotlib.data import REPAIR, parse_json, read_objects
from ircotlib.errors import DataError

# the pattern is a constraint: without one, pydantic accepts halves of surrogate pairs
String = Annotated[str, Field(pattern="^")]
Text = Annotated[str, Field(pattern=r"\S")]  # not blank


class Record(BaseModel):
    """The fields that are read from a record; other fields are ignored."""


R = TypeVar("R", bound=BaseModel)


def find_file(title: str, names: Sequence[str], folders: Sequence[Path]) -> Path:
    """The first file with one of these names in one of the folders. FileNotFoundError
    says where it should be.
    """
    for path in (folder / name for folder in folders for name in names):
        if path.is_file():
            return path
    places = " and ".join(map(str, folders))
    raise FileNotFoundError(
        f"no {title}: looked for {' and '.join(names)} in {places}; put it there: "
        "`ircotlib fetch` gets official files (docs/data.md)"
    )


def check(value: object, kind: type[R], where: str) -> R:
    """A value from JSON as a record. Raises DataError, with `where` and the field."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
    if wrong["loc"]:
        where += f", field {'.'.join(map(str, wrong['loc']))}"
    raise DataError(f"{where}: {wrong['msg']}, found {wrong['input']!r:.60}: {REPAIR}")


def read_records(path: Path, kind: type[R]) -> Iterator[tuple[R, str]]:
    """The records of a file of one JSON list or of JSON lines, each with its place."""
    with open(path, "rb") as file:
        lines = (line.removeprefix(BOM_UTF8).strip() for line in file)
        first = next(filter(None, lines), b"")
        if not first.startswith(b"["):
            file.seek(0)
            for row, where in read_objects(file, str(path)):
                yield check(row, kind, where), where
            return
    rows = parse_json(Path(path).read_bytes(), str(path))
    assert isinstance(rows, list)  # nothing else begins with a bracket
    for number, row in enumerate(rows, start=1):
        where = f"{path}, record {number}"
        yield check(row, kind, where), where
