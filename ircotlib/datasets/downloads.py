"""The official downloads that full corpora are made of: where they lie, and the paragraphs of each
file (IRCoT App. A).
"""

import bz2
import json
import re
import tarfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import groupby
from pathlib import Path

import ijson

from ircotlib.data import Paragraph
from ircotlib.datasets.fields import field, shown
from ircotlib.datasets.hotpotqa import read_context
from ircotlib.datasets.pooled import make_paragraph
from ircotlib.progress import show_progress

Progress = Callable[[str, int], AbstractContextManager[Callable[[int, int], None]]]

# folders AA, AB, ... of wiki_00.bz2 to wiki_99.bz2
ABSTRACTS = "enwiki-20171001-pages-meta-current-withlinks-abstracts"
RENAMED = "wikpedia-paragraphs"  # what the authors' download script calls that folder
ARCHIVE = f"{ABSTRACTS}.tar.bz2"
SPLITS = ("dev", "test", "train")
FILES = {  # all of them needed, and read in this order
    "hotpotqa": (ARCHIVE,),
    "2wikimultihopqa": tuple(f"{split}.json" for split in SPLITS),
    # the authors' program pools the answerable and the full variant: the number in the paper is of
    # these six files
    "musique": tuple(
        f"musique_{variant}_v1.0_{split}.jsonl" for variant in ("ans", "full") for split in SPLITS
    ),
    "iirc": ("context_articles.json",),
}
SOURCES = {
    "hotpotqa": f"https://nlp.stanford.edu/projects/hotpotqa/{ARCHIVE} (1,553,565,403 bytes, MD5 01edf64cd120ecc03a2745352779514c;"
    " described on https://hotpotqa.github.io/wiki-readme.html)",
    "2wikimultihopqa": "https://github.com/Alab-NII/2wikimultihop (the paper's number is of data_ids.zip, of December 2020;"
    " data_ids_april7.zip cuts some sentences in other places)",
    "musique": "https://github.com/StonyBrookNLP/musique (in musique_v1.0.zip)",
    "iirc": "https://allenai.org/data/iirc (in https://iirc-dataset.s3.us-west-2.amazonaws.com/context_articles.tar.gz)",
}


def find_files(
    dataset: str, data_dir: Path, progress: Progress = show_progress
) -> list[list[Path]]:
    """The files of a data set's corpus, in the order they are read, in parts: a folder of
    HotpotQA's shards, or one file (IRCoT App. A).

    They lie in `data_dir`/<dataset> or in `data_dir`. HotpotQA's archive is unpacked beside itself,
    once, as `tar` would (1.6 GB); where the unpacked folder is, the archive is not needed. Raises
    ValueError for an unknown data set, a damaged archive or a missing shard, FileNotFoundError for
    a file that is not there.
    """
    if dataset not in FILES:
        raise ValueError(f"unknown data set {dataset!r}; full corpora are of {', '.join(FILES)}")
    folders = (Path(data_dir) / dataset, Path(data_dir))
    if dataset == "hotpotqa":
        for folder in (folder / name for folder in folders for name in (ABSTRACTS, RENAMED)):
            if folder.is_dir():
                return _find_shards(folder)
        [archive] = _find(dataset, folders)
        return _find_shards(unpack(archive, progress))
    return [[path] for path in _find(dataset, folders)]


def _find(dataset: str, folders: tuple[Path, ...]) -> list[Path]:
    found = {
        name: folder / name
        for folder in reversed(folders)
        for name in FILES[dataset]
        if (folder / name).is_file()
    }
    if missing := [name for name in FILES[dataset] if name not in found]:
        raise FileNotFoundError(
            f"no full corpus of {dataset}: looked for {', '.join(missing)} in {' and '.join(map(str, folders))};"
            f" get {'it' if len(missing) == 1 else 'them'} from {SOURCES[dataset]} and put {'it' if len(missing) == 1 else 'them'} there"
        )
    return [found[name] for name in FILES[dataset]]


def _find_shards(folder: Path) -> list[list[Path]]:
    """The shards by folder, in order of their names; ValueError where one is missing between
    others.
    """
    shards = sorted(folder.glob("[A-Z][A-Z]/wiki_[0-9][0-9].bz2"))
    for number, shard in enumerate(shards or [folder]):
        expected = (
            f"{chr(65 + number // 2600)}{chr(65 + number // 100 % 26)}/wiki_{number % 100:02}.bz2"
        )
        if shard != folder / expected:
            raise ValueError(
                f"{folder}: expected {expected} after {number} shards, found {shard.relative_to(folder) if shards else 'no shards'}:"
                f" it was not unpacked to the end; delete the folder and unpack {ARCHIVE} again, from {SOURCES['hotpotqa']}"
            )
    return [list(group) for _, group in groupby(shards, key=lambda shard: shard.parent)]


