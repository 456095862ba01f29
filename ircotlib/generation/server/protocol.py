"""OpenAI's protocol: the bodies of requests and the texts of replies."""

import json
from collections.abc import Generator, Iterator, Mapping
from math import isfinite
from typing import NamedTuple, TypeVar
from urllib.parse import urlsplit

from ircotlib.files.urls import read_urls
from ircotlib.generation.budget import Usage
from ircotlib.generation.server.refusals import KEY, Unreadable
from ircotlib.program import LINE, SENTENCE_OF_LINE, Message, Stop
from ircotlib.prompting.prompt import BETWEEN_DEMONSTRATIONS

MOST_STOPS = 4  # accepted by OpenAI's servers; any others are applied here
PromptText = str | tuple[Message, ...]


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


class Reply(NamedTuple):
    """What can be used of a reply. `texts`: in their order; `faults`: why its other choices, or
    the whole reply, have none; `usage`: its tokens as the server counts them, None if it does not.
    """

    texts: tuple[Completion, ...]
    faults: tuple[ValueError, ...]
    usage: Usage | None


class Asked(NamedTuple):
    """A request to the server: the endpoint's path, the body, and the tokens that it may cost."""

    path: str
    body: dict
    most: Usage


T = TypeVar("T")
Asking = Generator[Asked, Reply, T]  # is sent the reply to each request, or thrown the error
Conversation = Asking[str]  # returns what is stored


def resume(conversation: Conversation, reply: Reply | Exception | None) -> Asked:
    """Send a reply, or throw an error, into a conversation; return what it asks next. None begins
    it. Raises StopIteration at its end, and any error that ends it.
    """
    if isinstance(reply, Exception):
        return conversation.throw(reply)
    return conversation.send(reply)


def read_addresses(server: str) -> tuple[str, ...]:
    """The addresses in a text, separated by commas; one without a path gets "/v1".
    Raises ValueError for one that is no address or contains a password.
    """
    urls = read_urls(server, "http://127.0.0.1:8000 or https://host/v1", KEY)
    return tuple(url if urlsplit(url).path else f"{url}/v1" for url in urls)


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


def read_object(text: str) -> dict | None:
    """The JSON object of a text, None if it is another one."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    return content if isinstance(content, dict) else None


def read_content(content: Mapping) -> Reply:
    """Read and check a reply to a completion or a chat. A text that was cut off at the length limit
    counts, as with a local model, unless it is empty; all that is odd beside a text is ignored.
    """
    choices, texts, faults = content.get("choices"), [], []
    if not isinstance(choices, list) or not choices:
        expected = "found a reply without a choice, expected one"
        choices, faults = [], [Unreadable(f"{expected}: {str(content)[:200]}")]
    for choice in choices:
        try:
            texts.append(_read_choice(choice))
        except ValueError as fault:
            faults.append(fault)
    usage = _object(content.get("usage"))
    counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    counted = all(type(count) is int and count >= 0 for count in counts)
    return Reply(tuple(texts), tuple(faults), Usage(*counts) if counted else None)


def _read_choice(choice: object) -> Completion:
    """The text of a choice. Raises ValueError for a refusal, and Unreadable for no text."""
    if not isinstance(choice, dict):
        raise Unreadable(f"found a choice that is no object, expected one: {choice!r:.200}")
    message, end = _object(choice.get("message")), choice.get("finish_reason")
    text = message.get("content", choice.get("text"))
    if message.get("refusal") or end == "content_filter":
        reason = str(message.get("refusal") or "withheld by a filter")
        raise ValueError(f"found a refusal ({reason!r:.200}), expected a text; ask another model")
    if end == "length" and not text:
        remedy = "use a model that does not hide its reasoning"
        raise ValueError(f"found a reply cut by length before any text, expected a text; {remedy}")
    if not isinstance(text, str):
        raise Unreadable(f"found an empty choice, expected a text: {str(choice)[:200]}")
    return Completion(text, tuple(_read_tokens(_object(choice.get("logprobs")))))


def _read_tokens(logprobs: Mapping) -> Iterator[tuple[str, float]]:
    """The tokens of a choice with their log-probabilities, without any that have none."""
    if isinstance(logprobs.get("content"), list):  # of a chat
        tokens = map(_object, logprobs["content"])
        pairs = ((token.get("token"), token.get("logprob")) for token in tokens)
    else:
        lists = (logprobs.get(name) for name in ("tokens", "token_logprobs"))
        pairs = zip(*(values if isinstance(values, list) else [] for values in lists), strict=False)
    for token, value in pairs:
        if isinstance(token, str) and type(value) in (int, float) and isfinite(value):
            yield token, value


def _object(value: object) -> Mapping:
    return value if isinstance(value, dict) else {}
