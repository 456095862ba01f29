"""A causal model does not read a prefix twice, and its replies stay the same."""

import json
import random

import pytest
import torch
from asking import ask, ask_one
from tiny import byte_tokenizer
from transformers import AutoConfig, AutoModelForCausalLM

from ircot_laboratory.world.encyclopedia import make_world
from ircotlib.files import MODELS
from ircotlib.models.decode import decode, most_probable
from ircotlib.models.local import LocalModel
from ircotlib.models.prefixes import Prefixes
from ircotlib.program import SENTENCE, Generate
from ircotlib.prompting.prompt import GPT3
from training.t5.evaluate import draw_reading_test

CAUSAL = MODELS / "mini-causal"


@pytest.fixture(scope="module")
def prompts():
    """20 prompts about a laboratory, with the same two demonstrations."""
    world = make_world(11, 300, "hotpotqa")
    tests = draw_reading_test(world, "hotpotqa", 0, 22, 1, GPT3)
    shown = [f"{example.prompt} {riddle.chain}\n\n\n" for riddle, example in tests[:2]]
    return ["".join([*shown, example.prompt]) for _, example in tests[2:]]


def test_a_prefix_is_not_read_twice_and_changes_no_text(prompts):
    requests = [Generate(prompt, SENTENCE, 12) for prompt in prompts]
    whole, kept = LocalModel(CAUSAL, kept_tokens=0), LocalModel(CAUSAL)
    expected = ask(whole, requests)
    assert ask(kept, requests) == expected
    assert len(prompts) == 20 and len(set(expected)) > 12
    assert len(whole.prefixes) == 0 < len(kept.prefixes) <= 32_768
    # a step on, the prompt grown at its end by what was written and found
    written = zip(prompts[:10], map(whole.decode, expected))
    longer = [f"{prompt} {text} {prompt[-150:]}" for prompt, text in written]
    grown = [Generate(prompt, SENTENCE, 12) for prompt in longer]
    read = []

    def note(module, _, given):
        rows, columns = given["input_ids"].shape
        read.append(rows * columns if columns > 1 else 0)

    kept.model.register_forward_pre_hook(note, with_kwargs=True)
    replies = ask(kept, grown)
    assert replies == ask(whole, grown)
    lengths = [json.loads(reply)["prompt_tokens"] for reply in replies]
    assert 0 < sum(read) < 0.4 * sum(lengths)
    kept.batch_rows = 1  # the next batch is of the prompts with the least to read
    assert kept.take([Generate("Q: Who is it, and why?\nA:" * 2), grown[0]]) == [1]


SMALL = {"hidden_size": 32, "vocab_size": 99, "num_hidden_layers": 2}
HEADS = SMALL | {"num_attention_heads": 4, "intermediate_size": 64}
FEW_HEADS = HEADS | {"num_key_value_heads": 2}
GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99}
SIZES = {"gpt_neox": HEADS, "llama": FEW_HEADS, "gpt2": GPT2}


def make(kind, **sizes):
    config = AutoConfig.for_model(kind, **(sizes or SIZES[kind]))
    return AutoModelForCausalLM.from_config(config).eval()


def write(model, prompts, prefixes, sources):
    """Write 2 to 74 tokens in each row, more than a cache has room for at first; also
    return the logits of each step by row.
    """
    logits = {row: [] for row in range(len(sources))}

    def choose(rows, step):
        for row, values in zip(rows, step, strict=True):
            logits[row].append(values)
        return most_probable(rows, step)

    def ends(row, written):
        return len(written) == 2 + row % 7 * 12

    return dict(decode(model, prompts, ends, choose, sources, prefixes)), logits


@pytest.mark.parametrize("kind", SIZES)
def test_logits_are_those_of_prompts_read_whole(kind):
    """Whatever rows leave, and whatever blocks make room for others."""
    torch.manual_seed(0)
    model, rng, small = make(kind), random.Random(1), Prefixes(160)

    def tokens(count):
        return [rng.randrange(99) for _ in range(count)]

    start, prefixes = tokens(100), Prefixes(2_000)
    branches = [start + tokens(70), start[:50] + tokens(40), tokens(5)]
    first = [branch + tokens(rng.randint(1, 60)) for branch in branches * 2]
    first.append(branches[0])
    second = [prompt + tokens(rng.randint(0, 30)) for prompt in first] + [tokens(300)]
    for prompts in (first, second[::-1], [start[:16]], [start[:1], start[:33]]):
        sources = sorted([*range(len(prompts)), *rng.choices(range(len(prompts)), k=3)])
        expected, others = write(model, prompts, Prefixes(0), sources)
        for kept in (prefixes, small):
            written, logits = write(model, prompts, kept, sources)
            assert written == expected
            torch.testing.assert_close(logits, others, rtol=1e-4, atol=1e-5)
    assert 0 < len(small) <= 160 < len(prefixes) <= 2_000


ROPE = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10_000.0}
REFUSED = {
    "mamba": SMALL | {"state_size": 8},
    "mistral": FEW_HEADS | {"sliding_window": 16},
    "llama": FEW_HEADS | {"rope_parameters": ROPE},
}


@pytest.mark.parametrize("kind", REFUSED)
def test_models_that_forget_or_stretch_their_positions_are_refused(tmp_path, kind):
    tokenizer = byte_tokenizer()
    sizes = REFUSED[kind] | {"vocab_size": len(tokenizer), "eos_token_id": 0}
    make(kind, **sizes).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="one like Llama; set server for all others"):
        ask_one(LocalModel(tmp_path), Generate("Q", None, 5))
