"""InterAug: the most probable of the answers from each paragraph (Lazaridou 2022)."""

from math import log

from ircotlib.data import Prediction, Question
from ircotlib.metrics import majority
from ircotlib.program import LINE, Program, Retrieve, Sample
from ircotlib.systems import Prompts, system
from ircotlib.text import sentences


# k: of the paper; on mini 15 do as well
@system("InterAug", limits=("tokens",), k=(50,), read="answers from one paragraph")
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
    """Sample answers from each paragraph; take the most probable (Lazaridou 2022): by
    p(answer | question, paragraph) p(paragraph | question) (paper), with 1 / rank for
    the second factor (ours).

    Without log-probabilities, the majority is taken; ties go to the better paragraph
    (ours). Differs from the paper: the corpus replaces Google; the other factors of its
    product of experts are not used.
    """
    paragraphs = yield Retrieve(question.text, k)  # there by Google (paper)
    drawn = []  # with the rank of its paragraph
    for rank, paragraph in enumerate(paragraphs, start=1):
        # one paragraph a prompt: "Evidence: ... Question: ... Answer:" (paper)
        evidence = " ".join(sentences(paragraph.text)[:length])
        prompt = prompts["read"](question, evidence=evidence)
        sampled = yield Sample(prompt, n, temperature, LINE, tokens)
        drawn += [(text, score, rank) for text, score in sampled if text]
    answer = majority([text for text, _, _ in drawn])
    if drawn and all(score is not None for _, score, _ in drawn):
        answer, *_ = max(drawn, key=lambda drawn: drawn[1] - log(drawn[2]))
    fault = "" if answer else "no answer from any paragraph"
    return Prediction(answer, paragraphs, reading=answer, fault=fault)
