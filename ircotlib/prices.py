"""The prices of models behind servers: from a dated table, data/prices.csv, or set by the user."""

import csv
from collections.abc import Sequence
from typing import NamedTuple

from ircotlib.paths import PRICES

MILLION = 1_000_000


class Price(NamedTuple):
    """USD per million tokens read and written; `about`: the source of the price and its date."""

    input: float
    output: float
    about: str

    def of(self, prompt_tokens: int, tokens: int) -> float:
        """The cost in USD of these tokens, read and written."""
        return (self.input * prompt_tokens + self.output * tokens) / MILLION


def find_price(model: str, prices: Sequence[float] | None = None) -> Price | None:
    """The price of a model: `prices` (USD per million tokens read and written) if given, else from
    data/prices.csv; None if it is not known.
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
    """A cost in words; None is "unknown cost"."""
    return "unknown cost" if cost is None else f"{cost:.3g} USD"
