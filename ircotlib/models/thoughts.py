"""What a model wrote: the text of a server's choice, without the thoughts before it."""

import json
import re
from collections.abc import Mapping, Sequence
from math import isfinite
from statistics import StatisticsError, fmean
from typing import Any, NamedTuple

from ircotlib.program import Generate, Sample
from ircotlib.text import cut, stop_end, without_echo

# how thoughts begin and end; whose form that is; and whether a closing mark counts
# alone, since a template may have written the opening one into the prompt
_THINKS = r"(?i:think|thought|reason|reflect|analy|scratch|monol|delib|rationa|ponder)"
_NAME = rf"[\w:-]*{_THINKS}[\w:-]*"  # of a tag
# a heading, or bold type in its place
_HEADING = r"(?:\*\*|#+ )(?i:{}):?(?:\*\*:?|(?=\s*\n))"
MARKS = (
    (rf"<\|?{_NAME}(?:\s[^<>]*)?\|?>",
        rf"<\|?(?:/{_NAME}\s*|(?i:end)_{_NAME}|{_NAME}_(?i:end))\|?>", "most", True),
    (rf"<details[^<]*(?:<summary[^<]*)?{_THINKS}", "</details>", "Open WebUI", False),
    (_HEADING.format("thinking(?: process)?"),
        _HEADING.format("(?:final )?(?:answer|response|output)"), "headings", False),
    (r"\[(?i:think|reason)\w*\]", r"\[/(?i:think|reason)\w*\]", "Magistral", True),
    (r"```(?i:think(?:ing)?|thoughts?|reasoning)\s*\n", r"\n```\s*\n", "fences", False),
    ("◁think▷", "◁/think▷", "Kimi", True),
    (r"<\|inner_prefix\|>", r"<\|inner_suffix\|>", "Apertus", True),
    (r"<(?:\|channel|unused\d+)>thought", r"<(?:channel\||unused\d+)>", "Gemma", False),
    ("Here is my thought process:", "Here is my response:", "Granite", False),
    # Harmony, with its marks or, as some servers have it, without them
    (r"(?:<\|start\|>assistant)?<\|channel\|>|analysis(?=[A-Z])",
        r"<\|channel\|>final[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>|assistantfinal",
        "gpt-oss", False),
)  # fmt: skip
_OPEN = "|".join(f"({opening})" for opening, *_ in MARKS)
_PAIRED = "|".join(closing for _, closing, _, lone in MARKS if not lone)
_LONE = "|".join(closing for _, closing, _, lone in MARKS if lone)
_LONE = rf"(?<![`\"'“‘(])(?:{_LONE})"  # one that is quoted is a word of the text
OPENING = re.compile(rf"\s*(?:{_OPEN})")
CLOSING = [
    re.compile(_LONE if lone else f"{_LONE}|{closing}") for _, closing, _, lone in MARKS
]
# nor does one within a sentence count: "The element </think> is unknown."
LONE_CLOSING = re.compile(rf"(?<!\w ){_LONE}|{_LONE}(?! ?[a-z.,;:)])")
# what some models write around their text, and marks in the thoughts
_MARK = r"(?i:<\|/?\w+\|>|</?(?:\w+_)?(?:answer|response|solution|output|turn|s)>)"
AROUND = re.compile(rf"^\s*(?:{_MARK}\s*)+|(?:(?<!\s)\s*{_MARK})+\s*$")
_CHANNEL = r"<\|channel\|>\w+[^<]*<\|message\|>|<\|start\|>assistant|<\|\w+\|>"
WITHIN = re.compile(f"{_CHANNEL}|{_OPEN}|{_LONE}|{_PAIRED}")
# where a message has its thoughts, beside the text
THOUGHTS = ("reasoning_content", "reasoning", "thinking",
            "reasoning_details", "thinking_blocks")  # fmt: skip
