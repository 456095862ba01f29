"""Plays systems with the simulated reader, in this process, for tests."""

from dataclasses import replace

from ircotlib.parameters import SIMULATED, Parameters, read_parameters
from ircotlib.playing.cache import Calls
from ircotlib.playing.scheduler import run
from ircotlib.program import Outcome
from ircotlib.running.bench import Bench, open_bench
from ircotlib.running.laboratory import open_simulated_reader
from ircotlib.running.programs import program_of
from ircotlib.systems import System, all_systems

K = 6  # paragraphs of a retrieval, for the systems that are tuned
P = read_parameters("mini")
SYSTEMS = [system for system in all_systems().values() if system.tuned_by != "recall"]
NAMES = [system.name for system in SYSTEMS]
SETTINGS = {system.name: {"k": K} if "k" in system.grid else {} for system in SYSTEMS}


def play(
    system: System | str, dataset: str, questions: int, stages=None, **dials: float
) -> tuple[Bench, dict[str, Outcome]]:
    """The bench, and the outcome of each of its questions by id."""
    system = all_systems()[system] if isinstance(system, str) else system
    bench = open_simulation(P.change(test=questions, dev=0), dataset, dials, stages or {})
    build = program_of(bench, system, **SETTINGS.get(system.name, {}))
    return bench, run({q.id: build(q) for q in bench.test}, bench.backends, Calls(None))[0]


def open_simulation(p: Parameters, dataset: str, dials=(), stages=()) -> Bench:
    """The bench on which a simulation takes place."""
    p = p.change(model=SIMULATED, dials=dict(dials))
    bench = open_bench(p, dataset, "simulated")
    return replace(bench, model=open_simulated_reader(p, dict(stages)))
