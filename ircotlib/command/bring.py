"""Imports questions and corpora of your own as the data set `own` of data_dir=FOLDER.

ircotlib import asked.csv FOLDER --column question=asked   questions: CSV, TSV or JSON
lines ircotlib import pages.jsonl FOLDER --column text=contents  a corpus: title and
text ircotlib import notes FOLDER                               text and Markdown: a
corpus
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from ircotlib.data import Paragraph, read_jsonl
from ircotlib.datasets import own
from ircotlib.errors import UserError
from ircotlib.options import new_parser


def bring(source: Path, folder: Path, columns: Mapping[str, str] = {}) -> Path:
    """Write a source's content into a folder, as the data set `own`, and return the
    file.
    """
    kind, tables = source.suffix.lower(), (*own.TABLES, ".jsonl")
    if not source.is_dir() and kind not in (known := (*tables, *own.DOCUMENTS)):
        expected = f"expected a folder, or a file that ends in {', '.join(known)}"
        raise UserError(f"found {source}, {expected}")
    records = (
        own.read_table(source, columns)
        if kind in tables
        else own.read_documents(source)
    )
    if (first := next(records, None)) is None:
        raise UserError(f"{source}: found no question and no paragraph, expected some")
    is_corpus = isinstance(first, Paragraph)
    target = folder / own.NAME / (own.CORPUS if is_corpus else own.FILE)
    if target.exists():
        raise UserError(f"{target}: this file is there already: name another folder")
    own.write_own(folder, chain([first], records), target.name)
    return target


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__, "ircotlib import")
    parser.add_argument("source", type=Path, help="a file or folder")
    parser.add_argument("folder", type=Path, help="the folder that gets own/")
    named = "another name, in the table, of id, question, answers, kind, title or text"
    how = {"action": "append", "default": [], "metavar": "WHAT=COLUMN", "help": named}
    parser.add_argument("--column", **how)
    options = parser.parse_args(arguments)
    columns = dict(text.partition("=")[::2] for text in options.column)
    target = bring(options.source, options.folder, columns)
    count = sum(1 for _ in read_jsonl(target))
    what = "questions" if target.name == own.FILE else "paragraphs"
    use = f"--set datasets=[own] --set data_dir={options.folder}"
    print(f"{target}: {count:,} {what}; to use them: {use}")
