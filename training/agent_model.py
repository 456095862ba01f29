"""The agent's model: a plain Llama whose attention can be supervised in training."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import training.causal  # noqa: F401 (the model asks for its attention by name)
from training.model import order_numbers

WIDTH, HEADS, FEED_FORWARD = 128, 4, 256
LAYERS, GROWN, SHARED = 5, 7, 3  # of a new model, of a grown one, and those before its new ones
POSITIONS = 4096
SPREAD = 0.02  # standard deviation of the initial weights


def make_agent_model(
    tokenizer: PreTrainedTokenizerFast, seed: int, layers: int = LAYERS
) -> LlamaForCausalLM:
    """Make an untrained model for a tokenizer. Its embeddings of numbers are initialised so that
    near numbers are similar.
    """
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        num_hidden_layers=layers,
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


@torch.no_grad()
def deepen(small: LlamaForCausalLM, model: LlamaForCausalLM) -> None:
    """Copy the weights of a trained model into one with more layers, so that both have the same
    output. The new layers, after the SHARED first ones, read the stream but write nothing yet.
    """
    new = model.config.num_hidden_layers - small.config.num_hidden_layers
    layers = dict(enumerate(small.model.layers))
    for number, layer in enumerate(model.model.layers):
        if SHARED <= number < SHARED + new:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        else:
            old = layers[number if number < SHARED else number - new]
            layer.load_state_dict(old.state_dict())
    model.model.norm.load_state_dict(small.model.norm.state_dict())
    model.get_input_embeddings().load_state_dict(small.get_input_embeddings().state_dict())
