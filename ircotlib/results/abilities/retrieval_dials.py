"""How the score of a system depends on the retriever."""

import itertools

import pandas as pd

from ircotlib.parameters import Parameters
from ircotlib.results.abilities.dials import BASE, DATASETS, SYSTEMS
from ircotlib.results.abilities.simulated_plays import SimulatedPlay, average, play_points
from ircotlib.running.laboratory import open_laboratory
from ircotlib.systems import all_systems

SHARES = (0, 0.2, 0.4, 0.6, 0.8)
PANELS = {  # what is changed, and to what
    "K": (1, 2, 4, 8, 15),
    "misses": SHARES,
    "distractors": SHARES,
    "pages": (300, 600, 1200, 2400),
}
AT = {"misses": 0, "distractors": 0, "pages": 2400}  # in the other panels; K: see SYSTEMS


def play_retrieval(p: Parameters) -> pd.DataFrame:
    """The mean of each system against four properties of the retrieval (`panel`), with the reader
    of `dials.BASE`. `x`: K of systems that have it; the share of queries whose best paragraph is
    missed; the share of places with irrelevant paragraphs; the pages of the encyclopedia.
    """
    points, systems, worlds = [], all_systems(), {}
    for panel, values in PANELS.items():
        for x, (name, setting) in itertools.product(values, SYSTEMS.items()):
            retrieval = {panel: x} if panel in ("misses", "distractors") and x else {}
            if panel == "K":
                setting = setting | ({"k": x} if systems[name].takes("k") else {})
            if panel == "pages" and x not in worlds:
                worlds[x] = open_laboratory(x)
            other = {"data_dir": str(worlds[x]), "corpus": "pooled"} if panel == "pages" else {}
            for dataset in DATASETS:
                play = SimulatedPlay(dataset, name, BASE, setting, other, retrieval=retrieval)
                points.append(({"panel": panel, "at": AT.get(panel), "x": x}, play))
    return average(play_points(p, points), "panel", "at", "x", "system")
