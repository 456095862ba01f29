"""One page of runs to share, which works from disk: results, costs, questions."""

import gzip
import hashlib
import json
from base64 import b64encode
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from urllib.parse import urlencode

import pandas as pd
from markupsafe import Markup

from ircotlib.datasets import all_datasets, find_dataset
from ircotlib.errors import UserError
from ircotlib.experiment import stored
from ircotlib.experiment.replay import replay_known
from ircotlib.explore import questions
from ircotlib.explore.markup import HERE, PAGES, STYLE
from ircotlib.files import track, writing
from ircotlib.results.runs import count_requests, in_order
from ircotlib.results.statistics import LEVEL, describe, p_against, summarise
from ircotlib.results.tables import title_of
from ircotlib.systems import RECALL, all_systems


def write_report(places: Sequence[Path], file: Path) -> int:
    """Write the page of the test runs in some folders; return their number."""
    runs = list_test_runs(places)
    groups = list(runs.groupby("dataset", sort=False))
    tables, index = [], []
    packed: dict[str, str] = {}
    for name, group in track(groups, "report", len(groups)):
        table, of_dataset = show_runs(group)
        tables.append(table)
        packed |= of_dataset
        title = find_dataset(name).title
        index.append({"name": name, "title": title, "runs": list(group["name"])})
    table = pd.concat(tables, ignore_index=True)
    # systems that only retrieve stand in a table of their own
    kinds = [part for _, part in table.groupby(table["metric"] == RECALL)]
    again = [
        f"ircotlib figures --only {name} {stored.parameters_of(about).command_line()}"
        for name, about in zip(runs["experiment"], runs["about"], strict=True)
    ]
    script = (HERE / "report.js").read_text(encoding="utf-8")
    page = PAGES.get_template("report.html").render(
        datasets=[each["title"] for each in index],
        made_of=[describe(part, name) for name, part in table.groupby("profile")],
        again="\n".join(dict.fromkeys(again)),
        results=[tabulate_results(part, runs) for part in kinds],
        papers=dict(zip(runs["label"], runs["paper"], strict=True)),
        costs=tabulate_costs(runs),
        packed={"index": pack(index), **packed},
        script=Markup(script),
        # the page runs the script of this hash, and no other
        digest=b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=STYLE + Markup((HERE / "report.css").read_text(encoding="utf-8")),
    )
    with writing(file) as new:
        new.write_text(page, encoding="utf-8")
    return len(runs)


def list_test_runs(places: Sequence[Path]) -> pd.DataFrame:
    """The runs of a report in the order of tables: folder, `about`, the `metric` of
    their data set, `label` in tables, the system's `paper`, and `name`, with the
    demonstration set if any.
    """
    abouts = questions.read_all(chain.from_iterable(map(stored.find_folders, places)))
    tests = [folder for folder, about in abouts.items() if about["part"] == "test"]
    if not tests:
        raise UserError(
            f"{' '.join(map(str, places))}: found no run on test questions, "
            "expected folders that hold some, such as data/runs/mini"
        )
    runs = in_order(questions.list_runs(tests), "system", all_systems())
    runs = in_order(runs, "dataset", all_datasets())
    runs["label"] = questions.label_runs(runs["about"])
    runs["name"] = questions.label_runs(runs["about"], sets=True)
    papers = {name: system.paper for name, system in all_systems().items()}
    runs["paper"] = runs["system"].map(papers).fillna("")  # no longer registered
    return runs.drop_duplicates(["dataset", "name"], ignore_index=True)  # copies


def show_runs(runs: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, str]]:
    """Runs on a data set: their tables of `read_marked`; and, packed, for each run and
    question the values of the page's filters, and the numbers of its lines of HTML.
    """
    tables, packed, gold = [], {}, {}
    lines: dict[str, int] = {}  # each is kept once: prompts repeat most of theirs

    def number(html: str) -> list[int]:
        return [lines.setdefault(line, len(lines)) for line in html.split("\n")]

    for run in runs.to_dict("records"):
        asked, corpus = stored.open_questions(run["about"])
        table = questions.read_marked(run["folder"], run["metric"])
        outcomes = replay_known(run["folder"])
        did = {}
        for row in table.to_dict("records"):
            id, score = row["id"], row[run["metric"]]
            answer = questions.show_answer(run["name"], row, outcomes.get(id))
            if id not in gold:
                gold[id] = number(questions.show_gold(asked[id], corpus))
            did[id] = {
                "question": row["question"],
                "said": row["answer"],
                "mark": row["mark"],
                "score": None if pd.isna(score) else round(score, 9),
                "html": number(answer),
            }
        packed[f"{run['dataset']}/{run['name']}"] = pack(did)
        tables.append(table.assign(label=run["label"]))
    packed[runs["dataset"].iloc[0]] = pack({"asked": gold, "lines": list(lines)})
    return pd.concat(tables), packed


def pack(value: object) -> str:
    """A value for the page: JSON, gzipped, in base 64."""
    text = json.dumps(value, separators=(",", ":"))
    return b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def tabulate_results(table: pd.DataFrame, runs: pd.DataFrame) -> tuple[list[str], list]:
    """The heads of columns; by system, the best mean first, its means, each with its
    interval, whether it is the best of its column or not significantly worse, and what
    it opens.
    """
    means = summarise(table, ["dataset", "label"])
    best_first = means.groupby("label")["mean"].mean().sort_values(ascending=False)
    rows: dict[str, list] = {label: [] for label in best_first.index}
    heads = []
    for (dataset, metric), part in table.groupby(["dataset", "metric"], sort=False):
        heads.append(f"{find_dataset(dataset).title}, {title_of(metric)}")
        scores = part.pivot_table(metric, "id", "label")
        best = scores.mean().idxmax()
        p = p_against(scores, best)  # without those that share no question with it
        first = runs[runs["dataset"] == dataset].groupby("label")["name"].first()
        of_column = (means["dataset"] == dataset) & (means["metric"] == metric)
        cells = {
            mean.label: {
                "mean": mean,
                "link": urlencode({"data": dataset, "run": first[mean.label]}),
                "best": mean.label == best,
                "near": p.get(mean.label, 0) >= LEVEL,
            }
            for mean in means[of_column].itertuples()
        }
        for label, row in rows.items():
            row.append(cells.get(label, "–"))
    return heads, list(rows.items())


def tabulate_costs(runs: pd.DataFrame) -> list[tuple[str, list[str]]]:
    """What systems requested per question, in four kinds, the mean over their runs."""
    each = [pd.Series(count_requests(a)) / a["questions"] for a in runs["about"]]
    means = pd.DataFrame(each).groupby(list(runs["label"]), sort=False).mean()
    means = means[["tokens_in", "tokens_out", "calls", "retrievals"]]
    texts = means.map(lambda n: f"{n:,.0f}" if n >= 100 else f"{n:.3g}")
    return [(label, list(row)) for label, row in texts.iterrows()]
