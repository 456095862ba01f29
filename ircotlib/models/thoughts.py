"""What a model wrote: the text of a server's choice, without the thoughts before it."""

import json
import re
from collections.abc import Mapping
from math import isfinite
from statistics import fmean
from typing import Any, NamedTuple

from ircotlib.program import Generate, Sample
from ircotlib.text import cut, stop_end, without_echo

# Thoughts in the text itself: between tags whose name says it, or in the channels of
# gpt-oss, whose marks some servers leave out. A closing mark counts alone, too: a
# template may have written the opening one into the prompt.
_TAG = r"(?i:[\w:-]*(?:think|thought|reason|reflect|analy|scratch|monolog)[\w:-]*)"
_CHANNEL = r"(?:<\|end\|>)?(?:<\|start\|>assistant)?<\|channel\|>"
OPENING = re.compile(
    rf"[<\[◁]\|?{_TAG}\|?[>\]▷]|{_CHANNEL}(?:\w+<\|message\|>)?|analysis(?=[A-Z])"
    # of these, no end is read: they have no text
    r"|<details[^<]*(?:<summary[^<]*)?(?i:think|thought|reason)|<\|inner_prefix\|>"
    r"|(?:\*\*|#+ |```)(?i:thinking(?: process)?)(?=[:*`\n])"
    r"|<[\w|]+>thought\n|Here is my thought process:"
)
CLOSING = re.compile(
    rf"[<\[◁]\|?(?:/|(?i:end_)){_TAG}\|?[>\]▷]|{_CHANNEL}final<\|message\|>"
    "|assistantfinal"
)
# marks of turns, which some servers leave around a text
_MARK = r"(?:<\|\w+\|>|</?s>|<end_of_turn>)"
AROUND = re.compile(rf"^\s*(?:{_MARK}\s*)+|(?<!\s)(?:\s*{_MARK})+\s*$")
# where a message has its thoughts, beside the text; servers repeat them in several
THOUGHTS = ("reasoning_content", "reasoning", "thinking", "reasoning_details")
# why a text ends, in the words of servers and of the providers behind them: a limit has
# cut it; there is none, also if it is asked for again; none has been written
LIMIT = re.compile("length|max_.*tokens")
NO_TEXT = re.compile(
    "filter|safety|refus|prohib|block|sensit|spii|recitation|tool|function"
)
FAILED = re.compile(
    "error|abort|cancel|time.?d?.?out|fail|interrupt|overload|insufficient|other"
)


class Failed(RuntimeError):
    """A reply without a text, which may have one if it is asked for again."""


class Written(NamedTuple):
    """What a model wrote, as it is kept."""

    text: str | None  # None: there are only thoughts
    thoughts: str
    mean: float | None = None  # log-probability of the text's tokens, if it is known
    cut: bool = False  # by a limit
    stopped: bool = False  # before that, by its stop


def split_thoughts(written: str) -> tuple[str, str | None]:
    """The thoughts and the text that a model wrote; the text is None if thoughts do not
    end. The text follows the last closing mark.

    >>> split_thoughts("<think>Ann or Ben?</think> It is Ann.")
    ('Ann or Ben?', 'It is Ann.')
    >>> split_thoughts("<think>Ann or")
    ('Ann or', None)
    """
    end = max((mark.end() for mark in CLOSING.finditer(written)), default=0)
    text = written[end:]
    if OPENING.match(text.lstrip()):
        return without_marks(written), None
    if end == 0:
        return "", AROUND.sub("", text)
    return without_marks(written[:end]), AROUND.sub("", text).lstrip()


def without_marks(thoughts: str) -> str:
    return OPENING.sub("", CLOSING.sub("", thoughts)).strip()


