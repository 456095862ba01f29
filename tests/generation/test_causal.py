"""A causal model does not read a prefix twice, and its replies stay the same."""

import json
import random
from collections import Counter

import pytest
import torch
from asking import ask
from tiny import note_shapes
from transformers import AutoConfig, AutoModelForCausalLM

from ircot_laboratory.world.encyclopedia import make_world
from ircotlib.files.paths import MODELS
from ircotlib.generation import causal
from ircotlib.generation.batches import close_up
from ircotlib.generation.causal import can_branch, can_reuse
from ircotlib.generation.decode import decode, most_probable
from ircotlib.generation.local import LocalModel
from ircotlib.generation.prefixes import BLOCK, PASS, Prefixes, name_blocks
from ircotlib.program import SENTENCE, Generate, Sample
from ircotlib.prompting.prompt import GPT3
from training.t5.evaluate import draw_reading_test

CAUSAL = MODELS / "mini-causal"


@pytest.fixture(scope="module")
def prompts():
    """104 prompts about a laboratory, with the same two demonstrations."""
    world = make_world(11, 300, "hotpotqa")
    tests = draw_reading_test(world, "hotpotqa", 0, 106, 1, GPT3)
    shown = [f"{example.prompt} {riddle.chain}\n\n\n" for riddle, example in tests[:2]]
    return ["".join([*shown, example.prompt]) for _, example in tests[2:]]


def count_read(shapes):
    return sum(rows * columns for rows, columns in shapes if columns > 1)


def test_texts_are_those_of_prompts_read_whole(prompts):
    requests = [Generate(prompt, SENTENCE, 12) for prompt in prompts]
    whole, kept = LocalModel(CAUSAL, kept_tokens=0), LocalModel(CAUSAL)
    small = LocalModel(CAUSAL, kept_tokens=500, batch_rows=7)
    shapes_whole, shapes = note_shapes(whole.model), note_shapes(kept.model)
    expected = ask(whole, requests)
    assert ask(kept, requests) == expected and ask(small, requests[:30]) == expected[:30]
    assert len(prompts) == 104 and len(set(expected)) > 60
    assert count_read(shapes) < 0.6 * count_read(shapes_whole)
    assert len(whole.prefixes) == 0 < len(small.prefixes) <= 500 < len(kept.prefixes) <= 32_768
    # a step on, the prompt grown at its end by what was written and found
    written = zip(prompts[:20], map(whole.decode, expected))
    grown = [Generate(f"{old} {text} {old[-150:]}", SENTENCE, 12) for old, text in written]
    shapes.clear()
    replies = ask(kept, grown)
    assert replies == ask(whole, grown)
    lengths = [json.loads(reply)["prompt_tokens"] for reply in replies]
    assert 0 < count_read(shapes) < 0.4 * sum(lengths)


def test_samples_are_those_of_prompts_read_whole(prompts):
    requests = [Sample(prompt, 3, 1.0, SENTENCE, 8) for prompt in prompts[:6]]
    kept, whole = LocalModel(CAUSAL), LocalModel(CAUSAL, kept_tokens=0)
    for again in range(2):  # the second time all is known
        for pair in zip(ask(kept, requests), ask(whole, requests), strict=True):
            (texts, logs), (others, other_logs) = (zip(*kept.decode(reply)) for reply in pair)
            assert texts == others and logs == pytest.approx(other_logs, rel=1e-4, abs=1e-5)


