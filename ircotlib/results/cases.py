"""The questions that best show what a paper says, chosen from the runs by rules (ours)."""

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from ircotlib.annotate.factuality import chain_of
from ircotlib.datasets import all_datasets
from ircotlib.experiment.runs import read_predictions
from ircotlib.experiment.setup import open_dataset
from ircotlib.files.paths import REPORTED_CASES
from ircotlib.files.tables import read_table
from ircotlib.parameters import Parameters
from ircotlib.results.markdown import as_markdown
from ircotlib.results.reported import beside
from ircotlib.results.runs import find_runs
from ircotlib.retrieval.corpus import Corpus
from ircotlib.text import escape, sentences

COMPARED = ("NoR QA", "OneR QA", "IRCoT QA")  # in the order of the paper's columns
RANKS = {"Table 2": 0, "Table 5": 1}  # of the question shown, from 0
COLUMNS = ["dataset", "id", "question", "gold answer", "gold paragraphs", "system", "retrieved"]
COLUMNS += ["chain", "answer", "recall", "score", "paper's question", "paper's answer"]
CASES = ["source", "dataset", "system", *COLUMNS[-2:]]  # columns of data/reported_cases.csv


def _rank(
    right: pd.DataFrame, winner: str, losers: Sequence[str], order: Callable[[str], tuple]
) -> list[str]:
    """The ids of the questions (rows) that one system answers right and the others wrong."""
    if not {winner, *losers} <= set(right):
        return []
    wins = right[winner] & ~right[[*losers]].any(axis=1)
    return sorted(right.index[wins], key=order)


def find_cases(
    runs: Mapping[tuple[str, str], pd.DataFrame], whole: str, without: str
) -> pd.DataFrame:
    """Choose two questions of each data set (ours): one that retrieval "rescued", which SearChain
    (`whole`) answers right and SearChain `without` retrieval answers wrong; and one that it
    "misled", the reverse. `others`: how many of the other systems, `of` in all, answer right.
    """
    rows = []
    for dataset in (name for name, system in runs if system == whole):
        of_dataset = {system: run for (name, system), run in runs.items() if name == dataset}
        right = pd.DataFrame({system: run["right"] for system, run in of_dataset.items()})
        count = right.drop(columns=[whole, without], errors="ignore").sum(axis=1).astype(int)
        nodes = of_dataset[whole]["nodes"]

        def order(id: str, nodes=nodes, count=count) -> tuple:
            # the most nodes that retrieval changed, the fewest others that are right and nodes
            helped = sum(bool(node.feedback) for node in nodes[id])
            return -helped, count[id], len(nodes[id]), id

        for case, pair in (("rescued", (whole, without)), ("misled", (without, whole))):
            for id in _rank(right, pair[0], pair[1:], order)[:1]:
                row = {"dataset": dataset, "case": case, "id": id, "others": count[id]}
                rows.append(row | {"of": len(right.columns) - 2, "nodes": nodes[id]})
    return pd.DataFrame(rows, columns=["dataset", "case", "id", "others", "of", "nodes"])


def read_compared(p: Parameters, experiment: str = "04_ircot") -> pd.DataFrame:
    """What the three systems of IRCoT's Tables 2 and 5 answered, from `read_predictions`."""
    datasets = [name for name in p.datasets if name != "iirc"]  # the paper shows the other three
    runs = find_runs(p.change(datasets=datasets), experiment) if datasets else {}
    tables = [
        read_predictions(folder)
        for folder, about in runs.items()
        if about["system"] in COMPARED and not about["setting"].get("demonstration_set")
    ]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def rank_late_errors(rows: pd.DataFrame) -> list[str]:
    """The ids of the questions of one data set that best show what the captions of IRCoT's Tables 2
    and 5 say, the best first (ours): IRCoT QA answers them right, with all gold paragraphs found,
    and the other two answer wrong.
    """
    if not set(COMPARED) <= set(rows.get("system", ())):
        return []
    *others, winner = COMPARED
    # NoR errs at once, OneR late, IRCoT not (captions of IRCoT Tables 2 and 5)
    oner, ircot = (rows[rows["system"] == name].set_index("id") for name in COMPARED[1:])
    right = rows.pivot(index="id", columns="system", values="right").dropna().astype(bool)
    right[winner] &= ircot["recall"].reindex(right.index) == 1
    score = ircot["metric"].iloc[0]

    def order(id: str) -> tuple:
        # a gold paragraph that OneR QA found, so that its error comes late; gains; the chain
        gains = (ircot.at[id, name] - oner.at[id, name] for name in ("recall", score))
        row = ircot.loc[id]
        length = len(sentences(chain_of(row["reading"], row["thoughts"], row["reader"])))
        return not oner.at[id, "gold_found"], *(-gain for gain in gains), -length, id

    return _rank(right, winner, others, order)


