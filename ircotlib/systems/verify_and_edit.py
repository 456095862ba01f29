"""Verify-and-Edit: rewrites chains by retrieved evidence (Zhao 2023)."""

import re
from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.metrics import as_compared, majority
from ircotlib.program import LINE, Generate, Program, Retrieve, Sample
from ircotlib.systems import Prompts, system
from ircotlib.text import answer_from_chain, sentences

ORDINALS = ("First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth")
ORDINAL = re.compile(rf"^({'|'.join(ORDINALS)}|Then|Finally), ")


@system(
    "Verify-and-Edit",
    draws=("n",),
    limits=("edit_tokens", "answer_tokens"),
    cot="writes a chain of thought",
    question="asks a question that verifies a sentence",
    answer="answers it from the evidence",
)
def verify_and_edit(
    question: Question,
    *,
    prompts: Prompts,
    n: int = 5,  # chains sampled (paper)
    temperature: float = 0.7,  # of the chains (paper)
    k: int = 5,  # paragraphs per verifying question (ours; not in the paper)
    shown: int = 3,  # sentences of evidence (paper)
    max_tokens: int = 144,  # of a chain (released programs)
    edit_tokens: int = 70,  # of a verifying question, of its answer (released programs)
    answer_tokens: int = 70,  # after the edited chain (released programs)
) -> Program:
    """Take the majority answer of n chains if at least half of them agree, else edit
    the most probable chain that gives it, or the first one if probabilities are not
    known (Zhao 2023).

    Differs from the paper: evidence is chosen by the TF-IDF vectors of runs of
    letters, not by those of paraphrase-MiniLM-L6-v2.
    """
    drawn = yield Sample(prompts["cot"](question), n, temperature, ("\n",), max_tokens)
    answers = [answer_from_chain(sampled.text) or "" for sampled in drawn]
    agreed = majority(answers)  # CoT-SC (paper)
    same = as_compared(agreed)
    pairs = zip(drawn, answers, strict=True)
    agreeing = [sampled for sampled, answer in pairs if as_compared(answer) == same]
    known = [sampled for sampled in agreeing if sampled.log_probability is not None]
    # the most probable (paper)
    chain = max(known, key=lambda s: s.log_probability, default=agreeing[0]).text
    # only chains that disagree are edited (paper); the released programs edit all
    if agreed and len(agreeing) >= ceil(n / 2):
        return Prediction(agreed, (), tuple(sentences(chain)), chain)
    seen: dict[Paragraph, None] = {}  # all paragraphs, in order
    edited: list[str] = []
    for ordinal, sentence in zip(ORDINALS, rationale(chain), strict=False):
        answer, paragraphs = yield from edit(
            question, sentence, prompts, k, shown, edit_tokens
        )
        seen |= dict.fromkeys(paragraphs)
        edited.append(f"{ordinal}, {answer}")
    # the model concludes from the edited chain (paper)
    prompt = prompts["cot"](question, thoughts=edited)
    reading = yield Generate(prompt, LINE, answer_tokens)
    answer = answer_from_chain(reading)
    fault = "" if answer else 'no "The answer is" after the edited chain'
    chain = tuple(edited)
    return Prediction(answer or reading, tuple(seen), chain, reading, fault=fault)


def edit(
    question: Question,
    sentence: str,
    prompts: Prompts,
    k: int,
    shown: int,
    max_tokens: int,
) -> Program:
    """What stands in place of a sentence, and the paragraphs that were retrieved: the
    answer to a verifying question, from evidence (paper).
    """
    prompt = prompts["question"](question, sentence=sentence)
    query = (yield Generate(prompt, LINE, max_tokens)) or sentence
    paragraphs = yield Retrieve(query, k)
    evidence = " ".join(nearest(sentence, paragraphs, shown))
    verifying = replace(question, text=query, passage=None)
    prompt = prompts["answer"](verifying, evidence=evidence)
    return (yield Generate(prompt, LINE, max_tokens)), paragraphs


def rationale(chain: str) -> list[str]:
    """The sentences of a chain to verify, without its answer.

    >>> rationale("First, it is old. Then, it is red. The answer is yes.")
    ['it is old.', 'it is red.']
    """
    facts = [ORDINAL.sub("", sentence) for sentence in sentences(chain)]
    return [fact for fact in facts if answer_from_chain(fact) is None]


def nearest(sentence: str, paragraphs: Sequence[Paragraph], n: int) -> list[str]:
    """The n sentences of paragraphs nearest to a sentence, best first: by cosine of
    the TF-IDF vectors of their runs of one to five letters (ours).
    """
    from sklearn.feature_extraction.text import TfidfVectorizer  # takes a second
    from sklearn.metrics.pairwise import cosine_similarity

    lines = list(dict.fromkeys(line for p in paragraphs for line in sentences(p.text)))
    if not lines:
        return []
    counter = TfidfVectorizer(analyzer="char", ngram_range=(1, 5), sublinear_tf=True)
    vectors = counter.fit_transform([sentence, *lines])
    # rounded, so that ties and their order are the same on every machine
    near = cosine_similarity(vectors[:1], vectors[1:])[0].round(5)
    return [lines[position] for position in (-near).argsort(kind="stable")[:n]]
