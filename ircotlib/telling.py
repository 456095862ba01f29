"""Questions whose trees of reasoning best show what SearChain does, chosen by a rule (ours: the
paper does not say how the cases of its Figures 4 to 9 were chosen).
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from ircotlib.data import Node


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
