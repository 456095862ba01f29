"""Reading and continuing prompts with a causal model, without computing a shared prefix
twice.

Shapes: B rows of a batch (prompts, then texts), T columns of the cache (tokens, with
padding on the left), H key-value heads, D the width of a head, V the vocabulary; keys
and values: (B, H, T, D).
"""

from collections.abc import Generator, Sequence
from inspect import signature
from math import inf

import torch
from torch.nn.functional import pad
from torch.nn.utils.rnn import pad_sequence
from transformers import Cache, DynamicCache
from transformers.cache_utils import DynamicLayer

from ircotlib.models.prefixes import Prefixes
from ircotlib.models.replies import cut_batches

# tokens that are read at a time on a CPU, whose cache holds them: with whole batches,
# the head to head takes 1.14 times as long, and reading 1.38 times
READ = 1024
ROOM = 64  # columns by which a cache grows at once

# the rows of the logits to continue, their next tokens
Continued = tuple[list[int], list[int]]
Decoder = Generator[torch.Tensor, Continued, None]
Prompts = Sequence[Sequence[int]]


def causal(model, prompts: Prompts, prefixes: Prefixes) -> Decoder:
    """Yield the logits after every prompt, then after every text, (B, V); be sent which
    of its rows to continue, and their next tokens. `prefixes` is read and extended.
    """
    logits, cache = _read(model, prompts, prefixes)
    _, mask, positions = _padded(model, prompts)
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


def _read(model, prompts: Prompts, prefixes: Prefixes) -> tuple[torch.Tensor, Cache]:
    """Read prompts, except for beginnings that were read before, in groups, each into
    its rows of the cache: the logits after each prompt, (B, V), and the cache.
    """
    columns = max(map(len, prompts))
    cache = DynamicCache(config=model.config)
    # B, H, T, D
    cache.layers = [GrowingLayer(len(prompts), columns) for _ in cache.layers]
    unread = [len(prompt) - prefixes.known(prompt) for prompt in prompts]
    # a GPU reads the batch at once
    tokens = READ if model.device.type == "cpu" else inf
    logits = []
    for rows in cut_batches(unread, len(prompts), tokens, order=range(len(prompts))):
        group = [prompts[row] for row in rows]
        part = DynamicCache()
        # the group is padded to its own longest prompt
        first = columns - max(map(len, group))
        own = slice(rows[0], rows[-1] + 1)  # rows follow each other, as `order` says
        part.layers = [OwnLayer(layer, own, first) for layer in cache.layers]
        logits.append(_read_group(model, group, prefixes, part))
    return torch.cat(logits), cache


def _read_group(
    model, prompts: Prompts, prefixes: Prefixes, cache: Cache
) -> torch.Tensor:
    """Read prompts of equal length into an empty cache: the logits after each, (B, V)."""
    ids, mask, positions = _padded(model, prompts)
    for layer, states in enumerate(remembered := _remembered(prompts, prefixes)):
        cache.update(*states, layer)
    # the columns before are in the cache
    first = cache.get_seq_length() if remembered else 0
    logits = _forward(model, ids[:, first:], mask, positions[:, first:], cache)
    for row, prompt in enumerate(prompts):  # the states of new blocks are kept
        left = mask.shape[1] - len(prompt)  # columns of padding
        prefixes.keep(
            prompt, lambda a, b: _states(cache, row, left + a, left + b, prefixes)
        )
    return logits


def _padded(model, prompts: Prompts) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Token ids, mask (1: a token) and positions, each (B, T); the padding is on the
    left.
    """
    rows = [torch.as_tensor(prompt, dtype=torch.long) for prompt in prompts]
    ids = pad_sequence(rows, batch_first=True, padding_side="left").to(model.device)
    mask = pad_sequence(
        [torch.ones_like(row) for row in rows], True, padding_side="left"
    ).to(ids)
    return ids, mask, (mask.cumsum(-1) - 1).clamp(min=0)  # a prompt's first token: 0


def _remembered(
    prompts: Prompts, prefixes: Prefixes
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Keys and values, for each layer, of the beginnings of prompts, padded on the
    left. All prompts then have the same number of tokens left to read. Empty if this
    saves nothing.
    """
    unread = max(len(prompt) - prefixes.known(prompt) for prompt in prompts)
    if unread >= max(map(len, prompts)):
        return []
    # of what each need not read
    lengths = [max(0, len(prompt) - unread) for prompt in prompts]
    blocks = [
        prefixes.find(prompt, n) for prompt, n in zip(prompts, lengths, strict=True)
    ]
    # of a prompt of which nothing is known
    empty = next(row[0][:0] for row in blocks if row)
    rows = [
        torch.cat([*row, empty])[:n] for row, n in zip(blocks, lengths, strict=True)
    ]
    # B, T, all features
    states = pad_sequence(rows, batch_first=True, padding_side="left")
    # B, T, H * D
    parts = states.split([heads * width for heads, width in prefixes.shapes], -1)
    parts = [
        part.unflatten(-1, shape).transpose(1, 2)  # B, H, T, D
        for part, shape in zip(parts, prefixes.shapes, strict=True)
    ]
    return list(zip(parts[::2], parts[1::2], strict=True))  # keys and values by turns


