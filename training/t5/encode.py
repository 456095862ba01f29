"""Turns training examples into tensors: tokens, and the positions that the losses need."""

from collections.abc import Iterable
from typing import NamedTuple

import torch

from ircot_laboratory.world.relations import RELATION_NAMES
from training.t5.examples import Example
from training.t5.places import PROMPT, TARGET

IGNORED = -100  # the label of tokens that are left out of the loss


class StatedRow(NamedTuple):
    """The positions of a value in the prompt and of its subject's first mention there, the first
    and last token of the subject, and the relation.
    """

    row: int
    at: int
    named: int
    first: int
    last: int
    relation: int


class DecidedRow(NamedTuple):
    """The position of a value in the target, the first and last token of its subject, and the
    relation.
    """

    row: int
    at: int
    first: int
    last: int
    relation: int


class ComparedRow(NamedTuple):
    """The side and position of a value and of the one it is compared with, and the outcome."""

    row: int
    side: int
    at: int
    other_side: int
    other: int
    outcome: int


class AboutRow(NamedTuple):
    """The position of a value in the target, and the side and position of its subject's first
    token.
    """

    row: int
    at: int
    side: int
    place: int


TABLES = {"stated": StatedRow, "decided": DecidedRow, "compared": ComparedRow, "about": AboutRow}


class Tokens(NamedTuple):
    """The tokens of the prompt and the target of one example, and the position of each token by the
    character at which it starts, without the end token.
    """

    prompt: list[int]
    target: list[int]
    starts: dict[int, int]
    out_starts: dict[int, int]


def encode(examples: list[Example], tokenizer) -> dict[str, torch.Tensor]:
    """Turn examples into tensors.

    `input_ids`, `attention_mask` [rows, prompt length]. `labels`, `decoder_input_ids`, `sources`,
    `asked` [rows, target length]; `sources` is the prompt position that a token is copied from, and
    `asked` that of the word of the question that asks for it; -1 if there is none. The TABLES, [n,
    columns]: positions in the target are those of the decoder's inputs, except `at` of `decided`
    and of `about`, which are those of its outputs.
    """
    tokenized = _tokenize(examples, tokenizer)
    batch = _empty_batch(tokenized)
    tables = {name: [] for name in TABLES}
    for row, (example, tokens) in enumerate(zip(examples, tokenized, strict=True)):
        _fill_row({name: part[row] for name, part in batch.items()}, example, tokens)
        _fill_tables(tables, row, example, tokens, tokenizer)
    return batch | {name: make_table(tables[name], kind) for name, kind in TABLES.items()}


def make_table(rows: Iterable[tuple], kind: type) -> torch.Tensor:
    """Rows of one kind of NamedTuple as a tensor [n, columns]."""
    return torch.tensor(list(rows), dtype=torch.long).view(-1, len(kind._fields))


def _tokenize(examples: list[Example], tokenizer) -> list[Tokens]:
    prompts = tokenizer([one.prompt for one in examples], return_offsets_mapping=True)
    targets = tokenizer([one.target for one in examples], return_offsets_mapping=True)
    return [
        Tokens(
            prompts["input_ids"][row],
            targets["input_ids"][row],
            *(_starts(side["offset_mapping"][row]) for side in (prompts, targets)),
        )
        for row in range(len(examples))
    ]


def _starts(offsets: list[tuple[int, int]]) -> dict[int, int]:
    return {start: position for position, (start, _) in enumerate(offsets[:-1])}


def _empty_batch(tokenized: list[Tokens]) -> dict[str, torch.Tensor]:
    """Tensors with padding only. Prompt lengths are multiples of 32, target lengths of 8: training
    is faster with few different shapes.
    """
    shape = len(tokenized), -(-max(len(one.prompt) for one in tokenized) // 32) * 32
    out_shape = len(tokenized), -(-max(len(one.target) for one in tokenized) // 8) * 8
    return {
        "input_ids": torch.zeros(shape, dtype=torch.long),
        "attention_mask": torch.zeros(shape, dtype=torch.long),
        "labels": torch.full(out_shape, IGNORED),
        "decoder_input_ids": torch.zeros(out_shape, dtype=torch.long),
        "sources": torch.full(out_shape, -1),
        "asked": torch.full(out_shape, -1),
    }


def _fill_row(parts: dict[str, torch.Tensor], example: Example, tokens: Tokens) -> None:
    ids, target, starts, out_starts = tokens
    parts["input_ids"][: len(ids)] = torch.tensor(ids)
    parts["attention_mask"][: len(ids)] = 1
    parts["decoder_input_ids"][1 : len(target)] = torch.tensor(target[:-1])
    silent = sum(start < example.silent for start in out_starts)
    end = len(target) if example.complete else len(target) - 1  # a cut chain does not end there
    parts["labels"][silent:end] = torch.tensor(target[silent:end])
    for at, source, length in example.copies:
        for offset in range(length):
            if at + offset in out_starts and source + offset in starts:
                parts["sources"][out_starts[at + offset]] = starts[source + offset]
    for at, source, length in example.asked:
        places = [position for start, position in out_starts.items() if at <= start < at + length]
        parts["asked"][places] = starts[source]


def _fill_tables(
    tables: dict[str, list], row: int, example: Example, tokens: Tokens, tokenizer
) -> None:
    def name(subject: str, relation: str) -> tuple[int, ...]:
        words = tokenizer.convert_tokens_to_ids(subject.split())
        return (*words, RELATION_NAMES.index(relation))

    starts, out_starts = tokens.starts, tokens.out_starts
    # the decoder's inputs are shifted one to the right
    inputs = {PROMPT: starts, TARGET: {at: position + 1 for at, position in out_starts.items()}}
    for at, named, *fact in example.stated:
        tables["stated"].append(StatedRow(row, starts[at], starts[named], *name(*fact)))
    for at, *fact in example.decided:
        tables["decided"].append(DecidedRow(row, out_starts[at], *name(*fact)))
    for at, side, place in example.about:
        tables["about"].append(AboutRow(row, out_starts[at], side, inputs[side][place]))
    for one in example.compared:
        places = [number for side, at in one.places for number in (side, inputs[side][at])]
        tables["compared"].append(ComparedRow(row, *places, one.outcome))
