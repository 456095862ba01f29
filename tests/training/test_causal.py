"""The causal model: its initialisation, its batches, its attention and losses, and the text that it
writes.
"""

import random

import pytest

torch = pytest.importorskip("torch")

from ircot_laboratory.questions.questions import DATASETS
from ircot_laboratory.world.encyclopedia import make_world
from ircot_laboratory.world.relations import RELATION_NAMES
from ircotlib.prompting.prompt import GPT3
from training.causal import weights_at
from training.loop import Training
from training.t5 import causal_model
from training.t5.causal_encode import encode_causal
from training.t5.causal_model import make_causal_model
from training.t5.draws import CONCLUDED, Plan, draw_batch, draw_conclusion, draw_prompt_example
from training.t5.evaluate import writer
from training.t5.learn import learn_t5, make_parts
from training.t5.model import make_tokenizer
from training.t5.recipe import T5Recipe
from training.tables import EARLIER, LATER
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
    return {dataset: make_world(1_000_004, 300, dataset, held_out=False) for dataset in DATASETS}


@pytest.fixture(scope="module")
def examples(worlds):
    """Chains and conclusions of all data sets, some with a demonstration, in the form of GPT-3's
    prompts.
    """
    rng, drawn = random.Random(1), []
    for dataset, world in worlds.items():
        plans = [Plan(3, n == 0, style=GPT3) for n in range(4)]
        drawn += [draw_prompt_example(world, dataset, rng, plan) for plan in plans]
    for dataset in CONCLUDED:
        drawn += [draw_conclusion(worlds[dataset], rng, dataset, GPT3) for _ in range(4)]
    return [example for example in drawn if example.target]


@pytest.fixture(scope="module")
def batch(examples):
    return encode_causal(examples, TOKENIZER)


@pytest.fixture(scope="module")
def few(examples):
    """The short examples."""
    by_length = sorted(examples, key=lambda example: len(example.prompt))
    return encode_causal(by_length[:16:2], TOKENIZER)


def start() -> Training:
    model = make_causal_model(len(TOKENIZER), 0)
    order_numbers(model, TOKENIZER)
    return Training(*make_parts(model, 3e-3))


def value_of(world, first: int, last: int, relation: int) -> list[int]:
    """The tokens of the value of a fact, given as in the tables."""
    subject = TOKENIZER.decode([first, last])
    value = world.value(subject, RELATION_NAMES[relation])
    return TOKENIZER(value)["input_ids"][:-1]


# How it begins


