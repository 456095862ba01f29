"""Tables of runs, of outcomes for one question, and of the shipped models' trainings."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path

import pandas as pd

from ircotlib.data import Node
from ircotlib.errors import UserError
from ircotlib.experiment.compare import join_scores
from ircotlib.experiment.runs import NONE_SUITS, columns_of, read_about, read_lines, read_scores
from ircotlib.experiment.setup import runs_folder
from ircotlib.files.paths import DATA
from ircotlib.parameters import Parameters, read_parameters
from ircotlib.program import Extract, Outcome, Retrieve, Sample
from ircotlib.systems import all_systems

NAN = float("nan")
# requests to the models beside the one that writes
SECOND_READING = {"extractions": "Extract", "duplicates": "Duplicate"}
PARSED = ["dataset", "system", "questions", "answered", "parsed", "said to be unparsed"]
PARSED += ["unsolved", "silent", "calls", "tokens written", "seconds"]


def read_runs(
    p: Parameters, experiment: str, part: str = "test", **options: object
) -> pd.DataFrame:
    """Read the runs of an experiment with exactly these parameters: one row per question and
    demonstration set, with the columns that describe the run and the question's scores. `options`:
    `shown` and `grid_of` of the benches. Raises FileNotFoundError, which names the command that
    makes the runs, when a data set has none.
    """
    tables = [
        pd.DataFrame(read_scores(folder).values()).assign(**columns_of(about))
        for folder, about in find_runs(p, experiment, part, **options).items()
    ]
    return in_order(join_scores(tables), "system", all_systems())


def find_runs(
    p: Parameters, experiment: str, part: str = "test", **options: object
) -> dict[Path, dict]:
    """The folders of the runs that `read_runs` reads, by data set and name, each with what its
    run.json says; the same errors. None of a data set to which `compare` found no system
    that suits.
    """
    runs = {}
    experiment_folder = runs_folder(p, experiment, **options)
    for dataset in p.datasets:
        if not _is_run(experiment_folder / dataset / part):
            command = f"ircotlib figures --only {experiment} {p.command_line()}".strip()
            wanted = f"found no {part} runs of {experiment} on {dataset} with these parameters"
            raise FileNotFoundError(f"{wanted} in {experiment_folder}; make them: {command}")
        of_dataset = (experiment_folder / dataset / part).glob("*/run.json")
        runs |= {folder: read_about(folder) for folder in sorted(p.parent for p in of_dataset)}
    return runs


def find_test_runs(p: Parameters, experiment: str) -> dict[tuple[str, str], Path]:
    """The folders of an experiment's test runs by data set and system."""
    runs = find_runs(p, experiment)
    return {(about["dataset"], about["system"]): folder for folder, about in runs.items()}


def has_runs(p: Parameters, experiment: str, part: str = "test", **options: object) -> bool:
    """Whether `read_runs` finds these runs for every data set."""
    folder = runs_folder(p, experiment, **options)
    return all(_is_run(folder / name / part) for name in p.datasets)


def with_runs(p: Parameters, experiment: str) -> Parameters:
    """These parameters or, for who looks at runs in JupyterLab or on the page, those of the profile
    whose runs of an experiment are the newest, if these have none; a line says so.
    """
    if os.environ.get("IRCOT_BATCH") or has_runs(p, experiment):
        return p
    newest = sorted(DATA.glob(f"runs/*/{experiment}-*"), key=os.path.getmtime, reverse=True)
    for profile in dict.fromkeys(folder.parent.name for folder in newest):
        with suppress(UserError):  # its file is gone
            if has_runs(other := read_parameters(profile), experiment):
                print(f"no runs of {experiment} with these parameters: here are those of {profile}")
                return other
    return p


def _is_run(folder: Path) -> bool:
    """Whether a data set was run, if only to find that no system suits it (`compare`)."""
    return (folder / NONE_SUITS).exists() or any(folder.glob("*/run.json"))


def in_order(table: pd.DataFrame, column: str, names: Iterable[str]) -> pd.DataFrame:
    """The rows in the order of these names in a column; those of other names come last."""
    order = {name: position for position, name in enumerate(dict.fromkeys(names))}
    positions = table[column].map(lambda name: order.get(name, len(order)))
    return table.iloc[positions.to_numpy().argsort(kind="stable")].reset_index(drop=True)


def count_requests(about: Mapping) -> dict[str, int]:
    """What a run requested, computed or cached, per kind, from its run.json."""
    counts = about["counts"]
    written = [counts[kind] for kind in ("Generate", "Sample") if kind in counts]
    kinds = {"retrievals": "Retrieve"} | SECOND_READING
    row = {ours: counts.get(kind, {}).get("requests", 0) for ours, kind in kinds.items()}
    names = {"calls": "requests", "tokens_in": "prompt_tokens", "tokens_out": "tokens"}
    return row | {ours: sum(kind.get(name, 0) for kind in written) for ours, name in names.items()}


