"""Inspects runs question by question; `explore_box` is the widget over these functions."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ircotlib.data import Question
from ircotlib.errors import UserError
from ircotlib.experiment.runs import (
    find_paragraph,
    name_model,
    parameters_of,
    read_about,
    replay,
    share_measure,
)
from ircotlib.experiment.setup import open_dataset
from ircotlib.explore.markup import outcomes_as_html, question_as_html, ready
from ircotlib.metrics import as_compared
from ircotlib.program import Outcome
from ircotlib.results.causes import CAUSES, find_causes
from ircotlib.systems import RECALL, all_systems
from ircotlib.text import escape

PLACE = "profile", "experiment", "dataset", "part"
# the end of a run's path (`Run.folder`), which says these four without reading its run.json
PATH = re.compile("([^/]+)/([^/]+)-[0-9a-f]+/([^/]+)/(dev|test)/[^/]+")


def list_runs(folders: Iterable[Path]) -> pd.DataFrame:
    """List runs, one row per folder. `metric`: by which those of a data set are compared."""
    rows = list(map(describe_run, folders))
    return pd.DataFrame(rows).assign(metric=share_measure) if rows else pd.DataFrame()


def describe_run(folder: Path) -> dict:
    """A run in a row: its profile, experiment, data set, part, system, measure, setting, model,
    number of questions and folder.
    """
    about = read_about(folder)
    row = {"profile": about["parameters"]["profile"]}
    row |= {name: about[name] for name in ("experiment", "dataset", "part", "system", "metric")}
    setting = ", ".join(f"{name} {value}" for name, value in about["setting"].items())
    row["setting"] = setting.replace("demonstration_set", "demonstration set")
    row["model"] = Path(name_model(about["parameters"])).name
    return row | {"questions": about["questions"], "folder": Path(folder)}


def place_run(folder: Path) -> tuple[str, ...]:
    """The PLACE of a run: as its path says or, if it was moved elsewhere, its run.json; "damaged"
    if neither does.
    """
    if found := PATH.fullmatch("/".join(folder.absolute().parts[-5:])):
        return found.groups()
    try:
        return tuple(map(describe_run(folder).get, PLACE))
    except (OSError, ValueError, KeyError):
        return ("damaged",) * len(PLACE)


def group_runs(folders: Iterable[Path]) -> dict[tuple[str, ...], list[Path]]:
    """The folders of runs by their place, those of test questions first."""
    groups = {}
    for folder in map(Path, folders):
        groups.setdefault(place_run(folder), []).append(folder)
    return dict(sorted(groups.items(), key=lambda group: group[0][-1] != "test"))


def describe_runs(place: Sequence[str], folders: Iterable[Path]) -> list[dict]:
    """The rows of the runs of a place (`describe_run`) in the order of tables, each with a
    `variant`: its setting and model, and what else distinguishes it. A run that cannot be read has
    the name of its folder.
    """
    runs = []
    for folder in folders:
        try:
            run = describe_run(folder)
        except (OSError, ValueError, KeyError):
            run = {"system": folder.name, "folder": folder}
            run |= dict.fromkeys(("setting", "model", "metric"), "")
        runs.append(run | dict(zip(PLACE, place, strict=True)))
    order = {name: number for number, name in enumerate(all_systems())}
    runs.sort(key=lambda run: order.get(run["system"], len(order)))
    for run in runs:
        run["variant"] = ", ".join(filter(None, (run["setting"], run["model"])))
    count = Counter((run["system"], run["variant"]) for run in runs)
    for run in runs:
        if count[run["system"], run["variant"]] > 1:  # of other parameters
            run["variant"] += f", {run['folder'].parts[-4].rpartition('-')[2]}"
    return runs


def compare_runs(folder_a: Path, folder_b: Path) -> pd.DataFrame:
    """The questions that two runs share, one row each, with the answers, scores and causes of both.

    Both are scored by one measure (`share_measure`). `outcome`: "win", "loss" or "tie" of the first
    run, or "not scored". `disagree`: whether the answers differ or, for runs that only return
    paragraphs, the gold paragraphs found. Raises UserError if the runs have no question or measure
    in common.
    """
    a, b = (run.set_index("id") for run in _find_causes(folder_a, folder_b))
    measured = [f"{run['metric'].iloc[0]} on {run['dataset'].iloc[0]}" for run in (a, b)]
    shared = [id for id in a.index if id in b.index]
    if measured[0] != measured[1] or not shared:
        expected = "expected two runs with questions and measure in common"
        raise UserError(f"found {' and '.join(measured)}, {expected}")
    a, b, metric = a.loc[shared], b.loc[shared], a["metric"].iloc[0]
    table = a[["question", "kind", "answers", "metric"]].copy()
    for letter, run in (("a", a), ("b", b)):
        for name, column in (("answer", "answer"), ("score", metric), ("cause", "cause")):
            table[f"{name}_{letter}"] = run[column]
    difference = table["score_a"] - table["score_b"]
    signs = [difference > 0, difference < 0, difference == 0]
    table["outcome"] = np.select(signs, ["win", "loss", "tie"], "not scored")
    if metric == RECALL:
        table["disagree"] = a["gold_found"] != b["gold_found"]
    else:
        table["disagree"] = a["answer"].map(as_compared) != b["answer"].map(as_compared)
    return table.reset_index()


def _find_causes(*folders: Path) -> list[pd.DataFrame]:
    """The tables of `find_causes` of runs that are shown together, with one measure."""
    abouts = pd.DataFrame([{k: read_about(f)[k] for k in ("dataset", "metric")} for f in folders])
    return list(map(find_causes, folders, share_measure(abouts)))


def outcomes_of(table: pd.DataFrame) -> dict[str, pd.Series]:
    """The outcomes by which rows of `find_causes` or `compare_runs` can be chosen, as masks."""
    every = pd.Series(True, table.index)
    if "outcome" not in table:
        causes = {cause: table["cause"] == cause for cause in CAUSES}
        wrong = table["cause"] != ""
        return {"all": every, "right answers": ~wrong, "wrong answers": wrong} | causes
    names = {"wins": "win", "losses": "loss", "ties": "tie"}
    outcomes = {name: table["outcome"] == outcome for name, outcome in names.items()}
    wrong = (table[["cause_a", "cause_b"]] != "").any(axis=1)
    return {"all": every} | outcomes | {"disagreements": table["disagree"], "wrong answers": wrong}


def choose_questions(
    table: pd.DataFrame, outcome: str = "all", kind: str = "", text: str = ""
) -> pd.DataFrame:
    """The rows of `find_causes` or `compare_runs` that have an outcome, a kind of question ("":
    any), and a text in the question or the answers, in any case.
    """
    outcomes = outcomes_of(table)
    if outcome not in outcomes:
        raise UserError(f"found the outcome {outcome!r}, expected one of {', '.join(outcomes)}")
    kept = outcomes[outcome] & (table["kind"].eq(kind) if kind else True)
    columns = [name for name in table if name in ("question", "answer", "answer_a", "answer_b")]
    texts = table[columns].agg(" ".join, axis=1) + " " + table["answers"].map(" ".join)
    return table[kept & texts.str.casefold().str.contains(text.strip().casefold(), regex=False)]


def show_question(folder: Path, id: str, other: Path | None = None) -> str:
    """One question of a run as HTML: gold answers and paragraphs, the system's answer, and every
    step with its exact prompt, replayed from the call cache.

    `other`: a second run with this question, shown in a second column, with the steps that look up
    the same side by side.
    """
    rows = []
    runs = list(map(Path, [folder] if other is None else [folder, other]))
    for run, causes in zip(runs, _find_causes(*runs), strict=True):
        causes = causes.set_index("id", drop=False)
        if id not in causes.index:
            expected = f"expected one of its {len(causes)}, such as {causes.index[0]!r}"
            raise UserError(f"{run}: found no question {id!r}, {expected}")
        rows.append(causes.loc[id].to_dict())
    row = rows[0]
    ids = (*row["gold_found"], *row["gold_missed"])
    question = Question(id, row["question"], row["answers"], ids, row["dataset"], row["kind"])
    corpus = open_dataset(parameters_of(read_about(runs[0])), row["dataset"])[2].corpus
    gold = [find_paragraph(each, question, corpus) for each in ids]
    outcomes = [replay(run, [id])[id] for run in runs]
    heads = list(map(_write_head, runs, rows, outcomes))
    return ready(question_as_html(question, gold) + outcomes_as_html(heads, outcomes, ids))


def _write_head(folder: Path, row: Mapping, outcome: Outcome) -> str:
    """What a run made of a question, in a few lines."""
    count = len(row["gold_found"])
    facts = [f"{row['metric']} {row[row['metric']]:.2f}"]
    facts += [f"{count} of {count + len(row['gold_missed'])} gold paragraphs", row["cause"]]
    answer, answers_now = row["answer"], outcome.result.answer
    lines = [f"<h4>{escape(name_run(folder))}</h4>"]
    lines += [f"answer: <b>{escape(answer) or 'none'}</b> · {' · '.join(filter(None, facts))}"]
    lines += [f"not parsed: {escape(row['fault'])}"] if row["fault"] else []
    if imported := read_about(folder).get("imported"):
        lines += [f"imported from {escape(imported['from'])}: its queries are its method's"]
    if answers_now != answer:
        head = f"Replayed, it answers <b>{escape(answers_now)}</b>: the call cache has lost this "
        lines += [f"{head}run, and another version of the program or a model answers now."]
    return lines[0] + "<br>".join(lines[1:])


def name_run(folder: Path) -> str:
    """A run in words: its system, setting and model."""
    run = describe_run(folder)
    return ", ".join(run[name] for name in ("system", "setting", "model") if run[name])
