"""The work on a list of runs: workers or batch files play them ahead, and each is then finished."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

import pandas as pd

from ircotlib.comparing.costs import report_cost
from ircotlib.comparing.needs import check_prompts
from ircotlib.comparing.waves import Waves
from ircotlib.comparing.workers import Workers, open_workers
from ircotlib.files.progress import show_progress
from ircotlib.files.sources import hash_sources
from ircotlib.running.current import read_current
from ircotlib.running.experiment import carry_out
from ircotlib.running.run import Run


class Work:
    """The work on planned runs; see `open_work`. `total`: how many there are."""

    def __init__(self, players: Workers | Waves, total: int):
        self.players = players
        self.total = total
        self.read: dict[Path, pd.DataFrame | None] = {}  # those that are current, by their folders
        self.finished = 0
        self.progress = lambda done, total: None

    def hand_out(self, runs: Sequence[Run]) -> None:
        """Read runs that are current; have the others played ahead: their replies are then in the
        call cache.
        """
        look = cache(hash_sources)  # once for all of them
        for run in (run for run in runs if run.folder not in self.read):
            self.read[run.folder] = read_current(run, look)
            if self.read[run.folder] is None:
                self.players.hand_out(run)

    def finish(self, run: Run) -> pd.DataFrame:
        """The table of a run that was handed out, once it is carried out (`carry_out`)."""
        if (scores := self.read.pop(run.folder)) is None:
            self.players.wait(run)
            scores = carry_out(run)
        self.finished += 1
        self.progress(self.finished, self.total)
        return scores


@contextmanager
def open_work(runs: Sequence[Run]) -> Iterator[Work]:
    """Work on runs: what they cost is told, and a bar shows how many are finished. Which setting a
    planned run has does not matter: it may be known only on the way. Raises UserError, before any
    run is played, if one lacks a prompt file.
    """
    check_prompts(runs)
    with ExitStack() as at_the_end:
        at_the_end.enter_context(report_cost(runs))
        players = at_the_end.enter_context(open_workers([run.bench for run in runs]))
        work = Work(players, len(runs))
        if len(runs) > 1:
            label = f"{runs[0].bench.experiment}, runs"
            work.progress = at_the_end.enter_context(show_progress(label, work.total))
            work.progress(0, work.total)
        yield work
