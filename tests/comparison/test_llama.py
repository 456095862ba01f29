"""The forward pass of a small Llama beside that of transformers."""

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from ircotlib.generation.llama import Joined, can_join

SMALL = {"hidden_size": 48, "intermediate_size": 64, "vocab_size": 90, "num_attention_heads": 6}


@pytest.mark.parametrize("heads, width", [(6, 8), (2, 8), (1, 12)])
@torch.inference_mode()
def test_it_computes_what_transformers_computes_up_to_rounding(heads, width):
    torch.manual_seed(heads)
    shape = SMALL | {"num_hidden_layers": 3, "num_key_value_heads": heads, "head_dim": width}
    model = LlamaForCausalLM(LlamaConfig(initializer_range=0.3, **shape)).eval()
    for name, weight in model.named_parameters():
        if "norm" in name:
            weight.normal_(1, 0.3)
    joined = Joined(model)
    assert can_join(model)
    ids = torch.randint(90, (3, 20))
    mask = torch.ones(3, 20, dtype=torch.long)
    mask[0, :7], mask[2, :1] = 0, 0  # padding on the left
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    theirs = ours = None
    for first, last, keep in ((0, 12, 1), (12, 19, 5), (19, 20, 1)):  # reading in three steps
        inputs = {"input_ids": ids[:, first:last], "attention_mask": mask[:, :last]}
        inputs |= {"position_ids": positions[:, first:last], "logits_to_keep": keep}
        expected = model(**inputs, past_key_values=theirs, use_cache=True)
        found = joined(**inputs, past_key_values=ours)
        theirs, ours = expected.past_key_values, found.past_key_values
        torch.testing.assert_close(found.logits, expected.logits, rtol=1e-4, atol=1e-4)
    assert not can_join(model.bfloat16())


@pytest.mark.parametrize(
    "change",
    [
        {"attention_bias": True},
        {"mlp_bias": True},
        {"hidden_act": "gelu"},
        {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}},
    ],
)
def test_other_llamas_are_left_to_transformers(change):
    config = LlamaConfig(num_hidden_layers=1, num_key_value_heads=6, **SMALL, **change)
    assert not can_join(LlamaForCausalLM(config))