def show_cases(compared: pd.DataFrame, p: Parameters, source: str) -> pd.DataFrame:
    """IRCoT's Table 2 or 5 (`source`), with one question per data set and one row per system: what
    it retrieved (each query with the titles it found, gold ones with a star), its chain, answer,
    recall and score in percent, and the paper's case. `compared`: from `read_compared`.
    """
    rows = []
    for dataset in (name for name in p.datasets if name in set(compared.get("dataset", ()))):
        of_dataset = compared[compared["dataset"] == dataset]
        corpus = open_dataset(p, dataset)[2].corpus
        for id in rank_late_errors(of_dataset)[RANKS[source] :][:1]:
            by_system = of_dataset[of_dataset["id"] == id].set_index("system", drop=False)
            gold = by_system.at[COMPARED[-1], "gold_found"]
            rows += [_row(by_system.loc[name], gold, corpus) for name in COMPARED]
    papers = pd.DataFrame(read_table(REPORTED_CASES, dict.fromkeys(CASES), CASES[:3]))
    papers = papers.query("source == @source").drop(columns="source")
    table = pd.DataFrame(rows, columns=COLUMNS[:-2]).astype({"dataset": object, "system": object})
    return beside(table, papers, ["dataset", "system"]).reindex(columns=COLUMNS)


def _row(row: pd.Series, gold: Sequence[str], corpus: Corpus) -> dict:
    def titles(ids: Sequence[str], star: str = " ★") -> str:
        return " · ".join(corpus.find(id).title + star * (id in gold) for id in ids)

    retrieved = []
    for step in (step for step in row["trace"] if "retrieve" in step):
        query = step["retrieve"]
        query = "the question" if query == row["question"] else f"“{query}”"
        retrieved.append(f"{query} → {titles(step['found']) or 'nothing'}")
    kept = {name: row[name] for name in ("dataset", "id", "question", "answer", "system")}
    kept |= {"gold answer": row["answers"][0], "gold paragraphs": titles(gold, "")}
    kept |= {"retrieved": "\n".join(retrieved)}
    kept |= {"chain": chain_of(row["reading"], row["thoughts"], row["reader"])}
    kept |= {"recall": round(100 * row["recall"], 1), "score": round(100 * row[row["metric"]], 1)}
    return kept


def cases_as_markdown(table: pd.DataFrame) -> str:
    """The cases one below the other, each with a table of the systems' chains and answers."""
    parts = []
    for (dataset, id), rows in table.fillna("").groupby(["dataset", "id"], sort=False):
        first = rows.iloc[0].map(lambda cell: escape(str(cell)))
        parts.append(f"### {all_datasets()[dataset].title}: {first['question']}")
        about = f"`{' '.join(id.replace('`', '').split())}`"
        about += f" · gold answer: **{first['gold answer']}**"
        about += f" · gold paragraphs: {first['gold paragraphs']}"
        if paper := first["paper's question"]:
            about += f" · the paper's question is about: {paper}"
        rows = rows[["system", "retrieved", "chain", "answer", "recall", "score", "paper's answer"]]
        rows = rows.assign(chain=rows["chain"].map(lambda chain: "\n".join(sentences(chain))))
        for name in ("retrieved", "chain", "answer", "paper's answer"):
            rows[name] = ["<br>".join(map(escape, text.split("\n"))) or "–" for text in rows[name]]
        parts += [about, as_markdown(rows.astype({"recall": float, "score": float}))]
    return "\n\n".join(parts) or "No question shows it."
