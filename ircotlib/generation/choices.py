"""What a server wrote: a choice of its reply to a completion or a chat, in OpenAI's protocol. All
that is odd beside a text is ignored.
"""

import re
from collections.abc import Mapping
from math import isfinite
from typing import NamedTuple

from ircotlib.generation.thoughts import split_thoughts
from ircotlib.text import without_echo

# in the reasons that servers give for a text's end
LIMIT = re.compile("length|max_.*tokens")
FILTER = re.compile("filter|safety|refusal|prohibited")
FAILED = re.compile("error|abort|cancel|time.?d?.?out|fail|interrupt|overload|insufficient")
THOUGHTS = "reasoning_content reasoning thinking reasoning_details thinking_blocks".split()
VALUES = "text thinking reasoning refusal summary content".split()  # where a part has its text


class Failed(RuntimeError):
    """A reply without a text, which may have one if it is asked for again."""


class Written(NamedTuple):
    """A text that a server wrote. `text`: without thoughts, None if there is nothing else;
    `tokens`: of both, with their log-probabilities, if it has them; `cut`: by a limit.
    """

    text: str | None
    thoughts: str
    tokens: list[tuple[str, float]]
    cut: bool

    def mean_log_probability(self, kept: str) -> float | None:
        """That of the tokens of what is kept of the text; None if they do not spell it."""
        spelt, values, offset = "".join(token for token, _ in self.tokens), [], 0
        if not kept or self.text not in spelt:
            return None
        start = 0 if spelt.startswith(self.text) else spelt.rfind(self.text)  # thoughts quote it
        start += self.text.find(kept)
        for token, value in self.tokens:
            if offset < start + len(kept) and offset + len(token) > start:
                values.append(value)
            offset += len(token)
        return mean if isfinite(mean := sum(values) / len(values)) else None


def read_choice(choice: Mapping, prompt: str | None) -> Written:
    """The text of a choice; of a chat as a completion of its `prompt` would be. Raises ValueError
    for a refusal, and Failed for what the server failed to write, whatever stands beside that.
    """
    message = choice.get("message") if isinstance(choice.get("message"), dict) else {}
    ends = f"{choice.get('finish_reason')} {choice.get('native_finish_reason')}".lower()
    if choice.get("error") or message.get("error") or FAILED.search(ends):
        raise Failed(f"found a text that failed: {choice!r:.200}")
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
        raise ValueError(f"found a refusal, expected a text: {refusal or choice!r:.200}")
    within, text = split_thoughts("".join(texts))
    thoughts, limited = f"{thoughts}\n{within}".strip(), bool(LIMIT.search(ends))
    text = text.lstrip() if text and thoughts else text
    if not text and (thoughts or limited):
        text = None
    elif not texts:
        raise Failed(f"found a choice without a text: {choice!r:.200}")
    elif prompt is not None:
        text = without_echo(text, prompt)
    return Written(text, thoughts, _tokens(choice.get("logprobs")), limited)


def text_of(value: object) -> str:
    """The text of a value, of all its parts, or of the first of VALUES that has one."""
    if isinstance(value, dict):
        return next(filter(None, (text_of(value.get(name)) for name in VALUES)), "")
    if isinstance(value, list):
        return "".join(map(text_of, value))
    return value if isinstance(value, str) else ""


def _tokens(logs: object) -> list[tuple[str, float]]:
    """The tokens of a choice with their log-probabilities; none if one of them is odd."""
    try:
        if "content" in logs:  # of a chat
            return [(token["token"] + "", float(token["logprob"])) for token in logs["content"]]
        pairs = zip(logs["tokens"], logs["token_logprobs"], strict=True)
        return [(token + "", float(value)) for token, value in pairs]
    except (KeyError, TypeError, ValueError):
        return []
