"""Measures how well an extractive reader finds answers in worlds of the laboratory, and how well
its confidence distinguishes the paragraph that states the answer from others.
"""

import random
from collections.abc import Sequence

import numpy as np
import torch
from transformers import DPRReader, DPRReaderTokenizerFast

from ircotlib.laboratory.encyclopedia import make_popular, make_world
from ircotlib.laboratory.questions import DATASETS
from training.reader_draws import GOLD, OTHERS, Encyclopedia, Example, draw_gold, draw_other
from training.reader_model import NOWHERE, encode_examples

ROWS = 64  # examples read at a time


def open_books(seed: int, size: int, held_out: bool = True) -> list[Encyclopedia]:
    """The world of a seed in the form of each data set."""
    return [Encyclopedia(make_world(seed, size, d, held_out=held_out), d) for d in DATASETS]


def draw_reading(books: Sequence[Encyclopedia], facts: int, seed: int) -> list[Example]:
    """Draw `facts` facts about entities that are not popular, from all data sets in turn. For each
    there are two examples: a query with its gold paragraph, and one with another paragraph, of all
    kinds in turn.
    """
    rng, drawn, popular = random.Random(f"reading {seed}"), [], make_popular()
    while len(drawn) < 2 * facts:
        number = len(drawn) // 2
        book, kind = books[number % len(books)], list(OTHERS)[number // len(books) % len(OTHERS)]
        subject, relation = rng.choice(book.facts)
        kind = rng.choice(list(OTHERS)) if book.dataset == "iirc" else kind
        other = None
        if subject not in popular:
            other = draw_other(book, rng, kind, subject, relation)
        if other:
            drawn += [draw_gold(book, rng, subject, relation), other]
    return drawn


@torch.no_grad()
def read_examples(
    model: DPRReader, tokenizer: DPRReaderTokenizerFast, examples: Sequence[Example]
) -> tuple[np.ndarray, np.ndarray]:
    """The reader's confidence in each example [n], and whether its most likely start and end are
    those of the answer [n]; False where the paragraph has no answer.
    """
    confidence, right = [], []
    for first in range(0, len(examples), ROWS):
        batch = encode_examples(examples[first : first + ROWS], tokenizer)
        inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
        out = model.float()(**inputs, return_dict=True)
        hidden = (batch["attention_mask"] == 0) * -1e4
        found = [(one + hidden).argmax(1) for one in (out.start_logits, out.end_logits)]
        hit = (found[0] == batch["start"]) & (found[1] == batch["end"])
        right.append((hit & (batch["start"] != NOWHERE)).numpy())
        confidence.append(out.relevance_logits.numpy())
    return np.concatenate(confidence), np.concatenate(right)


def measure_reading(model, tokenizer, examples: Sequence[Example]) -> dict[str, float]:
    """Two shares, 0 to 1. `answer`: of the gold paragraphs, those whose answer is found; `auc`: of
    the pairs of a gold and another paragraph, those where the gold one has higher confidence.
    """
    confidence, right = read_examples(model, tokenizer, examples)
    gold = np.array([example.kind == GOLD for example in examples])
    found = {"answer": right[gold].mean(), "auc": auc(confidence, gold)}
    return {name: round(float(value), 4) for name, value in found.items()}


def auc(confidence: np.ndarray, gold: np.ndarray) -> float:
    """The area under the ROC curve: how often gold has higher confidence; ties count half."""
    above = confidence[gold][:, None] - confidence[~gold]
    return float(np.mean((above > 0) + 0.5 * (above == 0)))


def f1_at(threshold: float, confidence: np.ndarray, gold: np.ndarray) -> float:
    """F1 of predicting that a paragraph has the answer when the confidence is above a threshold
    (SearChain A.4.1).
    """
    said = confidence > threshold
    return 2 * float((said & gold).sum()) / max(1, int(said.sum() + gold.sum()))


def best_threshold(model, tokenizer, examples: Sequence[Example]) -> float:
    """The threshold with the highest F1 (SearChain A.4.1), in steps of 0.1; if several have it,
    their median.
    """
    confidence, _ = read_examples(model, tokenizer, examples)
    gold = np.array([example.kind == GOLD for example in examples])
    tried = np.arange(np.floor(confidence.min()), np.ceil(confidence.max()), 0.1)
    scores = np.array([f1_at(one, confidence, gold) for one in tried])
    return float(np.median(tried[scores == scores.max()]))
