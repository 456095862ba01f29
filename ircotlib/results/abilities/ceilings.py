"""What each system answers with a reader that makes no error and knows nothing: what its method and
its setting allow.
"""

import pandas as pd

from ircotlib.parameters import Parameters
from ircotlib.results.abilities.simulated_plays import SimulatedPlay, average, play_points
from ircotlib.results.runs import in_order
from ircotlib.systems import ANSWER, all_systems

FLOOR = "CoT"  # which stands for the systems that retrieve nothing
DATASETS = "musique strategyqa hotpotqa".split()  # of settings, from the hardest
# system, its keyword, in words, values, and its other keywords
SETTINGS = (
    ("OneR QA", "k", "K", (1, 5, 15, 25, 40), {}),
    ("IRCoT QA", "k", "K", (2, 4, 6, 8, 12), {}),
    ("IRCoT QA", "max_paragraphs", "kept paragraphs, K 8", (5, 10, 15, 20, 30), {"k": 8}),
    ("IRCoT QA", "max_steps", "sentences, K 4", (1, 2, 3, 4, 8), {"k": 4}),
    ("DecomP", "max_calls", "sub-questions, K 4", (1, 2, 3, 4, 8), {"k": 4}),
    ("Self-Ask", "max_follow_ups", "follow-up questions", (1, 2, 3, 4, 8), {}),
    ("ReAct", "max_actions", "actions", (1, 3, 5, 7, 10), {}),
    ("Tree-of-Thought w/ IR", "depth", "depth", (1, 2, 3, 4, 5), {}),
    ("DSP", "hops", "hops", (1, 2, 3, 4), {}),
    ("SearChain", "max_rounds", "rounds", (1, 2, 3, 4, 5), {}),
)


def play_ceilings(p: Parameters) -> pd.DataFrame:
    """The mean of each system on each data set of the head to head, with its best K of its grid (of
    equal ones, the smallest). Systems that retrieved nothing are left out, except FLOOR. Sorted by
    the mean over data sets.
    """
    points = []
    for system in all_systems().values():
        grid = p.grid(system.module, "k", system.grid.get("k", ()))
        for k in grid or [None]:
            for dataset in p.head_to_head if system.tuned_by == ANSWER else ():
                play = SimulatedPlay(dataset, system.name, setting={"k": k} if k else {})
                points.append(({"k": k or 0}, play))
    scores = play_points(p, points)
    retrieved = scores.groupby("system")["recall"].max() > 0
    scores = scores[(scores["system"] == FLOOR) | scores["system"].map(retrieved)]
    table = average(scores, "dataset", "system", "k")
    table = table.sort_values(["mean", "k"], ascending=[False, True], kind="stable")
    table = table.drop_duplicates(["dataset", "system"])
    means = table.groupby("system")["mean"].mean().sort_values(ascending=False, kind="stable")
    return in_order(in_order(table, "dataset", p.head_to_head), "system", means.index)


def play_settings(p: Parameters) -> pd.DataFrame:
    """The mean on DATASETS against single settings of the systems, all others as in their papers.
    `at`: the paper's, or K of the head to head.
    """
    points = []
    for name, keyword, words, values, others in SETTINGS:
        label = {"panel": f"{name}: {words}", "setting": keyword}
        default = all_systems()[name].defaults[keyword]
        label["at"] = default if isinstance(default, int) else None
        for value in values:
            for dataset in DATASETS:
                play = SimulatedPlay(dataset, name, setting={**others, keyword: value})
                points.append((label | {"x": value}, play))
    by = "panel", "system", "setting", "at", "x", "dataset"
    return average(play_points(p, points), *by)
