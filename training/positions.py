"""Tables of positions [n, columns], from which supervised attention is computed."""

from collections.abc import Iterable, Mapping

import torch

# how a value compares with another; YEARS_AFTER + n: it is n years later (n < 100)
EARLIER, LATER, SAME, DIFFERENT, YEARS_AFTER = range(5)
OUTCOMES = YEARS_AFTER + 100
PROMPT, TARGET = range(2)  # where a value stands

# A name or subject is given by its first and last token.
T5_TABLES = {
    # a value in the prompt; `named`: the first mention of its subject there
    "stated": ("row", "at", "named", "first", "last", "relation"),
    # a value in the target, and its subject
    "decided": ("row", "at", "first", "last", "relation"),
    # two values that are compared, each with the side that it stands on
    "compared": ("row", "side", "at", "other_side", "other", "outcome"),
    # a value in the target, and the first token of its subject
    "about": ("row", "at", "side", "subject"),
}
CAUSAL_TABLES = {
    "written": ("row", "at", "token"),  # a position, and the token to write next
    # a position, and the earlier one to attend to for the token to write next
    "sources": ("row", "at", "source"),
    # the position from which a fact is known, its subject, and the first token of its
    # value
    "stated": ("row", "at", "first", "last", "relation", "value"),
    # the position before a value to write, and its subject
    "decided": ("row", "at", "first", "last", "relation"),
    # the same for a fact that leads to that value, `back` facts before the value's own
    "inferred": ("row", "at", "first", "last", "relation", "back"),
    # a value and an earlier one
    "compared": ("row", "at", "other", "outcome"),
    # a position at which the outcome of a comparison is written next, and the later
    # value
    "concluded": ("row", "at", "source"),
    # a position at which a value must be known that is not written: its first and last
    # token, the position from which a page states it (`at`, if it is known by heart),
    # and `back` as above
    "recalled": ("row", "at", "first", "last", "source", "back"),
    # two such positions, or that of a value which the question names
    "weighed": ("row", "at", "other", "outcome"),
}


def make_tables(
    rows: Mapping[str, Iterable[tuple]], columns: Mapping[str, tuple[str, ...]]
) -> dict[str, torch.Tensor]:
    """The rows of each table as a tensor [n, columns]."""
    tables = {name: torch.tensor(list(rows[name]), dtype=torch.long) for name in rows}
    return {name: table.view(-1, len(columns[name])) for name, table in tables.items()}


def pad(rows: list[list[int]], of: int = 32) -> torch.Tensor:
    """Sequences as a tensor, padded on the right to a multiple of `of`."""
    length = -(-max(map(len, rows)) // of) * of
    return torch.tensor([ids + [0] * (length - len(ids)) for ids in rows])


def last_word(value: str) -> int:
    """Where the last word of a value begins; for a year, the last two digits."""
    return 2 if value.isdigit() else value.rfind(" ") + 1


def compare(a: str, b: str) -> int:
    """How the value b compares with the value a."""
    if a == b or not (a.isdigit() and b.isdigit()):
        return SAME if a == b else DIFFERENT
    return LATER if a < b else EARLIER
