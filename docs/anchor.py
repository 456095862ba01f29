"""The numbers of docs/results.md about a real model on real questions (bench/real_anchor.py)."""

import pandas as pd

from docs.pages import THREE, as_table, read
from ircotlib.datasets import find_dataset


def anchor() -> dict:
    means, rates = read("real_anchor"), read("real_anchor_rates")
    parsed, right = (rows for _, rows in rates.groupby(rates["rate"] != "replies parsed"))
    cells = pd.concat([means, parsed.assign(metric="parsed")]).pivot(
        index=["system", "dataset"], columns="metric", values="mean"
    )
    cells = cells[["recall", "f1", "cover_em", "parsed"]].map("{:.0f}".format).replace("nan", "–")
    systems = list(dict.fromkeys([*parsed["system"], *means["system"]]))
    cells = cells.agg(" / ".join, axis=1).unstack().loc[systems, [*THREE]]
    text = "{0.mean:.0f} ({0.low:.0f} to {0.high:.0f}), n = {0.n}".format
    right = right.assign(text=[text(row) for row in right.itertuples()])
    right = right.pivot(index=["rate", "system"], columns="dataset", values="text")
    right = right[[*THREE, "all"]].fillna("–").reset_index()
    titles = [find_dataset(name).title for name in THREE]
    head = ["recall / F1 / cover-EM / parsed, %", *titles]
    wide = (means["high"] - means["low"]).groupby(means["metric"]).max().round().astype(int)
    gains = read("real_anchor_differences").set_index(["metric", "system"])
    named = [("recall", "OneR QA, as many"), ("recall", "OneR QA"), ("f1", "OneR QA")]
    named += [("recall", "Self-Ask"), ("recall", "ReAct"), ("f1", "CoT")]
    ends = gains.loc[named, ["mean", "low", "high"]].to_numpy()
    return {
        "anchor gains": [f"{x:+.0f}" for x in ends.ravel()],
        "anchor size": [means["n"].min(), *wide[["recall", "f1", "cover_em"]]],
        "anchor": as_table(head, cells.reset_index().to_numpy()),
        "anchor rates": as_table(["%", "", *titles, "all"], right.to_numpy()),
    }
