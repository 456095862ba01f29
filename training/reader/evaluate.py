"""Measures whether an extractive reader finds answers, and knows when it does."""

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
    worlds = {d: make_world(seed, size, d, held_out=held_out) for d in DATASETS}
    return [Encyclopedia(world, dataset) for dataset, world in worlds.items()]


def draw_reader_tests(
    books: Sequence[Encyclopedia], facts: int, seed: int
) -> list[ReaderExample]:
    """Draw `facts` facts about entities that are not popular, from all data sets in
    turn. For each there are two examples: a query with its gold paragraph, and one with
    another paragraph, of all kinds in turn.
    """
    rng = random.Random(f"reading {seed}")
    drawn: list[ReaderExample] = []
    while len(drawn) < 2 * facts:
        number = len(drawn) // 2
        book = books[number % len(books)]
        kind = OTHERS[number // len(books) % len(OTHERS)]
        fact = rng.choice(book.facts)
        if book.dataset == "iirc":  # it lacks a kind: in turn, it would wait forever
            kind = rng.choice(OTHERS)
        if fact.subject not in make_popular():
            if other := draw_other(book, rng, kind, *fact):
                drawn += [draw_gold(book, rng, *fact), other]
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
    """Area under the ROC curve: how often gold is more confident; ties count half."""
    above = confidence[gold][:, None] - confidence[~gold]
    return float(np.mean((above > 0) + 0.5 * (above == 0)))


def f1_at(threshold: float, confidence: np.ndarray, gold: np.ndarray) -> float:
    """F1 of predicting answers where confidence is above this (SearChain A.4.1)."""
    predicted = confidence > threshold
    both = float((predicted & gold).sum())
    return 2 * both / max(1, int(predicted.sum() + gold.sum()))


def best_threshold(confidence: np.ndarray, examples: Sequence[ReaderExample]) -> float:
    """The threshold with the highest F1 (SearChain A.4.1), in steps of 0.1; if several
    have it, their median. `confidence`: in each example.
    """
    gold = np.array([example.kind == GOLD for example in examples])
    thresholds = np.arange(np.floor(confidence.min()), np.ceil(confidence.max()), 0.1)
    scores = np.array([f1_at(threshold, confidence, gold) for threshold in thresholds])
    return float(np.median(thresholds[scores == scores.max()]))
