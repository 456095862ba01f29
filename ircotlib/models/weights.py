"""Reads the weights of a model; and what makes small models faster on a CPU than
transformers does: one thread, the attention of T5's encoder, a Llama's forward pass.

Shapes: B rows, L columns that are read, T columns of the cache or the prompt, H heads
of width D.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import torch
import transformers
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention, silu
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, LlamaForCausalLM
from transformers.modeling_outputs import CausalLMOutputWithPast
from transformers.utils import logging

from ircotlib.errors import DataError, UserError
from ircotlib.models.causal import can_reuse
from ircotlib.models.folders import REMEDY, SMALL, naming_file


def read_model(folder: Path, encoder_decoder: bool, dtype: str):
    """The model in a folder. Raises UserError for a kind that cannot be batched."""
    kind = AutoModelForSeq2SeqLM if encoder_decoder else AutoModelForCausalLM
    model = read_weights(kind, folder, getattr(torch, dtype))
    if not encoder_decoder and not can_reuse(model):
        raise UserError(
            f"{folder}: found a model with recurrent states, a sliding window or"
            " length-dependent positions, expected one like Llama; set server for"
            " all others"
        )
    if model.config.model_type == "t5":
        model.get_encoder().set_attn_implementation("row_by_row")
    if can_join(model) and is_small(model):
        model.forward = Joined(model)
    return model


def read_weights(kind, folder: Path, dtype: torch.dtype):
    """A model of a transformers class, on the GPU if there is one. Raises DataError if
    weights are missing: transformers would draw random ones.
    """
    logging.disable_progress_bar()
    logging.set_verbosity_error()  # the error below says what is wrong with the weights
    with naming_file(folder, "a model"):
        model, info = kind.from_pretrained(
            folder, dtype=dtype, output_loading_info=True
        )
    if info["missing_keys"]:
        name = min(info["missing_keys"])
        raise DataError(f"{folder}: found {name} missing in the weights; {REMEDY}")
    return model.to("cuda" if torch.cuda.is_available() else "cpu").eval()


def is_small(model) -> bool:
    """Whether a model is on the CPU, and a second core would not speed up a batch."""
    return model.device.type == "cpu" and model.num_parameters() < SMALL


@contextmanager
def one_thread(only: bool) -> Iterator[None]:
    """Compute with one thread, if `only`, and then again with those of the process."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if only else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def row_by_row_attention(
    module, query, key, value, lengths, *, scaling=None, position_bias=None, **_
) -> tuple[Tensor, None]:
    """Attention of a T5 encoder, (B, T, H, D), row by row and without padding: without
    it, a small T5 takes 2.0 times as long. "sdpa" adds bias and mask in every layer, in
    a matrix (B, H, T, T); the bias alone is one, (1, H, T, T). `lengths`: of rows.
    """
    attend = partial(scaled_dot_product_attention, scale=scaling)
    states = query.new_zeros(query.transpose(1, 2).shape)  # B, T, H, D; padding stays 0
    for row, length in enumerate(lengths.tolist()):
        # 1, H, length, D: a row without its padding
        own = slice(row, row + 1), slice(None), slice(length)
        bias = position_bias[:, :, :length, :length]  # 1, H, length, length
        attended = attend(query[own], key[own], value[own], attn_mask=bias)
        states[row, :length] = attended[0].transpose(0, 1)  # length, H, D
    return states, None


def row_lengths(*, attention_mask: Tensor, **_) -> Tensor:
    """The tokens of each row, (B), by a mask (1: a token)."""
    return attention_mask.sum(-1)


transformers.AttentionInterface.register("row_by_row", row_by_row_attention)
transformers.AttentionMaskInterface.register("row_by_row", row_lengths)


def can_join(model) -> bool:
    """Whether `Joined` computes a model: a usual Llama in float32, without biases."""
    if not isinstance(model, LlamaForCausalLM) or model.dtype != torch.float32:
        return False
    config = model.config
    usual = (config.rope_parameters or {}).get("rope_type") == "default"
    biases = config.attention_bias or config.mlp_bias
    return usual and config.hidden_act == "silu" and not biases


