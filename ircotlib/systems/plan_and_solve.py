"""Plan-and-Solve: devise a plan, then carry it out (Wang 2023)."""

from collections.abc import Mapping
from dataclasses import replace

from ircotlib.data import Question
from ircotlib.program import LINE, Generate, Program, Retrieve
from ircotlib.systems import SEARCHAIN, System
from ircotlib.systems.cot import read_chain
from ircotlib.systems.direct import NEXT
from ircotlib.systems.readers import WritePrompt
from ircotlib.text import answer_from_chain, list_items

SOLUTION = "\nSolution:"  # what follows the plan in our examples
SO = " Therefore, the answer is"  # released program


def plan_and_solve(
    question: Question,
    *,
    prompts: Mapping[str, WritePrompt],
    max_tokens: int = 256,
    answer_tokens: int = 32,
) -> Program:
    """Write a plan and carry it out at once; a text without an answer is asked for it (Wang 2023
    §2, released program).

    Differs from the paper: it shows no examples; SearChain shows some (Table 11), and so do we.
    From the released program: a yes or no is not looked for inside the answer.
    """
    text = yield Generate(prompts["solve"](question), stop=NEXT, max_tokens=max_tokens)
    return (yield from _conclude(question, text, prompts["solve"], (), answer_tokens))


def plan_and_solve_with_ir(
    question: Question,
    *,
    prompts: Mapping[str, WritePrompt],
    k: int = 1,  # paragraphs of a step (ours)
    max_searched: int = 8,  # of the plan that are searched for (ours)
    max_tokens: int = 256,
    answer_tokens: int = 32,
) -> Program:
    """Write a plan, retrieve once with all its steps, carry it out with the paragraphs in view
    (SearChain, Table 6: one round of retrieval; its place, and the queries, are ours).

    Without steps the question is the query.
    """
    plan = yield Generate(prompts["solve"](question), (SOLUTION, *NEXT), max_tokens)
    steps, paragraphs = list_items(plan)[:max_searched], ()
    for query in steps or [question.text]:
        paragraphs += yield Retrieve(query, k)
    paragraphs, text = tuple(dict.fromkeys(paragraphs)), plan + SOLUTION
    solution = yield Generate(prompts["read"](question, paragraphs, (text,)), NEXT, max_tokens)
    text = f"{text}\n{solution}"
    found = yield from _conclude(question, text, prompts["read"], paragraphs, answer_tokens)
    return found if steps else replace(found, fault=f"no plan, {found.fault}".strip(", "))


def _conclude(question, text: str, prompt: WritePrompt, paragraphs, max_tokens: int) -> Program:
    """The prediction of a plan and its solution; its thoughts are their lines."""
    if answer_from_chain(text) is None:
        text += SO
        answer = yield Generate(prompt(question, paragraphs, (text,)), LINE, max_tokens)
        text += f" {answer}"
    lines = tuple(line.strip() for line in text.splitlines() if line.strip())
    return replace(read_chain(text.strip()), paragraphs=paragraphs, thoughts=lines)


SYSTEMS = (
    System(
        "Plan-and-Solve",
        plan_and_solve,
        stages=("solve",),
        reported=("Plan-and-Solve",),
        study=SEARCHAIN,
        generations=2,
        color="#d9b0a2",
        order=170,
    ),
    System(
        "Plan-and-Solve w/ IR",
        plan_and_solve_with_ir,
        stages=("solve", "read"),
        reported=("Plan-and-Solve w/ IR",),
        study=SEARCHAIN,
        generations=3,
        color="#b8735c",
        order=230,
    ),
)
