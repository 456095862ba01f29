"""What models behind servers cost: a dated table, data/prices.csv, or the user's own figures."""

import csv
from collections.abc import Sequence
from typing import NamedTuple

from ircotlib.paths import PRICES

MILLION = 1_000_000


class Price(NamedTuple):
    """USD per million tokens that are read and written; `about`: since when, and who says so."""

    input: float
    output: float
    about: str

    def of(self, prompt_tokens: int, tokens: int) -> float:
        """The cost in USD of what was read and written."""
        return (self.input * prompt_tokens + self.output * tokens) / MILLION


def find_price(model: str, prices: Sequence[float] | None = None) -> Price | None:
    """The price of a model: `prices`, USD per million tokens read and written, or else that of
    data/prices.csv; None: not known.
    """
    if prices is not None:
        return Price(*prices, "as set")
    with PRICES.open(encoding="utf-8", newline="") as file:
        rows = {row["model"]: row for row in csv.DictReader(file)}
    if model not in rows:
        return None
    row = rows[model]
    return Price(float(row["input"]), float(row["output"]), f"{row['source']}, {row['date']}")


def in_dollars(cost: float | None) -> str:
    """A cost in words; one that is not known is never 0."""
    return "unknown cost" if cost is None else f"{cost:.3g} USD"
