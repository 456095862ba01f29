"""The agent's model: a plain Llama whose attention can be supervised in training."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import training.causal  # noqa: F401 (the model asks for its attention by name)
from training.model import order_numbers

WIDTH, HEADS, LAYERS, FEED_FORWARD = 128, 4, 5, 256
POSITIONS = 4096
SPREAD = 0.02  # standard deviation of the initial weights


def make_agent_model(tokenizer: PreTrainedTokenizerFast, seed: int) -> LlamaForCausalLM:
    """Make an untrained model for a tokenizer. Its embeddings of numbers are initialised so that
    near numbers are similar.
    """
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        intermediate_size=FEED_FORWARD,
        initializer_range=SPREAD,
        max_position_embeddings=POSITIONS,
        tie_word_embeddings=True,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
    )
    model = LlamaForCausalLM(config)
    model.set_attn_implementation("remembering")
    with torch.no_grad():
        embedding = model.get_input_embeddings().weight
        embedding /= SPREAD
        order_numbers(model, tokenizer)
        embedding *= SPREAD
    return model
