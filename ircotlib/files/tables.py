"""Tables in CSV files: every cell is read as the text that it is, and checked."""

import csv
import io
from collections.abc import Mapping, Sequence
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ircotlib.data import excerpt
from ircotlib.errors import DataError
from ircotlib.files.paths import read_bytes, write_partial

if TYPE_CHECKING:  # the core is imported without it
    import pandas as pd


class Number(NamedTuple):
    """What a column of numbers holds: finite ones of a type within bounds. `empty`: the value of an
    empty cell; None: no cell may be empty.
    """

    least: float = -inf
    most: float = inf
    kind: type = float
    empty: float | None = None

    def read(self, cell: str) -> float:
        """The number in a cell. Raises ValueError if it is none of these."""
        if cell == "" and self.empty is not None:
            return self.empty
        number = self.kind(cell)
        if not (isfinite(number) and self.least <= number <= self.most):
            raise ValueError
        return number

    def __str__(self) -> str:
        ends = ((self.least, "from"), (self.most, "to"))
        bounds = [f"{word} {end:g}" for end, word in ends if isfinite(end)]
        words = ["a whole number" if self.kind is int else "a number such as 0.15", *bounds]
        return " ".join(words + ["or nothing"] * (self.empty is not None))


def read_table(
    path: Path,
    columns: Mapping[str, Number | None],
    key: Sequence[str] = (),
    others: Number | None = None,
    content: bytes | None = None,
) -> list[dict]:
    """The rows of a CSV file in UTF-8, with or without a byte order mark, each by column name.

    `columns`: those that it must have, with what they hold; None: texts, as they are. `others`: the
    same for all others. `key`: the columns that are together different in each row. `content`: of
    the file, if it was read before. Raises DataError, in one line, with the row (the first one is
    of the names) and the column.
    """
    expected = f"expected a table with the columns {', '.join(columns)}, separated by commas"
    try:
        text = (read_bytes(path) if content is None else content).decode("utf-8-sig")
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except (OSError, ValueError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: found no table ({reason}), {expected}") from None
    names = lines[0] if lines else []
    rows = []
    keys = {}  # the number of the row that has a key
    if len(set(names)) < len(names) or not set(columns) <= set(names):
        found = excerpt(",".join(names))
        raise DataError(f"{path}, row 1: found the columns {found}, {expected}; correct the file")
    for place, cells in ((f"{path}, row {n}", cells) for n, cells in enumerate(lines, 1) if cells):
        if cells is names:
            continue
        if len(cells) != len(names):
            found = f"found {len(cells)} cells, expected {len(names)}, as in row 1"
            raise DataError(f"{place}: {found}; put a text with commas between double quotes")
        row = dict(zip(names, cells, strict=True))
        for name, cell in row.items():
            if number := columns.get(name, others):
                try:
                    row[name] = number.read(cell)
                except (ValueError, OverflowError):
                    wrong = f"found {excerpt(cell)}, expected {number}; correct the cell"
                    raise DataError(f"{place}, column {name!r}: {wrong}") from None
        same = tuple(row[name] for name in key)
        if key and same in keys:
            found = f"found {excerpt(', '.join(map(str, same)))} again, as in row {keys[same]}"
            raise DataError(f"{place}, column {key[0]!r}: {found}, expected it once; remove one")
        keys[same] = place.rpartition(" ")[2]
        rows.append(row)
    return rows


def write_table(path: Path, table: "pd.DataFrame") -> None:
    """Write a table as CSV, so that `read_table` reads the same texts: also those with line ends.
    Half of a surrogate pair is written as an escape.
    """
    with write_partial(path) as partial:
        with partial.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            cells = table.astype(object).where(table.notna(), "")
            for row in (table.columns, *cells.itertuples(index=False, name=None)):
                line = io.StringIO()
                csv.writer(line).writerow(row)  # ends with CR LF, and so puts either into quotes
                file.write(line.getvalue().removesuffix("\r\n") + "\n")
