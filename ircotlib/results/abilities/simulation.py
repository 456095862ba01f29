"""Simulates systems with the simulated reader, in all processes at once and without keeping runs;
their means, and what changes are worth.
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
from ircotlib.results.statistics import paired_difference, summarise
from ircotlib.running.bench import Bench, open_bench
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
    numbers, groups = {}, defaultdict(list)
    for _, simulation in points:
        number = numbers.setdefault(repr(simulation), len(numbers))
        group = groups[simulation.dataset, simulation.system]  # these retrieve alike
        if (number, simulation) not in group:
            group.append((number, simulation))
    tables = _simulate_groups(p, [*groups.values()])
    labels = [{**label, "number": numbers[repr(one)]} for label, one in points]
    rows = pd.concat(tables, ignore_index=True)
    labels = pd.DataFrame(labels)
    rows = rows.drop(columns=labels.columns.drop("number"), errors="ignore")
    return labels.merge(rows, on="number").drop(columns="number")


def _simulate_groups(p: Parameters, groups: Sequence[Sequence]) -> list[pd.DataFrame]:
    """The rows of each group, which one process simulates, one after the other."""
    cores = count_cores()
    jobs = [(p, group) for group in groups]
    futures, done, tables = [], 0, []
    if cores > 1 and len(jobs) > 1:
        pool = open_processes(_simulate_group, cores)
        futures = [pool.submit(job) for job in jobs]
    try:
        with show_progress("simulations", sum(map(len, groups))) as progress:
            for number, job in enumerate(jobs):
                tables.append(futures[number].result() if futures else _simulate_group(job))
                done += len(groups[number])
                progress(done, sum(map(len, groups)))
    finally:
        for future in futures:  # after an error or an interrupt
            future.cancel()
    return tables


def _simulate_group(job: tuple) -> pd.DataFrame:
    p, group = job
    tables = []
    for seed in range(p.seed, p.seed + p.abilities_seeds):
        known = {}
        for number, simulation in group:
            rows = _simulate(p.change(seed=seed), simulation, known)
            rows["id"] = f"{seed} " + rows["id"]
            tables.append(rows.assign(number=number))
    return pd.concat(tables, ignore_index=True)


def open_simulation(p: Parameters, simulation: Simulation) -> Bench:
    """The bench on which a simulation takes place."""
    p = p.change(model=SIMULATED, dials=dict(simulation.dials), **simulation.changes)
    bench = open_bench(p, simulation.dataset, "abilities")
    bench = replace(bench, model=open_simulated_reader(p, simulation.stages))
    if simulation.retrieval:
        retriever = FlawedRetriever(bench.retriever, **simulation.retrieval, seed=p.seed)
        bench = replace(bench, retriever=retriever)
    return bench


def _simulate(p: Parameters, simulation: Simulation, known: dict) -> pd.DataFrame:
    """Simulate a system on each question, unless an earlier simulation of it must have gone the
    same way: its dials were others, but every number drawn in the question falls on the same side
    of both. So if the lowest one for misreading was 0.3, one with misreads 0.2 gives the row of one
    with 0.1.

    `known`: those rows, each with the bounds of the dials between which it holds, by question and
    by all of a simulation but its dials.
    """
    bench = open_simulation(p, simulation)
    build = program_of(bench, all_systems()[simulation.system], **simulation.setting)
    metric = measures_of(simulation.dataset)[0]
    about = {"dataset": simulation.dataset, "system": simulation.system, "metric": metric}
    dials = defaultdict(lambda: bench.model.dials, bench.model.stages)
    known = known.setdefault(repr(replace(simulation, dials={}, stages={})), {})
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
            row = {"id": question.id, "kind": question.kind}
            row |= {"score": scores[metric], "recall": scores["recall"]}
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


def average(scores: pd.DataFrame, *by: str) -> pd.DataFrame:
    """The mean score of each group in percent, with its 95% bootstrap interval over the questions
    of all its data sets and seeds.
    """
    ids = scores["dataset"] + " " + scores["id"]
    scores = scores.assign(id=ids, metric="score", demonstration_set=0)
    return summarise(scores, by).drop(columns=["metric", "deviation"])


def weigh(p: Parameters, changes: Sequence[tuple[Mapping, Simulation, Simulation]]) -> pd.DataFrame:
    """What changes are worth: a row for each, with its labels; the mean scores `before` and `after`
    in percent, and the `gain` in points, with the 95% interval of the paired difference.
    """
    points = []
    for number, (_, before, after) in enumerate(changes):
        points += [({"change": number, "at": 0}, before), ({"change": number, "at": 1}, after)]
    scores = simulate(p, points)
    rows = []
    for (labels, *_), (_, both) in zip(changes, scores.groupby("change"), strict=True):
        before, after = (
            100 * both[both["at"] == at].set_index("id")["score"].sort_index() for at in (0, 1)
        )
        gain = paired_difference(after, before)
        row = {"n": len(both) // 2, "before": before.mean(), "after": after.mean()}
        rows.append({**labels} | row | {"gain": gain.mean, "low": gain.low, "high": gain.high})
    return pd.DataFrame(rows).round(2)


def describe_simulations(p: Parameters) -> str:
    """What a figure was made with."""
    seeds = f"{p.abilities_seeds} seed{'s' if p.abilities_seeds > 1 else ''}"
    return f"simulated reader, {p.abilities_test} questions a data set, {seeds}"
