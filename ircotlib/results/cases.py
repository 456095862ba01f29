"""IRCoT's Tables 2 and 5: chains of thought of three systems for the same question, side by side.
The questions are chosen from the runs by a rule (`rank_cases`), not by hand.
"""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from ircotlib.data import Node, read_jsonl
from ircotlib.datasets import all_datasets
from ircotlib.files.paths import REPORTED_CASES
from ircotlib.parameters import Parameters
from ircotlib.results.analysis import find_runs
from ircotlib.results.factuality import chain_of
from ircotlib.results.tables_ircot import as_markdown
from ircotlib.retrieval.corpus import Corpus
from ircotlib.running.folder import read_about
from ircotlib.running.predictions import read_predictions
from ircotlib.running.setup import open_dataset
from ircotlib.text import escape, sentences

COMPARED = ("NoR QA", "OneR QA", "IRCoT QA")  # in the order of the paper's columns
PLACES = {"Table 2": 0, "Table 5": 1}  # the rank of the question shown (`rank_cases`), from 0
LEFT_OUT = "iirc"  # the paper shows the other three data sets
GOLD = " ★"
COLUMNS = ["dataset", "id", "question", "gold answer", "gold paragraphs", "system", "retrieved"]
COLUMNS += ["chain", "answer", "recall", "score", "paper's question", "paper's answer"]


def read_said(p: Parameters, experiment: str = "04_ircot") -> pd.DataFrame:
    """What the three systems answered to each test question with the first demonstration set: the
    rows of `read_predictions`, each with its trace; without IIRC.
    """
    p = p.change(datasets=[name for name in p.datasets if name != LEFT_OUT] or p.datasets)
    tables = []
    for folder in find_runs(p, experiment):
        about = read_about(folder)
        first = not about["setting"].get("demonstration_set")
        if about["system"] in COMPARED and first and about["dataset"] != LEFT_OUT:
            traces = {row["id"]: row["trace"] for row in read_jsonl(folder / "predictions.jsonl")}
            table = read_predictions(folder)
            tables.append(table.assign(trace=table["id"].map(traces)))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def rank_cases(said: pd.DataFrame) -> list[str]:
    """The ids of the questions of one data set that best show what the paper's captions say, the
    best first (the rule is ours).

    Only questions qualify that IRCoT QA answers right, with all gold paragraphs found, and the
    other two answer wrong. They are ranked by: whether OneR QA found at least one gold paragraph,
    so that its error comes late; the gain in recall over OneR QA; the gain in score; the length of
    IRCoT QA's chain in sentences; the id.
    """
    if not set(COMPARED) <= set(said.get("system", ())):
        return []
    nor, oner, ircot = (said[said["system"] == name].set_index("id") for name in COMPARED)
    told = ircot[ircot["right"] & (ircot["recall"] == 1)].index
    told = [id for id in told if not (nor["right"].get(id, True) or oner["right"].get(id, True))]
    score = ircot["metric"].iloc[0] if len(ircot) else ""

    def least_first(id: str) -> tuple:
        gains = (ircot.at[id, name] - oner.at[id, name] for name in ("recall", score))
        return not oner.at[id, "gold_found"], *(-gain for gain in gains), -_length(ircot, id), id

    return sorted(told, key=least_first)


def _length(said: pd.DataFrame, id: str) -> int:
    row = said.loc[id]
    return len(sentences(chain_of(row["reading"], row["thoughts"], row["reader"])))


def show_cases(said: pd.DataFrame, p: Parameters, source: str) -> pd.DataFrame:
    """IRCoT's Table 2 or 5 (`source`), with one question per data set and one row per system.

    A row has what the system retrieved (each query with the titles it found, gold ones with a
    star), its chain of thought, its answer, its recall and score in percent, what the paper's case
    is about, and the answer given there.
    """
    rows = []
    for dataset in (name for name in p.datasets if len(said) and name in set(said["dataset"])):
        of_one = said[said["dataset"] == dataset]
        corpus = open_dataset(p, dataset)[2].corpus
        for id in rank_cases(of_one)[PLACES[source] :][:1]:
            row = of_one[of_one["id"] == id].set_index("system")
            gold = row.at[COMPARED[-1], "gold_found"]
            rows += [_row(row.loc[name], gold, corpus) | {"system": name} for name in COMPARED]
    theirs = pd.read_csv(REPORTED_CASES).query("source == @source").drop(columns="source")
    table = pd.DataFrame(rows, columns=COLUMNS[:-2]).astype({"dataset": object, "system": object})
    return table.merge(theirs, on=["dataset", "system"], how="left").reindex(columns=COLUMNS)


