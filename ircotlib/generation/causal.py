"""Reading prompts with a causal model, without computing a shared prefix twice, and decoding."""

from collections.abc import Generator, Sequence

import torch
from torch.nn.functional import pad
from torch.nn.utils.rnn import pad_sequence
from transformers import Cache, DynamicCache
from transformers.cache_utils import DynamicLayer

from ircotlib.generation.batches import close_up
from ircotlib.generation.prefixes import Prefixes

ROOM = 64  # columns by which a cache grows at once

Going = tuple[list[int], list[int]]  # the places of the rows to continue, and their last tokens
Decoder = Generator[torch.Tensor, Going, None]
Prompts = Sequence[Sequence[int]]


def causal(model, prompts: Prompts, prefixes: Prefixes) -> Decoder:
    """Yield the logits after every prompt, then after every text, rows x vocabulary; after each, be
    sent the places of the rows to continue and their last tokens.

    `prefixes`: the prefix cache, which this reads and extends; its limit must be 0 unless the model
    `can_reuse` it.
    """
    logits, cache = _read(model, prompts, prefixes)
    _, mask, positions = _padded(model, prompts)
    if can_reuse(model):
        cache.layers = [Growing(layer) for layer in cache.layers]
    write = _write_branches if can_branch(model) else _write_rows
    yield from write(model, cache, mask, positions[:, -1:], logits)


def _write_rows(model, cache: Cache, mask, positions, logits) -> Decoder:
    """Continue texts, each in its own row of the cache."""
    while True:
        places, tokens = yield logits
        if places != list(range(len(mask))):
            mask, positions = mask[places], positions[places]
            cache.batch_select_indices(torch.tensor(places, device=mask.device))
        ids = torch.tensor(tokens, device=mask.device)[:, None]
        mask, positions = pad(mask, (0, 1), value=1), positions + 1
        logits, cache = _forward(model, ids, mask, positions, cache)
        logits = logits[:, -1]


def _write_branches(model, cache: Cache, mask, positions, logits) -> Decoder:
    """Continue texts; all texts of a prompt are in its row of the cache, as branches that do not
    see each other. The states of the prompt are neither copied nor read for each of them.
    """
    owners = mask - 1  # of each column: a text; 0: the prompt, which all texts see; -1: none
    rows, texts = range(len(mask)), []
    while True:
        places, tokens = yield logits
        if not texts or places != list(range(len(texts))):
            rows = [rows[place] for place in places]
            texts = [texts[place] for place in places] if texts else list(range(1, len(places) + 1))
            if len(live := set(rows)) < len(owners):
                kept = close_up([row in live for row in range(len(owners))])
                owners, positions = owners[kept], positions[kept]
                cache.batch_select_indices(torch.tensor(kept, device=mask.device))
                rows = [kept.index(row) for row in rows]
            branches = [rows[:at].count(row) for at, row in enumerate(rows)]
            where = torch.tensor([rows, branches], device=mask.device).unbind()
            own = owners.new_full((len(owners), max(branches) + 1), -1)
            own[where] = own.new_tensor(texts)
        ids = torch.zeros_like(own)
        ids[where] = own.new_tensor(tokens)
        owners, positions = torch.cat([owners, own], 1), positions + 1
        sees = (owners == 0)[:, None] | (owners[:, None] == own[:, :, None])
        how = sees[:, None], positions.expand_as(ids), cache
        logits, cache = _forward(model, ids, *how, last=ids.shape[1])
        logits = logits[where]


