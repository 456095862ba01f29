"""Which system answers best with which reader: all systems of a map, over how much a reader knows
and how often it misreads.
"""

from collections.abc import Iterator, Mapping, Sequence
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
    """A map of a data set, with systems and their settings: the shares of facts known (to the
    right) and misread (upwards), each at equal distances. `extractor`: how often the extractive
    reader misreads; None: as often as the model, half of the time the same. `dials`: others that
    differ from perfect reading.
    """

    name: str
    dataset: str = "musique"
    knows: Sequence[float] = COARSE[0]
    misreads: Sequence[float] = COARSE[1]
    extractor: float | None = None
    dials: Mapping[str, float] = {}
    systems: Mapping[str, Mapping] = SYSTEMS

    def cells(self) -> Iterator[tuple[float, float, dict[str, float]]]:
        """Each share known and misread, with the reader's dials."""
        for misreads, knows in product(self.misreads, self.knows):
            extractor = misreads if self.extractor is None else self.extractor
            dials = {"knows": knows, "misreads": misreads, "extractor_misreads": extractor}
            dials["coincide"] = 0.5 if self.extractor is None else 0.0
            yield knows, misreads, dials | dict(self.dials)


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
        for knows, misreads, dials in view.cells():
            label = {"map": view.name, "knows": knows, "misreads": misreads}
            for system, setting in view.systems.items():
                met = dict(view.dials, knows=knows) if system in CLOSED else dials
                points.append((label, SimulatedPlay(view.dataset, system, met, setting)))
    tables = []
    keys = ["map", "dataset", "knows", "misreads"]
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
