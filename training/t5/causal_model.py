"""The causal model in place of GPT-3: a GPT-NeoX that can learn to read."""

import torch
from torch import nn
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

import training.causal  # noqa: F401 (the model asks for its attention by name)
from training.t5.model import HEAD_WIDTH

WIDTH, HEADS, LAYERS, FEED_FORWARD = 128, 4, 6, 256
# dimensions of a head with rotary positions, and the base of their angles
ROTARY, BASE = 8, 1000
POSITIONS = 8192
# by how many nats a head initialised as "previous word" prefers that to its neighbours
PEAK = 4.0
NEAR = 3  # the number of first layers whose heads are initialised like that


def make_causal_model(vocabulary: int, seed: int) -> GPTNeoXForCausalLM:
    """Make an untrained causal model. Its heads are initialised to attend to words that
    resemble the query; those of the first layers attend to the words just before it.
    """
    torch.manual_seed(seed)
    rotary = {
        "rope_type": "default",
        "rope_theta": float(BASE),
        "partial_rotary_factor": ROTARY / HEAD_WIDTH,
    }
    config = GPTNeoXConfig(
        vocab_size=vocabulary,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=FEED_FORWARD,
        hidden_act="relu",
        max_position_embeddings=POSITIONS,
        rope_parameters=rotary,
        use_parallel_residual=False,
        tie_word_embeddings=True,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
    )
    model = GPTNeoXForCausalLM(config)
    model.set_attn_implementation("remembering")
    _initialise(model)
    return model


@torch.no_grad()
def _initialise(model: GPTNeoXForCausalLM) -> None:
    """Embeddings and feed-forward layers as in T5; it scales outputs by the width."""
    model.gpt_neox.embed_in.weight.normal_()
    model.gpt_neox.final_layer_norm.weight.fill_(WIDTH**-0.5)
    for number, layer in enumerate(model.gpt_neox.layers):
        layer.mlp.dense_h_to_4h.weight.normal_(std=WIDTH**-0.5)
        layer.mlp.dense_4h_to_h.weight.normal_(std=FEED_FORWARD**-0.5)
        _initialise_attention(layer.attention, near=number < NEAR)


def _initialise_attention(attention: nn.Module, near: bool) -> None:
    """Mimetic initialisation (Trockman and Kolter 2023) of the dimensions without
    positions. `near`: head h also attends to the word h + 1 places back.
    """
    layer = attention.query_key_value
    query, key, value = layer.weight.view(HEADS, 3, HEAD_WIDTH, WIDTH).unbind(1)
    for part in (query, key, value):
        part.normal_(std=WIDTH**-0.5)
    key[:, ROTARY:] *= (HEAD_WIDTH / (HEAD_WIDTH - ROTARY)) ** 0.5
    query[:, ROTARY:] = key[:, ROTARY:]
    query[:, :ROTARY] *= 0.2
    key[:, :ROTARY] *= 0.2
    attention.dense.weight.copy_(0.7 * value.reshape(WIDTH, WIDTH).T)
    if near:
        angles = BASE ** (-torch.arange(0, ROTARY, 2) / ROTARY)
        size = (PEAK * HEAD_WIDTH**0.5 / (1 - angles.cos()).sum()) ** 0.5
        query, key, _ = layer.bias.view(HEADS, 3, HEAD_WIDTH).unbind(1)
        back = (torch.arange(HEADS)[:, None] + 1) * angles
        query[:, :ROTARY] = size * torch.cat([back.cos(), -back.sin()], 1)
        key[:, : ROTARY // 2] = size
