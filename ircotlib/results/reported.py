"""The papers' numbers, as data/reported.csv has them, and tables with ours beside them."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from ircotlib.files import REPORTED
from ircotlib.systems import all_systems

KEYS = ["dataset", "system", "metric"]
NAMED = ["paper", "source", *KEYS, "model", "note"]  # name a row of data/reported.csv
READ = {"dtype": dict.fromkeys(NAMED, str), "keep_default_na": False, "na_values": [""]}
COLUMNS = "profile dataset model system metric mean low high deviation".split()
COLUMNS += ["demonstrations_shown", "n", "reported"]


def read_reported(paper: str = "ircot", **wanted: str) -> pd.DataFrame:
    """The rows of data/reported.csv like `wanted`, with our name of each system in `name`."""
    table = _read(REPORTED)
    for column, value in {"paper": paper, **wanted}.items():
        table = table[table[column] == value]
    ours = all_systems().items()
    names = {theirs: name for name, system in ours for theirs in system.reported_names}
    return table.assign(name=table["system"].replace(names))


@cache  # claims ask for hundreds of its rows, one by one
def _read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, **READ)


def beside(
    rows: pd.DataFrame, others: pd.DataFrame, on: Sequence[str] = KEYS, rest: bool = False
) -> pd.DataFrame:
    """A table with the columns of another one beside it, where both have the same in the columns
    `on`; a system of the paper is the one of ours in its column `name`. Of several such rows of
    `others` the first counts. `rest`: those without a partner come last.
    """
    rows, others = (t if "name" in t else t.assign(name=t["system"]) for t in (rows, others))
    keys = ["name" if column == "system" else column for column in on]
    others = others.drop_duplicates(keys).astype(dict.fromkeys(keys, object))  # also if empty
    table = rows.merge(others.drop(columns="system"), on=keys, how="left")
    if rest:
        alone = ~others.set_index(keys).index.isin(rows.set_index(keys).index)
        table = pd.concat([table, others[alone]], ignore_index=True)
    return table.drop(columns="name")


def with_reported(
    ours: pd.DataFrame,
    reported: pd.DataFrame,
    model: str = "Flan-T5-XXL",
    others: Mapping[str, str] = MappingProxyType({}),
) -> pd.DataFrame:
    """Our means, with the paper's value of a model in `reported`, and then the paper's own rows.
    `others`: those of our models beside which stands another model of the paper's.
    """
    papers = reported.assign(profile="paper", reported=reported["value"])
    theirs = papers.assign(theirs=papers["model"])[[*KEYS, "name", "theirs", "reported"]]
    ours = ours.assign(theirs=[others.get(name, model) for name in ours["model"]])
    table = pd.concat([beside(ours, theirs, [*KEYS, "theirs"]), papers], ignore_index=True)
    return table.reindex(columns=COLUMNS).astype({"n": "Int64"})
