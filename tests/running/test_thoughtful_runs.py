"""All systems of both papers with a model that thinks behind a server: the same predictions."""

from dataclasses import replace

import pytest
from pytest_httpserver import HTTPServer
from simulating import K, P
from thinking import CHATS, TAGS, THOUGHTS, Thinker

pytest.importorskip("openai", reason="needs the client: pip install -e '.[server]'")

from ircot_laboratory.simulated.reader import SURE
from ircotlib.results.abilities.simulation import Simulation, open_simulation

from ircotlib.engine.cache import Calls
from ircotlib.engine.scheduler import run
from ircotlib.experiment.setup import program_of
from ircotlib.generation.server import ServerModel
from ircotlib.program import Generate, Outcome, Sample, Step
from ircotlib.systems import all_systems

SYSTEMS = [*all_systems()]
WAYS = [(way, True) for way in CHATS] + [(way, False) for way in TAGS]
WAYS = [WAYS[number * 7 % len(WAYS)] for number in range(len(SYSTEMS))]  # each once or twice


@pytest.fixture(scope="module")
def httpserver():
    with HTTPServer(threaded=True) as server:
        yield server


def written(step: Step) -> list[tuple[str, float]]:
    """The texts of a step with what a model may write after the stop, and log-probabilities."""
    stop = step.request.stop
    after = "" if stop is None else f"{stop[0] if isinstance(stop, tuple) else chr(10)} And so on."
    if isinstance(step.request, Generate):
        return [(step.reply + after, -0.25)]
    return [(text + after, -0.25 if log == SURE else -0.75) for text, log in step.reply]


@pytest.mark.parametrize(("system", "way"), [*zip(SYSTEMS, WAYS, strict=True)], ids=str)
def test_thoughts_change_no_prediction(httpserver, system, way):
    """The simulated reader writes the texts; behind a server it thinks before each of them."""

    def play(bench) -> dict[str, Outcome]:
        build = program_of(bench, system, **({"k": K} if "k" in system.grid else {}))
        return run({q.id: build(q) for q in bench.test}, bench.backends, Calls())[0]

    httpserver.clear()
    system, (way, chat) = all_systems()[system], way
    bench = open_simulation(P.change(test=2, dev=0), Simulation("hotpotqa", system.name))
    alone, fake = play(bench), Thinker(httpserver, way)
    steps = [step for outcome in alone.values() for step in outcome.trace]
    steps = [step for step in steps if isinstance(step.request, Generate | Sample)]
    fake.texts = {str(step.request.prompt): written(step) for step in steps}
    thinks = play(replace(bench, model=ServerModel("m", fake.url, chat=chat)))
    for id, outcome in thinks.items():
        assert outcome.result == alone[id].result
        for step, other in zip(outcome.trace, alone[id].trace, strict=True):
            assert step.request == other.request
            if step.tokens and way != "hidden":
                assert {thought.strip() for thought in step.thoughts} == {THOUGHTS}
                assert step.tokens > len(THOUGHTS.split()) * len(step.thoughts)
    assert len(fake.asked) <= len(steps) + 8  # of those in flight until it is known to think
