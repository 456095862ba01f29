"""A model that writes nothing, or always the same, is told once a run; its texts are counted, and
the demonstrations that its prompts show.
"""

import pytest

from ircotlib.data import Demonstration, Paragraph, Question
from ircotlib.program import Generate, Message, Outcome, Retrieve, Sample, Sampled, Step
from ircotlib.prompting.prompt import Prompt
from ircotlib.running.silence import FEWEST, count_demonstrations, count_texts


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


def test_the_demonstrations_that_fit_are_counted_in_all_prompts_and_in_the_last():
    """What was given is not what is shown: paragraphs take the place of demonstrations."""
    page, question = Paragraph("p", "Page", "word " * 20), Question("q", "Who?", ("A",), (), "own")
    given = [
        Demonstration(str(n), (page,), "Who?", "It is. So the answer is: A.") for n in range(9)
    ]
    prompt = Prompt(given, lambda text: len(text.split()), max_prompt_tokens=150)
    one, two, none = (prompt(question, [page] * n) for n in (1, 3, 5))
    prompts = {"q": [Generate(one), Sample(two, 2)], "r": [Generate(none)], "s": []}
    prompts["t"] = [Generate((Message("user", one),))]
    outcomes = {
        id: Outcome(
            id, None, (Step(Retrieve("x", 1), (), False), *(Step(r, "", False) for r in rs))
        )
        for id, rs in prompts.items()
    }
    shown = [text.count("So the answer is: A.") for text in (one, two, none)]
    assert shown == sorted(shown, reverse=True) and shown[0] > shown[1] > shown[2] == 0
    counted = count_demonstrations(outcomes)["demonstrations"]
    assert counted["all"] == round((2 * shown[0] + shown[1]) / 4, 2)
    assert counted["last"] == round((shown[1] + shown[0]) / 3, 2)
    assert count_demonstrations({"s": outcomes["s"]}) == {} == count_demonstrations({})
