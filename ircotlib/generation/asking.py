"""Writes the bodies of requests to a server, and interprets its refusals."""

import re
from collections.abc import Mapping

from ircotlib.generation.addresses import Refused
from ircotlib.program import LINE, SENTENCE_OF_LINE, Message, Stop
from ircotlib.prompting.prompt import BETWEEN_DEMONSTRATIONS

MOST_STOPS = 4  # accepted by OpenAI's servers; any others are applied here
OPTIONAL = ("max_tokens", "temperature", "stop", "n", "logprobs")
TOO_LONG = re.compile(r"context[ _](length|window)|too long|too many tokens|maximum.{0,30} tokens")
UNKNOWN = re.compile(r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted")
TOO_MANY = re.compile(r"\bn\b.*must be between")  # llama.cpp: at most as many texts as it has slots

Asked = str | tuple[Message, ...]


def write_prompt(prompt: Asked, chat: bool) -> tuple[str, dict]:
    """The endpoint, and the prompt in its format; in a chat, a prompt that is a text becomes the
    only message. Raises ValueError for messages without a chat.
    """
    if chat:
        messages = (Message("user", prompt),) if isinstance(prompt, str) else prompt
        written = [{"role": one.role, "content": one.text} for one in messages]
        return "/chat/completions", {"messages": written}
    if not isinstance(prompt, str):
        raise ValueError(f"found a prompt of {len(prompt)} messages; set chat=true to send them")
    return "/completions", {"prompt": prompt}


def write_stop(stop: Stop) -> dict:
    """The stop that is sent to the server; the reply is cut here in any case."""
    if isinstance(stop, tuple):
        return {"stop": list(stop[:MOST_STOPS])}
    return {"stop": ["\n"]} if stop in (LINE, SENTENCE_OF_LINE) else {}


def leave_out(body: Mapping, names: frozenset[str]) -> dict:
    """A body without some fields, except that `max_tokens` only gets its newer name."""
    kept = {name: value for name, value in body.items() if name not in names}
    newer = {"max_completion_tokens": body["max_tokens"]} if "max_tokens" in names else {}
    return kept | newer


def unknown_field(refused: Refused, body: Mapping) -> str | None:
    """The optional field of a body that the server says it does not accept; None: no such field."""
    text = f"{refused} {refused.code}".lower()
    sent = [name for name in OPTIONAL if name in body]
    named = [name for name in sent if name == refused.field or re.search(rf"\b{name}\b", text)]
    named.sort(key=lambda name: name != refused.field)
    return named[0] if named and (UNKNOWN.search(text) or TOO_MANY.search(text)) else None


def is_too_long(refused: Refused) -> bool:
    """Whether the server says that the prompt is too long for it."""
    return "context_length" in str(refused.code) or bool(TOO_LONG.search(str(refused).lower()))


def drop_demonstrations(prompt: Asked) -> tuple[Asked, int]:
    """A prompt without some of its first demonstrations, and how many were dropped: as few as make
    it at most half as long, or all. A chat, or a prompt without demonstrations, stays as it is.
    """
    pieces = prompt.split(BETWEEN_DEMONSTRATIONS) if isinstance(prompt, str) else [prompt]
    if len(pieces) == 1:
        return prompt, 0
    shorter = [BETWEEN_DEMONSTRATIONS.join(pieces[first:]) for first in range(1, len(pieces))]
    fits = (at for at, text in enumerate(shorter) if 2 * len(text) <= len(prompt))
    at = next(fits, len(shorter) - 1)
    return shorter[at], at + 1
