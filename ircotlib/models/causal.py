"""Reads and continues prompts with a causal model; no shared prefix is computed twice.

Shapes: B rows of a batch (prompts, then texts), T columns of the cache, H key-value
heads of width D, V the vocabulary; keys and values: (B, H, T, D).

- Prompts are padded on the left, so that each ends in the last column: one slice has
  the logits of all rows, and a new column is the next token of every row.
- The mask, (B, T), is 1 for a token. A row's padding may hold any finite numbers, as
  no token sees it; positions count the tokens of a row alone, from 0.
- A batch is read in groups of READ tokens, each padded to its own longest prompt, into
  a cache of its own; then `GrowingLayer` joins these to the cache of all rows.
- The prefix cache holds, in blocks of 16 tokens, what the layers computed for prompts
  (not for texts): keys and values of all layers side by side, (16, features), without
  padding. What a group knows is laid into its cache first, again padded on the left.
  All rows of a group read as many columns as the one with the most left to read.
- A row that has ended leaves mask, positions and cache; the last rows take the places.
"""

from collections.abc import Generator, Sequence
from math import inf
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from torch.nn.utils.rnn import pad_sequence
from transformers import Cache, DynamicCache
from transformers.cache_utils import DynamicLayer

from ircotlib.models.batches import cut_batches
from ircotlib.models.prefixes import Prefixes

# tokens that are read at a time on a CPU, whose cache holds them: with whole batches,
# the head to head takes 1.14 times as long, and reading 1.38 times
READ = 1024
ROOM = 64  # columns by which a cache grows at once

# the rows of the logits to continue, their next tokens
Continued = tuple[list[int], list[int]]
Decoder = Generator[Tensor, Continued, None]
Prompts = Sequence[Sequence[int]]


def causal(model, prompts: Prompts, prefixes: Prefixes) -> Decoder:
    """Yield the logits after every prompt, then after every text, (B, V); be sent which
    of its rows to continue, and their next tokens. `prefixes` is read and extended.
    """
    logits, cache = _read(model, prompts, prefixes)
    _, mask, positions = pad_rows(model, prompts, "left")
    positions = positions[:, -1:]  # B, 1
    while True:
        kept, tokens = yield logits
        if kept != list(range(len(mask))):
            mask, positions = mask[kept], positions[kept]
            cache.batch_select_indices(torch.tensor(kept, device=mask.device))
        ids = torch.tensor(tokens, device=mask.device)[:, None]  # B, 1
        mask = pad(mask, (0, 1), value=1)  # B, T + 1: every row sees its new token
        positions = positions + 1
        logits = _forward(model, ids, mask, positions, cache)


def _read(model, prompts: Prompts, prefixes: Prefixes) -> tuple[Tensor, Cache]:
    """The logits after each prompt, (B, V), and the cache with all of them."""
    unread = [len(prompt) - prefixes.known(prompt) for prompt in prompts]
    # a GPU reads the batch at once
    tokens = READ if model.device.type == "cpu" else inf
    logits = []
    groups: list[list[Any]] = []  # of layers
    for rows in cut_batches(unread, len(prompts), tokens, order=range(len(prompts))):
        cache = DynamicCache(config=model.config)
        group = [prompts[row] for row in rows]
        logits.append(_read_group(model, group, prefixes, cache))
        groups.append(cache.layers)
    columns = max(map(len, prompts))
    layers = []
    while groups[0]:  # layer by layer: what was joined is not kept twice
        parts = [group.pop(0) for group in groups]
        layers.append(GrowingLayer(parts, columns))
    cache.layers = [*layers]
    return torch.cat(logits), cache


def _read_group(
    model, prompts: Prompts, prefixes: Prefixes, cache: DynamicCache
) -> Tensor:
    """Read prompts into an empty cache: the logits after each, (B, V)."""
    ids, mask, positions = pad_rows(model, prompts, "left")
    for number, (keys, values) in enumerate(_remembered(prompts, prefixes)):
        cache.update(keys, values, number)
    known = cache.get_seq_length()  # the columns before are in the cache
    logits = _forward(model, ids[:, known:], mask, positions[:, known:], cache)
    layers: list[Any] = cache.layers
    parts = [part for layer in layers for part in (layer.keys, layer.values)]
    prefixes.shapes = [(part.shape[1], part.shape[3]) for part in parts]  # H, D
    for row, prompt in enumerate(prompts):
        padding = mask.shape[1] - len(prompt)  # columns

        def states(first: int, last: int) -> Tensor:
            columns = slice(padding + first, padding + last)
            # each H, columns, D, then columns, H * D
            own = [part[row, :, columns].transpose(0, 1).flatten(1) for part in parts]
            return torch.cat(own, 1)

        prefixes.keep(prompt, states)
    return logits


