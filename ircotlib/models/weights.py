"""Reads the weights of a model, and refuses any that do not fit it; and what makes
small models faster on a CPU than transformers does: the attention of T5's encoder, the
forward pass of a Llama.

Shapes: B rows, L columns that are read, T columns of the cache or the prompt, H heads
of width D.
"""

import re
from functools import partial
from pathlib import Path

import torch
import transformers
from torch.nn.functional import scaled_dot_product_attention, silu
from transformers import LlamaForCausalLM
from transformers.modeling_outputs import CausalLMOutputWithPast
from transformers.utils import logging

from ircotlib.errors import DataError, UserError
from ircotlib.models.causal import can_reuse
from ircotlib.models.folders import REMEDY, SMALL, naming_file


def read_model(folder: Path, encoder_decoder: bool, device: str | None, dtype: str):
    """The model in a folder, ready to use. Raises UserError for a kind that cannot be
    batched.
    """
    kind = "AutoModelForSeq2SeqLM" if encoder_decoder else "AutoModelForCausalLM"
    model = read_weights(
        getattr(transformers, kind), folder, device, getattr(torch, dtype)
    )
    if not encoder_decoder and not can_reuse(model):
        found = (
            "found a model with recurrent states, a sliding window or growing positions"
        )
        raise UserError(
            f"{folder}: {found}, expected one like Llama; set server for all others"
        )
    if model.config.model_type == "t5":
        model.get_encoder().set_attn_implementation("row_by_row")
        bias_from_distances(model.get_encoder().block[0].layer[0].SelfAttention)
    if can_join(model) and is_small(model):
        model.forward = Joined(model)
    return model


def read_weights(
    kind: type, folder: Path, device: str | None, dtype: torch.dtype, unused="$^"
):
    """A model of a transformers class on its device. Raises DataError if weights are
    missing (for which transformers would draw random ones), have another shape, or are
    superfluous.
    """
    options = {"dtype": dtype, "use_safetensors": any(folder.glob("*.safetensors"))}
    logging.disable_progress_bar()
    logging.set_verbosity_error()  # the error below says what is wrong with the weights
    with naming_file(folder, "a model"):
        model, info = kind.from_pretrained(folder, output_loading_info=True, **options)
    superfluous = {
        name for name in info["unexpected_keys"] if not re.search(unused, name)
    }
    odd = {"missing": info["missing_keys"], "superfluous": superfluous}
    if found := [f"{sorted(names)[0]} {how}" for how, names in odd.items() if names]:
        expected = "expected exactly the weights of config.json"
        raise DataError(f"{folder}: found {', '.join(found)}, {expected}; {REMEDY}")
    model = model.to(device or ("cuda" if torch.cuda.is_available() else "cpu")).eval()
    if is_small(model):
        torch.set_num_threads(1)
    return model


def is_small(model) -> bool:
    """Whether a model is on the CPU and too small for a second core to speed up a
    batch.
    """
    return model.device.type == "cpu" and model.num_parameters() < SMALL


def row_by_row_attention(
    module, query, key, value, lengths, *, scaling=None, position_bias=None, **_
) -> tuple[torch.Tensor, None]:
    """Attention of a T5 encoder, (B, T, H, D), computed row by row and without padding:
    without it, a small T5 takes 2.0 times as long. "sdpa" adds bias and mask in every
    layer, in a matrix (B, H, T, T); the bias alone is one matrix (1, H, T, T) for all
    rows. `lengths`: of rows, if padded.
    """
    attend = partial(scaled_dot_product_attention, scale=scaling)
    if lengths is None:
        states = attend(query, key, value, attn_mask=position_bias)
        return states.transpose(1, 2).contiguous(), None
    states = query.new_zeros(query.transpose(1, 2).shape)  # B, T, H, D; padding stays 0
    for row, length in enumerate(lengths.tolist()):
        # 1, H, length: without padding
        own = slice(row, row + 1), slice(None), slice(length)
        bias = position_bias[:, :, :length, :length]  # 1, H, length, length
        attended = attend(query[own], key[own], value[own], attn_mask=bias)
        # H, length, D, to length, H, D
        states[row, :length] = attended[0].transpose(0, 1)
    return states, None


def bias_from_distances(attention) -> None:
    """Have a T5 encoder compute its position bias, (1, H, T, T), for each distance, on
    which alone it depends, and not for each pair of tokens: with long prompts, that
    takes 1.8 times as long.
    """
    compute = attention.compute_bias

    def compute_bias(queries: int, keys: int, **_) -> torch.Tensor:
        # H, keys
        before, after = compute(keys, 1)[0, :, 1:, 0], compute(1, keys)[0, :, 0]
        distances = torch.cat([before.flip(-1), after], -1)  # H, 2 * keys - 1
        # each row: the one above, moved by one
        return distances.unfold(-1, keys, 1).flip(1)[None]

    attention.compute_bias = compute_bias


def row_lengths(
    *, attention_mask: torch.Tensor | None = None, **_
) -> torch.Tensor | None:
    """The tokens of each row, from a mask that is 1 for a token; None: no padding."""
    # without: all rows at once
    padded = attention_mask is not None and not attention_mask.all()
    return attention_mask.sum(-1) if padded else None  # B


