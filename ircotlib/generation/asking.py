"""What a server is sent for a request, and what its refusals mean."""

import re
from collections.abc import Mapping

from ircotlib.generation.addresses import Refused
from ircotlib.program import LINE, SENTENCE_OF_LINE, Message, Stop
from ircotlib.prompts import BETWEEN_DEMONSTRATIONS

MOST_STOPS = 4  # that OpenAI's servers take; the others are looked for here
OPTIONAL = ("max_tokens", "temperature", "stop", "n", "logprobs")
TOO_LONG = re.compile(r"context[ _](length|window)|too long|too many tokens|maximum.{0,30} tokens")
UNKNOWN = re.compile(r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted")
TOO_MANY = re.compile(r"\bn\b.*must be between")  # llama.cpp: no more texts than it has slots

Asked = str | tuple[Message, ...]


def write_prompt(prompt: Asked, chat: bool) -> tuple[str, dict]:
    """The endpoint, and the prompt as that wants it: a text is the only message of a chat."""
    if chat:
        messages = (Message("user", prompt),) if isinstance(prompt, str) else prompt
        written = [{"role": one.role, "content": one.text} for one in messages]
        return "/chat/completions", {"messages": written}
    if not isinstance(prompt, str):
        raise ValueError(f"found a prompt of {len(prompt)} messages, set chat=true to send them")
    return "/completions", {"prompt": prompt}


def write_stop(stop: Stop) -> dict:
    """The stop that the server is told; the text is cut here all the same."""
    if isinstance(stop, tuple):
        return {"stop": list(stop[:MOST_STOPS])}
    return {"stop": ["\n"]} if stop in (LINE, SENTENCE_OF_LINE) else {}


def leave_out(body: Mapping, names: frozenset[str]) -> dict:
    """A body without some fields; `max_tokens` only gets its newer name."""
    kept = {name: value for name, value in body.items() if name not in names}
    newer = {"max_completion_tokens": body["max_tokens"]} if "max_tokens" in names else {}
    return kept | newer


def unknown_field(refused: Refused, body: Mapping) -> str | None:
    """The field of a body that the server says it does not take, of those that can be left out."""
    text = f"{refused} {refused.code}".lower()
    sent = [name for name in OPTIONAL if name in body]
    named = [name for name in sent if name == refused.field or re.search(rf"\b{name}\b", text)]
    named.sort(key=lambda name: name != refused.field)
    return named[0] if named and (UNKNOWN.search(text) or TOO_MANY.search(text)) else None


def is_too_long(refused: Refused) -> bool:
    """Whether the server says that it cannot read so long a prompt."""
    return "context_length" in str(refused.code) or bool(TOO_LONG.search(str(refused).lower()))


def drop_demonstrations(prompt: Asked) -> tuple[Asked, int]:
    """A prompt without demonstrations at its front, at most half as long if what is asked allows,
    and how many were dropped.
    """
    pieces = prompt.split(BETWEEN_DEMONSTRATIONS) if isinstance(prompt, str) else [prompt]
    if len(pieces) == 1:
        return prompt, 0
    shorter = [BETWEEN_DEMONSTRATIONS.join(pieces[first:]) for first in range(1, len(pieces))]
    fits = (at for at, text in enumerate(shorter) if 2 * len(text) <= len(prompt))
    at = next(fits, len(shorter) - 1)
    return shorter[at], at + 1