def attend(ids: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The attention weights of an untrained model, by layer."""
    model = make_causal_model(len(TOKENIZER), 0)
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        return [weights[0] for weights in model(ids[None], output_attentions=True).attentions]


def test_heads_begin_with_the_words_before_and_with_words_that_are_the_same():
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(3, len(TOKENIZER), (600,), generator=generator)
    for number, weights in enumerate(attend(ids)):
        # heads x words back
        back = torch.stack([weights.diagonal(-n, 1, 2)[:, 20:].mean(1) for n in range(1, 9)], 1)
        if number < causal_model.NEAR:
            assert back.argmax(1).tolist() == [0, 1, 2, 3] and back.max(1).values.min() > 0.2
        else:
            assert back.max() < 0.1
    ids = torch.randperm(len(TOKENIZER) - 3, generator=generator)[:200] + 3
    repeated = attend(torch.cat([ids, ids]))[causal_model.NEAR][:, 200:, :200]
    assert (repeated.diagonal(0, 1, 2).mean(1) > 20 * repeated.mean((1, 2))).all()


# What a batch says


def test_what_is_written_is_the_target_after_its_prompt(examples, batch):
    for row, example in enumerate(examples):
        written = [(at, token) for r, at, token in batch["written"].tolist() if r == row]
        first, last = written[0][0], written[-1][0]
        assert [at for at, _ in written] == list(range(first, last + 1))
        target = TOKENIZER(example.target[example.silent :])["input_ids"]
        assert [token for _, token in written] == target[: last - first + 1]
        assert (written[-1][1] == TOKENIZER.eos_token_id) == example.complete
        ids = batch["input_ids"][row].tolist()
        prompt = TOKENIZER(example.prompt)["input_ids"][:-1]
        assert ids[: len(prompt)] == prompt and TOKENIZER.eos_token_id not in ids
        continued = [pair for pair in written if pair[1] != TOKENIZER.eos_token_id]
        assert all(ids[at + 1] == token for at, token in continued)
        assert not any(ids[last + 1 if example.complete else last + 2 :])
    assert batch["input_ids"].shape[1] % 32 == 0


def test_a_copied_word_stands_at_its_source_or_in_the_sentence_that_ends_there(batch):
    ids, after = batch["input_ids"].tolist(), 0
    for row, at, source in batch["sources"].tolist():
        seen, copy = TOKENIZER.convert_ids_to_tokens([ids[row][source], ids[row][at + 1]])
        assert source <= at
        if seen == ".":
            assert ids[row][at + 1] in ids[row][max(0, source - 20) : source]
            after += 1
        else:
            # a number of years is read off the later year
            assert seen == copy or (seen.startswith("##") and copy.isdigit())
    assert 0 < after < len(batch["sources"]) / 4


def test_facts_are_stated_where_their_values_have_been_read_and_decided_before_them(worlds, batch):
    world, ids, ends = worlds["hotpotqa"], batch["input_ids"].tolist(), 0
    for row, at, *fact, value in batch["stated"].tolist():
        assert value in value_of(world, *fact)
        if ids[row][at] != value:
            assert TOKENIZER.decode([ids[row][at]]) == "."
            assert value in ids[row][max(0, at - 20) : at - 2]
            ends += 1
    assert 0.2 < ends / len(batch["stated"]) < 0.5
    for row, at, *fact in batch["decided"].tolist():
        assert ids[row][at + 1] == value_of(world, *fact)[0]


def test_compared_years_look_back(batch):
    ids, outcomes = batch["input_ids"].tolist(), set()
    for row, at, other, outcome in batch["compared"].tolist():
        assert other < at
        if outcome in (EARLIER, LATER):
            years = [int(TOKENIZER.decode(ids[row][end - 1 : end + 1])) for end in (at, other)]
            assert outcome == (EARLIER if years[0] < years[1] else LATER)
            outcomes.add(outcome)
    assert outcomes == {EARLIER, LATER}


def test_prompts_are_gpt3s_and_only_demonstrations_ask_for_a_direct_answer(worlds):
    rng, drawn = random.Random(0), {}
    for n in (0, 1):
        plan = Plan(2, n, style=GPT3)
        drawn[n] = [draw_prompt_example(worlds["musique"], "musique", rng, plan) for _ in range(40)]
    direct = {
        n: [example for example in of_n if example.target and not example.target.endswith(".")]
        for n, of_n in drawn.items()
    }
    assert not direct[0] and direct[1]
    assert not any("answer is" in example.prompt for example in direct[1])
    recipe = T5Recipe(1000, 0, 1e-3, causal=True)
    batches = [draw_batch(step, recipe, draw_worlds(0, 0)) for step in (0, 3)]
    for examples in (*drawn.values(), *batches):
        assert not any("Answer the following" in example.prompt for example in examples)


# Attention and losses


def attend_and_learn(implementation: str, batch):
    """The last states, the weights of all layers at the sources, and the gradients of both."""
    model, (row, at, source) = start().model, batch["sources"].T
    model.set_attn_implementation(implementation)
    is_usual = implementation == "eager"
    out = model.gpt_neox(batch["input_ids"], output_attentions=is_usual, use_cache=False)
    if is_usual:
        weights = [layer[row, 1, at, source] for layer in out.attentions]
    else:
        layers = model.gpt_neox.layers
        weights = [weights_at(layer.attention, 1, row, at, source) for layer in layers]
    states = out.last_hidden_state[row, at]
    looking = sum((weight + 1e-6).log().mean() for weight in weights)
    (states.square().sum() - looking).backward()
    return states, weights, {name: w.grad for name, w in model.gpt_neox.named_parameters()}


def test_attention_for_training_is_the_usual_one(few):
    found, expected = (attend_and_learn(name, few) for name in ("remembering", "eager"))
    torch.testing.assert_close(found[0], expected[0], atol=1e-4, rtol=1e-3)
    for weights, usual in zip(found[1], expected[1], strict=True):
        torch.testing.assert_close(weights, usual, atol=1e-5, rtol=1e-3)
    for name, gradient in found[2].items():
        assert (gradient - expected[2][name]).norm() < 1e-3 * expected[2][name].norm() + 1e-4, name


def test_what_comes_later_and_padding_change_nothing(few):
    model, (row, at, _) = start().model, few["written"].T
    longer = torch.cat([few["input_ids"], torch.randint(3, 99, (len(few["input_ids"]), 32))], 1)
    runs = [model.gpt_neox(ids, use_cache=False) for ids in (few["input_ids"], longer)]
    found, expected = (run.last_hidden_state[row, at] for run in runs)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-3)


def test_learning_lowers_every_part_of_the_loss_and_texts_do_not_depend_on_their_batch(few):
    training = start()
    parts = [learn_t5(training, few, 3e-3) for _ in range(8)]
    assert set(parts[0]) == {"writing", "looking", "stated", "decided", "comparing"}
    assert all(parts[-1][name] < 0.9 * parts[0][name] for name in parts[0])
    tokenizer = make_tokenizer(ends=False)
    write = writer(training.model, tokenizer, longest=30)
    alone = [write([prompt])[0] for prompt in PROMPTS]
    assert write(PROMPTS) == alone
    assert writer(training.model, tokenizer, rows=2, longest=30)(PROMPTS) == alone
    assert len(set(alone)) > 1 and all(alone)
