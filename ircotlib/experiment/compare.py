"""Comparisons: tuned on the dev questions, the best settings run on the test ones
(IRCoT §4.1).
"""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from ircotlib.errors import UserError
from ircotlib.experiment.runs import Run, carry_out, clear_runs, share_measure
from ircotlib.experiment.setup import Setup, program_of
from ircotlib.experiment.workers import answer_ahead
from ircotlib.files import track
from ircotlib.systems import RECALL, SETS, System

TUNED = ["dataset", "system", "metric"]
SCORES = "id kind recall profile model style reader dataset system demonstrations metric".split()
# of any table of scores
SCORES += ["demonstrations_shown", "k", "m", "demonstration_set"]


class Compared(NamedTuple):
    """The results of a comparison. `scores`: one row per question of each run.
    `tuning`: the means of all settings on the dev questions. `chosen`: the best one for
    each data set and system.
    """

    scores: pd.DataFrame
    tuning: pd.DataFrame
    chosen: pd.DataFrame


def compare(
    setups: Sequence[Setup],
    systems: Sequence[System],
    sets: int = 1,
    settings: Sequence[dict] | None = None,
) -> Compared:
    """Tune each system on the dev questions of each setup, then run its best setting on
    the test questions with the first `sets` demonstration sets (IRCoT §4.1: three); or
    run each of the `settings` there. Earlier runs of the same systems are replaced.
    Where no question has gold paragraphs, systems tuned by recall are left out;
    UserError if that leaves none.
    """
    pairs = [
        (system, setup)
        for system in systems
        for setup in setups
        if suits(system, setup)
    ]
    if systems and setups and not pairs:
        raise UserError(
            "nothing to run: choose a data set, and a system that suits its data"
        )
    for system, setup in pairs:
        program_of(setup, system)  # a missing prompt is found before any work
    if settings is not None:
        every = [
            each
            for each in product(setups, systems, settings)
            if suits(each[1], each[0])
        ]
        tests = [
            Run(setup, system, "test", setting) for setup, system, setting in every
        ]
        return Compared(join_scores(run_all(tests)), pd.DataFrame(), pd.DataFrame())
    grids = [
        [Run(setup, system, "dev", setting) for setting in setup.settings(system)]
        for system, setup in pairs
    ]
    tried = [run for grid in grids if len(grid) > 1 for run in grid]
    scores = dict(zip([run.folder for run in tried], run_all(tried), strict=True))
    tests, tables, chosen = [], [pd.DataFrame(columns=TUNED)], []
    for grid in grids:
        best, table = find_best(grid, scores)  # for each data set and reader (§4.1)
        tables.append(table)
        named = {"dataset": best.setup.dataset.name, "system": best.system.name}
        chosen.append(named | {"k": None, "m": None} | best.setting)
        in_sets = best.system.reads or best.system.demonstrated_by == SETS
        shown = best.setup.demonstrated and in_sets
        numbered = (
            [{"demonstration_set": number} for number in range(sets)] if shown else [{}]
        )
        tested = [
            best._replace(part="test", setting=best.setting | each) for each in numbered
        ]
        clear_runs([*grid, *tested])
        tests += tested
    # an empty table would make the numbers of the others objects
    tuning = pd.concat(
        [each for each in tables if len(each)] or tables, ignore_index=True
    )
    return Compared(join_scores(run_all(tests)), tuning, pd.DataFrame(chosen))


def run_system(
    setup: Setup, system: System, part: str = "test", **setting: object
) -> pd.DataFrame:
    """Run a system with a setting (`Run`) and keep the run; return one row per
    question.
    """
    [scores] = run_all([Run(setup, system, part, setting)])
    return scores


def run_all(runs: Sequence[Run]) -> list[pd.DataFrame]:
    """The tables of several runs (`carry_out`); workers may answer their questions
    ahead.
    """
    return [carry_out(run) for run in track(answer_ahead(runs), "runs", len(runs))]


def suits(system: System, setup: Setup) -> bool:
    """Whether a system can be compared on a setup: not one tuned by recall without
    gold.
    """
    return system.tuned_by != RECALL or any(question.gold for question in setup.test)


def find_best(
    grid: list[Run], scores: Mapping[Path, pd.DataFrame]
) -> tuple[Run, pd.DataFrame]:
    """The best of the runs that tune a system, and the table of their means (IRCoT
    §4.1). Ties go to the earlier setting, that is to the smaller K. A grid of a single
    setting is not run.
    """
    setup, system = grid[0].setup, grid[0].system
    columns = [
        *TUNED,
        *dict.fromkeys(["k", "m", *grid[0].setting]),
        "value",
        "paragraphs",
    ]
    if len(grid) == 1:
        return grid[0], pd.DataFrame(columns=columns)
    if not setup.dev:
        found = f"{setup.dataset.name} has no dev questions"
        needed = f"which the {len(grid)} settings of {system.name} need"
        raise UserError(f"{found}, {needed}: set dev, or a grid of one value")
    means = [scores[run.folder].mean(numeric_only=True) for run in grid]
    table = pd.DataFrame(
        [{**mean, **run.setting} for run, mean in zip(grid, means, strict=True)]
    )
    table["metric"] = metric = system.measure(setup.dataset)
    table["value"] = 100 * table[metric]
    table["dataset"], table["system"] = setup.dataset.name, system.name
    return grid[int(table[metric].argmax())], table.reindex(columns=columns)


def join_scores(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The scores of runs in one table, with one measure for all that answer a data set."""
    table = (
        pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=SCORES)
    )
    return table.assign(metric=share_measure)
