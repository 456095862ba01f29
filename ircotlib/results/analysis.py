"""Turns run folders into tidy tables: means with intervals and deviations, paired differences, and
the papers' numbers next to them.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from ircotlib.files.paths import REPORTED
from ircotlib.parameters import MAIN, Parameters
from ircotlib.results.statistics import bootstrap_interval, paired_difference
from ircotlib.running.folder import columns_of, read_about
from ircotlib.running.setup import runs_folder
from ircotlib.systems import all_systems

BY = ("profile", "dataset", "model", "system", "metric")
COLUMNS = [*BY, "mean", "low", "high", "deviation", "n", "reported"]


def read_runs(p: Parameters, experiment: str, part: str = "test", **how) -> pd.DataFrame:
    """Read the runs of an experiment with exactly these parameters: one row per question and
    demonstration set, with the columns that describe the run and the question's scores.

    `how`: `shown` and `grid_of` of the benches. Raises FileNotFoundError, which names the command
    that makes the runs, when a data set has none.
    """
    folders = find_runs(p, experiment, part, **how)
    runs = pd.concat([_read_run(folder) for folder in folders], ignore_index=True)
    return runs.sort_values("system", key=_in_order, kind="stable", ignore_index=True)


def find_runs(
    p: Parameters,
    experiment: str,
    part: str = "test",
    shown: str | None = None,
    grid_of: str = MAIN,
) -> list[Path]:
    """The folders of the runs that `read_runs` reads, by data set and name; the same errors."""
    folders, place = [], runs_folder(p, experiment, shown, grid_of)
    for dataset in p.datasets:
        found = sorted(path.parent for path in (place / dataset / part).glob("*/run.json"))
        if not found:
            command = f"ircotlib figures --only {experiment} {p.command_line()}"
            raise FileNotFoundError(
                f"found no {part} runs of {experiment} on {dataset} with these parameters in "
                f"{place}; make them: {command.strip()}"
            )
        folders += found
    return folders


def has_runs(p: Parameters, experiment: str, part: str = "test", **how) -> bool:
    """Whether `read_runs` finds these runs for every data set."""
    place = runs_folder(p, experiment, **how)
    return all(any((place / name / part).glob("*/run.json")) for name in p.datasets)


def _read_run(folder: Path) -> pd.DataFrame:
    columns = columns_of(read_about(folder))
    return pd.read_csv(folder / "scores.csv", dtype={"id": str}).assign(**columns)


def _in_order(systems: pd.Series) -> pd.Series:
    """The place of each system in tables. Systems whose files are gone come last."""
    order = {name: place for place, name in enumerate(all_systems())}
    return systems.map(lambda name: order.get(name, len(order)))


def read_costs(p: Parameters, experiment: str, part: str = "test") -> pd.DataFrame:
    """What an experiment's runs request: one row per data set and system, the mean over
    demonstration sets or, for the "dev" part, over settings.

    Retrievals, generations and tokens are counted whether they were computed or came from the
    cache. `computed`: the requests that were computed when the run was last made; `saved`: all
    others, which came from the cache or were shared by programs. With a model behind a server also
    the cost of all tokens, NaN if the price is not known.
    """
    rows = []
    for folder in find_runs(p, experiment, part):
        about = read_about(folder)
        counts = about["counts"]
        written = [counts[kind] for kind in ("Generate", "Sample") if kind in counts]
        row = {name: about[name] for name in ("dataset", "system", "questions")}
        row |= {"retrievals": counts["Retrieve"]["requests"]}
        row |= {"generations": sum(kind["requests"] for kind in written)}
        row |= {"prompt tokens": sum(kind["prompt_tokens"] for kind in written)}
        row |= {"tokens written": sum(kind["tokens"] for kind in written)}
        row |= {"requests": sum(kind["requests"] for kind in counts.values())}
        row |= {"computed": sum(kind["computed"] for kind in counts.values())}
        rows.append(row | _read_cost(about))
    table = pd.DataFrame(rows).sort_values("system", key=_in_order, kind="stable")
    means = table.groupby(["dataset", "system"], sort=False).mean()
    counted = [column for column in means if "USD" not in column]
    means[counted] = means[counted].round().astype(int)
    means = means.astype(dict.fromkeys(counted, int))
    means["saved"] = means["requests"] - means["computed"]
    order = {dataset: place for place, dataset in enumerate(p.datasets)}
    return means.reset_index().sort_values(
        "dataset", key=lambda column: column.map(order), kind="stable", ignore_index=True
    )


def _read_cost(about: dict) -> dict:
    named = {"cost, USD": "usd", "a question, USD": "per_question"}
    cost = about.get("cost", {})
    cost = {name: float("nan") if usd is None else usd for name, usd in cost.items()}
    return {column: cost[name] for column, name in named.items() if cost}


def read_training(folders: Iterable[Path]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The training curves of the shipped models (losses and held-out accuracies by step), and how
    each model was made; both by folder name.
    """
    folders = [Path(folder) for folder in folders]
    curves = [
        pd.read_json(folder / "training.jsonl", lines=True).assign(model=folder.name)
        for folder in folders
    ]
    about = {f.name: json.loads((f / "training.json").read_text()) for f in folders}
    return pd.concat(curves, ignore_index=True), pd.DataFrame(about)


