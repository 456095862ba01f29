"""From run folders to one tidy table: means with bootstrap intervals, and the papers' numbers
beside them.
"""

import json
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from ircotlib.metrics import bootstrap_interval
from ircotlib.paths import DATA, REPORTED

SYSTEMS = ["NoR QA", "OneR", "OneR QA", "IRCoT", "IRCoT QA"]  # the order of tables and figures
COLUMNS = [
    "profile",
    "dataset",
    "model",
    "system",
    "metric",
    "mean",
    "low",
    "high",
    "n",
    "reported",
]


def read_runs(
    profile: str, datasets: Iterable[str], part: str = "test", experiment: str = "ircot"
) -> pd.DataFrame:
    """Read the runs of a profile and an experiment: one row a question and demonstration set, with
    the run's parameters and the question's scores.

    Raises FileNotFoundError when a data set has no run.
    """
    folders = _run_folders(profile, datasets, part, experiment)
    return pd.concat([_read_run(folder) for folder in folders], ignore_index=True)


def _run_folders(
    profile: str, datasets: Iterable[str], part: str, experiment: str = "ircot"
) -> list[Path]:
    """The folders of all runs, by data set and name."""
    folders = []
    for dataset in datasets:
        place = DATA / "runs" / profile / experiment / dataset / part
        found = sorted(path.parent for path in place.glob("*/run.json"))
        if not found:
            raise FileNotFoundError(
                f"no runs in {place}: run the notebook of the experiment {experiment!r} on the profile {profile!r} first"
            )
        folders += found
    return folders


def _read_run(folder: Path) -> pd.DataFrame:
    about = json.loads((folder / "run.json").read_text())
    scores = pd.read_csv(folder / "scores.csv", dtype={"id": str})
    parameters = {
        name: about.get(name)
        for name in (
            "profile",
            "dataset",
            "system",
            "model",
            "reader",
            "demonstrations",
            "k",
            "m",
            "demonstration_set",
        )
    }
    return scores.assign(**parameters)


def read_costs(profile: str, datasets: Iterable[str], part: str = "test") -> pd.DataFrame:
    """What the runs of a profile ask for: retrievals, generations, and their tokens, whether
    computed or remembered.
    """
    rows = []
    for folder in _run_folders(profile, datasets, part):
        about = json.loads((folder / "run.json").read_text())
        retrieve, generate = about["counts"]["Retrieve"], about["counts"].get("Generate", {})
        row = {name: about[name] for name in ("dataset", "system", "questions")} | {
            "retrievals": retrieve["requests"]
        }
        row |= {
            "generations": generate.get("requests", 0),
            "prompt tokens": generate.get("prompt_tokens", 0),
        }
        rows.append(row | {"tokens written": generate.get("tokens", 0)})
    return pd.DataFrame(
        sorted(rows, key=lambda row: (row["dataset"], SYSTEMS.index(row["system"])))
    )


def read_training(folders: Iterable[Path]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The curves of miniature models' trainings (losses and held-out accuracies by step), and how
    each was made; by folder name.
    """
    folders = [Path(folder) for folder in folders]
    curves = [
        pd.read_json(folder / "training.jsonl", lines=True).assign(model=folder.name)
        for folder in folders
    ]
    about = {folder.name: json.loads((folder / "training.json").read_text()) for folder in folders}
    return pd.concat(curves, ignore_index=True), pd.DataFrame(about)


def summarise(
    scores: pd.DataFrame,
    metric: str,
    by: tuple[str, ...] = ("profile", "dataset", "model", "system"),
) -> pd.DataFrame:
    """Mean of a metric in percent with its 95% bootstrap interval over questions (several
    demonstration sets: their mean per question).
    """
    rows = []
    ordered = scores.sort_values(
        "system", key=lambda systems: systems.map(SYSTEMS.index), kind="stable"
    )
    for group, runs in ordered.groupby(list(by), sort=False, dropna=False):
        values = 100 * runs.groupby("id")[metric].mean().sort_index()
        low, high = bootstrap_interval(values.to_numpy())
        rows.append(
            {
                **dict(zip(by, group, strict=True)),
                "metric": metric,
                "mean": values.mean(),
                "low": low,
                "high": high,
                "n": len(values),
            }
        )
    return pd.DataFrame(rows).round(2)


def read_reported(paper: str = "ircot", **wanted: str) -> pd.DataFrame:
    """The papers' numbers (data/reported.csv), only rows whose columns equal `wanted`."""
    table = pd.read_csv(REPORTED)
    for column, value in {"paper": paper, **wanted}.items():
        table = table[table[column] == value]
    return table


def with_reported(ours: pd.DataFrame, reported: pd.DataFrame) -> pd.DataFrame:
    """Our means with the paper's value for the same data set, system and metric where there is one,
    then the paper's own rows.

    The paper's rows have the profile "paper", no mean of ours, and their number in the column
    `reported`.
    """
    keys = ["dataset", "system", "metric"]
    beside = (
        reported[reported["model"] == "Flan-T5-XXL"]
        .drop_duplicates(keys)[[*keys, "value"]]
        .rename(columns={"value": "reported"})
    )
    papers = reported.assign(profile="paper", reported=reported["value"])
    return (
        pd.concat([ours.merge(beside, on=keys, how="left"), papers], ignore_index=True)
        .reindex(columns=COLUMNS)
        .astype({"n": "Int64"})
    )
