"""One run: play, score, write. Its replay; and answers of which no run is kept."""

import os
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path

import pandas as pd

from ircotlib.data import Prediction, Question
from ircotlib.datasets.scoring import score
from ircotlib.errors import UserError
from ircotlib.files.progress import show_progress
from ircotlib.playing import scheduler
from ircotlib.playing.cache import Calls
from ircotlib.playing.exported import Replaying
from ircotlib.playing.plays import without_prompt
from ircotlib.program import Outcome
from ircotlib.running.bench import Bench
from ircotlib.running.current import REPLAY, compare_lines, read_kept_lines
from ircotlib.running.finished import (
    Finished,
    describe_finished,
    find_sources,
    find_unknown,
    list_paid_before,
)
from ircotlib.running.predictions import restore_outcomes, row_of
from ircotlib.running.programs import program_of
from ircotlib.running.run import Run, columns_of, open_run, read_about, write_run
from ircotlib.systems import System


def carry_out(run: Run) -> pd.DataFrame:
    """Play a run, score it and write its folder; return one row per question: its scores
    (`scoring.score`), and the columns that describe the run (`columns_of`).

    The folder has predictions.jsonl, scores.csv and run.json: all parameters, versions, seconds,
    counts. Run again, it is replayed from the call cache. An earlier run is replaced when all is
    scored; with REPLAY, stderr says in what it differs.
    """
    before = read_kept_lines(run) if os.environ.get(REPLAY) else {}
    finished = play(run)
    scores = score_all(finished)
    about = describe_finished(finished)
    predictions = (row_of(*item) for item in finished.outcomes.items())
    write_run(run.folder, predictions, scores, about)
    if paid := list_paid_before(finished):
        run.bench.model.count_paid(step.request for step in paid)
    odd = [*about["oddities"], *filter(None, [before and compare_lines(run, before)])]
    for line in odd:
        print(f"{run.label}: {line}", file=sys.stderr, flush=True)
    return scores.assign(**columns_of(about))


def play(run: Run) -> Finished:
    """Play the program of a run on all its questions, with a progress bar; its steps are without
    prompts, but for those that batch files were paid for.
    """
    bench = run.bench
    sources = find_sources(run)
    build = run.program
    started = time.monotonic()
    with show_progress(run.label, len(run.questions)) as progress:
        programs = {question.id: build(question) for question in run.questions}
        note = {} if bench.parameters.batch else {"note": without_prompt}
        outcomes, counts = scheduler.run(programs, bench.backends, bench.calls, progress, **note)
    return Finished(run, outcomes, counts, time.monotonic() - started, sources)


def score_all(finished: Finished) -> pd.DataFrame:
    """The scores of a run, one row per question, as of scores.csv."""
    dataset = finished.run.bench.scored_as
    rows = []
    for question in finished.run.questions:
        scores = score(question, finished.outcomes[question.id].result, dataset)
        rows.append({"id": question.id, "kind": question.kind, **scores})
    return pd.DataFrame(rows)


def answer(
    bench: Bench, system: System, question: Question, **setting: object
) -> Outcome[Prediction]:
    """Answer one question; see `answer_all`. If the system could not know what it is about, stderr
    says so.
    """
    outcome = answer_all(bench, system, [question], **setting)[question.id]
    if told := find_unknown(question, outcome, bench.model):
        print(f"{told}: the answer of {system.name} is a guess", file=sys.stderr, flush=True)
    return outcome


def answer_all(
    bench: Bench, system: System, questions: Sequence[Question], **setting: object
) -> dict[str, Outcome[Prediction]]:
    """Answer questions in one batch; return the outcomes by question id. No run is kept.
    `setting`: what the system's program takes, and m and demonstration_set; `Bench.choose` chooses
    what is in its grid. Raises UserError for anything else.
    """
    build = program_of(bench, system, **setting)
    programs = {question.id: build(question) for question in questions}
    return scheduler.run(programs, bench.backends, bench.calls)[0]


def replay(
    folder: Path, ids: Collection[str] | None = None, calls: Calls | Replaying | None = None
) -> dict[str, Outcome[Prediction]]:
    """Replay a run from its folder and the call cache; return the outcomes by question id, with
    prompts in their traces. Replies that are no longer in the cache are computed again. `ids`: only
    these questions. `calls`: None for the call cache of this machine. An imported run has what its
    files say, without prompts.
    """
    about = read_about(folder)
    if "imported" in about:
        return restore_outcomes(folder, ids)
    run = open_run(about, calls)
    build = run.program
    questions = {question.id: question for question in run.questions}
    if unknown := [id for id in ids or () if id not in questions]:
        expected = f"expected some of its {len(questions)} questions"
        raise UserError(f"{folder}: found no question {unknown[0]!r}, {expected}")
    programs = {id: build(questions[id]) for id in (questions if ids is None else ids)}
    return scheduler.run(programs, run.bench.backends, run.bench.calls)[0]
