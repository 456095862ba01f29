"""Factual errors in chains of thought (IRCoT §5, Figure 7): chains to judge, and their errors."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path

import pandas as pd

from ircotlib.data import Paragraph, Question
from ircotlib.datasets import all_datasets
from ircotlib.experiment.runs import find_paragraph, read_lines
from ircotlib.experiment.setup import open_dataset
from ircotlib.parameters import Parameters
from ircotlib.results.reported import KEYS, beside, read_reported
from ircotlib.results.runs import find_runs, in_order
from ircotlib.results.statistics import summarise
from ircotlib.retrieval.corpus import Corpus
from ircotlib.systems import ANSWER, all_systems
from ircotlib.text import gives_answer, sentences

SHARE = "chains with a factual error, %"
REDUCTION = "fewer chains with a factual error, %"
FIGURE_7 = ("NoR QA", "OneR QA", "IRCoT QA")  # the systems whose chains people judged
PAIR = ("IRCoT QA", "OneR QA")  # REDUCTION: of the first against the second
COLUMNS = "dataset system metric mean low high n unsure judged_by reported".split()


@dataclass(frozen=True)
class Item:
    """A chain of thought to be judged: what a system wrote for a question, the paragraphs it had
    retrieved, and the gold ones. Annotators are not shown which system wrote it.
    """

    id: str
    dataset: str
    system: str
    question: Question
    sentences: tuple[str, ...]
    retrieved: tuple[Paragraph, ...]
    gold: tuple[Paragraph, ...]
    facts: int  # how many sentences are judged, from the first


def read_items(p: Parameters, experiment: str = "04_ircot") -> list[Item]:
    """The chains of an experiment's test runs with the first demonstration set, for `p.judged`
    questions of each data set, the same for every system, in random order (IRCoT §5). Systems
    without a chain and systems that only retrieve are left out.
    """
    items = []
    for folder, about in find_runs(p, experiment).items():
        system = all_systems().get(about["system"])
        if system is None or system.tuned_by != ANSWER or about["setting"].get("demonstration_set"):
            continue
        for question, row, corpus in draw_questions(p, folder, about):
            # the chain that the answer comes from: for GPT3 the reader's (IRCoT App. E)
            if chain := chain_of(row["reading"], row["thoughts"], p.reader):
                id = name_item(question, system.name, chain)
                texts = tuple(sentences(chain))
                facts = count_before_answer(texts)
                find = partial(find_paragraph, question=question, corpus=corpus)
                paragraphs = tuple(map(find, row["paragraphs"])), tuple(map(find, question.gold))
                item = id, about["dataset"], system.name, question, texts, *paragraphs, facts
                items.append(Item(*item))
    random.Random(f"order {p.seed}").shuffle(items)
    return items


def draw_questions(
    p: Parameters, folder: Path, about: Mapping
) -> Iterator[tuple[Question, dict, Corpus]]:
    """`p.judged` questions, the same for every run of a data set, each with its predicted row."""
    rows = read_lines(folder)
    _, test, retriever = open_dataset(p, about["dataset"])
    # 40 questions of each data set in IRCoT §5
    for question in random.Random(f"questions {p.seed}").sample(test, min(p.judged, len(test))):
        yield question, rows[question.id], retriever.corpus


def chain_of(reading: str, thoughts: Sequence[str], reader: str) -> str:
    """The chain of thought behind an answer: the reader's, else the retrieval's, else ""."""
    return reading if reader == "cot" and reading else " ".join(thoughts)


def count_before_answer(texts: Sequence[str]) -> int:
    """How many sentences of a chain are judged: those before the one that gives the answer
    (IRCoT §5).
    """
    return next((n for n, text in enumerate(texts) if gives_answer(text)), len(texts))


def name_item(question: Question, system: str, chain: str) -> str:
    """A hash of question, system and chain, so that no judgement is counted for another chain."""
    named = json.dumps([question.dataset, question.id, system, chain])
    return blake2b(named.encode(), digest_size=6).hexdigest()


def list_judged(items: Sequence[Item], verdicts: Mapping[tuple[str, int], str]) -> pd.DataFrame:
    """Scores, one row per judged chain, which has a false sentence or has all of them judged:
    `error` is 1 if a sentence is false, `factual` if none is, `unsure` if none is, and one unsure.
    """
    rows = []
    for item in items:
        of_item = [verdicts.get((item.id, n)) for n in range(item.facts)]
        error = "false" in of_item  # at least one fact is not true (IRCoT §5)
        if error or None not in of_item:
            row = {"dataset": item.dataset, "system": item.system, "id": item.question.id}
            row |= {"error": float(error), "factual": float(not error)}
            rows.append(row | {"unsure": float(not error and "unsure" in of_item)})
    table = pd.DataFrame(rows, columns=["dataset", "system", "id", "error", "factual", "unsure"])
    table = in_order(in_order(table, "system", all_systems()), "dataset", all_datasets())
    return table.assign(metric="factual", demonstration_set=0)


def count_errors(
    items: Sequence[Item], judged: Mapping[str, Mapping[tuple[str, int], str]]
) -> pd.DataFrame:
    """The numbers of IRCoT's Figure 7, in percent, for each annotator, with the 95% interval
    over questions, and the paper's. `n`: the chains judged. `unsure`: those with an unsure
    sentence but no false one. The rows of REDUCTION are of IRCoT QA against OneR QA, as in the
    text. Differs from the paper: it gives the number of chains, out of 40.
    """
    ids = {item.id for item in items}
    ours = pd.DataFrame(columns=COLUMNS[:-1])
    for annotator, verdicts in judged.items():
        chains = list_judged(items, verdicts)
        if len(chains) and not ids.isdisjoint(id for id, _ in verdicts):
            rows = _count_of_one(chains).assign(judged_by=annotator)
            ours = pd.concat([ours, rows]) if len(ours) else rows
    names = {"factual_error": SHARE, "factual_error_reduction": REDUCTION}
    papers = pd.concat([read_reported(metric=name).assign(metric=names[name]) for name in names])
    papers = papers.rename(columns={"value": "reported"})[[*KEYS, "name", "reported"]]
    table = beside(ours, papers)
    return table.reindex(columns=COLUMNS).astype({"n": int})


def _count_of_one(chains: pd.DataFrame) -> pd.DataFrame:
    """The rows of one annotator: the share of chains with an error, and the reductions."""
    by = ["dataset", "system"]
    table = summarise(chains.assign(metric="error"), by)
    unsure = 100 * chains.groupby(by)["unsure"].mean().rename("unsure")
    shares = table.assign(metric=SHARE).join(unsure, on=by)
    # the paper says 50% for HotpotQA and 40% for 2WikiMultihopQA (IRCoT §5)
    ours, others = (shares[shares["system"] == name].set_index("dataset") for name in PAIR)
    fewer = (100 * (1 - ours["mean"] / others["mean"].where(others["mean"] > 0))).dropna().round(2)
    rows = {"system": PAIR[0], "metric": REDUCTION, "n": ours["n"].reindex(fewer.index)}
    reductions = fewer.rename("mean").to_frame().assign(**rows).reset_index()
    return pd.concat([shares, reductions])
