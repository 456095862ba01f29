"""Turns training examples into tensors: tokens, and positions for the losses."""

import torch

from ircot_laboratory.world.records import Fact
from ircot_laboratory.world.relations import RELATION_NAMES
from training.positions import PROMPT, T5_TABLES, TARGET, make_tables, pad
from training.t5.examples import PromptExample

IGNORED = -100  # the label of tokens that are left out of the loss
# the position of each token by the character at which it starts
Starts = dict[int, int]


def encode(examples: list[PromptExample], tokenizer) -> dict[str, torch.Tensor]:
    """Turn examples into tensors.

    `input_ids`, `attention_mask` [rows, prompt length]. `labels`, `decoder_input_ids`,
    `sources`, `asked` [rows, target length]; `sources` is the prompt position that a
    token is copied from, and `asked` that of the word of the question that asks for it;
    -1 if there is none. The T5_TABLES, [n, columns]: positions in the target are those
    of the decoder's inputs, except `at` of `decided` and of `about`, which are those of
    its outputs.

    Prompt lengths are multiples of 32, target lengths of 8: training is faster with few
    different shapes.
    """
    prompts = _tokenize([example.prompt for example in examples], tokenizer)
    targets = _tokenize([example.target for example in examples], tokenizer)
    batch = {"input_ids": pad([ids for ids, _ in prompts])}
    batch["attention_mask"] = (batch["input_ids"] != 0).long()
    batch["decoder_input_ids"] = pad([[0, *ids[:-1]] for ids, _ in targets], 8)
    for name, empty in (("labels", IGNORED), ("sources", -1), ("asked", -1)):
        batch[name] = torch.full_like(batch["decoder_input_ids"], empty)
    tables: dict[str, list] = {name: [] for name in T5_TABLES}
    for row, example in enumerate(examples):
        _, starts = prompts[row]
        target, out_starts = targets[row]
        silent = sum(start < example.silent for start in out_starts)
        # a cut chain does not end there
        end = len(target) if example.complete else len(target) - 1
        batch["labels"][row, silent:end] = torch.tensor(target[silent:end])
        for at, source, length in example.copies:
            for n in range(length):
                if at + n in out_starts and source + n in starts:
                    batch["sources"][row, out_starts[at + n]] = starts[source + n]
        for at, source, length in example.asked:
            for n in range(at, at + length):
                if n in out_starts:
                    batch["asked"][row, out_starts[n]] = starts[source]
        _fill_tables(tables, row, example, starts, out_starts, tokenizer)
    return batch | make_tables(tables, T5_TABLES)


def _tokenize(texts: list[str], tokenizer) -> list[tuple[list[int], Starts]]:
    """The tokens of each text, and the starts of all but its end token."""
    encoded = tokenizer(texts, return_offsets_mapping=True)
    starts = (
        {start: position for position, (start, _) in enumerate(offsets[:-1])}
        for offsets in encoded["offset_mapping"]
    )
    return list(zip(encoded["input_ids"], starts, strict=True))


def _fill_tables(
    tables: dict[str, list],
    row: int,
    example: PromptExample,
    starts: Starts,
    out_starts: Starts,
    tokenizer,
) -> None:
    def name(fact: Fact) -> tuple[int, ...]:
        words = tokenizer.convert_tokens_to_ids(fact.subject.split())
        return (*words, RELATION_NAMES.index(fact.relation))

    # the decoder's inputs are shifted one to the right
    shifted = {at: position + 1 for at, position in out_starts.items()}
    inputs = {PROMPT: starts, TARGET: shifted}
    for at, named, fact in example.stated:
        tables["stated"].append((row, starts[at], starts[named], *name(fact)))
    for at, fact in example.decided:
        tables["decided"].append((row, out_starts[at], *name(fact)))
    for at, (side, subject) in example.about:
        tables["about"].append((row, out_starts[at], side, inputs[side][subject]))
    for *places, outcome in example.compared:
        sides = [number for side, at in places for number in (side, inputs[side][at])]
        tables["compared"].append((row, *sides, outcome))
