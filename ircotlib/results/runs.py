"""The runs of an experiment as tables, what they requested, and the papers' numbers
beside ours.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

import pandas as pd

from ircotlib.experiment.compare import join_scores
from ircotlib.experiment.runs import columns_of, read_about, read_scores
from ircotlib.experiment.setup import runs_folder
from ircotlib.files import REPORTED
from ircotlib.parameters import Parameters
from ircotlib.systems import all_systems

_read = cache(pd.read_csv)  # claims ask for hundreds of rows, one by one
KEYS = ["dataset", "system", "metric"]
COLUMNS = "profile dataset model system metric mean low high deviation".split()
COLUMNS += ["demonstrations_shown", "n", "reported"]


def read_runs(p: Parameters, experiment: str, **options: object) -> pd.DataFrame:
    """Read the test runs of an experiment with these parameters: one row per question
    and demonstration set. `options`: `shown`, `grid_of`. Raises FileNotFoundError.
    """
    runs = find_runs(p, experiment, **options)
    tables = [
        read_scores(folder).assign(**columns_of(about))
        for folder, about in runs.items()
    ]
    return in_order(join_scores(tables), "system", all_systems())


def find_runs(
    p: Parameters, experiment: str, part: str = "test", **options: object
) -> dict[Path, dict]:
    """The folders that `read_runs` reads, by data set and name, each with its run.json."""
    runs = {}
    folder = runs_folder(p, experiment, **options)
    for dataset in p.datasets:
        found = sorted(
            path.parent for path in (folder / dataset / part).glob("*/run.json")
        )
        if not found:
            command = f"ircotlib figures --only {experiment} {p.command_line()}".strip()
            wanted = f"found no {part} runs of {experiment} on {dataset} with these parameters"
            raise FileNotFoundError(f"{wanted} in {folder}; make them: {command}")
        runs |= {each: read_about(each) for each in found}
    return runs


def find_test_runs(p: Parameters, experiment: str) -> dict[tuple[str, str], Path]:
    """The folders of an experiment's test runs by data set and system."""
    runs = find_runs(p, experiment)
    return {
        (about["dataset"], about["system"]): folder for folder, about in runs.items()
    }


def has_runs(p: Parameters, experiment: str) -> bool:
    """Whether `read_runs` finds test runs of every data set."""
    folder = runs_folder(p, experiment)
    return all(any((folder / name / "test").glob("*/run.json")) for name in p.datasets)


def in_order(table: pd.DataFrame, column: str, names: Iterable[str]) -> pd.DataFrame:
    """The rows in the order of these names in a column; those of other names come last."""
    order = {name: position for position, name in enumerate(dict.fromkeys(names))}
    key = {"key": lambda values: values.map(order).astype(float), "kind": "stable"}
    return table.sort_values(column, ignore_index=True, **key)


def count_requests(about: Mapping) -> dict[str, int]:
    """What a run requested, computed or cached, per kind, from its run.json."""
    counts = about["counts"]
    kinds = {
        "retrievals": "Retrieve",
        "extractions": "Extract",
        "duplicates": "Duplicate",
    }
    row = {
        name: counts.get(kind, {}).get("requests", 0) for name, kind in kinds.items()
    }
    written = [counts[kind] for kind in ("Generate", "Sample") if kind in counts]
    names = {"calls": "requests", "tokens_in": "prompt_tokens", "tokens_out": "tokens"}
    return row | {
        ours: sum(kind.get(name, 0) for kind in written) for ours, name in names.items()
    }


def read_costs(p: Parameters, experiment: str, part: str = "test") -> pd.DataFrame:
    """What an experiment's runs requested: a row per run, with `count_requests`, how
    many of all `requests` were `computed` when it was last made, not cached, and what a
    server's model costs.
    """
    rows = []
    for about in find_runs(p, experiment, part).values():
        counts, named = about["counts"].values(), ("dataset", "system", "questions")
        row = {name: about[name] for name in named} | count_requests(about)
        row |= {
            name: sum(each[name] for each in counts)
            for name in ("requests", "computed")
        }
        rows.append(row | ({"usd": about["cost"]["usd"]} if about.get("cost") else {}))
    return in_order(pd.DataFrame(rows), "system", all_systems())


def read_reported(paper: str = "ircot", **wanted: str) -> pd.DataFrame:
    """The rows of data/reported.csv that match `wanted`; `name`: our name of their
    systems.
    """
    table = _read(REPORTED)
    for column, value in {"paper": paper, **wanted}.items():
        table = table[table[column] == value]
    ours = all_systems().items()
    names = {theirs: name for name, system in ours for theirs in system.reported_names}
    return table.assign(name=table["system"].replace(names))


def beside(
    rows: pd.DataFrame,
    others: pd.DataFrame,
    on: Sequence[str] = KEYS,
    rest: bool = False,
) -> pd.DataFrame:
    """A table with the columns of another one beside it, where both have the same in
    the columns `on`, and the name of the system. `rest`: rows of `others` without a
    partner come last.
    """
    rows, others = (
        t if "name" in t else t.assign(name=t["system"]) for t in (rows, others)
    )
    keys = ["name" if column == "system" else column for column in on]
    # also if empty
    others = others.drop_duplicates(keys).astype(dict.fromkeys(keys, object))
    table = rows.merge(others.drop(columns="system"), on=keys, how="left")
    if rest:
        alone = ~others.set_index(keys).index.isin(rows.set_index(keys).index)
        table = pd.concat([table, others[alone]], ignore_index=True)
    return table.drop(columns="name")


def with_reported(
    ours: pd.DataFrame,
    reported: pd.DataFrame,
    model: str = "Flan-T5-XXL",
    others: Mapping[str, str] = {},
) -> pd.DataFrame:
    """Our means, with the paper's value of a model in `reported`, and then the paper's
    own rows. `others`: for some of our models, another model of the paper to compare
    them with.
    """
    papers = reported.assign(profile="paper", reported=reported["value"])
    theirs = papers.assign(theirs=papers["model"])[
        [*KEYS, "name", "theirs", "reported"]
    ]
    ours = ours.assign(theirs=[others.get(name, model) for name in ours["model"]])
    table = pd.concat(
        [beside(ours, theirs, [*KEYS, "theirs"]), papers], ignore_index=True
    )
    return table.reindex(columns=COLUMNS).astype({"n": "Int64"})
