"""One page of runs to hand on: results, claims, costs, and each question with its steps. It works
from disk, without a server or a network.
"""

import gzip
import json
import sys
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from itertools import combinations
from pathlib import Path

import pandas as pd

from ircotlib.data import Node
from ircotlib.datasets import all_datasets, find_dataset
from ircotlib.errors import DataError, UserError
from ircotlib.experiment.runs import (
    columns_of,
    find_folders,
    find_paragraph,
    parameters_of,
    read_about,
    read_lines,
    replay,
    row_of,
    share_measure,
)
from ircotlib.experiment.setup import open_dataset
from ircotlib.explore.markup import fold_tree, question_as_html, rows_as_html
from ircotlib.explore.summary import begin_page
from ircotlib.files.checksums import one_line
from ircotlib.files.paths import writing
from ircotlib.files.progress import track
from ircotlib.results.causes import find_causes
from ircotlib.results.runs import in_order
from ircotlib.results.shown import title_of
from ircotlib.results.statistics import paired_p, per_question
from ircotlib.retrieval import retriever_name
from ircotlib.systems import all_systems

SETS = "demonstration_set"
# what may set runs of one system apart, in this order; other settings come last
APART = ["experiment", "profile", "model", "retriever", "reader", "style", "demonstrations"]
ALIKE = ["dataset", "system", "metric", "demonstrations_shown", SETS, "folder", "about"]
Lines = dict[str, int]  # the number of each line, from 0 in the order of the page's list
LOST = "The call cache no longer has what was asked in this run: its prompts are not shown."


def write_report(places: Sequence[Path], file: Path) -> int:
    """Write the page of the test runs in some folders, and of runs that are named themselves;
    return their number. Raises UserError if there are no runs, or the same ones twice.
    """
    runs = list_test_runs(places)
    scores, packed, asked = [], [], {}
    for run in track(runs.to_dict("records"), "report"):
        table = find_causes(run["folder"], run["metric"])
        questions, lines = asked.setdefault(run["dataset"], ({}, {}))
        add_questions(run, table["id"], questions)
        shown = show_run(run, table, lines)
        packed.append(pack(f"{run['dataset']}/{run['name']}", shown))
        setting = run["label"].removeprefix(run["system"])
        scores.append(table.assign(name=run["name"], label=run["label"], setting=setting))
    table = pd.concat(scores, ignore_index=True)
    with writing(file) as new, new.open("w", encoding="utf-8") as page:
        page.write(begin_page(runs, table, f"ircotlib report {' '.join(map(str, places))} {file}"))
        page.write(pack("index", list(index_runs(runs, table))))
        for dataset, (questions, lines) in asked.items():
            page.write(pack(dataset, {"questions": [*questions.values()], "lines": [*lines]}))
        page.writelines([*packed, "</body></html>\n"])
    return len(runs)


def list_test_runs(places: Sequence[Path]) -> pd.DataFrame:
    """The runs of a report in the order of tables, one row each: its folder, run.json as `about`,
    the columns that describe it (`columns_of`), the `metric` by which those of its data set are
    compared, its `label` in tables, and its `name` with the demonstration set, if there are some.
    """
    rows = []
    for place in places:
        if not (folders := find_folders(place)):
            raise UserError(f"{place}: found no finished run, expected a folder of runs")
        for folder in folders:
            about = read_about(folder)
            if about["part"] == "test" or folder == place:
                p = parameters_of(about)
                row = columns_of(about) | {"retriever": retriever_name(p.retriever)}
                own = row["demonstrations"] == row["dataset"]
                row["demonstrations"] = "" if own else f"shown {row['demonstrations']}"
                row |= {"experiment": about["experiment"], "folder": folder, "about": about}
                rows.append(row | {"place": folder.absolute().parents[2].name})
    if not rows:
        found = f"{' '.join(map(str, places))}: found no run on test questions"
        raise UserError(f"{found}, expected folders that hold some, such as data/runs/mini")
    runs = in_order(pd.DataFrame(rows), "system", all_systems())
    runs = in_order(runs, "dataset", all_datasets()).assign(metric=share_measure)
    runs["model"] = runs["model"].map(lambda name: Path(name).name)
    runs["label"] = name_apart(runs)
    sets = runs[SETS].map(lambda number: "" if pd.isna(number) else f" · set {number:.0f}")
    many = runs.groupby(["dataset", "label"])[SETS].transform("nunique") > 1
    runs["name"] = runs["label"] + sets.where(many, "")
    if len(twice := runs[runs.duplicated(["dataset", "name"])]):
        folder = twice["folder"].iloc[0]
        raise UserError(f"{folder}: found this run twice, expected each once; name fewer folders")
    return runs


