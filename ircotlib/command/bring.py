"""Brings in questions and corpora: of the Hugging Face hub, of a local copy, or of your own texts;
and what real models wrote, as a table of scores.

ircotlib import hotpotqa/hotpot_qa FOLDER --config distractor   from the hub
ircotlib import my_copy FOLDER --split test                     what save_to_disk wrote
ircotlib import table.parquet FOLDER --column answers=gold      or .arrow, .csv, .json, .jsonl
ircotlib import notes FOLDER                                    text, Markdown and PDF: a corpus

They become the data set `own` of data_dir=FOLDER.

ircotlib import outputs --set data_dir=FOLDER       folders of IRCoT's released program
ircotlib import answers.json --dataset hotpotqa --set data_dir=FOLDER     answers by question id
"""

import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from ircotlib.data import Paragraph, read_jsonl
from ircotlib.datasets.documents import KINDS, read_documents
from ircotlib.datasets.hub import COLUMNS, SAVED, open_table, read_table
from ircotlib.datasets.own import CORPUS, FILE, NAME, write_own, write_own_corpus
from ircotlib.errors import UserError
from ircotlib.files.options import new_parser, parse_changes, read_folder, refuse
from ircotlib.files.paths import DATA, ROOT, check_writable
from ircotlib.files.tables import write_table
from ircotlib.papers.real_outputs import has_outputs, import_outputs
from ircotlib.results.statistics import summarise


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


def _near(path: Path) -> str:
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def bring_outputs(options: Namespace) -> None:
    """Write the scores of outputs as a table, and print their means and what was left out."""
    changes = parse_changes(options.set)
    if unknown := [name for name in changes if name != "data_dir"]:
        raise UserError(f"found --set {unknown[0]}, expected data_dir, for outputs nothing else")
    named = {name: getattr(options, name) for name in ("dataset", "system", "model")}
    scores, notes = import_outputs(*options.sources, **changes, **named)
    for note in notes:
        print(note, file=sys.stderr)
    write_table(DATA / "imported" / "scores.csv", scores)
    print(summarise(scores).drop(columns=["profile", "deviation"]).to_string(index=False))
    print(f"{_near(DATA / 'imported' / 'scores.csv')}: {len(scores):,} scored answers")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__, "ircotlib import")
    what = "OWNER/NAME on the hub, a folder or a file, and the folder that gets own/; or outputs"
    parser.add_argument("sources", nargs="+", metavar="source", help=what)
    parser.add_argument("--config", help="of a data set that has several")
    parser.add_argument("--split", help="without it the only one, or validation")
    named = f"which column has what ({', '.join(COLUMNS)}); may be repeated"
    parser.add_argument("--column", action="append", default=[], metavar="WHAT=COLUMN", help=named)
    parser.add_argument("--dataset", default=NAME, help="of outputs that do not say it")
    parser.add_argument("--system", default="", help="of outputs that do not say it")
    parser.add_argument("--model", default="", help="of outputs that do not say it")
    change = "of outputs: your official files, with aliases and gold paragraphs"
    parser.add_argument(
        "--set", action="append", default=[], metavar="data_dir=FOLDER", help=change
    )
    options = parser.parse_args(arguments)
    outputs = list(filter(has_outputs, map(Path, options.sources)))
    if len(outputs) == len(options.sources):
        return bring_outputs(options)
    if outputs or len(options.sources) != 2:
        named = " ".join(options.sources)
        raise UserError(f"found {named}, expected outputs only, or one source and a folder")
    options.source, folder = options.sources
    try:
        options.folder = read_folder(folder)
    except ArgumentTypeError as error:
        refuse(f"argument folder: {error}")
    columns = dict(text.partition("=")[::2] for text in options.column)
    if unknown := [what for what in columns if what not in COLUMNS]:
        raise UserError(f"found --column {unknown[0]!r}, expected one of {', '.join(COLUMNS)}")
    target = bring(options.source, options.folder, options.config, options.split, columns)
    count = sum(1 for _ in read_jsonl(target))
    what = "questions" if target.name == FILE else "paragraphs"
    use = f'--set "datasets=[own]" --set data_dir={options.folder}'
    print(f"{target}: {count:,} {what}; to use them: {use}")
