"""From run folders to tidy tables: means with intervals and deviations, paired differences, and the
papers' numbers beside them.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from ircotlib.bench import runs_folder
from ircotlib.metrics import bootstrap_interval, paired_difference
from ircotlib.parameters import MAIN, Parameters
from ircotlib.paths import REPORTED
from ircotlib.runs import columns_of, read_about
from ircotlib.systems import all_systems

BY = ("profile", "dataset", "model", "system", "metric")
COLUMNS = [*BY, "mean", "low", "high", "deviation", "n", "reported"]


def read_runs(p: Parameters, experiment: str, part: str = "test", **how) -> pd.DataFrame:
    """The runs of an experiment with these parameters and no others: one row a question and
    demonstration set, with what was run and the question's scores.

    `how`: `shown` and `grid_of` of the benches. Raises FileNotFoundError, with the command that
    makes them, when a data set has none.
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
    """The folders of these runs, by data set and name; errors as those of read_runs."""
    folders, place = [], runs_folder(p, experiment, shown, grid_of)
    for dataset in p.datasets:
        found = sorted(path.parent for path in (place / dataset / part).glob("*/run.json"))
        if not found:
            command = f"python -m ircotlib.regenerate --only {experiment} {p.command_line()}"
            raise FileNotFoundError(
                f"found no {part} runs of {experiment} on {dataset} with these parameters in "
                f"{place}; make them: {command.strip()}"
            )
        folders += found
    return folders


def has_runs(p: Parameters, experiment: str, part: str = "test", **how) -> bool:
    """Whether read_runs finds these runs, of every data set."""
    place = runs_folder(p, experiment, **how)
    return all(any((place / name / part).glob("*/run.json")) for name in p.datasets)


def _read_run(folder: Path) -> pd.DataFrame:
    columns = columns_of(read_about(folder))
    return pd.read_csv(folder / "scores.csv", dtype={"id": str}).assign(**columns)


def _in_order(systems: pd.Series) -> pd.Series:
    """The place of each system in tables; one whose file is gone comes last."""
    order = {name: place for place, name in enumerate(all_systems())}
    return systems.map(lambda name: order.get(name, len(order)))


def read_costs(p: Parameters, experiment: str, part: str = "test") -> pd.DataFrame:
    """What an experiment's runs ask for, on average over demonstration sets or, of the "dev" part,
    over settings: retrievals, generations, and their tokens, whether computed or remembered; and of
    all requests how many were computed when the run was last made, and how many saved: remembered,
    or shared by programs. With a model behind a server also what all these tokens cost, NaN where
    the price is not known.
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
    """The curves of miniature models' trainings (losses and held-out accuracies by step), and how
    each was made; by folder name.
    """
    folders = [Path(folder) for folder in folders]
    curves = [
        pd.read_json(folder / "training.jsonl", lines=True).assign(model=folder.name)
        for folder in folders
    ]
    about = {f.name: json.loads((f / "training.json").read_text()) for f in folders}
    return pd.concat(curves, ignore_index=True), pd.DataFrame(about)


def summarise(scores: pd.DataFrame, by: Sequence[str] = BY) -> pd.DataFrame:
    """Means, in percent, each of the measure that its row names in `metric`.

    `low`, `high`: 95% bootstrap interval over questions; with several demonstration sets, of each
    question's mean. `deviation`: the sample deviation of the demonstration sets' means, none for
    one set (IRCoT §4.1).
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
    """What made a figure, for its title: profile, models, and questions a data set."""
    models = [Path(model).name for model in scores["model"].unique()]
    counts = sorted(set(scores.groupby("dataset")["id"].nunique()))
    n = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    of = f"model {models[0]}" if len(models) == 1 else f"{len(models)} models"
    return f"profile {profile}, {of}, n = {n} test questions a data set"


def per_question(runs: pd.DataFrame, metric: str) -> pd.Series:
    """The mean of each question over demonstration sets; without those that have no such score."""
    return runs.groupby("id")[metric].mean().dropna().sort_index()


def compare(
    scores: pd.DataFrame,
    by: Sequence[str] = ("dataset",),
    against: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """The papers' claims that one system is better than another, each tested on the same questions
    by a paired bootstrap of the difference (`metrics.paired_difference`), in points.

    The systems' records say which claims there are (`System.better_than`). `by`: the columns that
    tell apart what is compared. `against`: where the other systems' scores are, if they are of
    another model. `verdict`: "holds" or "does not hold" where the 95% interval leaves out zero and
    p is below 0.05, else "cannot tell".
    """
    rows, others = [], scores if against is None else against
    for group, runs in scores.groupby(list(by), sort=False):
        same = (others[list(by)] == list(group)).all(axis=1)
        for better, system in all_systems().items():
            for worse in system.better_than:
                pair = runs[runs["system"] == better], others[same & (others["system"] == worse)]
                if all(len(one) for one in pair):
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
    last of more than two that were tried, so that one beyond might be better still.

    Not where a value between does as well; and of two values each is an edge, which says nothing.
    """
    edges = []
    for setting in chosen.to_dict("records"):
        named = [setting.pop("dataset"), setting.pop("system")]
        rows = tuning[(tuning[["dataset", "system"]] == named).all(axis=1)]
        edges.append(", ".join(name for name in setting if _on_edge(rows, name)))
    return chosen.assign(edge=edges)


def _on_edge(rows: pd.DataFrame, name: str) -> bool:
    best = rows.groupby(name)["value"].max()  # by value of the parameter, in their order
    return len(best) > 2 and best.iloc[1:-1].max() < best.max()


def read_reported(paper: str = "ircot", **wanted: str) -> pd.DataFrame:
    """The papers' numbers (data/reported.csv), only rows whose columns equal `wanted`."""
    table = pd.read_csv(REPORTED)
    for column, value in {"paper": paper, **wanted}.items():
        table = table[table[column] == value]
    return table


def with_reported(
    ours: pd.DataFrame, reported: pd.DataFrame, model: str = "Flan-T5-XXL"
) -> pd.DataFrame:
    """Our means with the paper's value for the same data set, system and metric with its `model`,
    where there is one, then the paper's own rows.

    The paper's rows have the profile "paper", no mean of ours, and their number in the column
    `reported`.
    """
    keys = ["dataset", "system", "metric"]
    theirs = reported[reported["model"] == model].drop_duplicates(keys)
    beside = theirs[[*keys, "value"]].rename(columns={"value": "reported"})
    papers = reported.assign(profile="paper", reported=reported["value"])
    table = pd.concat([ours.merge(beside, on=keys, how="left"), papers], ignore_index=True)
    return table.reindex(columns=COLUMNS).astype({"n": "Int64"})
