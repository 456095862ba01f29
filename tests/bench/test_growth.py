"""The bench of what a question costs outside the model."""

import pytest

from bench import growth
from ircotlib.data import Question
from ircotlib.experiment import experiment


@pytest.mark.parametrize(("name", "kinds"), [("IRCoT QA", 9), ("SearChain", 2)])
def test_scripted_runs_ask_what_the_systems_ask(monkeypatch, name, kinds):
    finished = []
    monkeypatch.setattr(growth, "carry_out", lambda run: finished.append(experiment.play(run)))
    found = growth.measure("scripted", name, 12, 8, 300)
    assert found.seconds > 0 == found.passes and found.kb > 10_000
    [played] = finished
    assert len(played.outcomes) == 12
    steps = [len(outcome.trace) for outcome in played.outcomes.values()]
    assert set(steps) == {kinds}
    assert played.counts["Generate"]["batches"] >= 2  # of eight


@pytest.mark.parametrize(("writer", "prompt"), [("T5", 900), ("Llama", 500)])
def test_random_models_are_asked_as_much_and_their_passes_are_counted_apart(
    monkeypatch, writer, prompt
):
    finished = []
    monkeypatch.setattr(growth, "carry_out", lambda run: finished.append(experiment.play(run)))
    short, long = (growth.measure(writer, "IRCoT QA", 6, 4, tokens) for tokens in (300, 3000))
    for found, played, tokens in zip((short, long), finished, (300, 3000), strict=True):
        counts = played.counts["Generate"]
        assert counts["requests"] == counts["computed"] == 6 * 9 and counts["batches"] >= 9
        assert counts["tokens"] == 6 * 9 * growth.WRITTEN
        assert abs(counts["prompt_tokens"] / (6 * 9) - (prompt - 300 + 0.94 * tokens)) < 200
        assert found.seconds > 0 < found.passes
    if writer == "T5":  # which reads all of it each time
        assert long.passes > 2 * short.passes


def test_questions_are_asked_again_with_numbers():
    asked = [Question(f"q{n}", f"Who is {n}?", ("it",), (), "musique") for n in range(2)]
    more = growth.ask_again(asked, 5)
    assert len({question.id for question in more}) == len({question.text for question in more}) == 5
