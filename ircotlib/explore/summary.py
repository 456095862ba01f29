"""The head of a report: what made its runs, and its tables of results, claims and costs."""

import hashlib
from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

import pandas as pd

from ircotlib.datasets import find_dataset
from ircotlib.experiment.runs import VERSIONS, parameters_of
from ircotlib.explore.markup import MARKED, key_as_html
from ircotlib.explore.markup import STYLE as MARKUP
from ircotlib.papers.claims import compare_claims
from ircotlib.parameters import GOLD
from ircotlib.results.runs import count_requests
from ircotlib.results.shown import title_of
from ircotlib.results.statistics import LEVEL, holm, paired_p, per_question, summarise, verdicts

BEGINS = "<!doctype html><!-- ircotlib report -->"
COSTS = {"tokens_in": "tokens read", "tokens_out": "tokens written", "calls": "calls of the model"}
COSTS |= {"retrievals": "retrievals", "usd": "USD"}
SCRIPT, STYLE = (
    Path(__file__).with_name(f"report.{end}").read_text(encoding="utf-8") for end in ("js", "css")
)
RESULTS = """Means in percent, with 95% intervals. The best of each column is bold. Shaded are those
that cannot be told apart from it: in the exact paired test over the same questions, p is 0.05 or
more, corrected for all systems of the column (Holm). A mean opens its questions."""
CLAIMS = """What the papers say is better, as a difference in points on the same questions. Green
holds here and red does not: p of the exact paired test is below 0.05, corrected for all of this
table (Holm). The others cannot be told."""
CLAIM = {"holds": "holds", "does not hold": "fails", "cannot tell": ""}  # classes of cells


def begin_page(runs: pd.DataFrame, table: pd.DataFrame, command: str) -> str:
    """The page up to its questions. `runs`: from `list_test_runs`; `table`: the tables of
    `find_causes` of all; `command`: what writes it again.
    """
    digest = b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    # nothing is loaded from anywhere, and no script runs but the page's own
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    datasets = [find_dataset(name).title for name in runs["dataset"].unique()]
    title = f"{name_few(runs['system'].unique(), 'systems')} on {name_few(datasets, 'data sets')}"
    claims = show_claims(table)
    sections = {"Results": show_results(table)}
    played = runs[["imported" not in about for about in runs["about"]]]
    sections |= {"Costs": show_costs(played)} if len(played) else {}
    sections |= {"The papers' claims": claims} if claims else {}
    shown = "".join(f"<section><h2>{name}</h2>{html}</section>" for name, html in sections.items())
    return f"""{BEGINS}
<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>{MARKUP}{STYLE}</style></head><body>
<header><h1>{escape(title)}</h1>{describe(runs, command)}
<p><a href="#questions">To the questions</a></p></header><main>{shown}
<section id="questions"><h2>Questions</h2><noscript><p>These need JavaScript.</p></noscript>
<div class="ircot">{key_as_html("★" + "".join(f'class="{kind}"' for kind in MARKED))}</div>
</section></main><script>{SCRIPT}</script>
"""


def name_few(names: Sequence[str], kind: str) -> str:
    """The names, or how many they are if they are more than three."""
    return ", ".join(names) if len(names) < 4 else f"{len(names)} {kind}"


def describe(runs: pd.DataFrame, command: str) -> str:
    """What made the runs, in words, and how to make them and the page again."""
    abouts = list(runs["about"])
    parameters = list(map(parameters_of, abouts))
    folders = sorted({p.data_dir for p in parameters})
    fictional = "questions about a fictional encyclopedia, written as these data sets are"
    data = [f"data from {Path(f).name}" if f else fictional for f in folders]
    models = set()
    for name, about in zip(runs["model"], abouts, strict=True):
        made = about.get("model_fingerprint")
        if made or about["parameters"]["model"] == GOLD:
            models.add(f"{name} ({made[:8]})" if made else name)
    imported = [about["imported"]["from"] for about in abouts if "imported" in about]
    counts = sorted({about["questions"] for about in abouts})
    said = [
        f"Profile {_list(p.profile for p in parameters)}",
        *([f"model {_list(models)}"] if models else []),
        *([] if imported else [f"retriever {_list(runs['retriever'])}"]),
        *([f"imported from {name_few(imported, 'folders')}"] if imported else []),
        f"{counts[0]}{f' to {counts[-1]}' * (len(counts) > 1)} questions a data set",
        f"seed {_list(p.seed for p in parameters)}",
        *data,
    ]
    versions = (f"{name} {_list(about.get(name, '?') for about in abouts)}" for name in VERSIONS)
    made = dict.fromkeys(
        f"ircotlib figures --only {about['experiment']} {p.command_line()}"
        for about, p in zip(abouts, parameters, strict=True)
        if "imported" not in about
    )
    again = "\n".join([*made, command])
    return f"""<p>{escape("; ".join(said))}.</p><details><summary>How to make this again</summary>
<p>With {escape(", ".join(versions))}:</p><pre>{escape(again)}</pre></details>"""


def _list(values: Iterable) -> str:
    return ", ".join(sorted({str(value) for value in values}))


