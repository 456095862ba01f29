"""Reading prompts with a causal model, without computing a shared prefix twice, and decoding.

Shapes are in comments: B rows of a batch (prompts; in `_write_rows`, texts), T columns of the cache
(tokens, padding included), S texts, H key-value heads, D the width of a head, V the vocabulary.
Keys and values of each layer are (B, H, T, D).
"""

from collections.abc import Generator, Sequence
from inspect import signature
from math import inf

import torch
from torch.nn.functional import pad
from torch.nn.utils.rnn import pad_sequence
from transformers import Cache, DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from ircotlib.generation.batches import close_up, cut_batches
from ircotlib.generation.growing import GrowingLayer, OwnLayer
from ircotlib.generation.prefixes import Prefixes

# tokens that are read at a time on a CPU, whose cache holds them: reading whole batches takes up to
# 1.4 times as long (1.0 where batches are small, 1.2 on average over first batches)
READ = 1024

Continued = tuple[list[int], list[int]]  # the rows of the logits to continue, their next tokens
Decoder = Generator[torch.Tensor, Continued, None]
Prompts = Sequence[Sequence[int]]


def causal(model, prompts: Prompts, prefixes: Prefixes) -> Decoder:
    """Yield the logits after every prompt, (B, V), then after every text, (S, V); after each, be
    sent which of its rows to continue, in this order, and their next tokens; at first a row as
    often as it has texts. `prefixes` is read and extended; its limit must be 0 unless the model
    `can_reuse` it.
    """
    logits, cache = _read(model, prompts, prefixes)
    _, mask, positions = _padded(model, prompts)
    # without branches, samples take 1.6 to 1.8 times as long
    write = _write_branches if can_branch(model) else _write_rows
    yield from write(model, cache, mask, positions[:, -1:], logits)


def _read(model, prompts: Prompts, prefixes: Prefixes) -> tuple[torch.Tensor, Cache]:
    """Read prompts, except for beginnings that were read before: the logits after each prompt,
    (B, V), and the cache.
    """
    # 1. What several prompts share is read first, and is then in the prefix cache.
    if shared := prefixes.shared(prompts):
        _read(model, shared, prefixes)
    if not can_reuse(model):
        return _read_group(model, prompts, prefixes)  # all at once, into the model's own cache
    # 2. The rest is read in groups, each into its rows of the cache.
    columns = max(map(len, prompts))
    cache = DynamicCache(config=model.config)
    cache.layers = [GrowingLayer(len(prompts), columns) for _ in cache.layers]  # B, H, T, D
    unread = [len(prompt) - prefixes.known(prompt) for prompt in prompts]
    tokens = READ if model.device.type == "cpu" else inf  # a GPU reads the batch at once
    logits = []
    for rows in cut_batches(unread, len(prompts), tokens, order=range(len(prompts))):
        group = [prompts[row] for row in rows]
        part = DynamicCache()
        first = columns - max(map(len, group))  # the group is padded to its own longest prompt
        own = slice(rows[0], rows[-1] + 1)  # rows follow each other, as `order` says
        part.layers = [OwnLayer(layer, own, first) for layer in cache.layers]
        logits.append(_read_group(model, group, prefixes, part)[0])
    return torch.cat(logits), cache  # B, V


def _read_group(
    model, prompts: Prompts, prefixes: Prefixes, cache: Cache | None = None
) -> tuple[torch.Tensor, Cache]:
    """Read prompts in one pass, with the same number of columns for each, into an empty cache
    (None: that of the model); as `_read`.
    """
    ids, mask, positions = _padded(model, prompts)
    for layer, states in enumerate(remembered := _remembered(prompts, prefixes)):
        cache.update(*states, layer)
    first = cache.get_seq_length() if remembered else 0  # the columns before are in the cache
    logits, cache = _forward(model, ids[:, first:], mask, positions[:, first:], cache)
    for row, prompt in enumerate(prompts):  # the states of new blocks are kept
        left = mask.shape[1] - len(prompt)  # columns of padding
        prefixes.keep(prompt, lambda a, b: _states(cache, row, left + a, left + b, prefixes))
    return logits[:, -1], cache  # B, V: padding is on the left, so the last column is a token


def _padded(model, prompts: Prompts) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Token ids, mask (1: a token) and positions, each (B, T); the padding is on the left."""
    rows = [torch.as_tensor(prompt, dtype=torch.long) for prompt in prompts]
    ids = pad_sequence(rows, batch_first=True, padding_side="left").to(model.device)
    mask = pad_sequence([torch.ones_like(row) for row in rows], True, padding_side="left").to(ids)
    return ids, mask, (mask.cumsum(-1) - 1).clamp(min=0)  # a prompt's first token: 0


def _remembered(prompts: Prompts, prefixes: Prefixes) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Keys and values, for each layer, of the beginnings of prompts, padded on the left. All keep
    as many tokens to read as the prompt with the most. Empty if this saves nothing.
    """
    unread = max(len(prompt) - prefixes.known(prompt) for prompt in prompts)
    if unread >= max(map(len, prompts)):
        return []
    lengths = [max(0, len(prompt) - unread) for prompt in prompts]  # of what each need not read
    blocks = [prefixes.find(prompt, n) for prompt, n in zip(prompts, lengths, strict=True)]
    empty = next(row[0][:0] for row in blocks if row)  # of a prompt of which nothing is known
    rows = [torch.cat([*row, empty])[:n] for row, n in zip(blocks, lengths, strict=True)]
    states = pad_sequence(rows, batch_first=True, padding_side="left")  # B, T, all features
    parts = states.split([heads * width for heads, width in prefixes.shapes], -1)  # B, T, H * D
    parts = [
        part.unflatten(-1, shape).transpose(1, 2)  # B, H, T, D
        for part, shape in zip(parts, prefixes.shapes, strict=True)
    ]
    return list(zip(parts[::2], parts[1::2], strict=True))  # keys and values by turns


