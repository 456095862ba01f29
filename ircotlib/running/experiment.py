"""Runs: a system on a bench's questions, kept in a folder; tuning; comparing; replaying a run."""

import sys
import time
from collections.abc import Collection, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from ircotlib.comparing.costs import count_runs, most_of_plan, most_tokens, report_cost, run_cost
from ircotlib.comparing.waves import Waves
from ircotlib.comparing.workers import Workers, open_workers
from ircotlib.data import Question, write_jsonl
from ircotlib.datasets import find_dataset
from ircotlib.datasets.scoring import score
from ircotlib.errors import UserError
from ircotlib.files.paths import replace_files
from ircotlib.files.progress import show_progress
from ircotlib.files.tables import write_table
from ircotlib.playing.scheduler import run
from ircotlib.program import Outcome
from ircotlib.running.bench import Bench, open_bench
from ircotlib.running.predictions import parameters_of, row_of, share_measure
from ircotlib.running.programs import program_of
from ircotlib.running.run import (
    EARLIER,
    NONE_SUITS,
    Run,
    about_run,
    clear_runs,
    columns_of,
    hold_runs,
    read_about,
    write_about,
)
from ircotlib.running.silence import count_demonstrations, count_texts, find_unknown, say_unknown
from ircotlib.systems import RECALL, System, choose_systems

TUNED = ["dataset", "system", "metric"]
SCORES = "id kind recall profile model style reader dataset system demonstrations metric".split()
SCORES += ["demonstrations_shown", "k", "m", "demonstration_set"]  # of any table of scores


def run_system(bench: Bench, system: System, part: str = "test", **setting) -> pd.DataFrame:
    """Run a system on the "dev" or "test" questions and write its run folder; return one row per
    question: its scores (`scoring.score`), and the columns that describe the run (`columns_of`).

    `setting`: k, m and whatever else the program takes, and demonstration_set, 0 to 2. The folder
    has predictions.jsonl, scores.csv and run.json: all parameters, versions, seconds, counts. Run
    again, it is replayed from the call cache. An earlier run is replaced when all is scored.
    """
    played = Run(bench, system, part, setting)
    work = f"{bench.dataset}, {system.name}, {len(played.questions)} questions"
    with report_cost([bench], work, [most_tokens(bench, system, len(played.questions))]):
        return _run(played)


def _run(played: Run) -> pd.DataFrame:
    bench, system, part, setting = played.bench, played.system, played.part, played.setting
    questions, build = played.questions, program_of(bench, system, **setting)
    started = time.monotonic()
    with show_progress(played.label, len(questions)) as progress:
        programs = {q.id: build(q) for q in questions}
        outcomes, counts = run(programs, bench.backends, bench.calls, progress)
    scored = [score(q, outcomes[q.id].result, bench.parameters.released) for q in questions]
    rows = [{"id": q.id, "kind": q.kind, **s} for q, s in zip(questions, scored, strict=True)]
    scores = pd.DataFrame(rows)
    costs = {"seconds": round(time.monotonic() - started, 2), "counts": counts}
    about = about_run(bench, system, part, setting, counts)
    about |= {"questions": len(questions)} | costs | count_texts(played.label, outcomes)
    about |= run_cost(bench, outcomes) | count_demonstrations(outcomes)
    say_unknown(played.label, questions, outcomes, bench.model)
    folder = played.folder
    with hold_runs(folder), replace_files(folder, "run.json", EARLIER) as partial:
        write_jsonl(partial / "predictions.jsonl", (row_of(*item) for item in outcomes.items()))
        write_table(partial / "scores.csv", scores)
        write_about(partial, about)
    return scores.assign(**columns_of(about))


def answer(bench: Bench, system: System, question: Question, **setting) -> Outcome:
    """Answer one question; see `answer_all`. If the system could not know what it is about, stderr
    says so.
    """
    outcome = answer_all(bench, system, [question], **setting)[question.id]
    if told := find_unknown(question, outcome, bench.model):
        print(f"{told}: the answer of {system.name} is a guess", file=sys.stderr, flush=True)
    return outcome


def answer_all(
    bench: Bench, system: System, questions: Sequence[Question], **setting
) -> dict[str, Outcome]:
    """Answer questions in one batch; return the outcomes by question id. Of the setting, only
    parameters in the system's grid are used. No run is kept.
    """
    grid = bench.grid(system)
    known = {name: value for name, value in setting.items() if name in grid}
    build = program_of(bench, system, **known)
    return run({q.id: build(q) for q in questions}, bench.backends, bench.calls)[0]


def run_all(runs: Sequence[Run]) -> list[pd.DataFrame]:
    """The tables of `run_system` for several runs, which workers play at the same time, or which
    are played together if there are batch files.
    """
    benches = [played.bench for played in runs]
    most = [most_tokens(r.bench, r.system, len(r.questions)) for r in runs]
    with report_cost(benches, f"{len(runs)} runs", most), open_workers(benches) as workers:
        for played in runs:
            workers.hand_out(played)
        return [_wait_and_run(workers, played) for played in runs]


def _wait_and_run(workers: Workers | Waves | None, played: Run) -> pd.DataFrame:
    if workers:
        workers.wait(played)
    return _run(played)


