"""Direct Retrieval: retrieves once with the question, and answers from the paragraphs without
examples (SearChain §4.1, Table 11).
"""

from collections.abc import Mapping

from ircotlib.data import Prediction, Question
from ircotlib.program import Generate, Program, Retrieve
from ircotlib.systems import SEARCHAIN, System
from ircotlib.systems.readers import WritePrompt


def direct_retrieval(
    question: Question,
    *,
    prompts: Mapping[str, WritePrompt],
    k: int = 5,  # paragraphs (ours: the paper does not say)
    max_tokens: int = 200,
) -> Program:
    """Retrieve k paragraphs, and answer from them (SearChain §4.1).

    The whole generation is the answer; k and the prompt are ours.
    """
    found = yield Retrieve(question.text, k)
    reading = yield Generate(prompts["read"](question, found), max_tokens=max_tokens)
    fault = "" if reading else "no answer"
    return Prediction(reading, found, reading=reading, fault=fault)


SYSTEMS = (
    System(
        "Direct Retrieval",
        direct_retrieval,
        stages=("read",),
        reported=("Direct Retrieval",),
        study=SEARCHAIN,
        color="#6b7785",
        order=200,
    ),
)
