"""What each part of a system is worth to which reader: systems without it, or with more of it."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import pandas as pd

from ircotlib.parameters import Parameters
from ircotlib.results.abilities.map import SYSTEMS
from ircotlib.results.abilities.simulated_plays import SimulatedPlay, play_points
from ircotlib.results.statistics import paired_difference

DATASET = "musique"
LITTLE, MUCH = {"knows": 0.2}, {"knows": 0.8}
WELL, BADLY = (dict.fromkeys(("misreads", "extractor_misreads"), rate) for rate in (0.05, 0.3))
READERS = {
    "knows little (20%), reads well (95%)": LITTLE | WELL,
    "knows little (20%), reads badly (70%)": LITTLE | BADLY,
    "knows much (80%), reads well (95%)": MUCH | WELL,
    "knows much (80%), reads badly (70%)": MUCH | BADLY,
}
# without these an extractor that never errs reads for the system
READING, EXTRACTING = "errors of the model's reading", "errors of the extractor"
TEMPERS = {"says so": {"makes_up": 0.0}, "makes it up": {"makes_up": 1.0}}


class SystemPart(NamedTuple):
    """A part of a system, by name, and how to play without it: another system or setting; `dials`
    and `changes` as of SimulatedPlay.
    """

    system: str
    name: str
    played: str
    setting: Mapping = {}
    dials: Mapping = {}
    changes: Mapping = {}


PARTS = (
    SystemPart("SearChain", "retrieval", "SearChain w/o IR"),
    SystemPart("SearChain", "verification", "SearChain w/o Verification"),
    SystemPart("SearChain", "completion", "SearChain w/o Completion"),
    SystemPart("SearChain", EXTRACTING, "SearChain", dials={"extractor_misreads": 0.0}),
    SystemPart("SearChain", "rounds 3 to 5", "SearChain", {"max_rounds": 2}),
    SystemPart("IRCoT QA", "retrieval", "NoR QA"),
    SystemPart("IRCoT QA", "retrieval after the first", "OneR QA", {"k": 15}),
    SystemPart("IRCoT QA", "the reader", "IRCoT QA w/o reader", {"k": 4}),
    SystemPart("IRCoT QA", "K = 4, not 2", "IRCoT QA", {"k": 2}),
    SystemPart("IRCoT QA", "K = 4, not 8", "IRCoT QA", {"k": 8}),
    SystemPart("IRCoT QA", "steps 3 to 8", "IRCoT QA", {"k": 4}, changes={"max_steps": 2}),
    SystemPart("Self-Ask", "retrieval", "Self-Ask w/o IR"),
    SystemPart("Self-Ask", READING, "Self-Ask", {"extract": True}, {"extractor_misreads": 0.0}),
    SystemPart("DSP", "the second hop", "DSP", {"hops": 1}),
    SystemPart("DSP", "two hops, not four", "DSP", {"hops": 4}),
)


def weigh_parts(
    p: Parameters, parts: Sequence[SystemPart] = PARTS, readers: Mapping = READERS
) -> pd.DataFrame:
    """Play systems of MuSiQue whole and without each part, with every reader, which says "unknown"
    to what it does not know, or makes it up; half of the errors of both readers are the same.

    Return one row per part and reader: the mean scores of the `whole` system and `without` the part
    in percent, and the points that the part is `worth`, with the 95% interval of the paired
    difference.
    """
    points = []
    for (reader, dials), (temper, made_up) in product(readers.items(), TEMPERS.items()):
        dials = dials | made_up | {"coincide": 0.5}
        for part in parts:
            label = {"system": part.system, "part": part.name, "reader": reader, "temper": temper}
            whole = SimulatedPlay(DATASET, part.system, dials, SYSTEMS[part.system])
            points.append((label | {"played": "whole"}, whole))
            others = dials | dict(part.dials)
            without = SimulatedPlay(DATASET, part.played, others, part.setting, part.changes)
            points.append((label | {"played": "without"}, without))
    keys = ["system", "part", "reader", "temper"]
    rows = []
    for names, scores in play_points(p, points).groupby(keys, sort=False):
        scores = 100 * scores.pivot(index="id", columns="played", values="score")
        difference = paired_difference(scores["whole"], scores["without"])
        row = dict(zip(keys, names, strict=True)) | {"n": len(scores), **scores.mean()}
        row |= {"worth": difference.mean, "low": difference.low, "high": difference.high}
        rows.append(row)
    return pd.DataFrame(rows).round(2)
