"""HotpotQA's corpus, the abstracts of a Wikipedia: its archive and the shards in it (IRCoT App. A),
https://hotpotqa.github.io/wiki-readme.html
"""

import bz2
import re
import tarfile
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from ircotlib.data import Paragraph, read_lines
from ircotlib.datasets import FullCorpus
from ircotlib.datasets.downloads import Progress, find_each
from ircotlib.datasets.fields import Record, String, check
from ircotlib.datasets.pooled import make_paragraph
from ircotlib.progress import show_progress

# folders AA, AB, ... of wiki_00.bz2 to wiki_99.bz2
FOLDER = "enwiki-20171001-pages-meta-current-withlinks-abstracts"
RENAMED = "wikpedia-paragraphs"  # what the authors' download script calls that folder
ARCHIVE = f"{FOLDER}.tar.bz2"


class _Abstract(Record):
    title: String
    text: list[String]  # sentences


def find_shards(folders: Sequence[Path], progress: Progress = show_progress) -> list[list[Path]]:
    """The shards by folder, in order of their names.

    The archive is unpacked beside itself, once, as `tar` would (1.6 GB); where the unpacked folder
    is, the archive is not needed. Raises ValueError for a damaged archive or a missing shard.
    """
    for folder in (folder / name for folder in folders for name in (FOLDER, RENAMED)):
        if folder.is_dir():
            return _list_shards(folder)
    [archive] = find_each(ABSTRACTS, folders)
    return _list_shards(unpack(archive, progress))


def read_abstracts(path: Path) -> Iterator[Paragraph]:
    """The abstracts of one of HotpotQA's shards; those without a sentence too, with an empty text,
    for the paper's number counts them.
    """
    hint = f"is it of the archive of whole pages, not of {FOLDER}?"
    for row, where in read_lines(path):
        record = check(row, _Abstract, where, hint)
        yield make_paragraph(record.title, "".join(record.text).strip())


def _list_shards(folder: Path) -> list[list[Path]]:
    """The shards by folder, in order of their names; ValueError where one is missing between
    others.
    """
    shards = sorted(folder.glob("[A-Z][A-Z]/wiki_[0-9][0-9].bz2"))
    for number, shard in enumerate(shards or [folder]):
        expected = _shard_name(number)
        if shard != folder / expected:
            found = shard.relative_to(folder) if shards else "no shards"
            raise ValueError(
                f"{folder}: expected {expected} after {number} shards, found {found}: it was not"
                f" unpacked to the end; delete the folder and unpack {ARCHIVE} again, from"
                f" {ABSTRACTS.source}"
            )
    return [list(group) for _, group in groupby(shards, key=lambda shard: shard.parent)]


def _shard_name(number: int) -> str:
    letters = chr(65 + number // 2600) + chr(65 + number // 100 % 26)
    return f"{letters}/wiki_{number % 100:02}.bz2"


def unpack(archive: Path, progress: Progress = show_progress) -> Path:
    """Unpack HotpotQA's archive beside itself, whole or not at all, and return the folder; after a
    kill, what is there stays.

    The archive holds its shards in no order, so a corpus read from it directly would have another
    order than one read from the folder. Raises ValueError naming the archive and the last whole
    member where it is damaged or another archive.
    """
    folder = archive.with_name(FOLDER)
    partial = folder.with_name(f"{FOLDER}.partial")
    last = "none"
    with progress(f"unpacking {ARCHIVE}", archive.stat().st_size) as show:
        try:
            for last in _unpack_shards(archive, partial, show):
                pass
        except (tarfile.TarError, EOFError, OSError) as error:
            if getattr(error, "errno", None):  # of the disk, not of the archive
                raise
            raise ValueError(
                f"{archive}, after member {last}: cut off, damaged or another archive ({error});"
                f" get it again: {ABSTRACTS.source}"
            ) from error
    if last == "none":
        raise ValueError(
            f"{archive}: expected members {FOLDER}/AA/wiki_00.bz2 and so on, found none; get it"
            f" from {ABSTRACTS.source}"
        )
    partial.rename(folder)
    return folder


def _unpack_shards(archive: Path, folder: Path, show: Callable[[int, int], None]) -> Iterator[str]:
    """Unpack an archive to its end, and give the name of each shard that is there."""
    size = archive.stat().st_size
    with archive.open("rb") as raw, bz2.open(raw) as stream:
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                if member.isfile():
                    _unpack_shard(tar, member, folder)
                    yield member.name
                show(raw.tell(), size)
        # the end mark of the archive, which is missing from one that is cut off
        while stream.read(1 << 20):
            pass


def _unpack_shard(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    name = re.fullmatch(r"(?:\./)?[^/]+/([A-Z]{2}/wiki_\d\d\.bz2)", member.name)
    if not name:
        raise tarfile.ReadError(
            f"expected members {FOLDER}/AA/wiki_00.bz2 and so on, found {member.name!r}"
        )
    path = folder / name[1]
    if path.is_file() and path.stat().st_size == member.size:
        return
    content = tar.extractfile(member).read()
    if len(content) < member.size:
        raise EOFError(f"{member.name} has {len(content)} of {member.size} bytes")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


ABSTRACTS = FullCorpus(
    name="hotpotqa",
    files=(ARCHIVE,),
    source=f"https://nlp.stanford.edu/projects/hotpotqa/{ARCHIVE} (1,553,565,403 bytes, MD5"
    " 01edf64cd120ecc03a2745352779514c; described on https://hotpotqa.github.io/wiki-readme.html)",
    count=5_233_329,
    read=read_abstracts,
    find=find_shards,
)
