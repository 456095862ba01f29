"""Least-to-Most: lists sub-questions, then answers one after the other (Zhou 2023)."""

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
    """List sub-questions, then answer each, and last the question itself, with all
    earlier answers in the prompt (Zhou 2023 §2). The prompts are ours.
    """
    listed = yield Generate(prompts["decompose"](question), NEXT, max_tokens)
    parts = [item for item in list_items(listed) if item != question.text]
    questions = [*parts[:max_questions], question.text]
    first = replace(question, text=questions[0])
    text = reading = ""  # text: what follows the first question in the prompt
    thoughts: list[str] = []
    for asked in questions:
        if thoughts:  # with all earlier answers (§2)
            text += f"{reading}\nQ: {asked}\nA: "
        prompt = prompts["solve"](first, thoughts=(text,))
        reading = yield Generate(prompt, LINE, max_tokens)
        thoughts.append(f"{asked} {reading}")
    answer = reading.removesuffix(".")
    fault = "" if len(questions) > 1 else "no list of sub-questions"
    if not answer:
        fault = "no answer"
    return Prediction(answer, (), tuple(thoughts[:-1]), reading, fault=fault)
