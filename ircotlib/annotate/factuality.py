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
from ircotlib.experiment.setup import open_corpus
from ircotlib.experiment.stored import find_paragraph
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
REPORTED = {"hotpotqa": 50, "2wikimultihopqa": 40}  # that reduction, GPT3 (IRCoT §5)
BY = ["dataset", "system"]
COLUMNS = [*BY, "metric", "mean", "low", "high", "n", "unsure", "judged_by", "reported"]
MARKS = re.compile(rf"{CITATIONS.pattern}[.,;:]?")
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
    retrieved: tuple[Paragraph, ...]
    gold: tuple[Paragraph, ...]
    facts: int  # how many sentences are judged, from the first


# a text, its fragments, the paragraphs that it read, and how many fragments are judged
Written = tuple[str, tuple[str, ...], tuple[Paragraph, ...], int]
Read = Callable[[dict, dict, Callable], Written | None]  # from run.json, a prediction


def read_items(p: Parameters) -> list[Item]:
    """The chains of 04_ircot's test runs, first demonstration set (IRCoT §5)."""

    def read(about: dict, row: dict, find: Callable) -> Written | None:
        system = all_systems().get(about["system"])
        # the chain that the answer comes from: for GPT3 the reader's (IRCoT App. E)
        chain = chain_of(row["reading"], row["thoughts"], p.reader)
        other_set = about["setting"].get("demonstration_set")
        if system is None or system.tuned_by != ANSWER or not chain or other_set:
            return None
        texts = tuple(sentences(chain))
        # judged are those before the one that gives the answer (IRCoT §5)
        answers = [n for n, text in enumerate(texts) if gives_answer(text)]
        facts = min(answers, default=len(texts))
        return chain, texts, tuple(map(find, row["paragraphs"])), facts

    return draw_items(p, "04_ircot", read)


def chain_of(reading: str, thoughts: Sequence[str], reader: str) -> str:
    """The chain behind an answer: the reader's, else the retrieval's, else ""."""
    return reading if reader == "cot" and reading else " ".join(thoughts)


def draw_items(p: Parameters, experiment: str, read: Read) -> list[Item]:
    """The texts to judge from an experiment's test runs, in random order: of `p.judged`
    questions of each data set (40 in IRCoT §5), the same ones for each system.
    """
    items = []
    for folder, about in find_runs(p, experiment).items():
        rows = {row["id"]: row for row in read_jsonl(folder / "predictions.jsonl")}
        dataset, system = about["dataset"], about["system"]
        _, test, corpus = open_corpus(p, dataset)
        draw = random.Random(f"questions {p.seed}")
        for question in draw.sample(test, min(p.judged, len(test))):
            find = partial(find_paragraph, question=question, corpus=corpus)
            written = read(about, rows[question.id], find)
            if written is None:
                continue
            text, texts, retrieved, facts = written
            named = json.dumps([dataset, question.id, system, text])
            id = blake2b(named.encode(), digest_size=6).hexdigest()
            found = texts, retrieved, tuple(map(find, question.gold)), facts
            items.append(Item(id, dataset, system, question, *found))
    random.Random(f"order {p.seed}").shuffle(items)
    return items


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


def read_references(
    p: Parameters, experiment: str = "05_searchain", systems: Sequence[str] = ()
) -> list[Item]:
    """The final contents with references of an experiment's test runs (`draw_items`),
    cut into fragments that end with marks, and the rest (SearChain §4.3.4).
    """

    def read(about: dict, row: dict, find: Callable) -> Written | None:
        if systems and about["system"] not in systems:
            return None
        passages = {node["mark"]: node["passage"] for node in row["nodes"]}
        marks = [mark for mark in sorted(passages) if mark and passages[mark]]
        fragments, rest = cut_after_marks(row["reading"], marks)
        if not fragments:
            return None
        pages = []
        for mark in marks:
            page = find(passages[mark])
            pages.append(replace(page, title=f"[{mark}] {page.title}"))
        texts = (*fragments, rest) if rest else tuple(fragments)
        return f"references: {row['reading']}", texts, tuple(pages), len(fragments)

    return draw_items(p, experiment, read)


def cut_after_marks(final: str, passages: Container[int]) -> tuple[list[str], str]:
    """Cut a text after each group of marks with a passage; also return the rest.

    >>> cut_after_marks("Oslo is old [1]. It is big [7]. So it is Oslo [2].", {1, 2})
    (['Oslo is old [1].', 'It is big [7]. So it is Oslo [2].'], '')
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
    marked = {title for mark, _, title in titles if mark in marks}
    statement = MARKS.sub("", fragment).strip().rstrip(".,;:") + "."
    return facts.judge_reference(statement, marked)


def accuracy_of_marks(
    items: Sequence[Item], judged: Mapping[str, Verdicts]
) -> pd.DataFrame:
    """AMP: the share of marks that are "true", in their place (SearChain §4.3.4)."""
    rows = [
        (item.dataset, item.system, annotator, verdicts[item.id, number])
        for annotator, verdicts in judged.items()
        for item in items
        for number in range(item.facts)
        if (item.id, number) in verdicts
    ]
    table = pd.DataFrame(rows, columns=[*BY, "judged_by", "verdict"])
    table["AMP"] = table["verdict"] == "true"
    table["unsure"] = table["verdict"] == "unsure"
    groups = table.assign(marks=1).groupby([*BY, "judged_by"], sort=False)
    return groups.agg({"AMP": "mean", "marks": "sum", "unsure": "sum"}).reset_index()