# where a part of a message has its text
VALUES = ("text", "thinking", "reasoning", "refusal", "summary", "content")
# in the reasons that servers give for a text's end
LIMIT = re.compile("length|max_.*tokens|context")
CALL = re.compile("tool|function")
FILTER = re.compile("filter|safety|refus|prohib|block|sensit|spii|recitation|guardrail")
_FAILED = "error|abort|cancel|time.?d?.?out|fail|interrupt|overload|insufficient"
FAILED = re.compile(rf"{_FAILED}|shutdown|kill|evict|preempt|drop|pause|\bother\b")


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
    end. Thoughts are at the beginning, or end with a lone closing mark; the text
    follows the last one.

    >>> split_thoughts("<think>Ann or Ben?</think> It is Ann.")
    ('Ann or Ben?', 'It is Ann.')
    >>> split_thoughts("<think>Ann or")
    ('Ann or', None)
    """
    opened = OPENING.match(written)
    closing = LONE_CLOSING
    if opened and opened.lastindex:
        closing = CLOSING[opened.lastindex - 1]  # of the mark that opens them
    ends = [mark.end() for mark in closing.finditer(written)]
    if not ends and not opened:
        return "", AROUND.sub("", written)
    end = ends[-1] if ends else len(written)
    thoughts = WITHIN.sub("", written[:end]).strip()
    text = written[end:]
    if not ends or OPENING.match(text):
        return thoughts, None
    return thoughts, AROUND.sub("", text).lstrip()


def read_choices(
    choices: Sequence, request: Generate | Sample, chat: bool
) -> tuple[list[Written], Exception]:
    """What all choices hold, in the order of their indices, and the last fault."""
    texts = []
    fault: Exception = Failed("found no choice in a reply")
    found = [choice for choice in choices if isinstance(choice, dict)]
    for choice in sorted(found, key=lambda choice: count_of(choice, "index")):
        try:
            texts.append(read_choice(choice, request, chat))
        except (Failed, ValueError) as error:
            fault = error
    return texts, fault


def read_choice(choice: Mapping, request: Generate | Sample, chat: bool) -> Written:
    """What a choice of a completion or a chat holds for a request, without oddities
    beside it. Raises ValueError for a refusal or a call of a tool, and Failed if there
    is no text.
    """
    message = choice.get("message")
    if not isinstance(message, dict):
        message = {}
    ends = f"{choice.get('finish_reason')} {choice.get('native_finish_reason')}".lower()
    if choice.get("error") or message.get("error") or FAILED.search(ends):
        raise Failed(f"the server failed to write a text: {choice!r}")
    texts, thoughts, refusal = _read_parts(message, choice.get("text"))
    if refusal or FILTER.search(ends):
        raise ValueError(f"found a refusal, expected a text: {refusal or choice!r}")
    within, text = split_thoughts("".join(texts))
    thoughts = f"{thoughts}\n{within}".strip()
    limited = bool(LIMIT.search(ends))
    if text and thoughts:
        text = text.lstrip()
    if not (text or "").strip() and (CALL.search(ends) or message.get("tool_calls")):
        raise ValueError(f"found a call of a tool, expected a text: {choice!r}")
    if text is None or (not text and (thoughts or limited)):
        return Written(None, thoughts)
    if not texts:
        raise Failed(f"found a choice without a text: {choice!r}")
    if chat:  # as a completion of the prompt would be
        prompt = request.prompt
        text = without_echo(
            text, prompt if isinstance(prompt, str) else prompt[-1].text
        )
    kept = cut(text, request.stop)
    stopped = stop_end(text, request.stop, complete=False) is not None
    mean = mean_log_probability(choice.get("logprobs"), text, kept)
    return Written(kept, thoughts, mean, limited, stopped)


def _read_parts(message: Mapping, completed: object) -> tuple[list[str], str, str]:
    """The texts, the thoughts and the refusal of a message, or of a completed text."""
    texts = []
    thoughts = text_of(message, THOUGHTS)  # servers repeat them in several fields
    refusal = text_of(message.get("refusal"))
    content = message.get("content", completed)
    for part in content if isinstance(content, list) else [content]:
        # the names of its fields tell it, too
        kind = str(part.get("type") or [*part]) if isinstance(part, dict) else ""
        if re.search("think|thought|reason", kind):
            thoughts += text_of(part)
        elif "refusal" in kind:
            refusal += text_of(part)
        elif isinstance(part, str | dict):
            texts.append(text_of(part))
    return texts, thoughts, refusal


def text_of(value: object, names: Sequence[str] = VALUES) -> str:
    """The text of a value, of all its parts, or of its first field that has one."""
    if isinstance(value, dict):
        return next(filter(None, (text_of(value.get(name)) for name in names)), "")
    if isinstance(value, list):
        return "".join(map(text_of, value))
    return value if isinstance(value, str) else ""


def mean_log_probability(logs: Any, text: str, kept: str) -> float | None:
    """The mean over the tokens of the kept part of a text. `logs`: JSON of any form;
    None if its tokens do not spell the text, or one is odd.
    """
    try:
        if "content" in logs:  # of a chat
            tokens = [(token["token"], token["logprob"]) for token in logs["content"]]
        else:
            tokens = [*zip(logs["tokens"], logs["token_logprobs"], strict=True)]
        spelt = "".join(token for token, _ in tokens)
        # the last time that it is spelt: thoughts may quote it
        first = 0 if spelt.startswith(text) else spelt.rindex(text)
        first += text.index(kept)
        values = []
        offset = 0
        for token, value in tokens:
            if offset < first + len(kept) and offset + len(token) > first:
                values.append(float(value))
            offset += len(token)
        # the same from Python 3.12 on, where `sum` rounds otherwise
        mean = fmean(values)
        return mean if isfinite(mean) else None
    except (KeyError, TypeError, ValueError, OverflowError, StatisticsError):
        return None


def count_of(content: object, name: str) -> int:
    """A field of JSON that counts something; 0 if it is missing or no such count."""
    value = content.get(name) if isinstance(content, dict) else 0
    return value if type(value) is int and 0 < value < 10**12 else 0


def tokens_of(usage: object) -> tuple[int, int, bool]:
    """Tokens read and written, 0 if not said; and whether some are unseen thoughts."""
    read = count_of(usage, "prompt_tokens")
    total = count_of(usage, "total_tokens")  # the other count may lack the thoughts
    written = max(count_of(usage, "completion_tokens"), total - read)
    hidden = re.search(r"'reasoning_tokens': [1-9]", str(usage))
    return read, written, hidden is not None


def read_body(written: str) -> dict:
    """The first JSON object in a reply, whatever is around it. Raises Failed if it is
    none with choices.
    """
    try:
        body, end = json.JSONDecoder().raw_decode(written, max(written.find("{"), 0))
    except (ValueError, RecursionError) as broken:
        raise Failed(f"found no JSON object ({broken}) in {written}") from None
    if '"choices"' in written[end:]:
        raise Failed(f"found a stream of parts, expected one object: {written}")
    if isinstance(body, dict) and body.get("choices") and not body.get("error"):
        return body
    raise Failed(f"found an error in place of a text: {body!r}")
