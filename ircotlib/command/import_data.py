"""Imports questions and corpora of your own as the data set `own` of data_dir=FOLDER.

ircotlib import asked.csv FOLDER --column question=asked     questions
ircotlib import pages.jsonl FOLDER --column text=contents    a corpus: title and text
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from ircotlib.data import Paragraph, read_jsonl
from ircotlib.datasets import own
from ircotlib.errors import UserError
from ircotlib.options import new_parser

ENDINGS = (*own.TABLES, ".jsonl")


def import_data(source: Path, folder: Path, columns: Mapping[str, str] = {}) -> Path:
    """Write a file's content into a folder, as the data set `own`; return the new file.

    `columns`: see `own.read_table`. Raises UserError if such a file is there already.
    """
    if source.is_dir() or source.suffix.lower() not in ENDINGS:
        raise UserError(
            f"found {source}, expected a file that ends in {', '.join(ENDINGS)}:"
            " put texts into the columns title and text of such a file"
        )
    records = own.read_table(source, columns)
    first = next(records, None)
    if first is None:
        raise UserError(f"{source}: found no question and no paragraph, expected some")
    name = own.CORPUS if isinstance(first, Paragraph) else own.FILE
    target = folder / own.NAME / name
    if target.exists():
        raise UserError(f"{target}: this file is there already: name another folder")
    own.write_own(folder, chain([first], records), name)
    return target


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__, "ircotlib import")
    parser.add_argument("source", type=Path, help=f"a file: {', '.join(ENDINGS)}")
    parser.add_argument("folder", type=Path, help="the folder that gets own/")
    names = "another name, in the file, of id, question, answers, kind, title or text"
    parser.add_argument(
        "--column", action="append", default=[], metavar="WHAT=COLUMN", help=names
    )
    options = parser.parse_args(arguments)
    columns = dict(text.partition("=")[::2] for text in options.column)
    target = import_data(options.source, options.folder, columns)
    count = sum(1 for _ in read_jsonl(target))
    kind = "questions" if target.name == own.FILE else "paragraphs"
    use = f"--set datasets=[own] --set data_dir={options.folder}"
    print(f"{target}: {count:,} {kind}; to use them: {use}")
