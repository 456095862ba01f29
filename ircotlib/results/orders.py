"""Whether our order of systems is that of the papers."""

import numpy as np
import pandas as pd

from ircotlib.datasets import all_datasets
from ircotlib.results.runs import in_order

ABLATIONS = ("SearChain w/o Verification", "SearChain w/o Completion")


def agree_in_order(table: pd.DataFrame) -> pd.DataFrame:
    """How far our order of systems agrees with the paper's, by data set and measure, among all
    `systems`, those with retrieval and those without: Kendall's tau with its p-value, and how many
    pairs of systems are in the same order. SearChain's ablations are left out of the groups.
    """
    from scipy.stats import kendalltau

    rows = []
    known = table.dropna(subset="reported")
    # "w/o Verification" and "w/o Completion" are parts of one system (SearChain Table 1, below)
    groups = known[~known["system"].isin(ABLATIONS)]
    retrieve = groups["retrievals"].gt(0).map({True: "with retrieval", False: "without"})
    known = pd.concat([known.assign(among="all"), groups.assign(among=retrieve)])
    for (dataset, metric, among), systems in known.groupby(["dataset", "metric", "among"]):
        ours, theirs = systems["mean"].to_numpy(), systems["reported"].to_numpy()
        pairs = np.triu_indices(len(ours), 1)
        signs = [np.sign(x[:, None] - x[None, :])[pairs] for x in (ours, theirs)]
        tau, p = kendalltau(ours, theirs) if len(systems) > 2 else (np.nan, np.nan)
        row = {"dataset": dataset, "metric": metric, "among": among, "systems": len(systems)}
        row |= {"pairs": len(signs[0]), "same_order": int((signs[0] * signs[1] > 0).sum())}
        rows.append(row | {"tau": tau, "p": p})
    orders = pd.DataFrame(rows).round({"tau": 3, "p": 4})
    return in_order(orders, "dataset", all_datasets()) if rows else orders
