"""Plan-and-Solve: devises a plan, then carries it out (Wang 2023)."""

from dataclasses import replace
from functools import partial

from ircotlib.data import Paragraph, Question
from ircotlib.program import LINE, Generate, Program, Retrieve
from ircotlib.systems import Prompts, WritePrompt, system
from ircotlib.systems.cot import read_answer
from ircotlib.systems.direct import NEXT
from ircotlib.text import answer_from_chain, list_items

SOLUTION = "\nSolution:"  # comes after the plan in our examples
SO = " Therefore, the answer is"  # released program


@system(
    "Plan-and-Solve",
    limits=("answer_tokens",),
    solve="writes a plan and carries it out",
)
def plan_and_solve(
    question: Question,
    *,
    prompts: Prompts,
    max_tokens: int = 256,  # released program
    answer_tokens: int = 32,  # released program
) -> Program:
    """Write a plan and its solution in one generation; if that has no answer, ask for
    it in a second one (Wang 2023 §2, released program). Differs from the paper: it
    shows no examples, but SearChain does (Table 11); its program looks for a yes or no.
    """
    text = yield Generate(prompts["solve"](question), NEXT, max_tokens)
    write = partial(prompts["solve"], question, ())
    return (yield from conclude(text, write, answer_tokens))


@system(
    "Plan-and-Solve w/ IR",
    limits=("answer_tokens",),
    solve="writes a plan",
    read="carries the plan out",
)
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
    seen: dict[Paragraph, None] = {}  # all paragraphs, in order
    for query in steps or [question.text]:  # all in one round (SearChain, Table 6)
        seen |= dict.fromkeys((yield Retrieve(query, k)))
    write = partial(prompts["read"], question, tuple(seen))
    text = plan + SOLUTION
    solution = yield Generate(write((text,)), NEXT, max_tokens)
    solved = yield from conclude(f"{text}\n{solution}", write, answer_tokens)
    fault = solved.fault if steps else "no plan"
    return replace(solved, paragraphs=tuple(seen), fault=fault)


def conclude(text: str, write: WritePrompt, max_tokens: int) -> Program:
    """The prediction of a solution, which is asked for its answer if it has none."""
    if answer_from_chain(text) is None:  # the second call of the released program
        text += SO
        answer = yield Generate(write((text,)), LINE, max_tokens)
        text += f" {answer}"
    lines = tuple(line.strip() for line in text.splitlines() if line.strip())
    return replace(read_answer(text.strip()), thoughts=lines)
