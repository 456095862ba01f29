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


def padding_column_attention(
    module, query, key, value, mask, *, scaling=None, position_bias=None, **_
) -> tuple[torch.Tensor, None]:
    """Attention of a T5 encoder in which padding is masked by one more column of the queries (1)
    and keys (the mask), not by a matrix.

    The numbers are those of "sdpa", which adds bias and mask up in a matrix of rows x heads x
    longest x longest in every layer: in a small model on a CPU that takes more time than all else.
    The bias alone is one matrix for all rows. `mask`: from `padding_column`; None: no padding.
    Eight columns, not one: GPU kernels want multiples of eight.
    """
    width = value.shape[-1]
    if mask is not None:
        query, key, value = pad(query, (0, 8)), pad(key, (0, 8)), pad(value, (0, 8))
        query[..., width] = 1 / scaling
        key[..., width] = mask
    states = scaled_dot_product_attention(
        query, key, value, attn_mask=position_bias.contiguous(), scale=scaling
    )
    return states[..., :width].transpose(1, 2).contiguous(), None


def padding_column(
    *, attention_mask: torch.Tensor | None = None, dtype: torch.dtype = torch.float32, **_
) -> torch.Tensor | None:
    """What is added to the scores of each key, rows x 1 x longest: 0 for a token, very low for
    padding; None: no padding.
    """
    if attention_mask is None or attention_mask.all():
        return None
    return torch.zeros_like(attention_mask, dtype=dtype).masked_fill(
        attention_mask == 0, torch.finfo(dtype).min / 2
    )[:, None, :]


AttentionInterface.register("padding_column", padding_column_attention)
AttentionMaskInterface.register("padding_column", padding_column)
