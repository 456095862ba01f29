"""Runs that are still current: nothing has changed that could change them, so that they are read
and not replayed.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping

import pandas as pd

from ircotlib.errors import DataError
from ircotlib.files.sources import hash_sources
from ircotlib.playing import scheduler
from ircotlib.playing.cache import Calls
from ircotlib.playing.exported import Replaying
from ircotlib.running.finished import describe_made_with
from ircotlib.running.predictions import read_lines, read_scores, row_of
from ircotlib.running.run import RERUN, Run, columns_of, read_about, read_file

REPLAY = "IRCOT_REPLAY"  # in the environment: every run is replayed, and says what differs


def read_current(run: Run, look: Callable = hash_sources) -> pd.DataFrame | None:
    """What `carry_out` gave, read from a run's folder, if that is whole, was made with all that it
    would be made with now (`describe_made_with`), and the call cache answers its first question
    alike. None if not, or if that cannot be known: of a system of a notebook or a plug-in, a bench
    that was changed, a simulated reader, exported calls; and with REPLAY. `look`: see
    `find_sources`.
    """
    if os.environ.get(REPLAY) or not isinstance(run.bench.calls, Calls):
        return None
    try:
        about = read_about(run.folder)
        predictions = read_file(run.folder, about, "predictions.jsonl")
        scores = pd.DataFrame(read_scores(run.folder, about).values())
        made_with = as_read(describe_made_with(run, about["counts"], look))
    except (DataError, KeyError):
        return None
    if made_with["sources"] is None or not made_with.items() <= about.items():
        return None
    if not (run.is_as_named and _answers_first_alike(run, predictions)):
        return None
    for line in about["oddities"]:
        print(f"{run.label}: {line}", file=sys.stderr, flush=True)
    return scores.assign(**columns_of(about))


def _answers_first_alike(run: Run, predictions: bytes) -> bool:
    """Whether the call cache has the replies to the first question of a run, and they give the
    first line of its predictions.
    """
    build = run.program
    first = {question.id: build(question) for question in run.questions[:1]}
    calls = Replaying(run.bench.calls, remedy=RERUN)  # asks no backend
    try:
        outcomes, _ = scheduler.run(first, run.bench.backends, calls)
    except RuntimeError:  # a reply is missing
        return False
    rows = [as_read(row_of(*item)) for item in outcomes.items()]
    return rows == [json.loads(line) for line in predictions.splitlines()[:1]]


def read_kept_lines(run: Run) -> dict[str, dict]:
    """The lines of an earlier run's predictions by question id; {} if there is none."""
    try:
        return read_lines(run.folder, read_about(run.folder))
    except DataError:
        return {}


def compare_lines(run: Run, before: Mapping[str, dict]) -> str:
    """In which questions the predictions of a run differ from what they were `before`, in a line;
    "" if in none.
    """
    now = read_kept_lines(run)
    differing = [id for id in now if now[id] != before.get(id)]
    if not differing:
        return ""
    first = differing[0]
    was = before.get(first, {}).get("answer")
    told = f"replayed, {len(differing)} of {len(now)} predictions differ from those kept"
    return f"{told}, such as {first}: {now[first]['answer']!r:.80}, before {was!r:.80}"


def as_read(value: object) -> object:
    """A value as it is read from JSON."""
    return json.loads(json.dumps(value))