def _states(
    cache: Cache, row: int, first: int, last: int, prefixes: Prefixes
) -> torch.Tensor:
    """Keys and values of some columns of a row, concatenated over layers: (columns,
    features).
    """
    parts = [states for layer in cache.layers for states in (layer.keys, layer.values)]
    prefixes.shapes = [(part.shape[1], part.shape[3]) for part in parts]  # H, D
    return torch.cat(
        [part[row, :, first:last].transpose(0, 1).flatten(1) for part in parts], 1
    )


def _forward(model, ids, mask, positions, cache: Cache) -> torch.Tensor:
    """The logits after the last column, (B, V): padding is on the left, so it is a
    token.
    """
    inputs = {"input_ids": ids, "attention_mask": mask, "position_ids": positions}
    output = model(**inputs, past_key_values=cache, use_cache=True, logits_to_keep=1)
    return output.logits[:, -1]


def can_reuse(model) -> bool:
    """Whether prompts and prefixes can share this model's cache, row by row: it keeps
    all keys and values (no sliding window, no recurrent states), whose positions do not
    depend on the length.
    """
    positions = str(getattr(model.config.get_text_config(), "rope_parameters", ""))
    has_cache = "past_key_values" in signature(type(model).forward).parameters
    plain = all(
        type(layer) is DynamicLayer
        for layer in DynamicCache(config=model.config).layers
    )
    return (
        has_cache
        and plain
        and "dynamic" not in positions
        and "longrope" not in positions
    )


class GrowingLayer(DynamicLayer):
    """Keys and values with spare room, so that a token is added without copying the
    others. Without it and `OwnLayer`s, which groups of prompts fill, the head to head
    takes 1.2 times as long.
    """

    def __init__(self, rows: int, columns: int):
        super().__init__()
        self.rows, self.columns = rows, columns  # at first

    def room(self, keys: torch.Tensor, values: torch.Tensor) -> list[torch.Tensor]:
        """All keys and all values, (B, H, columns and spare room, D); `keys`, `values`:
        some.
        """
        if not self.is_initialized:
            self.lazy_initialization(keys, values)
            columns = self.columns + ROOM
            shapes = [
                (self.rows, like.shape[1], columns, like.shape[3])
                for like in (keys, values)
            ]
            self._all = [keys.new_empty(shape) for shape in shapes]
            self._use_columns(self.columns)  # filled by the OwnLayers of groups
        return self._all

    def update(self, key_states, value_states, *args, **kwargs):
        """Add the states of the next column, as DynamicLayer does."""
        columns = self.keys.shape[2]
        if columns == self._all[0].shape[2]:
            self._hold(self.keys, self.values)  # copied once in ROOM tokens
        self._use_columns(columns + 1)
        self.keys[:, :, columns:], self.values[:, :, columns:] = (
            key_states,
            value_states,
        )
        return self.keys, self.values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
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

    def _hold(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        # T + ROOM
        self._all = [pad(states, (0, 0, 0, ROOM)) for states in (keys, values)]
        self._use_columns(keys.shape[2])

    def _use_columns(self, columns: int) -> None:
        # views
        self.keys, self.values = (states[:, :, :columns] for states in self._all)


class OwnLayer(DynamicLayer):
    """Some rows of a growing layer, whose prompts, padding included, begin at column
    `first`.
    """

    def __init__(self, whole: GrowingLayer, rows: slice, first: int):
        super().__init__()
        self.whole, self.rows, self.first = whole, rows, first

    def update(self, key_states, value_states, *args, **kwargs):
        """Add the states of the next columns, as DynamicLayer does."""
        # views
        own = [
            states[self.rows] for states in self.whole.room(key_states, value_states)
        ]
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
            # where other prompts are longer: numbers, though none is looked at
            for states in own:
                states[:, :, : self.first] = 0
        columns = self.get_seq_length()  # of these prompts, read so far
        last = self.first + columns + key_states.shape[2]
        self.keys, self.values = (states[:, :, self.first : last] for states in own)
        self.keys[:, :, columns:], self.values[:, :, columns:] = (
            key_states,
            value_states,
        )
        return self.keys, self.values
