"""The prompts of systems that do not retrieve, and our own demonstrations in them."""

import pytest
from replying import CAPITAL as QUESTION
from replying import CAPITAL_ASKED as ASKED
from replying import OSLO, TextWriter

from ircotlib.prompting.prompt import read_template

SHOWN = "Grieg was Norwegian.\n\nAnswer 2: Oslo is the capital of Norway."
PLAN = "Plan:\n1. Find the country of Grieg.\n2. Find its capital."


def rendered(stage, *given, **fields):
    """The prompt of "system/stage" with one demonstration."""
    template = read_template(*stage.split("/"))
    return TextWriter(["<shown>"], len, template, 10_000)(QUESTION, *given, **fields)


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
    (
        ("self_ask/ask", (), (" Yes.\nFollow up: Where?",)),
        {},
        f"{NEEDED} Yes.\nFollow up: Where?",
    ),
    (("self_ask/read", [OSLO]), {}, f"{GIVEN}Q: {ASKED}\nA:"),
    (
        ("least_to_most/decompose",),
        {},
        f"Q: {ASKED}\nTo answer this question, first answer these:",
    ),
    (
        ("least_to_most/solve", (), ("No\nQ: It?\nA:",)),
        {},
        f"Q: {ASKED}\nA: No\nQ: It?\nA:",
    ),
    (("plan_and_solve/solve",), {}, f"Q: {ASKED}\nA: {TRIGGER}"),
    (
        ("plan_and_solve/read", [OSLO], (PLAN,)),
        {},
        f"{GIVEN}Q: {ASKED}\nA: {TRIGGER}\n{PLAN}",
    ),
]


@pytest.mark.parametrize(("given", "fields", "expected"), RENDERED)
def test_prompts_in_full(given, fields, expected):
    assert rendered(*given, **fields) == f"<shown>\n\n\n{expected}"
