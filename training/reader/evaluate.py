"""Measures how well an extractive reader finds answers in worlds of the laboratory, and
how well its confidence distinguishes the paragraph that states the answer from others.
"""

import random
from collections.abc import Sequence

import numpy as np

from ircot_laboratory.questions.questions import DATASETS
from ircot_laboratory.world.encyclopedia import make_popular, make_world
from training.reader.draw_examples import (
    GOLD,
    OTHERS,
    Encyclopedia,
    ReaderExample,
    draw_gold,
    draw_other,
)


def open_books(seed: int, size: int, held_out: bool = True) -> list[Encyclopedia]:
    """The world of a seed in the form of each data set."""
    return [
        Encyclopedia(make_world(seed, size, d, held_out=held_out), d) for d in DATASETS
    ]


def draw_reader_tests(
    books: Sequence[Encyclopedia], facts: int, seed: int
) -> list[ReaderExample]:
    """Draw `facts` facts about entities that are not popular, from all data sets in
    turn. For each there are two examples: a query with its gold paragraph, and one with
    another paragraph, of all kinds in turn.
    """
    rng, drawn, popular = random.Random(f"reading {seed}"), [], make_popular()
    while len(drawn) < 2 * facts:
        number = len(drawn) // 2
        book, kind = (
            books[number % len(books)],
            OTHERS[number // len(books) % len(OTHERS)],
        )
        subject, relation = rng.choice(book.facts)
        kind = rng.choice(OTHERS) if book.dataset == "iirc" else kind
        other = None
        if subject not in popular:
            other = draw_other(book, rng, kind, subject, relation)
        if other:
            drawn += [draw_gold(book, rng, subject, relation), other]
    return drawn


def measure_answers(
    confidence: np.ndarray, right: np.ndarray, examples: Sequence[ReaderExample]
) -> dict[str, float]:
    """Two shares, 0 to 1. `answer`: of the gold paragraphs, those whose answer is
    found; `auc`: of the pairs of a gold and another paragraph, those where the gold one
    has higher confidence. `confidence`, `right`: of each example, as
    model.read_reader_examples finds them.
    """
    gold = np.array([example.kind == GOLD for example in examples])
    shares = {"answer": right[gold].mean(), "auc": auc(confidence, gold)}
    return {name: round(float(share), 4) for name, share in shares.items()}


def auc(confidence: np.ndarray, gold: np.ndarray) -> float:
    """The area under the ROC curve: how often gold has higher confidence; ties count
    half.
    """
    above = confidence[gold][:, None] - confidence[~gold]
    return float(np.mean((above > 0) + 0.5 * (above == 0)))


def f1_at(threshold: float, confidence: np.ndarray, gold: np.ndarray) -> float:
    """F1 of predicting an answer where confidence is above a threshold (SearChain
    A.4.1).
    """
    predicted = confidence > threshold
    return (
        2 * float((predicted & gold).sum()) / max(1, int(predicted.sum() + gold.sum()))
    )


def best_threshold(confidence: np.ndarray, examples: Sequence[ReaderExample]) -> float:
    """The threshold with the highest F1 (SearChain A.4.1), in steps of 0.1; if several
    have it, their median. `confidence`: in each example.
    """
    gold = np.array([example.kind == GOLD for example in examples])
    thresholds = np.arange(np.floor(confidence.min()), np.ceil(confidence.max()), 0.1)
    scores = np.array([f1_at(threshold, confidence, gold) for threshold in thresholds])
    return float(np.median(thresholds[scores == scores.max()]))
