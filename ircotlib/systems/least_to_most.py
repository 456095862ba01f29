"""Least-to-Most: lists sub-questions, then answers them one after the other (Zhou
2022).
"""

from dataclasses import replace

from ircotlib.data import Prediction, Question
from ircotlib.program import LINE, Generate, Program
from ircotlib.systems import Prompts, system
from ircotlib.systems.direct import NEXT
from ircotlib.text import list_items


@system("Least-to-Most", decompose="lists sub-questions", solve="answers the next one")
def least_to_most(
    question: Question,
    *,
    prompts: Prompts,
    max_questions: int = 8,  # sub-questions (ours)
    max_tokens: int = 256,  # ours
) -> Program:
    """List sub-questions, then answer each, and last the question itself, with the
    earlier ones and their answers in the prompt (Zhou 2022 §2). The prompts are ours:
    the paper has none for this.
    """
    listed = yield Generate(
        prompts["decompose"](question), stop=NEXT, max_tokens=max_tokens
    )
    parts = [item for item in list_items(listed) if item != question.text][
        :max_questions
    ]
    questions = [*parts, question.text]  # the question itself comes last (Zhou 2022 §2)
    answers = []
    # all that follows the first question in the prompt, which so grows at its end
    text = ""
    first = replace(question, text=questions[0])
    for following in questions:
        text += f"{answers[-1]}\nQ: {following}\nA: " if answers else ""
        # with all earlier answers (§2)
        prompt = prompts["solve"](first, thoughts=(text,))
        answers.append((yield Generate(prompt, stop=LINE, max_tokens=max_tokens)))
    faults = [
        "" if parts else "no list of sub-questions",
        "" if answers[-1] else "no answer",
    ]
    thoughts = tuple(
        f"{part} {given}" for part, given in zip(parts, answers, strict=False)
    )
    answer = answers[-1].removesuffix(".")
    fault = ", ".join(filter(None, faults))
    return Prediction(answer, (), thoughts, answers[-1], fault=fault)
