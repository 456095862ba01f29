"""Plays of which no runs are kept, such as simulations: what came of them is kept, and read again
while nothing has changed it.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ircotlib.comparing.pool import open_processes
from ircotlib.datasets.pooled import digest
from ircotlib.errors import DataError
from ircotlib.files.checksums import read_description, write_description
from ircotlib.files.paths import DATA
from ircotlib.files.processes import count_cores
from ircotlib.files.progress import show_progress
from ircotlib.running.bench import Bench
from ircotlib.running.current import REPLAY, as_read
from ircotlib.running.finished import describe_made_with
from ircotlib.running.run import Run
from ircotlib.systems import all_systems


class KeptPlays(NamedTuple):
    """What came of plays on the same benches. `made_with`: all that decides it besides a play.
    `results`: as JSON has them, by the text of each play.
    """

    path: Path
    made_with: list
    results: dict[str, list]


def read_kept(
    benches: Sequence[Bench], systems: Sequence[str], code: tuple[Path, ...], look: Callable
) -> KeptPlays:
    """What is kept in DATA/plays of plays of these systems on the test questions of benches of one
    data set and retriever: nothing if it was made with anything else than now, or is damaged.
    `code`: that plays them; `look`: as of `find_sources`.
    """
    names, bench = sorted({*systems}), benches[0]
    runs = [Run(each, all_systems()[name], "test", {}) for each in benches for name in names]
    own = partial(look, code=code)
    made_with = as_read([describe_made_with(run, {}, own) for run in runs])
    folder = f"{bench.experiment}-{digest(repr(bench.parameters), 8)}"
    path = DATA / "plays" / folder / bench.dataset.name / f"{digest(repr(names), 8)}.json"
    try:
        about = read_description(path, "") or {}
    except DataError:
        about = {}
    is_known = all(each["sources"] for each in made_with)
    is_current = is_known and about.get("made_with") == made_with
    return KeptPlays(path, made_with, about["results"] if is_current else {})


def play_groups(
    label: str,
    groups: Mapping[tuple, Mapping[str, object]],
    kept: Mapping[tuple, KeptPlays],
    play: Callable[[tuple], dict[str, list]],
    *arguments: object,
) -> None:
    """Play what is not kept, and keep what comes of it: of each group, plays by their texts, what
    `play` returns for (*arguments, group, plays). All of a group are played in one process. With
    REPLAY, all are played, and stderr says what differs.
    """
    jobs = {}
    for group, plays in groups.items():
        known = () if os.environ.get(REPLAY) else kept[group].results
        if lacking := {text: each for text, each in plays.items() if text not in known}:
            jobs[group] = *arguments, group, lacking
    total = sum(len(lacking) for *_, lacking in jobs.values())
    cores, futures = count_cores(), {}
    if cores > 1 and len(jobs) > 1:
        pool = open_processes(play, cores)
        futures = {group: pool.submit(job) for group, job in jobs.items()}
    try:
        with show_progress(label, total) as progress:
            done = 0
            for group, job in jobs.items():
                came = as_read(futures[group].result() if futures else play(job))
                _tell_differences(group, kept[group].results, came)
                kept[group].results.update(came)
                kept[group].path.parent.mkdir(parents=True, exist_ok=True)
                about = {"made_with": kept[group].made_with, "results": kept[group].results}
                write_description(kept[group].path, about)
                done += len(came)
                progress(done, total)
    finally:
        for future in futures.values():  # after an error or an interrupt
            future.cancel()


def _tell_differences(group: tuple, before: Mapping[str, list], now: Mapping[str, list]) -> None:
    differing = [text for text in now if now[text] != before.get(text, now[text])]
    if differing:
        told = f"played again, {len(differing)} of {len(now)} differ from those kept"
        print(f"{' '.join(group)}: {told}, such as {differing[0]}", file=sys.stderr, flush=True)
