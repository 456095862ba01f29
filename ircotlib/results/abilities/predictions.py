"""Does the simulated reader predict how well a model plays each system? Its dials are set to what
probes of single facts say of readers (training/agent/probes.py), and its scores compared with what
the same readers then scored (bench/abilities.py).
"""

import json
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean

import pandas as pd

from ircotlib.files.paths import benchmark_table, resolve
from ircotlib.parameters import Parameters
from ircotlib.results.abilities.simulation import (
    CLASSES,
    MANY,
    Simulation,
    class_of,
    setting_of,
    simulate,
    simulated_systems,
)
from ircotlib.results.statistics import LEVEL, paired_p
from ircotlib.systems import System

PROBES = "probes.json"  # of a reader, in its folder
ONE, BY_STAGE = "simulated, one rate", "simulated, rates by stage"
CLASS_MEAN, ORDER = "mean of the class", "closed < one < many"
SYSTEM_MEAN = "mean over systems"
WAYS = (ONE, BY_STAGE, CLASS_MEAN, ORDER, SYSTEM_MEAN)
KEYS = ["reader", "dataset", "system"]
ADMITS = "searchain/chain"  # the stage that can leave a query unsolved
FEW = 20  # a stage with fewer probes has the rate of all
CLEAR = 10  # points by which one of two systems must be ahead for it to be clear who leads


def set_dials(
    probes: Mapping, system: System, dataset: str, by_stage: bool
) -> tuple[dict, dict[str, dict]]:
    """The dials of a reader for a system on a data set, and those of single stages, from its
    probes: what it knows and admits there, what it misreads, and how often it asks for something
    else, on average over all stages or, if `by_stage`, in those of the system.
    """
    own = [f"{system.module}/{stage}" for stage in system.stages]
    reads, asks = probes["reads"], probes["asks"]
    asked = {stage: asks[stage] for stage in own if stage in asks} if by_stage else asks
    knows = share(probes["knows"][dataset])
    admits = min(1.0, share(probes["admits"][dataset]) / (1 - knows)) if knows < 1 else 0.0
    wrong = 1 - share_of_all(asked or asks)
    dials = {"knows": knows, "makes_up": 1.0, "misplans": wrong, "wanders": wrong}
    dials |= {"misreads": 1 - share_of_all(reads)}
    stages = {ADMITS: {"makes_up": 1 - admits}}
    for stage, counts in reads.items() if by_stage else ():
        if counts[1] >= FEW:
            stages[stage] = stages.get(stage, {}) | {"misreads": 1 - share(counts)}
    return dials, stages


def share(counts: Sequence[int]) -> float:
    """The share of so many that are right."""
    right, n = counts
    return right / max(1, n)


def share_of_all(counts: Mapping[str, Sequence[int]]) -> float:
    """The share that is right of all that are counted by name."""
    return share([sum(column) for column in zip(*counts.values(), strict=True)])


def predict_readers(p: Parameters, folders: Sequence[str]) -> pd.DataFrame:
    """The scores that the simulated reader has with the dials of the readers in these folders, in
    percent: a row for each reader, data set of the head to head and system, a column for each of
    ONE and BY_STAGE.
    """
    points = []
    for folder in folders:
        probes = json.loads((Path(resolve(folder)) / PROBES).read_text(encoding="utf-8"))
        for dataset, system in product(p.head_to_head, simulated_systems()):
            for way in (ONE, BY_STAGE):
                dials, stages = set_dials(probes, system, dataset, way == BY_STAGE)
                label = {"reader": Path(folder).name, "way": way}
                about = dataset, system.name, dials, setting_of(p, system)
                points.append((label, Simulation(*about, stages=stages)))
    scores = simulate(p, points)
    means = 100 * scores.groupby([*KEYS, "way"], sort=False)["score"].mean()
    return means.unstack("way")[[ONE, BY_STAGE]].round(2).reset_index()


def read_predicted() -> pd.DataFrame:
    """What was predicted of each reader, and what it then scored, as bench/abilities.py has kept
    them: a row for each reader, data set and system, with its `class`, `n` questions and a column
    for each of WAYS.
    """
    predicted, measured = (
        pd.read_csv(benchmark_table(f"abilities_{name}")) for name in ("predicted", "measured")
    )
    table = measured.merge(predicted, on=KEYS)
    table["class"] = table["system"].map({s.name: class_of(s) for s in simulated_systems()})
    return add_baselines(table)