def name_apart(runs: pd.DataFrame) -> pd.Series:
    """The systems with what sets their runs on a data set apart, such as "IRCoT QA · k 4"."""
    labels = runs["system"].copy()
    others = [name for name in runs if name not in (*ALIKE, *APART)]  # "place", if needed, last
    for name in (*APART, *others):
        values = runs[name].map(lambda v: f"{v:g}" if isinstance(v, float) else str(v))
        alike = [runs["dataset"], labels, runs[SETS].fillna(-1)]
        differ = values.groupby(alike).transform("nunique") > 1
        of_system = differ.groupby(runs["system"]).transform("any")
        words = {"k": "k " + values, "m": "m " + values, "reader": values + " reader"}
        labels = labels.where(~of_system | (values == ""), labels + " · " + words.get(name, values))
    return labels


def show_run(run: Mapping, table: pd.DataFrame, lines: Lines) -> dict:
    """What a run did, for the page: its `questions`, each with its id, what is filtered by, and the
    steps as HTML; and a `note` if it could not be replayed.
    """
    folder = run["folder"]
    saved = read_lines(folder)
    note = ""
    try:
        outcomes = replay(folder)
        rows = {id: row_of(id, outcome) for id, outcome in outcomes.items()}
        if json.loads(json.dumps(rows)) != saved:
            raise DataError("the cached replies give other predictions")
        traces = {id: outcome.trace for id, outcome in outcomes.items()}
    except (ValueError, OSError, RuntimeError) as error:
        print(f"{folder}: shown without prompts, as {one_line(error)}", file=sys.stderr, flush=True)
        note, traces = LOST, dict.fromkeys(saved, ())
    questions = []
    for row in table.to_dict("records"):
        gold = (*row["gold_found"], *row["gold_missed"])
        found = f"{len(row['gold_found'])} of {len(gold)} gold paragraphs" if gold else ""
        nodes = [Node(**node) for node in row["nodes"]]
        score = None if pd.isna(row[run["metric"]]) else round(row[run["metric"]], 4)
        steps = rows_as_html(traces[row["id"]], gold, nodes, partial(refer, lines=lines))
        told = [row["answer"], score, bool(row["right"]), row["cause"], found]
        questions.append([row["id"], *told, fold_tree(nodes), steps])
    return {"note": note, "questions": questions}


def add_questions(run: Mapping, ids: Iterable[str], questions: dict) -> None:
    """Add the questions of a run to those of its data set: its id, text, kind, answers, and itself
    as HTML, with its gold paragraphs.
    """
    dev, test, retriever = open_dataset(parameters_of(run["about"]), run["dataset"])
    asked = {question.id: question for question in (*dev, *test)}
    for id in ids:
        if id not in questions:
            q = asked[id]
            gold = (find_paragraph(each, q, retriever.corpus) for each in q.gold)
            questions[id] = [id, q.text, q.kind, q.answers, question_as_html(q, gold)]


def index_runs(runs: pd.DataFrame, table: pd.DataFrame) -> Iterator[dict]:
    """What the page offers to choose, by data set: its title, the names of its runs with their
    measures and models, and p of the exact paired test of each two runs with one measure.
    """
    for dataset, of_dataset in runs.groupby("dataset", sort=False):
        listed = []
        for run in of_dataset.to_dict("records"):
            measure = title_of(run["metric"])
            listed.append({"name": run["name"], "measure": measure, "model": run["model"]})
        p = {}
        scores = table[table["dataset"] == dataset]
        for metric, rows in scores.groupby("metric"):
            values = {name: per_question(one, metric) for name, one in rows.groupby("name")}
            for a, b in combinations(values, 2):
                both = (values[a] - values[b]).dropna()
                p.setdefault(a, {})[b] = round(paired_p(both), 4) if len(both) else None
        yield {"name": dataset, "title": find_dataset(dataset).title, "runs": listed, "p": p}


def refer(text: str, lines: Lines) -> str:
    """An element that the page fills with a text: the numbers of its lines. Lines repeat from step
    to step, and from question to question.
    """
    numbers = (lines.setdefault(line, len(lines)) for line in text.split("\n"))
    return f'<pre data-lines="{" ".join(map(str, numbers))}"></pre>'


def pack(name: str, value: object) -> str:
    """A value as an element that browsers neither run nor show: JSON, gzipped, in base 64."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    packed = gzip.compress(text.encode("utf-8", "backslashreplace"), 9, mtime=0)
    named = f'type="text/plain" id="packed/{escape(name)}"'
    return f"<script {named}>{b64encode(packed).decode()}</script>\n"
