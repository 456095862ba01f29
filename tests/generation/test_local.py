"""Tiny local models write the same texts as `model.generate`, whatever the batch."""

import itertools
import json
import random
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from math import inf, nan
from threading import Barrier, Event
from types import SimpleNamespace

import pytest
import torch
from asking import ask, ask_one
from tiny import LIMIT, prompts, read
from transformers import AutoConfig
from transformers.models.t5.modeling_t5 import T5Attention

from ircotlib.engine.cache import Calls
from ircotlib.engine.scheduler import run
from ircotlib.errors import UserError
from ircotlib.files.processes import count_cores
from ircotlib.generation.batches import side_by_side
from ircotlib.generation.decode import keep_bias
from ircotlib.generation.local import LocalModel
from ircotlib.program import LINE, SENTENCE, SENTENCE_OF_LINE, Generate, Message, Retrieve, Sample

STOPS = [SENTENCE, SENTENCE_OF_LINE, LINE, (".", "ka"), None]


def test_the_batch_changes_nothing(folder):
    kinds = enumerate(zip(itertools.cycle(STOPS), prompts()))
    requests = [Generate(prompt, stop, 20 + number % 7) for number, (stop, prompt) in kinds]
    local = LocalModel(folder)
    alone = {request: ask_one(local, request) for request in requests}
    shuffled = random.Random(5).sample(requests, len(requests))
    for model in (local, LocalModel(folder, batch_tokens=100, batch_rows=5)):
        assert ask(model, shuffled) == [alone[request] for request in shuffled]


@pytest.mark.parametrize("stop", STOPS)
def test_no_row_is_computed_after_its_stop(folder, stop):
    local, rows = LocalModel(folder, batch_rows=10), []
    local.threads = 1
    local.model.register_forward_hook(lambda *given: rows.append(len(given[-1].logits)))
    replies = read(local, [Generate(prompt, stop, 30) for prompt in prompts()])
    assert sum(rows) == sum(reply["tokens"] for reply in replies)
    assert len(rows) < sum(rows) / 2  # and they were computed side by side


def test_a_reply_is_given_when_its_row_ends(folder):
    """It does not wait for the end of the whole batch."""
    local, passes = LocalModel(folder), []
    local.threads = 1
    local.model.register_forward_hook(lambda *_: passes.append(1))
    requests = [Generate(prompt, None, tokens) for prompt, tokens in zip(prompts(3), (9, 2, 30))]
    replies = local.answer(requests)
    assert not passes
    given = [(index, len(passes)) for index, reply in replies]
    lengths = [reply["tokens"] for reply in read(local, requests)]
    assert given == sorted(enumerate(lengths), key=lambda pair: pair[1])
    assert lengths[0] <= 9 and lengths[1] <= 2 and len(set(lengths)) > 1


def test_threads_that_compute_a_longer_position_bias_at_once_each_get_theirs():
    lengths, interval = range(1, 9), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(len(lengths)) as pool:
            for _ in range(300):
                together = Barrier(len(lengths))

                def compute(queries, keys, together=together):
                    together.wait()
                    return torch.zeros(1, 1, queries, keys)

                attention = SimpleNamespace(n_heads=1, compute_bias=compute)
                keep_bias(attention)
                biases = pool.map(lambda n, a=attention: a.compute_bias(n, n), lengths)
                assert [bias.shape[-1] for bias in biases] == list(lengths)
    finally:
        sys.setswitchinterval(interval)


def test_a_position_bias_is_that_of_transformers():
    config = AutoConfig.for_model("t5", num_heads=3)
    attention = T5Attention(config, has_relative_attention_bias=True).requires_grad_(False)
    expected = {n: attention.compute_bias(n, n) for n in (1, 2, 300, 40)}
    keep_bias(attention)
    for n, bias in expected.items():
        assert torch.equal(attention.compute_bias(n, n), bias)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_other_dtypes(folder, dtype):
    local = LocalModel(folder, dtype=dtype)
    replies = read(local, [Generate(prompt, SENTENCE, 10) for prompt in prompts(8)])
    assert local.model.dtype == getattr(torch, dtype)
    assert all(1 <= reply["tokens"] <= 10 for reply in replies)


OVERFLOWING = {"llama": "mlp.down_proj", "gpt2": "mlp.c_proj.weight", "t5": "decoder.final_layer"}


@pytest.mark.parametrize("kind", OVERFLOWING)
def test_numbers_too_large_for_the_dtype_are_no_reply(folders, kind):
    small, large = LocalModel(folders[kind]), LocalModel(folders[kind], dtype="float16")
    for local in (small, large):
        for name, weight in local.model.named_parameters():
            if OVERFLOWING[kind] in name:
                weight.data = weight.sign() * 60_000
    vars(small.model).pop("forward", None)  # ours has joined copies of the weights
    for request in (Generate(prompts()[0], None, 5), Sample(prompts()[1], 3, 1.0, None, 5)):
        assert isinstance(ask_one(small, request), str)
        error = ask_one(large, request)
        assert isinstance(error, UserError)
        assert re.search(r"too large for float16 after a prompt of \d+ tokens.*float32", str(error))


@pytest.mark.parametrize("make", [Generate, partial(Sample, n=2, temperature=1.0)])
def test_a_prompt_whose_numbers_are_too_large_costs_only_itself(folders, make):
    local = LocalModel(folders["gpt2"], dtype="float16")
    local.model.transformer.wpe.weight.data[25:] = 65_504  # what long prompts and texts reach
    local.model.transformer.wte.weight.data += 20
    requests = [make(prompt="ka " * words, stop=None, max_tokens=5) for words in (3, 60, 9)]
    requests.append(make(prompt="ka " * 24, stop=None, max_tokens=60))  # only while it is written
    short, long, other, later = ask(local, requests)
    assert isinstance(long, UserError) and isinstance(later, UserError)
    assert "NaN" not in short + other and json.loads(short)["tokens"] >= 5


