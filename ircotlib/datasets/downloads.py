"""Finds official files, and reads those of full corpora as a stream (IRCoT App. A)."""

from codecs import BOM_UTF8 as BOM
from collections.abc import Iterator, Sequence
from io import BufferedReader
from pathlib import Path

import ijson
from ijson.common import ObjectBuilder

from ircotlib.data import excerpt
from ircotlib.datasets import FullCorpus
from ircotlib.errors import DataError

DEEPEST = 100  # levels of nested lists and objects; official records have 5


def find_file(title: str, names: Sequence[str], folders: Sequence[Path], source: str) -> Path:
    """The first file with one of these names in one of the folders. FileNotFoundError says where it
    was looked for and, with `source`, where to get it.
    """
    for path in (folder / name for folder in folders for name in names):
        if path.is_file():
            return path
    looked = f"looked for {' and '.join(names)} in {' and '.join(map(str, folders))}"
    get = f"get {names[0]} from {source} and put it there"
    raise FileNotFoundError(f"no {title}: {looked}; {get}")


def find_files(corpus: FullCorpus, data_dir: Path, unpack: bool = True) -> list[list[Path]]:
    """The files of a full corpus in reading order, in parts: each part is one file, or one folder
    of HotpotQA's shards (IRCoT App. A).

    They are in `data_dir`/<name> or in `data_dir`. Raises FileNotFoundError for a missing file.
    `unpack`: whether an archive that was not unpacked is; otherwise it is given in its place.
    """
    folders = (Path(data_dir) / corpus.name, Path(data_dir))
    if corpus.find_files is not None:
        return corpus.find_files(folders, unpack)
    return [[path] for path in find_each(corpus, folders)]


def find_each(corpus: FullCorpus, folders: Sequence[Path]) -> list[Path]:
    """Each file from the first folder that has it. FileNotFoundError names all missing files."""
    places = [folder / name for name in corpus.files for folder in reversed(folders)]
    paths = {path.name: path for path in places if path.is_file()}  # the first folder comes last
    if missing := [name for name in corpus.files if name not in paths]:
        looked = f"looked for {', '.join(missing)} in {' and '.join(map(str, folders))}"
        get = f"get what is missing from {corpus.source} and put it there"
        raise FileNotFoundError(f"no full corpus of {corpus.name}: {looked}; {get}")
    return [paths[name] for name in corpus.files]


class Damaged(ValueError):
    """Why a JSON text cannot be read to its end, in one line."""


def stream_list(path: Path) -> Iterator[tuple[object, str]]:
    """The records of a file that is one JSON list, read as a stream, each with its place. Raises
    ValueError, naming file and record.

    Differs from ijson.items, whose memory grows with the square of the depth of nesting.
    """
    number = 0
    builder = ObjectBuilder()
    with path.open("rb") as file:
        if not (beginning := file.peek(60)[:60]).removeprefix(BOM).lstrip().startswith(b"["):
            wrong = f"expected one JSON list of questions, found {excerpt(beginning)}"
            raise DataError(f"{path}: {wrong}: get the file again")
        try:
            for event, value in read_events(file):
                builder.event(event, value)
                if (depth := len(builder.containers)) > DEEPEST:
                    raise Damaged(f"nested deeper than {DEEPEST}")
                if depth == 1 and builder.value:
                    number += 1
                    yield builder.value.pop(), f"{path}, record {number}"
        except Damaged as error:
            damage = f"cut off or damaged after record {number} ({error})"
            raise DataError(f"{path}: {damage}: get the file again") from error


def read_events(file: BufferedReader) -> Iterator[tuple[str, object]]:
    """ijson's events for a JSON text in UTF-8, perhaps with a byte order mark. Raises Damaged."""
    if file.peek(len(BOM)).startswith(BOM):
        file.read(len(BOM))
    try:
        yield from ijson.basic_parse(file, use_float=True)  # without it, long integers crash
    except (ijson.JSONError, ValueError) as error:
        raise Damaged(str(error).partition("\n")[0]) from error
