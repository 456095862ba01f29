"""The training of the extractive reader: its examples, its losses, resuming after a kill; and what
the benchmark measures.
"""

import json
import random
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from bench import reading
from ircot_laboratory.world.encyclopedia import make_popular
from ircot_laboratory.world.names import is_held_out
from ircotlib.files.paths import MODELS
from ircotlib.program import Extracted
from training import loop
from training.reader import learn as reader_learn
from training.reader.draw_examples import GOLD, OTHERS, draw_other, draw_reader_example
from training.reader.evaluate import auc, best_threshold, draw_reader_tests, f1_at, open_books
from training.reader.learn import ReaderRecipe, calibrate, start_reader, train_reader
from training.reader.model import (
    encode_reader_examples,
    make_reader_tokenizer,
    read_reader_examples,
    reader_losses,
)

TOKENIZER = make_reader_tokenizer()


@pytest.fixture(scope="module")
def books():
    return open_books(1_000_009, 300, held_out=False)


@pytest.fixture(scope="module")
def examples(books):
    rng = random.Random(3)
    return [draw_reader_example(rng.choice(books), rng) for _ in range(600)]


def test_a_gold_paragraph_states_the_answer_where_the_span_says_and_no_other_does(books, examples):
    kinds = [one.kind for one in examples]
    assert set(kinds) == {GOLD, *OTHERS} and min(map(kinds.count, OTHERS)) > 10
    assert 0.4 < kinds.count(GOLD) / len(kinds) < 0.65
    worlds = {book.dataset: book.world for book in books}
    for one in examples:
        passage, span = one.passage, one.span
        if one.kind == GOLD:
            value = worlds[one.dataset].value(passage.title, one.asked)
            assert passage.text[span.start : span.end] == value
            assert passage.title in one.query and span.relation == one.asked
        else:
            stated = [span.relation for span in passage.spans]
            assert span is None and (one.asked not in stated or passage.title not in one.query)
    rng, book = random.Random(0), next(book for book in books if book.dataset == "iirc")
    for subject, relation in rng.sample(book.facts, 200):
        if own := draw_other(book, rng, "the subject's page without it", subject, relation):
            assert own.passage.title == subject and own.about


def test_queries_are_worded_as_the_systems_ask_them(examples):
    queries = [one.query for one in examples]
    forms = r"^Who |^When |^Where |^What is the |^the |^In which |\.$| the film ".split("|")
    assert all(any(re.search(form, query) for query in queries) for form in forms)
    unknown = TOKENIZER.unk_token_id
    texts = [*queries, *(one.passage.text for one in examples)]
    assert not any(unknown in ids for ids in TOKENIZER(texts)["input_ids"])


def test_every_part_of_the_loss_teaches(examples):
    training = start_reader(ReaderRecipe(1))
    batch = encode_reader_examples(examples[:24], TOKENIZER)
    losses = reader_losses(training.model, training.teacher, batch)
    assert set(losses) == {"span", "relevance", "stated", "asked", "looking", "about"}
    before = sum(losses.values())
    # another value means that the model, its examples or its losses have changed
    assert before.item() == pytest.approx(19.296, rel=1e-2)
    before.backward()
    weights = dict(training.model.named_parameters()) | dict(training.teacher.named_parameters())
    still = {n for n, w in weights.items() if w.grad is None or not w.grad.any()}
    assert all("embeddings" in name or name.endswith("key.bias") for name in still), still
    for _ in range(5):
        after = sum(reader_learn.learn_reader(training, batch, 3e-3).values())
    assert after < before.item()


@pytest.fixture
def few(monkeypatch):
    """Make worlds small and measure on few facts."""
    changes = {
        "draw_reader_tests": lambda books, facts, seed: draw_reader_tests(books, 24, seed),
        "open_books": lambda seed, size, held_out=True: open_books(seed, 200, held_out),
    }
    for name, smaller in changes.items():
        monkeypatch.setattr(reader_learn, name, smaller)


