"""Samples of shipped models have the model's distribution, whatever the batch."""

import json
import random

import pytest
from asking import ask, ask_one
from page_prompts import draw_prompts
from tiny import note_shapes

from ircotlib.files.paths import MODELS
from ircotlib.generation.local import LocalModel
from ircotlib.program import LINE, SENTENCE, Generate, Sample, key

STOPS = [SENTENCE, LINE, ("was", "Q:"), None]


@pytest.fixture(scope="module", params=["mini-base", "mini-causal"])
def local(request):
    model = LocalModel(MODELS / request.param)
    model.threads = 1  # makes batches equally large on every machine
    return model


@pytest.fixture(scope="module")
def prompts(local):
    return draw_prompts(local)


def check_same(local, replies, expected):
    """Check that texts are equal, and log-probabilities too, up to rounding."""
    for reply, other in zip(replies, expected, strict=True):
        (texts, logs), (others, other_logs) = (zip(*local.decode(each)) for each in (reply, other))
        assert texts == others and logs == pytest.approx(other_logs, rel=1e-4, abs=1e-5)


def test_the_batch_changes_nothing(local, prompts):
    requests = [
        Sample(prompt, 1 + at % 4, (0.5, 1.0, 2.0)[at % 3], STOPS[at % 4], 5 + at)
        for at, prompt in enumerate(prompts)
    ]
    alone = [ask_one(local, request) for request in requests]
    check_same(local, ask(local, requests), alone)
    order = random.Random(5).sample(range(len(requests)), len(requests))
    shuffled = ask(local, [requests[at] for at in order])
    check_same(local, shuffled, [alone[at] for at in order])
    small = LocalModel(local.folder, batch_tokens=2_000, batch_rows=5)
    check_same(small, ask(small, requests), alone)
    assert len({sample.text for reply in alone for sample in local.decode(reply)}) > 10


def test_a_low_temperature_gives_the_most_probable_text(local, prompts):
    greedy = ask(local, [Generate(prompt, SENTENCE, 30) for prompt in prompts])
    for temperature in (1e-3, 1e-300, 5e-324):
        drawn = ask(local, [Sample(prompt, 2, temperature, SENTENCE, 30) for prompt in prompts])
        for reply, text in zip(drawn, greedy, strict=True):
            assert [sample.text for sample in local.decode(reply)] == [local.decode(text)] * 2
            assert json.loads(reply)["tokens"] == 2 * json.loads(text)["tokens"]


def test_an_encoder_reads_a_prompt_once_and_no_row_is_computed_after_its_end(prompts):
    """For causal models, test_causal.py has the same of the rows of the cache."""
    local, passes = LocalModel(MODELS / "mini-base"), []
    local.threads, shapes = 1, note_shapes(local.model.get_encoder())
    local.model.register_forward_hook(lambda module, _, out: passes.append(len(out.logits)))
    requests = [Sample(prompts[0], 5, 1.0, SENTENCE, 30), Sample(prompts[1], 3, 1.0, SENTENCE, 30)]
    replies = [json.loads(reply) for reply in ask(local, requests)]
    lengths = [reply["prompt_tokens"] for reply in replies]
    assert lengths == [len(local.tokens.encode(prompt)) for prompt in prompts[:2]]
    assert shapes == [(2, max(lengths))] and passes[0] == 2 and passes[1] <= 8
    # after the first token of each, a row for each sample that goes on
    assert sum(passes[1:]) == sum(reply["tokens"] for reply in replies) - 8


def test_a_prompt_counts_in_a_batch_as_often_as_it_is_continued(local):
    requests = [Sample("Q: Who?", n) for n in (3, 4, 2, 30, 1)]
    length = len(local.tokens.encode("Q: Who?"))
    rows, tokens = {"batch_rows": 9}, {"batch_tokens": 7 * length}
    for sizes, first, taken in ((rows, 0, [0, 1, 2]), (tokens, 0, [0, 1]), (rows, 3, [0])):
        model = LocalModel(local.folder, **sizes)
        model.threads = 1
        assert model.take(requests[first:]) == taken


def test_samples_of_other_requests_are_others(local, prompts):
    """Every field of a request counts, and so does a sample's number."""
    request = Sample(prompts[7], 4, 2.0, None, 10)
    fields = (5, 2.0, None, 10), (4, 2.01, None, 10), (4, 2.0, LINE, 10), (4, 2.0, None, 11)
    requests = [request, *(Sample(prompts[7], *values) for values in fields)]
    assert len({key(each, "") for each in requests}) == 5
    samples = [sample for reply in ask(local, requests) for sample in local.decode(reply)[:4]]
    assert len(samples) == 20 and len({sample.text for sample in samples}) > 14
