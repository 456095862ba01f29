"""Causal models of kinds that write one text at a time; what they write: tests/comparison."""

import pytest
import torch
from asking import ask, ask_one
from tiny import byte_tokenizer, prompts, read
from transformers import AutoConfig, AutoModelForCausalLM

from ircotlib.generation.local import LocalModel
from ircotlib.program import SENTENCE, Generate, Sample

ALONE = {
    "mamba": {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 8},
    "openai-gpt": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128},
}


@pytest.mark.parametrize("kind", ALONE)
def test_requests_to_a_model_that_writes_one_text_at_a_time(tmp_path, kind):
    torch.manual_seed(3)
    tokenizer = byte_tokenizer()
    sizes = ALONE[kind] | {"vocab_size": len(tokenizer), "eos_token_id": 0}
    AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **sizes)).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    local = LocalModel(tmp_path)
    requests = [Generate(prompt, SENTENCE, 12) for prompt in prompts(4)]
    replies = ask(local, requests)
    assert replies == [ask_one(local, request) for request in requests[::-1]][::-1]
    assert all(1 <= reply["tokens"] <= 12 for reply in read(local, requests))
    sample = Sample(prompts(1)[0], 3, 1.0, None, 6)
    drawn = local.decode(ask_one(local, sample))
    assert drawn == local.decode(ask_one(local, sample)) and len(set(drawn)) == 3
    large = LocalModel(tmp_path, dtype="float16")
    large.model.get_output_embeddings().weight.data.fill_(60_000)
    assert "too large for float16" in str(ask_one(large, requests[0]))
