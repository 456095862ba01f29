"""What is judged: chains of thought, for factual errors (IRCoT §5, Figure 7);
references in final contents, for whether each is in its place (SearChain §4.3.4, AMP).
"""

import json
import random
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b

import pandas as pd

from ircotlib.data import Paragraph, Question, read_jsonl
from ircotlib.datasets import Facts, all_datasets
from ircotlib.experiment.runs import find_paragraph
from ircotlib.experiment.setup import open_corpus
from ircotlib.parameters import Parameters
from ircotlib.results.runs import find_runs, in_order
from ircotlib.results.statistics import summarise
from ircotlib.systems import ANSWER, all_systems
from ircotlib.systems.searchain import CITATIONS, citations
from ircotlib.text import gives_answer, sentences

SHARE = "chains with a factual error, %"
REDUCTION = "fewer chains with a factual error, %"
FIGURE_7 = ("NoR QA", "OneR QA", "IRCoT QA")  # the systems whose chains people judged
PAIR = ("IRCoT QA", "OneR QA")  # REDUCTION: of the first against the second
# that reduction for GPT3 (IRCoT §5, text)
REPORTED = {"hotpotqa": 50, "2wikimultihopqa": 40}
COLUMNS = "dataset system metric mean low high n unsure judged_by reported".split()
MARKS = re.compile(rf"{CITATIONS.pattern}[.,;:]?")
# "true", "false" or "unsure", by item and sentence
Verdicts = dict[tuple[str, int], str]


@dataclass(frozen=True)
class Item:
    """The text to be judged that a system wrote for a question; annotators do not see
    which one.
    """

    # a hash of question, system and text: no judgement is counted for another text
    id: str
    dataset: str
    system: str
    question: Question
    sentences: tuple[str, ...]
    retrieved: tuple[Paragraph, ...]
    gold: tuple[Paragraph, ...]
    facts: int  # how many sentences are judged, from the first


def read_items(p: Parameters) -> list[Item]:
    """The chains of 04_ircot's test runs with the first demonstration set (IRCoT §5)."""

    def judged(about: Mapping, row: Mapping, find: Callable) -> tuple | None:
        system = all_systems().get(about["system"])
        if (
            system is None
            or system.tuned_by != ANSWER
            or about["setting"].get("demonstration_set")
        ):
            return None
        # the chain that the answer comes from: for GPT3 the reader's (IRCoT App. E)
        chain = chain_of(row["reading"], row["thoughts"], p.reader)
        texts = tuple(sentences(chain))
        # judged are those before the one that gives the answer (IRCoT §5)
        facts = next(
            (n for n, text in enumerate(texts) if gives_answer(text)), len(texts)
        )
        return chain and (chain, texts, tuple(map(find, row["paragraphs"])), facts)

    return draw_items(p, "04_ircot", judged)


def chain_of(reading: str, thoughts: Sequence[str], reader: str) -> str:
    """The chain of thought behind an answer: the reader's, else the retrieval's, else
    "".
    """
    return reading if reader == "cot" and reading else " ".join(thoughts)


def draw_items(p: Parameters, experiment: str, judged: Callable) -> list[Item]:
    """The texts to judge from the test runs, in random order: of `p.judged` questions
    of each data set. `judged(about, row, find)`: text, sentences, paragraphs, number of
    facts.
    """
    items = []
    for folder, about in find_runs(p, experiment).items():
        rows = {row["id"]: row for row in read_jsonl(folder / "predictions.jsonl")}
        _, test, corpus = open_corpus(p, about["dataset"])
        # 40 questions of each data set in IRCoT §5
        for question in random.Random(f"questions {p.seed}").sample(
            test, min(p.judged, len(test))
        ):
            find = partial(find_paragraph, question=question, corpus=corpus)
            if found := judged(about, rows[question.id], find):
                text, texts, retrieved, facts = found
                named = [question.dataset, question.id, about["system"], text]
                id = blake2b(json.dumps(named).encode(), digest_size=6).hexdigest()
                wrote = (
                    about["system"],
                    question,
                    texts,
                    retrieved,
                    tuple(map(find, question.gold)),
                )
                items.append(Item(id, question.dataset, *wrote, facts))
    random.Random(f"order {p.seed}").shuffle(items)
    return items


def list_judged(items: Sequence[Item], verdicts: Verdicts) -> pd.DataFrame:
    """Scores, one row per chain with a false sentence or with all of them judged."""
    rows = []
    for item in items:
        of_item = [verdicts.get((item.id, n)) for n in range(item.facts)]
        error = "false" in of_item  # at least one fact is not true (IRCoT §5)
        if error or None not in of_item:
            row = {
                "dataset": item.dataset,
                "system": item.system,
                "id": item.question.id,
            }
            row |= {"error": float(error), "factual": float(not error)}
            rows.append(row | {"unsure": float(not error and "unsure" in of_item)})
    table = pd.DataFrame(
        rows, columns=["dataset", "system", "id", "error", "factual", "unsure"]
    )
    table = in_order(
        in_order(table, "system", all_systems()), "dataset", all_datasets()
    )
    return table.assign(metric="factual", demonstration_set=0)


