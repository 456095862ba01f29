"""Verify-and-Edit: rewrites chains that disagree with retrieved evidence (Zhao 2023)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.metrics import as_compared, majority
from ircotlib.program import LINE, Generate, Program, Retrieve, Sample
from ircotlib.systems import Prompts, system
from ircotlib.text import answer_from_chain, sentences

ORDINALS = ("First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth")
ORDINAL = re.compile(rf"^({'|'.join(ORDINALS)}|Then|Finally), ")


def count_letters(texts: Sequence[str]):
    """The TF-IDF vectors of the runs of one to five letters in texts, one row per text."""
    # takes a second to import
    from sklearn.feature_extraction.text import TfidfVectorizer

    counter = TfidfVectorizer(analyzer="char", ngram_range=(1, 5), sublinear_tf=True)
    return counter.fit_transform(texts)


@system(
    "Verify-and-Edit",
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
    embed: Callable[[Sequence[str]], Sequence] = count_letters,
    max_tokens: int = 144,  # of a chain (released programs)
    # of a verifying question and of its answer (released programs)
    edit_tokens: int = 70,
    answer_tokens: int = 70,  # after the edited chain (released programs)
) -> Program:
    """Take the majority answer of n chains if at least half of them agree, else edit
    the most probable chain that gives it, or the first one if probabilities are not
    known (Zhao 2023).

    `embed(texts)`: one vector per text, by which evidence is chosen: that of a dense
    retriever's model; otherwise ours, which needs no model. Differs from the paper: its
    model is paraphrase-MiniLM-L6-v2, whatever retrieves.
    """
    drawn = yield Sample(prompts["cot"](question), n, temperature, ("\n",), max_tokens)
    answers = [answer_from_chain(sampled.text) or "" for sampled in drawn]
    agreed = majority(answers)  # CoT-SC (paper)
    same = as_compared(agreed)
    agreeing = [
        s
        for s, answer in zip(drawn, answers, strict=True)
        if as_compared(answer) == same
    ]
    known = [sampled for sampled in agreeing if sampled.log_probability is not None]
    # paper
    chain = max(known, key=lambda s: s.log_probability, default=agreeing[0]).text
    # only chains that disagree are edited (paper); the released programs edit all
    if agreed and len(agreeing) >= ceil(n / 2):
        return Prediction(agreed, (), tuple(sentences(chain)), chain)
    seen = {}  # all paragraphs, in order
    edited = []  # its sentences
    for sentence in rationale(chain):
        # a verifying question, and its answer from the evidence in place of the
        # sentence (paper)
        ask = prompts["question"](question, sentence=sentence)
        query = (yield Generate(ask, LINE, edit_tokens)) or sentence
        paragraphs = yield Retrieve(query, k)
        seen |= dict.fromkeys(paragraphs)
        evidence = " ".join(nearest(sentence, paragraphs, shown, embed))
        read = prompts["answer"](
            replace(question, text=query, passage=None), evidence=evidence
        )
        edited.append((yield Generate(read, LINE, edit_tokens)))
    # "First, ... Second, ...": the edited chain, from which the model concludes (paper)
    chain = tuple(
        f"{word}, {text}" for word, text in zip(ORDINALS, edited, strict=False)
    )
    reading = yield Generate(prompts["cot"](question, (), chain), LINE, answer_tokens)
    answer = answer_from_chain(reading)
    fault = "" if answer else 'no "The answer is" after the edited chain'
    return Prediction(answer or reading, tuple(seen), chain, reading, fault=fault)


def rationale(chain: str) -> list[str]:
    """The first eight sentences of a chain, without the answer and "First, " and the
    like.
    """
    facts = [ORDINAL.sub("", sentence) for sentence in sentences(chain)]
    return [fact for fact in facts if answer_from_chain(fact) is None][: len(ORDINALS)]


def nearest(
    sentence: str,
    paragraphs: Sequence[Paragraph],
    n: int,
    embed: Callable = count_letters,
) -> list[str]:
    """The n sentences of the paragraphs nearest to a sentence by cosine, best first
    (paper).
    """
    from sklearn.metrics.pairwise import cosine_similarity  # takes a second to import

    lines = list(dict.fromkeys(line for p in paragraphs for line in sentences(p.text)))
    if not lines:
        return []
    vectors = embed([sentence, *lines])
    # the same on every machine
    near = cosine_similarity(vectors[:1], vectors[1:])[0].round(5)
    return [lines[place] for place in (-near).argsort(kind="stable")[:n]]
