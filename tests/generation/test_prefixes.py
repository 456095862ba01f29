"""What the prefix cache keeps, on plain numbers; and rows and columns of a model's cache."""

import random

import torch
from transformers.cache_utils import DynamicLayer

from ircotlib.generation.batches import close_up
from ircotlib.generation.causal import GrowingLayer
from ircotlib.generation.prefixes import BLOCK, PASS, Prefixes


def numbers(prompt):
    """States whose numbers are their positions and tokens."""
    rows = torch.tensor(list(enumerate(prompt)))
    return lambda first, last: rows[first:last]


def test_blocks_are_found_by_all_that_stands_before_them():
    prefixes, text = Prefixes(1_000), list(range(50))
    prefixes.keep(text, numbers(text))
    assert len(prefixes) == 48
    known = [prefixes.known(text[:n]) for n in (0, 1, 15, 16, 17, 32, 33, 50)]
    assert known == [0, 0, 0, 15, 16, 31, 32, 48]
    assert prefixes.known(text[:20] + [99] + text[21:]) == 16
    assert prefixes.known([99] + text[1:]) == 0
    assert torch.cat(prefixes.find(text, 40)).tolist() == [[at, at] for at in range(48)]
    assert prefixes.find(text, 0) == []
    longer = text + list(range(20))
    prefixes.keep(longer, numbers(longer))
    assert len(prefixes) == 64 and prefixes.known(longer) == 64


def test_what_was_not_used_for_longest_goes_first_and_ends_before_beginnings():
    prefixes = Prefixes(5 * BLOCK)
    old, new = [1] * 3 * BLOCK, [2] * 2 * BLOCK
    prefixes.keep(old, numbers(old))
    prefixes.keep(new, numbers(new))
    prefixes.find(old, len(old))
    third = [3] * BLOCK
    prefixes.keep(third, numbers(third))
    assert len(prefixes) == 5 * BLOCK
    assert [prefixes.known(text + [0]) for text in (old, new, third)] == [48, 16, 16]
    large = [4] * 8 * BLOCK
    prefixes.keep(large, numbers(large))
    assert prefixes.known(large) == 5 * BLOCK == len(prefixes)


def test_what_prompts_share_is_read_first_where_it_pays():
    start, prefixes = [1] * 30 * BLOCK, Prefixes(10_000)
    inner = start + [2] * 10 * BLOCK
    rows = [start + [n] for n in range(5, 9)] + [inner + [n] for n in range(5, 8)]
    assert prefixes.shared(rows) == [inner]  # it begins with the other one
    short = [1] * 15 * BLOCK  # too short to be worth a pass
    assert prefixes.shared([[*short, 5], [*short, 6]]) == []
    assert prefixes.shared([[n] * 500 for n in range(9)]) == []
    assert Prefixes(0).shared(rows) == Prefixes(600).shared(rows) == []
    prefixes.keep(inner, numbers(inner))
    assert prefixes.shared(rows) == []
    twice = [7] * 2 * PASS
    assert prefixes.shared([twice] * 3) == [twice[: 2 * PASS - BLOCK]]


def test_rows_that_end_leave_their_places_to_the_last_ones():
    assert close_up([True, False, True, False, True]) == [0, 4, 2]
    assert close_up([False, True, True]) == [2, 1] and close_up([True, True]) == [0, 1]
    assert close_up([False]) == close_up([]) == []
    drawn = random.Random(3)
    for _ in range(200):
        goes_on = [drawn.random() < 0.7 for _ in range(drawn.randrange(12))]
        rows = close_up(goes_on)
        assert sorted(rows) == [row for row, on in enumerate(goes_on) if on]
        assert all(row in (at, *range(len(rows), 12)) for at, row in enumerate(rows))


def test_a_cache_with_room_keeps_the_rows_that_a_plain_one_keeps():
    states, drawn = torch.rand(2, 9, 2, 70, 4), random.Random(0)
    plain = DynamicLayer()
    plain.update(states[0], states[1])
    growing = GrowingLayer(plain)
    for step in range(80):
        rows = len(plain.keys)
        new = torch.rand(2, rows, 2, 1, 4)
        for one in (plain, growing):
            one.update(new[0], new[1])
        assert torch.equal(growing.keys, plain.keys) and torch.equal(growing.values, plain.values)
        if step % 10 == 3:  # some rows end; or, as for samples, rows are drawn anew
            kept = close_up([drawn.random() < 0.8 for _ in range(rows)]) or [0]
            chosen = torch.tensor(kept if step != 43 else drawn.choices(range(rows), k=9))
            plain.batch_select_indices(chosen)
            growing.batch_select_indices(chosen)
