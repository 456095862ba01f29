"""OpenAI's protocol: the bodies of requests and the texts of replies."""

import json
import re
from collections.abc import Generator, Iterator, Mapping
from math import isfinite
from typing import NamedTuple, TypeVar
from urllib.parse import urlsplit

from ircotlib.files.checksums import one_line
from ircotlib.files.urls import read_urls
from ircotlib.generation.budget import Usage
from ircotlib.generation.server.refusals import KEY, TemporaryFailure, Unreadable
from ircotlib.generation.thoughts import read_message, split_thoughts
from ircotlib.program import LINE, SENTENCE_OF_LINE, Message, Stop
from ircotlib.prompting.prompt import BETWEEN_DEMONSTRATIONS

MOST_STOPS = 4  # accepted by OpenAI's servers; any others are applied here
# in the reasons that servers give for a text's end
LIMIT, FILTER = re.compile("length|max_.*tokens"), re.compile("filter|safety|refusal|prohibited")
FAILED = re.compile("error|abort|cancel|time.?d?.?out|fail|interrupt|overload|insufficient")

PromptText = str | tuple[Message, ...]


class Completion(NamedTuple):
    """A text that a server wrote. `text`: without thoughts, None if there is nothing else;
    `tokens`: of all, as bytes, with their log-probabilities, if it has them; `cut`: by the limit.
    """

    text: str | None
    tokens: tuple[tuple[bytes, float | None], ...] = ()
    thoughts: str = ""
    cut: bool = False

    def mean_log_probability(self, clean: str, kept: str) -> float | None:
        """That of the tokens of what is kept of the text, once it is clean; None if they do not
        spell it, or one has no log-probability.
        """
        spelt, values = b"".join(token for token, _ in self.tokens), []
        whole, clean = _bytes(self.text), _bytes(clean)
        start = (0 if spelt.startswith(whole) else spelt.rfind(whole)) + whole.rfind(clean)
        if not kept or whole not in spelt or clean not in whole:
            return None
        start += clean.find(_bytes(kept))
        end, offset = start + len(_bytes(kept)), 0
        for token, value in self.tokens:
            if offset < end and offset + len(token) > start:
                values.append(value)
            offset += len(token)
        return None if None in values else sum(values) / len(values)


class ServerReply(NamedTuple):
    """What can be used of a reply. `texts`: in their order; `faults`: why its other choices, or
    the whole reply, have none; `usage`: its tokens as the server counts them, None if it does not;
    `thinks`: whether the model thought first.
    """

    texts: tuple[Completion, ...]
    faults: tuple[Exception, ...]
    usage: Usage | None
    thinks: bool = False

    def fault(self, url: str) -> Exception:
        """Why a reply has no text."""
        fault = self.faults[0]
        fault.args = (f"{url}: {one_line(fault, 400)}",)
        return fault


class Sending(NamedTuple):
    """A request to the server: the endpoint's path, the body, and the tokens that it may cost."""

    path: str
    body: dict
    most: Usage


T = TypeVar("T")
# is sent the reply to each request, or thrown the error
Exchange = Generator[Sending, ServerReply, T]
Conversation = Exchange[str]  # returns what is stored


def resume(conversation: Conversation, reply: ServerReply | Exception | None) -> Sending:
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


def read_content(content: Mapping) -> ServerReply:
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
        except (ValueError, TemporaryFailure) as fault:
            faults.append(fault)
    usage = as_object(content.get("usage"))
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    read, written, total = (as_count(usage.get(name)) for name in names)
    counts = None
    if read is not None and written is not None:  # some servers leave thoughts out of the second
        counts = Usage(read, max(written, (total or 0) - read))
    hidden = as_count(as_object(usage.get("completion_tokens_details")).get("reasoning_tokens"))
    thinks = bool(hidden) or any(text.thoughts or text.text is None for text in texts)
    return ServerReply(tuple(texts), tuple(faults), counts, thinks)


def _read_choice(choice: object) -> Completion:
    """The text of a choice. Raises ValueError for a refusal, Unreadable for no text, and
    TemporaryFailure for one that the server says it failed to write, whatever stands beside it.
    """
    if not isinstance(choice, dict):
        raise Unreadable(f"found a choice that is no object, expected one: {choice!r:.200}")
    message = {"content": choice.get("text")} | choice | as_object(choice.get("message"))
    names = ("finish_reason", "native_finish_reason")
    ends = " ".join(str(choice[name]).lower() for name in names if choice.get(name))
    if message.get("error") or FAILED.search(ends):
        failed = f"{message.get('error') or ends!r:.200}"
        raise TemporaryFailure(f"found a text that failed ({failed}), expected one", alone=True)
    written, thoughts, refusal = read_message(message)
    if refusal or FILTER.search(ends):
        reason = repr(refusal or "withheld by a filter")[:200]
        raise ValueError(f"found a refusal ({reason}), expected a text; ask another model")
    more, text = split_thoughts(written or "")
    cut, thoughts = bool(LIMIT.search(ends)), f"{thoughts}\n{more}".strip()
    text = text.lstrip() if text and thoughts else text
    if not text and (thoughts or cut):
        text = None
    elif message.get("tool_calls") and not text:
        raise ValueError(f"found a call of a tool, expected a text: {str(choice)[:200]}")
    elif written is None:
        raise Unreadable(f"found an empty choice, expected a text: {str(choice)[:200]}")
    tokens = tuple(_read_tokens(as_object(choice.get("logprobs"))))
    return Completion(text, tokens, thoughts, cut)


def _read_tokens(logprobs: Mapping) -> Iterator[tuple[bytes, float | None]]:
    """The tokens of a choice, as bytes, with their log-probabilities, None for one without."""
    if isinstance(logprobs.get("content"), list):  # of a chat
        tokens = map(as_object, logprobs["content"])
        names = ("token", "logprob", "bytes")
        rows = ([token.get(name) for name in names] for token in tokens)
    else:
        lists = (logprobs.get(name) for name in ("tokens", "token_logprobs"))
        rows = zip(*(values if isinstance(values, list) else [] for values in lists), strict=False)
    for token, value, *spelt in rows:
        known = type(value) in (int, float) and isfinite(value)
        yield _bytes(token if isinstance(token, str) else "", *spelt), value if known else None


def _bytes(text: str, spelt: object = None) -> bytes:
    """A text in UTF-8; `spelt`: its bytes as a server lists them, if it does."""
    try:
        return bytes(spelt) if isinstance(spelt, list) else text.encode("utf-8", "replace")
    except (TypeError, ValueError):
        return text.encode("utf-8", "replace")


def as_count(value: object) -> int | None:
    """A number of tokens, None if it is none."""
    return value if type(value) is int and value >= 0 else None


def as_object(value: object) -> Mapping:
    """An object of JSON; an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}
