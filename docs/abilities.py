"""The numbers of docs/abilities.md, and of pages that sum it up."""

import json

import pandas as pd
from ircotlib.results.abilities import predictions as way
from ircotlib.results.abilities.map import ALIKE, STEP_BY_STEP
from ircotlib.results.abilities.predictions import share, share_of_all
from ircotlib.results.abilities.simulation import MANY

from docs.pages import as_table, read
from ircotlib.files.paths import MODELS
from ircotlib.results.statistics import LEVEL

STEPS = [*STEP_BY_STEP, *ALIKE]  # systems that read every step


def abilities() -> dict:
    return predicted() | probed() | mapped() | dialled() | weighed()


def predicted() -> dict:
    """How well the simulated reader predicts."""
    table = read("abilities_predicted_readers")
    found = way.compare_predictions(table)
    shown = found.assign(order=found["order"].map("{:.2f}".format))
    for name, digits in (("levels", 1), ("differences", 1), ("leads", 0)):
        shown[name] = found[name].map(f"{{:.{digits}f}}".format)
    shown = shown.replace("nan", "–").set_index(["reader", "systems", "prediction"]).sort_index()
    columns = ["differences", "leads", "order", "levels"]
    of_all = [shown.loc["all", systems] for systems in (MANY, "all")]
    rows = [[name, *(x for part in of_all for x in part.loc[name, columns])] for name in way.WAYS]
    many = found[found["systems"] == MANY].set_index(["reader", "prediction"])
    told, mean = (many.loc["all"].loc[name] for name in ([way.ONE, way.BY_STAGE], way.CLASS_MEAN))
    better = told["differences"].lt(mean["differences"]) & told["p"].lt(LEVEL)
    does = "better" if better.any() else "no better"
    off = [f"{told.loc[name, 'differences']:.1f}" for name in (way.ONE, way.BY_STAGE)]
    said = f"differences between them {does} than the mean of their class, which sees none"
    by_reader = []
    for reader in many.index.unique("reader")[1:]:
        of_one = shown.loc[reader, MANY]
        off_by = [of_one.loc[name, "differences"] for name in (way.CLASS_MEAN, way.ONE)]
        p = f"{many.loc[(reader, way.ONE), 'p']:.3f}"
        by_reader.append([reader, *off_by, p, of_one.loc[way.ONE, "leads"]])
    head = ["reader", "none predicted", "one rate", "p", "leads, one rate"]
    errors = (table[way.ONE] - table["measured"])[table["class"] == MANY]
    worst = errors.groupby(table["system"]).mean().sort_values(key=abs, ascending=False)[:3]
    lead = table[table["system"].isin(["SearChain", "IRCoT QA"])].pivot_table(
        index="reader", columns="system", values=[way.ONE, way.BY_STAGE, "measured"]
    )
    leads = []
    for reader, row in lead.iterrows():
        ahead = [row[c, "SearChain"] - row[c, "IRCoT QA"] for c in (*told.index, "measured")]
        leads.append(f"{reader}: {', '.join(f'{x:+.0f}' for x in ahead)}")
    size = [table[name].nunique() for name in ("reader", "system", "dataset")]
    return {
        "predictions": as_table(["", *columns, *(f"all: {name}" for name in columns)], rows),
        "predicted": [*size, table["n"].min()],
        "predicted finding": f"{said}: off by {off[0]} points with one rate, by {off[1]} with "
        f"rates by stage, and by {mean['differences']:.1f} if none is predicted",
        "predicted briefly": f"{does} than to predict none",
        "predicted readers": as_table(head, by_reader),
        "predicted worst": ", ".join(f"{name} by {x:+.0f}" for name, x in worst.items()),
        "predicted lead": "; ".join(leads),
    }


def probed() -> dict:
    """What probes say of each reader, and what it scored."""
    measured = read("abilities_measured").groupby("reader")["measured"].mean()
    rows, asks = [], {}
    for reader in read("abilities_measured")["reader"].unique():
        found = json.loads((MODELS / reader / way.PROBES).read_text(encoding="utf-8"))
        rates = [share_of_all(found[kind]) for kind in ("knows", "reads", "asks")]
        shares = [rates[0], 1 - rates[1], 1 - rates[2]]
        rows.append([reader, *(f"{100 * x:.0f}" for x in shares), f"{measured[reader]:.0f}"])
        asks[reader] = found["asks"]
    head = ["reader", "knows, %", "misreads, %", "asks for something else, %", "mean score, %"]
    wrong = [
        f"{100 * (1 - share(asks['agent'][stage])):.0f}"
        for stage in ("searchain/chain", "self_ask/ask", "react/act", "ircot/cot")
    ]
    return {"probes": as_table(head, rows), "asks wrong": wrong}