def unpack(archive: Path, progress: Progress = show_progress) -> Path:
    """Unpack HotpotQA's archive beside itself, whole or not at all, and return the folder; after a
    kill, what is there stays.

    The archive holds its shards in no order, so a corpus read from it directly would have another
    order than one read from the folder. Raises ValueError naming the archive and the last whole
    member where it is damaged or another archive.
    """
    folder, last = archive.with_name(ABSTRACTS), "none"
    partial = folder.with_name(f"{ABSTRACTS}.partial")
    size = archive.stat().st_size
    with (
        archive.open("rb") as raw,
        bz2.open(raw) as stream,
        progress(f"unpacking {ARCHIVE}", size) as show,
    ):
        try:
            with tarfile.open(fileobj=stream, mode="r|") as tar:
                for member in tar:
                    if member.isfile():
                        _unpack_shard(tar, member, partial)
                        last = member.name
                    show(raw.tell(), size)
            # the end mark of the archive, which is missing from one that is cut off
            while stream.read(1 << 20):
                pass
        except (tarfile.TarError, EOFError, OSError) as error:
            if getattr(error, "errno", None):  # of the disk, not of the archive
                raise
            raise ValueError(
                f"{archive}, after member {last}: cut off, damaged or another archive ({error}); get it again: {SOURCES['hotpotqa']}"
            ) from error
    if last == "none":
        raise ValueError(
            f"{archive}: expected members {ABSTRACTS}/AA/wiki_00.bz2 and so on, found none; get it from {SOURCES['hotpotqa']}"
        )
    partial.rename(folder)
    return folder


def _unpack_shard(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    name = re.fullmatch(r"(?:\./)?[^/]+/([A-Z]{2}/wiki_\d\d\.bz2)", member.name)
    if not name:
        raise tarfile.ReadError(
            f"expected members {ABSTRACTS}/AA/wiki_00.bz2 and so on, found {member.name!r}"
        )
    path = folder / name[1]
    if path.is_file() and path.stat().st_size == member.size:
        return
    content = tar.extractfile(member).read()
    if len(content) < member.size:
        raise EOFError(f"{member.name} has {len(content)} of {member.size} bytes")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def read_file(dataset: str, path: Path) -> Iterator[Paragraph]:
    """The paragraphs of one file of find_files, in order, repeated ones too; ValueError naming file
    and line where it is damaged.
    """
    return READERS[dataset](path)


def read_abstracts(path: Path) -> Iterator[Paragraph]:
    """The abstracts of one of HotpotQA's shards; those without a sentence too, with an empty text,
    for the paper's number counts them.
    """
    for record, where in _read_lines(path):
        sentences = field(record, "text", list, where)
        if not all(isinstance(sentence, str) for sentence in sentences):
            raise ValueError(
                f"{where}, field 'text': expected a list of sentences, found {shown(sentences)}: is it of the archive of whole pages,"
                f" not of {ABSTRACTS}?"
            )
        yield make_paragraph(field(record, "title", str, where), "".join(sentences).strip())


def read_contexts(path: Path) -> Iterator[Paragraph]:
    """The paragraphs of the contexts of 2WikiMultihopQA's questions; test questions, which lack
    answers, are welcome.
    """
    for record, where in _read_list(path):
        yield from read_context(record, where, " ")


def read_paragraphs(path: Path) -> Iterator[Paragraph]:
    """The paragraphs of MuSiQue's questions, answerable or not, with or without answers."""
    for record, where in _read_lines(path):
        for number, entry in enumerate(field(record, "paragraphs", list, where)):
            place = f"{where}, paragraph {number}"
            yield make_paragraph(
                field(entry, "title", str, place),
                field(entry, "paragraph_text", str, place).strip(),
            )


def read_iirc(path: Path) -> Iterator[Paragraph]:
    """The paragraphs of the pages of IIRC's context articles, in the shuffled order of
    read_articles.
    """
    from ircotlib.datasets.iirc import read_articles

    return read_articles(path)


READERS = {
    "hotpotqa": read_abstracts,
    "2wikimultihopqa": read_contexts,
    "musique": read_paragraphs,
    "iirc": read_iirc,
}


def _read_lines(path: Path) -> Iterator[tuple[object, str]]:
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
                f"{path}, line {number}: expected one JSON object, found {shown(line)} ({error}): get the file again"
            ) from error
        except (EOFError, OSError) as error:
            raise ValueError(
                f"{path}: cut off or damaged after line {number} ({error}): get the file again"
            ) from error


def _read_list(path: Path) -> Iterator[tuple[object, str]]:
    """The records of a file that is one JSON list, read bit by bit, each with its place; ValueError
    naming file and record.
    """
    number = 0
    with path.open("rb") as file:
        if not (beginning := file.peek(60)[:60]).lstrip().startswith(b"["):
            raise ValueError(
                f"{path}: expected one JSON list of questions, found a file that starts with {shown(beginning)}"
            )
        try:
            for number, record in enumerate(ijson.items(file, "item"), start=1):
                yield record, f"{path}, record {number}"
        except (ijson.JSONError, UnicodeDecodeError) as error:
            raise ValueError(
                f"{path}: cut off or damaged after record {number} ({error}): get the file again"
            ) from error
