"""Comparisons: an experiment as a value, and how it is run: systems are tuned on the dev questions,
and the best setting of each is run on the test questions (IRCoT §4.1).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import pandas as pd

from ircotlib.comparing.work import Work, open_work
from ircotlib.errors import UserError
from ircotlib.running.bench import Bench
from ircotlib.running.predictions import share_measure
from ircotlib.running.run import Run, clear_runs, mark_unsuited
from ircotlib.systems import RECALL, System

TUNED = ["dataset", "system", "metric"]
SCORES = "id kind recall profile model style reader dataset system demonstrations metric".split()
SCORES += ["demonstrations_shown", "k", "m", "demonstration_set"]  # of any table of scores


class Compared(NamedTuple):
    """The results of a comparison. `scores`: one row per question, system and demonstration set, or
    setting. `tuning`: the mean of each setting on the dev questions. `chosen`: the setting chosen
    for each data set and system.
    """

    scores: pd.DataFrame
    tuning: pd.DataFrame
    chosen: pd.DataFrame


@dataclass(frozen=True)
class Comparison:
    """What an experiment compares. Nothing is opened or read until `opened` or `run` are asked for,
    so that a notebook can say it in a cell that checks and `ircotlib plan` also execute.

    `benches`: data sets and models, as `name_bench` makes them, or opened. `sets`: each system is
    tested with the first so many demonstration sets. `settings`: those with which each system is
    run on the test questions; None: its grid, of which the best is found on the dev questions.
    `most`: the systems are only asked so many of the test questions (`answer_all`), and no runs are
    kept; None: all.
    """

    benches: Sequence[Bench]
    systems: Sequence[System]
    sets: int = 1
    settings: Sequence[dict] | None = None
    most: int | None = None

    @cached_property
    def opened(self) -> list[Bench]:
        """Its benches, opened; without their models if no system writes."""
        writes = any(system.stages or system.reads for system in self.systems)
        return [bench.open(with_model=writes) for bench in self.benches]

    def open(self) -> "Comparison":
        """The same comparison, on opened benches."""
        return replace(self, benches=self.opened)

    def run(self) -> Compared:
        """Tune and test the systems (`compare_systems`), or run all settings (`run_all`)."""
        if self.settings is None:
            return compare_systems(self.opened, self.systems, self.sets)
        tables = run_all(self.open().runs)
        return Compared(join_scores(tables), *_tabulate([], []))

    @property
    def runs(self) -> list[Run]:
        """All its runs. Which setting is tested is known only after tuning: until then, it is the
        first one.
        """
        runs = []
        for bench, system in product(self.benches, self.systems):
            if not suits(system, bench):
                continue
            if self.settings is None:
                grid = runs_to_tune(system, bench)
                runs += grid if len(grid) > 1 else []
                runs += runs_to_test(grid[0], self.sets)
            else:
                runs += [Run(bench, system, "test", each, self.most) for each in self.settings]
        return runs


def runs_to_tune(system: System, bench: Bench) -> list[Run]:
    """A run on the dev questions for each setting of a system's grid."""
    return [Run(bench, system, "dev", setting) for setting in bench.settings(system)]


def runs_to_test(best: Run, sets: int) -> list[Run]:
    """The runs on the test questions with the setting of a run, one for each demonstration set if
    the system shows some.
    """
    shown = best.bench.demonstrated and best.system.shows_sets
    numbered = [{"demonstration_set": number} for number in range(sets)] if shown else [{}]
    return [best._replace(part="test", setting=best.setting | number) for number in numbered]


def suits(system: System, bench: Bench) -> bool:
    """Whether a system can be compared on a bench: not one tuned by recall without gold. Before a
    bench is opened, its data set says whether there is any.
    """
    has_gold = any(question.gold for question in bench.test)
    return system.tuned_by != RECALL or has_gold or (not bench.test and bench.dataset.has_gold)