def read_choice(choice: Mapping, request: Generate | Sample, chat: bool) -> Written:
    """What a choice of a completion or a chat holds for a request. Raises ValueError
    for a refusal or a call of a tool, and Failed if there is no text.
    """
    message = choice.get("message") or {}
    ends = f"{choice.get('finish_reason')} {choice.get('native_finish_reason')}".lower()
    refusal = message.get("refusal") or message.get("tool_calls")
    if refusal or NO_TEXT.search(ends):
        found = f"a refusal or a call of a tool, {refusal or choice!r}"
        raise ValueError(f"found {found}, expected a text")
    if choice.get("error") or message.get("error") or FAILED.search(ends):
        raise Failed(f"the server failed to write a text: {choice!r}")
    limited = LIMIT.search(ends) is not None
    written, beside = read_message(message) if chat else (choice.get("text"), "")
    within, text = split_thoughts(written or "")
    thoughts = f"{beside}\n{within}".strip()
    if text is None or (not text.strip() and (thoughts or limited)):
        return Written(None, thoughts)
    if written is None:
        raise Failed(f"found a choice without a text: {choice!r}")
    if chat:  # as a completion of the prompt would be
        prompt = request.prompt
        last = prompt if isinstance(prompt, str) else prompt[-1].text
        text = without_echo(text, last)
    kept = cut(text, request.stop)
    stopped = stop_end(text, request.stop, complete=False) is not None
    mean = mean_log_probability(choice.get("logprobs"), text, kept)
    return Written(kept, thoughts, mean, limited, stopped)


def read_message(message: Mapping) -> tuple[str | None, str]:
    """The text and the thoughts of a message, which are fields or, as Mistral's servers
    send them, parts of its content.
    """
    thoughts = text_of(next(filter(None, map(message.get, THOUGHTS)), ""))
    content = message.get("content")
    if not isinstance(content, list):
        return content, thoughts
    parts = [part if isinstance(part, dict) else {"text": part} for part in content]
    texts = [part for part in parts if "text" in part.get("type", "text")]
    others = [part for part in parts if part not in texts]
    return text_of(texts) or None, thoughts + text_of(others)


def text_of(value: Any) -> str:
    """The text of a field or a part of a message, or of several."""
    if isinstance(value, list):
        return "".join(map(text_of, value))
    if isinstance(value, dict):
        return text_of(value.get("text") or value.get("thinking"))
    return value if isinstance(value, str) else ""


def mean_log_probability(logs: Any, text: str, kept: str) -> float | None:
    """The mean over the tokens of the kept part of a text; None if there are no `logs`,
    or their tokens do not spell the text.
    """
    try:
        if "content" in logs:  # of a chat
            tokens = [(token["token"], token["logprob"]) for token in logs["content"]]
        else:
            tokens = [*zip(logs["tokens"], logs["token_logprobs"], strict=True)]
        spelt = "".join(token for token, _ in tokens)
        # the last time that it is spelt: thoughts may quote it
        first = spelt.rindex(text) + text.index(kept)
        values = []
        offset = 0
        for token, value in tokens:
            if offset < first + len(kept) and offset + len(token) > first:
                values.append(value)
            offset += len(token)
        # the same from Python 3.12 on, where `sum` rounds otherwise
        mean = fmean(values)
        return mean if isfinite(mean) else None
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def count_of(usage: Any, name: str) -> int:
    """A count of tokens in a reply; 0 if it is missing, or no such count."""
    count = usage.get(name) if isinstance(usage, dict) else 0
    return count if isinstance(count, int) and 0 < count < 10**12 else 0


def tokens_of(usage: Any) -> tuple[int, int, bool]:
    """Tokens read and written, 0 if not said; and whether some are unseen thoughts."""
    read = count_of(usage, "prompt_tokens")
    total = count_of(usage, "total_tokens")  # the other count may lack the thoughts
    written = max(count_of(usage, "completion_tokens"), total - read)
    hidden = re.search(r"'reasoning_tokens': [1-9]", str(usage))
    return read, written, hidden is not None


def read_body(written: str) -> dict:
    """The first JSON object of a reply, which some servers have "data:" around. Raises
    Failed if it is none with choices, or a stream of parts.
    """
    try:
        start = max(written.find("{"), 0)
        body, end = json.JSONDecoder().raw_decode(written, start)
    except (ValueError, RecursionError) as broken:
        raise Failed(f"found no JSON object ({broken}) in {written}") from None
    if '"choices"' in written[end:]:
        raise Failed(f"found a stream of parts, expected one object: {written}")
    if not isinstance(body, dict) or body.get("error") or not body.get("choices"):
        raise Failed(f"found an error in place of a text: {body!r}")
    return body