SMALL = {"hidden_size": 32, "vocab_size": 99}
ROTARY = SMALL | {"num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
FEW_HEADS = ROTARY | {"num_key_value_heads": 2}
SIZES = {"gpt_neox": ROTARY, "llama": FEW_HEADS, "bloom": SMALL | {"n_layer": 2, "n_head": 4}}
SIZES |= {"gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99}}
ROTARY_KINDS = "gpt_neox", "llama"


def make(kind, **sizes):
    config = AutoConfig.for_model(kind, **(sizes or SIZES[kind]))
    return AutoModelForCausalLM.from_config(config).eval()


def check_logits(logits, others):
    for row in logits:
        torch.testing.assert_close(logits[row], others[row], rtol=1e-4, atol=1e-5)


def write(model, prompts, prefixes, sources=None):
    """Write two to eight tokens in each row; also return the logits of each step by row."""
    logits = {row: [] for row in range(len(sources or prompts))}

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
    assert can_reuse(model)

    def tokens(count):
        return [rng.randrange(99) for _ in range(count)]

    start, prefixes = tokens(100), Prefixes(2_000)
    branches = [start + tokens(70), start[:50] + tokens(40), tokens(5)]
    first = [branch + tokens(rng.randint(1, 60)) for branch in branches * 3] + [branches[0]]
    second = [prompt + tokens(rng.randint(0, 30)) for prompt in first] + [tokens(300)]
    for prompts in (first, second, second[::-1], [start], [start[:16]], [start[:1], start[:33]]):
        written, logits = write(model, prompts, prefixes)
        expected, others = write(model, prompts, Prefixes(0))
        assert written == expected
        check_logits(logits, others)
    assert 0 < len(prefixes) <= 2_000


@pytest.mark.parametrize("kind", SIZES)
def test_texts_of_one_prompt_share_its_row(kind, monkeypatch):
    torch.manual_seed(0)
    model, rng = make(kind), random.Random(1)
    shapes = note_shapes(model)
    prompts = [[rng.randrange(99) for _ in range(length)] for length in (40, 7, 90, 3)]
    sources = [0, 0, 0, 2, 2, 1] * 14 + [3]  # more texts than a cache has spare room for
    branched, logits = write(model, prompts, Prefixes(0), sources)
    going = [[row for row in logits if len(logits[row]) > step] for step in range(1, 8)]
    live = [Counter(sources[row] for row in rows) for rows in going]
    expected = [(len(rows), max(rows.values())) for rows in live]
    if kind not in ROTARY_KINDS:
        expected = [(rows.total(), 1) for rows in live]
    assert can_branch(model) == (kind in ROTARY_KINDS) and shapes[1:] == expected
    monkeypatch.setattr(causal, "can_branch", lambda model: False)
    written, others = write(model, prompts, Prefixes(0), sources)
    assert written == branched and shapes[-1][1] == 1
    check_logits(logits, others)


def test_models_that_forget_or_stretch_their_positions_read_all_again(tmp_path):
    rope = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10_000.0}
    assert not can_reuse(make("mistral", **FEW_HEADS, sliding_window=16))
    assert not can_reuse(make("llama", **FEW_HEADS, rope_parameters=rope))
    assert not can_reuse(make("mamba", hidden_size=32, num_hidden_layers=2, vocab_size=99))
    assert can_reuse(make("mistral", **FEW_HEADS, sliding_window=None))
    # and keep nothing
    tokenizer = LocalModel(CAUSAL).tokenizer
    sizes = FEW_HEADS | {"vocab_size": len(tokenizer), "sliding_window": 16}
    make("mistral", **sizes).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    local = LocalModel(tmp_path)
    assert json.loads(ask(local, [Generate("Q: Who is it?\nA:" * 9, None, 5)])[0])["tokens"] <= 5
    assert len(local.prefixes) == 0


def test_the_next_batch_is_of_the_prompts_with_the_least_to_read(prompts):
    local = LocalModel(CAUSAL, batch_rows=2)
    requests = [Generate(prompt, SENTENCE, 2) for prompt in prompts[:4]]
    ask(local, requests[2:3])
    assert local.take(requests)[0] == 2


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
    longer = text + list(range(20))
    prefixes.keep(longer, numbers(longer))
    assert len(prefixes) == 64 and prefixes.known(longer) == 64


def test_what_was_not_used_for_longest_goes_first_and_ends_before_beginnings():
    prefixes = Prefixes(5 * BLOCK)
    old, new = [1] * 3 * BLOCK, [2] * 2 * BLOCK
    prefixes.keep(old, numbers(old))
    prefixes.keep(new, numbers(new))
    prefixes.find(old, len(old))
    third = [3] * BLOCK
    prefixes.keep(third, numbers(third))
    assert len(prefixes) == 5 * BLOCK
    assert [prefixes.known(text + [0]) for text in (old, new, third)] == [48, 16, 16]
    large = [4] * 8 * BLOCK
    prefixes.keep(large, numbers(large))
    assert prefixes.known(large) == 5 * BLOCK == len(prefixes)


def test_no_block_is_kept_without_those_before_it():
    rng, prefixes = random.Random(2), Prefixes(40 * BLOCK)
    texts = [[rng.randrange(2) for _ in range(12) for _ in range(BLOCK)] for _ in range(9)]
    texts += [text[: BLOCK * rng.randrange(12)] + text[BLOCK:] for text in texts]
    for text in rng.choices(texts, k=300):
        if rng.random() < 0.5:
            prefixes.keep(text, numbers(text))
        else:
            prefixes.find(text, rng.randint(0, prefixes.known(text)))
        for other in texts:
            kept = [name in prefixes._blocks for name in name_blocks(other)]
            assert kept == sorted(kept, reverse=True)
            assert prefixes.known(other) == min(BLOCK * sum(kept), len(other) - 1)


def test_what_prompts_share_is_read_first_where_it_pays():
    start, prefixes = [1] * 30 * BLOCK, Prefixes(10_000)
    inner = start + [2] * 10 * BLOCK
    rows = [start + [n] for n in range(5, 9)] + [inner + [n] for n in range(5, 8)]
    assert prefixes.shared(rows) == [inner]  # it begins with the other one
    short = [1] * 15 * BLOCK  # too short to be worth a pass
    assert prefixes.shared([[*short, 5], [*short, 6]]) == []
    assert prefixes.shared([[n] * 500 for n in range(9)]) == []
    assert Prefixes(0).shared(rows) == Prefixes(600).shared(rows) == []
    prefixes.keep(inner, numbers(inner))
    assert prefixes.shared(rows) == []
    twice = [7] * 2 * PASS
    assert prefixes.shared([twice] * 3) == [twice[: 2 * PASS - BLOCK]]


def test_rows_that_end_leave_their_places_to_the_last_ones():
    assert close_up([True, False, True, False, True]) == [0, 4, 2]
    drawn = random.Random(3)
    for _ in range(200):
        goes_on = [drawn.random() < 0.7 for _ in range(drawn.randrange(12))]
        rows = close_up(goes_on)
        assert sorted(rows) == [row for row, on in enumerate(goes_on) if on]
        assert all(row in (at, *range(len(rows), 12)) for at, row in enumerate(rows))
