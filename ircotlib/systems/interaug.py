"""InterAug: an answer from each retrieved paragraph, and the most probable of them (Lazaridou et
al. 2022); one of the systems that IRCoT compares with (IRCoT Table 1).
"""

from collections.abc import Mapping
from functools import lru_cache

from ircotlib.data import Prediction, Question
from ircotlib.program import LINE, Program, Retrieve, Sample
from ircotlib.systems import SEARCHAIN, System
from ircotlib.systems.readers import WritePrompt
from ircotlib.text import sentences
from ircotlib.votes import majority


def interaug(
    question: Question,
    *,
    prompts: Mapping[str, WritePrompt],
    k: int = 50,  # paragraphs read, each alone (paper)
    n: int = 1,  # answers drawn from each: unsaid, this is ours
    temperature: float = 0.7,  # unsaid, this is ours
    length: int = 6,  # sentences of a paragraph (paper)
    tokens: int = 50,  # of an answer: unsaid, this is ours
) -> Program:
    """Draw an answer from each of k paragraphs, and take the most probable one.

    Where the log-probability of an answer is not known, the majority is taken, ties to the better
    paragraph; this is ours.
    Differs from the paper: the corpus stands in for Google; answers are ranked by p(answer |
    question, paragraph) alone, for nothing here tells the other factors of its product of experts.
    """
    found = yield Retrieve(question.text, k)
    drawn = []
    for paragraph in found:
        prompt = prompts["read"](question, evidence=_shorten(paragraph.text, length))
        drawn += yield Sample(prompt, n, temperature, LINE, tokens)
    written = [one for one in drawn if one.text]
    if written and all(one.log_probability is not None for one in written):
        answer = max(written, key=lambda one: one.log_probability).text
    else:
        answer = majority([one.text for one in written])
    fault = "" if answer else "no answer from any paragraph"
    return Prediction(answer, found, reading=answer, fault=fault)


@lru_cache(maxsize=10_000)
def _shorten(text: str, length: int) -> str:
    return " ".join(sentences(text)[:length])


SYSTEMS = (
    System(
        "InterAug",
        interaug,
        stages=("read",),
        reported=("InterAug",),
        study=SEARCHAIN,
        generations=50,
        color="#9b8f6d",
        order=300,
    ),
)