def pad_rows(model, prompts: Prompts, side: str) -> tuple[Tensor, Tensor, Tensor]:
    """Token ids, mask and positions, each (B, T), padded on the "left" or "right"."""
    rows = [torch.as_tensor(prompt, dtype=torch.long) for prompt in prompts]
    ones = [torch.ones_like(row) for row in rows]
    ids = pad_sequence(rows, batch_first=True, padding_side=side).to(model.device)
    mask = pad_sequence(ones, batch_first=True, padding_side=side).to(model.device)
    return ids, mask, (mask.cumsum(-1) - 1).clamp(min=0)  # a prompt's first token: 0


def _remembered(prompts: Prompts, prefixes: Prefixes) -> list[tuple[Tensor, Tensor]]:
    """Keys and values, for each layer, of the beginnings of prompts, so that all have
    the same number of tokens left to read. Empty if this saves nothing.
    """
    unread = max(len(prompt) - prefixes.known(prompt) for prompt in prompts)
    if unread >= max(map(len, prompts)):
        return []
    # of what each need not read
    lengths = [max(0, len(prompt) - unread) for prompt in prompts]
    known = list(map(prefixes.find, prompts, lengths))
    empty = next(blocks[0][:0] for blocks in known if blocks)  # for those without any
    rows = [
        torch.cat([*blocks, empty])[:length]
        for blocks, length in zip(known, lengths, strict=True)
    ]
    # B, T, all features
    states = pad_sequence(rows, batch_first=True, padding_side="left")
    widths = [heads * width for heads, width in prefixes.shapes]
    parts = [
        part.unflatten(-1, shape).transpose(1, 2)  # B, H, T, D
        for part, shape in zip(states.split(widths, -1), prefixes.shapes, strict=True)
    ]
    return list(zip(parts[::2], parts[1::2], strict=True))  # keys and values by turns


def _forward(model, ids, mask, positions, cache: Cache) -> Tensor:
    """The logits after the last column, (B, V)."""
    inputs = {"input_ids": ids, "attention_mask": mask, "position_ids": positions}
    output = model(**inputs, past_key_values=cache, use_cache=True, logits_to_keep=1)
    return output.logits[:, -1]


def can_reuse(model) -> bool:
    """Whether this model's cache keeps all keys and values (no sliding window, no
    recurrent states), whose positions do not depend on the length.
    """
    layers = DynamicCache(config=model.config).layers
    positions = str(getattr(model.config.get_text_config(), "rope_parameters", ""))
    growing = "dynamic" in positions or "longrope" in positions
    return all(type(layer) is DynamicLayer for layer in layers) and not growing


def _join(states: Sequence[Tensor], columns: int) -> Tensor:
    """The rows of all, each padded on the left."""
    padded = [pad(each, (0, 0, columns - each.shape[2], 0)) for each in states]
    return torch.cat(padded)


class GrowingLayer(DynamicLayer):
    """Keys and values with spare room, so that a token is added without copying the
    others. It begins with the rows of layers, (B, H, T, D), padded on the left to so
    many `columns`.
    """

    keys: Tensor
    values: Tensor
    _all: list[Tensor]  # both, with the spare room

    def __init__(self, parts: Sequence[Any], columns: int):
        super().__init__()
        keys = _join([part.keys for part in parts], columns)
        values = _join([part.values for part in parts], columns)
        self.lazy_initialization(keys, values)
        self._hold(keys, values)

    def update(self, key_states, value_states, *args, **kwargs):
        """Add the states of the next column, as DynamicLayer does."""
        columns = self.keys.shape[2]
        if columns == self._all[0].shape[2]:
            self._hold(self.keys, self.values)  # copied once in ROOM tokens
        self._use_columns(columns + 1)
        self.keys[:, :, columns:] = key_states
        self.values[:, :, columns:] = value_states
        return self.keys, self.values

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep only these rows; if they only `close_up`, the others are not copied."""
        targets = torch.arange(len(indices), device=indices.device)
        moved = indices != targets  # rows that change their place
        if len(indices) > len(self.keys) or (indices[moved] < len(indices)).any():
            self._hold(self.keys[indices], self.values[indices])
            return
        for states in (self.keys, self.values):
            states[targets[moved]] = states[indices[moved]]
        self._all = [states[: len(indices)] for states in self._all]  # a view: no copy
        self._use_columns(self.keys.shape[2])

    def _hold(self, keys: Tensor, values: Tensor) -> None:
        # T + ROOM
        self._all = [pad(states, (0, 0, 0, ROOM)) for states in (keys, values)]
        self._use_columns(keys.shape[2])

    def _use_columns(self, columns: int) -> None:
        # views
        self.keys, self.values = (states[:, :, :columns] for states in self._all)
