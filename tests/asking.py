"""Asks a backend for tests: the replies in the order of the requests."""

from collections.abc import Sequence


def ask(backend, requests: Sequence) -> list[str | Exception]:
    """The replies of a backend in the order of the requests, each given exactly once."""
    answered = list(backend.answer(requests))
    replies = dict(answered)
    assert sorted(index for index, _ in answered) == list(range(len(requests)))
    return [replies[index] for index in range(len(requests))]


def ask_one(backend, request) -> str | Exception:
    return ask(backend, [request])[0]
