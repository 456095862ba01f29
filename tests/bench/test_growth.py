"""The bench of what a question costs outside the model."""

import pytest

from bench import growth
from ircotlib.data import Question
from ircotlib.running import experiment


@pytest.mark.parametrize(("name", "kinds"), [("IRCoT QA", 9), ("SearChain", 2)])
def test_scripted_runs_ask_what_the_systems_ask(monkeypatch, name, kinds):
    finished = []
    monkeypatch.setattr(growth, "carry_out", lambda run: finished.append(experiment.play(run)))
    found = growth.measure(name, 12, 8, 300)
    assert found["seconds"] > 0 and found["kb"] > 10_000
    [played] = finished
    assert len(played.outcomes) == 12
    steps = [len(outcome.trace) for outcome in played.outcomes.values()]
    assert set(steps) == {kinds}
    assert played.counts["Generate"]["batches"] >= 2  # of eight


def test_questions_are_asked_again_with_numbers():
    asked = [Question(f"q{n}", f"Who is {n}?", ("it",), (), "musique") for n in range(2)]
    more = growth.ask_again(asked, 5)
    assert len({question.id for question in more}) == len({question.text for question in more}) == 5
