"""What a model costs that is paid by the token."""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from ircotlib.files import PRICES


class Price(NamedTuple):
    """USD per million tokens read and written."""

    input: float
    output: float

    def of(self, prompt_tokens: int, tokens: int) -> float:
        """The cost in USD of these tokens."""
        return (self.input * prompt_tokens + self.output * tokens) / 1e6


def find_price(model: str, prices: Sequence[float] | None = None) -> Price | None:
    """The price of a model: `prices`, else that of data/prices.csv; None: unknown."""
    if prices is not None:
        return Price(*prices)
    rows = pd.read_csv(PRICES, index_col="model")
    return Price(*rows.loc[model, [*Price._fields]]) if model in rows.index else None
