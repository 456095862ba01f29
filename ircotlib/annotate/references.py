"""References in final contents, and whether each is in its place (SearChain §4.3.4, AMP)."""

import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from ircotlib.annotate.factuality import Item, Verdicts, draw_items
from ircotlib.datasets.facts import Facts
from ircotlib.parameters import Parameters
from ircotlib.systems.searchain import CITATIONS, citations

MARKS = re.compile(rf"{CITATIONS.pattern}[.,;:]?")


def read_references(
    p: Parameters, experiment: str = "05_searchain", systems: Sequence[str] = ()
) -> list[Item]:
    """The final contents with references of an experiment's test runs (`draw_items`; SearChain
    §4.3.4), cut into fragments that end with marks, and the text after the last mark.
    """

    def judged(about: Mapping, row: Mapping, find: Callable) -> tuple | None:
        passages = {node["mark"]: node["passage"] for node in row["nodes"]}
        passages = {mark: passages[mark] for mark in sorted(passages) if mark and passages[mark]}
        fragments, rest = cut_after_marks(row["reading"], passages)
        if not fragments or about["system"] not in (systems or [about["system"]]):
            return None
        read = [(mark, find(id)) for mark, id in passages.items()]
        read = tuple(replace(page, title=f"[{mark}] {page.title}") for mark, page in read)
        texts = *fragments, *([rest] if rest else [])
        return f"references: {row['reading']}", texts, read, len(fragments)

    return draw_items(p, experiment, judged)


def cut_after_marks(final: str, passages: Container[int]) -> tuple[list[str], str]:
    """Cut a text after each group of marks, except those of no passage; also return the rest."""
    fragments, begin = [], 0
    for marks in MARKS.finditer(final):
        if any(int(mark) in passages for mark in re.findall(r"\d+", marks[0])):
            fragments.append(final[begin : marks.end()].strip())
            begin = marks.end()
    return fragments, final[begin:].strip()


def judge_reference(item: Item, number: int, facts: Facts) -> str:
    """The verdict on a fragment's marks by a judge that knows the facts: "true" if the page of the
    fact is marked, "unsure" if no fact can be read.
    """
    fragment = item.sentences[number]
    marks = {f"[{mark}]" for group in citations(fragment) for mark in group}
    titles = [paragraph.title.partition(" ") for paragraph in item.retrieved]
    statement = MARKS.sub("", fragment).strip().rstrip(".,;:") + "."
    return facts.judge_reference(statement, {title for mark, _, title in titles if mark in marks})


def accuracy_of_marks(items: Sequence[Item], judged: Mapping[str, Verdicts]) -> pd.DataFrame:
    """AMP, the share of marks in the right place (SearChain §4.3.4, Table 5); an unsure one is not
    (ours: the paper does not say).
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
    table = table.assign(AMP=table["verdict"] == "true", unsure=table["verdict"] == "unsure")
    counted = {"AMP": ("AMP", "mean"), "marks": ("verdict", "size"), "unsure": ("unsure", "sum")}
    return table.groupby(by, sort=False).agg(**counted).reset_index()
