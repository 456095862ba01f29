"""Which system answers best with which reader: over how much a reader knows, and how often it
misreads.
"""

from collections.abc import Mapping, Sequence
from itertools import product

import pandas as pd

from ircotlib.parameters import Parameters
from ircotlib.results.abilities.simulation import Simulation, average, simulate
from ircotlib.results.statistics import paired_p

# the rivals, with their settings; K is IRCoT's best on MuSiQue. The first stands for the systems
# that read each step, of which the others are below
STEP_BY_STEP = {"IRCoT QA": {"k": 4}}
RIVALS = {"SearChain": {}, "SearChain w/o Verification": {}, "DSP": {}, "OneR QA": {"k": 15}}
RIVALS |= {"CoT": {}}
ALIKE = {"Self-Ask": {}, "ReAct": {}, "DecomP": {"k": 4}, "Tree-of-Thought w/ IR": {}}
WORDS = {"IRCoT QA": "read every step"}  # what regions of a map are called
KNOWS, MISREADS = (0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9), (0, 0.1, 0.2, 0.3, 0.4, 0.5)
# what the reader is assumed to do: dials beside those two
ASSUMED = {
    "what it knows can be misread, too": {},
    "a page confirms what it knows": {"confirms": 1.0},
    "makes up what it does not know": {"makes_up": 1.0},
}


def map_systems(
    p: Parameters,
    assumed: Mapping[str, Mapping] = ASSUMED,
    systems: Mapping[str, Mapping] = STEP_BY_STEP | RIVALS,
    dataset: str = "musique",
    knows: Sequence[float] = KNOWS,
    misreads: Sequence[float] = MISREADS,
) -> pd.DataFrame:
    """The mean of each system in percent, with its interval, for each reader on each map: a row per
    `map`, `knows`, `misreads` and system. `p`: of the exact paired test against the cell's best, 1
    for that itself. The extractive reader errs as often as the model, and half of its misreading is
    the model's.
    """
    points = []
    for name, dials in assumed.items():
        for known, misread in product(knows, misreads):
            reader = {"knows": known, "misreads": misread, "coincide": 0.5}
            reader |= dict.fromkeys(("extractor_misreads", "extractor_invents"), misread)
            label = {"map": name, "knows": known, "misreads": misread}
            for system, setting in systems.items():
                point = Simulation(dataset, system, reader | dict(dials), setting)
                points.append((label, point))
    scores = simulate(p, points)
    tables = []
    for _, cell in scores.groupby(["map", "knows", "misreads"], sort=False):
        means = average(cell, "map", "knows", "misreads", "system").set_index("system")
        by_system = cell.pivot(index="id", columns="system", values="score")
        best = by_system[means["mean"].idxmax()]
        against = by_system.sub(best, axis=0).apply(paired_p)
        tables.append(means.assign(p=against.round(4)).reset_index())
    return pd.concat(tables, ignore_index=True)