class Joined:
    """The forward pass of LlamaForCausalLM, from which it differs by rounding, in few
    large steps: without it, the head to head takes 1.16 times as long on 100 questions,
    1.48 on 12. Weights of projections that read the same states are joined, and
    RMSNorm's are multiplied into those that follow it. The last layer computes only the
    last column.
    """

    def __init__(self, model: LlamaForCausalLM):
        config = model.config
        inner = model.model
        assert config.head_dim and config.num_key_value_heads  # set by every config
        self.config = config
        self.embedded = inner.embed_tokens
        self.frequencies = inner.rotary_emb.inv_freq  # D / 2
        self.width = config.head_dim
        self.queries = config.num_attention_heads
        self.heads = config.num_key_value_heads
        self.layers = [self._join(layer) for layer in inner.layers]
        self.head = (model.lm_head.weight * inner.norm.weight).T.contiguous()

    def _join(self, layer) -> list[Tensor]:
        """A layer's weights: queries to values; attention; gate and up; down."""
        attention = layer.self_attn
        mlp = layer.mlp
        queries = self._pair(attention.q_proj)
        keys = self._pair(attention.k_proj)
        read = torch.cat([queries, keys, attention.v_proj.weight])
        read = read * layer.input_layernorm.weight  # scales each input, as RMSNorm does
        gated = torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight])
        gated = gated * layer.post_attention_layernorm.weight
        weights = read, attention.o_proj.weight, gated, mlp.down_proj.weight
        return [weight.T.contiguous() for weight in weights]  # states @ weight

    def _pair(self, projection) -> Tensor:
        """The weights with the two features that turn together side by side, as in a
        complex number; transformers has the first of all pairs, then the second.
        """
        # H, 2, D / 2, features
        halves = projection.weight.unflatten(0, (-1, 2, self.width // 2))
        return halves.transpose(1, 2).flatten(0, 2)  # H * D, features

    def __call__(
        self, input_ids, attention_mask, position_ids, past_key_values, **_
    ) -> CausalLMOutputWithPast:
        """The logits of the last column: ids and positions (B, L), mask (B, T)."""
        cache = past_key_values
        mask = _added(attention_mask, input_ids.shape[1])  # B, 1, L, T
        angles = position_ids[:, :, None, None] * self.frequencies  # B, L, 1, D / 2
        turn = torch.polar(torch.ones_like(angles), angles)  # complex, of length 1
        turning = self.queries + self.heads  # values do not turn
        shared = self.queries > self.heads  # several queries read the same keys
        states = self.embedded(input_ids)  # B, L, features
        for number, (read, attended, gated, down) in enumerate(self.layers):
            # B, L, all H, D
            heads = (self._scaled(states) @ read).unflatten(-1, (-1, self.width))
            pairs = torch.view_as_complex(heads[:, :, :turning].unflatten(-1, (-1, 2)))
            # B, H, L, D
            turned = torch.view_as_real(pairs * turn).flatten(-2).transpose(1, 2)
            query, key = turned.split([self.queries, self.heads], 1)
            value = heads[:, :, turning:].transpose(1, 2)
            key, value = cache.update(key, value, number)  # B, H, T, D
            if number == len(self.layers) - 1:  # only the last column is wanted
                states, query, mask = states[:, -1:], query[:, :, -1:], mask[:, :, -1:]
            seen = scaled_dot_product_attention(
                query, key, value, mask, enable_gqa=shared
            )
            states = states + seen.transpose(1, 2).flatten(2) @ attended
            gate, up = (self._scaled(states) @ gated).chunk(2, -1)  # B, L, inner
            states = states + silu(gate).mul_(up) @ down
        logits = self._scaled(states) @ self.head  # B, 1, V
        return CausalLMOutputWithPast(logits=logits, past_key_values=cache)

    def _scaled(self, states: Tensor) -> Tensor:
        """RMSNorm without its weights."""
        # sums, B, L, 1
        squares = torch.linalg.vector_norm(states, dim=-1, keepdim=True).square_()
        return states * (squares / states.shape[-1] + self.config.rms_norm_eps).rsqrt_()


def _added(mask: Tensor, columns: int) -> Tensor:
    """What attention adds to the scores of the last columns, (B, 1, L, T)."""
    width = mask.shape[1]
    # no column sees those after it
    before = torch.ones(columns, width, dtype=torch.bool).tril(width - columns)
    mask = mask[:, None, None].bool() & before
    # not -inf: a column of padding sees nothing, and its softmax would be NaN
    return torch.zeros(mask.shape).masked_fill_(~mask, torch.finfo(torch.float32).min)
