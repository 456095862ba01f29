"""The prompts of systems that do not retrieve, and our own demonstrations in them."""

import pytest
from replying import CAPITAL as QUESTION
from replying import CAPITAL_ASKED as ASKED
from replying import OSLO, own_demonstrations

from ircotlib.prompting.prompt import Prompt, read_template, render
from ircotlib.systems import FOUR_EXAMPLES
from ircotlib.systems.cot import read_answer
from ircotlib.systems.self_ask import read_asking
from ircotlib.text import list_items, normalise_answer

SHOWN = "Grieg was Norwegian.\n\nAnswer 2: Oslo is the capital of Norway."
PLAN = "Plan:\n1. Find the country of Grieg.\n2. Find its capital."


def rendered(stage, *given, **fields):
    """The prompt of "system/stage" with one demonstration."""
    template = read_template(*stage.split("/"))
    return Prompt(["<shown>"], len, template, 10_000)(QUESTION, *given, **fields)


TRIGGER = "Let's first understand the problem and devise a plan to solve the problem. "
TRIGGER += "Then, let's carry out the plan to solve the problem step by step."
GIVEN = "Wikipedia Title: Oslo\nOslo is the capital of Norway.\n\n"
STEPS = f"Q: {ASKED}\nA: Let's think step by step."
NEEDED = f"Question: {ASKED}\nAre follow up questions needed here:"
RENDERED = [  # a stage, what it is given, its prompt
    (("direct/direct",), {}, f"Q: {ASKED}\nA:"),
    (("cot/cot",), {}, f"Q: {ASKED}\nA:"),
    (("auto_cot/chain",), {}, STEPS),
    (("auto_cot/chain", (), ("One.\nTwo.",)), {}, f"{STEPS} One.\nTwo."),
    (("auto_cot/ask",), {"examples": "Q: a\nA: b"}, f"Q: a\nA: b\n\n\n{STEPS}"),
    (("recite/recite",), {}, f"Question: {ASKED}\n\nAnswer 1:"),
    (("recite/answer",), {"recitation": SHOWN}, f"Answer 1: {SHOWN}\n\nQ: {ASKED}\nA:"),
    (("self_ask/ask",), {}, NEEDED),
    (("self_ask/ask", (), (" Yes.\nFollow up: Where?",)), {}, f"{NEEDED} Yes.\nFollow up: Where?"),
    (("self_ask/read", [OSLO]), {}, f"{GIVEN}Q: {ASKED}\nA:"),
    (("least_to_most/decompose",), {}, f"Q: {ASKED}\nTo answer this question, first answer these:"),
    (("least_to_most/solve", (), ("No\nQ: It?\nA:",)), {}, f"Q: {ASKED}\nA: No\nQ: It?\nA:"),
    (("plan_and_solve/solve",), {}, f"Q: {ASKED}\nA: {TRIGGER}"),
    (("plan_and_solve/read", [OSLO], (PLAN,)), {}, f"{GIVEN}Q: {ASKED}\nA: {TRIGGER}\n{PLAN}"),
]


@pytest.mark.parametrize(("given", "fields", "expected"), RENDERED)
def test_prompts_in_full(given, fields, expected):
    assert rendered(*given, **fields) == f"<shown>\n\n\n{expected}"


def replies_of(system, stage, family):
    """The replies of a model that continues as the demonstrations do: each demonstration without
    its prompt, which is the template filled with its question.
    """
    template = read_template(system, stage)
    for block in own_demonstrations(system, stage, family):
        asked = {"Question": "Question: "}.get(template.wording.split(":")[0], "Q: ")
        question = block.partition(asked)[2].partition("\n")[0]
        example = render((), template.ask(question), "", template).removeprefix("Q: ")
        assert example in block, (example, block)
        yield question, block.partition(example)[2].strip()


@pytest.mark.parametrize("family", FOUR_EXAMPLES)
def test_demonstrations_are_in_the_format_that_the_systems_read(family):
    """The answers are those of the data set, and the same in every system."""
    asked = dict(replies_of("least_to_most", "decompose", family))
    answers = {}
    for block in own_demonstrations("least_to_most", "solve", family):
        *_, question, answer = block.splitlines()
        answers[question.removeprefix("Q: ")] = answer.removeprefix("A: ").removesuffix(".")
    assert list(asked) == list(answers) and all(map(list_items, asked.values()))
    for stage in ("cot/cot", "plan_and_solve/solve"):
        for question, chain in replies_of(*stage.split("/"), family):
            result = read_answer(chain)
            assert (result.answer, result.fault) == (answers[question], ""), question
    for question, text in replies_of("self_ask", "ask", family):
        result = read_asking(text)
        assert (result.answer, result.fault) == (answers[question], ""), question
        assert text.count("Follow up:") == text.count("Intermediate answer:") >= 2


@pytest.mark.parametrize("family", FOUR_EXAMPLES)
def test_demonstrations_that_read_show_paragraphs_and_what_is_not_there(family):
    for block in own_demonstrations("plan_and_solve", "read", family):
        assert block.count("Wikipedia Title: ") == 2 and TRIGGER in block
    *known, unknown = own_demonstrations("self_ask", "read", family)
    for block in known:
        shown, answer = block.rpartition("\nA: ")[::2]
        assert answer.lower() in shown.partition("\nQ: ")[0].lower()
    assert unknown.endswith("\nA: unknown")
    for block in own_demonstrations("recite", "recite", family):
        assert "\n\nAnswer 1: " in block and "\n\nAnswer 2: " in block


@pytest.mark.parametrize("family", FOUR_EXAMPLES)
def test_a_decomposition_names_no_answer_that_is_still_to_be_found(family):
    """Least-to-Most lists all sub-questions before any is answered."""
    listed = dict(replies_of("least_to_most", "decompose", family))
    for block in own_demonstrations("least_to_most", "solve", family):
        lines = [line.partition(": ")[2] for line in block.splitlines()]
        *parts, asked = lines[::2]
        assert parts == list_items(listed[asked])
        for number, answer in enumerate(lines[1:-2:2], start=1):
            assert not any(normalise_answer(answer) in normalise_answer(q) for q in parts[number:])


def test_least_to_most_is_shown_how_to_ask_about_what_it_does_not_know_yet():
    shown = own_demonstrations("least_to_most", "decompose", "multihop")
    prompt = Prompt(shown, len, read_template("least_to_most", "decompose"), 10_000)(QUESTION)
    asked = f"Q: {ASKED}\nTo answer this question, first answer these:"
    assert prompt == "\n\n\n".join([*shown, asked])
    assert "1. In which country was Edvard Grieg born?\n2. What is the capital of that" in prompt
    assert "3. In which city was that author born?" in prompt and "Norway" not in prompt