def tune(
    bench: Bench, system: System, workers: Workers | Waves | None = None
) -> tuple[dict, pd.DataFrame]:
    """Run every setting of a system's grid on the dev questions with the first demonstration set;
    return the best setting and a table of all means (IRCoT §4.1). `workers`: those to whom these
    runs have been handed out.

    Ties go to the earlier setting, that is to the smaller K. A grid with a single setting is not
    run, because there is nothing to choose.
    """
    settings, metric = bench.settings(system), system.measure(find_dataset(bench.dataset))
    columns = [*TUNED, *dict.fromkeys(["k", "m", *settings[0]]), "value", "paragraphs"]
    clear_runs(bench, system, "dev", settings)
    if len(settings) == 1:
        return settings[0], pd.DataFrame(columns=columns)
    if not bench.dev:
        lack = f"{len(settings)} settings of {system.name} and no dev question of {bench.dataset}"
        raise UserError(f"found {lack}, expected dev questions: set dev, or a grid of one value")
    tables = [_wait_and_run(workers, Run(bench, system, "dev", s)) for s in settings]
    means = [table.mean(numeric_only=True) for table in tables]
    table = pd.DataFrame([{**mean, **s} for s, mean in zip(settings, means, strict=True)])
    table["metric"], table["value"] = metric, 100 * table[metric]
    table["dataset"], table["system"] = bench.dataset, system.name
    return settings[int(table[metric].argmax())], table.reindex(columns=columns)


class Compared(NamedTuple):
    """The results of `compare_systems`. `scores`: one row per question, system and demonstration
    set. `tuning`: the mean of each setting on the dev questions. `chosen`: the setting chosen for
    each data set and system.
    """

    scores: pd.DataFrame
    tuning: pd.DataFrame
    chosen: pd.DataFrame


def compare_systems(
    benches: Sequence[Bench], systems: Sequence[System], demonstration_sets: int = 3
) -> Compared:
    """Tune each system on each bench's dev questions, then run its best setting on the test
    questions with every demonstration set (IRCoT §4.1).

    Runs of an earlier call with the same systems and parameters are replaced. If no question has
    gold paragraphs, systems tuned by recall are left out. Without systems all tables are empty;
    raises UserError if there are some and none suits any of the data sets.
    """
    tuning, chosen, tests, scores = [], [], [], []
    pairs = [(system, bench) for system, bench in product(systems, benches) if suits(system, bench)]
    counts = [count_runs(bench, system, demonstration_sets) for system, bench in pairs]
    label, total = f"{benches[0].experiment if benches else ''}, runs", sum(map(sum, counts))
    work = f"{', '.join(bench.dataset for bench in benches)}, {len(systems)} systems"
    plan = report_cost(benches, work, most_of_plan(benches, systems, demonstration_sets))
    with plan, open_workers(benches) as workers, show_progress(label, total) as progress:
        progress(0, total)
        for system, bench in pairs:
            for setting in settings if len(settings := bench.settings(system)) > 1 else ():
                workers.hand_out(Run(bench, system, "dev", setting))
        for system, bench in pairs:
            best, table = tune(bench, system, workers)
            tuning.append(table)
            progress(sum(map(len, tuning)), total)
            named = {"dataset": bench.dataset, "system": system.name}
            chosen.append(named | {"k": None, "m": None} | best)
            shown = bench.demonstrated and system.shows_sets
            numbers = range(demonstration_sets) if shown else ()
            settings = [best | {"demonstration_set": number} for number in numbers] or [best]
            clear_runs(bench, system, "test", settings)
            for setting in settings:
                tests.append(Run(bench, system, "test", setting))
                workers.hand_out(tests[-1])
        for played in tests:
            scores.append(_wait_and_run(workers, played))
            progress(total - len(tests) + len(scores), total)
    if systems and not scores:
        raise UserError("found nothing to run, expected a bench and a system that suits its data")
    for bench in benches:
        if bench.dataset not in {row["dataset"] for row in chosen}:
            (bench.runs / "test").mkdir(parents=True, exist_ok=True)
            (bench.runs / "test" / NONE_SUITS).touch()
    tried = [table for table in tuning if len(table)] or tuning[:1]
    tried = pd.concat(tried, ignore_index=True) if tried else pd.DataFrame(columns=TUNED)
    chosen = pd.DataFrame(chosen, columns=None if chosen else ["dataset", "system", "k", "m"])
    return Compared(join_scores(scores), tried, chosen)


def suits(system: System, bench: Bench) -> bool:
    """Whether a system can be compared on a bench: not one tuned by recall without gold."""
    return system.tuned_by != RECALL or any(question.gold for question in bench.test)


def join_scores(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The scores of runs, as `run_system` returns them, in one table with one measure for all that
    answer a data set (`share_measure`); empty if there is none.
    """
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=SCORES)
    return table.assign(metric=share_measure)


def replay(folder: Path, ids: Collection[str] | None = None) -> dict[str, Outcome]:
    """Replay a run from its folder and the call cache; return the outcomes by question id, with
    prompts in their traces. Replies that are no longer in the cache are computed again. `ids`: only
    these questions.
    """
    about = read_about(folder)
    p = parameters_of(about)
    options = {name: about[name] for name in ("shown", "grid_of")}
    bench = open_bench(p, about["dataset"], about["experiment"], **options)
    [system] = choose_systems([about["system"]])
    build = program_of(bench, system, **about["setting"])
    played = Run(bench, system, about["part"], about["setting"])
    questions = {q.id: q for q in played.questions}
    if unknown := [id for id in ids or () if id not in questions]:
        expected = f"expected some of its {len(questions)} questions"
        raise UserError(f"{folder}: found no question {unknown[0]!r}, {expected}")
    wanted = questions if ids is None else ids
    return run({id: build(questions[id]) for id in wanted}, bench.backends, bench.calls)[0]
