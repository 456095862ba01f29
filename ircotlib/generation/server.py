"""Models behind any OpenAI-compatible server as a backend of Generate and Sample.

The client is imported, and the server asked, only at the first request that is not in the call
cache.
"""

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from functools import cached_property
from math import nan
from threading import Event

from ircotlib.generation.addresses import Addresses, Patience, Refused, read_addresses
from ircotlib.generation.asking import (
    Asked,
    drop_demonstrations,
    is_too_long,
    leave_out,
    unknown_field,
    write_prompt,
    write_stop,
)
from ircotlib.generation.budget import Budget, BudgetSpent, Usage
from ircotlib.generation.replies import read_reply
from ircotlib.generation.served import Written, mean_log_probability, read_texts, read_usage
from ircotlib.program import Generate, Sample, Sampled
from ircotlib.text import check_stop, cut, without_echo

VERSION = 1  # raised when a change here or in text.py makes the same server reply differently
BYTES_PER_TOKEN = 3  # English text has 3.5 to 4.5 with today's vocabularies; the rest is margin
ENDING = (BudgetSpent, ConnectionError, PermissionError, LookupError)  # no request will succeed


class ServerModel:
    """A model behind a server, or behind several, whose addresses are separated by commas.

    `chat`: prompts are sent as chats, a text as the only message; otherwise they are completed.
    `in_flight`: requests at a time, over all addresses. The key is read from the environment:
    OPENAI_API_KEY. The fingerprint depends on the model's name and `chat`, not on the addresses, so
    two models need two names. Greedy decoding is temperature 0. Raises ValueError for an invalid
    address.
    """

    answers = (Generate, Sample)
    is_encoder_decoder = False
    parameters = nan  # unknown

    def __init__(
        self,
        name: str,
        server: str,
        *,
        chat: bool = False,
        in_flight: int = 8,
        patience: Patience = Patience(),
        budget: Budget | None = None,
    ):
        self.name, self.chat, self.in_flight = name, chat, in_flight
        self.urls, self.patience, self.budget = read_addresses(server), patience, budget or Budget()
        about = f"server {VERSION} {'chat' if chat else 'completions'} {name}"
        self.fingerprint = hashlib.blake2b(about.encode(), digest_size=16).hexdigest()
        self._left_out: frozenset[str] = frozenset()  # fields that the server does not accept
        self._one_by_one = False  # the server has ignored n
        self._said: set[str] = set()

    @cached_property
    def addresses(self) -> Addresses:
        """The addresses of the model, with clients that are made at first use."""
        return Addresses(self.urls, self.patience, self.budget)

    def count_tokens(self, text: str) -> int:
        """An estimate with a margin, at 3 bytes per token: the model's tokenizer is not here."""
        return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)

    def answer(self, requests: Sequence) -> Iterator[tuple[int, str | Exception]]:
        """Yield the place of each request and its reply as soon as it comes.

        A reply is JSON: text (for a Sample, samples: pairs of text and mean log-probability);
        prompt_tokens and tokens as counted by the server, or `estimated` if it does not count;
        `dropped`: how many demonstrations were left out because the server found the prompt too
        long. A request that cannot be answered gets a ValueError, or a RuntimeError if the server
        fails only with it, instead of a reply. After BudgetSpent, ConnectionError, PermissionError
        or LookupError no more requests are sent; the replies in flight are yielded, then the error
        is raised.
        """
        over, _ = Event(), self.addresses  # made once, before the threads
        with ThreadPoolExecutor(self.in_flight) as pool:
            places = {pool.submit(self._work, one, over): at for at, one in enumerate(requests)}
            try:
                yield from _as_they_come(places)
            except KeyboardInterrupt:  # requests in flight are already paid for
                over.set()
                yield from _as_they_come(places)
                raise
            finally:
                over.set()

    def decode(self, reply: str) -> str | tuple[Sampled, ...]:
        """The text of a reply; for a Sample, its samples in order."""
        return read_reply(reply)

    def _work(self, request: Generate | Sample, over: Event) -> str | None:
        """The reply to a request; None if requests are no longer sent."""
        try:
            return None if over.is_set() else self._answer(request)
        except ENDING:
            over.set()
            raise

    def _answer(self, request: Generate | Sample) -> str:
        check_stop(request.stop)
        if request.max_tokens < 1:
            raise ValueError(f"found max_tokens {request.max_tokens}, expected at least 1")
        reply = self._sample(request) if isinstance(request, Sample) else self._generate(request)
        # half of a surrogate pair becomes the replacement character
        text = json.dumps(reply, ensure_ascii=False).encode("utf-16", "surrogatepass")
        return text.decode("utf-16", "replace")

    def _generate(self, request: Generate) -> dict:
        asked = {"max_tokens": request.max_tokens, "temperature": 0}
        stop = write_stop(request.stop)
        [written, *_], about = self._ask(request.prompt, asked | stop)
        text = self._keep(written, request)
        if stop and not text and self.chat and not written.text.startswith("\n") and written.text:
            # "A:" or a fence, then the stop: the answer is on the next lines
            [written, *_], more = self._ask(request.prompt, asked)
            text, about = self._keep(written, request), _add(about, more)
        return {"text": text} | about

    def _sample(self, request: Sample) -> dict:
        """n texts, requested one by one from a server that ignores n."""
        asked = {"max_tokens": request.max_tokens, "temperature": request.temperature}
        asked |= {"logprobs": True if self.chat else 1} | write_stop(request.stop)
        samples, about = [], {}
        while (missing := request.n - len(samples)) > 0:
            n = 1 if self._one_by_one else missing
            found, more = self._ask(request.prompt, asked | ({"n": n} if n > 1 else {}))
            self._one_by_one |= len(found) < n
            about = _add(about, more)
            for written in found[:n]:
                text = self._keep(written, request)
                samples.append((text, mean_log_probability(written, text)))
        return {"samples": samples} | about

    def _keep(self, written: Written, request: Generate | Sample) -> str:
        """The part of a text that is kept, by the same rule as in every backend."""
        prompt, text = request.prompt, written.text
        if self.chat:
            text = without_echo(text, prompt if isinstance(prompt, str) else prompt[-1].text)
        return cut(text, request.stop)

    def _ask(self, prompt: Asked, asked: Mapping) -> tuple[list[Written], dict]:
        """The texts of one reply, and its counts of tokens. If the server finds the prompt too
        long, it is asked once more with about half of it.
        """
        try:
            return self._ask_once(prompt, asked)
        except Refused as refused:
            shorter, dropped = drop_demonstrations(prompt)
            if not is_too_long(refused):
                raise
            advice = f"set context_tokens to less than {self.count_tokens(_text(prompt))}"
            if not dropped:
                raise ValueError(f"{refused}; no demonstration to drop: {advice}") from refused
            self._say_once("too long", f"{refused}; asked with fewer demonstrations: {advice}")
        try:
            texts, about = self._ask_once(shorter, asked)
        except Refused as refused:
            raise ValueError(f"{refused}, without {dropped} demonstrations: {advice}") from refused
        return texts, about | {"dropped": dropped}

    def _ask_once(self, prompt: Asked, asked: Mapping) -> tuple[list[Written], dict]:
        """As _ask, but with the whole prompt; fields that the server does not accept are left
        out.
        """
        endpoint, body = write_prompt(prompt, self.chat)
        body |= {"model": self.name}
        most = Usage(self.count_tokens(_text(prompt)), asked.get("n", 1) * asked["max_tokens"])
        while True:
            left_out = self._left_out
            try:
                reply = self.addresses.ask(endpoint, body | leave_out(asked, left_out), most)
                break
            except Refused as refused:
                field = unknown_field(refused, asked)
                if is_too_long(refused) or field is None or field in left_out:
                    raise
                self._left_out |= {field}
                self._say_once(field, f"{self.name} is asked without {field}, because {refused}")
        texts, used = read_texts(reply), read_usage(reply)
        if used is not None:
            return texts, used._asdict()
        written = sum(self.count_tokens(one.text) for one in texts)
        return texts, {"prompt_tokens": most.prompt_tokens, "tokens": written, "estimated": True}

    def _say_once(self, kind: str, text: str) -> None:
        if kind not in self._said:
            self._said.add(kind)
            print(text, file=sys.stderr, flush=True)


def _as_they_come(places: Mapping[Future, int]) -> Iterator[tuple[int, str | Exception]]:
    """Yield the replies to all requests that were sent; at the end, raise the error that stopped
    the others, if any.
    """
    ended = None
    for future in as_completed(places):
        error = future.exception()
        if isinstance(error, ENDING):
            ended = ended or error
        elif error or future.result() is not None:
            yield places[future], error or future.result()
    if ended is not None:
        raise ended


def _text(prompt: Asked) -> str:
    return prompt if isinstance(prompt, str) else "\n".join(message.text for message in prompt)


def _add(about: dict, more: dict) -> dict:
    """The counts of two replies, added up."""
    return about | more | {name: about.get(name, 0) + more[name] for name in Usage._fields}
