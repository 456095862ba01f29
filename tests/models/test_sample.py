"""Samples of shipped models have the model's distribution, whatever the batch."""

import random
from collections import Counter

import pytest
import torch
from asking import ask, ask_one
from scipy.stats import chisquare

from ircot_laboratory.world.encyclopedia import make_world
from ircotlib.files import MODELS
from ircotlib.models.decode import Draws, decode
from ircotlib.models.local import LocalModel
from ircotlib.program import LINE, SENTENCE, Sample
from ircotlib.prompting.prompt import FLAN_T5, GPT3
from training.t5.evaluate import draw_reading_test

STOPS = [SENTENCE, LINE, ("was", "Q:"), None]


@pytest.fixture(scope="module", params=["mini-base", "mini-causal"])
def local(request):
    return LocalModel(MODELS / request.param)


@pytest.fixture(scope="module")
def prompts(local):
    """Eight prompts about a laboratory, of different lengths."""
    style = FLAN_T5 if local.is_encoder_decoder else GPT3
    world = make_world(11, 300, "hotpotqa")
    tests = [draw_reading_test(world, "hotpotqa", n, 4, n, style) for n in (0, 1)]
    return [example.prompt for drawn in tests for _, example in drawn]


def check_same(local, replies, expected):
    """Check that texts are equal, and log-probabilities too, up to rounding."""
    for reply, other in zip(replies, expected, strict=True):
        texts, logs = zip(*local.decode(reply))
        other_texts, other_logs = zip(*local.decode(other))
        assert texts == other_texts
        assert logs == pytest.approx(other_logs, rel=1e-4, abs=1e-5)


def test_the_batch_changes_nothing(local, prompts):
    requests = [
        Sample(prompt, 1 + at % 4, (0.5, 1.0, 2.0)[at % 3], STOPS[at % 4], 5 + at)
        for at, prompt in enumerate(prompts)
    ]
    alone = [ask_one(local, request) for request in requests]
    check_same(local, ask(local, requests), alone)
    order = random.Random(5).sample(range(len(requests)), len(requests))
    small = LocalModel(local.folder, batch_tokens=2_000, batch_rows=5)
    shuffled = [requests[at] for at in order]
    check_same(small, ask(small, shuffled), [alone[at] for at in order])
    assert len({sample.text for reply in alone for sample in local.decode(reply)}) > 10


def logits_of(local, prompt, written):
    """transformers' logits before each written token, and after all: tokens x words."""
    ids = torch.tensor([local.tokens.encode(prompt)])
    after = torch.tensor([written]).long()
    with torch.inference_mode():
        if local.is_encoder_decoder:
            after = torch.cat([torch.zeros(1, 1, dtype=torch.long), after], 1)
            mask = torch.ones_like(ids)
            return local.model(ids, mask, decoder_input_ids=after).logits[0]
        return local.model(torch.cat([ids, after], 1)).logits[0, ids.shape[1] - 1 :]


def test_draws_have_the_distribution_of_the_model(local):
    """The first words of 2000 samples, against softmax(logits / temperature)."""
    logits = logits_of(local, "A:", [])[-1].double()
    for temperature in (0.5, 2.0):
        reply = ask_one(local, Sample("A:", 2000, temperature, None, 1))
        drawn = Counter(sample.text for sample in local.decode(reply))

        def p_value(temperature, drawn=drawn):
            expected = Counter()
            for token, share in enumerate((logits / temperature).softmax(-1).tolist()):
                expected[local.tokens.decode([token]).strip()] += 2000 * share
            common = [text for text, number in expected.items() if number >= 5]
            counts = [
                [counter[text] for text in common] for counter in (drawn, expected)
            ]
            with_rare = ([*column, 2000 - sum(column)] for column in counts)
            return chisquare(*with_rare).pvalue

        assert len(drawn) > 3 and p_value(temperature) > 0.01
        assert p_value(temperature * 1.2) < 1e-4


def test_log_probabilities_are_those_of_a_plain_pass_over_the_text(local, prompts):
    request = Sample(prompts[5], 4, 1.5, None, 12)
    last = local.model.generation_config.eos_token_id

    def ends(row, tokens):
        return tokens[-1] == last or len(tokens) == 12

    ids = [local.tokens.encode(request.prompt)]
    written = dict(decode(local.model, ids, ends, Draws([request]), [0] * 4))
    for row, sample in enumerate(local.decode(ask_one(local, request))):
        logs = logits_of(local, request.prompt, written[row]).log_softmax(-1)
        mean = float(logs[:-1].gather(1, torch.tensor(written[row])[:, None]).mean())
        assert sample.log_probability == pytest.approx(mean, rel=1e-4)
        assert sample.text == local.tokens.decode(written[row]).strip()
