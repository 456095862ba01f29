"""What a model wrote: the text of a choice in a server's reply, without the thoughts
before it.
"""

import re
from collections.abc import Mapping
from math import isfinite
from statistics import StatisticsError, fmean
from typing import NamedTuple

from ircotlib.program import Generate, Sample
from ircotlib.text import cut, stop_end, without_echo

# how thoughts begin and end, in the words of models and of the programs that serve them
_THINK = r"(?i:think(?:ing)?|thoughts?|reasoning)"
TAGS = {
    # most models; <seed:think>
    rf"<(?:\w+[:_])?{_THINK}>": rf"</(?:\w+[:_])?{_THINK}>",
    r"\[THINK\]": r"\[/THINK\]",  # Magistral
    r"◁think▷": r"◁/think▷",  # Kimi
    # Command
    rf"<\|(?i:start|begin)_(?:of_)?{_THINK}\|>": rf"<\|(?i:end)_(?:of_)?{_THINK}\|>",
    r"<\|inner_prefix\|>": r"<\|inner_suffix\|>",  # Apertus
}
# thoughts whose end mark means nothing without the one at their beginning
PAIRS = {
    r"<\|channel>thought": r"<channel\|>",  # Gemma
    r"Here is my thought process:": r"Here is my response:",  # Granite
    # Harmony (gpt-oss), with its marks or, as some servers have it, without them
    r"(?:<\|start\|>assistant)?<\|channel\|>|analysis(?=[A-Z])":
        r"<\|channel\|>final[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>|assistantfinal",
}  # fmt: skip
_OPEN = "|".join(TAGS | PAIRS)
# one that is quoted is a word of the text
_CLOSE = rf"(?<![`\"'“‘(])(?:{'|'.join(TAGS.values())})"
_END = "|".join(PAIRS.values())
OPENING, CLOSING = re.compile(rf"\s*(?:{_OPEN})"), re.compile(f"{_CLOSE}|{_END}")
# nor is one within a sentence, if no thoughts were opened: "The element </think> is
# unknown."
LONE_CLOSING = re.compile(rf"(?<!\w ){_CLOSE}|{_CLOSE}(?! ?[a-z.,;:)])")
# what some models write around their text, and marks in the thoughts
_MARK = r"(?:<\|/?\w+\|>|</?(?:\w+_)?(?:answer|response|solution|output)>)"
AROUND = re.compile(rf"^\s*(?:{_MARK}\s*)+|(?:\s*{_MARK})+\s*$")
_CHANNEL = r"<\|channel\|>\w+[^<]*<\|message\|>|<\|start\|>assistant|<\|\w+\|>"
WITHIN = re.compile(f"{_CHANNEL}|{_OPEN}|{_CLOSE}|{_END}")
THOUGHTS = (
    "reasoning_content reasoning thinking reasoning_details thinking_blocks".split()
)
# where a part has its text
VALUES = "text thinking reasoning refusal summary content".split()
# in the reasons that servers give for a text's end
LIMIT = re.compile("length|max_.*tokens")
FILTER = re.compile("filter|safety|refusal|prohibited")
FAILED = re.compile(
    "error|abort|cancel|time.?d?.?out|fail|interrupt|overload|insufficient"
)


class Failed(RuntimeError):
    """A reply without a text, which may have one if it is asked for again."""


class Written(NamedTuple):
    """What is kept of a text, None if there are only thoughts; the mean log-probability
    of its tokens, if it is known; whether a limit cut what was written, and whether its
    stop came before.
    """

    text: str | None
    thoughts: str
    mean: float | None = None
    cut: bool = False
    stopped: bool = False


def split_thoughts(written: str) -> tuple[str, str | None]:
    """The thoughts and the text that a model wrote; the text is None if thoughts do not
    end. Thoughts are at the beginning, or end with a lone closing mark; the text
    follows the last one.
    """
    opened = OPENING.match(written)
    ends = [
        mark.end() for mark in (CLOSING if opened else LONE_CLOSING).finditer(written)
    ]
    if not ends and not opened:
        return "", AROUND.sub("", written)
    end = ends[-1] if ends else len(written)
    thoughts, text = WITHIN.sub("", written[:end]).strip(), written[end:]
    if not ends or OPENING.match(text):
        return thoughts, None
    return thoughts, AROUND.sub("", text).lstrip()


def read_choice(choice: Mapping, request: Generate | Sample, chat: bool) -> Written:
    """What a choice of a completion or a chat holds for a request; oddities beside its
    text are ignored. Raises ValueError for a refusal, and Failed if the server failed
    to write a text.
    """
    message = choice.get("message") if isinstance(choice.get("message"), dict) else {}
    ends = f"{choice.get('finish_reason')} {choice.get('native_finish_reason')}".lower()
    if choice.get("error") or message.get("error") or FAILED.search(ends):
        raise Failed(f"the server failed to write a text: {choice!r:.200}")
    content = message.get("content", choice.get("text"))
    texts, refusal = [], text_of(message.get("refusal"))
    thoughts = next(filter(None, (text_of(message.get(name)) for name in THOUGHTS)), "")
    for part in content if isinstance(content, list) else [content]:
        kind = str(part.get("type") or [*part]) if isinstance(part, dict) else ""
        if re.search("think|thought|reason", kind):
            thoughts += text_of(part)
        elif "refusal" in kind:
            refusal += text_of(part)
        elif isinstance(part, str | dict):
            texts.append(text_of(part))
    if refusal or FILTER.search(ends):
        raise ValueError(
            f"found a refusal, expected a text: {refusal or choice!r:.200}"
        )
    within, text = split_thoughts("".join(texts))
    thoughts, limited = f"{thoughts}\n{within}".strip(), bool(LIMIT.search(ends))
    text = text.lstrip() if text and thoughts else text
    if text is None or (not text and (thoughts or limited)):
        return Written(None, thoughts)
    if not texts:
        raise Failed(f"found a choice without a text: {choice!r:.200}")
    if chat:  # as a completion of the prompt would be
        prompt = (
            request.prompt
            if isinstance(request.prompt, str)
            else request.prompt[-1].text
        )
        text = without_echo(text, prompt)
    kept, stopped = (
        cut(text, request.stop),
        stop_end(text, request.stop, complete=False),
    )
    mean = mean_log_probability(choice.get("logprobs"), text, kept)
    return Written(kept, thoughts, mean, limited, stopped is not None)


def text_of(value: object) -> str:
    """The text of a value, of all its parts, or of the first of VALUES that has one."""
    if isinstance(value, dict):
        return next(filter(None, (text_of(value.get(name)) for name in VALUES)), "")
    if isinstance(value, list):
        return "".join(map(text_of, value))
    return value if isinstance(value, str) else ""


def mean_log_probability(logs: object, text: str, kept: str) -> float | None:
    """The mean over the tokens of the kept part; None if they do not spell it, or one
    is odd.
    """
    try:
        if "content" in logs:  # of a chat
            tokens = [(token["token"], token["logprob"]) for token in logs["content"]]
        else:
            tokens = [*zip(logs["tokens"], logs["token_logprobs"], strict=True)]
        spelt, values, offset = "".join(token for token, _ in tokens), [], 0
        # thoughts may quote it
        start = 0 if spelt.startswith(text) else spelt.rindex(text)
        start += text.index(kept)
        for token, value in tokens:
            if offset < start + len(kept) and offset + len(token) > start:
                values.append(float(value))
            offset += len(token)
        # the same from Python 3.12 on, where `sum` rounds otherwise
        mean = fmean(values)
        return mean if isfinite(mean) else None
    except (KeyError, TypeError, ValueError, StatisticsError):
        return None