def mapped() -> dict:
    """A reader that knows much and misreads much, and how many cells of each map read each step."""
    table = read("abilities_map_fine")
    maps = list(dict.fromkeys(table["map"]))
    cell = table[(table["knows"] == 0.6) & (table["misreads"] == 0.3)]
    means = cell.pivot(index="map", columns="system", values="mean")
    named = ["IRCoT QA", "SearChain", "SearChain w/o Verification", "DSP", "CoT"]
    keys = ["map", "knows", "misreads"]
    best = table.loc[table.groupby(keys)["mean"].idxmax()]
    steps = best[best["system"] == "IRCoT QA"].groupby("map").size().reindex(maps, fill_value=0)
    lost = table.pivot(index=keys, columns="system", values="mean")
    lost = (lost.max(axis=1) - lost["IRCoT QA"]).groupby("map").max()
    numbers = [f"{means.loc[name, system]:.0f}" for name in maps for system in named]
    half = (table["high"] - table["low"]).max() / 2
    return {
        "map cell": numbers,
        "map regions": [x for name in maps for x in (steps[name], f"{lost[name]:.0f}")],
        "map size": [int(table["n"].iloc[0]), f"{half:.0f}"],
    }


def dialled() -> dict:
    """What single dials cost."""
    table = read("abilities_dials")
    gain = table.set_index(["change", "system"])["gain"]
    before = table.groupby("system")["before"].first()[STEPS]

    def of(change: str, *systems: str) -> list[str]:
        [name] = [n for n in table["change"].unique() if n.startswith(change)]
        return [f"{gain[name, system]:+.0f}" for system in systems]

    ends = [f"{before.min():.0f}", f"{before.max():.0f}"]
    return {
        "steps alike": ends,
        "dial misreads": of("misreads", "IRCoT QA", "Self-Ask", "DSP", "SearChain", "CoT"),
        "dial plans": [
            *of("misplans", "SearChain", "IRCoT QA"),
            *of("wanders", "SearChain", "IRCoT QA"),
        ],
        "dial extractor": [
            *of("extractor_misreads", "SearChain"),
            *of("reads by", "Self-Ask", "IRCoT QA"),
        ],
        "dial form": of("breaks_form", "DecomP", "SearChain", "IRCoT QA"),
        "dial retriever": [
            *of("retriever misses", "IRCoT QA", "Self-Ask", "SearChain"),
            *of("retriever distractors", "IRCoT QA", "Self-Ask", "SearChain"),
        ],
        "dials size": [table["n"].iloc[0]],
    }


def weighed() -> dict:
    """What parts of systems add for the readers tried, and what perfect readers answer."""
    table = read("abilities_parts")
    again = table[table["part"] == "IRCoT QA: retrieval after the first"].sort_values("gain")
    gained, lost = again[again["low"] > 0], again[again["high"] < 0]
    rows = table.set_index(["part", "reader", "temper"])["gain"]
    perfect = "knows nothing, reads all"
    ceilings = read("abilities_ceilings").set_index(["system", "dataset"])
    equal = ceilings.loc[[*STEPS, "SearChain"]].sort_values("mean").iloc[0]
    two = [
        f"{rows['SearChain: ' + part, perfect, temper]:+.0f}"
        for temper in ("says so", "makes it up")
        for part in ("completion", "verification")
    ]
    return {
        "again": [
            len(gained),
            len(again),
            *signed(gained.iloc[-1]),
            len(lost),
            *signed(again.iloc[0]),
        ],
        "two parts": two,
        "k": [f"{rows['IRCoT QA: K = 4, not 8', perfect, 'says so']:.0f}"],
        "equal": [f"{equal['mean']:.0f}", f"{equal['low']:.0f}", f"{equal['high']:.0f}"],
    }


def signed(row: pd.Series) -> list[str]:
    return [f"{row[name]:+.0f}" for name in ("gain", "low", "high")]
