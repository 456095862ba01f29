"""OpenAI's protocol: the bodies of requests, the texts of replies, and what refusals mean."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from ircotlib.generation.budget import Usage
from ircotlib.program import LINE, SENTENCE_OF_LINE, Message, Stop
from ircotlib.prompting.prompt import BETWEEN_DEMONSTRATIONS

MOST_STOPS = 4  # accepted by OpenAI's servers; any others are applied here
OPTIONAL = ("max_tokens", "temperature", "stop", "n", "logprobs")
TOO_LONG = re.compile(r"context[ _](length|window)|too long|too many tokens|maximum.{0,30} tokens")
UNSUPPORTED = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted"
    r"|\bn\b.*must be between"  # llama.cpp: at most as many texts as it has slots
)

PromptText = str | tuple[Message, ...]


class RequestRefused(ValueError):
    """A request that the server does not accept. `code`, `field`: the error and the field at fault,
    as it names them.
    """

    def __init__(self, reason: str, code: object = None, field: object = None):
        super().__init__(reason)
        self.code, self.field = code, field

    def is_too_long(self) -> bool:
        """Whether the server says that the prompt is too long for it."""
        return "context_length" in str(self.code) or bool(TOO_LONG.search(str(self).lower()))

    def unsupported(self, options: Mapping) -> str | None:
        """The optional field that the server says, in words only, it does not accept, if any."""
        text = f"{self} {self.code}".lower()
        if UNSUPPORTED.search(text):
            for name in sorted(OPTIONAL, key=lambda name: name != self.field):
                if name in options and (name == self.field or re.search(rf"\b{name}\b", text)):
                    return name
        return None


class Completion(NamedTuple):
    """One text as the server wrote it; its tokens with their log-probabilities, if it has them."""

    text: str
    tokens: tuple[tuple[str, float], ...] = ()

    def mean_log_probability(self, kept: str) -> float | None:
        """That of the tokens up to the end of the kept part of the text, if they have any."""
        end, offset, values = max(1, self.text.find(kept) + len(kept)), 0, []
        for token, value in self.tokens:
            if offset < end:
                values.append(value)
            offset += len(token)
        return sum(values) / len(values) if values else None


def write_prompt(prompt: PromptText, chat: bool) -> tuple[str, dict]:
    """The endpoint's path, and the prompt in its format; in a chat, a text is the only message.
    Raises ValueError for messages without a chat.
    """
    if chat:
        messages = (Message("user", prompt),) if isinstance(prompt, str) else prompt
        written = [{"role": message.role, "content": message.text} for message in messages]
        return "/chat/completions", {"messages": written}
    if not isinstance(prompt, str):
        raise ValueError(f"found a prompt of {len(prompt)} messages; set chat=true to send them")
    return "/completions", {"prompt": prompt}


def write_stop(stop: Stop) -> dict:
    """The stop that is sent to the server; the reply is cut here in any case."""
    if isinstance(stop, tuple):
        return {"stop": list(stop[:MOST_STOPS])}
    return {"stop": ["\n"]} if stop in (LINE, SENTENCE_OF_LINE) else {}


def drop_demonstrations(prompt: PromptText) -> tuple[PromptText, int]:
    """A prompt without its first demonstrations, and how many were dropped: as few as make it at
    most half as long, or all. A chat stays as it is.
    """
    pieces = prompt.split(BETWEEN_DEMONSTRATIONS) if isinstance(prompt, str) else [prompt]
    shorter, dropped = prompt, 0
    while dropped < len(pieces) - 1 and 2 * len(shorter) > len(prompt):
        dropped += 1
        shorter = BETWEEN_DEMONSTRATIONS.join(pieces[dropped:])
    return shorter, dropped


def read_texts(reply: Mapping) -> list[Completion]:
    """The texts of a reply to a completion or a chat, in their order; one that was cut off at the
    length limit counts, as with a local model, unless it is empty. Raises ValueError for a reply
    without a text, a refusal, or a text withheld by a filter.
    """
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices:
        raise ValueError(f"found a reply without a choice, expected one: {str(reply)[:200]}")
    return [_read_choice(choice) for choice in choices]


def _read_choice(choice: Mapping) -> Completion:
    message = choice.get("message") or {}
    text, end = message.get("content", choice.get("text")), choice.get("finish_reason")
    if message.get("refusal") or end == "content_filter":
        reason = message.get("refusal") or "withheld by a filter"
        raise ValueError(f"found a refusal ({reason!r}), expected a text; ask another model")
    if end == "length" and not text:
        remedy = "use a model that does not hide its reasoning"
        raise ValueError(f"found a reply cut by length before any text, expected a text; {remedy}")
    if not isinstance(text, str):
        raise ValueError(f"found an empty choice, expected a text: {str(choice)[:200]}")
    logprobs = choice.get("logprobs") or {}
    if isinstance(logprobs.get("content"), list):  # of a chat
        pairs = [(token.get("token"), token.get("logprob")) for token in logprobs["content"]]
    else:
        pairs = zip(logprobs.get("tokens") or (), logprobs.get("token_logprobs") or ())
    known = ((token, value) for token, value in pairs if isinstance(value, int | float))
    return Completion(text, tuple(known))


def read_usage(reply: Mapping) -> Usage | None:
    """The tokens as the server counts them; None if it does not."""
    usage = reply.get("usage") or {}
    counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    return Usage(*counts) if all(isinstance(count, int) for count in counts) else None
