"""Verify-and-Edit: if sampled chains of thought disagree, rewrites the sentences of one with
retrieved evidence (Zhao et al. 2023).
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from rapidfuzz import fuzz

from ircotlib.data import Hop, Paragraph, Prediction, Question
from ircotlib.metrics import as_compared, majority
from ircotlib.program import LINE, Generate, Program, Retrieve, Sample
from ircotlib.systems import ONCE, SEARCHAIN, TWO_EXAMPLES, Prompts, System
from ircotlib.systems.second_reader import extract_best
from ircotlib.text import answer_from_chain, normalise_answer, sentences

ORDINALS = ("First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth")
ORDINAL = re.compile(rf"^({'|'.join(ORDINALS)}|Then|Finally), ")


def verify_and_edit(
    question: Question,
    *,
    prompts: Prompts,
    n: int = 5,  # chains sampled (paper)
    temperature: float = 0.7,  # of the chains (paper)
    k: int = 5,  # paragraphs per verifying question (ours; not in the paper)
    shown: int = 3,  # sentences of evidence (paper)
    max_tokens: int = 200,  # ours; the released programs have at most 144
    extract: bool = False,  # evidence is of the paragraph with the surest Extract (ours)
) -> Program:
    """Take the majority answer of n chains if at least half of them agree, else edit the most
    probable chain that gives it (Zhao et al. 2023).

    If log-probabilities are not known, the first chain that gives it is edited. If the text written
    after the edited chain lacks "The answer is", that text is the answer, with a fault.
    Differs from the paper: evidence is chosen by words shared with the sentence of the chain, not
    by an embedding.
    """
    drawn = yield Sample(prompts["cot"](question), n, temperature, ("\n",), max_tokens)
    answers = [answer_from_chain(sampled.text) or "" for sampled in drawn]
    agreed = majority(answers)  # CoT-SC (paper)
    same = [as_compared(answer) == as_compared(agreed) for answer in answers]
    agreeing = [sampled for sampled, votes in zip(drawn, same, strict=True) if votes]
    known = [sampled for sampled in agreeing if sampled.log_probability is not None]
    chain = max(known, key=lambda s: s.log_probability, default=agreeing[0]).text  # paper
    # only chains that disagree are edited (paper; the released program edits all)
    if agreed and sum(same) >= ceil(n / 2):
        hops = tuple(map(Hop, rationale(chain)))
        return Prediction(agreed, (), tuple(sentences(chain)), chain, hops=hops)
    seen = {}  # all paragraphs, in order
    hops = []  # the edited sentences
    for sentence in rationale(chain):
        hop, paragraphs = yield from edit(
            question, sentence, prompts, k, shown, max_tokens, extract
        )
        hops.append(hop)
        seen |= dict.fromkeys(paragraphs)
    # "First, ... Second, ...": the edited chain, from which the model concludes (paper)
    chain = tuple(f"{word}, {hop.text}" for word, hop in zip(ORDINALS, hops, strict=False))
    reading = yield Generate(prompts["cot"](question, (), chain), LINE, max_tokens)
    answer = answer_from_chain(reading)
    fault = "" if answer else 'no "The answer is" after the edited chain'
    answer = answer or reading
    return Prediction(answer, tuple(seen), chain, reading, fault=fault, hops=tuple(hops))


def edit(
    question: Question,
    sentence: str,
    prompts: Prompts,
    k: int,
    shown: int,
    max_tokens: int,
    extract: bool,
) -> Program:
    """Write a verifying question for a sentence, and retrieve with it; return its answer from the
    evidence, which takes the sentence's place, as a Hop, and the paragraphs (paper).
    """
    prompt = prompts["question"](question, sentence=sentence)
    query = (yield Generate(prompt, LINE, max_tokens)) or sentence
    paragraphs = yield Retrieve(query, k)
    verifying = replace(question, text=query, passage=None)
    read = paragraphs
    if extract and paragraphs:
        best = yield from extract_best(query, paragraphs)
        read = (best.paragraph,)
    evidence = " ".join(nearest(sentence, read, shown))
    prompt = prompts["answer"](verifying, evidence=evidence)
    text = yield Generate(prompt, LINE, max_tokens)
    return Hop(text, query=query), paragraphs


def rationale(chain: str) -> list[str]:
    """The first eight sentences of a chain, without the answer and "First, " and the like."""
    facts = [ORDINAL.sub("", sentence) for sentence in sentences(chain)]
    return [fact for fact in facts if answer_from_chain(fact) is None][: len(ORDINALS)]


def nearest(sentence: str, paragraphs: Sequence[Paragraph], n: int) -> list[str]:
    """The n sentences of the paragraphs that share the most words with a sentence, best first."""
    lines = dict.fromkeys(line for p in paragraphs for line in sentences(p.text))
    aim = normalise_answer(sentence)
    near = {line: fuzz.token_set_ratio(aim, normalise_answer(line)) for line in lines}
    return sorted(near, key=near.__getitem__, reverse=True)[:n]


SYSTEMS = (
    System(
        name="Verify-and-Edit",
        program=verify_and_edit,
        stages={
            "cot": "writes a chain of thought",
            "question": "asks a question that verifies a sentence",
            "answer": "answers it from the evidence",
        },
        examples=TWO_EXAMPLES,
        equal=("k", "extract"),
        generations=22,
        draws=("n",),
        study=SEARCHAIN,
        family=(ONCE, 1),
        order=250,
    ),
)