transformers.AttentionInterface.register("row_by_row", row_by_row_attention)
transformers.AttentionMaskInterface.register("row_by_row", row_lengths)


def can_join(model) -> bool:
    """Whether `Joined` computes a model: a Llama in float32, as usual, without biases."""
    if not isinstance(model, LlamaForCausalLM) or model.dtype != torch.float32:
        return False
    config = model.config
    plain = (
        config.hidden_act == "silu" and config.rope_parameters["rope_type"] == "default"
    )
    return plain and not config.attention_bias and not config.mlp_bias


class Joined:
    """The forward pass of LlamaForCausalLM, from which it differs by rounding, in few
    large steps: without it, the head to head takes 1.16 times as long on 100 questions,
    1.48 on 12. Weights of projections that read the same states are joined, and
    RMSNorm's are multiplied into those that follow it. The last layer computes only the
    last column.
    """

    def __init__(self, model: LlamaForCausalLM):
        config, inner = model.config, model.model
        self.config, self.embedded = config, inner.embed_tokens
        self.frequencies, self.width = inner.rotary_emb.inv_freq, config.head_dim
        self.queries, self.heads = (
            config.num_attention_heads,
            config.num_key_value_heads,
        )
        self.layers = [self._join(layer) for layer in inner.layers]
        self.head = (model.lm_head.weight * inner.norm.weight).T.contiguous()

    def _join(self, layer) -> list[torch.Tensor]:
        """A layer's weights, (inputs, outputs): queries to values; attention; gate, up;
        down.
        """
        attention, mlp = layer.self_attn, layer.mlp
        read = [
            *map(self._pair, (attention.q_proj, attention.k_proj)),
            attention.v_proj.weight,
        ]
        # scales each input, as RMSNorm does
        read = torch.cat(read) * layer.input_layernorm.weight
        # 2 * inner, features
        gated = torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight])
        gated = gated * layer.post_attention_layernorm.weight
        weights = read, attention.o_proj.weight, gated, mlp.down_proj.weight
        # inputs, outputs: states @ weight
        return [weight.T.contiguous() for weight in weights]

    def _pair(self, projection) -> torch.Tensor:
        """The weights with the two features that turn together side by side, as a
        complex number has them; transformers has the first of all pairs, then the
        second.
        """
        # H, 2, D / 2, features
        halves = projection.weight.unflatten(0, (-1, 2, self.width // 2))
        # H, D / 2, 2, features, then H * D, features
        return halves.transpose(1, 2).flatten(0, 2)

    def __call__(
        self, input_ids, attention_mask, position_ids, past_key_values, **_
    ) -> CausalLMOutputWithPast:
        """The logits of the last column: ids and positions (B, L), mask (B, T)."""
        cache, mask = past_key_values, _added(attention_mask, input_ids.shape[1])
        angles = position_ids[:, :, None, None] * self.frequencies  # B, L, 1, D / 2
        # B, L, 1, D / 2: of length 1, complex
        turn = torch.polar(torch.ones_like(angles), angles)
        turning = self.queries + self.heads  # values do not turn
        # several heads of queries read the same keys
        shared = self.queries > self.heads
        states = self.embedded(input_ids)  # B, L, features
        for number, (read, attended, gated, down) in enumerate(self.layers):
            # B, L, all H, D
            heads = (self._scaled(states) @ read).unflatten(-1, (-1, self.width))
            pairs = torch.view_as_complex(heads[:, :, :turning].unflatten(-1, (-1, 2)))
            # B, H, L, D
            turned = torch.view_as_real(pairs * turn).flatten(-2).transpose(1, 2)
            query, key = turned.split([self.queries, self.heads], 1)  # each B, H, L, D
            key, value = cache.update(
                key, heads[:, :, turning:].transpose(1, 2), number
            )
            if number == len(self.layers) - 1:
                states, query, mask = states[:, -1:], query[:, :, -1:], mask[:, :, -1:]
            seen = scaled_dot_product_attention(
                query, key, value, mask, enable_gqa=shared
            )
            # B, L, H * D, to features
            states = states + seen.transpose(1, 2).flatten(2) @ attended
            # each B, L, inner features
            gate, up = (self._scaled(states) @ gated).chunk(2, -1)
            states = states + silu(gate).mul_(up) @ down
        logits = self._scaled(states) @ self.head  # B, 1, V
        return CausalLMOutputWithPast(logits=logits, past_key_values=cache)

    def _scaled(self, states: torch.Tensor) -> torch.Tensor:
        """RMSNorm without its weights."""
        # B, L, 1: sums
        squares = torch.linalg.vector_norm(states, dim=-1, keepdim=True).square_()
        return states * (squares / states.shape[-1] + self.config.rms_norm_eps).rsqrt_()


def _added(mask: torch.Tensor, columns: int) -> torch.Tensor:
    """What attention adds to scores, (B, 1, L, T). Padding sees everything: NaN without
    any.
    """
    before = torch.ones(columns, mask.shape[1], dtype=torch.bool).tril(
        mask.shape[1] - columns
    )
    mask = mask[:, None, None].bool() & before
    return torch.zeros(mask.shape).masked_fill_(~mask, torch.finfo(torch.float32).min)
