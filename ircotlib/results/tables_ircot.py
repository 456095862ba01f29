"""IRCoT's tables with our numbers next to the paper's; tables as Markdown and CSV files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path

import pandas as pd

from ircotlib.data import Node
from ircotlib.datasets import all_datasets
from ircotlib.files.paths import FIGURES
from ircotlib.program import Outcome, Retrieve, Sample
from ircotlib.results.analysis import read_reported, summarise
from ircotlib.results.claims_ircot import AGAINST
from ircotlib.systems import RECALL, all_systems

ALL, WHERE = "all", ["dataset", "questions"]
# data sets of data/reported.csv that are the questions of one kind in one of our data sets
KINDS = {"hotpotqa_bridge": ("hotpotqa", "bridge"), "musique_2hop": ("musique", "2hop")}
MEASURES = {"em": "EM", "f1": "F1"}


def compare_published(runs: pd.DataFrame, source: str) -> pd.DataFrame:
    """EM and F1, in percent, of the systems in IRCoT's Table 1 or 3 (`source`), next to ours on the
    same kinds of question. Our systems that the table does not have come last.
    """
    papers = _published(source)
    found = {name: number for number, name in enumerate(dict.fromkeys(runs["dataset"]))}
    papers = papers[papers["dataset"].isin(found)]
    parts = papers[WHERE].drop_duplicates()  # in the order of the paper's columns
    parts["part"] = 2 * parts["dataset"].map(found) + (parts["questions"] == ALL)
    papers = papers.merge(parts, on=WHERE).assign(place=range(len(papers)))
    table = papers.merge(_measured(runs, parts), on=["part", *WHERE, "name"], how="outer")
    table["system"] = table["system"].fillna(table["name"])
    table = table.sort_values(["part", "place", "order"], kind="stable").round(1)
    for m in MEASURES.values():
        table[f"difference {m}"] = table[f"ours {m}"] - table[f"paper {m}"]
    columns = [f"{of} {m}" for of in ("paper", "ours", "difference") for m in MEASURES.values()]
    return _tidy(table[[*WHERE, "system", "model", *columns, "n"]])


def _published(source: str) -> pd.DataFrame:
    """The rows of a table of the paper; the column `name` has our name of the system."""
    rows = read_reported(source=source)
    kinds = [KINDS.get(name, (name, ALL)) for name in rows["dataset"]]
    rows[WHERE] = pd.DataFrame(kinds, index=rows.index)
    keys = [*WHERE, "system", "model"]
    table = rows.drop_duplicates(keys)[keys]
    for metric, m in MEASURES.items():
        values = rows[rows["metric"] == metric].rename(columns={"value": f"paper {m}"})
        table = table.merge(values[[*keys, f"paper {m}"]], on=keys, how="left")
    return table.assign(name=table["system"].replace(our_names()))


def our_names() -> dict[str, str]:
    """Our names of systems, by their names in data/reported.csv."""
    return {theirs: name for name, system in all_systems().items() for theirs in system.reported}


def _measured(runs: pd.DataFrame, parts: pd.DataFrame) -> pd.DataFrame:
    """EM and F1 of our systems that answer, on each part: the questions of one kind, or all."""
    rows = []
    for part in parts.to_dict("records"):
        answers = runs[(runs["dataset"] == part["dataset"]) & (runs["metric"] != RECALL)]
        if part["questions"] != ALL:
            answers = answers[answers["kind"] == part["questions"]]
        for name, of_one in answers.groupby("system", sort=False):
            means = [summarise(of_one.assign(metric=m), ("system",)).loc[0] for m in MEASURES]
            both = {f"ours {m}": mean["mean"] for m, mean in zip(MEASURES.values(), means)}
            rows.append(part | {"name": name, "order": len(rows), "n": means[0]["n"]} | both)
    columns = [*WHERE, "part", "name", "order", "n", *(f"ours {m}" for m in MEASURES.values())]
    return pd.DataFrame(rows, columns=columns)


def compare_readers(runs: pd.DataFrame, source: str) -> pd.DataFrame:
    """Answer F1 by data set, system and reader: the values of IRCoT's Table 4 or 6 (`source`), next
    to ours with the same reader or, for systems without one, with none. Deviations are sample
    standard deviations over demonstration sets.
    """
    keys = ["dataset", "system", "reader"]
    papers = read_reported(source=source, metric="f1").drop(columns="paper")
    papers = papers.rename(columns={"value": "paper", "deviation": "paper deviation"})
    papers = papers.rename(columns={"note": "reader"}).fillna({"reader": ""})
    asked = (runs["metric"] != RECALL) & runs["dataset"].isin(papers["dataset"])
    reading = runs["system"].isin([name for name, one in all_systems().items() if one.reads])
    runs = runs.assign(metric="f1", reader=runs["reader"].where(reading, ""))
    ours = summarise(runs[asked], keys)
    ours = ours.rename(columns={"mean": "ours", "deviation": "ours deviation"})
    table = papers.assign(theirs=papers["system"], system=papers["system"].replace(our_names()))
    ours = ours.reindex(columns=[*keys, "ours", "ours deviation", "n"])
    ours = ours.astype(dict.fromkeys(keys, str))
    table = table.merge(ours, on=keys, how="left").round(1).replace({"reader": {"": None}})
    table = table.assign(system=table["theirs"], difference=table["ours"] - table["paper"])
    order = {name: place for place, name in enumerate(dict.fromkeys(runs["dataset"]))}
    table = table[table["dataset"].isin(order)]
    table = table.sort_values("dataset", key=lambda names: names.map(order), kind="stable")
    columns = ["dataset", "system", "reader", "model", "paper", "paper deviation"]
    return _tidy(table[[*columns, "ours", "ours deviation", "difference", "n"]])


def _tidy(table: pd.DataFrame) -> pd.DataFrame:
    return table.round(1).astype({"n": "Int64"}).reset_index(drop=True)


def line_up(outcomes: Mapping[str, Outcome]) -> pd.DataFrame:
    """What systems answered to one question, one row per system: the answer, the number of
    retrievals, the number of texts that the model wrote, the tokens that it read and wrote, and
    which part of its replies could not be read.
    """
    rows = {}
    for name, outcome in outcomes.items():
        asked = [step.request for step in outcome.trace]
        written = [step for step in outcome.trace if step.tokens or step.prompt_tokens]
        texts = [step.request.n if isinstance(step.request, Sample) else 1 for step in written]
        row = {"answer": outcome.result.answer}
        row |= {"retrievals": sum(isinstance(one, Retrieve) for one in asked), "texts": sum(texts)}
        row |= {"tokens read": sum(step.prompt_tokens for step in written)}
        row |= {"tokens written": sum(step.tokens for step in written)}
        rows[name] = row | {"not parsed": outcome.result.fault}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("system").reset_index()


def list_nodes(nodes: Sequence[Node]) -> pd.DataFrame:
    """A tree of reasoning as a table, one row per node, in the order of its chains."""
    return pd.DataFrame(map(asdict, nodes), columns=[field.name for field in fields(Node)])


def save_table(
    table: pd.DataFrame,
    name: str,
    caption: str,
    profile: str = "mini",
    write: Callable[[pd.DataFrame], str] | None = None,
) -> None:
    """Write figures/NAME.csv and, with a caption, figures/NAME.md. For profiles other than mini the
    name is NAME_PROFILE. `write`: renders the table as Markdown; None: `as_markdown`.
    """
    FIGURES.mkdir(parents=True, exist_ok=True)
    name = name if profile == "mini" else f"{name}_{profile}"
    table.to_csv(FIGURES / f"{name}.csv", index=False, lineterminator="\n")
    text = f"{caption}\n\n{(write or as_markdown)(table)}\n"
    (FIGURES / f"{name}.md").write_text(text, encoding="utf-8")


def as_markdown(table: pd.DataFrame) -> str:
    """Render a table in GitHub's Markdown: data sets with the names that the papers print, models
    without their folders, and all numbers of a column with the same number of decimals.
    """
    cells = {str(name): _cells(str(name), table[name]) for name in table}
    heads = [*cells], ["---"] * len(cells)
    return "\n".join(f"| {' | '.join(row)} |" for row in (*heads, *zip(*cells.values())))


def _cells(name: str, column: pd.Series) -> list[str]:
    if pd.api.types.is_float_dtype(column):
        digits = max(
            (len(f"{x:.4f}".rstrip("0").partition(".")[2]) for x in column.dropna()), default=0
        )
        return ["" if pd.isna(value) else f"{value:.{digits}f}" for value in column]
    titles = {dataset: record.title for dataset, record in all_datasets().items()}
    texts = ["" if pd.isna(value) else str(value) for value in column]
    if name in ("dataset", "demonstrations"):
        texts = [titles.get(text, text) for text in texts]
    if name == "model":
        texts = [AGAINST.join(Path(one).name for one in text.split(AGAINST)) for text in texts]
    return [text.replace("|", "\\|") for text in texts]
