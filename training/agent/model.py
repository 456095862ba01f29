"""The agent's model: a plain Llama whose attention can be supervised in training."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import training.causal  # noqa: F401 (the model asks for its attention by name)
from training.words import order_numbers

WIDTH, HEADS, FEED_FORWARD = 128, 4, 256
LAYERS, LAST = 10, 2  # all layers, and those that stay the last in an agent that grows
POSITIONS = 4096
SPREAD = 0.02  # standard deviation of the initial weights


def make_agent_model(
    tokenizer: PreTrainedTokenizerFast, seed: int, start: str = ""
) -> LlamaForCausalLM:
    """Make an untrained model for a tokenizer, or grow that of the folder `start`.
    Embeddings of numbers are initialised so that near numbers are similar; layers added
    to a smaller model read the stream, but write nothing yet.
    """
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
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
        if start:
            _grow(model, LlamaForCausalLM.from_pretrained(start, dtype=torch.float32))
        # at its first call, a model finds the layers whose states it returns later
        model(torch.zeros(1, 1, dtype=torch.long), output_hidden_states=True)
    return model


def _grow(model: LlamaForCausalLM, older: LlamaForCausalLM) -> None:
    """Copy the weights of an older model with as many layers or fewer."""
    layers, before = model.model.layers, older.model.layers
    first = len(before) - LAST  # new layer: those after it stay the last
    for layer in layers[first:-LAST]:
        layer.self_attn.o_proj.weight.zero_()
        layer.mlp.down_proj.weight.zero_()
    copied = [*layers[:first], *layers[-LAST:], model.model.norm]
    for part, old in zip(copied, [*before, older.model.norm], strict=True):
        part.load_state_dict(old.state_dict())
    model.get_input_embeddings().load_state_dict(
        older.get_input_embeddings().state_dict()
    )
