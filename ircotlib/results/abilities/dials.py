"""How the score of a system depends on each ability of the reader and of the retriever, and which
system is ahead.
"""

import itertools

import numpy as np
import pandas as pd

from ircotlib.parameters import Parameters
from ircotlib.results.abilities.simulated_plays import SimulatedPlay, average, play_points
from ircotlib.results.statistics import resampled_means
from ircotlib.running.laboratory import open_laboratory
from ircotlib.systems import all_systems

# a reader of middling abilities; each panel changes one
BASE = {"knows": 0.5, "misreads": 0.1, "decomposes": 0.0, "makes_up": 0.5, "obeys": 1.0}
BASE |= {"breaks_form": 0.0, "extractor_misreads": 0.1, "coincide": 0.5}
STEPS = {"knows": (0, 0.15, 0.3, 0.5, 0.75, 1), "misreads": (0, 0.05, 0.1, 0.2, 0.3, 0.5)}
STEPS |= dict.fromkeys(("decomposes", "breaks_form", "extractor_misreads"), (0, 0.1, 0.3, 0.5))
STEPS |= dict.fromkeys(("makes_up", "obeys", "coincide"), (0, 0.5, 1))
STEPS = {dial: STEPS[dial] for dial in BASE}
# with a K that costs a perfect reader nothing (ceilings.play_settings)
SYSTEMS = {"CoT": {}, "OneR QA": {"k": 15}, "Self-Ask": {}, "IRCoT QA": {"k": 4}}
SYSTEMS |= {"DSP": {}, "SearChain": {}}
DATASETS = ("musique", "hotpotqa", "strategyqa")  # up to four steps, two, and yes or no
SHARES = (0, 0.2, 0.4, 0.6, 0.8)
RETRIEVAL = {"K": (1, 2, 4, 8, 15), "misses": SHARES, "distractors": SHARES}
RETRIEVAL["pages"] = (300, 600, 1200, 2400)
# of the retriever in the other panels; K: see SYSTEMS
RETRIEVAL_BASE = {"misses": 0, "distractors": 0, "pages": 2400}


def play_dials(p: Parameters) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The mean of each system on DATASETS, for each dial (`panel`) at each of its STEPS (`x`), with
    the other dials at BASE (`at`: the dial's own), and where lines cross (`find_crossings`).
    """
    points = []
    for dial, values in STEPS.items():
        for value, system, dataset in itertools.product(values, SYSTEMS, DATASETS):
            play = SimulatedPlay(dataset, system, BASE | {dial: value}, SYSTEMS[system])
            points.append(({"panel": dial, "at": BASE[dial], "x": value}, play))
    scores = play_points(p, points)
    return average(scores, "panel", "at", "x", "system"), find_crossings(scores)


def play_retrieval(p: Parameters) -> pd.DataFrame:
    """The mean of each system against four properties of the retrieval (`panel`), with the reader
    of BASE. `x`: K of systems that have it; the share of queries whose best paragraph is missed;
    the share of places with irrelevant paragraphs; the pages of the encyclopedia.
    """
    points = []
    for panel, values in RETRIEVAL.items():
        for x in values:
            label = {"panel": panel, "at": RETRIEVAL_BASE.get(panel), "x": x}
            in_world = panel == "pages"
            changes = {"data_dir": str(open_laboratory(x)), "corpus": "pooled"} if in_world else {}
            errors = {panel: x} if panel in ("misses", "distractors") and x else {}
            for (name, setting), dataset in itertools.product(SYSTEMS.items(), DATASETS):
                if panel == "K" and all_systems()[name].takes("k"):
                    setting = setting | {"k": x}
                play = SimulatedPlay(dataset, name, BASE, setting, changes, retrieval=errors)
                points.append((label, play))
    return average(play_points(p, points), "panel", "at", "x", "system")


def find_crossings(scores: pd.DataFrame) -> pd.DataFrame:
    """Where the lines of two systems cross by more than chance: the first is ahead at one step and
    behind at a later one, both with a 95% interval of the paired difference on one side of 0.
    Columns panel, ahead, behind (before the crossing), x and y (percent) of the crossing, and
    `leads`: whether no other system is higher there, so that the crossing changes the lead.
    """
    rows = []
    for panel, of_panel in scores.groupby("panel", sort=False):
        table = 100 * of_panel.pivot_table("score", ["dataset", "id"], ["system", "x"], sort=False)
        lines = table.mean().unstack("system").sort_index()
        for a, b in itertools.combinations(lines, 2):
            differences = (table[a] - table[b])[lines.index].to_numpy()
            low, high = np.percentile(resampled_means(differences), [2.5, 97.5], axis=0)
            signs = (low > 0).astype(int) - (high < 0)
            for start, end in itertools.pairwise(np.flatnonzero(signs)):
                if signs[start] == -signs[end]:
                    x, y = _cross(lines[a], lines[b], start, end)
                    highest = max(np.interp(x, lines.index, lines[name]) for name in lines)
                    names = (a, b) if signs[start] > 0 else (b, a)
                    rows.append((panel, *names, round(x, 3), round(y, 2), highest < y + 1e-6))
    return pd.DataFrame(rows, columns=["panel", "ahead", "behind", "x", "y", "leads"])


def _cross(a: pd.Series, b: pd.Series, start: int, end: int) -> tuple[float, float]:
    """Where two lines through points at the same x cross, between the points `start` and `end`."""
    gap, x = (a - b).to_numpy(), a.index
    n = next(n for n in range(start, end) if gap[n] * gap[n + 1] <= 0 and gap[n] != gap[n + 1])
    share = gap[n] / (gap[n] - gap[n + 1])
    y = a.iloc[n] + share * (a.iloc[n + 1] - a.iloc[n])
    return float(x[n] + share * (x[n + 1] - x[n])), float(y)
