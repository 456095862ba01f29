"""Turns transcripts into tensors: the tokens to write, and the positions that the losses need."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import torch

from ircot_laboratory.world.relations import RELATION_NAMES
from training.agent.transcripts import Transcript
from training.agent.words import make_agent_tokenizer
from training.t5.causal_encode import (
    ComparedAt,
    DecidedAt,
    InferredAt,
    SourceAt,
    StatedAt,
    WrittenAt,
)
from training.t5.encode import make_table

MADE_UP = 0.2  # weight of tokens that the agent cannot know, such as those of invented names
TABLES = {
    "written": WrittenAt,
    "sources": SourceAt,
    "stated": StatedAt,
    "decided": DecidedAt,
    "inferred": InferredAt,
    "compared": ComparedAt,
    "concluded": SourceAt,
}


class Encoded(NamedTuple):
    """The tokens of a transcript, and its TABLES without their column `row`. `weights`: one for
    each row of "written"; `counts`: the number of written tokens of each span.
    """

    tokens: list[int]
    tables: dict[str, list[tuple[int, ...]]]
    weights: list[float]
    counts: list[int]


def encode_transcript(transcript: Transcript) -> Encoded:
    """Tokenize a transcript and find the positions that the losses need."""
    tokenizer = make_agent_tokenizer()
    found = tokenizer.backend_tokenizer.encode(transcript.text)
    starts = [start for start, _ in found.offsets]
    tables = {name: [] for name in TABLES}
    weights, counts = [], []
    made_up = _tokens_of(transcript.made_up, starts)
    for span in transcript.spans:
        first, end = bisect_left(starts, span.start), bisect_left(starts, span.end)
        for at in range(first, end):
            tables["written"].append((at - 1, found.ids[at]))
            weights.append(1.0 if span.sure and at not in made_up else MADE_UP)
        if span.ends:
            tables["written"].append((end - 1, tokenizer.eos_token_id))
            weights.append(1.0 if span.sure else MADE_UP)
        counts.append(end - first + span.ends)
    _fill(tables, transcript, found.ids, starts)
    return Encoded(found.ids, tables, weights, counts)


def _tokens_of(spans: Sequence[tuple[int, int]], starts: list[int]) -> set[int]:
    return {
        at
        for start, end in spans
        for at in range(bisect_left(starts, start), bisect_left(starts, end))
    }


def _fill(
    tables: dict[str, list], transcript: Transcript, ids: list[int], starts: list[int]
) -> None:
    place = {start: at for at, start in enumerate(starts)}
    for copied in transcript.copied:
        tables["sources"] += _copy(copied, ids, place, starts)
    for one in transcript.stated:
        if one.known in place and one.value in place:
            row = place[one.known], *_name(*one.fact), ids[place[one.value]]
            tables["stated"].append(row)
    for one in transcript.decided:
        if one.at in place:
            tables["decided"].append((place[one.at] - 1, *_name(*one.fact)))
    for one in transcript.inferred:
        if one.at in place:
            tables["inferred"].append((place[one.at] - 1, *_name(*one.fact), one.back))
    for one in transcript.compared:
        if one.at in place and one.other in place:
            tables["compared"].append((place[one.at], place[one.other], one.outcome))
    for one in transcript.concluded:
        if one.at in place and one.source in place:
            tables["concluded"].append((place[one.at] - 1, place[one.source]))


def _copy(copied, ids: list[int], place: dict[int, int], starts: list[int]):
    """The positions before the tokens of a copied name, each with the position to look at: for the
    first token where the fact is known, for the others the token's own place in the source.
    """
    at, source = place[copied.at], place.get(copied.source)
    end = bisect_left(starts, copied.at + len(copied.name))
    if source is None or copied.known not in place:
        return
    yield at - 1, place[copied.known]
    for later in range(at + 1, end):
        if ids[source + later - at] == ids[later]:
            yield later - 1, source + later - at


def _name(subject: str, relation: str) -> tuple[int, int, int]:
    ids = make_agent_tokenizer().convert_tokens_to_ids(subject.split())
    return ids[0], ids[-1], RELATION_NAMES.index(relation)


def make_batch(rows: Sequence[Encoded]) -> dict[str, torch.Tensor]:
    """A batch: `input_ids` [rows, length], padded on the right to a multiple of 32; the TABLES,
    [n, columns]; `weights` [n] of the rows of "written".
    """
    longest = -(-max(len(row.tokens) for row in rows) // 32) * 32
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    tables = {name: [] for name in TABLES}
    for number, row in enumerate(rows):
        ids[number, : len(row.tokens)] = torch.tensor(row.tokens)
        for name, found in row.tables.items():
            tables[name] += [(number, *one) for one in found]
    made = {name: make_table(tables[name], kind) for name, kind in TABLES.items()}
    weights = torch.tensor([weight for row in rows for weight in row.weights])
    return {"input_ids": ids, "weights": weights, **made}
