"""Simulates systems with the simulated reader, in all processes, and keeps scores, not runs."""

import os
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache

import pandas as pd

from ircotlib.comparing.pool import open_processes
from ircotlib.datasets.scoring import score
from ircotlib.files.processes import count_cores
from ircotlib.files.progress import show_progress
from ircotlib.files.sources import hash_sources
from ircotlib.parameters import SIMULATED, Parameters
from ircotlib.playing.plays import by_kind
from ircotlib.program import Program, Reply, Request, Retrieve, deepen
from ircotlib.results.abilities.flawed_retriever import FlawedRetriever
from ircotlib.results.abilities.kept import KeptScores, read_kept
from ircotlib.results.head_to_head import measures_of
from ircotlib.running.bench import Bench, open_bench
from ircotlib.running.current import REPLAY, as_read
from ircotlib.running.laboratory import open_simulated_reader
from ircotlib.running.programs import program_of
from ircotlib.systems import ANSWER, CHAINED, CLOSED, ONCE, STEPWISE, System, all_systems

MANY = "many"  # retrievals
CLASSES = {CLOSED: "none", ONCE: "one", STEPWISE: MANY, CHAINED: MANY}


@dataclass(frozen=True)
class Simulation:
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


def simulated_systems() -> list[System]:
    """All systems that answer."""
    return [system for system in all_systems().values() if system.tuned_by == ANSWER]


def class_of(system: System) -> str:
    """How often a system retrieves, by its family: none, one or MANY; SearChain's without retrieval
    does not.
    """
    return CLASSES[CLOSED if "w/o IR" in system.name else system.family[0]]


def setting_of(p: Parameters, system: System) -> dict:
    """The setting in which a system is simulated, the same for all readers: the last K of its grid,
    and else its paper's.
    """
    grid = p.grid(system.module, "k", system.grid.get("k", ()))
    return {"k": grid[-1]} if grid else {}


def simulate(p: Parameters, points: Sequence[tuple[Mapping, Simulation]]) -> pd.DataFrame:
    """Simulate each point on `abilities_test` questions, with each of `abilities_seeds` seeds, of
    which both the questions and the errors are drawn.

    Return one row per point, seed and question, with the labels of the point as columns, such as
    panel and x; dataset, system and metric; the `id` of the question, after its seed, and its
    `kind`; its `score` and `recall`, from 0 to 1. All systems of a data set are scored alike, by
    its first measure in 13_head_to_head. Nothing depends on the number of processes; equal points
    are simulated once.
    """
    p = p.change(test=p.abilities_test, dev=0)
    numbers, groups = {}, defaultdict(dict)
    for _, simulation in points:
        numbers.setdefault(repr(simulation), len(numbers))
        # these retrieve alike
        groups[simulation.dataset, simulation.system][repr(simulation)] = simulation
    rows = []
    for (dataset, system), kept in simulate_groups(p, groups).items():
        ids, kinds = zip(*kept.questions, strict=True)
        for text in groups[dataset, system]:
            score, recall = zip(*kept.scores[text], strict=True)
            about = {"dataset": dataset, "system": system, "metric": kept.metric, "id": ids}
            about |= {"kind": kinds, "score": score, "recall": recall, "number": numbers[text]}
            rows.append(pd.DataFrame(about))
    labels = [{**label, "number": numbers[repr(one)]} for label, one in points]
    rows = pd.concat(rows, ignore_index=True)
    labels = pd.DataFrame(labels)
    rows = rows.drop(columns=labels.columns.drop("number"), errors="ignore")
    return labels.merge(rows, on="number").drop(columns="number")


