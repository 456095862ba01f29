"""A model that writes nothing, or always the same, is told once a run; its texts are counted."""

import pytest

from ircotlib.program import Generate, Outcome, Retrieve, Sample, Sampled, Step
from ircotlib.running.silence import FEWEST, count_texts


def outcomes(texts, samples=()) -> dict[str, Outcome]:
    steps = [Step(Generate(f"Q: {n}"), text, False) for n, text in enumerate(texts)]
    steps += [
        Step(Sample(f"Q: {n}", 1), (Sampled(text, None),), False) for n, text in enumerate(samples)
    ]
    nothing = Step(Retrieve("x", 1), (), False)
    return {str(n): Outcome(str(n), None, (nothing, step, step)) for n, step in enumerate(steps)}


@pytest.mark.parametrize(
    ("texts", "samples", "counts", "named"),
    [
        (["", " \n"], [], (2, 2, 2), "all 2 texts of the model are empty; check the model"),
        ([], ["", ""], (2, 2, 1), "empty"),
        (["yes"] * FEWEST, [], (FEWEST, 0, 1), "the same, 'yes'; check"),
        (["yes"] * (FEWEST - 1), [], (FEWEST - 1, 0, 1), ""),
        (["", "Rome"], ["Rome"], (3, 1, 2), ""),
    ],
)
def test_empty_and_equal_texts_are_told_in_one_line(capsys, texts, samples, counts, named):
    counted = count_texts("hotpotqa test NoR QA", outcomes(texts, samples))
    assert tuple(counted["texts"].values()) == counts
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == bool(named) and named in "".join(lines)


def test_a_run_without_texts_has_no_count(capsys):
    retrieved = Step(Retrieve("x", 1), (), False)
    assert count_texts("OneR", {"q": Outcome("q", None, (retrieved,))}) == {}
    assert capsys.readouterr().err == ""
