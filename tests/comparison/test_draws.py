"""Samples and their log-probabilities beside the logits of transformers."""

from collections import Counter

import pytest
import torch
from asking import ask_one
from page_prompts import draw_prompts
from scipy.stats import chisquare

from ircotlib.files.paths import MODELS
from ircotlib.generation.decode import decode
from ircotlib.generation.local import LocalModel
from ircotlib.generation.sampling import Draws
from ircotlib.program import Sample


@pytest.fixture(scope="module", params=["mini-base", "mini-causal"])
def local(request):
    model = LocalModel(MODELS / request.param)
    model.threads = 1  # makes batches equally large on every machine
    return model


@pytest.fixture(scope="module")
def prompts(local):
    return draw_prompts(local)


def logits_of(local, prompt, written):
    """The logits of transformers before each written token and after the last: tokens x words."""
    ids, after = torch.tensor([local.tokens.encode(prompt)]), torch.tensor([written]).long()
    with torch.inference_mode():
        if local.is_encoder_decoder:
            start = torch.zeros(1, 1, dtype=torch.long)
            return local.model(ids, decoder_input_ids=torch.cat([start, after], 1)).logits[0]
        return local.model(torch.cat([ids, after], 1)).logits[0, ids.shape[1] - 1 :]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_draws_have_the_distribution_of_the_model(local, temperature):
    """The first words of 4000 samples, against softmax(logits / temperature)."""
    prompt = "A:"
    samples = local.decode(ask_one(local, Sample(prompt, 4000, temperature, None, 1)))
    drawn = Counter(sample.text for sample in samples)

    def p_value(temperature):
        logits = logits_of(local, prompt, [])[-1].double()
        expected = Counter()
        for token, share in enumerate((logits / temperature).softmax(-1).tolist()):
            expected[local.tokens.decode([token]).strip()] += 4000 * share
        common = [text for text, number in expected.items() if number >= 5]
        counts = [drawn[text] for text in common], [expected[text] for text in common]
        with_rare = ([*column, 4000 - sum(column)] for column in counts)
        return chisquare(*with_rare).pvalue

    assert len(drawn) > 3 and p_value(temperature) > 0.01
    assert p_value(temperature * 1.2) < 1e-4


def test_log_probabilities_are_those_of_a_plain_pass_over_the_text(local, prompts):
    for request in [Sample(prompts[5], 4, 1.5, None, 12), Sample(prompts[1], 3, 0.6, None, 40)]:
        ids = [local.tokens.encode(request.prompt)]
        ends = local._ends([(request, ids[0])] * request.n)
        written = dict(decode(local.model, ids, ends, Draws([request]), [0] * request.n))
        samples = local.decode(ask_one(local, request))
        assert len(samples) == request.n
        for row, sample in enumerate(samples):
            tokens = torch.tensor(written[row])
            logs = logits_of(local, request.prompt, written[row]).log_softmax(-1)[: len(tokens)]
            mean = logs.gather(1, tokens[:, None]).mean()
            assert sample.log_probability == pytest.approx(float(mean), rel=1e-4)
            assert sample.text == local.tokens.decode(written[row]).strip()
