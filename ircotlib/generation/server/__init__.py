"""Models behind any OpenAI-compatible server as a backend of Generate and Sample. The client is
imported, and the server asked, only at the first request that is not in the call cache.
"""

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cached_property
from math import nan
from pathlib import Path
from threading import Event

from ircotlib.generation.budget import Budget, Usage
from ircotlib.generation.replies import Request, check, read_reply
from ircotlib.generation.server import protocol
from ircotlib.generation.server.batch_files import BatchFiles
from ircotlib.generation.server.endpoints import ENDING, Endpoints, Patience
from ircotlib.generation.server.protocol import Asking, Completion, PromptText, Reply
from ircotlib.generation.server.refusals import RequestRefused
from ircotlib.program import Generate, Sample, key
from ircotlib.text import cut, without_echo

VERSION = 1  # raised when a change here or in text.py makes the same server reply differently
BYTES_PER_TOKEN = 3  # English text has 3.5 to 4.5 with today's vocabularies; the rest is margin


@dataclass(eq=False, kw_only=True)
class ServerModel:
    """A model behind a server, or behind several, whose addresses are separated by commas.

    `chat`: prompts are sent as chats, a text as the only message; otherwise they are completed.
    `in_flight`: requests at a time, over all addresses. The key is in the environment, as
    OPENAI_API_KEY. The fingerprint depends on the model's name and `chat`, not on the addresses, so
    two models need two names. `folder`: requests are sent in batch files, which are noted there
    while they are under way; None: one by one. Raises ValueError for an invalid address.
    """

    answers = Generate, Sample
    decode = staticmethod(read_reply)
    is_encoder_decoder = False
    parameters = nan  # unknown
    name: str = field(kw_only=False)
    server: str = field(kw_only=False)
    chat: bool = False
    in_flight: int = 8
    patience: Patience = Patience()
    budget: Budget = field(default_factory=Budget)
    folder: Path | None = None

    def __post_init__(self):
        self.urls = protocol.read_addresses(self.server)
        identity = f"server {VERSION} {'chat' if self.chat else 'completions'} {self.name}"
        self.fingerprint = hashlib.blake2b(identity.encode(), digest_size=16).hexdigest()
        self._left_out: frozenset[str] = frozenset()  # fields that the server does not accept
        self._one_by_one = False  # the server has ignored n
        self._reported: set[str] = set()
        self.in_waves = self.folder is not None  # asked for all that waits, of every kind
        self.paid: set[str] = set()  # keys answered by batch files, until a run claims them

    @cached_property
    def files(self) -> BatchFiles:
        """Sends batch files to the only address."""
        return BatchFiles(*self.urls, self.folder, self.patience, self.budget)

    @cached_property
    def endpoints(self) -> Endpoints:
        """The addresses of the model, with clients that are made at first use."""
        return Endpoints(self.urls, self.patience, self.budget)

    def count_tokens(self, text: str) -> int:
        """An estimate with a margin, at 3 bytes per token: the model's tokenizer is not here."""
        return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, str | Exception]]:
        """Yield the index of each request and its reply as soon as it comes.

        A reply is JSON as of a local model, with tokens as counted by the server, or `estimated`;
        `dropped`: how many demonstrations were left out because the server found the prompt too
        long. A request that cannot be answered gets a ValueError, or a RuntimeError if the server
        fails only with it. After BudgetSpent, ConnectionError, PermissionError or LookupError no
        more requests are sent; the replies in flight are yielded, then the error is raised.
        """
        if self.in_waves:
            yield from self._answer_in_files(requests)
            return
        self.endpoints  # noqa: B018  made once, before the threads
        stopped = Event()

        def work(request: Request) -> str | None:
            try:
                return None if stopped.is_set() else self.endpoints.talk(self._converse(request))
            except ENDING:
                stopped.set()
                raise

        with ThreadPoolExecutor(self.in_flight) as pool:
            jobs = {pool.submit(work, request): index for index, request in enumerate(requests)}
            try:
                yield from _as_they_come(jobs)
            except KeyboardInterrupt:  # requests in flight are already paid for
                stopped.set()
                yield from _as_they_come(jobs)
                raise
            finally:
                stopped.set()

    def _answer_in_files(self, requests: Sequence[Request]) -> Iterator[tuple]:
        """As answer, for requests that are all different."""
        keys = [key(request, self.fingerprint) for request in requests]
        conversations = dict(zip(keys, map(self._converse, requests), strict=True))
        indices = {name: index for index, name in enumerate(keys)}
        for name, reply in self.files.answer(conversations):
            if isinstance(reply, str):
                self.paid.add(name)
            yield indices[name], reply

    def claim(self, request: Request) -> bool:
        """Whether a batch file answered a request for this process, and no run claimed it yet."""
        paid = key(request, self.fingerprint)
        return paid in self.paid and not self.paid.discard(paid)

    def _converse(self, request: Request) -> protocol.Conversation:
        check(request)
        write = self._sample if isinstance(request, Sample) else self._generate
        reply = yield from write(request)
        # half of a surrogate pair becomes the replacement character
        text = json.dumps(reply, ensure_ascii=False).encode("utf-16", "surrogatepass")
        return text.decode("utf-16", "replace")

    def _generate(self, request: Generate) -> Asking[dict]:
        options = {"max_tokens": request.max_tokens, "temperature": 0}
        stop = protocol.write_stop(request.stop)
        reply, counts = yield from self._complete(request.prompt, options | stop)
        written = reply.texts[0]
        text = self._keep(written, request)
        if stop and not text and self.chat and not written.text.startswith("\n") and written.text:
            # "A:" or a fence, then the stop: the answer is on the next lines
            reply, more = yield from self._complete(request.prompt, options)
            text, counts = self._keep(reply.texts[0], request), _add(counts, more)
        return {"text": text} | counts

    def _sample(self, request: Sample) -> Asking[dict]:
        """n texts, requested one by one from a server that ignores n; fewer if it gives a text no
        more, which stderr says once.
        """
        options = {"max_tokens": request.max_tokens, "temperature": request.temperature}
        options |= {"logprobs": True if self.chat else 1} | protocol.write_stop(request.stop)
        samples, counts = [], {}
        while (missing := request.n - len(samples)) > 0:
            n = 1 if self._one_by_one else missing
            several = {"n": n} if n > 1 else {}
            try:
                reply, more = yield from self._complete(request.prompt, options | several)
            except ValueError as error:
                if not samples:
                    raise
                report = f"{error}; only {len(samples)} of {request.n} samples are kept"
                self._report_once("samples", report)
                break
            self._one_by_one |= len(reply.texts) + len(reply.faults) < n
            counts = _add(counts, more)
            for written in reply.texts[:n]:
                text = self._keep(written, request)
                samples.append((text, written.mean_log_probability(text)))
        return {"samples": samples} | counts

    def _keep(self, written: Completion, request: Request) -> str:
        """The part of a text that is kept, by the same rule as in every backend."""
        prompt, text = request.prompt, written.text
        if self.chat:
            text = without_echo(text, prompt if isinstance(prompt, str) else prompt[-1].text)
        return cut(text, request.stop)

    def _complete(self, prompt: PromptText, options: Mapping) -> Asking[tuple[Reply, dict]]:
        """One reply, which has a text, and its counts of tokens. A prompt that the server finds too
        long is asked once more, with about half of it.
        """
        try:
            return (yield from self._ask(prompt, options))
        except RequestRefused as refusal:
            if not refusal.too_long:
                raise
            shorter, dropped = protocol.drop_demonstrations(prompt)
            advice = f"set context_tokens to less than {self.count_tokens(_text(prompt))}"
            if not dropped:
                raise ValueError(f"{refusal}; no demonstration to drop: {advice}") from refusal
            self._report_once("length", f"{refusal}; asked with fewer demonstrations: {advice}")
        try:
            reply, counts = yield from self._ask(shorter, options)
        except RequestRefused as refusal:
            raise ValueError(f"{refusal}, without {dropped} demonstrations: {advice}") from refusal
        return reply, counts | {"dropped": dropped}

    def _ask(self, prompt: PromptText, options: Mapping) -> Asking[tuple[Reply, dict]]:
        """As _complete, but with the whole prompt; without fields that the server refuses."""
        path, body = protocol.write_prompt(prompt, self.chat)
        body |= {"model": self.name}
        most = Usage(self.count_tokens(_text(prompt)), options.get("n", 1) * options["max_tokens"])
        while True:
            left_out = self._left_out
            fields = {name: value for name, value in options.items() if name not in left_out}
            if "max_tokens" in left_out:
                fields["max_completion_tokens"] = options["max_tokens"]  # its newer name
            try:
                reply = yield protocol.Asked(path, body | fields, most)
                break
            except RequestRefused as refusal:
                if (field := refusal.field) is None:
                    raise
                self._left_out |= {field}
                self._report_once(field, f"{self.name} is asked without {field}, because {refusal}")
        if reply.usage is not None:
            return reply, reply.usage._asdict()
        written = sum(self.count_tokens(text.text) for text in reply.texts)
        return reply, {"prompt_tokens": most.prompt_tokens, "tokens": written, "estimated": True}

    def _report_once(self, kind: str, text: str) -> None:
        if kind not in self._reported:
            self._reported.add(kind)
            print(text, file=sys.stderr, flush=True)


def _as_they_come(jobs: Mapping[Future, int]) -> Iterator[tuple[int, str | Exception]]:
    """Yield the replies to all requests that were sent, then raise the error that ended all."""
    ending = None
    for job in as_completed(jobs):
        error = job.exception()
        if isinstance(error, ENDING):
            ending = ending or error
        elif error or job.result() is not None:
            yield jobs[job], error or job.result()
    if ending:
        raise ending


def _text(prompt: PromptText) -> str:
    return prompt if isinstance(prompt, str) else "\n".join(message.text for message in prompt)


def _add(counts: dict, more: dict) -> dict:
    return counts | more | {name: counts.get(name, 0) + more[name] for name in Usage._fields}