def count_errors(items: Sequence[Item], judged: Mapping[str, Verdicts]) -> pd.DataFrame:
    """The numbers of IRCoT's Figure 7 by annotator, and the paper's. Differs from the
    paper: in percent, where it gives the number of chains, out of 40.
    """
    by = ["dataset", "system"]
    tables = []
    for annotator, verdicts in judged.items():
        chains = list_judged(items, verdicts)
        if chains.empty or {item.id for item in items}.isdisjoint(
            id for id, _ in verdicts
        ):
            continue
        unsure = 100 * chains.groupby(by)["unsure"].mean().rename("unsure")
        shares = summarise(chains.assign(metric="error"), by).join(unsure, on=by)
        ours, others = (
            shares[shares["system"] == name].set_index("dataset") for name in PAIR
        )
        fewer = 100 * (1 - ours["mean"] / others["mean"].where(others["mean"] > 0))
        fewer = (
            pd.DataFrame({"mean": fewer.round(2), "n": ours["n"]})
            .dropna()
            .reset_index()
        )
        fewer = fewer.assign(system=PAIR[0], reported=fewer["dataset"].map(REPORTED))
        rows = [shares.assign(metric=SHARE), fewer.assign(metric=REDUCTION)]
        tables.append(pd.concat(rows).assign(judged_by=annotator))
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
    return table.reindex(columns=COLUMNS).astype({"n": int})


def read_references(
    p: Parameters, experiment: str = "05_searchain", systems: Sequence[str] = ()
) -> list[Item]:
    """The final contents with references of an experiment's test runs (`draw_items`;
    SearChain §4.3.4), cut into fragments that end with marks, and the text after the
    last mark.
    """

    def judged(about: Mapping, row: Mapping, find: Callable) -> tuple | None:
        passages = {node["mark"]: node["passage"] for node in row["nodes"]}
        passages = {
            mark: passages[mark] for mark in sorted(passages) if mark and passages[mark]
        }
        fragments, rest = cut_after_marks(row["reading"], passages)
        if not fragments or about["system"] not in (systems or [about["system"]]):
            return None
        read = [(mark, find(id)) for mark, id in passages.items()]
        read = tuple(
            replace(page, title=f"[{mark}] {page.title}") for mark, page in read
        )
        texts = *fragments, *([rest] if rest else [])
        return f"references: {row['reading']}", texts, read, len(fragments)

    return draw_items(p, experiment, judged)


def cut_after_marks(final: str, passages: Container[int]) -> tuple[list[str], str]:
    """Cut a text after each group of marks, except those of no passage; also return the
    rest.
    """
    fragments, begin = [], 0
    for marks in MARKS.finditer(final):
        if any(int(mark) in passages for mark in re.findall(r"\d+", marks[0])):
            fragments.append(final[begin : marks.end()].strip())
            begin = marks.end()
    return fragments, final[begin:].strip()


def judge_reference(item: Item, number: int, facts: Facts) -> str:
    """A judge's verdict on a fragment's marks; "unsure" if no fact can be read."""
    fragment = item.sentences[number]
    marks = {f"[{mark}]" for group in citations(fragment) for mark in group}
    titles = [paragraph.title.partition(" ") for paragraph in item.retrieved]
    statement = MARKS.sub("", fragment).strip().rstrip(".,;:") + "."
    return facts.judge_reference(
        statement, {title for mark, _, title in titles if mark in marks}
    )


def accuracy_of_marks(
    items: Sequence[Item], judged: Mapping[str, Verdicts]
) -> pd.DataFrame:
    """AMP, the share of marks in the right place (SearChain §4.3.4); ours: an unsure
    one is not.
    """
    by = ["dataset", "system", "judged_by"]
    rows = [
        (item.dataset, item.system, annotator, verdicts[item.id, number])
        for annotator, verdicts in judged.items()
        for item in items
        for number in range(item.facts)
        if (item.id, number) in verdicts
    ]
    table = pd.DataFrame(rows, columns=[*by, "verdict"])
    table = table.assign(
        AMP=table["verdict"] == "true", unsure=table["verdict"] == "unsure"
    )
    counted = {
        "AMP": ("AMP", "mean"),
        "marks": ("verdict", "size"),
        "unsure": ("unsure", "sum"),
    }
    return table.groupby(by, sort=False).agg(**counted).reset_index()