def show_results(table: pd.DataFrame) -> str:
    """Systems x data sets: means with intervals, the best and what cannot be told from it."""
    table = table.assign(system=table["label"])
    means = summarise(table, ["dataset", "system"])
    columns = list(dict.fromkeys(zip(table["dataset"], table["metric"], strict=True)))
    head = [f"{find_dataset(name).title}<small>{title_of(m)}</small>" for name, m in columns]
    cells = {}
    for dataset, metric in columns:
        of_column = table[(table["dataset"] == dataset) & (table["metric"] == metric)]
        against = compare_with_best(of_column, metric)
        names = of_column.drop_duplicates("system").set_index("system")["name"]
        for row in means[(means["dataset"] == dataset) & (means["metric"] == metric)].itertuples():
            p = against.get(row.system, 0.0)
            mark = "best" if p > 1 else "near" if p >= LEVEL else ""
            why = "the best of its column" if p > 1 else f"{name_p(p)} against the best"
            link = f"#data={quote(dataset)}&amp;run={quote(names[row.system])}"
            interval = f"<small>{row.low:.0f}–{row.high:.0f}</small>"
            shown = f'<a href="{link}" title="{why}">{row.mean:.1f}</a>{interval}'
            cells[row.system, dataset, metric] = f'<td class="{mark}">{shown}</td>'
    systems = list(dict.fromkeys(table["system"]))
    average = means.groupby("system")["mean"].agg(["mean", "size"])
    whole = average[average["size"] == len(columns)]["mean"]
    if len(columns) > 1 and len(whole):
        head.append("mean")
        systems.sort(key=lambda system: -whole.get(system, -1))
    rows = []
    for system in systems:
        row = [cells.get((system, *column), "<td>–</td>") for column in columns]
        if "mean" in head:
            row.append(f"<td>{whole[system]:.1f}</td>" if system in whole else "<td>–</td>")
        rows.append((system, "".join(row)))
    return f"<p>{RESULTS}</p>{as_table(head, rows)}"


def compare_with_best(table: pd.DataFrame, metric: str) -> dict[str, float]:
    """By system, p of the paired difference to the best on a data set, corrected for all (Holm); of
    the best, infinity. Those that share no question with it are left out.
    """
    values = {name: per_question(rows, metric) for name, rows in table.groupby("system")}
    best = max(values, key=lambda name: values[name].mean())
    pairs = {name: (values[best] - of).dropna() for name, of in values.items() if name != best}
    p = {name: paired_p(both) for name, both in pairs.items() if len(both)}
    return dict(zip(p, holm([*p.values()]), strict=True)) | {best: float("inf")}


def name_p(p: float) -> str:
    """A p-value in words."""
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.4f}"


def show_claims(table: pd.DataFrame) -> str:
    """The claims of systems' records: a row for each, a column for each data set; "": none."""
    claims = compare_claims(table, ["dataset", "setting"])
    if claims.empty:
        return ""
    claims["claim"] += claims["setting"]
    claims["verdict"] = verdicts(holm(claims["p"]), claims["mean"])
    datasets = list(dict.fromkeys(claims["dataset"]))
    cells = {}
    for row in claims.itertuples():
        why = f"{row.verdict}: {row.low:+.1f} to {row.high:+.1f}, {name_p(row.p)} by itself"
        shown = f'<td class="{CLAIM[row.verdict]}" title="{why}">{row.mean:+.1f}</td>'
        cells[row.claim, row.dataset] = shown
    rows = [
        (claim, "".join(cells.get((claim, name), "<td>–</td>") for name in datasets))
        for claim in dict.fromkeys(claims["claim"])
    ]
    n = claims["verdict"].value_counts().reindex(CLAIM, fill_value=0)
    told = f"{n['holds']} hold, {n['does not hold']} do not, {n['cannot tell']} cannot be told"
    head = [find_dataset(name).title for name in datasets]
    return f"<p>{CLAIMS} Of {len(claims)} comparisons: {told}.</p>{as_table(head, rows)}"


def show_costs(runs: pd.DataFrame) -> str:
    """What systems requested per question, the mean over their runs, computed or cached."""
    rows = []
    for run in runs.to_dict("records"):
        about = run["about"]
        costs = count_requests(about) | {"usd": about.get("cost", {}).get("usd")}
        each = {name: n and n / about["questions"] for name, n in costs.items()}
        rows.append({"system": run["label"], **each})
    means = pd.DataFrame(rows).astype(dict.fromkeys(COSTS, float))
    means = means.groupby("system", sort=False)[[*COSTS]].mean().dropna(axis=1, how="all")
    shown = []
    for system, row in means.iterrows():
        texts = ("–" if pd.isna(n) else f"{n:,.0f}" if n >= 100 else f"{n:.3g}" for n in row)
        shown.append((system, "".join(f"<td>{text}</td>" for text in texts)))
    text = "Per question, the mean over runs: what was asked, from the model or from the cache."
    return f"<p>{text}</p>{as_table([COSTS[name] for name in means], shown)}"


def as_table(head: Sequence[str], rows: Iterable[tuple[str, str]]) -> str:
    """A table that scrolls by itself. `head`: HTML; `rows`: names, which are escaped, and cells."""
    columns = "".join(f'<th scope="col">{name}</th>' for name in ("", *head))
    body = "".join(f'<tr><th scope="row">{escape(name)}</th>{row}</tr>' for name, row in rows)
    table = f"<table><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide" tabindex="0">{table}</div>'
