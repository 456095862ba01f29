"""Plays systems with the simulated reader, in this process, for tests."""

from ircotlib.results.abilities.simulation import Simulation, open_simulation

from ircotlib.engine.cache import Calls
from ircotlib.engine.scheduler import run
from ircotlib.experiment.setup import Setup, program_of
from ircotlib.parameters import read_parameters
from ircotlib.program import Outcome
from ircotlib.systems import System, all_systems

K = 6  # paragraphs of a retrieval, for the systems that are tuned
P = read_parameters("mini")
SYSTEMS = [system for system in all_systems().values() if system.tuned_by != "recall"]
NAMES = [system.name for system in SYSTEMS]
SETTINGS = {system.name: {"k": K} if "k" in system.grid else {} for system in SYSTEMS}


def play(
    system: System | str, dataset: str, questions: int, stages=None, **dials: float
) -> tuple[Setup, dict[str, Outcome]]:
    """The bench, and the outcome of each of its questions by id."""
    system = all_systems()[system] if isinstance(system, str) else system
    about = Simulation(dataset, system.name, dials, stages=stages or {})
    bench = open_simulation(P.change(test=questions, dev=0), about)
    build = program_of(bench, system, **SETTINGS.get(system.name, {}))
    return bench, run({q.id: build(q) for q in bench.test}, bench.backends, Calls(None))[0]
