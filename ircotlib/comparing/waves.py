"""Plays many runs at once, for batch files: the requests of all of them that wait are one file, so
that there are as many as the longest program asks one after another.
"""

from pathlib import Path

from ircotlib.files.progress import show_progress
from ircotlib.playing.scheduler import fill_cache
from ircotlib.running.run import Run


class Waves:
    """In place of workers: the first `wait` plays all runs that were handed out until then. It only
    fills the call cache, from which whoever waits replays each run.
    """

    def __init__(self):
        self.runs: dict[Path, Run] = {}  # not yet played, by their folders

    def hand_out(self, played: Run) -> None:
        """Have a run played with the next ones."""
        self.runs[played.folder] = played

    def wait(self, played: Run) -> None:
        """Play all runs, if this one was handed out and is not played yet. Raises as
        `scheduler.run`.
        """
        if played.folder not in self.runs:
            return
        runs = list(self.runs.values())
        self.runs = {}
        programs, backends = {}, {}
        for each in runs:
            build = each.program
            for question in each.questions:
                id = f"{each.label}, {question.id}"
                programs[id] = build(question)
                backends[id] = each.bench.backends
        with show_progress(f"{len(runs)} runs, questions", len(programs)) as progress:
            fill_cache(programs, backends, runs[0].bench.calls, progress)