class Growing(DynamicLayer):
    """Keys and values with spare room, so that a token is added without copying the others."""

    def __init__(self, layer: DynamicLayer):
        super().__init__()
        self.lazy_initialization(layer.keys, layer.values)
        self._hold(layer.keys, layer.values)

    def update(self, key_states, value_states, *args, **kwargs):
        """Add the states of the next columns, as DynamicLayer does."""
        columns = self.keys.shape[2]
        added = key_states.shape[2]
        if columns + added > self._all[0].shape[2]:
            self._hold(self.keys, self.values, room=max(ROOM, added))
        self._show(columns + added)
        self.keys[:, :, columns:], self.values[:, :, columns:] = key_states, value_states
        return self.keys, self.values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep only these rows, as DynamicLayer does. If they only move up to places that become
        free (`close_up`), the others are not copied.
        """
        places = torch.arange(len(indices), device=indices.device)
        moved = indices != places
        if len(indices) > len(self.keys) or (indices[moved] < len(indices)).any():
            return self._hold(self.keys, self.values, indices)
        for states in (self.keys, self.values):
            states[places[moved]] = states[indices[moved]]
        self._all = [states[: len(indices)] for states in self._all]
        self._show(self.keys.shape[2])

    def _hold(self, keys: torch.Tensor, values: torch.Tensor, rows=None, room=ROOM) -> None:
        self._all = [_with_room(states, rows, room) for states in (keys, values)]
        self._show(keys.shape[2])

    def _show(self, columns: int) -> None:
        self.keys, self.values = (states[:, :, :columns] for states in self._all)


def _with_room(states: torch.Tensor, rows: torch.Tensor | None, room: int) -> torch.Tensor:
    """These rows of states (None: all), with room for more columns."""
    count, heads, columns, width = states.shape
    count = count if rows is None else len(rows)
    larger = states.new_empty(count, heads, columns + room, width)
    if rows is None:
        larger[:, :, :columns] = states
    else:
        torch.index_select(states, 0, rows, out=larger[:, :, :columns])
    return larger


def can_reuse(model) -> bool:
    """Whether the keys and values of a prefix stay valid with any continuation: all are kept (no
    sliding window, no recurrent states), and positions do not depend on the length.
    """
    if model.config.is_encoder_decoder or model._is_stateful:
        return False
    positions = str(getattr(model.config.get_text_config(), "rope_parameters", ""))
    layers = DynamicCache(config=model.config).layers
    plain = all(type(layer) is DynamicLayer for layer in layers)
    return plain and "dynamic" not in positions and "longrope" not in positions


def can_branch(model) -> bool:
    """Whether a row of the model's cache can hold several texts: it `can_reuse` states, and takes
    any mask and any positions.
    """
    rotary = getattr(model.config.get_text_config(), "rope_parameters", None)
    return can_reuse(model) and bool(rotary) and model.config._attn_implementation == "sdpa"


def _read(model, prompts: Prompts, prefixes: Prefixes) -> tuple[torch.Tensor, Cache]:
    """Read prompts, except for prefixes that were read before: first the prefixes that they share,
    then groups of prompts with about as many tokens left. Return the logits after each prompt,
    and the cache.
    """
    if common := prefixes.common(prompts):
        _read(model, common, prefixes)
    groups = prefixes.groups(prompts)
    if len(groups) == 1:
        return _read_at_once(model, prompts, prefixes)
    read = [_read_at_once(model, [prompts[at] for at in group], prefixes) for group in groups]
    order = torch.tensor([at for group in groups for at in group], device=model.device).argsort()
    cache = _joined([cache for _, cache in read])
    cache.batch_select_indices(order)
    return torch.cat([logits for logits, _ in read])[order], cache


def _read_at_once(model, prompts: Prompts, prefixes: Prefixes) -> tuple[torch.Tensor, Cache]:
    """Read prompts in one pass: the same number of tokens at the end of each, padding included."""
    ids, mask, positions = _padded(model, prompts)
    cache = _remembered(prompts, prefixes)
    first = 0 if cache is None else cache.get_seq_length()
    logits, cache = _forward(model, ids[:, first:], mask, positions[:, first:], cache)
    for row, prompt in enumerate(prompts):
        left = mask.shape[1] - len(prompt)
        prefixes.keep(prompt, lambda a, b: _states(cache, row, left + a, left + b, prefixes))
    return logits[:, -1], cache


def _forward(model, ids, mask, positions, cache, last: int = 1) -> tuple[torch.Tensor, Cache]:
    """The logits after the last columns, rows x columns x vocabulary, and the cache."""
    asked = {"input_ids": ids, "attention_mask": mask, "position_ids": positions}
    output = model(**asked, past_key_values=cache, use_cache=True, logits_to_keep=last)
    return output.logits, output.past_key_values


def _padded(model, prompts: Prompts) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Token ids, mask and positions, each rows x longest prompt; the padding is on the left."""
    rows = [torch.as_tensor(prompt, dtype=torch.long) for prompt in prompts]
    ids = pad_sequence(rows, batch_first=True, padding_side="left").to(model.device)
    mask = pad_sequence([torch.ones_like(row) for row in rows], True, padding_side="left")
    mask = mask.to(model.device)
    return ids, mask, (mask.cumsum(-1) - 1).clamp(min=0)


def _remembered(prompts: Prompts, prefixes: Prefixes) -> Cache | None:
    """The cache for the beginnings of prompts, padded on the left. All prompts keep the same number
    of tokens to read: that of the prompt with the most. None if this saves nothing.
    """
    rest = max(len(prompt) - prefixes.known(prompt) for prompt in prompts)
    if rest >= max(map(len, prompts)):
        return None
    found = [(max(0, len(prompt) - rest), prompt) for prompt in prompts]
    blocks = [prefixes.find(prompt, tokens) for tokens, prompt in found]
    empty = next(row[0][:0] for row in blocks if row)
    rows = [torch.cat([*row, empty])[:tokens] for row, (tokens, _) in zip(blocks, found)]
    states = pad_sequence(rows, batch_first=True, padding_side="left")
    parts = zip(states.split([h * w for h, w in prefixes.shapes], -1), prefixes.shapes)
    both = [part.unflatten(-1, shape).transpose(1, 2) for part, shape in parts]
    return DynamicCache(zip(both[::2], both[1::2], strict=True))


def _states(cache: Cache, row: int, first: int, last: int, prefixes: Prefixes) -> torch.Tensor:
    """Keys and values of some columns of a row, concatenated over layers: columns x features."""
    both = [states for layer in cache.layers for states in (layer.keys, layer.values)]
    prefixes.shapes = [(states.shape[1], states.shape[3]) for states in both]
    parts = [states[row, :, first:last].transpose(0, 1).flatten(1) for states in both]
    return torch.cat(parts, 1)


def _joined(caches: Sequence[Cache]) -> Cache:
    """One cache with the rows of several, padded on the left."""
    width = max(cache.get_seq_length() for cache in caches)

    def join(states: Sequence[torch.Tensor]) -> torch.Tensor:
        return torch.cat([pad(one, (0, 0, width - one.shape[2], 0)) for one in states])

    layers = zip(*(cache.layers for cache in caches), strict=True)
    return DynamicCache(
        (join([one.keys for one in layer]), join([one.values for one in layer])) for layer in layers
    )
