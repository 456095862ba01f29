"""The causal model: its prompts, attention and losses, and the text that it writes."""

import random

import pytest

torch = pytest.importorskip("torch")

from ircot_laboratory.questions.questions import DATASETS
from ircot_laboratory.world.encyclopedia import make_world
from ircotlib.prompting.prompt import GPT3
from training.causal import weights_at
from training.loop import Training
from training.t5.causal_encode import encode_causal
from training.t5.causal_model import make_causal_model
from training.t5.draw_examples import (
    CONCLUDED,
    Plan,
    draw_conclusion,
    draw_prompt_example,
)
from training.t5.evaluate import writer
from training.t5.learn import learn_t5, make_parts
from training.t5.model import make_tokenizer
from training.words import order_numbers

TOKENIZER = make_tokenizer()
PROMPTS = [
    "Q: Who?\nA:",
    "Q: Who directed Silent Harbor?\nA: Silent Harbor was directed by",
    "Q: Who is the director of Silent Harbor?\nA:",
]


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def few():
    """Short chains and conclusions as in GPT-3's prompts, some with a demonstration."""
    rng, drawn, worlds = random.Random(1), [], {}
    for dataset in DATASETS:
        world = make_world(1_000_004, 300, dataset, held_out=False)
        worlds[dataset] = world
        plans = [Plan(3, n == 0, style=GPT3) for n in range(4)]
        drawn += [draw_prompt_example(world, dataset, rng, plan) for plan in plans]
    for dataset in CONCLUDED:
        world = worlds[dataset]
        drawn += [draw_conclusion(world, rng, dataset, GPT3) for _ in range(4)]
    whole = [example for example in drawn if example.target]
    by_length = sorted(whole, key=lambda example: len(example.prompt))
    return encode_causal(by_length[:16:2], TOKENIZER)


def start() -> Training:
    model = make_causal_model(len(TOKENIZER), 0)
    order_numbers(model, TOKENIZER)
    return Training(*make_parts(model, 3e-3))


def attend_and_learn(implementation: str, batch):
    """The last states, all layers' weights at the sources, and the gradients."""
    model = start().model.gpt_neox
    row, at, source = batch["sources"].T
    model.set_attn_implementation(implementation)
    is_usual = implementation == "eager"
    out = model(batch["input_ids"], output_attentions=is_usual, use_cache=False)
    if is_usual:
        weights = [layer[row, 1, at, source] for layer in out.attentions]
    else:
        heads = [layer.attention for layer in model.layers]
        weights = [weights_at(attention, 1, row, at, source) for attention in heads]
    states = out.last_hidden_state[row, at]
    looking = sum((weight + 1e-6).log().mean() for weight in weights)
    (states.square().sum() - looking).backward()
    return states, weights, {name: w.grad for name, w in model.named_parameters()}


def test_attention_for_training_is_the_usual_one(few):
    found, expected = (attend_and_learn(name, few) for name in ("remembering", "eager"))
    torch.testing.assert_close(found[0], expected[0], atol=1e-4, rtol=1e-3)
    for weights, usual in zip(found[1], expected[1], strict=True):
        torch.testing.assert_close(weights, usual, atol=1e-5, rtol=1e-3)
    for name, gradient in expected[2].items():
        difference = (found[2][name] - gradient).norm()
        assert difference < 1e-3 * gradient.norm() + 1e-4, name


def test_learning_lowers_every_loss_and_texts_do_not_depend_on_their_batch(few):
    training = start()
    parts = [learn_t5(training, few, 3e-3) for _ in range(5)]
    assert set(parts[0]) == {"writing", "looking", "stated", "decided", "comparing"}
    assert all(parts[-1][name] < parts[0][name] for name in parts[0])
    tokenizer = make_tokenizer(ends=False)
    write = writer(training.model, tokenizer, longest=12)
    alone = [write([prompt])[0] for prompt in PROMPTS]
    assert write(PROMPTS) == alone
    assert len(set(alone)) > 1 and all(alone)
