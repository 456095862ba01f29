"""Prices of models behind servers, and the most that a process may spend."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from ircotlib.errors import Unavailable, UserError
from ircotlib.files import PRICES


class Price(NamedTuple):
    """USD per million tokens read and written."""

    input: float
    output: float

    def of(self, prompt_tokens: int, tokens: int) -> float:
        """The cost in USD of these tokens."""
        return (self.input * prompt_tokens + self.output * tokens) / 1e6


def find_price(model: str, prices: Sequence[float] | None = None) -> Price | None:
    """The price of a model: `prices`, or else that of data/prices.csv; None: unknown."""
    if prices is not None:
        return Price(*prices)
    rows = pd.read_csv(PRICES, index_col="model")
    return Price(*rows.loc[model, [*Price._fields]]) if model in rows.index else None


@dataclass(eq=False)
class Budget:
    """What a process spends in USD, and the most that it may, but for what is then in flight."""

    price: Price | None = None
    max_cost: float | None = None
    spent: float = 0.0

    def __post_init__(self):
        if self.max_cost is not None and self.price is None:
            raise UserError("found max_cost but no price, expected one: set prices")

    def check(self) -> None:
        """Raise Unavailable if nothing more may be spent."""
        if self.max_cost is not None and self.spent >= self.max_cost:
            kept = "all replies are kept: run the same command again for a new budget"
            raise Unavailable(f"spent {self.spent:.3g} USD of max_cost {self.max_cost}; {kept}")

    def pay(self, prompt_tokens: int, tokens: int) -> None:
        """Count what a reply cost."""
        self.spent += self.price.of(prompt_tokens, tokens) if self.price else 0.0