def compare_systems(
    benches: Sequence[Bench], systems: Sequence[System], demonstration_sets: int = 3
) -> Compared:
    """Tune each system on each bench's dev questions, then run its best setting on the test
    questions with every demonstration set (IRCoT §4.1).

    Runs of an earlier call with the same systems and parameters are replaced. If no question has
    gold paragraphs, systems tuned by recall are left out. Without systems all tables are empty;
    raises UserError if there are some and none suits any of the data sets.
    """
    plan = Comparison(benches, systems, demonstration_sets)
    pairs = [(system, bench) for system in systems for bench in benches if suits(system, bench)]
    if systems and not pairs:
        raise UserError("found nothing to run, expected a bench and a system that suits its data")
    tuning, chosen, tests = [], [], []
    with open_work(plan.runs) as work:
        grids = [runs_to_tune(system, bench) for system, bench in pairs]
        work.hand_out([run for grid in grids if len(grid) > 1 for run in grid])
        for grid in grids:
            best, table = _find_best(grid, work)  # on dev, for each data set and reader (§4.1)
            tested = runs_to_test(best, demonstration_sets)  # three sets, of which the mean (§4.1)
            clear_runs([*grid, *tested])
            work.hand_out(tested)
            tuning.append(table)
            chosen.append(best)
            tests += tested
        scores = [work.finish(run) for run in tests]
    mark_unsuited(benches, tests)
    return Compared(join_scores(scores), *_tabulate(tuning, chosen))


def tune(bench: Bench, system: System) -> tuple[dict, pd.DataFrame]:
    """Run every setting of a system's grid on the dev questions with the first demonstration set;
    return the best setting and a table of all means (IRCoT §4.1).

    Ties go to the earlier setting, that is to the smaller K. A grid with a single setting is not
    run, because there is nothing to choose.
    """
    grid = runs_to_tune(system, bench)
    with open_work(grid) as work:
        work.hand_out(grid if len(grid) > 1 else [])
        best, table = _find_best(grid, work)
        return best.setting, table


def _find_best(grid: list[Run], work: Work) -> tuple[Run, pd.DataFrame]:
    """The best of the runs that tune a system, and the table of their means."""
    bench, system = grid[0].bench, grid[0].system
    columns = [*TUNED, *dict.fromkeys(["k", "m", *grid[0].setting]), "value", "paragraphs"]
    if len(grid) == 1:
        return grid[0], pd.DataFrame(columns=columns)
    if not bench.dev:
        lack = f"{len(grid)} settings of {system.name} and no dev question of"
        expected = "expected dev questions: set dev, or a grid of one value"
        raise UserError(f"found {lack} {bench.dataset.name}, {expected}")
    means = [work.finish(run).mean(numeric_only=True) for run in grid]
    table = pd.DataFrame([{**mean, **run.setting} for run, mean in zip(grid, means, strict=True)])
    table["metric"] = metric = grid[0].measure
    table["value"] = 100 * table[metric]
    table["dataset"], table["system"] = bench.dataset.name, system.name
    return grid[int(table[metric].argmax())], table.reindex(columns=columns)


def _tabulate(tuning: list[pd.DataFrame], chosen: list[Run]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The tables of what was tried and what was chosen."""
    tried = [table for table in tuning if len(table)] or tuning[:1]
    tried = pd.concat(tried, ignore_index=True) if tried else pd.DataFrame(columns=TUNED)
    rows = []
    for best in chosen:
        named = {"dataset": best.bench.dataset.name, "system": best.system.name}
        rows.append(named | {"k": None, "m": None} | best.setting)
    return tried, pd.DataFrame(rows, columns=None if rows else ["dataset", "system", "k", "m"])


def run_system(bench: Bench, system: System, part: str = "test", **setting: object) -> pd.DataFrame:
    """Run a system on the "dev" or "test" questions of a bench and keep the run; return one row per
    question (`carry_out`). `setting`: k, m and whatever else the program takes, and
    demonstration_set, 0 to 2.
    """
    [scores] = run_all([Run(bench, system, part, setting)])
    return scores


def run_all(runs: Sequence[Run]) -> list[pd.DataFrame]:
    """The tables of several runs (`carry_out`), which workers play at the same time, or which are
    played together if there are batch files.
    """
    with open_work(runs) as work:
        work.hand_out(runs)
        return [work.finish(run) for run in runs]


def join_scores(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The scores of runs in one table with one measure for all that answer a data set
    (`share_measure`); empty if there is none.
    """
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=SCORES)
    return table.assign(metric=share_measure)
