"""Asks a backend for tests: the replies in the order of the requests."""

import json
from collections.abc import Sequence


def ask(backend, requests: Sequence) -> list[str | Exception]:
    """The replies in the order of the requests, in the backend's batches if any."""
    replies, waiting = {}, list(range(len(requests)))
    while waiting:
        asked = [requests[index] for index in waiting]
        taken = backend.take(asked) if hasattr(backend, "take") else range(len(asked))
        chosen = [waiting[place] for place in taken]
        answered = list(backend.answer([requests[index] for index in chosen]))
        # each once
        assert sorted(place for place, _ in answered) == list(range(len(chosen)))
        replies |= {chosen[place]: reply for place, reply in answered}
        waiting = [index for index in waiting if index not in replies]
    return [replies[index] for index in range(len(requests))]


def ask_one(backend, request) -> str | Exception:
    return ask(backend, [request])[0]


def read(backend, requests: Sequence) -> list[dict]:
    """The contents of replies that are JSON objects."""
    return [json.loads(reply) for reply in ask(backend, requests)]


def reply_to(backend, request):
    """What a program is sent for a request."""
    return backend.decode(ask_one(backend, request))
