"""Tells the thoughts of a model that thinks before it writes from its text, by their marks."""

import re

# how thoughts begin and end, in the words of models and of the programs that serve them
_THINK = r"(?i:think(?:ing)?|thoughts?|reasoning)"
TAGS = {
    rf"<(?:\w+[:_])?{_THINK}>": rf"</(?:\w+[:_])?{_THINK}>",  # most models; <seed:think>
    r"\[THINK\]": r"\[/THINK\]",  # Magistral
    r"◁think▷": r"◁/think▷",  # Kimi
    rf"<\|(?i:start|begin)_(?:of_)?{_THINK}\|>": rf"<\|(?i:end)_(?:of_)?{_THINK}\|>",  # Command
    r"<\|inner_prefix\|>": r"<\|inner_suffix\|>",  # Apertus
}
# whose end says nothing without their beginning
PAIRS = {
    r"<\|channel>thought": r"<channel\|>",  # Gemma
    r"Here is my thought process:": r"Here is my response:",  # Granite
    # Harmony (gpt-oss), with its marks or, as some servers have it, without them
    r"(?:<\|start\|>assistant)?<\|channel\|>|analysis(?=[A-Z])":
        r"<\|channel\|>final[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>|assistantfinal",
}  # fmt: skip
_OPEN = "|".join(TAGS | PAIRS)
_CLOSE = rf"(?<![`\"'“‘(])(?:{'|'.join(TAGS.values())})"  # one that is quoted is a word of the text
_END = "|".join(PAIRS.values())
OPENING = re.compile(rf"\s*(?:{_OPEN})")
CLOSING = re.compile(f"{_CLOSE}|{_END}")
# nor is one within a sentence, if no thoughts were opened: "The element </think> is unknown."
LONE_CLOSING = re.compile(rf"(?<!\w ){_CLOSE}|{_CLOSE}(?! ?[a-z.,;:)])")
# what some models write around the text after their thoughts, and marks in the thoughts
AROUND = re.compile(r"^\s*(?:<[|/]?\w+\|?>\s*)+|\s*(?:<[|/]?\w+\|?>\s*)+$")
_CHANNEL = r"<\|channel\|>\w+[^<]*<\|message\|>|<\|start\|>assistant|<\|\w+\|>"
WITHIN = re.compile(f"{_CHANNEL}|{_OPEN}|{_CLOSE}|{_END}")


def split_thoughts(written: str) -> tuple[str, str | None]:
    """The thoughts and the text of what a model wrote; None if the thoughts do not end. They begin
    the reply, or end with a lone closing mark if the prompt's template opened them. The text is
    what follows the last closing mark.
    """
    opened = OPENING.match(written)
    ends = [mark.end() for mark in (CLOSING if opened else LONE_CLOSING).finditer(written)]
    if not ends and not opened:
        return "", written
    end = ends[-1] if ends else len(written)
    thoughts, text = WITHIN.sub("", written[:end]).strip(), written[end:]
    if not ends or OPENING.match(text):
        return thoughts, None
    return thoughts, AROUND.sub("", text).lstrip()
