"""Comparisons: tuned on the dev questions, the best settings run on the test ones
(IRCoT §4.1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from ircotlib.data import Question
from ircotlib.errors import UserError
from ircotlib.experiment.runs import Run, run_one
from ircotlib.experiment.setup import Setup
from ircotlib.experiment.stored import remove_others, share_measure
from ircotlib.experiment.workers import prefill_cache
from ircotlib.files import track
from ircotlib.systems import RECALL, SETS, System, find_system

TUNED = ["dataset", "system", "metric", "k", "m"]
# the columns of any table of scores, which one without runs has, too
SCORES = [
    *("id", "kind", "recall", "profile", "model", "style", "reader", "dataset"),
    *("system", "demonstrations", "metric", "demonstrations_shown", "k", "m"),
    "demonstration_set",
]


class Compared(NamedTuple):
    """The results of a comparison."""

    scores: pd.DataFrame  # a row per question of each run
    tuning: pd.DataFrame  # the means of all settings on the dev questions
    chosen: pd.DataFrame  # the best one for each data set and system


def compare(
    setups: Sequence[Setup],
    systems: Sequence[System | str],
    sets: int = 1,
    settings: Sequence[dict] | None = None,
) -> Compared:
    """Tune each system on the dev questions of each setup, then run its best setting on
    the test questions with the first `sets` demonstration sets (IRCoT §4.1: three).

        p = read_parameters("mini")
        setups = [open_setup(p, "musique", "mine")]
        found = compare(setups, ["OneR QA", "IRCoT QA"])
        found.scores.groupby("system")["f1"].mean()

    Three tables come back. `scores`: a row per test question of each run, with recall
    and scores from 0 to 1. `tuning`: each setting's mean on the dev questions, in
    percent. `chosen`: the best settings. With `settings`, these run, and nothing is
    tuned.

    Earlier runs of the same systems are replaced. Where no question has gold
    paragraphs, systems tuned by recall are left out; UserError if that leaves none.
    """
    named = [systems] if isinstance(systems, str) else systems
    records = [*{each.name: each for each in map(find_system, named)}.values()]
    pairs = [pair for pair in product(records, setups) if suits(pair[0], pair[1].test)]
    if records and setups and not pairs:
        raise UserError("nothing to run: choose a system that suits the data sets")
    for system, setup in pairs:
        Run(setup, system, "test", {}).arguments  # noqa: B018  missing prompts first
    if settings is None:
        return tune(pairs, sets)
    tests = [
        Run(setup, system, "test", setting)
        for setup, system, setting in product(setups, records, settings)
        if suits(system, setup.test)
    ]
    return Compared(join_scores(run_all(tests)), pd.DataFrame(), pd.DataFrame())


def tune(pairs: Sequence[tuple[System, Setup]], sets: int) -> Compared:
    """Run every setting on the dev questions, and the best on the test ones (§4.1)."""
    grids = [
        [Run(setup, system, "dev", setting) for setting in setup.settings(system)]
        for system, setup in pairs
    ]
    for (system, setup), grid in zip(pairs, grids, strict=True):
        needed = "dev questions with gold paragraphs" if setup.dev else "dev questions"
        if len(grid) > 1 and not (setup.dev and suits(system, setup.dev)):
            ends = (
                f"{len(grid)} settings of {system.name}: set dev, or grids of one value"
            )
            raise UserError(f"{setup.dataset.name} has no {needed} for the {ends}")
    tuned = [run for grid in grids if len(grid) > 1 for run in grid]
    scores = dict(zip([run.folder for run in tuned], run_all(tuned), strict=True))
    tables = [pd.DataFrame(columns=[*TUNED, "value", "paragraphs"])]
    chosen: list[dict] = []
    tests: list[Run] = []
    for grid in grids:
        best = grid[0]
        if len(grid) > 1:
            best, table = find_best(grid, scores)  # for each reader, too (§4.1)
            tables.append(table)
        named = {"dataset": best.setup.dataset.name, "system": best.system.name}
        chosen.append({**named, "k": None, "m": None, **best.setting})
        tested = in_sets(best, sets)
        remove_others([run.folder for run in (*grid, *tested)])
        tests += tested
    return Compared(
        scores=join_scores(run_all(tests)),
        tuning=pd.concat(tables[1:] or tables, ignore_index=True),
        chosen=pd.DataFrame(chosen),
    )


def in_sets(best: Run, sets: int) -> list[Run]:
    """The test runs of a setting: one for each demonstration set that prompts show."""
    shows_sets = best.system.reads or best.system.demonstrated_by == SETS
    if not (best.setup.demonstrated and shows_sets):
        return [replace(best, part="test")]
    return [
        replace(best, part="test", setting=best.setting | {"demonstration_set": number})
        for number in range(sets)
    ]


def run_system(
    setup: Setup, system: System | str, part: str = "test", **setting: object
) -> pd.DataFrame:
    """Run a system with a setting, and keep the run; return one row per question."""
    run = Run(setup, find_system(system), part, setting)
    if not run.questions:
        raise UserError(f"no {part!r} questions of {setup.dataset.name}: set dev, test")
    return run_all([run])[0]


def run_all(runs: Sequence[Run]) -> list[pd.DataFrame]:
    """The tables of several runs (`run_one`); workers fill the call cache first."""
    prefill_cache(runs)
    return [run_one(run) for run in track(runs, "runs")]


def suits(system: System, questions: Sequence[Question]) -> bool:
    """Whether a system's measure is known: recall needs gold paragraphs."""
    return system.tuned_by != RECALL or any(question.gold for question in questions)


def find_best(
    grid: list[Run], scores: Mapping[Path, pd.DataFrame]
) -> tuple[Run, pd.DataFrame]:
    """The best of the runs that tune, of equals the first (§4.1), and their means."""
    setup, system = grid[0].setup, grid[0].system
    metric = system.measure(setup.dataset)
    named = {"dataset": setup.dataset.name, "system": system.name, "metric": metric}
    rows = []
    for run in grid:
        means = scores[run.folder].mean(numeric_only=True)
        value = 100 * means[metric]
        rows.append({**means, **run.setting, "value": value, **named})
    table = pd.DataFrame(rows)
    columns = dict.fromkeys([*TUNED, *grid[0].setting, "value", "paragraphs"])
    return grid[int(table[metric].argmax())], table.reindex(columns=columns)


def join_scores(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The scores of runs in one table, with one measure for each data set."""
    if not tables:
        return pd.DataFrame(columns=SCORES)
    return pd.concat(tables, ignore_index=True).assign(metric=share_measure)
