"""Tables in CSV files: every cell is read as the text that it is, or as a checked number."""

import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ircotlib.errors import DataError
from ircotlib.files import writing

if TYPE_CHECKING:  # the core is imported without it
    import pandas as pd

LARGEST = sys.float_info.max


class Number(NamedTuple):
    """What a column of numbers holds: finite ones of a type within bounds. `empty`: the value of an
    empty cell; None: no cell may be empty.
    """

    least: float = -LARGEST
    most: float = LARGEST
    kind: type = float
    empty: float | None = None

    def read(self, cell: str) -> float:
        """The number in a cell. Raises ValueError if it is none of these."""
        if cell == "" and self.empty is not None:
            return self.empty
        number = self.kind(cell)
        if not self.least <= number <= self.most:
            raise ValueError(f"found {cell}, expected from {self.least:g} to {self.most:g}")
        return number


def read_cells(path: Path, delimiter: str = ",") -> Iterator[tuple[dict[str, str], str]]:
    """The rows of a table in UTF-8 by column, each with its place, `path:line`."""
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file, delimiter=delimiter, strict=True)
        try:
            for row in rows:
                if None in row or None in row.values():
                    raise csv.Error("found more or fewer cells than columns: put a text in quotes")
                yield row, f"{path}:{rows.line_num}"
        except (ValueError, csv.Error) as error:  # ValueError: no UTF-8
            raise DataError(f"{path}:{rows.line_num}: {error}") from None


def read_table(
    path: Path,
    columns: Mapping[str, Number | None],
    key: Sequence[str] = (),
    others: Number | None = None,
) -> list[dict]:
    """The rows of a CSV file by column. `columns`: those that it must have, with what they hold;
    None: texts, as they are. `others`: the same for all others. `key`: the columns that are
    together different in each row.
    """
    rows = {}
    for row, where in read_cells(path):
        if lost := columns.keys() - row.keys():
            raise DataError(f"{where}: found no column {', '.join(sorted(lost))}: correct the file")
        for name, cell in row.items():
            try:
                number = columns.get(name, others)
                row[name] = number.read(cell) if number else cell
            except ValueError as error:
                raise DataError(f"{where}, column {name}: {error}: correct the cell") from None
        same = tuple(row[name] for name in key) or where
        if same in rows:
            raise DataError(f"{where}: found {', '.join(same)} again, expected it once: remove one")
        rows[same] = row
    return list(rows.values())


def write_table(path: Path, table: "pd.DataFrame") -> None:
    """Write a table as CSV, so that `read_table` reads the same texts. Half of a surrogate pair is
    written as an escape.
    """
    with writing(path) as new:
        table.to_csv(new, index=False, lineterminator="\n", errors="backslashreplace")
