"""What a model behind a server is asked so that a request is answered, and what is kept of it; and
whether it thinks before it writes, on which depends what it is asked.
"""

import json
import sys
from collections.abc import Mapping

from ircotlib.generation.budget import Usage
from ircotlib.generation.replies import Request, check, write_thoughts
from ircotlib.generation.server import protocol
from ircotlib.generation.server.protocol import (
    Completion,
    Conversation,
    Exchange,
    PromptText,
    ServerReply,
)
from ircotlib.generation.server.refusals import RequestRefused
from ircotlib.program import Generate, Sample
from ircotlib.prompting.prompt import BETWEEN_DEMONSTRATIONS
from ircotlib.text import cut, without_echo

BYTES_PER_TOKEN = 3  # English text has 3.5 to 4.5 with today's vocabularies; the rest is margin


class Conversations:
    """Conversations with one model, about which each learns from those before."""

    def __init__(self, name: str, chat: bool, thinking_tokens: int):
        self.name, self.chat = name, chat
        self.thinking = Thinking(chat, thinking_tokens)
        self._left_out: frozenset[str] = frozenset()  # fields that the server does not accept
        self._one_by_one = False  # the server has ignored n
        self._reported: set[str] = set()

    def begin(self, request: Request) -> Conversation:
        """The conversation that answers a request. Raises ValueError or TypeError at its beginning
        for a request that makes no sense.
        """
        check(request)
        write = self._sample if isinstance(request, Sample) else self._generate
        reply = yield from write(request)
        # half of a surrogate pair becomes the replacement character
        text = json.dumps(reply, ensure_ascii=False).encode("utf-16", "surrogatepass")
        return text.decode("utf-16", "replace")

    def _generate(self, request: Generate) -> Exchange[dict]:
        options = {"max_tokens": request.max_tokens, "temperature": 0}
        stop = protocol.write_stop(request.stop)
        stops = self.chat and "stop" in self.thinking.fit(options | stop)
        reply, counts = yield from self._write_text(request.prompt, options | stop)
        written = reply.texts[0]
        text = cut(self._clean(written, request), request.stop)
        if stops and not text and written.text and not written.text.startswith("\n"):
            # "A:" or a fence, then the stop: the answer is on the next lines
            reply, more = yield from self._write_text(request.prompt, options)
            written, counts = reply.texts[0], _add(counts, more)
            text = cut(self._clean(written, request), request.stop)
        return {"text": text} | write_thoughts(written.thoughts) | counts

    def _sample(self, request: Sample) -> Exchange[dict]:
        """n texts, requested one by one from a server that ignores n; fewer if it gives a text no
        more, which stderr says once.
        """
        options = {"max_tokens": request.max_tokens, "temperature": request.temperature}
        options |= {"logprobs": True if self.chat else 1} | protocol.write_stop(request.stop)
        samples, thoughts, counts = [], [], {}
        while (missing := request.n - len(samples)) > 0:
            n = 1 if self._one_by_one else missing
            several = {"n": n} if n > 1 else {}
            try:
                reply, more = yield from self._write_text(request.prompt, options | several)
            except ValueError as error:
                if not samples:
                    raise
                report = f"{error}; only {len(samples)} of {request.n} samples are kept"
                self._report_once("samples", report)
                break
            counts = _add(counts, more)
            for written in reply.texts[:n]:
                clean = self._clean(written, request)
                text = cut(clean, request.stop)
                samples.append((text, written.mean_log_probability(clean, text)))
                thoughts.append(written.thoughts)
        return {"samples": samples} | write_thoughts(*thoughts) | counts

    def _clean(self, written: Completion, request: Request) -> str:
        """A text as a completion of the prompt would be, to be cut by the rule of all backends."""
        prompt = request.prompt if isinstance(request.prompt, str) else request.prompt[-1].text
        return without_echo(written.text, prompt) if self.chat else written.text

    def _write_text(
        self, prompt: PromptText, options: Mapping
    ) -> Exchange[tuple[ServerReply, dict]]:
        """As _send_fitting, with the texts of a model that thinks, which is asked once more if a
        stop or the limit may have ended its thoughts. Raises ValueError for thoughts without text.
        """
        thinking, sent = self.thinking, self.thinking.fit(options)
        reply, counts = yield from self._send_fitting(prompt, sent)
        if thinking.needs_more(reply, sent, options):
            missing = _is_missing(reply)
            again = self._send_fitting if missing else self._send
            try:
                freed, more = yield from again(prompt, thinking.free(options))
            except (ValueError, RuntimeError):
                if missing:
                    raise
                thinking.known = bool(thinking.known)
            else:
                thinking.known = bool(thinking.known or freed.thinks)
                reply, counts = freed if thinking.known else reply, _add(counts, more)
        self._one_by_one |= len(reply.texts) + len(reply.faults) < options.get("n", 1)
        texts = tuple(text for text in reply.texts if text.text is not None)
        if not texts:
            ended = "cut by length" if any(text.cut for text in reply.texts) else "that ended"
            remedy = f"set thinking_tokens to more than {thinking.room}, or let it think less"
            found = f"{self.name}: found a reply {ended} before any text, only thoughts"
            raise ValueError(f"{found}, expected a text; {remedy}")
        return reply._replace(texts=texts), counts

    def _send_fitting(
        self, prompt: PromptText, options: Mapping
    ) -> Exchange[tuple[ServerReply, dict]]:
        """One reply, and its counts of tokens. A prompt that the server finds too long is asked
        once more, with about half of it.
        """
        try:
            return (yield from self._send(prompt, options))
        except RequestRefused as refusal:
            room = f"thinking_tokens to less than {self.thinking.room}"
            if not refusal.too_long:
                if not self.thinking.known:
                    raise
                raise ValueError(f"{refusal}; set {room}") from refusal
            shorter, dropped = protocol.drop_demonstrations(prompt)
            advice = f"set context_tokens to less than {count_tokens(_text(prompt))}"
            advice += f", or {room}" if self.thinking.known else ""
            if not dropped:
                raise ValueError(f"{refusal}; no demonstration to drop: {advice}") from refusal
            self._report_once("length", f"{refusal}; asked with fewer demonstrations: {advice}")
        try:
            reply, counts = yield from self._send(shorter, options)
        except RequestRefused as refusal:
            raise ValueError(f"{refusal}, without {dropped} demonstrations: {advice}") from refusal
        return reply, counts | {"dropped": dropped}

    def _send(self, prompt: PromptText, options: Mapping) -> Exchange[tuple[ServerReply, dict]]:
        """As _send_fitting, but with the whole prompt; without fields that the server refuses."""
        path, body = protocol.write_prompt(prompt, self.chat)
        body |= {"model": self.name}
        most = Usage(count_tokens(_text(prompt)), options.get("n", 1) * options["max_tokens"])
        while True:
            left_out = self._left_out
            fields = {name: value for name, value in options.items() if name not in left_out}
            if "max_tokens" in left_out:
                fields["max_completion_tokens"] = options["max_tokens"]  # its newer name
            try:
                reply = yield protocol.Sending(path, body | fields, most)
                break
            except RequestRefused as refusal:
                if (field := refusal.field) is None:
                    raise
                self._left_out |= {field}
                self._report_once(field, f"{self.name} is asked without {field}, because {refusal}")
        if reply.usage is not None:
            return reply, reply.usage._asdict()
        written = sum(count_tokens(t.thoughts + (t.text or "")) for t in reply.texts)
        return reply, {"prompt_tokens": most.prompt_tokens, "tokens": written, "estimated": True}

    def _report_once(self, kind: str, text: str) -> None:
        if kind not in self._reported:
            self._reported.add(kind)
            print(text, file=sys.stderr, flush=True)


