"""A causal model does not read a prefix twice, and its replies stay the same."""

import json
import random

import pytest
import torch
from asking import ask, ask_one
from tiny import byte_tokenizer, note_shapes
from torch.nn.functional import pad
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    DynamicCache,
    LlamaConfig,
    LlamaForCausalLM,
)
from transformers.cache_utils import DynamicLayer

from ircot_laboratory.world.encyclopedia import make_world
from ircotlib.files.paths import MODELS
from ircotlib.generation.batches import close_up
from ircotlib.generation.decode import decode, most_probable
from ircotlib.generation.growing import GrowingLayer, OwnLayer
from ircotlib.generation.llama import Joined, can_join
from ircotlib.generation.local import LocalModel
from ircotlib.generation.prefixes import BLOCK, Prefixes, name_blocks
from ircotlib.program import SENTENCE, Generate, Sample
from ircotlib.prompting.prompt import GPT3
from training.t5.evaluate import draw_reading_test

CAUSAL = MODELS / "mini-causal"


@pytest.fixture(scope="module")
def prompts():
    """40 prompts about a laboratory, with the same two demonstrations."""
    world = make_world(11, 300, "hotpotqa")
    tests = draw_reading_test(world, "hotpotqa", 0, 42, 1, GPT3)
    shown = [f"{example.prompt} {riddle.chain}\n\n\n" for riddle, example in tests[:2]]
    return ["".join([*shown, example.prompt]) for _, example in tests[2:]]


def count_read(shapes):
    return sum(rows * columns for rows, columns in shapes if columns > 1)


def test_texts_are_those_of_prompts_read_whole(prompts):
    requests = [Generate(prompt, SENTENCE, 12) for prompt in prompts]
    whole, kept = LocalModel(CAUSAL, kept_tokens=0), LocalModel(CAUSAL)
    small = LocalModel(CAUSAL, kept_tokens=500, batch_rows=7)
    shapes = note_shapes(kept.model)
    expected = ask(whole, requests)
    assert ask(kept, requests) == expected and ask(small, requests[:30]) == expected[:30]
    assert len(prompts) == 40 and len(set(expected)) > 25
    assert len(whole.prefixes) == 0 < len(small.prefixes) <= 500 < len(kept.prefixes) <= 32_768
    # a step on, the prompt grown at its end by what was written and found
    written = zip(prompts[:20], map(whole.decode, expected))
    grown = [Generate(f"{old} {text} {old[-150:]}", SENTENCE, 12) for old, text in written]
    shapes.clear()
    replies = ask(kept, grown)
    assert replies == ask(whole, grown)
    lengths = [json.loads(reply)["prompt_tokens"] for reply in replies]
    assert 0 < count_read(shapes) < 0.4 * sum(lengths)
    # the next batch is of the prompts with the least to read
    kept.batch_rows = 1
    assert kept.take([Generate("Q: Who is it, and why?\nA:" * 2), grown[0]]) == [1]
    drawn = [Sample(prompt, 3, 1.0, SENTENCE, 8) for prompt in prompts[:6]]
    for reply, other in zip(ask(kept, drawn), ask(whole, drawn), strict=True):
        (texts, logs), (others, other_logs) = (zip(*kept.decode(each)) for each in (reply, other))
        assert texts == others and logs == pytest.approx(other_logs, rel=1e-4, abs=1e-5)


SMALL = {"hidden_size": 32, "vocab_size": 99}
HEADS = SMALL | {"num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
FEW_HEADS = HEADS | {"num_key_value_heads": 2}
SIZES = {"gpt_neox": HEADS, "llama": FEW_HEADS, "bloom": SMALL | {"n_layer": 2, "n_head": 4}}
SIZES |= {"gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99}}


def make(kind, **sizes):
    config = AutoConfig.for_model(kind, **(sizes or SIZES[kind]))
    return AutoModelForCausalLM.from_config(config).eval()


def write(model, prompts, prefixes, sources):
    """Write two to eight tokens in each row; also return the logits of each step by row."""
    logits = {row: [] for row in range(len(sources))}

    def choose(rows, step):
        for row, values in zip(rows, step, strict=True):
            logits[row].append(values)
        return most_probable(rows, step)

    def ends(row, written):
        return len(written) == 2 + row % 7

    return dict(decode(model, prompts, ends, choose, sources, prefixes)), logits


@pytest.mark.parametrize("kind", SIZES)
def test_logits_are_those_of_prompts_read_whole(kind):
    torch.manual_seed(0)
    model, rng = make(kind), random.Random(1)

    def tokens(count):
        return [rng.randrange(99) for _ in range(count)]

    start, prefixes = tokens(100), Prefixes(2_000)
    branches = [start + tokens(70), start[:50] + tokens(40), tokens(5)]
    first = [branch + tokens(rng.randint(1, 60)) for branch in branches * 3] + [branches[0]]
    second = [prompt + tokens(rng.randint(0, 30)) for prompt in first] + [tokens(300)]
    for prompts in (first, second, second[::-1], [start], [start[:16]], [start[:1], start[:33]]):
        sources = sorted([*range(len(prompts)), *rng.choices(range(len(prompts)), k=3)])
        written, logits = write(model, prompts, prefixes, sources)
        expected, others = write(model, prompts, Prefixes(0), sources)
        assert written == expected
        for row in logits:
            torch.testing.assert_close(logits[row], others[row], rtol=1e-4, atol=1e-5)
    assert 0 < len(prefixes) <= 2_000


ROPE = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10_000.0}
REFUSED = {
    "mamba": SMALL | {"num_hidden_layers": 2, "state_size": 8},
    "openai-gpt": {"n_embd": 32, "n_layer": 2, "n_head": 4},
    "mistral": FEW_HEADS | {"sliding_window": 16},
    "llama": FEW_HEADS | {"rope_parameters": ROPE},
}


@pytest.mark.parametrize("kind", REFUSED)
def test_models_that_forget_or_stretch_their_positions_are_refused(tmp_path, kind):
    tokenizer = byte_tokenizer()
    sizes = REFUSED[kind] | {"vocab_size": len(tokenizer), "eos_token_id": 0}
    make(kind, **sizes).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="expected one like Llama; set server for all others"):
        ask_one(LocalModel(tmp_path), Generate("Q", None, 5))


