"""Direct Retrieval: retrieves once with the question, and reads, zero-shot (SearChain §4.1)."""

from ircotlib.data import Prediction, Question
from ircotlib.program import Generate, Program, Retrieve
from ircotlib.prompting.prompt import TITLE
from ircotlib.systems import NO_EXAMPLES, ONCE, SEARCHAIN, Prompts, System

NEXT = (f"\n{TITLE}", "\nQuestion:")  # where a model continues with other paragraphs or questions


def direct_retrieval(
    question: Question,
    *,
    prompts: Prompts,
    k: int = 5,  # paragraphs (ours: the paper does not say)
    max_tokens: int = 200,  # ours
) -> Program:
    """Retrieve; the whole generation is the answer (SearChain §4.1). The prompt is ours."""
    paragraphs = yield Retrieve(question.text, k)  # SearChain §4.1, footnote 1
    reading = yield Generate(prompts["read"](question, paragraphs), NEXT, max_tokens)
    fault = "" if reading else "no answer"
    return Prediction(reading, paragraphs, reading=reading, fault=fault)


SYSTEMS = (
    System(
        name="Direct Retrieval",
        program=direct_retrieval,
        stages={"read": "answers from the paragraphs"},
        examples=NO_EXAMPLES,  # SearChain, Table 11
        equal=("k",),
        study=SEARCHAIN,
        family=(ONCE, 2),
        order=200,
    ),
)