def test_a_killed_training_goes_on_and_gives_the_same_model(tmp_path, monkeypatch, few):
    monkeypatch.setattr(loop, "SECONDS", -1)
    monkeypatch.setattr(reader_learn, "EVALUATE_EVERY", 2)
    recipe, learn = ReaderRecipe(4, seed=2, rows=6), reader_learn.learn_reader
    train_reader(tmp_path / "whole", recipe)
    steps = []

    def fail_at_three(*arguments):
        steps.append(1)
        if len(steps) == 3:
            raise RuntimeError("killed")
        return learn(*arguments)

    monkeypatch.setattr(reader_learn, "learn_reader", fail_at_three)
    with pytest.raises(RuntimeError, match="killed"):
        train_reader(tmp_path / "killed", recipe)
    assert (tmp_path / "killed" / "checkpoint.pt").exists()
    train_reader(tmp_path / "killed", recipe)
    assert len(steps) == 3 + 2
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        whole, killed = ((tmp_path / one / name).read_bytes() for one in ("whole", "killed"))
        assert whole == killed
    assert not (tmp_path / "killed" / "checkpoint.pt").exists()
    about = json.loads((tmp_path / "killed" / "reading.json").read_text())
    expected = {"steps": 4, "seed": 2, "rows": 6, "threads": 1, "torch": torch.__version__}
    assert about | expected == about and about["seconds"] >= 0
    lines = (tmp_path / "killed" / "reading.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [2, 4]


def test_calibration_puts_the_best_threshold_at_the_papers(few):
    model = start_reader(ReaderRecipe(1)).model
    calibrate(model)
    tests = draw_reader_tests(open_books(reader_learn.CALIBRATION, 200, held_out=False), 24, seed=0)
    confidence, _ = read_reader_examples(model, tests)
    assert best_threshold(confidence, tests) == pytest.approx(1.5, abs=0.11)


def test_measures_are_those_of_a_hand_count():
    confidence, gold = np.array([3.0, 1.0, 2.0, 1.0]), np.array([True, True, False, False])
    assert auc(confidence, gold) == (1 + 1 + 0 + 0.5) / 4
    assert [f1_at(limit, confidence, gold) for limit in (1.5, 9.0)] == [2 * 1 / (2 + 2), 0]
    assert reading.share_above("x", confidence)[3:] == (0.5, 4)
    rows = {(name, at): value for _, name, at, value, _ in reading.judge("x", confidence, gold)}
    assert rows["precision", 0.0] == 0.5 and rows["recall", 0.0] == 1.0
    assert rows["precision", 1.5] == rows["recall", 1.5] == rows["F1", 1.5] == 0.5


def test_what_is_measured_was_never_trained_on():
    popular = make_popular()
    for one in draw_reader_tests(open_books(7, 300), 60, seed=7):
        if one.kind == GOLD:
            assert is_held_out(one.passage.title) and one.passage.title not in popular


def test_the_shipped_reader_finds_answers_and_knows_where_there_are_none():
    """A real run on another world than that of the figure."""
    examples = draw_reader_tests(open_books(33, 400), 210, seed=33)
    asked = [(one.query, reading.paragraph_of(one)) for one in examples]
    found = reading.read(reading.Extractor(MODELS / "mini-reader"), asked)
    gold = np.array([one.kind == GOLD for one in examples])
    right = [reading.is_found(e, f) for e, f in zip(examples, found) if e.kind == GOLD]
    confidence = np.array([one.confidence for one in found])
    assert len(right) == 210 and np.mean(right) >= 0.93
    assert auc(confidence, gold) >= 0.97 and f1_at(1.5, confidence, gold) >= 0.9


def test_the_first_that_bm25_finds_is_the_gold_one_or_not():
    book = open_books(7, 300)[0]
    gold = [one for one in draw_reader_tests([book], 20, seed=7) if one.kind == GOLD]
    firsts = reading.search(book, gold)
    assert [query for query, _, _ in firsts] == [one.query for one in gold]
    for (_, paragraph, is_gold), one in zip(firsts, gold, strict=True):
        assert is_gold == (paragraph.text == one.passage.text)
    assert 5 < sum(is_gold for *_, is_gold in firsts)
    span = gold[0].passage.text[gold[0].span.start : gold[0].span.end]
    assert reading.is_found(gold[0], Extracted(span.upper(), 0.0))
    assert not reading.is_found(gold[0], Extracted(span[1:], 0.0))
