"""Reads replies of OpenAI-compatible servers: their texts, or why there are none."""

from collections.abc import Mapping
from typing import NamedTuple

from ircotlib.generation.budget import Usage


class Written(NamedTuple):
    """One text as the server wrote it. `tokens`: its tokens with their log-probabilities, if the
    server returned them.
    """

    text: str
    tokens: tuple[tuple[str, float], ...] = ()


def read_texts(reply: Mapping) -> list[Written]:
    """The texts of a reply to a completion or a chat, in their order.

    A text that was cut off at the length limit counts, as with a local model, unless it is empty.
    Raises ValueError, naming the fault, for a reply without a text, a refusal, or a text withheld
    by a filter.
    """
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices:
        raise ValueError(f"found a reply without a choice, expected one: {str(reply)[:200]}")
    return [_read_choice(choice) for choice in choices]


def _read_choice(choice: Mapping) -> Written:
    said = choice.get("message") or {}
    text, end = said.get("content", choice.get("text")), choice.get("finish_reason")
    if said.get("refusal") or end == "content_filter":
        why = said.get("refusal") or "withheld by a filter"
        raise ValueError(f"found a refusal ({why!r}), expected a text; ask another model")
    if end == "length" and not text:
        found = "found a reply cut by length before a text began"
        raise ValueError(f"{found}, expected a text; use a model that does not hide its reasoning")
    if not isinstance(text, str):
        raise ValueError(f"found an empty choice, expected a text: {str(choice)[:200]}")
    return Written(text, _read_tokens(choice.get("logprobs") or {}))


def _read_tokens(logprobs: Mapping) -> tuple[tuple[str, float], ...]:
    if isinstance(logprobs.get("content"), list):  # of a chat
        pairs = [(one.get("token"), one.get("logprob")) for one in logprobs["content"]]
    else:
        pairs = zip(logprobs.get("tokens") or (), logprobs.get("token_logprobs") or ())
    return tuple((token, value) for token, value in pairs if isinstance(value, int | float))


def read_usage(reply: Mapping) -> Usage | None:
    """The tokens as the server counts them; None if it does not."""
    usage = reply.get("usage")
    counts = [(usage or {}).get(name) for name in ("prompt_tokens", "completion_tokens")]
    return Usage(*counts) if all(isinstance(count, int) for count in counts) else None


def mean_log_probability(written: Written, kept: str) -> float | None:
    """The mean log-probability of the tokens up to the end of the kept part of a text; None if the
    server returned none.
    """
    end, offset, values = max(1, written.text.find(kept) + len(kept)), 0, []
    for token, value in written.tokens:
        if offset < end:
            values.append(value)
        offset += len(token)
    return sum(values) / len(values) if values else None
