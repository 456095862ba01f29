"""Causal models of every kind write what `model.generate` writes, whatever the batch: those with a
recurrent state, with another cache or none, with other positions, and those that keep all.
"""

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from ircotlib.generation.causal import can_batch, can_branch, can_reuse
from ircotlib.generation.decode import decode
from ircotlib.generation.prefixes import BLOCK, Prefixes

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 99}
HEADS = SMALL | {"num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64}
GPT = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99, "n_positions": 128}
SSM = {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_n_groups": 1, "mamba_d_state": 8}
LINEAR = {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8}
LINEAR |= {"linear_value_head_dim": 8, "head_dim": 8}
EXPERTS = {"num_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 16}
JAMBA = {"num_hidden_layers": 4, "attn_layer_period": 2, "attn_layer_offset": 1}
JAMBA |= {"num_experts": 2, "num_experts_per_tok": 1, "expert_layer_offset": 1}
JAMBA |= {"use_mamba_kernels": False, "mamba_d_state": 4, "mamba_dt_rank": 4}
GEMMA = {"num_hidden_layers": 3, "head_dim": 8, "lru_width": 32, "attention_window_size": 16}
MIXED = {"layer_types": ["linear_attention", "full_attention"]}
LATENT = {"num_key_value_heads": 4, "q_lora_rank": 8, "kv_lora_rank": 16, "v_head_dim": 8}
LATENT |= {"qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "first_k_dense_replace": 2}
# with a recurrent state, or without a cache that transformers can cut by rows
ALONE = {
    "mamba": SMALL | {"state_size": 8},
    "mamba2": SMALL | {"state_size": 8, "num_heads": 8, "head_dim": 8, "n_groups": 2},
    "rwkv": SMALL | {"attention_hidden_size": 32, "intermediate_size": 64},
    "recurrent_gemma": HEADS | GEMMA,
    "jamba": HEADS | JAMBA,
    "bamba": HEADS | SSM | {"attn_layer_indices": [1]},
    "falcon_h1": HEADS | SSM | {"mamba_d_ssm": 64},
    "lfm2": HEADS | {"layer_types": ["conv", "full_attention"]},
    "qwen3_next": HEADS | LINEAR | EXPERTS | MIXED | {"shared_expert_intermediate_size": 16},
    "minimax": HEADS | MIXED | {"head_dim": 8, "num_local_experts": 2, "block_size": 8},
    "openai-gpt": GPT,
    "xlnet": {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64, "vocab_size": 99},
}
SLIDING = {
    "mistral": HEADS | {"sliding_window": 16},
    "gemma2": HEADS | {"head_dim": 8, "sliding_window": 16},
}
KEPT = {
    "falcon": SMALL | {"num_attention_heads": 4, "alibi": True},
    "mpt": {"d_model": 32, "n_layers": 2, "n_heads": 4, "vocab_size": 99},
    "gpt_neo": SMALL
    | {"num_layers": 2, "num_heads": 4, "window_size": 16}
    | {"attention_types": [[["global", "local"], 1]]},
    "ctrl": GPT | {"dff": 64},
    "deepseek_v3": HEADS | LATENT,
    "phi": HEADS,
}
PROMPTS = [[5, 7, 9, 11, 13, 17, 19, 23, 29, 31] * 3, [4, 8, 15, 16, 23, 42, 6, 3, 2, 9], [50, 60]]
PROMPTS += [PROMPTS[0][:20] + [1, 2]]  # begins as the first does
SOURCES = [0, 0, 1, 2, 2, 3]


@pytest.mark.parametrize("kind", [*ALONE, *SLIDING, *KEPT])
def test_the_texts_are_those_of_generate(kind):
    torch.manual_seed(3)
    config = AutoConfig.for_model(kind, **(ALONE | SLIDING | KEPT)[kind])
    model = AutoModelForCausalLM.from_config(config).eval()
    model.generation_config.eos_token_id = None
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(6 if weight.ndim > 1 else 1)  # texts differ more
    expected = []
    for prompt in PROMPTS:
        ids = torch.tensor([prompt])
        options = {"attention_mask": torch.ones_like(ids), "pad_token_id": 0, "do_sample": False}
        expected.append(
            model.generate(ids, max_new_tokens=10, **options)[0, len(prompt) :].tolist()
        )
    prefixes = Prefixes(2_000 if can_reuse(model) else 0)
    for _ in range(2):  # at first nothing is known
        written = decode(model, PROMPTS, ends=has_ended, sources=SOURCES, prefixes=prefixes)
        texts = [tokens for _, tokens in sorted(written)]
        wanted = [expected[source][: 4 + row] for row, source in enumerate(SOURCES)]
        assert texts == wanted
    assert can_batch(model) == (kind not in ALONE) and can_reuse(model) == (kind in KEPT)
    assert can_branch(model) == (kind in ("phi", "deepseek_v3"))
    assert len(prefixes) >= BLOCK or kind not in KEPT


def has_ended(row, written):
    return len(written) == 4 + row
