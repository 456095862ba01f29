"""Families of systems and causes of errors are told apart by the colour-blind, and a system has one
colour everywhere.
"""

from itertools import combinations, product

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from ircotlib.results import figures
from ircotlib.results.causes import CAUSES
from ircotlib.systems import CHAINED, CLOSED, ONCE, OWN, STEPWISE, all_systems

SEEN = {  # linear RGB as it is seen (Machado, Oliveira & Fernandes 2009, severity 1)
    "by most": np.eye(3),
    "with protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "with deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "with tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = [  # of sRGB, by the white point D65 (IEC 61966-2-1)
    [0.433953, 0.376219, 0.189828],
    [0.212673, 0.715152, 0.072175],
    [0.017758, 0.109477, 0.872765],
]


def lab(color: str, seen: str) -> np.ndarray:
    """A colour in CIELab, as it is seen."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(SEEN[seen] @ linear, 0, 1)
    x, y, z = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def apart(pairs, seen: str) -> float:
    """The least distance in CIELab between the colours of any pair."""
    return min(np.linalg.norm(lab(one, seen) - lab(other, seen)) for one, other in pairs)


def test_distances_are_those_of_cielab():
    assert np.allclose(lab("#ffffff", "by most"), [100, 0, 0], atol=0.01)
    assert np.allclose(lab("#ff0000", "by most"), [53.24, 80.09, 67.20], atol=0.05)
    # what the colour-blind do not tell apart
    assert apart([("#b0413e", "#7a9e3a")], "by most") > 70
    assert apart([("#e08e45", "#c9b458")], "with deuteranopia") < 8


@pytest.mark.parametrize("seen", SEEN)
def test_families_causes_and_lines_are_told_apart(seen):
    shades = figures.FAMILIES.values()
    darkest = combinations([one[0] for one in shades], 2)
    assert apart(darkest, seen) > 18
    any_two = (pair for two in combinations(shades, 2) for pair in product(*two))
    assert apart(any_two, seen) > (8 if seen == "with tritanopia" else 14)
    assert len(figures.CAUSE_COLORS) == len(CAUSES)
    assert apart(combinations(figures.CAUSE_COLORS, 2), seen) > 13
    assert apart(combinations(figures.LINE_COLORS, 2), seen) > 18
    for of_one in figures.FAMILIES.values():
        assert apart(combinations(dict.fromkeys(of_one), 2), seen) > 14 if len({*of_one}) > 1 else 1


def test_a_system_has_the_colour_of_its_family_and_the_papers_have_the_darkest():
    colors = {name: figures.family_of(name)[1] for name in all_systems()}
    for name, system in all_systems().items():
        assert colors[name] in figures.FAMILIES[system.family[0]]
        assert system.family[0] != OWN
    assert colors["IRCoT QA"] == colors["IRCoT"] == figures.FAMILIES[STEPWISE][0]
    assert colors["SearChain"] == figures.FAMILIES[CHAINED][0]
    assert figures.family_of("gone") == (OWN, "black")
    drawn_together = ["CoT", "OneR QA", "IRCoT QA", "Self-Ask", "DSP", "SearChain"]
    assert len({colors[name] for name in drawn_together}) == len(drawn_together)
    assert {*figures.FAMILIES} == {CLOSED, ONCE, STEPWISE, CHAINED, OWN}
