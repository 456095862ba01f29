"""The miniature causal model: its initialisation, its batches, its attention and losses, and the
text that it writes.
"""

import random

import pytest

torch = pytest.importorskip("torch")

from ircot_laboratory.questions.questions import DATASETS
from ircot_laboratory.world.encyclopedia import make_world
from ircot_laboratory.world.relations import RELATION_NAMES
from ircotlib.prompting.prompt import GPT3
from training.t5 import causal
from training.t5.causal import make_causal_model, weights_at
from training.t5.causal_encode import encode_causal
from training.t5.causal_teach import CausalTeacher
from training.t5.draws import CONCLUDED, Plan, draw_conclusion, draw_example
from training.t5.evaluate import writer
from training.t5.learn import Training, learn, make_optimizers
from training.t5.model import make_tokenizer, order_numbers
from training.t5.places import EARLIER, LATER
from training.t5.recipe import Recipe, draw_batch, draw_worlds

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
        drawn += [draw_example(world, dataset, rng, Plan(3, n == 0, style=GPT3)) for n in range(4)]
    drawn += [
        draw_conclusion(worlds[dataset], rng, dataset, GPT3)
        for dataset in CONCLUDED
        for _ in range(4)
    ]
    return [example for example in drawn if example.target]


@pytest.fixture(scope="module")
def batch(examples):
    return encode_causal(examples, TOKENIZER)


@pytest.fixture(scope="module")
def few(examples):
    """The short examples."""
    return encode_causal(
        sorted(examples, key=lambda example: len(example.prompt))[:16:2], TOKENIZER
    )


def start(seed: int = 0) -> Training:
    model = make_causal_model(len(TOKENIZER), seed)
    order_numbers(model, TOKENIZER)
    teacher = CausalTeacher(model.config.hidden_size)
    return Training(model, teacher, make_optimizers(model, teacher, 3e-3))


def words(ids: list[int]) -> str:
    return TOKENIZER.decode(ids)


# How it begins


