"""The runs of an experiment as tables, with what they requested, and the papers'
numbers beside ours.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

import pandas as pd

from ircotlib.experiment.compare import join_scores
from ircotlib.experiment.setup import runs_folder
from ircotlib.experiment.stored import columns_of, read_about, read_scores
from ircotlib.files import REPORTED
from ircotlib.parameters import MAIN, Parameters
from ircotlib.systems import all_systems

_read = cache(pd.read_csv)  # claims ask for hundreds of rows, one by one
# whose numbers are in IRCoT's figures; the other readers' are in its tables (App. E)
READERS = {"Flan-T5-XXL": "direct", "GPT3": "cot"}
KEYS = ["dataset", "system", "metric"]
COLUMNS = [
    *("profile", "dataset", "model", "system", "metric"),
    *("mean", "low", "high", "deviation", "demonstrations_shown", "n", "reported"),
]


def read_runs(
    p: Parameters, experiment: str, shown: str | None = None, grid_of: str = MAIN
) -> pd.DataFrame:
    """Read the test runs of an experiment with these parameters: one row per question
    and demonstration set. `shown`, `grid_of`: of `open_setup`. Raises
    FileNotFoundError.
    """
    runs = find_runs(p, experiment, shown=shown, grid_of=grid_of).items()
    tables = [read_scores(folder).assign(**columns_of(about)) for folder, about in runs]
    return in_order(join_scores(tables), "system", all_systems())


def find_runs(
    p: Parameters,
    experiment: str,
    part: str = "test",
    shown: str | None = None,
    grid_of: str = MAIN,
) -> dict[Path, dict]:
    """The folders that `read_runs` reads, in its order, each with its run.json."""
    runs: dict[Path, dict] = {}
    folder = runs_folder(p, experiment, shown, grid_of)
    for dataset in p.datasets:
        found = sorted((folder / dataset / part).glob("*/run.json"))
        if not found:
            command = f"ircotlib figures --only {experiment} {p.command_line()}".strip()
            raise FileNotFoundError(
                f"found no {part} runs of {experiment} on {dataset} with these "
                f"parameters in {folder}; make them: {command}"
            )
        runs |= {path.parent: read_about(path.parent) for path in found}
    return runs


def find_test_runs(p: Parameters, experiment: str) -> dict[tuple[str, str], Path]:
    """The folders of an experiment's test runs by data set and system."""
    return {
        (about["dataset"], about["system"]): folder
        for folder, about in find_runs(p, experiment).items()
    }


def in_order(table: pd.DataFrame, column: str, names: Iterable[str]) -> pd.DataFrame:
    """The rows in the order of these names in a column; then those of other names."""
    order = {name: position for position, name in enumerate(dict.fromkeys(names))}
    places = table[column].map(order).to_numpy(dtype=float)  # NaN comes last
    return table.iloc[places.argsort(kind="stable")].reset_index(drop=True)


def count_requests(about: Mapping) -> dict[str, int]:
    """What a run requested, computed or cached, per kind, from its run.json."""
    counts = about["counts"]
    requests = Counter({kind: each["requests"] for kind, each in counts.items()})
    written = [counts[kind] for kind in ("Generate", "Sample") if kind in counts]
    return {
        "retrievals": requests["Retrieve"],
        "extractions": requests["Extract"],
        "duplicates": requests["Duplicate"],
        "calls": requests["Generate"] + requests["Sample"],
        "tokens_in": sum(kind.get("prompt_tokens", 0) for kind in written),
        "tokens_out": sum(kind.get("tokens", 0) for kind in written),
    }


def read_costs(p: Parameters, experiment: str, part: str = "test") -> pd.DataFrame:
    """What an experiment's runs requested: a row per run, with `count_requests`, how
    many of all `requests` were `computed` when it was last made; others were cached.
    """
    rows = []
    for about in find_runs(p, experiment, part).values():
        row = {name: about[name] for name in ("dataset", "system", "questions")}
        row |= count_requests(about)
        for name in ("requests", "computed"):
            row[name] = sum(kind[name] for kind in about["counts"].values())
        rows.append(row)
    return in_order(pd.DataFrame(rows), "system", all_systems())


def read_reported(paper: str = "ircot", **wanted: str) -> pd.DataFrame:
    """The rows of data/reported.csv that match `wanted`; `name`: ours of a system."""
    table = _read(REPORTED)
    for column, value in {"paper": paper, **wanted}.items():
        table = table[table[column] == value]
    ours = all_systems().items()
    names = {theirs: name for name, system in ours for theirs in system.reported_names}
    return table.assign(name=table["system"].replace(names))


def in_figures(reported: pd.DataFrame) -> pd.DataFrame:
    """The rows of IRCoT's Tables 4 and 6 with its figures' READERS, or with none."""
    notes = reported["note"]
    others = notes.isin(READERS.values()) & (notes != reported["model"].map(READERS))
    return reported[~others]


def beside(
    rows: pd.DataFrame,
    others: pd.DataFrame,
    on: Sequence[str] = KEYS,
    rest: bool = False,
) -> pd.DataFrame:
    """A table with the columns of another one beside it, where both have the same in
    the columns `on`; systems are compared by `name`, if there is one. `rest`: rows of
    `others` without a partner come last.
    """
    if "name" not in rows:
        rows = rows.assign(name=rows["system"])
    if "name" not in others:
        others = others.assign(name=others["system"])
    keys = ["name" if column == "system" else column for column in on]
    # of one type in both tables, also if one is empty
    others = others.drop_duplicates(keys).astype(dict.fromkeys(keys, object))
    table = rows.merge(others.drop(columns="system"), on=keys, how="left")
    if rest:
        alone = ~others.set_index(keys).index.isin(rows.set_index(keys).index)
        table = pd.concat([table, others[alone]], ignore_index=True)
    return table.drop(columns="name")


def join_reported(
    ours: pd.DataFrame,
    reported: pd.DataFrame,
    model: str = "Flan-T5-XXL",
    others: Mapping[str, str] = {},
) -> pd.DataFrame:
    """Our means, with the paper's value of a model in `reported`, and then the paper's
    own rows. `others`: for some of our models, another model of the paper to compare
    them with.
    """
    papers = reported.assign(
        profile="paper", theirs=reported["model"], reported=reported["value"]
    )
    ours = ours.assign(theirs=[others.get(name, model) for name in ours["model"]])
    partners = papers[[*KEYS, "name", "theirs", "reported"]]
    table = beside(ours, partners, [*KEYS, "theirs"])
    table = pd.concat([table, papers], ignore_index=True)
    return table.reindex(columns=COLUMNS).astype({"n": "Int64"})
