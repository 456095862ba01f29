"""Turns training examples into tensors: tokens, and the positions that the losses need."""

from typing import NamedTuple

import torch

from ircot_laboratory.world.records import Fact
from ircot_laboratory.world.relations import RELATION_NAMES
from training.positions import PROMPT, T5_TABLES, TARGET, make_tables
from training.t5.examples import PromptExample

IGNORED = -100  # the label of tokens that are left out of the loss


class PromptTokens(NamedTuple):
    """The tokens of the prompt and the target of one example, and the position of each token by the
    character at which it starts, without the end token.
    """

    prompt: list[int]
    target: list[int]
    starts: dict[int, int]
    out_starts: dict[int, int]


def encode(examples: list[PromptExample], tokenizer) -> dict[str, torch.Tensor]:
    """Turn examples into tensors.

    `input_ids`, `attention_mask` [rows, prompt length]. `labels`, `decoder_input_ids`, `sources`,
    `asked` [rows, target length]; `sources` is the prompt position that a token is copied from, and
    `asked` that of the word of the question that asks for it; -1 if there is none. The T5_TABLES,
    [n, columns]: positions in the target are those of the decoder's inputs, except `at` of
    `decided` and of `about`, which are those of its outputs.

    Prompt lengths are multiples of 32, target lengths of 8: training is faster with few different
    shapes.
    """
    tokenized = _tokenize(examples, tokenizer)
    shape = len(tokenized), -(-max(len(tokens.prompt) for tokens in tokenized) // 32) * 32
    out_shape = len(tokenized), -(-max(len(tokens.target) for tokens in tokenized) // 8) * 8
    batch = {
        "input_ids": torch.zeros(shape, dtype=torch.long),
        "attention_mask": torch.zeros(shape, dtype=torch.long),
        "labels": torch.full(out_shape, IGNORED),
        "decoder_input_ids": torch.zeros(out_shape, dtype=torch.long),
        "sources": torch.full(out_shape, -1),
        "asked": torch.full(out_shape, -1),
    }
    tables = {name: [] for name in T5_TABLES}
    for row, (example, tokens) in enumerate(zip(examples, tokenized, strict=True)):
        _fill_row({name: part[row] for name, part in batch.items()}, example, tokens)
        _fill_tables(tables, row, example, tokens, tokenizer)
    return batch | make_tables(tables, T5_TABLES)


def _tokenize(examples: list[PromptExample], tokenizer) -> list[PromptTokens]:
    def starts(offsets: list[tuple[int, int]]) -> dict[int, int]:
        return {start: position for position, (start, _) in enumerate(offsets[:-1])}

    prompts = tokenizer([example.prompt for example in examples], return_offsets_mapping=True)
    targets = tokenizer([example.target for example in examples], return_offsets_mapping=True)
    columns = (
        side[name] for name in ("input_ids", "offset_mapping") for side in (prompts, targets)
    )
    return [
        PromptTokens(prompt, target, starts(offsets), starts(out_offsets))
        for prompt, target, offsets, out_offsets in zip(*columns, strict=True)
    ]


def _fill_row(parts: dict[str, torch.Tensor], example: PromptExample, tokens: PromptTokens) -> None:
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
        sentence = [position for start, position in out_starts.items() if at <= start < at + length]
        parts["asked"][sentence] = starts[source]


def _fill_tables(
    tables: dict[str, list], row: int, example: PromptExample, tokens: PromptTokens, tokenizer
) -> None:
    def name(fact: Fact) -> tuple[int, ...]:
        words = tokenizer.convert_tokens_to_ids(fact.subject.split())
        return (*words, RELATION_NAMES.index(fact.relation))

    starts, out_starts = tokens.starts, tokens.out_starts
    # the decoder's inputs are shifted one to the right
    inputs = {PROMPT: starts, TARGET: {at: position + 1 for at, position in out_starts.items()}}
    for at, named, fact in example.stated:
        tables["stated"].append((row, starts[at], starts[named], *name(fact)))
    for at, fact in example.decided:
        tables["decided"].append((row, out_starts[at], *name(fact)))
    for at, (side, subject) in example.about:
        tables["about"].append((row, out_starts[at], side, inputs[side][subject]))
    for *places, outcome in example.compared:
        sides = [number for side, at in places for number in (side, inputs[side][at])]
        tables["compared"].append((row, *sides, outcome))
