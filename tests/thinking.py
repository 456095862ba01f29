"""A server on loopback whose model thinks before it writes, in one of the usual ways."""

import re
from functools import partial

from serving import Fake

THOUGHTS = "Let me see.\n\nQ: Who is it? Ann or Ben?\nA: It may be Ann. So the answer is: Ben."
NAMES = ("think", "thinking", "reasoning", "thought", "Think")
TAGS = {name: (f"<{name}>\n", f"\n</{name}>\n\n") for name in NAMES}  # in the text itself
TAGS |= {"THINK": ("[THINK]", "[/THINK]"), "empty": ("<think>\n\n</think>\n<think>", "</think>")}
HARMONY = "<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"
TAGS |= {"harmony": HARMONY, "harmony without marks": ("analysis", "assistantfinal")}
OPENED = {"opened": ("", "\n</think>\n\n"), "opened in a line": ("", "</think>")}  # by a template


def _beside(thoughts: str, text: str | None, *, name: str, empty: object = None) -> dict:
    return {"content": empty if text is None else text, name: thoughts}


def _details(thoughts: str, text: str | None) -> dict:
    return {"content": text, "reasoning_details": [{"type": "reasoning.text", "text": thoughts}]}


def _parts(thoughts: str, text: str | None) -> dict:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": thoughts}]}]
    half = len(text or "") // 2
    texts = [] if text is None else [text[:half], {"type": "text", "text": text[half:]}]
    return {"role": "assistant", "content": [*parts, *texts]}


FIELDS = {name: partial(_beside, name=name) for name in ("reasoning_content", "thinking")}
FIELDS |= {"empty content": partial(_beside, name="reasoning_content", empty="")}
FIELDS |= {"reasoning": partial(_beside, name="reasoning", empty="\n\n"), "parts": _parts}
FIELDS |= {"details": _details, "hidden": lambda thoughts, text: {"content": text or ""}}
PIECE = re.compile(r"\s*\S+|\s+$")  # a token
CHATS = [*TAGS, *OPENED, *FIELDS]


class Thinker(Fake):
    """Thinks, then answers each prompt with itself in capitals, or each sample with another of its
    `texts`, pairs of text and log-probability. As in most servers, stop and max_tokens are applied
    to all that is written, thoughts included; a word is a token.
    """

    def __init__(self, httpserver, way: str, thoughts: str = THOUGHTS):
        self.way, self.thoughts, self.texts = way, thoughts, {}
        super().__init__(httpserver)
        self.faults = {"all": _Always([self.think])}

    def think(self, body: dict) -> dict:
        prompt = body.get("prompt") or body["messages"][-1]["content"]
        texts, choices, usage = self.texts.get(prompt), [], {"prompt_tokens": 7}
        for number in range(body.get("n", 1)):
            text = texts[number % len(texts)] if texts else (prompt.upper(), -0.5)
            choice, tokens = self._write(body, *text)
            usage["completion_tokens"] = usage.get("completion_tokens", 0) + tokens
            choices.append(choice)
        if self.way == "hidden":
            usage["completion_tokens_details"] = {"reasoning_tokens": len(self.thoughts.split())}
        return {"choices": choices, "usage": usage}

    def _write(self, body: dict, text: str, log: float) -> tuple[dict, int]:
        """A choice, and its number of tokens."""
        opening, closing = (TAGS | OPENED).get(self.way, TAGS["think"])
        head = opening + self.thoughts + closing
        tokens = [(piece, -9.0) for piece in PIECE.findall(head)]
        tokens += [(piece, log) for piece in PIECE.findall(text)]
        ends = [at for stop in body.get("stop", ()) if (at := (head + text).find(stop)) >= 0]
        whole, kept, length = (head + text)[: min(ends, default=None)], [], 0
        for token in tokens:
            if length >= len(whole):
                break
            if len(kept) == body["max_tokens"]:
                whole, ends = whole[:length], None
                break
            kept.append(token)
            length += len(token[0])
        choice = {"finish_reason": "length" if ends is None else "stop"}
        if "messages" not in body:
            logs = zip(("tokens", "token_logprobs"), zip(*kept, strict=True), strict=True)
            return choice | {"text": whole, "logprobs": dict(logs)}, len(kept)
        logs = [{"token": piece, "logprob": value} for piece, value in kept]
        choice |= {"logprobs": {"content": logs}}
        if self.way not in FIELDS:
            return choice | {"message": {"content": whole}}, len(kept)
        thoughts, closed, text = whole.removeprefix(opening).partition(closing)
        message = FIELDS[self.way](thoughts, text if closed else None)
        return choice | {"message": message}, len(kept)


class _Always(list):
    """A list of faults that never ends."""

    def pop(self, _=0):
        return self[0]
