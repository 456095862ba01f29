"""Brings in questions and corpora of your own; and what real models wrote, as scores.

ircotlib import asked.csv FOLDER --column question=asked   questions: CSV, TSV or JSON lines
ircotlib import pages.jsonl FOLDER --column text=contents  a corpus: title and text
ircotlib import notes FOLDER                               text and Markdown: a corpus

They become the data set `own` of data_dir=FOLDER.

ircotlib import outputs --set data_dir=FOLDER       folders of IRCoT's released program
ircotlib import answers.json --dataset hotpotqa --set data_dir=FOLDER     answers by question id
"""

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from ircotlib.command.options import new_parser, parse_changes
from ircotlib.data import Paragraph, read_jsonl
from ircotlib.datasets import own
from ircotlib.errors import UserError
from ircotlib.files import DATA
from ircotlib.papers.real_outputs import has_outputs, import_outputs
from ircotlib.results.statistics import summarise
from ircotlib.tables import write_table


def bring(source: Path, folder: Path, columns: Mapping[str, str] = {}) -> Path:
    """Write what a source has as the data set `own` into a folder, and return the file."""
    kind, tables = source.suffix.lower(), (*own.TABLES, ".jsonl")
    if not source.is_dir() and kind not in (*tables, *own.DOCUMENTS):
        expected = (
            f"expected a folder, or a file that ends in {', '.join((*tables, *own.DOCUMENTS))}"
        )
        raise UserError(f"found {source}, {expected}")
    records = own.read_table(source, columns) if kind in tables else own.read_documents(source)
    if (first := next(records, None)) is None:
        raise UserError(f"{source}: found no question and no paragraph, expected some")
    is_corpus = isinstance(first, Paragraph)
    target = folder / own.NAME / (own.CORPUS if is_corpus else own.FILE)
    if target.exists():
        raise UserError(f"{target}: found a file, expected nothing there yet: name another folder")
    own.write_own(folder, chain([first], records), target.name)
    return target


def bring_outputs(options: Namespace) -> None:
    """Write the scores of outputs as a table, and print their means and what was left out."""
    changes, path = parse_changes(options.set), DATA / "imported" / "scores.csv"
    if unknown := changes.keys() - {"data_dir"}:
        raise UserError(f"found --set {min(unknown)}, expected data_dir, for outputs nothing else")
    named = {name: getattr(options, name) for name in ("dataset", "system", "model")}
    scores, notes = import_outputs(*options.sources, **changes, **named)
    for note in notes:
        print(note, file=sys.stderr)
    write_table(path, scores)
    print(summarise(scores).drop(columns=["profile", "deviation"]).to_string(index=False))
    print(f"{path}: {len(scores):,} scored answers")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__, "ircotlib import")
    what = "a file or folder, and the folder that gets own/; or outputs"
    parser.add_argument("sources", nargs="+", type=Path, metavar="source", help=what)
    add_list = partial(parser.add_argument, action="append", default=[])
    named = "of a table: id, question, answers, kind, title or text, if it is called otherwise"
    add_list("--column", metavar="WHAT=COLUMN", help=named)
    for name, default in (("dataset", own.NAME), ("system", ""), ("model", "")):
        parser.add_argument(f"--{name}", default=default, help="of outputs that do not say it")
    files = "of outputs: your official files, with aliases and gold paragraphs"
    add_list("--set", metavar="data_dir=FOLDER", help=files)
    options = parser.parse_args(arguments)
    outputs = list(filter(has_outputs, options.sources))
    if len(outputs) == len(options.sources):
        return bring_outputs(options)
    if outputs or len(options.sources) != 2:
        named = " ".join(map(str, options.sources))
        raise UserError(f"found {named}, expected outputs only, or one source and a folder")
    source, folder = options.sources
    columns = dict(text.partition("=")[::2] for text in options.column)
    target = bring(source, folder, columns)
    count = sum(1 for _ in read_jsonl(target))
    what = "questions" if target.name == own.FILE else "paragraphs"
    print(f"{target}: {count:,} {what}; to use them: --set datasets=[own] --set data_dir={folder}")
