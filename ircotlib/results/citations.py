"""References in final contents, and whether each is in its place (SearChain §4.3.4, AMP)."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from ircotlib.data import Node, Question
from ircotlib.datasets.facts import Facts
from ircotlib.experiment.runs import find_paragraph
from ircotlib.parameters import Parameters
from ircotlib.results.factuality import Item, draw_questions, name_item
from ircotlib.results.runs import find_runs
from ircotlib.retrieval.corpus import Corpus
from ircotlib.systems.searchain.chain import CITATION, citations

MARKS = re.compile(rf"{CITATION.pattern}(?: ?{CITATION.pattern})*[.,;:]?")


def read_references(
    p: Parameters, experiment: str = "11_searchain", systems: Sequence[str] = ()
) -> list[Item]:
    """The final contents with references of an experiment's test runs, for `p.judged` questions of
    each data set, in random order (SearChain §4.3.4). Their sentences are fragments that end with
    marks, to be judged, and the text after the last mark. `systems`: by name; empty: all.
    """
    items = []
    for folder, about in find_runs(p, experiment).items():
        system = about["system"]
        if systems and system not in systems:
            continue
        for question, row, corpus in draw_questions(p, folder, about):
            nodes = [Node(**fields) for fields in row["nodes"]]
            if item := make_item(system, question, row["reading"], nodes, corpus):
                items.append(item)
    random.Random(f"order {p.seed}").shuffle(items)
    return items


def make_item(
    system: str, question: Question, final: str, nodes: Sequence[Node], corpus: Corpus
) -> Item | None:
    """A final content with its passages, with marks in their titles; None if it has no mark."""
    passages = {node.mark: node.passage for node in nodes if node.mark and node.passage}
    fragments, rest = cut_after_marks(final, passages)
    if not fragments:
        return None
    marked = []
    for mark, id in sorted(passages.items()):
        passage = find_paragraph(id, question, corpus)
        marked.append(replace(passage, title=f"[{mark}] {passage.title}"))
    texts = (*fragments, rest) if rest else tuple(fragments)
    gold = (find_paragraph(id, question, corpus) for id in question.gold)
    id = name_item(question, system, f"references: {final}")
    paragraphs = tuple(marked), tuple(gold)
    return Item(id, question.dataset, system, question, texts, *paragraphs, len(fragments))


def cut_after_marks(final: str, passages: Mapping[int, str]) -> tuple[list[str], str]:
    """Cut a text after each group of marks, except those of no passage; also return the rest."""
    fragments = []
    begin = 0
    for marks in MARKS.finditer(final):
        if not passages.keys().isdisjoint(map(int, re.findall(r"\d+", marks[0]))):
            fragments.append(final[begin : marks.end()].strip())
            begin = marks.end()
    return fragments, final[begin:].strip()


def judge_reference(item: Item, number: int, facts: Facts) -> str:
    """The verdict on a fragment's marks by a judge that knows the facts: "true" if the page of the
    fact that it states is marked, "unsure" if no fact can be read in it, else "false".
    """
    fragment = item.sentences[number]
    marks = {f"[{mark}]" for group in citations(fragment) for mark in group}
    titles = [paragraph.title.partition(" ") for paragraph in item.retrieved]
    statement = MARKS.sub("", fragment).strip().rstrip(".,;:") + "."
    return facts.judge_reference(statement, {title for mark, _, title in titles if mark in marks})


def accuracy_of_marks(
    items: Sequence[Item], judged: Mapping[str, Mapping[tuple[str, int], str]]
) -> pd.DataFrame:
    """AMP, the share of marks in the right place, from 0 to 1, for each data set, system and
    annotator (SearChain Table 5); unsure ones are not in it (ours: the paper does not say).
    """
    rows = []
    for annotator, verdicts in judged.items():
        for item in items:
            named = {"dataset": item.dataset, "system": item.system, "judged_by": annotator}
            of_item = [verdicts.get((item.id, number)) for number in range(item.facts)]
            rows += [named | {"verdict": verdict} for verdict in of_item if verdict is not None]
    table = pd.DataFrame(rows, columns=["dataset", "system", "judged_by", "verdict"])
    # right or wrong, and the mean over marks: from 0 to 1, as SearChain §4.3.4 defines it
    table = table.assign(AMP=table["verdict"] == "true", unsure=table["verdict"] == "unsure")
    groups = table.groupby(["dataset", "system", "judged_by"], sort=False)
    counted = {"AMP": ("AMP", "mean"), "marks": ("verdict", "size"), "unsure": ("unsure", "sum")}
    return groups.agg(**counted).reset_index()