def numbers(prompt):
    """States whose numbers are their positions and tokens."""
    rows = torch.tensor(list(enumerate(prompt)))
    return lambda first, last: rows[first:last]


def test_blocks_are_found_by_all_that_stands_before_them():
    prefixes, text = Prefixes(1_000), list(range(50))
    prefixes.keep(text, numbers(text))
    assert len(prefixes) == 48
    known = [prefixes.known(text[:n]) for n in (0, 1, 15, 16, 17, 32, 33, 50)]
    assert known == [0, 0, 0, 15, 16, 31, 32, 48]
    assert prefixes.known(text[:20] + [99] + text[21:]) == 16
    assert prefixes.known([99] + text[1:]) == 0
    assert torch.cat(prefixes.find(text, 40)).tolist() == [[at, at] for at in range(48)]
    assert prefixes.find(text, 0) == []


def test_no_block_is_kept_without_those_before_it_and_the_oldest_go_first():
    rng, prefixes = random.Random(2), Prefixes(40 * BLOCK)
    texts = [[rng.randrange(2) for _ in range(12) for _ in range(BLOCK)] for _ in range(9)]
    texts += [text[: BLOCK * rng.randrange(12)] + text[BLOCK:] for text in texts]
    for text in rng.choices(texts, k=300):
        if rng.random() < 0.5:
            prefixes.keep(text, numbers(text))
            assert prefixes.known([*text, 0]) == len(text) and len(prefixes) <= 40 * BLOCK
        else:
            prefixes.find(text, rng.randint(0, prefixes.known(text)))
        for other in texts:
            kept = [name in prefixes._blocks for name in name_blocks(other)]
            assert kept == sorted(kept, reverse=True)


def test_a_cache_with_room_keeps_the_rows_that_a_plain_one_keeps():
    assert close_up([True, False, True, False, True]) == [0, 4, 2]
    drawn, read = random.Random(0), []
    growing, plain = GrowingLayer(rows=9, columns=70), DynamicLayer()
    for row, rows, columns in ((0, 4, 70), (4, 5, 62)):  # two parts, each read in two steps
        states = torch.rand(2, rows, 2, columns, 4)
        part = OwnLayer(growing, slice(row, row + rows), 70 - columns)
        part.update(*states[:, :, :, :30])
        assert all(map(torch.equal, part.update(*states[:, :, :, 30:]), states))
        read.append(pad(states, (0, 0, 70 - columns, 0)))
    plain.update(*torch.cat(read, 1))
    for step in range(80):
        rows = len(plain.keys)
        new = torch.rand(2, rows, 2, 1, 4)
        for layer in (plain, growing):
            layer.update(new[0], new[1])
        assert torch.equal(growing.keys, plain.keys) and torch.equal(growing.values, plain.values)
        if step % 10 == 3:  # some rows end; or, as for samples, rows are drawn anew
            kept = close_up([drawn.random() < 0.8 for _ in range(rows)]) or [0]
            chosen = torch.tensor(kept if step != 43 else drawn.choices(range(rows), k=9))
            plain.batch_select_indices(chosen)
            growing.batch_select_indices(chosen)


LLAMA = {"hidden_size": 48, "intermediate_size": 64, "vocab_size": 90, "num_attention_heads": 6}
OTHER = [{"attention_bias": True}, {"mlp_bias": True}, {"hidden_act": "gelu"}]
OTHER += [{"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}}]


@pytest.mark.parametrize("heads, width", [(6, 8), (2, 8), (1, 12)])
@torch.inference_mode()
def test_our_forward_pass_of_a_llama_is_that_of_transformers_up_to_rounding(heads, width):
    torch.manual_seed(heads)
    shape = LLAMA | {"num_hidden_layers": 3, "num_key_value_heads": heads, "head_dim": width}
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
    theirs, ours = DynamicCache(), DynamicCache()
    for first, last in ((0, 12), (12, 19), (19, 20)):  # reading in three steps
        inputs = {"input_ids": ids[:, first:last], "attention_mask": mask[:, :last]}
        inputs |= {"position_ids": positions[:, first:last], "logits_to_keep": 1}
        expected = model(**inputs, past_key_values=theirs, use_cache=True)
        found = joined(**inputs, past_key_values=ours)
        theirs, ours = expected.past_key_values, found.past_key_values
        torch.testing.assert_close(found.logits, expected.logits, rtol=1e-4, atol=1e-4)
    assert not can_join(model.bfloat16())
    for change in OTHER:
        config = LlamaConfig(num_hidden_layers=1, num_key_value_heads=6, **LLAMA, **change)
        assert not can_join(LlamaForCausalLM(config))
