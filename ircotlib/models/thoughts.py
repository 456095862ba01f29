"""What a model wrote: the text of a server's choice, without the thoughts before it."""

import re
from collections.abc import Mapping
from statistics import fmean
from typing import Any, NamedTuple

from ircotlib.program import Generate, Sample
from ircotlib.text import cut, stop_end, without_echo

_THINK = r"(?:\w+[:_])?(?:think(?:ing)?|thoughts?|reasoning)"
# how thoughts begin and end; other marks of a model are one more line
MARKS = (
    (rf"<{_THINK}>", rf"</{_THINK}>"),  # most models
    (r"\[THINK\]", r"\[/THINK\]"),  # Magistral
    ("◁think▷", "◁/think▷"),  # Kimi
    (rf"<\|(?:start|begin)_(?:of_)?{_THINK}\|>", rf"<\|end_(?:of_)?{_THINK}\|>"),
    (r"<\|inner_prefix\|>", r"<\|inner_suffix\|>"),  # Apertus
    (r"<\|channel>thought", r"<channel\|>"),  # Gemma
    ("Here is my thought process:", "Here is my response:"),  # Granite
    (
        r"<\|channel\|>analysis<\|message\|>",  # gpt-oss
        r"(?:<\|end\|><\|start\|>assistant)?<\|channel\|>final<\|message\|>",
    ),
)
OPENING = re.compile("|".join(opening for opening, _ in MARKS), re.IGNORECASE)
CLOSING = re.compile("|".join(closing for _, closing in MARKS), re.IGNORECASE)
# what some models write around their text
_MARK = r"(?:<\|/?\w+\|>|</?(?:\w+_)?(?:answer|response|solution|output)>)"
AROUND = re.compile(rf"^\s*(?:{_MARK}\s*)+|(?:\s*{_MARK})+\s*$")
# where a message has its thoughts, beside the text
THOUGHTS = ("reasoning_content", "reasoning", "thinking")
FAILED = ("error", "abort")  # why a text ended that is worth nothing


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
    end. Thoughts are at the beginning, and the text follows their last closing mark.

    >>> split_thoughts("<think>Ann or Ben?</think> It is Ann.")
    ('Ann or Ben?', 'It is Ann.')
    >>> split_thoughts("<think>Ann or")
    ('Ann or', None)
    """
    opened = OPENING.match(written.lstrip())
    ends = [mark.end() for mark in CLOSING.finditer(written)]
    # a template may have written the opening mark into the prompt, and none is here
    if not opened and (not ends or OPENING.search(written, 0, ends[0])):
        return "", AROUND.sub("", written)
    end = ends[-1] if ends else len(written)
    text = written[end:].lstrip()
    thoughts = CLOSING.sub("", OPENING.sub("", written[:end])).strip()
    if not ends or OPENING.match(text):
        return thoughts, None
    return thoughts, AROUND.sub("", text).lstrip()


def read_choice(choice: Mapping, request: Generate | Sample, chat: bool) -> Written:
    """What a choice of a completion or a chat holds for a request. Raises ValueError
    for a refusal, and Failed if there is no text.
    """
    message = choice.get("message") or {}
    end = choice.get("finish_reason")
    if end in FAILED:
        raise Failed(f"the server failed to write a text: {choice!r:.200}")
    if message.get("refusal") or end == "content_filter":
        raise ValueError(f"found a refusal, expected a text: {choice!r:.200}")
    content = message.get("content") if chat else choice.get("text")
    beside = (text_of(message.get(name)) for name in THOUGHTS)
    thoughts = next(filter(None, beside), "")  # servers repeat them in several fields
    written = ""
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, dict) and "thinking" in part:
            thoughts += text_of(part)
        else:
            written += text_of(part)
    within, text = split_thoughts(written)
    thoughts = f"{thoughts}\n{within}".strip()
    if text and thoughts:
        text = text.lstrip()
    if text is None or (not text and (thoughts or end == "length")):
        return Written(None, thoughts)
    if content is None:
        raise Failed(f"found a choice without a text: {choice!r:.200}")
    if chat:  # as a completion of the prompt would be
        prompt = request.prompt
        last = prompt if isinstance(prompt, str) else prompt[-1].text
        text = without_echo(text, last)
    kept = cut(text, request.stop)
    stopped = stop_end(text, request.stop, complete=False) is not None
    mean = mean_log_probability(choice.get("logprobs"), text, kept)
    return Written(kept, thoughts, mean, end == "length", stopped)


def text_of(content: Any) -> str:
    """The text of a message's content: a text, a part that has one, or several."""
    if isinstance(content, list):
        return "".join(map(text_of, content))
    if isinstance(content, dict):
        return text_of(content.get("thinking") or content.get("text"))
    return content or ""


def mean_log_probability(logs: Any, text: str, kept: str) -> float | None:
    """The mean over the tokens of the kept part of a text. `logs`: JSON of any form;
    None if its tokens do not spell the text.
    """
    try:
        if "content" in logs:  # of a chat
            tokens = [(token["token"], token["logprob"]) for token in logs["content"]]
        else:
            tokens = list(zip(logs["tokens"], logs["token_logprobs"], strict=True))
        # the last time that the text is spelt: thoughts may quote it
        first = "".join(token for token, _ in tokens).rindex(text) + text.index(kept)
        values = []
        at = 0
        for token, value in tokens:
            if at < first + len(kept) and at + len(token) > first:
                values.append(value)
            at += len(token)
        # the same from Python 3.12 on, where `sum` rounds otherwise
        return fmean(values)
    except (KeyError, TypeError, ValueError):
        return None