def test_batches_are_the_shortest_prompts_that_fit(folders):
    local = LocalModel(folders["t5"], batch_tokens=40, batch_rows=3)
    local.threads = 1
    lengths = [9, 4, 50, 4, 11, 4]
    requests = [Generate(" ".join(["ka"] * (length - 1))) for length in lengths]
    # the end, a special token, is not counted
    assert [local.count_tokens(request.prompt) + 1 for request in requests] == lengths
    assert local.take(requests) == [1, 3, 5]  # three rows
    assert local.take(requests[:3] + requests[4:5]) == [1, 0, 3]  # 3 x 11 tokens
    assert local.take(requests[2:3]) == [0]  # longer than a batch: alone
    request = Generate(" ".join(["ka"] * 1200), None, 2)  # a T5 has no limit
    assert read(local, [request])[0]["prompt_tokens"] == 1201
    with pytest.raises(TypeError, match="Retrieve"):
        ask(local, [Retrieve("ka", 3)])


def test_each_core_answers_a_batch_of_a_small_model(folders):
    local = LocalModel(folders["t5"], batch_rows=3)
    assert local.threads == count_cores()
    requests = [Generate(" ".join(["ka"] * length)) for length in (3, 1, 4, 1, 5, 9, 2)]
    local.threads = 2
    assert local.take(requests) == [1, 3, 6, 0, 2, 4]
    assert local.take(requests[:3]) == [1, 0, 2]  # a batch of two, one of one
    together = ask(local, requests)
    local.threads = 1
    assert ask(local, requests) == together


def test_work_side_by_side_is_yielded_as_it_comes_and_fails_as_it_would_alone():
    gate = Event()

    def first():
        yield "a"
        gate.wait(10)
        yield "c"

    def second():
        yield "b"
        gate.set()

    items = list(side_by_side([first(), second()], 2))
    assert sorted(items) == ["a", "b", "c"] and items[-1] == "c"
    broken = map({0: "d"}.__getitem__, itertools.count())
    with pytest.raises(KeyError, match="1"):
        list(side_by_side([broken, itertools.count()], 2))
    endless = side_by_side([itertools.count(), itertools.count()], 2)
    assert next(endless) == 0
    endless.close()  # ends the threads; otherwise this test would hang


def test_a_replayed_run_does_not_read_the_weights(folders, tmp_path):
    def three_thoughts(prompt):
        thought = yield Generate(prompt, SENTENCE, 10)
        samples = yield Sample(prompt, 2, 1.0, SENTENCE, 10)
        return thought, samples, (yield Generate(f"{prompt} {thought}", SENTENCE, 10))

    def play(local):
        programs = {prompt: three_thoughts(prompt) for prompt in prompts()}
        with Calls(tmp_path / "calls.sqlite") as calls:
            outcomes, counts = run(programs, [local], calls)
        return [outcome.result for outcome in outcomes.values()], counts

    first, second = (LocalModel(folders["t5"], batch_rows=8) for _ in range(2))
    (results, counts), (again, recounts) = play(first), play(second)
    assert again == results and len(results[0][1]) == 2
    for kind, computed in (("Generate", 32), ("Sample", 16)):
        assert counts[kind]["computed"] == computed and recounts[kind]["computed"] == 0
        assert recounts[kind]["tokens"] == counts[kind]["tokens"] > 0
    assert "model" in vars(first) and "model" not in vars(second)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_prompt_longer_than_a_causal_model_can_read_costs_only_itself(folders, kind):
    local = LocalModel(folders[kind], batch_rows=1)
    prompt = " ".join(["ka"] * 60)
    room = LIMIT - len(local.tokenizer(prompt).input_ids)
    fits, too_long = Generate(prompt, None, room), Generate(prompt, None, room + 1)
    replies = ask(local, [too_long, fits, too_long, Generate("ka", None, 3)])
    assert [type(reply) for reply in replies] == [UserError, str, UserError, str]
    assert replies[1::2] == ask(local, [fits, Generate("ka", None, 3)])
    assert f"at most {LIMIT - room - 1} tokens" in str(replies[0])


NONSENSE = {
    "stop 'word'": Generate("ka", "word", 5),
    "stop ('.', '')": Generate("ka", (".", ""), 5),
    "max_tokens 0": Generate("ka", None, 0),
    "a prompt without a token": Generate("", None, 5),
    "no chat template": Generate((Message("user", "ka"),)),
    "n -3": Sample("ka", -3),
} | {f"temperature {t}": Sample("ka", 1, t) for t in (0.0, -1.0, inf, nan)}


@pytest.mark.parametrize("named", NONSENSE)
def test_requests_that_make_no_sense_cost_only_themselves(folders, named):
    local, request = LocalModel(folders["gpt2"]), NONSENSE[named]
    other = Sample("ka", 2, 1.0, None, 5) if isinstance(request, Sample) else Generate("ka")
    assert sorted(local.take([request, other])) == [0, 1]
    fault, reply = ask(local, [request, replace(other, max_tokens=5)])
    assert isinstance(fault, ValueError) and named in str(fault) and "\n" not in str(fault)
    assert json.loads(reply)["tokens"] <= 10