def test_the_first_heads_begin_with_the_words_before():
    model = make_causal_model(len(TOKENIZER), 0)
    model.set_attn_implementation("eager")
    ids = torch.randint(3, len(TOKENIZER), (1, 600), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        layers = model(ids, output_attentions=True).attentions
    for number, weights in enumerate(layers):
        # heads x words back
        back = torch.stack([weights[0].diagonal(-n, 1, 2)[:, 20:].mean(1) for n in range(1, 9)], 1)
        if number < causal.NEAR:
            assert back.argmax(1).tolist() == [0, 1, 2, 3] and back.max(1).values.min() > 0.2
        else:
            assert back.max() < 0.1


def test_heads_begin_with_words_that_are_the_same():
    model = make_causal_model(len(TOKENIZER), 0)
    model.set_attn_implementation("eager")
    ids = torch.randperm(len(TOKENIZER) - 3, generator=torch.Generator().manual_seed(0))[:200] + 3
    with torch.inference_mode():
        weights = model(torch.cat([ids, ids])[None], output_attentions=True).attentions[
            causal.NEAR
        ][0]
    seen = weights[:, 200:, :200].diagonal(0, 1, 2).mean(1)
    assert (seen > 20 * weights[:, 200:, :200].mean((1, 2))).all()


# What a batch says


def test_what_is_written_is_the_target_after_its_prompt(examples, batch):
    for row, example in enumerate(examples):
        of_row = [(at, token) for r, at, token in batch["written"].tolist() if r == row]
        first, last = of_row[0][0], of_row[-1][0]
        assert [at for at, _ in of_row] == list(range(first, last + 1))
        assert words([token for _, token in of_row]) == TOKENIZER.decode(
            TOKENIZER(example.target[example.silent :])["input_ids"][: last - first + 1]
        )
        assert (of_row[-1][1] == TOKENIZER.eos_token_id) == example.complete
        ids = batch["input_ids"][row].tolist()
        prompt = TOKENIZER(example.prompt)["input_ids"][:-1]
        assert ids[: len(prompt)] == prompt and TOKENIZER.eos_token_id not in ids
        assert all(ids[at + 1] == token for at, token in of_row if token != TOKENIZER.eos_token_id)
        assert not any(ids[last + 1 if example.complete else last + 2 :])
    assert batch["input_ids"].shape[1] % 32 == 0


def test_a_copied_word_stands_at_its_source_or_in_the_sentence_that_ends_there(batch):
    ids, after = batch["input_ids"].tolist(), 0
    for row, at, source in batch["sources"].tolist():
        assert source <= at
        seen, copy = (
            TOKENIZER.convert_ids_to_tokens(token) for token in (ids[row][source], ids[row][at + 1])
        )
        if seen == ".":
            assert ids[row][at + 1] in ids[row][max(0, source - 20) : source]
            after += 1
        else:
            # a number of years is read off the later year
            assert seen == copy or (seen.startswith("##") and copy.isdigit())
    assert 0 < after < len(batch["sources"]) / 4


def test_each_fact_is_stated_where_value_and_relation_have_been_read(worlds, batch):
    entities, ids, ends = worlds["hotpotqa"].entities, batch["input_ids"].tolist(), 0
    for row, at, first, last, relation, value in batch["stated"].tolist():
        subject = next(
            e
            for name, e in entities.items()
            if name.split()[0] == words([first]) and name.split()[-1] == words([last])
        )
        told = TOKENIZER(subject.facts[RELATION_NAMES[relation]])["input_ids"][:-1]
        assert value in told
        if ids[row][at] != value:
            assert words([ids[row][at]]) == "." and value in ids[row][max(0, at - 20) : at - 2]
            ends += 1
    assert 0.2 < ends / len(batch["stated"]) < 0.5


def test_what_is_decided_is_written_next(worlds, batch):
    entities, ids = worlds["hotpotqa"].entities, batch["input_ids"].tolist()
    for row, at, first, last, relation in batch["decided"].tolist():
        subject = next(
            e
            for name, e in entities.items()
            if name.split()[0] == words([first]) and name.split()[-1] == words([last])
        )
        assert (
            ids[row][at + 1] == TOKENIZER(subject.facts[RELATION_NAMES[relation]])["input_ids"][0]
        )


def test_compared_years_look_back(batch):
    ids, outcomes = batch["input_ids"].tolist(), set()
    for row, at, other, outcome in batch["compared"].tolist():
        assert other < at
        if outcome in (EARLIER, LATER):
            year, other_year = (
                int(words(ids[row][place - 1 : place + 1])) for place in (at, other)
            )
            assert outcome == (EARLIER if year < other_year else LATER)
            outcomes.add(outcome)
    assert outcomes == {EARLIER, LATER}


def test_prompts_are_gpt3s_and_only_demonstrations_ask_for_a_direct_answer(worlds):
    rng = random.Random(0)
    drawn = {
        n: [
            draw_example(worlds["musique"], "musique", rng, Plan(2, n, style=GPT3))
            for _ in range(40)
        ]
        for n in (0, 1)
    }
    assert not any(
        "Answer the following" in example.prompt
        for examples in drawn.values()
        for example in examples
    )
    direct = {
        n: [e for e in examples if e.target and not e.target.endswith(".")]
        for n, examples in drawn.items()
    }
    assert (
        not direct[0]
        and direct[1]
        and not any("answer is" in example.prompt for example in direct[1])
    )
    recipe = Recipe(1000, 0, 1e-3, causal=True)
    batches = [draw_batch(step, recipe, draw_worlds(0, 0)) for step in (0, 3)]
    assert not any(
        "Answer the following" in example.prompt for examples in batches for example in examples
    )


# Attention and losses


def states_weights_and_gradients(
    implementation: str, batch
) -> tuple[torch.Tensor, list[torch.Tensor], dict[str, torch.Tensor]]:
    """The last states, the weights of all layers at the sources, and the gradients of both."""
    training, (row, at, source) = start(), batch["sources"].T
    training.t5.model.set_attn_implementation(implementation)
    out = training.t5.model.gpt_neox(
        batch["input_ids"], output_attentions=implementation == "eager", use_cache=False
    )
    if implementation == "eager":
        weights = [layer[row, 1, at, source] for layer in out.attentions]
    else:
        weights = [
            weights_at(layer.attention, 1, row, at, source)
            for layer in training.t5.model.gpt_neox.layers
        ]
    (
        out.last_hidden_state[row, at].square().sum()
        - sum((weight + 1e-6).log().mean() for weight in weights)
    ).backward()
    return (
        out.last_hidden_state[row, at],
        weights,
        {name: weight.grad for name, weight in training.t5.model.gpt_neox.named_parameters()},
    )


def test_attention_for_training_is_the_usual_one(few):
    found, expected = (
        states_weights_and_gradients(implementation, few)
        for implementation in ("remembering", "eager")
    )
    torch.testing.assert_close(found[0], expected[0], atol=1e-4, rtol=1e-3)
    for weights, usual in zip(found[1], expected[1], strict=True):
        torch.testing.assert_close(weights, usual, atol=1e-5, rtol=1e-3)
    for name, gradient in found[2].items():
        assert (gradient - expected[2][name]).norm() < 1e-3 * expected[2][name].norm() + 1e-4, name


def test_what_comes_later_and_padding_change_nothing(few):
    model, (row, at, _) = start().model, few["written"].T
    longer = torch.cat([few["input_ids"], torch.randint(3, 99, (len(few["input_ids"]), 32))], 1)
    found = [
        model.gpt_neox(ids, use_cache=False).last_hidden_state[row, at]
        for ids in (few["input_ids"], longer)
    ]
    torch.testing.assert_close(*found, atol=1e-4, rtol=1e-3)


@pytest.fixture(scope="module")
def learned(few):
    """A training of eight steps, and the parts of the loss of each step."""
    training = start()
    return training, [learn(training, few, 3e-3) for _ in range(8)]


def test_learning_lowers_every_part_of_the_loss(learned):
    _, parts = learned
    assert set(parts[0]) == {"writing", "looking", "stated", "decided", "comparing"}
    assert all(parts[-1][name] < 0.9 * parts[0][name] for name in parts[0])


def test_a_batch_is_written_as_one_at_a_time(learned):
    training, _ = learned
    tokenizer = make_tokenizer(ends=False)
    write = writer(training.t5.model, tokenizer, longest=30)
    alone = [write([prompt])[0] for prompt in PROMPTS]
    assert write(PROMPTS) == alone
    assert writer(training.t5.model, tokenizer, rows=2, longest=30)(PROMPTS) == alone
    assert len(set(alone)) > 1 and all(alone)
