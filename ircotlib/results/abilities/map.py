"""Which system answers best with which reader: all systems of a map, over how much a reader knows
and how often it misreads.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import pandas as pd

from ircotlib.parameters import Parameters
from ircotlib.results.abilities.simulated_plays import SimulatedPlay, play_points
from ircotlib.results.statistics import LEVEL, p_against

# the rivals, with their settings; K is IRCoT's best on MuSiQue
SYSTEMS = {"IRCoT QA": {"k": 4}, "SearChain": {}, "Self-Ask": {}, "DSP": {}, "CoT": {}}
CLOSED = ("CoT",)  # these read nothing
LESS = SYSTEMS | {"SearChain w/o Verification": {}}
COARSE = (0, 0.45, 0.9), (0, 0.2, 0.4)


class View(NamedTuple):
    """A map of a data set: its cells are readers that know a share of all facts (to the right) and
    misread a share of those in passages (upwards); steps are equal. View("a", knows=(0, 0.5, 1),
    misreads=(0, 0.1)) has six cells.

    `extractor`: how often the extractive reader misreads; None: as often as the model, half of the
    time the same fact. `dials`: other dials of all its readers, such as {"makes_up": 1.0}.
    `systems`: who is played, with keywords of its program.
    """

    name: str
    dataset: str = "musique"
    knows: Sequence[float] = COARSE[0]
    misreads: Sequence[float] = COARSE[1]
    extractor: float | None = None
    dials: Mapping[str, float] = {}
    systems: Mapping[str, Mapping] = SYSTEMS


FINE = (0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9), (0, 0.1, 0.2, 0.3, 0.4, 0.5)
VIEWS = (
    View("MuSiQue", knows=FINE[0], misreads=FINE[1]),
    View("extractor without error", extractor=0.0),
    View("SearChain also w/o Verification", systems=LESS),
    View("the same, makes up what it lacks", dials={"makes_up": 1.0}, systems=LESS),
    View("obeys half of the passages", dials={"obeys": 0.5}),
    View("HotpotQA", "hotpotqa"),
    View("2WikiMultihopQA", "2wikimultihopqa"),
)


def map_systems(p: Parameters, views: Sequence[View] = VIEWS) -> pd.DataFrame:
    """Play the systems of each view with all of its readers.

    Return one row per view (`map`), reader and system: its mean score in percent, how far it is
    `behind` the best in points, and the p-value of that paired difference, corrected for all
    systems of the cell (Holm). `leads`: whether no system is surely better (p is not below 0.05).
    """
    points = []
    for view in views:
        for misreads, knows in product(view.misreads, view.knows):
            label = {"map": view.name, "knows": knows, "misreads": misreads}
            alike = view.extractor is None
            errors = {"misreads": misreads, "coincide": 0.5 if alike else 0.0}
            errors["extractor_misreads"] = misreads if alike else view.extractor
            for system, setting in view.systems.items():
                dials = {"knows": knows} | ({} if system in CLOSED else errors) | dict(view.dials)
                points.append((label, SimulatedPlay(view.dataset, system, dials, setting)))
    keys = ["map", "dataset", "knows", "misreads"]
    tables = []
    for cell, rows in play_points(p, points).groupby(keys, sort=False):
        scores = rows.pivot(index="id", columns="system", values="score")[rows["system"].unique()]
        means = 100 * scores.mean()
        best = means.idxmax()
        p_best = p_against(scores, best).reindex(means.index, fill_value=1.0)
        table = dict(zip(keys, cell, strict=True)) | {"system": means.index}
        table |= {"metric": rows["metric"].iloc[0], "n": len(scores), "mean": means}
        table |= {"behind": means[best] - means, "p": p_best, "leads": p_best >= LEVEL}
        tables.append(pd.DataFrame(table))
    return pd.concat(tables, ignore_index=True).round({"mean": 2, "behind": 2, "p": 4})
