"""References in final contents, and judgements whether each is in the right place (SearChain
§4.3.4, Table 5, AMP). `annotate_box.references_box` shows them to people.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from ircot_laboratory.judge.facts import Entities, read_facts, value_of
from ircotlib.data import Node, Question, read_jsonl
from ircotlib.parameters import Parameters
from ircotlib.results.analysis import find_runs
from ircotlib.results.factuality import Item, name_item
from ircotlib.running.folder import read_about
from ircotlib.running.setup import open_dataset
from ircotlib.systems.searchain.chain import CITATION, citations

MARKS = re.compile(rf"{CITATION.pattern}(?: ?{CITATION.pattern})*[.,;:]?")


def read_references(p: Parameters, experiment: str = "11_searchain") -> list[Item]:
    """The final contents with references of an experiment's test runs, for `p.judged` questions of
    each data set, in random order (SearChain §4.3.4).

    Each is cut into fragments that end with their marks. These are judged; text after the last mark
    is not. `retrieved` has the passages, with their marks in their titles.
    """
    folders = find_runs(p, experiment)
    items = [item for folder in folders for item in _read_run(p, folder)]
    random.Random(f"order {p.seed}").shuffle(items)
    return items


def _read_run(p: Parameters, folder: Path) -> Iterator[Item]:
    about = read_about(folder)
    _, test, retriever = open_dataset(p, about["dataset"])
    drawn = random.Random(f"questions {p.seed}").sample(test, min(p.judged, len(test)))
    rows = {row["id"]: row for row in read_jsonl(folder / "predictions.jsonl")}
    for question in drawn:
        row = rows[question.id]
        nodes = [Node(**node) for node in row["nodes"]]
        if item := make_item(about["system"], question, row["reading"], nodes, retriever.corpus):
            yield item


def make_item(
    system: str, question: Question, final: str, nodes: Sequence[Node], corpus
) -> Item | None:
    """A final content with the passages that its marks may refer to; None if it has no mark."""
    passages = {node.mark: node.passage for node in nodes if node.mark and node.passage}
    marked, rest = fragments(final, passages)
    if not marked:
        return None
    main = question.passage
    shown = []
    for mark, id in sorted(passages.items()):
        passage = main if main and main.id == id else corpus.find(id)
        shown.append(replace(passage, title=f"[{mark}] {passage.title}"))
    gold = tuple(corpus.find(id) for id in question.gold)
    texts = (*marked, rest) if rest else tuple(marked)
    id = name_item(question, system, f"references: {final}")
    return Item(id, question.dataset, system, question, texts, tuple(shown), gold, len(marked))


def fragments(final: str, passages: Mapping[int, str]) -> tuple[list[str], str]:
    """Split a final content after each group of marks; return the parts, and the text after the
    last mark. Marks that belong to no passage do not end a part.
    """
    parts, begun = [], 0
    for found in MARKS.finditer(final):
        if not passages.keys().isdisjoint(map(int, re.findall(r"\d+", found[0]))):
            parts.append(final[begun : found.end()].strip())
            begun = found.end()
    return parts, final[begun:].strip()


def judge_reference(item: Item, number: int, entities: Entities) -> str:
    """The verdict on a fragment's marks by a judge that knows the laboratory's facts: "true" if the
    fragment states a fact and the page of that fact is marked, "unsure" if no fact can be read in
    it, else "false".
    """
    fragment = item.sentences[number]
    said = MARKS.sub("", fragment).strip().rstrip(".,;:") + "."
    readings = read_facts(said)
    marks = {f"[{mark}]" for group in citations(fragment) for mark in group}
    pages = {
        title
        for mark, _, title in (p.title.partition(" ") for p in item.retrieved)
        if mark in marks
    }
    right = [one for one in readings if value_of(one.subject, one.relation, entities) == one.value]
    if not readings:
        return "unsure"
    return "true" if any(one.subject in pages for one in right) else "false"


def accuracy_of_marks(
    items: Sequence[Item], judged: Mapping[str, Mapping[tuple[str, int], str]]
) -> pd.DataFrame:
    """AMP, the share of marks in the right place, from 0 to 1, for each data set, system and
    annotator, with the numbers of marks judged and of unsure ones (SearChain Table 5).

    An unsure mark counts as not in the right place (ours: the paper does not say).
    """
    rows = [
        {"dataset": item.dataset, "system": item.system, "judged_by": who, "said": verdicts[place]}
        for who, verdicts in judged.items()
        for item in items
        for place in ((item.id, number) for number in range(item.facts))
        if place in verdicts
    ]
    table = pd.DataFrame(rows, columns=["dataset", "system", "judged_by", "said"])
    table = table.assign(AMP=table["said"] == "true", unsure=table["said"] == "unsure")
    groups = table.groupby(["dataset", "system", "judged_by"], sort=False)
    counted = {"AMP": ("AMP", "mean"), "marks": ("said", "size"), "unsure": ("unsure", "sum")}
    return groups.agg(**counted).reset_index()
