"""The forward pass of a small Llama on a CPU, in few large steps. What transformers computes in
many small ones (norms, rotary positions, masks, seven projections) takes as long there as the rest:
without this, the systems of the head to head take 1.16 times as long on 100 questions, 1.48 on 12.

Shapes: B rows, L columns that are read, T columns of the cache, H heads, D the width of a head.
"""

import torch
from torch.nn.functional import scaled_dot_product_attention, silu
from transformers import LlamaForCausalLM
from transformers.modeling_outputs import CausalLMOutputWithPast


def can_join(model) -> bool:
    """Whether a model is a Llama that `Joined` computes: in float32, with the usual positions and
    activation, without biases.
    """
    if not isinstance(model, LlamaForCausalLM) or model.dtype != torch.float32:
        return False
    config = model.config
    plain = config.hidden_act == "silu" and config.rope_parameters["rope_type"] == "default"
    return plain and not config.attention_bias and not config.mlp_bias


class Joined:
    """The forward pass of LlamaForCausalLM, from which it differs by rounding. The weights of
    projections that read the same states are joined, and RMSNorm's are multiplied into those that
    follow it. The last layer computes only the last column.
    """

    def __init__(self, model: LlamaForCausalLM):
        config, inner = model.config, model.model
        self.config, self.embedded = config, inner.embed_tokens
        self.frequencies, self.width = inner.rotary_emb.inv_freq, config.head_dim
        self.queries, self.heads = config.num_attention_heads, config.num_key_value_heads
        self.layers = [self._join(layer) for layer in inner.layers]
        self.head = (model.lm_head.weight * inner.norm.weight).T.contiguous()

    def _join(self, layer) -> list[torch.Tensor]:
        """A layer's weights, (inputs, outputs): of queries, keys and values; of what attention
        adds; of gate and up; of down.
        """
        attention, mlp = layer.self_attn, layer.mlp
        read = [*map(self._pair, (attention.q_proj, attention.k_proj)), attention.v_proj.weight]
        read = torch.cat(read) * layer.input_layernorm.weight  # scales each input, as RMSNorm does
        gated = torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight])  # 2 * inner, features
        gated = gated * layer.post_attention_layernorm.weight
        weights = read, attention.o_proj.weight, gated, mlp.down_proj.weight
        return [weight.T.contiguous() for weight in weights]  # inputs, outputs: states @ weight

    def _pair(self, projection) -> torch.Tensor:
        """The weights with the two features that turn together side by side, as a complex number
        has them; transformers has the first of all pairs, then the second.
        """
        halves = projection.weight.unflatten(0, (-1, 2, self.width // 2))  # H, 2, D / 2, features
        return halves.transpose(1, 2).flatten(0, 2)  # H, D / 2, 2, features, then H * D, features

    def __call__(
        self, input_ids, attention_mask, position_ids, past_key_values, **_
    ) -> CausalLMOutputWithPast:
        """As LlamaForCausalLM, with the logits of the last column: ids and positions (B, L), mask
        (B, T).
        """
        cache, mask = past_key_values, _added(attention_mask, input_ids.shape[1])
        angles = position_ids[:, :, None, None] * self.frequencies  # B, L, 1, D / 2
        turn = torch.polar(torch.ones_like(angles), angles)  # B, L, 1, D / 2: of length 1, complex
        turning = self.queries + self.heads  # values do not turn
        shared = self.queries > self.heads  # several heads of queries read the same keys
        states = self.embedded(input_ids)  # B, L, features
        for number, (read, attended, gated, down) in enumerate(self.layers):
            heads = (self._scaled(states) @ read).unflatten(-1, (-1, self.width))  # B, L, all H, D
            pairs = torch.view_as_complex(heads[:, :, :turning].unflatten(-1, (-1, 2)))
            turned = torch.view_as_real(pairs * turn).flatten(-2).transpose(1, 2)  # B, H, L, D
            query, key = turned.split([self.queries, self.heads], 1)  # each B, H, L, D
            key, value = cache.update(key, heads[:, :, turning:].transpose(1, 2), number)
            if number == len(self.layers) - 1:
                states, query, mask = states[:, -1:], query[:, :, -1:], mask[:, :, -1:]
            seen = scaled_dot_product_attention(query, key, value, mask, enable_gqa=shared)
            states = states + seen.transpose(1, 2).flatten(2) @ attended  # B, L, H * D, to features
            gate, up = (self._scaled(states) @ gated).chunk(2, -1)  # each B, L, inner features
            states = states + silu(gate).mul_(up) @ down
        logits = self._scaled(states) @ self.head  # B, 1, V
        return CausalLMOutputWithPast(logits=logits, past_key_values=cache)

    def _scaled(self, states: torch.Tensor) -> torch.Tensor:
        """RMSNorm without its weights."""
        squares = torch.linalg.vector_norm(states, dim=-1, keepdim=True).square_()  # B, L, 1: sums
        return states * (squares / states.shape[-1] + self.config.rms_norm_eps).rsqrt_()


def _added(mask: torch.Tensor, columns: int) -> torch.Tensor:
    """What attention adds to the scores, (B, 1, L, T). Padding sees everything alike: without any
    number, it would become NaN.
    """
    before = torch.ones(columns, mask.shape[1], dtype=torch.bool).tril(mask.shape[1] - columns)
    mask = mask[:, None, None].bool() & before
    return torch.zeros(mask.shape).masked_fill_(~mask, torch.finfo(torch.float32).min)
