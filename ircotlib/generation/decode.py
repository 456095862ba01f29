"""Decoding of a batch with transformers models, greedily or by draws: a prompt is read once for all
its texts, and a text that has ended costs nothing more.

`model.generate` reads a prompt once for each of its texts, and computes every row until the last
one has ended; here a row leaves the batch, cache included, with its last token.
"""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch.nn.functional import pad, scaled_dot_product_attention
from torch.nn.utils.rnn import pad_sequence
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.modeling_outputs import BaseModelOutput

from ircotlib.generation.causal import Decoder, causal
from ircotlib.generation.prefixes import Prefixes


def most_probable(rows: Sequence[int], logits: torch.Tensor) -> list[int]:
    """The most probable token of each row (greedy decoding)."""
    return logits.argmax(-1).tolist()


@torch.inference_mode()
def decode(
    model,
    prompts: Sequence[Sequence[int]],
    ends: Callable[[int, list[int]], bool],
    choose: Callable[[list[int], torch.Tensor], list[int]] = most_probable,
    places: Sequence[int] | None = None,
    prefixes: Prefixes | None = None,
) -> Iterator[tuple[int, list[int]]]:
    """Write rows after prompts, a token at a time, until `ends(row, tokens so far)`; yield the row
    and its tokens when it ends.

    `prompts`: token ids. `places`: the prompt of each row; None: one row for each prompt.
    `choose(rows, logits)`: the next token of each, logits rows x vocabulary. `prefixes`: what was
    read before, for causal models that `can_reuse`; it is added to. The other prompts of
    its batch change a text only where two tokens are so nearly equal that the rounding of sums
    decides: rare in float32, less so in bfloat16.
    """
    places = list(range(len(prompts)) if places is None else places)
    live, written = list(range(len(places))), [[] for _ in places]
    if model.config.is_encoder_decoder:
        decoder = _seq2seq(model, prompts)
    else:
        decoder = causal(model, prompts, Prefixes(0) if prefixes is None else prefixes)
    logits = next(decoder)
    while True:
        for row, token in zip(live, choose(live, logits[places]), strict=True):
            written[row].append(token)
        ended = {row for row in live if ends(row, written[row])}
        yield from ((row, written[row]) for row in sorted(ended))
        places = [place for row, place in zip(live, places, strict=True) if row not in ended]
        live = [row for row in live if row not in ended]
        if not live:
            return
        logits = decoder.send((places, [written[row][-1] for row in live]))
        places = list(range(len(live)))


def _seq2seq(model, prompts: Sequence[Sequence[int]]) -> Decoder:
    """Yield the logits after every row, at first after every prompt; be sent how to go on."""
    ids, mask = _padded(model, prompts)
    encoded = model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
    ids = torch.full_like(ids[:, :1], _start_token(model))
    cache = None
    while True:
        source = {"encoder_outputs": BaseModelOutput(encoded), "attention_mask": mask}
        output = model(**source, decoder_input_ids=ids, past_key_values=cache, use_cache=True)
        cache = output.past_key_values
        places, tokens = yield output.logits[:, -1]
        if places != list(range(len(ids))):
            encoded, mask = encoded[places], mask[places]
            cache.batch_select_indices(torch.tensor(places, device=ids.device))
        ids = torch.tensor(tokens, device=ids.device)[:, None]


def _padded(model, prompts: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and mask, rows by longest; what stands in the padding is never read."""
    rows = [torch.as_tensor(prompt, dtype=torch.long) for prompt in prompts]
    ids = pad_sequence(rows, batch_first=True)
    mask = pad_sequence([torch.ones_like(row) for row in rows], True)
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
