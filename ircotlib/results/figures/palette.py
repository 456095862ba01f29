"""The colours of figures: distinct for the colour-blind (tests/results/test_colours.py)."""

from collections.abc import Iterable

from ircotlib.systems import CHAINED, CLOSED, ONCE, OWN, STEPWISE, all_systems

FAMILIES = {  # of systems: the shades of one hue, the darkest first
    CLOSED: ("#4a4f57", "#7d838c", "#a9aeb6"),
    ONCE: ("#b37400", "#e0a100", "#f0c75e"),
    STEPWISE: ("#084a91", "#3f86c6", "#8fbfe6"),
    CHAINED: ("#9c1f2e", "#cf5f57", "#e8a199"),
    OWN: ("black", "black", "black"),
}
PAPERS = ("IRCoT", "IRCoT QA", "SearChain")  # what the two papers propose
# of wrong answers, in the order of their rules (`results.causes`)
CAUSES = ("#bbbbbb", "#aa3377", "#ccbb44", "#66ccee", "#4477aa", "#ee6677", "#228833")
BLUE, AMBER, GREY = "#084a91", "#e0a100", "#7d838c"
PALE, BAND = "#d5dbe2", "#e9edf2"  # in the background
LINES = (BLUE, AMBER, "#cf5f57", GREY, "black")  # of what is no system
PEACH, SKY, FOREST = "#f0c9a4", "#a9c1e0", "#2f7d4f"  # nodes that got feedback, the correct path


def colors_of(systems: Iterable[str]) -> dict[str, str]:
    """The shade of each system's family; black for a plug-in, and if its file is gone."""
    records, colors = all_systems(), {}
    for name in systems:
        family, shade = records[name].family if name in records else (OWN, 0)
        colors[name] = FAMILIES[family][shade]
    return colors
