"""Turns transcripts into tensors: tokens to write, and positions for the losses."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from ircot_laboratory.world.records import Fact
from ircot_laboratory.world.relations import RELATION_NAMES
from training.agent.transcripts import CopiedName, Transcript
from training.agent.words import make_agent_tokenizer
from training.positions import CAUSAL_TABLES, make_tables, pad

# weight of tokens that the agent cannot know, such as those of invented names
MADE_UP = 0.2
REPLY = 10  # tokens: a shorter reply weighs as much as one of this length


class EncodedTranscript(NamedTuple):
    """The tokens of a transcript, and its CAUSAL_TABLES without their column `row`.
    `weights` and `at`: for each row of "written" its weight and the character at which
    its token begins, None for the end of a text or for what the agent cannot know;
    `counts`: the number of rows of each span.
    """

    tokens: list[int]
    tables: dict[str, list[tuple[int, ...]]]
    weights: list[float]
    counts: list[int]
    at: list[int | None]


def encode_transcript(transcript: Transcript) -> EncodedTranscript:
    """Tokenize a transcript and find the positions that the losses need."""
    tokenizer = make_agent_tokenizer()
    encoding = tokenizer.backend_tokenizer.encode(transcript.text)
    ids, starts = encoding.ids, [start for start, _ in encoding.offsets]
    made_up: set[int] = set()
    for start, end in transcript.made_up:
        made_up.update(range(bisect_left(starts, start), bisect_left(starts, end)))
    row = EncodedTranscript(ids, {name: [] for name in CAUSAL_TABLES}, [], [], [])
    for span in transcript.spans:
        first, end = bisect_left(starts, span.start), bisect_left(starts, span.end)
        row.counts.append(end - first + span.ends)
        weight = max(1.0, REPLY / row.counts[-1])
        for at in range(first, end):
            row.tables["written"].append((at - 1, ids[at]))
            known = span.knowable and at not in made_up
            row.weights.append(weight * (1.0 if known else MADE_UP))
            row.at.append(starts[at] if known else None)
        if span.ends:
            row.tables["written"].append((end - 1, tokenizer.eos_token_id))
            row.weights.append(weight * (1.0 if span.knowable else MADE_UP))
            row.at.append(None)
    _fill(row.tables, transcript, ids, starts)
    return row


def _fill(
    tables: dict[str, list], transcript: Transcript, ids: list[int], starts: list[int]
) -> None:
    token = {start: at for at, start in enumerate(starts)}  # that begins at a character
    for copied in transcript.copied:
        tables["sources"] += _look_up(copied, ids, token, starts)
    for known, value, fact in transcript.stated:
        if known in token and value in token:
            tables["stated"].append((token[known], *_name(fact), ids[token[value]]))
    for at, fact in transcript.decided:
        if at in token:
            tables["decided"].append((token[at] - 1, *_name(fact)))
    for at, fact, back, early in transcript.inferred:
        if at in token:
            tables["inferred"].append((token[at] - 1 - early, *_name(fact), back))
    for at, early, value, source, back in transcript.recalled:
        if at in token and source in token:
            here = token[at] - 1 - early
            there = min(token[source], here)
            tables["recalled"].append((here, *_ends(value), there, back))
    for at, other, outcome in transcript.weighed:
        if at in token and other in token:
            here = token[at] - 1
            tables["weighed"].append((here, min(token[other], here - 1), outcome))
    for at, other, outcome in transcript.compared:
        if at in token and other in token:
            tables["compared"].append((token[at], token[other], outcome))
    # like a value, the place must know the outcome
    for at, word, outcome in transcript.asked:
        if at in token and word in token:
            tables["compared"].append((token[at] - 1, token[word], outcome))
    for at, source in transcript.concluded:
        if at in token and source in token:
            tables["concluded"].append((token[at] - 1, token[source]))


def _look_up(
    copied: CopiedName, ids: list[int], token: dict[int, int], starts: list[int]
) -> Iterator[tuple[int, int]]:
    """The positions before a copied name's tokens, and where to look for each: for the
    first, where the fact is known; for the others, at their own place in the source.
    """
    at = token[copied.at]
    source = token.get(copied.source)
    end = bisect_left(starts, copied.at + len(copied.name))
    if source is None or copied.known not in token:
        return
    yield at - 1, token[copied.known]
    for n in range(1, end - at):
        if ids[source + n] == ids[at + n]:
            yield at + n - 1, source + n


def _name(fact: Fact) -> tuple[int, int, int]:
    return *_ends(fact.subject), RELATION_NAMES.index(fact.relation)


def _ends(name: str) -> tuple[int, int]:
    """The first and the last token of a name or value."""
    ids = make_agent_tokenizer().backend_tokenizer.encode(name).ids
    return ids[0], ids[-1]


def make_batch(rows: Sequence[EncodedTranscript]) -> dict[str, torch.Tensor]:
    """A batch: `input_ids` [rows, length], padded; the CAUSAL_TABLES, [n, columns];
    `weights` [n] of the rows of "written".
    """
    tables: dict[str, list] = {name: [] for name in CAUSAL_TABLES}
    for number, row in enumerate(rows):
        for name, table in row.tables.items():
            tables[name] += [(number, *columns) for columns in table]
    weights = torch.tensor([weight for row in rows for weight in row.weights])
    ids = pad([row.tokens for row in rows])
    return {"input_ids": ids, "weights": weights, **make_tables(tables, CAUSAL_TABLES)}
