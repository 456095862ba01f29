"""Tells the thoughts of a model that thinks from its text, wherever they stand in its reply."""

import re
from collections.abc import Mapping

THINKING_TOKENS = 4_000  # which a model that thinks may write before a text, unless set

_NAME = r"(?:think(?:ing)?|thoughts?|reasoning)"
_OPEN = rf"(?:(?i:<(?:\w+:)?{_NAME}>|<\|(?:start|begin)_(?:of_)?{_NAME}\|>|◁{_NAME}▷)|\[THINK\])"
_CLOSE = rf"(?:(?i:</(?:\w+:)?{_NAME}>|<\|end_(?:of_)?{_NAME}\|>|◁/{_NAME}▷)|\[/THINK\])"
_CLOSE = rf"(?<![`\"'“‘(]){_CLOSE}"  # one that is quoted is a word of the text
OPENING = re.compile(rf"\s*{_OPEN}")
CLOSING = re.compile(_CLOSE)
# without an opening, nor is one within a sentence: "The element </think> is unknown."
LONE_CLOSING = re.compile(rf"(?<!\w ){_CLOSE}|{_CLOSE}(?! ?[a-z.,;:)])")
OPENED = re.compile(rf"{_OPEN}\s*$")  # a prompt's end, as some chat templates write it
# gpt-oss's format (Harmony), with its marks or, as some servers have it, without them
CHANNEL = re.compile(r"\s*(?:(?:<\|start\|>assistant)?<\|channel\|>|analysis(?=[A-Z]))")
FINAL = re.compile(r"<\|channel\|>final[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>|assistantfinal")
FINAL_END = re.compile(r"<\|(?:end|return|start|call)\|>")
# which some models write around the text after their thoughts
SOLUTION = re.compile(r"\s*<\|(?:begin|end)_of_solution\|>\s*")
MARKS = rf"{_OPEN}|{_CLOSE}|<\|channel\|>\w+[^<]*<\|message\|>|<\|start\|>assistant|<\|\w+\|>"
MARKS = re.compile(rf"{MARKS}|^\s*analysis(?=[A-Z])|assistantfinal$")
SOME = ("<", "◁", "THINK]", "analysis")  # one of these is in every text that has thoughts
FIELDS = "reasoning_content reasoning thinking reasoning_details thinking_blocks".split()
VALUES = "text thinking reasoning refusal summary content".split()  # where a part has its text


def split_thoughts(written: str) -> tuple[str, str | None]:
    """The thoughts and the text of what a model wrote; None if the thoughts do not end.

    Thoughts begin the reply, in a block of one of the usual kinds, or end with a lone closing tag,
    if the prompt opened them. The text is what follows the last closing tag.
    """
    if not any(mark in written for mark in SOME):
        return "", written
    channels = CHANNEL.match(written)
    closing = FINAL if channels else CLOSING if OPENING.match(written) else LONE_CLOSING
    ends = [match.end() for match in closing.finditer(written)]
    end = ends[-1] if ends else 0
    thoughts, text = MARKS.sub("", written[:end]).strip(), written[end:]
    if OPENING.match(text) or (channels and not ends):
        return MARKS.sub("", written).strip(), None
    if channels:
        text = FINAL_END.split(text)[0]
    text = SOLUTION.sub("", text) if ends else text
    return thoughts, text.lstrip() if ends else text


def read_message(message: Mapping) -> tuple[str | None, str, str]:
    """What a server wrote as text (None: nothing), as thoughts, and as a refusal: in fields of
    their own, or as parts of the content.
    """
    content = message.get("content")
    parts = {"text": [], "thoughts": [], "refusal": [_join(message.get("refusal"))]}
    for part in content if isinstance(content, list) else [content]:
        kind = str(part.get("type") or [*part]) if isinstance(part, dict) else ""
        told = "thoughts" if re.search("think|thought|reason", kind) else "text"
        parts["refusal" if "refusal" in kind else told].append(_join(part))
    fields = (_join(message.get(name)) for name in FIELDS)
    parts["thoughts"].append(next(filter(None, fields), None))
    read = {name: [text for text in texts if text is not None] for name, texts in parts.items()}
    text = "".join(read["text"]) if read["text"] else None
    return text, "\n".join(read["thoughts"]).strip(), "".join(read["refusal"])


def _join(value: object) -> str | None:
    """The text of a value, of its parts, or of the first of VALUES that has one."""
    if isinstance(value, dict):
        texts = (_join(value.get(name)) for name in VALUES)
        return next((text for text in texts if text is not None), None)
    if isinstance(value, list):
        return "".join(filter(None, map(_join, value)))
    return value if isinstance(value, str) else None
