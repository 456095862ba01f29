"""The causal model: its prompts, its attention and losses, and the text that it writes."""

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
    draw_batch,
    draw_conclusion,
    draw_prompt_example,
)
from training.t5.evaluate import writer
from training.t5.learn import learn_t5, make_parts
from training.t5.model import make_tokenizer
from training.t5.recipe import T5Recipe
from training.words import order_numbers
from training.worlds import draw_worlds

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
def worlds():
    return {
        dataset: make_world(1_000_004, 300, dataset, held_out=False)
        for dataset in DATASETS
    }


@pytest.fixture(scope="module")
def few(worlds):
    """Short chains and conclusions, some with a demonstration, in the form of GPT-3's
    prompts.
    """
    rng, drawn = random.Random(1), []
    for dataset, world in worlds.items():
        plans = [Plan(3, n == 0, style=GPT3) for n in range(4)]
        drawn += [draw_prompt_example(world, dataset, rng, plan) for plan in plans]
    for dataset in CONCLUDED:
        drawn += [
            draw_conclusion(worlds[dataset], rng, dataset, GPT3) for _ in range(4)
        ]
    by_length = sorted(
        (e for e in drawn if e.target), key=lambda example: len(example.prompt)
    )
    return encode_causal(by_length[:16:2], TOKENIZER)


def start() -> Training:
    model = make_causal_model(len(TOKENIZER), 0)
    order_numbers(model, TOKENIZER)
    return Training(*make_parts(model, 3e-3))


def test_prompts_are_gpt3s_and_only_demonstrations_ask_for_a_direct_answer(worlds):
    rng, drawn = random.Random(0), {}
    for n in (0, 1):
        plan = Plan(2, n, style=GPT3)
        drawn[n] = [
            draw_prompt_example(worlds["musique"], "musique", rng, plan)
            for _ in range(20)
        ]
    none, direct = (
        [e for e in drawn[n] if e.target and e.target[-1] != "."] for n in (0, 1)
    )
    assert direct and not none
    assert not any("answer is" in example.prompt for example in direct)
    recipe = T5Recipe(1000, 0, 1e-3, causal=True)
    batches = [draw_batch(step, recipe, draw_worlds(0, 0)) for step in (0, 3)]
    for examples in (*drawn.values(), *batches):
        assert not any("Answer the following" in example.prompt for example in examples)


def attend_and_learn(implementation: str, batch):
    """The last states, the weights of all layers at the sources, and the gradients of
    both.
    """
    model, (row, at, source) = start().model, batch["sources"].T
    model.set_attn_implementation(implementation)
    is_usual = implementation == "eager"
    out = model.gpt_neox(
        batch["input_ids"], output_attentions=is_usual, use_cache=False
    )
    if is_usual:
        weights = [layer[row, 1, at, source] for layer in out.attentions]
    else:
        layers = model.gpt_neox.layers
        weights = [weights_at(layer.attention, 1, row, at, source) for layer in layers]
    states = out.last_hidden_state[row, at]
    looking = sum((weight + 1e-6).log().mean() for weight in weights)
    (states.square().sum() - looking).backward()
    return (
        states,
        weights,
        {name: w.grad for name, w in model.gpt_neox.named_parameters()},
    )


def test_attention_for_training_is_the_usual_one(few):
    found, expected = (attend_and_learn(name, few) for name in ("remembering", "eager"))
    torch.testing.assert_close(found[0], expected[0], atol=1e-4, rtol=1e-3)
    for weights, usual in zip(found[1], expected[1], strict=True):
        torch.testing.assert_close(weights, usual, atol=1e-5, rtol=1e-3)
    for name, gradient in found[2].items():
        assert (gradient - expected[2][name]).norm() < 1e-3 * expected[2][
            name
        ].norm() + 1e-4, name


def test_learning_lowers_every_part_of_the_loss_and_texts_do_not_depend_on_their_batch(
    few,
):
    training = start()
    parts = [learn_t5(training, few, 3e-3) for _ in range(5)]
    assert set(parts[0]) == {"writing", "looking", "stated", "decided", "comparing"}
    assert all(parts[-1][name] < parts[0][name] for name in parts[0])
    tokenizer = make_tokenizer(ends=False)
    write = writer(training.model, tokenizer, longest=12)
    alone = [write([prompt])[0] for prompt in PROMPTS]
    assert write(PROMPTS) == alone
    assert len(set(alone)) > 1 and all(alone)
