"""RECITE, or Recite-and-answer: recites passages, answers from them (Sun 2023)."""

from ircotlib.data import Prediction, Question
from ircotlib.metrics import majority
from ircotlib.program import LINE, Generate, Program, Sample
from ircotlib.systems import Prompts, system
from ircotlib.text import answer_from_chain

END = ("\n\n\n", "\nQuestion:")  # of a recitation (released program)


@system(
    "Recite-and-answer",
    draws=("n",),
    limits=("recite_tokens",),
    recite="recites a passage",
    answer="answers from it",
)
def recite_and_answer(
    question: Question,
    *,
    prompts: Prompts,
    n: int = 20,  # recitations (released program)
    temperature: float = 0.7,  # released program
    recite_tokens: int = 128,  # released program
    max_tokens: int = 16,  # of an answer (released program)
) -> Program:
    """Sample n recitations, answer from each greedily, take the majority answer (§3).

    Differs from the released program: examples have recitations and come before the
    question's (there they have none, and come after it); answers are compared
    normalised, and of ties the first wins, not the shortest.
    """
    prompt = prompts["recite"](question)
    drawn = yield Sample(prompt, n, temperature, END, recite_tokens)
    recitations = [sampled.text for sampled in drawn]
    readings = []
    for recitation in recitations:
        prompt = prompts["answer"](question, recitation=recitation)
        readings.append((yield Generate(prompt, stop=LINE, max_tokens=max_tokens)))
    answers = [answer_from_chain(reading) or "" for reading in readings]
    answer = majority(answers)  # there of the raw texts (released program)
    first = answers.index(answer)
    unread = answers.count("")
    fault = f"no answer from {unread} of {n} recitations" if unread else ""
    return Prediction(answer, (), (recitations[first],), readings[first], fault=fault)
