"""Direct Prompting and Direct Retrieval: answers without examples (SearChain §4.1)."""

from ircotlib.data import Prediction, Question
from ircotlib.program import Generate, Program, Retrieve
from ircotlib.prompting.prompt import TITLE
from ircotlib.systems import Prompts, system

NEXT = ("\nQ:",)  # where a model continues with another question
NEXT_PAGE = (f"\n{TITLE}", "\nQuestion:")  # or with other paragraphs


@system("Direct Prompting", direct="answers at once")
def direct_prompting(
    question: Question,
    *,
    prompts: Prompts,
    max_tokens: int = 200,  # ours
) -> Program:
    """Answer directly (SearChain §4.1: zero-shot, Table 11). The prompt is ours."""
    reading = yield Generate(prompts["direct"](question), NEXT, max_tokens)
    return Prediction(reading, reading=reading, fault="" if reading else "no answer")


@system("Direct Retrieval", read="answers from the paragraphs")
def direct_retrieval(
    question: Question,
    *,
    prompts: Prompts,
    k: int = 5,  # paragraphs (ours: the paper does not say)
    max_tokens: int = 200,  # ours
) -> Program:
    """Retrieve once with the question, and answer (SearChain §4.1). Our prompt."""
    paragraphs = yield Retrieve(question.text, k)  # SearChain §4.1, footnote 1
    prompt = prompts["read"](question, paragraphs)
    reading = yield Generate(prompt, NEXT_PAGE, max_tokens)
    fault = "" if reading else "no answer"
    return Prediction(reading, paragraphs, reading=reading, fault=fault)
