"""One page of runs to share: a table of results, their costs, and each question with
its steps. It works from disk, without a server or a network.
"""

import gzip
import hashlib
import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlencode

import pandas as pd
from joblib import Parallel, cpu_count, delayed
from markupsafe import Markup
from tqdm import tqdm

from ircotlib.datasets import all_datasets, find_dataset
from ircotlib.errors import UserError
from ircotlib.experiment import runs as of_runs
from ircotlib.explore.markup import HERE, PAGES, STYLE
from ircotlib.explore.questions import show_answer, show_gold
from ircotlib.files import writing
from ircotlib.results.causes import find_causes
from ircotlib.results.runs import count_requests, in_order
from ircotlib.results.shown import title_of
from ircotlib.results.statistics import LEVEL, p_against, summarise
from ircotlib.systems import all_systems

SET = "demonstration_set"
COSTS = {
    "tokens_in": "tokens read",
    "tokens_out": "tokens written",
    "calls": "calls of the model",
}
COSTS |= {"retrievals": "retrievals"}


def write_report(places: Sequence[Path], file: Path) -> int:
    """Write the page of the test runs in some folders; return their number."""
    runs = list_test_runs(places)
    groups = [of_dataset for _, of_dataset in runs.groupby("dataset", sort=False)]
    share = Parallel(min(len(groups), cpu_count()), return_as="generator")
    tables, data = zip(
        *tqdm(share(map(delayed(show_runs), groups)), "report", len(groups))
    )
    names = runs.groupby("dataset", sort=False)["name"].agg(list)
    index = [
        {"name": n, "title": find_dataset(n).title, "runs": of}
        for n, of in names.items()
    ]
    packed = {"index": pack(index)} | {
        id: text for each in data for id, text in each.items()
    }
    columns, results = tabulate_results(pd.concat(tables, ignore_index=True), runs)
    made = [
        (about["experiment"], of_runs.parameters_of(about)) for about in runs["about"]
    ]
    again = [f"ircotlib figures --only {name} {p.command_line()}" for name, p in made]
    script = (HERE / "report.js").read_text(encoding="utf-8")
    title = f"{few(runs['system'], 'systems')} on {few(runs['dataset'], 'data sets')}"
    shown = {"title": title, "made_of": describe(runs["about"]), "data": packed}
    shown |= {
        "columns": columns,
        "results": results,
        "again": "\n".join(dict.fromkeys(again)),
    }
    shown |= {
        "costs": COSTS.values(),
        "spent": tabulate_costs(runs),
        "script": Markup(script),
    }
    shown["style"] = STYLE + Markup((HERE / "report.css").read_text(encoding="utf-8"))
    shown["digest"] = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    with writing(file) as new:
        new.write_text(
            PAGES.get_template("report.html").render(shown), encoding="utf-8"
        )
    return len(runs)


def list_test_runs(places: Sequence[Path]) -> pd.DataFrame:
    """The runs of a report in the order of tables: folder, `about`, the `metric` of
    their data set, `label` in tables, and `name`, with the demonstration set if
    several.
    """
    folders = dict.fromkeys(
        folder for place in places for folder in of_runs.find_folders(place)
    )
    abouts = {folder: of_runs.read_about(folder) for folder in folders}
    runs = pd.DataFrame(
        {name: about[name] for name in ("dataset", "system", "metric")}
        | {"set": about["setting"].get(SET, 0), "folder": folder, "about": about}
        for folder, about in abouts.items()
        if about["part"] == "test"
    )
    if runs.empty:
        found = f"{' '.join(map(str, places))}: found no run on test questions"
        raise UserError(
            f"{found}, expected folders that hold some, such as data/runs/mini"
        )
    runs = in_order(in_order(runs, "system", all_systems()), "dataset", all_datasets())
    runs = runs.assign(metric=of_runs.share_measure, label=label_runs(runs["about"]))
    many = runs.groupby(["dataset", "label"])["set"].transform("nunique") > 1
    runs["name"] = runs["label"] + runs["set"].map(", set {}".format).where(many, "")
    if len(twice := runs[runs.duplicated(["dataset", "name"])]):
        raise UserError(
            f"{twice['folder'].iloc[0]}: found this run twice, expected each once"
        )
    return runs


def label_runs(abouts: Sequence[Mapping]) -> list[str]:
    """Name runs by their systems, and several of one system on a data set also by what
    differs in their experiments, settings and parameters: "ReAct, K 4".
    """
    named = (
        {"experiment": a["experiment"]} | a["setting"] | {"shown": a["shown"]}
        for a in abouts
    )
    # its own K
    facts = [of | a["parameters"] | of for of, a in zip(named, abouts, strict=True)]
    runs = pd.DataFrame(
        {"label": about["system"], "dataset": about["dataset"]} for about in abouts
    )
    runs["set"] = [about["setting"].get(SET, 0) for about in abouts]
    for name in dict.fromkeys(name for fact in facts for name in fact if name != SET):
        runs["value"] = [
            None if fact.get(name) is None else str(fact[name]) for fact in facts
        ]
        alike = runs.groupby(["label", "dataset", "set"])["value"].nunique(dropna=False)
        apart = (
            runs["label"].map(alike.groupby("label").max() > 1) & runs["value"].notna()
        )
        word = name.upper() if len(name) == 1 else name.replace("_", " ")
        runs.loc[apart, "label"] += f", {word} " + runs["value"][apart].map(
            lambda v: Path(v).name
        )
    return list(runs["label"])