def _row(said: pd.Series, gold: Sequence[str], corpus: Corpus) -> dict:
    """The row of one system for a question."""
    row = {name: said[name] for name in ("dataset", "id", "question", "answer")}
    row |= {"gold answer": said["answers"][0], "gold paragraphs": _titles(gold, (), corpus)}
    row |= {"retrieved": "\n".join(_retrievals(said, gold, corpus))}
    row |= {"chain": chain_of(said["reading"], said["thoughts"], said["reader"])}
    measures = {"recall": said["recall"], "score": said[said["metric"]]}
    return row | {name: round(100 * value, 1) for name, value in measures.items()}


def _retrievals(said: pd.Series, gold: Sequence[str], corpus: Corpus) -> Iterator[str]:
    """One line per retrieval: the query and the titles found."""
    for step in said["trace"]:
        if "retrieve" in step:
            asked = step["retrieve"]
            query = "the question" if asked == said["question"] else f"“{asked}”"
            yield f"{query} → {_titles(step['found'], gold, corpus) or 'nothing'}"


def _titles(ids: Sequence[str], gold: Sequence[str], corpus: Corpus) -> str:
    return " · ".join(corpus.find(id).title + GOLD * (id in gold) for id in ids)


def cases_as_markdown(table: pd.DataFrame) -> str:
    """The cases one below the other, each with a table of the systems' chains and answers."""
    cases = table.fillna("").groupby(["dataset", "id"], sort=False)
    return "\n\n".join(map(_case, (rows for _, rows in cases))) or "No question shows it."


def _case(rows: pd.DataFrame) -> str:
    first, title = rows.iloc[0], all_datasets()[rows["dataset"].iloc[0]].title
    lines = [f"### {title}: {escape(first['question'])}", _about(first)]
    shown = rows[["system", "retrieved", "chain", "answer", "recall", "score", "paper's answer"]]
    shown = shown.assign(chain=shown["chain"].map(lambda chain: "\n".join(sentences(chain))))
    for name in ("retrieved", "chain", "answer", "paper's answer"):
        shown[name] = shown[name].map(_lines)
    return "\n\n".join([*lines, as_markdown(shown.astype({"recall": float, "score": float}))])


def _about(row: Mapping) -> str:
    id = " ".join(row["id"].replace("`", "").split())
    about = f"`{id}` · gold answer: **{escape(row['gold answer'])}**"
    about += f" · gold paragraphs: {escape(row['gold paragraphs'])}"
    paper = row["paper's question"]
    return about + (f" · the paper's question is about: {escape(paper)}" if paper else "")


def _lines(text: str) -> str:
    return "<br>".join(map(escape, text.split("\n"))) or "–"


def find_cases(
    runs: Mapping[tuple[str, str], pd.DataFrame], whole: str, without: str
) -> pd.DataFrame:
    """Choose two questions of each data set (ours): one that retrieval "rescued", which SearChain
    (`whole`) answers right and SearChain `without` retrieval answers wrong; and one on which
    retrieval "misled", the reverse.

    Preferred are questions with the most nodes that retrieval corrected or completed, then those
    that the fewest other systems answer right, then those with the fewest nodes, then the smallest
    id. `runs`: by data set and system, from `measures.read_run`. In the result, `others` is how
    many of the other systems, `of` in all, answer right.
    """
    rows = []
    for dataset in dict.fromkeys(name for name, _ in runs):
        right = right_of_all(runs, dataset)
        if not {whole, without} <= set(right):
            continue
        nodes, others = runs[dataset, whole]["nodes"], right.drop(columns=[whole, without])
        cases = {
            "rescued": right[whole] & ~right[without],
            "misled": right[without] & ~right[whole],
        }
        for case, chosen in cases.items():
            order = [_order(nodes[id], others.loc[id], id) for id in right.index[chosen]]
            for _, count, _, id in sorted(order)[:1]:
                row = {"dataset": dataset, "case": case, "id": id, "others": count}
                rows.append(row | {"of": len(others.columns), "nodes": nodes[id]})
    return pd.DataFrame(rows, columns=["dataset", "case", "id", "others", "of", "nodes"])


def right_of_all(runs: Mapping[tuple[str, str], pd.DataFrame], dataset: str) -> pd.DataFrame:
    """Whether each system (column) answers each question (row) of a data set right."""
    of_one = {system: run["right"] for (name, system), run in runs.items() if name == dataset}
    return pd.DataFrame(of_one)


def _order(nodes: Sequence[Node], others: pd.Series, id: str) -> tuple[int, int, int, str]:
    helped = sum(bool(node.feedback) for node in nodes)
    return -helped, int(others.sum()), len(nodes), id
