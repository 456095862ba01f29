"""The official downloads that full corpora are made of: where they lie, and the records of a file,
read as a stream (IRCoT App. A).
"""

import bz2
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import ijson

from ircotlib.datasets import FullCorpus
from ircotlib.datasets.fields import excerpt
from ircotlib.progress import show_progress

Progress = Callable[[str, int], AbstractContextManager[Callable[[int, int], None]]]


def find_files(
    corpus: FullCorpus, data_dir: Path, progress: Progress = show_progress
) -> list[list[Path]]:
    """The files of a full corpus, in the order they are read, in parts: a folder of HotpotQA's
    shards, or one file (IRCoT App. A).

    They lie in `data_dir`/<name of the corpus> or in `data_dir`. Raises FileNotFoundError for a
    file that is not there, and what `corpus.find` raises.
    """
    folders = (Path(data_dir) / corpus.name, Path(data_dir))
    if corpus.find is not None:
        return corpus.find(folders, progress)
    return [[path] for path in find_each(corpus, folders)]


def find_each(corpus: FullCorpus, folders: Sequence[Path]) -> list[Path]:
    """Each file of a full corpus, in the first folder that has it; FileNotFoundError says what is
    missing, and where to get it.
    """
    found = {
        name: folder / name
        for folder in reversed(folders)
        for name in corpus.files
        if (folder / name).is_file()
    }
    if missing := [name for name in corpus.files if name not in found]:
        them = "it" if len(missing) == 1 else "them"
        raise FileNotFoundError(
            f"no full corpus of {corpus.name}: looked for {', '.join(missing)} in"
            f" {' and '.join(map(str, folders))}; get {them} from {corpus.source} and put {them}"
            " there"
        )
    return [found[name] for name in corpus.files]


def read_lines(path: Path) -> Iterator[tuple[object, str]]:
    """The records of a file of JSON lines, plain or bz2, each with its place; ValueError naming
    file and line.
    """
    number = 0
    with bz2.open(path) if path.suffix == ".bz2" else path.open("rb") as file:
        try:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield json.loads(line), f"{path}, line {number}"
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ValueError(
                f"{path}, line {number}: expected one JSON object, found {excerpt(line)}"
                f" ({error}): get the file again"
            ) from error
        except (EOFError, OSError) as error:
            raise ValueError(
                f"{path}: cut off or damaged after line {number} ({error}): get the file again"
            ) from error


def read_list(path: Path) -> Iterator[tuple[object, str]]:
    """The records of a file that is one JSON list, read bit by bit, each with its place; ValueError
    naming file and record.
    """
    number = 0
    with path.open("rb") as file:
        if not (beginning := file.peek(60)[:60]).lstrip().startswith(b"["):
            raise ValueError(
                f"{path}: expected one JSON list of questions, found a file that starts with"
                f" {excerpt(beginning)}"
            )
        try:
            for number, record in enumerate(ijson.items(file, "item"), start=1):
                yield record, f"{path}, record {number}"
        except (ijson.JSONError, UnicodeDecodeError) as error:
            raise ValueError(
                f"{path}: cut off or damaged after record {number} ({error}): get the file again"
            ) from error
