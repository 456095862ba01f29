"""HotpotQA's corpus, Wikipedia's abstracts of 2017: the archive and its shards (IRCoT App. A)."""

import bz2
import re
import shutil
import tarfile
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from ircotlib.data import Paragraph, read_lines
from ircotlib.datasets import FullCorpus
from ircotlib.datasets.downloads import find_each
from ircotlib.datasets.fields import Record, String, check
from ircotlib.datasets.pooled import make_paragraph
from ircotlib.errors import DataError
from ircotlib.files.progress import show_progress

# folders AA, AB, ... of wiki_00.bz2 to wiki_99.bz2
FOLDER = "enwiki-20171001-pages-meta-current-withlinks-abstracts"
ARCHIVE = f"{FOLDER}.tar.bz2"
MEMBER = re.compile(r"(?:\./)?[^/]+/([A-Z]{2}/wiki_\d\d\.bz2)")
EXPECTED = f"expected members {FOLDER}/AA/wiki_00.bz2 and so on"


class _Abstract(Record):
    title: String
    text: list[String]  # sentences


def find_shards(folders: Sequence[Path], unpack: bool = True) -> list[list[Path]]:
    """The shards, grouped by folder and sorted by name.

    If no folder was unpacked, the archive is, into a folder of its own, as `tar` would do (1.6 GB);
    without `unpack` it is given in place of the shards. Raises FileNotFoundError if there is
    neither, ValueError for a damaged archive or missing shard.
    """
    names = (FOLDER, "wikpedia-paragraphs")  # as the authors' download script calls it
    for folder in (folder / name for folder in folders for name in names):
        if folder.is_dir():
            return _list_shards(folder)
    [archive] = find_each(ABSTRACTS, folders)
    return _list_shards(_unpack(archive)) if unpack else [[archive]]


def read_abstracts(path: Path) -> Iterator[Paragraph]:
    """The abstracts in a shard, also those without a sentence: the paper's count has them."""
    hint = f"is it from the archive of whole pages, not from {FOLDER}?"
    for row, where in read_lines(path):
        record = check(row, _Abstract, where, hint)
        yield make_paragraph(record.title, "".join(record.text).strip())


def _list_shards(folder: Path) -> list[list[Path]]:
    """As find_shards. Raises DataError if a shard before the last is missing, or all are."""
    shards = sorted(folder.glob("[A-Z][A-Z]/wiki_[0-9][0-9].bz2"))
    for number, shard in enumerate(shards or [folder]):
        letters = chr(65 + number // 2600) + chr(65 + number // 100 % 26)
        expected = f"{letters}/wiki_{number % 100:02}.bz2"
        if shard != folder / expected:
            instead = shard.relative_to(folder) if shards else "no shards"
            wrong = f"expected {expected} after {number} shards, found {instead}"
            again = f"delete the folder and unpack {ARCHIVE} again, from {ABSTRACTS.source}"
            raise DataError(f"{folder}: {wrong}: it was not unpacked completely; {again}")
    return [list(group) for _, group in groupby(shards, key=lambda shard: shard.parent)]


def _unpack(archive: Path) -> Path:
    """Unpack HotpotQA's archive next to it, completely or not at all, and return the new folder.

    The archive is not read directly, because its shards are not sorted. Raises DataError, naming
    archive and last complete member, if it is damaged or another one.
    """
    folder = archive.with_name(FOLDER)
    partial = archive.with_name(f"{FOLDER}.partial")
    last = "none"
    size = archive.stat().st_size
    with show_progress(f"unpacking {ARCHIVE}", size) as show:
        try:
            with archive.open("rb") as raw, bz2.open(raw) as stream:
                with tarfile.open(fileobj=stream, mode="r|") as tar:
                    for member in filter(tarfile.TarInfo.isfile, tar):
                        if (shard := MEMBER.fullmatch(member.name)) is None:
                            raise tarfile.ReadError(f"{EXPECTED}, found {member.name!r}")
                        path = partial / shard[1]
                        path.parent.mkdir(parents=True, exist_ok=True)
                        with path.open("wb") as file:
                            shutil.copyfileobj(tar.extractfile(member), file)
                        last = member.name
                        show(raw.tell(), size)
                # reads the end mark of the archive, which is missing if the archive is cut off
                while stream.read(1 << 20):
                    pass
                show(raw.tell(), size)
            if last == "none":
                raise tarfile.ReadError(f"{EXPECTED}, found none")
        except (tarfile.TarError, EOFError, OSError) as error:
            if getattr(error, "errno", None):  # of the disk, not of the archive
                raise
            wrong = f"cut off, damaged or another archive ({error})"
            again = f"get it again: {ABSTRACTS.source}"
            raise DataError(f"{archive}, after member {last}: {wrong}; {again}") from error
    partial.rename(folder)
    return folder


ABSTRACTS = FullCorpus(
    name="hotpotqa",
    files=(ARCHIVE,),
    source=f"https://nlp.stanford.edu/projects/hotpotqa/{ARCHIVE} (1,553,565,403 bytes, MD5"
    " 01edf64cd120ecc03a2745352779514c; described on https://hotpotqa.github.io/wiki-readme.html)",
    count=5_233_329,
    read=read_abstracts,
    find_files=find_shards,
)
