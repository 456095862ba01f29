"""RECITE, or Recite-and-answer: the model recites passages, then answers from them (Sun 2023)."""

from ircotlib.data import Prediction, Question
from ircotlib.metrics import majority
from ircotlib.program import LINE, Generate, Program, Sample
from ircotlib.systems import CLOSED, FOUR_EXAMPLES, SEARCHAIN, Prompts, System, read_hops
from ircotlib.text import answer_from_chain

END = ("\n\n\n", "\nQuestion:")  # of a recitation (released program)


def recite_and_answer(
    question: Question,
    *,
    prompts: Prompts,
    n: int = 20,  # recitations (released program)
    temperature: float = 0.7,  # released program
    recite_tokens: int = 128,  # released program
    max_tokens: int = 16,  # of an answer (released program)
) -> Program:
    """Sample n recitations (on HotpotQA of two passages each), answer from each by greedy decoding,
    and take the majority answer (Sun 2023 §3).

    Differs from the released program: examples have their own recitations and come before the
    question's recitation, so that prompts share a prefix (there the recitation comes first, and
    examples have none); answers are normalised before comparison, and of equally frequent ones the
    first wins (there they are not normalised, and the shortest wins).
    """
    drawn = yield Sample(prompts["recite"](question), n, temperature, END, recite_tokens)
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
    recitation = recitations[first]
    reading = readings[first]
    hops = read_hops(recitation, reading)
    return Prediction(answer, (), (recitation,), reading, fault=fault, hops=hops)


SYSTEMS = (
    System(
        name="Recite-and-answer",
        program=recite_and_answer,
        stages={"recite": "recites a passage", "answer": "answers from it"},
        examples=FOUR_EXAMPLES,
        generations=40,
        limits=("recite_tokens", "max_tokens"),
        draws=("n",),
        study=SEARCHAIN,
        reported=("Recite-and-answer", "RECITE"),
        family=(CLOSED, 2),
        order=140,
    ),
)
