"""A model that writes nothing, or always the same, is told once a run; its texts are counted, and
the demonstrations that its prompts show.
"""

from dataclasses import replace

import pytest

from ircotlib.data import Demonstration, Paragraph, Question
from ircotlib.datasets import find_dataset
from ircotlib.experiment.runs import (
    FEWEST,
    Finished,
    Run,
    count_demonstrations,
    count_texts,
    describe_stages,
    find_oddities,
    find_silence,
    find_unknown,
)
from ircotlib.experiment.setup import Setup
from ircotlib.files.paths import MODELS
from ircotlib.generation.local import LocalModel
from ircotlib.parameters import read_parameters
from ircotlib.program import (
    Generate,
    Message,
    Outcome,
    Retrieve,
    Sample,
    Sampled,
    Step,
    with_purpose,
)
from ircotlib.prompting.prompt import Prompt
from ircotlib.systems import choose_systems


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
def test_empty_and_equal_texts_are_told_in_one_line(texts, samples, counts, named):
    written = outcomes(texts, samples)
    assert tuple(count_texts(written)["texts"].values()) == counts
    silence = find_silence(written)
    assert bool(silence) == bool(named) and named in silence and "\n" not in silence


def test_a_run_without_texts_has_no_count():
    retrieved = Step(Retrieve("x", 1), (), False)
    without = {"q": Outcome("q", None, (retrieved,))}
    assert count_texts(without) == {} and find_silence(without) == ""


def test_the_demonstrations_that_fit_are_counted_in_all_prompts_and_in_the_last():
    """What was given is not what is shown: paragraphs take the place of demonstrations."""
    page, question = Paragraph("p", "Page", "word " * 20), Question("q", "Who?", ("A",), (), "own")
    given = [
        Demonstration(str(n), (page,), "Who?", "It is. So the answer is: A.") for n in range(9)
    ]
    prompt = Prompt(given, lambda text: len(text.split()), max_prompt_tokens=150)
    one, two, none = (prompt(question, [page] * n) for n in (1, 3, 5))
    for text, purpose in ((one, "reads"), (two, "writes"), (none, "writes")):
        assert with_purpose(text, purpose) is text
    prompts = {"q": [Generate(one), Sample(two, 2)], "r": [Generate(none)], "s": []}
    prompts["t"] = [Generate((Message("user", "no writer says"),)), Generate("of it")]
    outcomes = {
        id: Outcome(
            id, None, (Step(Retrieve("x", 1), (), False), *(Step(r, "", False) for r in rs))
        )
        for id, rs in prompts.items()
    }
    shown = [text.count("So the answer is: A.") for text in (one, two, none)]
    assert shown == sorted(shown, reverse=True) and shown[0] > shown[1] > shown[2] == 0
    assert [text.demonstrations for text in (one, two, none)] == shown
    counted = count_demonstrations(outcomes)["demonstrations"]
    assert counted["all"] == round((shown[0] + shown[1]) / 3, 2)
    assert counted["last"] == round(shown[1] / 2, 2)
    assert counted["stages"] == {
        "reads": {"mean": shown[0], "least": shown[0], "most": shown[0]},
        "writes": {"mean": round(shown[1] / 2, 2), "least": 0, "most": shown[1]},
    }
    assert (counted["last_least"], counted["last_most"]) == (0, shown[1])
    assert count_demonstrations({"s": outcomes["s"]}) == {} == count_demonstrations({})
    asked = {"kind": ["Generate"], "stop": [None], "max_tokens": [200]}
    both = asked | {"kind": ["Sample", "Generate"], "n": [2], "temperature": [0.7]}
    assert describe_stages(outcomes) == {"stages": {"reads": asked, "writes": both}}
    assert describe_stages({"s": outcomes["s"]}) == {} == describe_stages({})


PAGE = (Paragraph("p", "T", "t"),)
MODEL = LocalModel(MODELS / "mini-base")


def tried(*found: tuple) -> Outcome:
    steps = tuple(Step(Retrieve(f"query {n}", 1), reply, False) for n, reply in enumerate(found))
    return Outcome("q", None, steps)


@pytest.mark.parametrize(
    ("text", "outcome", "model", "told"),
    [
        (
            "Who founded Beyoncé, Inc.?",
            tried(PAGE),
            MODEL,
            "mini-base has never read “Beyoncé”",
        ),
        ("日本の首都は?", tried(), MODEL, "has never read “日本の首都は”"),
        ("Who founded it?", tried(PAGE, ()), MODEL, ""),
        ("Who founded it?", tried((), PAGE), MODEL, "no paragraph was found for “query 0”"),
        (
            "Who founded Beyoncé?",
            tried(()),
            object(),
            "no paragraph was found",
        ),  # a server's model
        ("Who founded Beyoncé?", tried(PAGE), None, ""),
    ],
)
def test_what_a_system_could_not_know_is_told(text, outcome, model, told):
    question = Question("q", text, ("?",), (), "own")
    found = find_unknown(question, outcome, model)
    assert told in found and bool(told) == bool(found)
    known = Question("k", "Who founded it?", ("?",), (), "own")
    outcomes = {"q": outcome, "k": tried(PAGE)}
    bench = Setup(read_parameters("mini"), find_dataset("own"), "x", model=model)

    def odd(*questions: Question) -> list[str]:
        run = Run(replace(bench, test=questions), choose_systems(["OneR"])[0], "test", {})
        return find_oddities(Finished(run, outcomes, {}, 0.0))

    assert odd(question, known) == []  # half of the questions
    assert len(odd(question)) == bool(told)
    assert all(line.startswith("1 of 1 questions are about what") for line in odd(question))
