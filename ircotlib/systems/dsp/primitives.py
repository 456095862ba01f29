"""DSP's primitives: completing a field, and retrieving with several queries (Khattab et al. 2022,
§2; released program, dsp/primitives).
"""

from collections.abc import Sequence
from typing import NamedTuple

from ircotlib.program import LINE, Generate, Program, Retrieve, Sample, Sampled
from ircotlib.retrieval.fusion import fuse
from ircotlib.systems import WritePrompt

END = ("\n\n",)  # of a completion


class Sampling(NamedTuple):
    """How much DSP samples and retrieves; see the keywords of `dsp`. `annotating`: whether for an
    example, not for the question asked.
    """

    hops: int
    queries: int
    depth: int
    k: int
    n: int
    temperature: float
    max_tokens: int
    annotating: bool = False


def complete_field(write: WritePrompt, field: str, n: int, sampling: Sampling) -> Program:
    """Sample n texts and return pairs of a rationale and the field written after it, the most
    probable first. If no text has the field, the first with a rationale is continued by greedy
    decoding, at half the length (program).
    """
    max_tokens = sampling.max_tokens
    if n == 1:  # greedy (program)
        drawn = [Sampled((yield Generate(write(), END, max_tokens)), None)]
    else:
        drawn = yield Sample(write(), n, sampling.temperature, END, max_tokens)
    if all(sampled.log_probability is not None for sampled in drawn):
        drawn = sorted(drawn, key=lambda sampled: -sampled.log_probability)
    parts = [sampled.text.partition(field) for sampled in drawn]
    whole = [(before.strip(), after.strip()) for before, _, after in parts if after.strip()]
    if whole:
        return whole
    rationale = next((before.strip() for before, _, _ in parts if before.strip()), "")
    so_far = f" {rationale}{field}"
    return [(rationale, (yield Generate(write(thoughts=(so_far,)), LINE, max_tokens // 2)))]


def retrieve_fused(queries: Sequence[str], depth: int, k: int) -> Program:
    """The k best paragraphs for several queries by reciprocal rank fusion (ours)."""
    rankings = []
    for query in queries:
        rankings.append((yield Retrieve(query, depth)))
    scores = fuse(rankings)  # the program fuses ColBERT's scores
    return tuple(sorted(scores, key=scores.get, reverse=True)[:k])
