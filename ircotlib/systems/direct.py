"""Direct Prompting: only the question, without examples (SearChain §4.1)."""

from ircotlib.data import Prediction, Question
from ircotlib.program import Generate, Program
from ircotlib.systems import CLOSED, NO_EXAMPLES, SEARCHAIN, Prompts, System

NEXT = ("\nQ:",)  # where a model continues with another question


def direct_prompting(
    question: Question,
    *,
    prompts: Prompts,
    max_tokens: int = 200,  # ours
) -> Program:
    """Answer directly; the whole generation is the answer (SearChain §4.1: zero-shot, Table 11).
    The prompt is ours: SearChain does not give its own.
    """
    reading = yield Generate(prompts["direct"](question), stop=NEXT, max_tokens=max_tokens)
    return Prediction(reading, reading=reading, fault="" if reading else "no answer")


SYSTEMS = (
    System(
        name="Direct Prompting",
        program=direct_prompting,
        stages={"direct": "answers at once"},
        examples=NO_EXAMPLES,  # SearChain, Table 11
        study=SEARCHAIN,
        family=(CLOSED, 2),
        order=100,
    ),
)
