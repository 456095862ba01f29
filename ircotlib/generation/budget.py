"""Prices of models behind servers, what a process spends, and the limit at which it stops."""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Condition
from typing import NamedTuple

from ircotlib.errors import DataError, UserError
from ircotlib.files.paths import PRICES
from ircotlib.files.tables import Number, read_table

USD = Number(0)


class Price(NamedTuple):
    """USD per million tokens read and written; `about`: the source of the price and its date."""

    input: float
    output: float
    about: str

    def of(self, prompt_tokens: int, tokens: int) -> float:
        """The cost in USD of these tokens, read and written."""
        return (self.input * prompt_tokens + self.output * tokens) / 1e6


def find_price(model: str, prices: Sequence[float] | None = None) -> Price | None:
    """The price of a model: `prices` (as in Price), else from data/prices.csv; None: unknown."""
    if prices is not None:
        return Price(*prices, "as set")
    columns = dict.fromkeys(("model", "source", "date")) | dict.fromkeys(Price._fields[:2], USD)
    rows = {row["model"]: row for row in read_table(PRICES, columns, key=["model"])}
    for row in rows.values():
        if row["output"] < row["input"]:
            found = f"found {row['input']:g} for tokens read, {row['output']:g} for tokens written"
            expected = "expected those written to cost no less; correct them, or set prices"
            raise DataError(f"{PRICES}, model {row['model']!r}: {found}, {expected}")
    if (row := rows.get(model)) is None:
        return None
    return Price(row["input"], row["output"], f"{row['source']}, {row['date']}")


def in_dollars(cost: float | None) -> str:
    """A cost in words; None is "unknown cost"."""
    return "unknown cost" if cost is None else f"{cost:.3g} USD"


class BudgetSpent(Exception):
    """The next request might exceed the limits."""


class Usage(NamedTuple):
    """Tokens read and written; of a request in flight, at most."""

    prompt_tokens: int
    tokens: int


@dataclass(eq=False)
class Budget:
    """Counts requests, tokens and cost over all threads; shared by all runs of a process.

    `max_cost`: in USD. `max_requests`: every attempt counts. None: no limit. A request is sent only
    if it stays within the limits even when it and all in flight cost as much as they can.
    """

    price: Price | None = None
    max_cost: float | None = None
    max_requests: int | None = None

    def __post_init__(self):
        if self.max_cost is not None and self.price is None:
            raise UserError("found max_cost but no price, expected one: set prices")
        self.requests = 0
        self.spent = 0.0
        self.used = Usage(0, 0)
        self._in_flight = 0.0  # what the requests in flight may cost
        self._changed = Condition()

    def reserve(self, most: Usage, wait: bool = True) -> float:
        """Wait until a request may be sent, and return what it may cost at most. Raises BudgetSpent
        if it would exceed the limits even after all requests in flight are answered; or, unless
        `wait`, before they are.
        """
        cost = self.price.of(*most) if self.price else 0.0
        with self._changed:
            self._changed.wait_for(
                lambda: not (wait and self._allows(cost)) or self._allows(cost + self._in_flight)
            )
            if not self._allows(cost if wait else cost + self._in_flight):
                spent, (read, written) = in_dollars(self.spent if self.price else None), self.used
                tokens = f"{read} tokens read, {written} written"
                used = f"spent {spent} with {self.requests} requests ({tokens})"
                limits = f"max_cost {self.max_cost} or max_requests {self.max_requests}"
                remedy = "all replies are kept: run the same command again for a new budget"
                raise BudgetSpent(f"{used}; the next might exceed {limits}; {remedy}")
            self.requests += 1
            self._in_flight += cost
        return cost

    def settle(self, reserved: float, used: Usage | None) -> None:
        """Count what a request cost; None: unknown, so the reserved cost is counted."""
        with self._changed:
            self._in_flight -= reserved
            if used is None:
                self.spent += reserved
            else:
                self.spent += self.price.of(*used) if self.price else 0.0
                self.used = Usage(*map(sum, zip(self.used, used, strict=True)))
            self._changed.notify_all()

    def _allows(self, cost: float) -> bool:
        enough = self.max_requests is None or self.requests < self.max_requests
        return enough and (self.max_cost is None or self.spent + cost <= self.max_cost)
