"""Training examples: prompts as the systems write them, copies and places that are what they say."""

import random

import pytest

torch = pytest.importorskip("torch")

from ircotlib.prompts import FLAN_T5, render
from ircotlib.world.encyclopedia import make_world
from ircotlib.world.examples import PROMPT, Confusers, draw_conclusion, draw_context, draw_example, last_word, make_example
from ircotlib.world.model import make_tokenizer
from ircotlib.world.questions import make_riddles
from ircotlib.world.teach import IGNORED, encode


@pytest.fixture(scope="module")
def world():
    return make_world(3, 600, held_out=False, variety=0.5)


@pytest.fixture(scope="module")
def examples(world):
    rng, confusers = random.Random(0), Confusers(world)
    drawn = [draw_example(world, confusers, rng, rng.choice((2, 6, 12))) for _ in range(300)] + [draw_conclusion(world, rng) for _ in range(60)]
    return [example for example in drawn if example.target]


def test_the_prompt_is_that_of_the_systems(world):
    riddle = next(r for r in make_riddles(world, 60, 1) if r.kind == "3hop")
    titles = draw_context(world, riddle, 3, 8, Confusers(world), random.Random(1))
    example = make_example(world, riddle, titles, done=2)
    paragraphs = [world.paragraphs[title] for title in titles]
    assert example.prompt == render(paragraphs, riddle.text, " ".join(riddle.thoughts[:2]), FLAN_T5.chain_of_thought)
    assert example.target == " ".join(riddle.thoughts[2:])


def test_the_target_is_cut_before_a_sentence_whose_paragraph_is_missing(world):
    riddle = next(r for r in make_riddles(world, 60, 1) if r.kind == "3hop")
    titles = draw_context(world, riddle, 2, 8, Confusers(world), random.Random(1))
    example = make_example(world, riddle, titles, done=0)
    assert riddle.facts[2][0] not in titles
    assert example.target == " ".join(riddle.thoughts[:2])
    assert not example.complete


def test_copies_are_the_same_text(examples):
    assert sum(len(example.copies) for example in examples) > 1000
    for example in examples:
        for at, source, length in example.copies:
            assert example.target[at : at + length] == example.prompt[source : source + length]


def test_compared_values_are_where_they_should_be(examples):
    compared = [example for example in examples if example.compared]
    assert len(compared) > 60
    for example in compared:
        text = example.prompt if example.compared.side == PROMPT else example.target
        assert all(text[start].isdigit() or text[start].isupper() for start in example.compared.starts)


def test_a_year_has_two_tokens_and_names_come_back():
    tokenizer = make_tokenizer()
    assert tokenizer.tokenize("1931.") == ["19", "##31", "."]
    assert (last_word("1931"), last_word("Old Burton"), last_word("Fosse")) == (2, 4, 0)
    text = "Midnight Candle was directed by Lars Wexshaw. So the answer is: 1931."
    assert tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True) == text
    assert tokenizer.convert_tokens_to_ids("<unk>") in tokenizer("Wikipedia")["input_ids"]


def test_every_word_of_the_examples_is_in_the_vocabulary(examples):
    tokenizer = make_tokenizer()
    unknown = tokenizer.unk_token_id
    assert not any(unknown in tokenizer(text)["input_ids"] for example in examples for text in (example.prompt, example.target))


def test_encoded_batch_points_at_equal_tokens(examples):
    tokenizer = make_tokenizer()
    batch = encode(examples[:20] + examples[-20:], tokenizer)
    rows, columns = (batch["sources"] >= 0).nonzero(as_tuple=True)
    assert len(rows) > 100
    assert (batch["labels"][rows, columns] == batch["input_ids"][rows, batch["sources"][rows, columns]]).all()
    both = (batch["labels"][:, 1:] != IGNORED) & (batch["labels"][:, :-1] != IGNORED)
    assert (batch["decoder_input_ids"][:, 1:] == batch["labels"][:, :-1])[both].all()


def test_learning_lowers_the_loss(world):
    """A few steps on one batch: every part of the loss falls."""
    from ircotlib.world.model import make_model, order_numbers
    from ircotlib.world.teach import Teacher
    from ircotlib.world.train import Training, learn

    tokenizer, rng = make_tokenizer(), random.Random(2)
    model = make_model("mini", len(tokenizer), 0)
    order_numbers(model, tokenizer)
    teacher = Teacher(model.config.d_model)
    training = Training(model, teacher, torch.optim.AdamW([*model.parameters(), *teacher.parameters()], lr=3e-3))
    batch = encode([draw_conclusion(world, rng) for _ in range(16)], tokenizer)
    parts = [learn(training, batch, 3e-3) for _ in range(12)]
    assert set(parts[0]) == {"writing", "looking", "stated", "decided", "comparing"}
    assert all(parts[-1][name] < parts[0][name] for name in parts[0])