def read_costs(p: Parameters, experiment: str, part: str = "test") -> pd.DataFrame:
    """What an experiment's runs request: one row per data set and system, the mean over
    demonstration sets or, for the "dev" part, over settings. `computed`: by the model or retriever
    when the run was last made; `saved`: all others, which came from the cache or were shared by
    programs. `extractions`, `duplicates`: if there are any. With a model behind a server also the
    cost, NaN if the price is not known.
    """
    names = {"calls": "generations", "tokens_in": "prompt tokens", "tokens_out": "tokens written"}
    prices = {"usd": "cost, USD", "per_question": "a question, USD"}
    rows = []
    for about in find_runs(p, experiment, part).values():
        row = {name: about[name] for name in ("dataset", "system", "questions")}
        row |= {names.get(name, name): n for name, n in count_requests(about).items()}
        for column in ("requests", "computed"):
            row[column] = sum(kind[column] for kind in about["counts"].values())
        cost = {name: usd for name, usd in about.get("cost", {}).items() if name in prices}
        rows.append(row | {prices[n]: NAN if usd is None else usd for n, usd in cost.items()})
    table = in_order(pd.DataFrame(rows), "system", all_systems())
    means = table.groupby(["dataset", "system"], sort=False).mean()
    counted = [column for column in means if "USD" not in column]
    means = means.assign(**means[counted].round().astype(int))
    unasked = [name for name in SECOND_READING if not means[name].any()]
    means = means.drop(columns=unasked).assign(saved=means["requests"] - means["computed"])
    return in_order(means.reset_index(), "dataset", p.datasets)


def count_parsed(folder: Path) -> dict:
    """Count a run's questions: `parsed` are those with all replies read, "said to be unparsed"
    those with a fault; `unsolved` those without an answer whose chain of query was read and has an
    unsolved query, `silent` all others without one. Also the model's calls, tokens and seconds.
    """
    about = read_about(folder)
    lines = list(read_lines(folder).values())
    empty = [line for line in lines if not (line["answer"] or line["fault"])]
    answered, unparsed = (sum(bool(line[name]) for line in lines) for name in ("answer", "fault"))
    unsolved = sum(any(node["unsolved"] for node in line["nodes"]) for line in empty)
    requests = count_requests(about)
    row = [about["dataset"], about["system"]]
    row += [len(lines), answered, len(lines) - unparsed, unparsed, unsolved, len(empty) - unsolved]
    row += [requests["calls"], requests["tokens_out"], round(about["seconds"])]
    return dict(zip(PARSED, row, strict=True))


def read_training(folders: Iterable[Path]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The training curves of models (losses, held-out accuracies), and how each was made."""
    curves = []
    about = {}
    for folder in map(Path, folders):
        curves.append(pd.read_json(folder / "training.jsonl", lines=True).assign(model=folder.name))
        about[folder.name] = json.loads((folder / "training.json").read_text())
    return pd.concat(curves, ignore_index=True), pd.DataFrame(about)


def name_edges(chosen: pd.DataFrame, tuning: pd.DataFrame) -> pd.DataFrame:
    """Name each setting's parameters whose best value is the first or last of more than two tried
    and better than all in between, in a column `edge`.
    """
    edges = []
    for setting in chosen.to_dict("records"):
        run = [setting.pop("dataset"), setting.pop("system")]
        rows = tuning[(tuning[["dataset", "system"]] == run).all(axis=1)]
        best = {name: rows.groupby(name)["value"].max() for name in setting}  # by its values
        on_edge = (n for n, b in best.items() if len(b) > 2 and b.iloc[1:-1].max() < b.max())
        edges.append(", ".join(on_edge))
    return chosen.assign(edge=edges)


def line_up(outcomes: Mapping[str, Outcome]) -> pd.DataFrame:
    """What systems answered to one question, one row each, and what they requested for it."""
    rows = []
    for name, outcome in outcomes.items():
        requests = [step.request for step in outcome.trace]
        calls = [step for step in outcome.trace if step.tokens or step.prompt_tokens]
        texts = [step.request.n if isinstance(step.request, Sample) else 1 for step in calls]
        row = {"system": name, "answer": outcome.result.answer}
        row |= {"retrievals": sum(isinstance(request, Retrieve) for request in requests)}
        row |= {"extractions": sum(isinstance(request, Extract) for request in requests)}
        row |= {"texts": sum(texts), "tokens read": sum(step.prompt_tokens for step in calls)}
        row |= {"tokens written": sum(step.tokens for step in calls)}
        rows.append(row | {"not parsed": outcome.result.fault})
    return pd.DataFrame(rows)


def list_nodes(nodes: Sequence[Node]) -> pd.DataFrame:
    """A tree of reasoning as a table, one row per node, in the order of its chains."""
    return pd.DataFrame(map(asdict, nodes), columns=[field.name for field in fields(Node)])
