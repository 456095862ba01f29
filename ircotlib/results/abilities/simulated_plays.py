"""Plays systems with the simulated reader, in all processes at once and without keeping runs; and
their means.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import pandas as pd

from ircotlib.comparing.pool import open_processes
from ircotlib.datasets.scoring import score
from ircotlib.files.processes import count_cores
from ircotlib.files.progress import show_progress
from ircotlib.parameters import SIMULATED, Parameters
from ircotlib.playing.plays import by_kind
from ircotlib.program import Program, Reply, Request, Retrieve, deepen
from ircotlib.results.abilities.flawed_retriever import FlawedRetriever
from ircotlib.results.head_to_head import measures_of
from ircotlib.results.statistics import summarise
from ircotlib.running.bench import Bench, open_bench
from ircotlib.running.laboratory import open_simulated_reader
from ircotlib.running.programs import program_of
from ircotlib.systems import RECALL, all_systems


@dataclass(frozen=True)
class SimulatedPlay:
    """A system on a data set's test questions, with a reader's dials and a setting.

    `dials`: those that differ from perfect reading without knowledge; `stages`: those that differ
    again in single stages ("module/stage"). `setting`: keywords of the system's program, such as k;
    other keywords have the system's defaults, not tuned ones. `changes`: of parameters.
    `retrieval`: errors of the retriever, keywords of FlawedRetriever.
    """

    dataset: str
    system: str
    dials: Mapping[str, float] = field(default_factory=dict)
    setting: Mapping[str, object] = field(default_factory=dict)
    changes: Mapping[str, object] = field(default_factory=dict)
    stages: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    retrieval: Mapping[str, float] = field(default_factory=dict)


def play_all(
    p: Parameters, plays: Sequence[SimulatedPlay], questions: int, dev: int = 0
) -> pd.DataFrame:
    """Play systems on `questions` test questions of their data sets, or on all if there are fewer.
    `dev`: questions of the data sets that are kept for tuning, and not played.

    Return one row per play and question: `play`, its number; dataset, system and metric; the id of
    the question, its `score` and `recall`, from 0 to 1. All systems of a data set are scored alike,
    by its first measure in 13_head_to_head. Nothing depends on the number of processes.
    """
    p = p.change(test=questions, dev=dev)
    # plays that retrieve alike go to the same process one after the other
    groups = {}
    for number, play in enumerate(plays):
        groups.setdefault((play.dataset, play.system), []).append((p, number, play))
    cores = count_cores()
    futures = []
    if cores > 1 and len(groups) > 1:
        pool = open_processes(_play_group, cores)
        futures = [pool.submit(group) for group in groups.values()]
    answered = (future.result() for future in futures)
    tables = []
    done = 0
    try:
        with show_progress("plays", len(plays)) as progress:
            for group in groups.values():
                tables.append(next(answered) if futures else _play_group(group))
                done += len(group)
                progress(done, len(plays))
    finally:
        for future in futures:  # after an error or an interrupt
            future.cancel()
    return pd.concat(tables).sort_values("play", kind="stable", ignore_index=True)


def _play_group(jobs: Sequence[tuple]) -> pd.DataFrame:
    known = {}
    return pd.concat([_play(*job, known) for job in jobs], ignore_index=True)


def open_play(p: Parameters, play: SimulatedPlay) -> Bench:
    """The bench on which a play takes place."""
    p = p.change(model=SIMULATED, dials=dict(play.dials), **play.changes)
    bench = open_bench(p, play.dataset, "abilities")
    bench = replace(bench, model=open_simulated_reader(p, play.stages))
    if play.retrieval:
        retriever = FlawedRetriever(bench.retriever, **play.retrieval, seed=p.seed)
        bench = replace(bench, retriever=retriever)
    return bench


def _play(p: Parameters, number: int, play: SimulatedPlay, known: dict) -> pd.DataFrame:
    """Play a system on each question, unless an earlier play of it must have gone the same way: its
    dials were others, but every number drawn in the question falls on the same side of both. So if
    the lowest one for misreading was 0.3, a play with misreads 0.2 gives the row of one with 0.1.

    `known`: those rows, each with the bounds of the dials between which it holds, by question and
    by all of a play but its dials.
    """
    bench = open_play(p, play)
    system = all_systems()[play.system]
    build = program_of(bench, system, **play.setting)
    metric = RECALL if system.tuned_by == RECALL else measures_of(play.dataset)[0]
    about = {"play": number, "dataset": play.dataset, "system": play.system, "metric": metric}
    dials = defaultdict(lambda: bench.model.dials, bench.model.stages)
    known = known.setdefault(repr(replace(play, dials={}, stages={})), {})
    rows = []
    for question in bench.test:
        for decided, row in known.setdefault(question.id, []):
            of_stages = ((getattr(dials[s], dial), *ends) for (s, dial), ends in decided.items())
            if all(low < share <= high for share, low, high in of_stages):
                break
        else:
            bench.model.decided.clear()
            bench.extractor.decided.clear()
            scores = score(question, play_alone(build(question), bench.backends))
            row = {"id": question.id, "score": scores[metric], "recall": scores["recall"]}
            known[question.id].append((bench.model.decided | bench.extractor.decided, row))
        rows.append(about | row)
    return pd.DataFrame(rows)


def play_alone(program: Program, backends: Sequence) -> object:
    """The result of a program, served by backends that need no batches (see `scheduler.run`)."""
    services = by_kind(backends, {})
    reply = None
    while True:
        try:
            request = program.send(reply)
        except StopIteration as end:
            return end.value
        backend = services[type(request)].backend
        is_simulated = backend.fingerprint is None
        sent = deepen(request, getattr(backend, "depth", 0))
        reply = backend.reply(sent) if is_simulated else _ask(backend, sent)
        if isinstance(request, Retrieve):
            reply = reply[: request.k]


@lru_cache(maxsize=100_000)  # systems retrieve much the same
def _ask(backend: object, request: Request) -> Reply:
    [(_, reply)] = backend.answer([request])
    if isinstance(reply, Exception):
        raise reply
    return backend.decode(reply)


def play_points(p: Parameters, points: Sequence[tuple[Mapping, SimulatedPlay]]) -> pd.DataFrame:
    """The rows of `play_all`, with the labels of each point, such as panel and x, as columns. Equal
    plays are made once.
    """
    plays = {repr(play): play for _, play in points}
    number = {text: n for n, text in enumerate(plays)}
    rows = play_all(p, list(plays.values()), p.abilities_test)
    labels = pd.DataFrame([{**label, "play": number[repr(play)]} for label, play in points])
    rows = rows.drop(columns=labels.columns.drop("play"), errors="ignore")
    return labels.merge(rows, on="play")


def average(scores: pd.DataFrame, *by: str) -> pd.DataFrame:
    """The mean score of each group in percent, with its 95% bootstrap interval over the questions
    of all its data sets.
    """
    ids = scores["dataset"] + " " + scores["id"]
    scores = scores.assign(id=ids, metric="score", demonstration_set=0)
    return summarise(scores, by).drop(columns=["metric", "deviation"])


def describe_plays(p: Parameters) -> str:
    """What a figure was made with."""
    return f"simulated reader, n = {p.abilities_test} questions a data set"
