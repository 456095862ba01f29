"""CoT-SC: chains of thought are drawn, and their answers vote (Wang et al. 2023, §2)."""

from collections.abc import Mapping

from ircotlib.data import Prediction, Question
from ircotlib.program import Program, Sample
from ircotlib.systems.readers import WritePrompt
from ircotlib.votes import majority


def cot_sc(
    question: Question,
    *,
    prompts: Mapping[str, WritePrompt],
    n: int = 40,
    temperature: float = 0.7,
    max_tokens: int = 200,
) -> Program:
    """Draw n chains of thought; the majority of what follows "The answer is" is the answer."""
    prompt = prompts["cot"](question)
    drawn = yield Sample(prompt, n, temperature, stop=("\n\n",), max_tokens=max_tokens)
    answers = [one.text.partition("The answer is ")[2].partition("\n")[0] for one in drawn]
    answer = majority([answer.strip().removesuffix(".") for answer in answers])
    fault = "" if answer else "no chain gives an answer"
    return Prediction(answer, thoughts=tuple(one.text for one in drawn), fault=fault)