def summarise(scores: pd.DataFrame, by: Sequence[str] = BY) -> pd.DataFrame:
    """The mean score of each group in percent, by the measure that the column `metric` names.

    `low`, `high`: 95% bootstrap interval over questions, each with its mean over demonstration
    sets. `deviation`: the sample standard deviation of the demonstration sets' means, NaN for a
    single set (IRCoT §4.1).
    """
    by, rows = list(dict.fromkeys([*by, "metric"])), []
    for group, runs in scores.groupby(by, sort=False, dropna=False):
        named = dict(zip(by, group, strict=True))
        values = 100 * per_question(runs, named["metric"])
        low, high = bootstrap_interval(values.to_numpy())
        sets = 100 * runs.groupby("demonstration_set", dropna=False)[named["metric"]].mean()
        found = {"mean": values.mean(), "low": low, "high": high, "deviation": sets.std()}
        rows.append({**named, **found, "n": len(values)})
    return pd.DataFrame(rows).round(2)


def describe(scores: pd.DataFrame, profile: str) -> str:
    """What a figure was made with, for its title: profile, models, and questions per data set."""
    models = [Path(model).name for model in scores["model"].unique()]
    counts = sorted(set(scores.groupby("dataset")["id"].nunique()))
    n = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    of = f"model {models[0]}" if len(models) == 1 else f"{len(models)} models"
    return f"profile {profile}, {of}, n = {n} test questions a data set"


def per_question(runs: pd.DataFrame, metric: str) -> pd.Series:
    """The mean of each question over demonstration sets; questions without a score are left out."""
    return runs.groupby("id")[metric].mean().dropna().sort_index()


def compare(
    scores: pd.DataFrame,
    by: Sequence[str] = ("dataset",),
    against: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Test the papers' claims that one system is better than another, each on the same questions by
    a paired bootstrap of the difference (`bootstrap.paired_difference`), in points.

    The systems' records list the claims (`System.better_than`). `by`: the columns whose values
    separate one comparison from another. `against`: the scores of the worse systems, if they were
    run with another model. `verdict`: "holds" or "does not hold" if the 95% interval excludes zero
    and p is below 0.05, else "cannot tell".
    """
    rows, others = [], scores if against is None else against
    of_others = dict(list(others.groupby([*by, "system"])))
    for group, runs in scores.groupby(list(by), sort=False):
        of_system = dict(list(runs.groupby("system")))
        for better, system in all_systems().items():
            for worse in system.better_than:
                pair = of_system.get(better), of_others.get((*group, worse))
                if all(one is not None for one in pair):
                    named = dict(zip(by, group, strict=True)) | {"claim": f"{better} > {worse}"}
                    rows.append(named | difference(*pair))
    return pd.DataFrame(rows).round({"mean": 2, "low": 2, "high": 2, "p": 4})


def difference(better: pd.DataFrame, worse: pd.DataFrame) -> dict:
    """The test of one pair of systems (see `compare`), by the metric of the first."""
    metric = better["metric"].iloc[0]
    pair = pd.concat([per_question(runs, metric) for runs in (better, worse)], axis=1, join="inner")
    found = paired_difference(*(100 * pair).to_numpy().T)
    told = found.p < 0.05 and (found.low > 0 or found.high < 0)
    verdict = ("holds" if found.mean > 0 else "does not hold") if told else "cannot tell"
    return {"metric": metric, **found._asdict(), "n": len(pair), "verdict": verdict}


def name_edges(chosen: pd.DataFrame, tuning: pd.DataFrame) -> pd.DataFrame:
    """The chosen settings with a column `edge`: the parameters whose best value is the first or the
    last of those that were tried, so that a value beyond it might be better still.

    A parameter is not listed if a value in between does as well, or if only two values were tried.
    """
    edges = []
    for setting in chosen.to_dict("records"):
        named = [setting.pop("dataset"), setting.pop("system")]
        rows = tuning[(tuning[["dataset", "system"]] == named).all(axis=1)]
        edges.append(", ".join(name for name in setting if _on_edge(rows, name)))
    return chosen.assign(edge=edges)


def _on_edge(rows: pd.DataFrame, name: str) -> bool:
    best = rows.groupby(name)["value"].max()  # in the order of the parameter's values
    return len(best) > 2 and best.iloc[1:-1].max() < best.max()


def read_reported(paper: str = "ircot", **wanted: str) -> pd.DataFrame:
    """A paper's numbers from data/reported.csv: the rows whose columns equal `wanted`."""
    table = pd.read_csv(REPORTED)
    for column, value in {"paper": paper, **wanted}.items():
        table = table[table[column] == value]
    return table


def with_reported(
    ours: pd.DataFrame, reported: pd.DataFrame, model: str = "Flan-T5-XXL"
) -> pd.DataFrame:
    """Our means, with the paper's value for the same data set, system and metric with its `model`
    in the column `reported`, followed by the paper's own rows.

    The paper's rows have the profile "paper", their number in `reported`, and no mean of ours.
    """
    keys = ["dataset", "system", "metric"]
    theirs = reported[reported["model"] == model].drop_duplicates(keys)
    beside = theirs[[*keys, "value"]].rename(columns={"value": "reported"})
    papers = reported.assign(profile="paper", reported=reported["value"])
    table = pd.concat([ours.merge(beside, on=keys, how="left"), papers], ignore_index=True)
    return table.reindex(columns=COLUMNS).astype({"n": "Int64"})
