"""InterAug: answers from each retrieved paragraph, and takes the most probable answer (Lazaridou et
al. 2022). IRCoT is compared with it (IRCoT Table 1).
"""

from functools import lru_cache

from ircotlib.data import Prediction, Question
from ircotlib.metrics import majority
from ircotlib.program import LINE, Program, Retrieve, Sample
from ircotlib.systems import ONCE, SEARCHAIN, Prompts, System
from ircotlib.text import sentences


def interaug(
    question: Question,
    *,
    prompts: Prompts,
    k: int = 50,  # paragraphs, each read alone (paper)
    n: int = 1,  # answers sampled from each (ours; not in the paper)
    temperature: float = 0.7,  # ours; not in the paper
    length: int = 6,  # sentences of a paragraph (paper)
    tokens: int = 50,  # of an answer (ours; not in the paper)
) -> Program:
    """Sample answers from each of k paragraphs, and take the most probable one (Lazaridou et al.
    2022).

    If log-probabilities are not known, the majority is taken; ties go to the better paragraph
    (ours). Differs from the paper: the corpus replaces Google; answers are ranked by p(answer |
    question, paragraph) alone, because the other factors of its product of experts are not known
    here.
    """
    paragraphs = yield Retrieve(question.text, k)  # there by Google (paper)
    drawn = []
    for paragraph in paragraphs:
        # one paragraph a prompt: "Evidence: ... Question: ... Answer:" (paper)
        prompt = prompts["read"](question, evidence=_shorten(paragraph.text, length))
        drawn += yield Sample(prompt, n, temperature, LINE, tokens)
    written = [sampled for sampled in drawn if sampled.text]
    answer = majority([sampled.text for sampled in written])
    if written and all(sampled.log_probability is not None for sampled in written):
        answer = max(written, key=lambda sampled: sampled.log_probability).text
    fault = "" if answer else "no answer from any paragraph"
    return Prediction(answer, paragraphs, reading=answer, fault=fault)


@lru_cache(maxsize=10_000)
def _shorten(text: str, length: int) -> str:
    return " ".join(sentences(text)[:length])  # 6-sentence paragraphs (paper)


SYSTEMS = (
    System(
        name="InterAug",
        program=interaug,
        stages={"read": "answers from one paragraph"},
        grid={"k": (50,)},  # paper; mini has 15: as good there, at a third of the cost
        generations=50,
        limits=("tokens",),
        study=SEARCHAIN,
        family=(ONCE, 2),
        order=300,
    ),
)
