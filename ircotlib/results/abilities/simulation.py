"""Simulates systems with the simulated reader, in all processes, and keeps scores, not runs."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path

import pandas as pd

from ircotlib.datasets.scoring import score
from ircotlib.files.sources import hash_sources
from ircotlib.parameters import SIMULATED, Parameters
from ircotlib.playing.plays import by_kind
from ircotlib.program import Program, Reply, Request, Retrieve, deepen
from ircotlib.results import head_to_head
from ircotlib.results.abilities.flawed_retriever import FlawedRetriever
from ircotlib.results.head_to_head import measures_of
from ircotlib.results.kept_plays import play_groups, read_kept
from ircotlib.running.bench import Bench, open_bench
from ircotlib.running.laboratory import open_simulated_reader
from ircotlib.running.programs import program_of
from ircotlib.systems import ANSWER, CHAINED, CLOSED, ONCE, STEPWISE, System, all_systems

# that simulates, and chooses the measure
CODE = *sorted(Path(__file__).parent.glob("*.py")), Path(head_to_head.__file__)
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
    opened = {dataset: open_seeds(p, dataset) for dataset, _ in groups}
    look = cache(hash_sources)  # once for all of them
    kept = {
        (dataset, system): read_kept([*opened[dataset].values()], [system], CODE, look)
        for dataset, system in groups
    }
    play_groups("simulations", groups, kept, _simulate_group, p)
    rows = []
    for (dataset, system), simulations in groups.items():
        asked = [(seed, q) for seed, bench in opened[dataset].items() for q in bench.test]
        about = {"dataset": dataset, "system": system, "metric": measures_of(dataset)[0]}
        about |= {"id": [f"{seed} {q.id}" for seed, q in asked], "kind": [q.kind for _, q in asked]}
        for text in simulations:
            scores = pd.DataFrame(kept[dataset, system].results[text], columns=["score", "recall"])
            rows.append(scores.assign(**about, number=numbers[text]))
    labels = [{**label, "number": numbers[repr(one)]} for label, one in points]
    rows = pd.concat(rows, ignore_index=True)
    labels = pd.DataFrame(labels)
    rows = rows.drop(columns=labels.columns.drop("number"), errors="ignore")
    return labels.merge(rows, on="number").drop(columns="number")


def open_seeds(p: Parameters, dataset: str) -> dict[int, Bench]:
    """The questions and the retriever of a data set by seed."""
    seeds = range(p.seed, p.seed + p.abilities_seeds)
    opened = {seed: p.change(seed=seed) for seed in seeds}
    return {s: open_bench(q, dataset, "abilities", with_model=False) for s, q in opened.items()}


def _simulate_group(job: tuple) -> dict[str, list]:
    """Of simulations of one data set and system, pairs of score and recall, seed after seed."""
    p, _, simulations = job
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