def show_runs(runs: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, str]]:
    """Runs on a data set: their tables of `find_causes`; and, packed, for each run and
    question the values of the page's filters, and the numbers of its lines of HTML,
    many of which repeat.
    """
    tables, packed, asked, lines = [], {}, {}, {}

    def number(html: str) -> list[int]:
        return [lines.setdefault(line, len(lines)) for line in html.split("\n")]

    for run in runs.to_dict("records"):
        questions, corpus = of_runs.open_questions(run["about"])
        table = find_causes(run["folder"], run["metric"])
        outcomes = of_runs.replay_known(run["folder"])
        did = {}
        for row in table.to_dict("records"):
            id, score = row["id"], row[run["metric"]]
            if id not in asked:
                asked[id] = number(show_gold(questions[id], corpus))
            did[id] = {"question": row["question"], "said": row["answer"]}
            score = None if pd.isna(score) else round(score, 9)
            did[id] |= {"mark": row["cause"] or "right", "score": score}
            did[id] |= {"html": number(show_answer(run["name"], row, outcomes.get(id)))}
        packed[f"{run['dataset']}/{run['name']}"] = pack(did)
        tables.append(table.assign(label=run["label"]))
    packed[run["dataset"]] = pack({"asked": asked, "lines": list(lines)})
    return pd.concat(tables), packed


def pack(value: object) -> str:
    """A value for the page: JSON, gzipped, in base 64."""
    text = json.dumps(value, separators=(",", ":"))
    return b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def tabulate_results(table: pd.DataFrame, runs: pd.DataFrame) -> tuple[list[str], list]:
    """Systems x data sets: the heads of columns, and by system its means, each with its
    interval, how it compares with the best, and what it opens.
    """
    means = summarise(table, ["dataset", "label"])
    columns = list(dict.fromkeys(zip(table["dataset"], table["metric"], strict=True)))
    cells = {label: ["–"] * len(columns) for label in table["label"].unique()}
    for at, (dataset, metric) in enumerate(columns):
        alike = table[(table["dataset"] == dataset) & (table["metric"] == metric)]
        scores = alike.pivot_table(metric, "id", "label")
        best = scores.mean().idxmax()
        p = dict(p_against(scores, best)) | {best: 2.0}
        first = (
            runs[runs["dataset"] == dataset]
            .drop_duplicates("label")
            .set_index("label")["name"]
        )
        for row in means[
            (means["dataset"] == dataset) & (means["metric"] == metric)
        ].itertuples():
            near = p.get(row.label, -1.0)
            cell = {
                "mean": f"{row.mean:.1f}",
                "interval": f"{row.low:.0f}–{row.high:.0f}",
            }
            cell["link"] = urlencode({"data": dataset, "run": first[row.label]})
            cell["mark"] = "best" if near > 1 else "near" if near >= LEVEL else ""
            cell["why"] = f"p = {near:.4f} against the best" if 0 <= near <= 1 else ""
            cells[row.label][at] = cell
    heads = [
        f"{find_dataset(name).title}, {title_of(metric)}" for name, metric in columns
    ]
    average = means.groupby("label", sort=False)["mean"].agg(["mean", "size"])
    whole = average["mean"][average["size"] == len(columns)]
    if len(columns) == 1 or whole.empty:
        return heads, list(cells.items())
    rows = [
        (label, [*row, f"{whole[label]:.1f}" if label in whole else "–"])
        for label, row in sorted(
            cells.items(), key=lambda item: -whole.get(item[0], -1)
        )
    ]
    return [*heads, "mean"], rows


def tabulate_costs(runs: pd.DataFrame) -> list[tuple[str, list[str]]]:
    """What systems requested per question, the mean over their runs."""
    each = [
        pd.Series(count_requests(about)) / about["questions"] for about in runs["about"]
    ]
    means = pd.DataFrame(each).groupby(list(runs["label"]), sort=False)[[*COSTS]].mean()
    texts = means.map(lambda n: f"{n:,.0f}" if n >= 100 else f"{n:.3g}")
    return [(label, [*row]) for label, row in texts.iterrows()]


def describe(abouts: Iterable[Mapping]) -> str:
    """The data, models and settings that runs used, in words."""
    told = {}
    for about in abouts:
        p = about["parameters"]
        model = f"{Path(p['model']).name} {about.get('model_fingerprint', '')[:8]}"
        data = Path(p["data_dir"]).name or "the laboratory, a fictional encyclopedia"
        facts = {
            "profile": p["profile"],
            "model": model,
            "retriever": p["retriever"],
            "data": data,
        }
        facts |= {"questions a data set": about["questions"], "seed": p["seed"]}
        facts |= {name: about[name] for name in of_runs.VERSIONS if name in about}
        for name, value in facts.items():
            told.setdefault(name, set()).add(str(value).strip())
    return "; ".join(
        f"{name} {', '.join(sorted(values))}" for name, values in told.items()
    )


def few(names: pd.Series, kind: str) -> str:
    """The names, or their number if there are more than three."""
    names = names.unique()
    return ", ".join(map(title_of, names)) if len(names) < 4 else f"{len(names)} {kind}"
