"""What is judged: chains of thought, for factual errors (IRCoT §5, Figure 7)."""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b

import pandas as pd

from ircotlib.data import Paragraph, Question, read_jsonl
from ircotlib.datasets import all_datasets
from ircotlib.experiment.setup import open_corpus
from ircotlib.experiment.stored import find_paragraph
from ircotlib.parameters import Parameters
from ircotlib.results.runs import find_runs, in_order
from ircotlib.results.statistics import summarise
from ircotlib.systems import ANSWER, all_systems
from ircotlib.text import gives_answer, sentences

SHARE = "chains with a factual error, %"
REDUCTION = "fewer chains with a factual error, %"
FIGURE_7 = ("NoR QA", "OneR QA", "IRCoT QA")  # the systems whose chains people judged
PAIR = ("IRCoT QA", "OneR QA")  # REDUCTION: of the first against the second
REPORTED = {"hotpotqa": 50, "2wikimultihopqa": 40}  # that reduction, GPT3 (IRCoT §5)
BY = ["dataset", "system"]
COLUMNS = [*BY, "metric", "mean", "low", "high", "n", "unsure", "judged_by", "reported"]
Pages = tuple[Paragraph, ...]
Verdicts = dict[tuple[str, int], str]  # "true", "false", "unsure"; by item, sentence


@dataclass(frozen=True)
class Item:
    """A text to be judged; annotators do not see which system wrote it."""

    # a hash of question, system and text: no judgement is counted for another text
    id: str
    dataset: str
    system: str
    question: Question
    sentences: tuple[str, ...]
    retrieved: Pages
    gold: Pages
    facts: int  # how many sentences are judged, from the first


def read_items(p: Parameters) -> list[Item]:
    """The chains to judge from 04_ircot's test runs, first demonstration set, in random
    order: of `p.judged` questions of each data set (40 in IRCoT §5), the same ones for
    each system.
    """
    items = []
    for folder, about in find_runs(p, "04_ircot").items():
        system = all_systems().get(about["system"])
        other_set = about["setting"].get("demonstration_set")
        if system is None or system.tuned_by != ANSWER or other_set:
            continue
        rows = {row["id"]: row for row in read_jsonl(folder / "predictions.jsonl")}
        _, test, corpus = open_corpus(p, about["dataset"])
        draw = random.Random(f"questions {p.seed}")
        for question in draw.sample(test, min(p.judged, len(test))):
            row = rows[question.id]
            chain = " ".join(row["thoughts"])
            # that which the answer comes from: for GPT3 the reader's (IRCoT App. E)
            if p.reader == "cot" and row["reading"]:
                chain = row["reading"]
            if chain:
                find = partial(find_paragraph, question=question, corpus=corpus)
                pages = tuple(map(find, row["paragraphs"]))
                gold = tuple(map(find, question.gold))
                items.append(_make_item(about, question, chain, pages, gold))
    random.Random(f"order {p.seed}").shuffle(items)
    return items


def _make_item(
    about: Mapping, question: Question, chain: str, retrieved: Pages, gold: Pages
) -> Item:
    dataset, system = about["dataset"], about["system"]
    named = json.dumps([dataset, question.id, system, chain])
    id = blake2b(named.encode(), digest_size=6).hexdigest()
    texts = tuple(sentences(chain))
    # judged are those before the one that gives the answer (IRCoT §5)
    answers = [n for n, text in enumerate(texts) if gives_answer(text)]
    facts = min(answers, default=len(texts))
    return Item(id, dataset, system, question, texts, retrieved, gold, facts)


def list_judged(items: Sequence[Item], verdicts: Verdicts) -> pd.DataFrame:
    """Scores, one row per chain with a false sentence or with all of them judged."""
    rows = []
    for item in items:
        given = [verdicts.get((item.id, n)) for n in range(item.facts)]
        error = "false" in given  # at least one fact is not true (IRCoT §5)
        if error or None not in given:
            unsure = not error and "unsure" in given
            scores = map(float, (error, not error, unsure))
            rows.append((item.dataset, item.system, item.question.id, *scores))
    table = pd.DataFrame(rows, columns=[*BY, "id", "error", "factual", "unsure"])
    table = in_order(table, "system", all_systems())
    table = in_order(table, "dataset", all_datasets())
    return table.assign(metric="factual", demonstration_set=0)


def count_errors(items: Sequence[Item], judged: Mapping[str, Verdicts]) -> pd.DataFrame:
    """The numbers of IRCoT's Figure 7 by annotator, and the paper's. Differs from the
    paper: in percent, where it gives the number of chains, out of 40.
    """
    known = {item.id for item in items}
    tables = []
    for annotator, verdicts in judged.items():
        chains = list_judged(items, verdicts)
        if chains.empty or known.isdisjoint(id for id, _ in verdicts):
            continue
        unsure = 100 * chains.groupby(BY)["unsure"].mean().rename("unsure")
        shares = summarise(chains.assign(metric="error"), BY).join(unsure, on=BY)
        ours, others = (
            shares[shares["system"] == name].set_index("dataset") for name in PAIR
        )
        # of no chains with an error there are no fewer
        fewer = 100 * (1 - ours["mean"] / others["mean"].where(others["mean"] > 0))
        reduction = pd.DataFrame({"mean": fewer.round(2), "n": ours["n"]}).dropna()
        reduction = reduction.reset_index().assign(system=PAIR[0], metric=REDUCTION)
        reduction["reported"] = reduction["dataset"].map(REPORTED)
        rows = pd.concat([shares.assign(metric=SHARE), reduction])
        tables.append(rows.assign(judged_by=annotator))
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
    return table.reindex(columns=COLUMNS).astype({"n": int})
