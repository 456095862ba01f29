"""The extractive reader: what it is trained on, and how well it reads."""

import random

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from ircotlib.data import Paragraph
from ircotlib.files import MODELS
from ircotlib.models.extractor import Extractor
from ircotlib.program import Extract
from training.reader.draw_examples import GOLD, OTHERS, draw_other, draw_reader_example
from training.reader.evaluate import auc, draw_reader_tests, f1_at, open_books


@pytest.fixture(scope="module")
def books():
    return open_books(1_000_009, 300, held_out=False)


@pytest.fixture(scope="module")
def examples(books):
    rng = random.Random(3)
    return [draw_reader_example(rng.choice(books), rng) for _ in range(600)]


def test_a_gold_paragraph_states_the_answer_where_the_span_says_and_no_other_does(
    books, examples
):
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
            assert span is None
            assert one.asked not in stated or passage.title not in one.query
    rng = random.Random(0)
    [book] = [book for book in books if book.dataset == "iirc"]
    for fact in rng.sample(book.facts, 200):
        if own := draw_other(book, rng, "the subject's page without it", *fact):
            assert own.passage.title == fact.subject and own.about


def test_the_shipped_reader_finds_answers_and_knows_where_there_are_none():
    examples = draw_reader_tests(open_books(33, 400), 210, seed=33)
    requests = []
    for one in examples:
        paragraph = Paragraph("", one.passage.title, one.passage.text)
        requests.append(Extract(one.query, paragraph))
    reader = Extractor(MODELS / "mini-reader")
    found = [reader.decode(reply) for _, reply in sorted(reader.answer(requests))]
    right = []
    for one, extracted in zip(examples, found, strict=True):
        if one.kind == GOLD:
            value = one.passage.text[one.span.start : one.span.end]
            right.append(extracted.text.lower() == value.lower())
    gold = np.array([one.kind == GOLD for one in examples])
    confidence = np.array([extracted.confidence for extracted in found])
    assert len(right) == 210 and np.mean(right) >= 0.93
    assert auc(confidence, gold) >= 0.97 and f1_at(1.5, confidence, gold) >= 0.9