def _states(cache: Cache, row: int, first: int, last: int, prefixes: Prefixes) -> torch.Tensor:
    """Keys and values of some columns of a row, concatenated over layers: (columns, features)."""
    parts = [states for layer in cache.layers for states in (layer.keys, layer.values)]
    prefixes.shapes = [(part.shape[1], part.shape[3]) for part in parts]  # H, D
    return torch.cat([part[row, :, first:last].transpose(0, 1).flatten(1) for part in parts], 1)


def _forward(model, ids, mask, positions, cache, last: int = 1) -> tuple[torch.Tensor, Cache]:
    """The logits after the last columns, (B, last, V), and the cache."""
    inputs = {"input_ids": ids, "attention_mask": mask, "position_ids": positions}
    output = model(**inputs, past_key_values=cache, use_cache=True, logits_to_keep=last)
    return output.logits, output.past_key_values


def _write_rows(model, cache: Cache, mask, positions, logits) -> Decoder:
    """Continue texts, each in its own row of the cache; mask (B, T), positions (B, 1)."""
    while True:
        kept, tokens = yield logits
        if kept != list(range(len(mask))):
            mask, positions = mask[kept], positions[kept]
            cache.batch_select_indices(torch.tensor(kept, device=mask.device))
        ids = torch.tensor(tokens, device=mask.device)[:, None]  # B, 1
        mask = pad(mask, (0, 1), value=1)  # B, T + 1: every row sees its new token
        positions = positions + 1
        logits, cache = _forward(model, ids, mask, positions, cache)
        logits = logits[:, -1]  # B, V


def _write_branches(model, cache: Cache, mask, positions, logits) -> Decoder:
    """Continue texts; all texts of a prompt are in its row of the cache, as branches that do not
    see each other. The states of the prompt are neither copied nor read for each of them.

    mask (B, T); positions (B, 1), the same for all texts of a prompt, which are equally long.
    """
    # (B, T): who owns each column. 0: the prompt, so all its texts see it; n: the n-th text, which
    # alone sees it; -1: nobody, for padding and where a row has fewer branches than others
    owners = mask - 1  # 1 to 0: a token of the prompt; 0 to -1: padding
    rows, texts = range(len(mask)), []  # of each text: the row of its prompt, and its number
    while True:
        kept, tokens = yield logits
        if not texts or kept != list(range(len(texts))):
            # 1. Texts that have ended are forgotten. At first, those of each prompt are numbered.
            rows = [rows[index] for index in kept]
            texts = [texts[index] for index in kept] if texts else list(range(1, len(kept) + 1))
            # 2. Prompts without a text leave the cache, so that rows get new places.
            if len(live := set(rows)) < len(owners):
                remaining = close_up([row in live for row in range(len(owners))])
                owners, positions = owners[remaining], positions[remaining]
                cache.batch_select_indices(torch.tensor(remaining, device=mask.device))
                rows = [remaining.index(row) for row in rows]
            # 3. A step adds a column for each branch of the row with the most: who owns them?
            branches = [rows[:text].count(row) for text, row in enumerate(rows)]
            where = torch.tensor([rows, branches], device=mask.device).unbind()  # two of (S)
            own = owners.new_full((len(owners), max(branches) + 1), -1)  # B, branches
            own[where] = own.new_tensor(texts)  # elsewhere -1: a column that nobody sees
        # 4. The tokens of all texts are read, each seeing its prompt and its own text.
        ids = torch.zeros_like(own)  # B, branches; where there is no text, any token will do
        ids[where] = own.new_tensor(tokens)
        owners = torch.cat([owners, own], 1)  # B, T + branches
        positions = positions + 1
        sees = (owners == 0)[:, None] | (owners[:, None] == own[:, :, None])  # B, branches, T
        context = sees[:, None], positions.expand_as(ids), cache  # mask: B, 1, branches, T
        logits, cache = _forward(model, ids, *context, last=ids.shape[1])  # B, branches, V
        logits = logits[where]  # S, V


def can_batch(model) -> bool:
    """Whether rows of several prompts can be in the model's cache, and leave it one by one: it has
    one, and no recurrent states.
    """
    has_cache = "past_key_values" in signature(type(model).forward).parameters
    kinds = {type(layer) for layer in DynamicCache(config=model.config).layers}
    return has_cache and kinds <= {DynamicLayer, DynamicSlidingWindowLayer}


def can_reuse(model) -> bool:
    """Whether the keys and values of a prefix stay valid with any continuation: all are kept (no
    sliding window, no recurrent states), and positions do not depend on the length.
    """
    if model.config.is_encoder_decoder or not can_batch(model):
        return False
    positions = str(getattr(model.config.get_text_config(), "rope_parameters", ""))
    plain = all(type(layer) is DynamicLayer for layer in DynamicCache(config=model.config).layers)
    return plain and "dynamic" not in positions and "longrope" not in positions


def can_branch(model) -> bool:
    """Whether a row of the cache can hold several texts: any mask and positions are possible."""
    config = model.config.get_text_config()
    rotary = getattr(config, "rope_parameters", None) and not getattr(config, "alibi", False)
    return can_reuse(model) and bool(rotary) and model.config._attn_implementation == "sdpa"
