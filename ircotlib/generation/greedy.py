"""Greedy decoding of a batch with transformers models, in which a text that has ended costs nothing
more.

`model.generate` computes every row until the last one has ended; here a row leaves the batch, cache
included, with its last token.
"""

from collections.abc import Callable, Generator, Iterator, Sequence

import torch
from torch.nn.functional import pad, scaled_dot_product_attention
from torch.nn.utils.rnn import pad_sequence
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.modeling_outputs import BaseModelOutput


@torch.inference_mode()
def decode_greedily(
    model, prompts: Sequence[Sequence[int]], ends: Callable[[int, list[int]], bool]
) -> Iterator[tuple[int, list[int]]]:
    """Write after each prompt, the most probable token at a time, until `ends(row, tokens so far)`;
    yield the row and its tokens when it ends.

    `prompts`: the token ids of each row. The other prompts of its batch change a text only where
    two tokens are so nearly equally probable that the rounding of sums decides: rare in float32,
    less so in bfloat16.
    """
    written = [[] for _ in prompts]
    live = list(range(len(prompts)))
    decoder = (_seq2seq if model.config.is_encoder_decoder else _causal)(model, prompts)
    tokens = next(decoder)
    while True:
        for row, token in zip(live, tokens, strict=True):
            written[row].append(token)
        ended = [row for row in live if ends(row, written[row])]
        yield from ((row, written[row]) for row in ended)
        kept = [place for place, row in enumerate(live) if row not in ended]
        live = [live[place] for place in kept]
        if not live:
            return
        tokens = decoder.send(kept)


def _seq2seq(model, prompts: Sequence[Sequence[int]]) -> Generator[list[int], list[int], None]:
    """Yield the next token of every row; be sent the places of the rows to go on with."""
    ids, mask = _padded(model, prompts, "right")
    encoded = model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
    ids = torch.full_like(ids[:, :1], _start_token(model))
    cache = None
    while True:
        source = {"encoder_outputs": BaseModelOutput(encoded), "attention_mask": mask}
        output = model(**source, decoder_input_ids=ids, past_key_values=cache, use_cache=True)
        ids, cache = output.logits[:, -1:].argmax(-1), output.past_key_values
        kept = yield ids[:, 0].tolist()
        if len(kept) < len(ids):
            encoded, mask, ids = encoded[kept], mask[kept], ids[kept]
            cache.batch_select_indices(torch.tensor(kept, device=ids.device))


def _causal(model, prompts: Sequence[Sequence[int]]) -> Generator[list[int], list[int], None]:
    """Yield the next token of every row; be sent the places of the rows to go on with."""
    ids, mask = _padded(model, prompts, "left")
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    cache = None
    while True:
        output = model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        ids, cache = output.logits[:, -1:].argmax(-1), output.past_key_values
        kept = yield ids[:, 0].tolist()
        if len(kept) < len(ids):
            ids, mask, positions = ids[kept], mask[kept], positions[kept]
            cache.batch_select_indices(torch.tensor(kept, device=ids.device))
        mask, positions = pad(mask, (0, 1), value=1), positions[:, -1:] + 1


def _padded(
    model, prompts: Sequence[Sequence[int]], side: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and mask, rows by longest; what stands in the padding is never read."""
    rows = [torch.as_tensor(prompt, dtype=torch.long) for prompt in prompts]
    ids = pad_sequence(rows, batch_first=True, padding_side=side)
    mask = pad_sequence([torch.ones_like(row) for row in rows], True, padding_side=side)
    return ids.to(model.device), mask.to(model.device)


def _start_token(model) -> int:
    start = model.generation_config.decoder_start_token_id
    return model.config.decoder_start_token_id if start is None else start


def row_by_row_attention(
    module, query, key, value, lengths, *, scaling=None, position_bias=None, **_
) -> tuple[torch.Tensor, None]:
    """Attention of a T5 encoder, each row by itself and without its padding.

    The numbers are those of "sdpa", which adds bias and mask up in a matrix of rows x heads x
    longest x longest in every layer: in a small model on a CPU that takes more time than all else.
    The bias alone is one matrix for all rows. `lengths`: of the rows, in tokens; None: no padding.
    """
    if lengths is None:
        states = scaled_dot_product_attention(
            query, key, value, attn_mask=position_bias.contiguous(), scale=scaling
        )
        return states.transpose(1, 2).contiguous(), None
    states = query.new_zeros(query.transpose(1, 2).shape)
    for row, length in enumerate(lengths.tolist()):
        own = slice(row, row + 1), slice(None), slice(length)
        bias = position_bias[:, :, :length, :length]
        found = scaled_dot_product_attention(
            query[own], key[own], value[own], attn_mask=bias, scale=scaling
        )
        states[row, :length] = found[0].transpose(0, 1)
    return states, None


def row_lengths(*, attention_mask: torch.Tensor | None = None, **_) -> torch.Tensor | None:
    """The tokens of each row, from a mask that is 1 for a token; None: no padding."""
    if attention_mask is None or attention_mask.all():
        return None
    return attention_mask.sum(-1)


AttentionInterface.register("row_by_row", row_by_row_attention)
AttentionMaskInterface.register("row_by_row", row_lengths)
