"""The agent's model: a plain Llama whose attention can be supervised in training."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import training.causal  # noqa: F401 (the model asks for its attention by name)
from training.words import order_numbers

WIDTH, HEADS, KEYS, FEED_FORWARD = 128, 4, 4, 256  # KEYS: heads of keys and values
LAYERS, ADDED, SHARED = 7, 2, 3  # all layers, those added in training, and those before them
POSITIONS = 4096
SPREAD = 0.02  # standard deviation of the initial weights


def make_agent_model(
    tokenizer: PreTrainedTokenizerFast, seed: int, start: str = ""
) -> LlamaForCausalLM:
    """Make an untrained model for a tokenizer, or read that of the folder `start`. Its embeddings
    of numbers are initialised so that near numbers are similar. The added layers read the stream,
    but write nothing yet.
    """
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KEYS,
        intermediate_size=FEED_FORWARD,
        initializer_range=SPREAD,
        max_position_embeddings=POSITIONS,
        tie_word_embeddings=True,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
    )
    if start:
        model = LlamaForCausalLM.from_pretrained(start, dtype=torch.float32)
    else:
        model = LlamaForCausalLM(config)
    model.set_attn_implementation("remembering")
    with torch.no_grad():
        if not start:
            embedding = model.get_input_embeddings().weight
            embedding /= SPREAD
            order_numbers(model, tokenizer)
            embedding *= SPREAD
            for layer in model.model.layers[SHARED : SHARED + ADDED]:
                layer.self_attn.o_proj.weight.zero_()
                layer.mlp.down_proj.weight.zero_()
        # at its first call, a model finds the layers whose states it returns later
        model(torch.zeros(1, 1, dtype=torch.long), output_hidden_states=True)
    return model


@contextmanager
def shallow(model: LlamaForCausalLM) -> Iterator[None]:
    """Within the block, the model has no added layers, which only saves time at first."""
    base, layers = model.base_model, model.base_model.layers
    base.layers = torch.nn.ModuleList([*layers[:SHARED], *layers[SHARED + ADDED :]])
    try:
        yield
    finally:
        base.layers = layers
