"""Brings in questions and corpora: of the Hugging Face hub, of a local copy, or of your own texts.

ircotlib import hotpotqa/hotpot_qa FOLDER --config distractor   from the hub
ircotlib import my_copy FOLDER --split test                     what save_to_disk wrote
ircotlib import table.parquet FOLDER --column answers=gold      or .arrow, .csv, .json, .jsonl
ircotlib import notes FOLDER                                    text, Markdown and PDF: a corpus

They become the data set `own` of data_dir=FOLDER.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from ircotlib.data import Paragraph, read_jsonl
from ircotlib.datasets.documents import KINDS, read_documents
from ircotlib.datasets.hub import COLUMNS, SAVED, open_table, read_table
from ircotlib.datasets.own import CORPUS, FILE, NAME, write_own, write_own_corpus
from ircotlib.errors import UserError
from ircotlib.files.options import new_parser, read_folder
from ircotlib.files.paths import check_writable


def bring(
    source: str,
    folder: Path,
    config: str | None = None,
    split: str | None = None,
    columns: Mapping[str, str] = {},
) -> Path:
    """Write what a source has (`read_documents`, `open_table`, `read_table`) as the data set `own`
    into a folder, and return the file. Raises UserError if the file is there.
    """
    path = Path(source)
    is_table = not path.is_dir() or any((path / name).is_file() for name in SAVED)
    if is_table and path.suffix.lower() not in KINDS:
        records = read_table(open_table(source, config, split), columns, source)
    else:
        records = read_documents(path)
    if (first := next(records, None)) is None:
        raise UserError(f"{source}: found nothing that can be answered, expected questions")
    is_corpus = isinstance(first, Paragraph)
    target = folder / NAME / (CORPUS if is_corpus else FILE)
    if target.exists():
        raise UserError(f"{target}: found a file, expected nothing there yet: name another folder")
    check_writable(folder)
    (write_own_corpus if is_corpus else write_own)(folder, chain([first], records))
    return target


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__, "ircotlib import")
    parser.add_argument("source", help="OWNER/NAME on the hub, a folder or a file")
    parser.add_argument("folder", type=read_folder, help="gets own/; to be used as data_dir")
    parser.add_argument("--config", help="of a data set that has several")
    parser.add_argument("--split", help="without it the only one, or validation")
    named = f"which column has what ({', '.join(COLUMNS)}); may be repeated"
    parser.add_argument("--column", action="append", default=[], metavar="WHAT=COLUMN", help=named)
    options = parser.parse_args(arguments)
    columns = dict(text.partition("=")[::2] for text in options.column)
    if unknown := [what for what in columns if what not in COLUMNS]:
        raise UserError(f"found --column {unknown[0]!r}, expected one of {', '.join(COLUMNS)}")
    target = bring(options.source, options.folder, options.config, options.split, columns)
    count = sum(1 for _ in read_jsonl(target))
    what = "questions" if target.name == FILE else "paragraphs"
    use = f'--set "datasets=[own]" --set data_dir={options.folder}'
    print(f"{target}: {count:,} {what}; to use them: {use}")
