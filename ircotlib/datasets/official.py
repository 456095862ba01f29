"""Official files: found in a user's folder, and read record by record. Records are
checked by pydantic; errors name the file, the record and the field.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

import ijson
from pydantic import BaseModel, Field, ValidationError

from ircotlib.data import read_lines
from ircotlib.errors import DataError

# the pattern is a constraint: without one, pydantic accepts halves of surrogate pairs
String = Annotated[str, Field(pattern="^")]
Text = Annotated[str, Field(pattern=r"\S")]  # not blank
AGAIN = "get the file again, or correct it"


class Record(BaseModel):
    """The fields that are read from a record; other fields are ignored."""


R = TypeVar("R", bound=Record)


def find_file(
    title: str, names: Sequence[str], folders: Sequence[Path], source: str
) -> Path:
    """The first file with one of these names in one of the folders; `source`: where to
    get it.
    """
    for path in (folder / name for folder in folders for name in names):
        if path.is_file():
            return path
    looked = f"looked for {' and '.join(names)} in {' and '.join(map(str, folders))}"
    get = f"get {names[0]} from {source} and put it there"
    raise FileNotFoundError(f"no {title}: {looked}; {get}")


def check(value: object, kind: type[R], where: str) -> R:
    """A value from JSON as a record. Raises DataError, naming `where` and the field at
    fault.
    """
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
    place = ", field ".join(filter(None, [where, ".".join(map(str, wrong["loc"]))]))
    raise DataError(f"{place}: {wrong['msg']}, found {wrong['input']!r:.60}: {AGAIN}")


def read_records(path: Path, kind: type[R]) -> Iterator[tuple[R, str]]:
    """The records of a file that is one JSON list, or JSON lines, each with its place."""
    with Path(path).open("rb") as file:
        is_list = file.read(99).lstrip().startswith(b"[")
    listed = (
        (row, f"{path}, record {n}") for n, row in enumerate(stream(path), start=1)
    )
    for row, where in listed if is_list else read_lines(path):
        yield check(row, kind, where), where


def stream(path: Path, by_key: bool = False) -> Iterator:
    """The entries of a JSON list or, `by_key`, of an object, read one by one."""
    read = (
        partial(ijson.kvitems, prefix="")
        if by_key
        else partial(ijson.items, prefix="item")
    )
    with Path(path).open("rb") as file:
        try:
            yield from read(file, use_float=True)  # without it, long integers crash
        except (ijson.JSONError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise DataError(f"{path}: {reason}: {AGAIN}") from None