def simulate_groups(p: Parameters, groups: Mapping[tuple, Mapping]) -> dict[tuple, KeptScores]:
    """The scores of simulations, given by their texts, of each data set and system: those that are
    kept, and the others, each group of which one process simulates, one after the other. With
    REPLAY, all are simulated, and stderr says what differs.
    """
    look = cache(hash_sources)  # once for all of them
    kept = {group: read_kept(p, *group, look) for group in groups}
    jobs = {}
    for group, several in groups.items():
        known = () if os.environ.get(REPLAY) else kept[group].scores
        if lacking := {text: one for text, one in several.items() if text not in known}:
            jobs[group] = p, lacking
    total = sum(len(lacking) for _, lacking in jobs.values())
    cores, futures = count_cores(), {}
    if cores > 1 and len(jobs) > 1:
        pool = open_processes(_simulate_group, cores)
        futures = {group: pool.submit(job) for group, job in jobs.items()}
    try:
        with show_progress("simulations", total) as progress:
            done = 0
            for group, job in jobs.items():
                scores = futures[group].result() if futures else _simulate_group(job)
                _tell_differences(group, kept[group].scores, scores)
                kept[group].scores.update(scores)
                kept[group].write()
                done += len(scores)
                progress(done, total)
    finally:
        for future in futures.values():  # after an error or an interrupt
            future.cancel()
    return kept


def _tell_differences(group: tuple, before: Mapping[str, list], now: Mapping[str, list]) -> None:
    differing = [text for text in now if as_read(now[text]) != before.get(text, as_read(now[text]))]
    if differing:
        told = f"simulated again, {len(differing)} of {len(now)} differ from those kept"
        print(f"{' '.join(group)}: {told}, such as {differing[0]}", file=sys.stderr, flush=True)


def _simulate_group(job: tuple) -> dict[str, list]:
    """The scores of simulations of one data set and system, as KeptScores has them."""
    p, simulations = job
    scores = {text: [] for text in simulations}
    for seed in range(p.seed, p.seed + p.abilities_seeds):
        known = {}
        for text, simulation in simulations.items():
            scores[text] += _simulate(p.change(seed=seed), simulation, known)
    return scores


def open_simulation(p: Parameters, simulation: Simulation) -> Bench:
    """The bench on which a simulation takes place."""
    p = p.change(model=SIMULATED, dials=dict(simulation.dials), **simulation.changes)
    bench = open_bench(p, simulation.dataset, "abilities")
    bench = replace(bench, model=open_simulated_reader(p, simulation.stages))
    if simulation.retrieval:
        retriever = FlawedRetriever(bench.retriever, **simulation.retrieval, seed=p.seed)
        bench = replace(bench, retriever=retriever)
    return bench


def _simulate(p: Parameters, simulation: Simulation, known: dict) -> list[tuple]:
    """The score and the recall of a system on each question, played unless an earlier simulation
    must have gone the same way: its dials were others, but every number drawn in the question falls
    on the same side of both. So if the lowest one for misreading was 0.3, one with misreads 0.2
    gives the pair of one with 0.1.

    `known`: those pairs, each with the bounds of the dials between which it holds, by question and
    by all of a simulation but its dials.
    """
    bench = open_simulation(p, simulation)
    build = program_of(bench, all_systems()[simulation.system], **simulation.setting)
    metric = measures_of(simulation.dataset)[0]
    dials = defaultdict(lambda: bench.model.dials, bench.model.stages)
    known = known.setdefault(repr(replace(simulation, dials={}, stages={})), {})
    pairs = []
    for question in bench.test:
        for decided, pair in known.setdefault(question.id, []):
            of_stages = ((getattr(dials[s], dial), *ends) for (s, dial), ends in decided.items())
            if all(low < share <= high for share, low, high in of_stages):
                break
        else:
            bench.model.decided.clear()
            bench.extractor.decided.clear()
            scores = score(question, play_alone(build(question), bench.backends))
            pair = scores[metric], scores["recall"]
            known[question.id].append((bench.model.decided | bench.extractor.decided, pair))
        pairs.append(pair)
    return pairs


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


def describe_simulations(p: Parameters) -> str:
    """What a figure was made with."""
    seeds = f"{p.abilities_seeds} seed{'s' if p.abilities_seeds > 1 else ''}"
    return f"simulated reader, {p.abilities_test} questions a data set, {seeds}"
