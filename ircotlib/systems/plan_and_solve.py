"""Plan-and-Solve: devises a plan, then carries it out (Wang 2023)."""

from dataclasses import replace

from ircotlib.data import Question
from ircotlib.program import LINE, Generate, Program, Retrieve
from ircotlib.systems import Prompts, WritePrompt, system
from ircotlib.systems.cot import read_answer
from ircotlib.systems.direct import NEXT
from ircotlib.text import answer_from_chain, list_items

SOLUTION = "\nSolution:"  # comes after the plan in our examples
SO = " Therefore, the answer is"  # released program


@system("Plan-and-Solve", solve="writes a plan and carries it out")
def plan_and_solve(
    question: Question,
    *,
    prompts: Prompts,
    max_tokens: int = 256,  # released program
    answer_tokens: int = 32,  # released program
) -> Program:
    """Write a plan and its solution in one generation; if that has no answer, ask for
    it in a second one (Wang 2023 §2, released program).

    Differs from the paper, which shows no examples; SearChain does (Table 11), and so
    do we. Differs from the released program, which looks for a yes or no inside the
    answer.
    """
    text = yield Generate(prompts["solve"](question), stop=NEXT, max_tokens=max_tokens)
    return (yield from _conclude(question, text, prompts["solve"], (), answer_tokens))


@system("Plan-and-Solve w/ IR", solve="writes a plan", read="carries the plan out")
def plan_and_solve_with_ir(
    question: Question,
    *,
    prompts: Prompts,
    k: int = 1,  # paragraphs per step (ours)
    max_searched: int = 8,  # steps of the plan that are queries (ours)
    max_tokens: int = 256,  # released program
    answer_tokens: int = 32,  # released program
) -> Program:
    """Write a plan, retrieve once with its steps, or the question if there are none
    (ours), and carry it out with the paragraphs in the prompt (SearChain, Table 6).
    """
    plan = yield Generate(prompts["solve"](question), (SOLUTION, *NEXT), max_tokens)
    steps = list_items(plan)[:max_searched]
    paragraphs = ()
    for query in steps or [question.text]:
        paragraphs += yield Retrieve(query, k)  # all in one round (SearChain, Table 6)
    paragraphs = tuple(dict.fromkeys(paragraphs))
    text = plan + SOLUTION
    solution = yield Generate(
        prompts["read"](question, paragraphs, (text,)), NEXT, max_tokens
    )
    text = f"{text}\n{solution}"
    solved = yield from _conclude(
        question, text, prompts["read"], paragraphs, answer_tokens
    )
    return (
        solved
        if steps
        else replace(solved, fault=f"no plan, {solved.fault}".strip(", "))
    )


def _conclude(
    question, text: str, prompt: WritePrompt, paragraphs, max_tokens: int
) -> Program:
    if answer_from_chain(text) is None:  # the second call of the released program
        text += SO
        answer = yield Generate(prompt(question, paragraphs, (text,)), LINE, max_tokens)
        text += f" {answer}"
    lines = tuple(line.strip() for line in text.splitlines() if line.strip())
    return replace(read_answer(text.strip()), paragraphs=paragraphs, thoughts=lines)