class Thinking:
    """Fits the options of requests to a model that may think. `room`: the tokens for its thoughts,
    beyond max_tokens. `known`: whether it thinks; None: not known yet, so that no stop is sent. A
    chat's template may begin the thoughts: what a stop ends within them looks like a text.
    """

    def __init__(self, chat: bool, room: int):
        self.chat, self.room = chat, room
        self.known = None if chat else False  # what completes a prompt begins its thoughts itself

    def fit(self, options: Mapping) -> dict:
        """The options that are sent, as far as is known: no stop that may end the thoughts."""
        if self.known is False:
            return dict(options)
        if self.known:  # a model that completes prompts would go on with the next example
            stop = {"stop": [BETWEEN_DEMONSTRATIONS]} if "stop" in options and not self.chat else {}
            return self.free(options) | stop
        return {name: value for name, value in options.items() if name != "stop"}

    def free(self, options: Mapping) -> dict:
        """The options with room for thoughts, and without a stop."""
        freed = {name: value for name, value in options.items() if name != "stop"}
        return freed | {"max_tokens": options["max_tokens"] + self.room}

    def needs_more(self, reply: ServerReply, sent: Mapping, options: Mapping) -> bool:
        """Whether a reply may lack, or consist of, thoughts that a stop or the limit cut off."""
        missing = _is_missing(reply)
        limited = any(text.cut for text in reply.texts)
        if reply.thinks or missing:
            self.known = True
        elif self.known is None and not limited:
            self.known = False
        free = self.free(options)
        less = sent["max_tokens"] < free["max_tokens"]
        short = limited and less and self.known is not False
        return sent != free and (missing or short)


def count_tokens(text: str) -> int:
    """An estimate with a margin, at 3 bytes per token: the model's tokenizer is not here."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def _text(prompt: PromptText) -> str:
    return prompt if isinstance(prompt, str) else "\n".join(message.text for message in prompt)


def _add(counts: dict, more: dict) -> dict:
    return counts | more | {name: counts.get(name, 0) + more[name] for name in Usage._fields}


def _is_missing(reply: ServerReply) -> bool:
    """Whether there are thoughts without a text, or not even these, in a reply."""
    return any(text.text is None for text in reply.texts)
