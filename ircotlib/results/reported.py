"""The papers' numbers, as data/reported.csv has them, and tables with ours beside them."""

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from pathlib import Path

import pandas as pd

from ircotlib.datasets import all_datasets
from ircotlib.files.kept import kept_until_changed
from ircotlib.files.paths import REPORTED
from ircotlib.files.tables import Number, read_table
from ircotlib.systems import all_systems

KEYS = ["dataset", "system", "metric"]
NAMED = ["paper", "source", *KEYS, "model", "note"]  # name a row of data/reported.csv
REPORTS = dict.fromkeys(NAMED) | {"value": Number(0), "deviation": Number(0, empty=float("nan"))}
COLUMNS = "profile dataset model system metric mean low high deviation".split()
COLUMNS += ["demonstrations_shown", "n", "reported"]
TABLE = [*KEYS, "model", "paper", "ours", "difference", "n"]  # columns of SearChain's tables


def read_reported(paper: str = "ircot", **wanted: str) -> pd.DataFrame:
    """The rows of data/reported.csv like `wanted`, with our name of each system in `name`."""
    table = _read(REPORTED)
    for column, value in {"paper": paper, **wanted}.items():
        table = table[table[column] == value]
    names = {
        theirs: name for name, system in all_systems().items() for theirs in system.reported_names
    }
    return table.assign(name=table["system"].replace(names))


@kept_until_changed(lambda path: [path])
def _read(path: Path) -> pd.DataFrame:
    """The whole table, read once: claims ask for hundreds of its rows, one by one."""
    table = pd.DataFrame(read_table(path, REPORTS, NAMED))
    return table.mask(table == "")  # an empty cell is a missing value


def beside(
    rows: pd.DataFrame, others: pd.DataFrame, on: Sequence[str] = KEYS, rest: bool = False
) -> pd.DataFrame:
    """A table with the columns of another one beside it, where both have the same in the columns
    `on`. A system of the paper is the one of ours in its column `name`. Of several such rows of
    `others` the first counts. `rest`: the rows of `others` that have no partner come last.
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
    ours: pd.DataFrame, reported: pd.DataFrame, model: str = "Flan-T5-XXL"
) -> pd.DataFrame:
    """Our means, with the paper's value of a model in `reported`, and then the paper's own rows."""
    papers = reported.assign(profile="paper", reported=reported["value"])
    theirs = papers.loc[papers["model"] == model, [*KEYS, "name", "reported"]]
    table = pd.concat([beside(ours, theirs), papers], ignore_index=True)
    return table.reindex(columns=COLUMNS).astype({"n": "Int64"})


def declare(*sources: str) -> Callable:
    """Declare a table of SearChain's paper by a function that yields our rows (`rows_of`): the
    numbers of `sources` in their order, with ours and the difference; then those of ours alone.
    Numbers on data sets that are not here are left out (NaturalQuestions and others of Table 8).
    """

    def declare_rows(yield_ours: Callable[..., Iterator[dict]]) -> Callable[..., pd.DataFrame]:
        @wraps(yield_ours)
        def make_table(*arguments) -> pd.DataFrame:
            papers = pd.concat([read_reported("searchain", source=source) for source in sources])
            here = {*all_datasets(), "all", "unspecified"}
            papers = papers[papers["dataset"].str.partition("_")[0].isin(here)]
            papers = papers.assign(paper=papers["value"])[[*KEYS, "name", "model", "paper"]]
            ours = pd.DataFrame(yield_ours(*arguments), columns=[*KEYS, "ours", "n"])
            table = beside(papers, ours.sort_values(KEYS), rest=True)
            table = table.assign(difference=table["ours"] - table["paper"])
            return table[TABLE].round(3).astype({"n": "Int64"})

        return make_table

    return declare_rows


def rows_of(dataset: str, system: str, n: int | None = None, **values: float) -> Iterator[dict]:
    """Rows of ours, one for each value, which has the name of its metric."""
    for metric, value in values.items():
        yield {"dataset": dataset, "system": system, "metric": metric, "ours": value, "n": n}
