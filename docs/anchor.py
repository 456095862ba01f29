"""The numbers of docs/results.md about a real model on real questions (bench/real_anchor.py)."""

from bench.real_anchor import ALL, AS_MANY, CLOSED, SHOWN, STEPWISE
from docs.pages import THREE, as_table, read
from ircotlib.datasets import find_dataset
from ircotlib.results.statistics import LEVEL


def anchor() -> dict:
    means, compared = read("real_anchor"), read("real_anchor_compared")
    measures = ["recall", "f1", "cover_em", "parsed"]
    cells = means.pivot(index=["system", "dataset"], columns="metric", values="mean")
    cells = cells[measures].map("{:.0f}".format).replace("nan", "–").agg(" / ".join, axis=1)
    cells = cells.unstack()[[*THREE, ALL]]
    collected = means[means["dataset"] == ALL].groupby("system")["paragraphs"].first()
    cells["paragraphs"] = [f"{collected[name]:.1f}" for name in cells.index]
    names = [*CLOSED, "OneR QA"]
    names += [name for step in STEPWISE for name in (step, AS_MANY + step)]
    rows = cells.loc[names].replace("nan", "–").reset_index().to_numpy()
    titles = [find_dataset(name).title for name in THREE]
    head = ["recall / F1 / cover-EM / parsed, %", *titles, "all", "paragraphs"]
    tests = []
    for row in compared.itertuples():
        gain = f"{row.difference:+.1f} ({row.low:+.1f} to {row.high:+.1f})"
        needed = "–" if row.needed != row.needed else f"{row.needed:,.0f}"
        p = "<.001" if row.p_holm < 0.001 else f"{row.p_holm:.3f}"
        counts = f"{row.wins} / {row.losses}"
        tests.append([row.metric, row.a, row.b, gain, counts, p, f"{row.detectable:.1f}", needed])
    told = ["measure", "a", "b", "a - b, points", "better / worse", "p, Holm", "could be found"]
    of_all = means[means["dataset"] == ALL].set_index(["metric", "system"])
    shown = of_all.loc[(SHOWN, "OneR QA")]
    wide = (of_all["high"] - of_all["low"]).groupby("metric").max().round().astype(int)
    rounded = [f"{shown[name]:.0f}" for name in ("mean", "low", "high")]
    return {
        "anchor size": [means["n"][means["dataset"] == THREE[0]].max(), *wide[measures[:3]]],
        "anchor": as_table(head, rows),
        "anchor compared": as_table([*told, "would decide"], tests),
        "anchor decided": [int((compared["p_holm"] < LEVEL).sum()), len(compared)],
        "anchor shown": [*rounded, int(shown["n"])],
    }