def add_baselines(table: pd.DataFrame) -> pd.DataFrame:
    """The table with what needs no simulation. CLASS_MEAN: in each row, the mean of what was
    measured for the reader's other systems of the same class on the same data set; SYSTEM_MEAN:
    that of all its other systems; ORDER: a rank, which predicts no level.
    """
    for way, keys in ((CLASS_MEAN, ["class"]), (SYSTEM_MEAN, [])):
        groups = table.groupby(["reader", "dataset", *keys])["measured"]
        others = groups.transform("sum") - table["measured"]
        table[way] = (others / (groups.transform("size") - 1)).round(2)
    order = [*dict.fromkeys(CLASSES.values())]
    return table.assign(**{ORDER: table["class"].map(order.index).astype(float)})


def pair_systems(table: pd.DataFrame) -> pd.DataFrame:
    """The differences between each two systems of one reader and data set, measured and predicted:
    how much more `a` has than `b`. No mean tells systems of one class apart, nor the mean over
    systems any.
    """
    both = table.merge(table, on=["reader", "dataset"], suffixes=("", "_b"))
    both = both[both["system"] < both["system_b"]].rename(columns={"system": "a", "system_b": "b"})
    for way in ("measured", *WAYS):
        both[way] = both[way] - both[f"{way}_b"]
    is_alike = both["class"] == both["class_b"]
    both = both.assign(**{SYSTEM_MEAN: 0.0, CLASS_MEAN: both[CLASS_MEAN].mask(is_alike, 0.0)})
    return both[["reader", "dataset", "a", "b", "measured", *WAYS]].reset_index(drop=True)


def compare_predictions(table: pd.DataFrame) -> pd.DataFrame:
    """How well each of WAYS predicts what was measured (`read_predicted`): of all systems and of
    those with MANY retrievals, for all readers together, and of these systems for each reader.

    `levels`: the mean absolute error of scores, in points. Between systems of one reader and data
    set: `differences`, the mean absolute error of theirs, with `p` of the exact paired test of that
    against CLASS_MEAN, over readers and data sets; `leads`: of the `pairs` that are CLEAR, in how
    many percent the one that leads was to lead (a tie counts half); `order`: the mean of Spearman's
    rank correlations, where a way tells systems of one class apart.
    """
    many = table[table["class"] == MANY]
    parts = [("all", "all", table), ("all", MANY, many)]
    parts += [(reader, MANY, some) for reader, some in many.groupby("reader", sort=False)]
    rows = []
    for reader, systems, some in parts:
        pairs, keys = pair_systems(some), ["reader", "dataset"]
        errors = pairs[[*WAYS]].sub(pairs["measured"], axis=0).abs()
        errors = errors.groupby([pairs[key] for key in keys]).mean()
        clear = pairs[pairs["measured"].abs() >= CLEAR]
        for way in WAYS:
            row = {"reader": reader, "systems": systems, "prediction": way, "pairs": len(clear)}
            if way != ORDER:
                row |= {"levels": (some[way] - some["measured"]).abs().mean()}
                row |= {"differences": errors[way].mean()}
                row |= {"p": paired_p(errors[way] - errors[CLASS_MEAN])}
            agree = (clear[way] * clear["measured"]).map(lambda x: 0.5 if x == 0 else float(x > 0))
            row |= {"leads": 100 * agree.mean()}
            if way in (ONE, BY_STAGE):
                groups = (group for _, group in some.groupby(keys))
                row |= {"order": fmean(g["measured"].corr(g[way], "spearman") for g in groups)}
            rows.append(row)
    return pd.DataFrame(rows).round({"levels": 2, "differences": 2, "leads": 1, "order": 2, "p": 4})


def conclude_predictions(predictions: pd.DataFrame) -> str:
    """Whether the simulated reader predicts differences between the systems that retrieve many
    times better than the mean of their class, which predicts none (`compare_predictions`).
    """
    many = predictions[predictions["systems"] == MANY].set_index(["reader", "prediction"])
    lines = []
    for reader in many.index.unique("reader"):
        none, one, stage = (many.loc[reader].loc[way] for way in (CLASS_MEAN, ONE, BY_STAGE))
        of = "all readers" if reader == "all" else reader
        said = f"{none['differences']:.1f} points if no difference is predicted"
        said += f", {one['differences']:.1f} with one rate, {stage['differences']:.1f} by stage"
        who = f"who leads is right in {one['leads']:.0f}% of {one['pairs']} clear pairs"
        lines.append(f"- {of}: {said}; {who} with one rate (p {one['p']:.3f})")
    told = many.loc["all"].loc[[ONE, BY_STAGE]]
    better = told["differences"].lt(many.loc["all"].loc[CLASS_MEAN, "differences"])
    does = "**better** than" if (better & told["p"].lt(LEVEL)).any() else "**no better** than"
    said = f"It predicts differences between them {does} the mean of their class, which sees none"
    return "\n".join([f"{said}. Mean error of a difference:", "", *lines])
