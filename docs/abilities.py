"""The numbers of docs/abilities.md and 15_abilities."""

import pandas as pd

from docs.pages import as_table, read
from ircot_laboratory.teachers.trees import WRONG
from ircotlib.results.abilities import fit, parts

EQUAL = ["IRCoT QA", "DecomP", "SearChain", "Self-Ask"]
JUDGES = ["Self-Ask", "Tree-of-Thought w/ IR"]
# they may search more than once, but are counted as "one retrieval"
BETWEEN = ["SearChain w/o Completion", "SearChain w/o Verification"]
BETWEEN += ["Plan-and-Solve w/ IR", "Verify-and-Edit"]
WAYS = {fit.ONE: "simulated, one rate of misreading for all stages, as on the map"}
WAYS |= {fit.BY_STAGE: "simulated, a rate for each stage"}
WAYS |= {fit.CLASS_MEAN: "not simulated: the mean of the class"}
COLUMNS = {"correlation": "rank correlation", "absolute error": "mean absolute error"}
COLUMNS |= {"without chance": "root mean square error less chance"}
COLUMNS |= {f"{fit.STEPS}: correlation": "many steps: rank correlation of their means"}
COLUMNS |= {f"{fit.STEPS}: absolute error": "many steps: mean absolute error"}


def abilities() -> dict:
    return predicted() | parted() | worth() | {"hidden": [WRONG]}


def predicted() -> dict:
    agent = read("abilities_agent")
    between = agent["class"].mask(agent["system"].isin(BETWEEN), fit.STEPS)
    between = fit.compare_predictions(fit.add_class_mean(agent.assign(**{"class": between})))
    table = fit.compare_predictions(agent)
    numbers = table[[*COLUMNS]].map("{:.1f}".format)
    correlations = [name for name in COLUMNS if "correlation" in name]
    numbers[correlations] = table[correlations].map("{:.2f}".format)
    rows = numbers.assign(way=table["prediction"].map(WAYS)).replace("nan", "–")
    means = agent.groupby("system")[["measured", fit.ONE]].mean()
    leads = (means.loc["SearChain"] - means.loc["IRCoT QA"])[[fit.ONE, "measured"]]
    steps = agent[agent["class"] == fit.STEPS]["system"].nunique()
    counts = [agent[name].nunique() for name in ("system", "dataset")]
    [correlation, error], last = numbers.columns[:2], between.iloc[-1]
    return {
        "predictions": as_table(["", *COLUMNS.values()], rows[["way", *COLUMNS]].to_numpy()),
        "predicted": [*counts, agent["n"].min()],
        "predicted lead": [f"{x:.1f}" for x in leads],
        "predicted between": [f"{last[correlation]:.2f}", f"{last[error]:.1f}"],
        "predicted briefly": [*numbers[correlation], *numbers[error], numbers.iloc[0, -2], steps],
    }


def interval(row: pd.Series) -> list[str]:
    return [f"{row[name]:.0f}" for name in ("mean", "low", "high")]


def parted() -> dict:
    """How far perfect readers are equal, and what parts them."""
    ceilings = read("abilities_ceilings").set_index(["dataset", "system"])
    best = ceilings[ceilings.index.isin(EQUAL, level="system")].sort_values("mean")
    agent = read("head_to_head").query("retriever == 'BM25' and metric == 'cover_em'")
    agent = agent[agent["dataset"] == "fever"].set_index("system").loc[JUDGES]
    perfect = ceilings.loc["fever"].loc[JUDGES]
    changed = []
    for name, panel, x in (("dials", "breaks_form", 0.5), ("retrieval", "misses", 0.4)):
        table = read(f"abilities_{name}").query("panel == @panel and x == @x").set_index("system")
        changed += [number for s in ("IRCoT QA", "Self-Ask") for number in interval(table.loc[s])]
    settings = read("abilities_settings").query("panel == 'IRCoT QA: K' and dataset == 'musique'")
    return {
        "equal": [f"{x:.1f}" for x in best.iloc[0][["mean", "low", "high"]]] + [best["n"].min()],
        "parted": [*changed, table["n"].min()],
        "k": interval(settings.set_index("x").loc[8]) + [settings["n"].min()],
        "judged": [x for name in JUDGES for x in interval(agent.loc[name])]
        + [agent["n"].min(), f"{perfect['mean'].min():.0f}", perfect["n"].min()],
    }


def worth() -> dict:
    """What parts of systems are worth to the readers tried."""
    table = read("abilities_parts").sort_values("worth")
    part, says_so = table["part"], table["temper"] == "says so"
    again, [n] = table[part == "retrieval after the first"], table["n"].unique()
    gained, lost = (again[rows] for rows in (again["worth"] > 0, again["worth"] < 0))
    ends = [x for row in (gained.iloc[0], gained.iloc[-1], lost.iloc[0]) for x in signed(row)]
    gains = []
    for reader in ("knows little (20%), reads badly (70%)", "knows much (80%), reads badly (70%)"):
        rows = table[says_so & (table["reader"] == reader)].set_index("part")
        for name in (parts.EXTRACTING, parts.READING):
            gains += [f"{-rows.loc[name, x]:.0f}" for x in ("worth", "high", "low")]
    most = [table[part == name].iloc[-1] for name in ("completion", "verification")]
    return {
        "again": [len(gained), len(again), *ends[:6], len(lost), *ends[6:], n],
        "extractor": [*gains, n],
        "two parts": [x for row in most for x in signed(row)] + [n],
    }


def signed(row: pd.Series) -> list[str]:
    return [f"{row[name]:+.0f}" for name in ("worth", "low", "high")]
