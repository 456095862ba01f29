"""Models behind an OpenAI-compatible server as a backend of Generate and Sample. The
package `openai` repeats requests that a busy server refused. Texts are kept, failures
are not.
"""

import hashlib
import re
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cached_property
from math import nan
from threading import Event, Lock
from typing import NamedTuple

import pandas as pd

from ircotlib.data import whole
from ircotlib.errors import Unavailable, UserError
from ircotlib.files import PRICES, need
from ircotlib.keys import KEY, check_server, is_here, may_have_key, read_key
from ircotlib.models.choices import Failed, Written, read_choice
from ircotlib.models.replies import Request, check, count_rows, read_reply, write_reply
from ircotlib.program import LINE, SENTENCE_OF_LINE, Generate, Message, Sample
from ircotlib.text import plain

# raised when a change here or in text.py makes the same server reply differently
VERSIONS = {"completions": 3, "chat": 4}
NO_KEY = "none"  # the key that is sent if KEY is not set
TIMEOUT = 300.0  # seconds without a byte
RETRIES = 6  # by openai: 0.5 s to 8 s later, or when Retry-After says, within 120 s
PAUSES = (1.0, 4.0)  # seconds, before asking again for a reply that came without a text
THINKING = 4_000  # tokens for the thoughts of a model that thinks, beyond max_tokens
# English text has 3.5 to 4.5 with today's vocabularies; the rest is margin
BYTES_PER_TOKEN = 3
MOST_STOPS = 4  # that OpenAI's servers take; all are applied here, too
KEPT = "all replies are kept: run the same command again to continue"
# optional fields; without the first three nothing is lost: texts are cut here, and more
# asked for
FIELDS = ("logprobs", "stop", "n", "temperature", "max_tokens")
UNSUPPORTED = re.compile(
    "unsupported|n[o']t (?:be )?(?:support|allow|permit|accept)|unknown|extra"
)


class Price(NamedTuple):
    """USD per million tokens read and written."""

    input: float
    output: float

    def of(self, prompt_tokens: int, tokens: int) -> float:
        """The cost in USD of these tokens."""
        return (self.input * prompt_tokens + self.output * tokens) / 1e6


def find_price(model: str, prices: Sequence[float] | None = None) -> Price | None:
    """The price of a model: `prices`, or else that of data/prices.csv; None: unknown."""
    if prices is not None:
        return Price(*prices)
    rows = pd.read_csv(PRICES, index_col="model")
    return Price(*rows.loc[model, [*Price._fields]]) if model in rows.index else None


class Reply(NamedTuple):
    """The texts of a reply, its tokens, and whether the model thought first, perhaps
    unseen.
    """

    texts: list[Written]
    prompt_tokens: int
    tokens: int
    thinks: bool


@dataclass(eq=False, kw_only=True)
class ServerModel:
    """A model behind a server. `chat`: prompts are sent as chats, a text as the only
    message; otherwise they are completed. `in_flight`: requests at a time. `max_cost`:
    the most that may be spent, in USD, apart from requests then in flight. The
    fingerprint depends on the name and `chat`, not on the address. Raises UserError for
    an invalid address.
    """

    answers = Generate, Sample
    decode = staticmethod(read_reply)
    is_encoder_decoder = False
    parameters = nan  # unknown
    name: str = field(kw_only=False)
    server: str = field(kw_only=False)
    chat: bool = False
    in_flight: int = 8
    price: Price | None = None
    max_cost: float | None = None

    def __post_init__(self):
        url = self.server.strip().rstrip("/")
        check_server(url)
        self.url = url if url.count("/") > 2 else f"{url}/v1"
        if self.max_cost is not None and self.price is None:
            raise UserError(f"max_cost: no price of {self.name} is known; set prices")
        interface = "chat" if self.chat else "completions"
        identity = f"server {VERSIONS[interface]} {interface} {self.name}"
        self.fingerprint = hashlib.blake2b(
            identity.encode(), digest_size=16
        ).hexdigest()
        # None: not known yet. A model that completes prompts marks where its thoughts
        # begin
        self.thinks: bool | None = None if self.chat else False
        self.left_out: set[str] = set()  # fields that the server does not take
        self.spent = 0.0  # USD
        self.warned = False  # that the server cuts prompts
        self._turn = Lock()  # to change the four above: threads share them

    @cached_property
    def client(self):
        """The client. Raises Unavailable without `openai`."""
        need("openai", "server")
        import openai

        key = (may_have_key(self.url) and read_key(KEY)) or NO_KEY
        patience = {
            "timeout": openai.Timeout(TIMEOUT, connect=10.0),
            "max_retries": RETRIES,
        }
        # a proxy must not see requests to this machine
        http = openai.DefaultHttpxClient(trust_env=not is_here(self.url))
        return openai.OpenAI(
            base_url=self.url, api_key=key, http_client=http, **patience
        )

    def count_tokens(self, text: str) -> int:
        """An estimate with a margin, at 3 bytes per token: the model's tokenizer is not
        here.
        """
        return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)

    def answer(
        self, requests: Sequence[Request]
    ) -> Iterator[tuple[int, str | Exception]]:
        """Yield the index of each request and its reply as it comes, or an error. After
        Unavailable the replies in flight are yielded, then it is raised.
        """
        self.client  # noqa: B018  made once, before the threads
        stopped, ending = Event(), None

        def write(request: Request) -> str | None:
            if stopped.is_set():
                return None
            try:
                return self._write(request)
            except Unavailable:
                stopped.set()
                raise

        with ThreadPoolExecutor(self.in_flight) as pool:
            jobs = {
                pool.submit(write, request): index
                for index, request in enumerate(requests)
            }
            try:
                for job in as_completed(jobs):
                    if isinstance(error := job.exception(), Unavailable):
                        ending = ending or error
                    elif error or job.result() is not None:
                        yield jobs[job], error or job.result()
            finally:
                stopped.set()
        if ending:
            raise ending

    def _write(self, request: Request) -> str:
        """The reply to a request; samples are asked for until none is missing."""
        check(request)
        rows, read = [], 0
        while (missing := count_rows(request) - len(rows)) > 0:
            texts, prompt_tokens, tokens = self._ask(request, missing)
            read += prompt_tokens
            for text in texts[:missing]:
                rows.append((text.text, text.mean, tokens, text.thoughts))
                tokens = 0  # the first text has those of the whole reply
        return whole(write_reply(request, read, rows))

    def _ask(self, request: Request, n: int) -> tuple[list[Written], int, int]:
        """At least one of n texts, and the tokens read and written. A model that
        thinks, as its first whole reply shows, gets tokens for its thoughts, and no
        stop, which might end them.
        """
        known = self.thinks
        replies = [reply := self._send(request, n, room=bool(known))]
        if not known and any(
            t.text is None or (t.cut and known is None) for t in reply.texts
        ):
            # perhaps it was cut in its thoughts, which look like a text if nothing
            # opens them
            try:
                replies.append(self._send(request, n, room=True))
            except ValueError:
                if reply.thinks:
                    raise
            if any(each.thinks for each in replies):
                reply = replies[-1]
        with self._turn:
            self.thinks = bool(self.thinks) or any(each.thinks for each in replies)
        whole = [text for text in reply.texts if self._is_whole(text, request, reply)]
        if not whole:
            found = (
                f"{self.url}: found {reply.tokens} tokens and no whole text among them"
            )
            raise ValueError(
                f"{found}, only thoughts or a beginning; let {self.name} think less"
            )
        return (
            whole,
            sum(r.prompt_tokens for r in replies),
            sum(r.tokens for r in replies),
        )

    def _is_whole(self, written: Written, request: Request, reply: Reply) -> bool:
        """Whether there is a text, and nothing but its stop or its max_tokens has cut
        it.
        """
        tokens = self.count_tokens(written.text or "") if reply.thinks else reply.tokens
        enough = 2 * tokens >= request.max_tokens  # roughly: counts differ
        return written.text is not None and (
            not written.cut or written.stopped or enough
        )

    def _send(self, request: Request, n: int, room: bool) -> Reply:
        """A reply; one without a text is asked for again, after a pause."""
        for pause in (*PAUSES, None):
            try:
                return self._read(self._post(request, n, room), request)
            except Failed as failure:
                if pause is None:
                    times = f"it was asked {len(PAUSES) + 1} times"
                    raise Failed(
                        f"{self.url}: {self._shown(failure)}; {times}"
                    ) from None
                time.sleep(pause)

    def _post(self, request: Request, n: int, room: bool) -> dict:
        """The body of a reply, asked for without the fields that the server refuses."""
        import openai

        while True:
            if self.max_cost is not None and self.spent >= self.max_cost:
                spent = f"spent {self.spent:.3g} USD of max_cost {self.max_cost}"
                raise Unavailable(f"{spent}; {KEPT}, with a new budget")
            path, body = self._body(request, n, room)
            try:
                reply = self.client.post(path, cast_to=object, body=body)
            except openai.APIConnectionError as failure:
                reason = self._shown(failure.__cause__ or failure)
                raise Unavailable(
                    f"{self.url}: no connection ({reason}); {KEPT}"
                ) from None
            except openai.APIStatusError as error:
                refusal = error  # raised below, unchained: its message may hold a key
            except ValueError as broken:
                raise Failed(f"the reply is not JSON ({broken})") from None
            else:
                if (
                    isinstance(reply, dict)
                    and reply.get("choices")
                    and not reply.get("error")
                ):
                    return reply
                raise Failed(f"found an error in place of a text: {reply!r:.200}")
            self._refuse(refusal.status_code, refusal.body or refusal.message, body)

    def _body(self, request: Request, n: int, room: bool) -> tuple[str, dict]:
        """The endpoint's path, and what is sent there; a text is the only message of a
        chat.
        """
        prompt, stop = request.prompt, request.stop
        body = {
            "model": self.name,
            "max_tokens": request.max_tokens + (THINKING if room else 0),
        }
        body |= {"temperature": getattr(request, "temperature", 0)}
        if isinstance(request, Sample):
            body |= {"logprobs": True if self.chat else 1} | ({"n": n} if n > 1 else {})
        if self.thinks is False and not room:
            stops = stop if isinstance(stop, tuple) else ()
            # which may begin with empty lines, or a line of its own, such as a fence
            if self.chat:
                stops = [each for each in stops if each.strip()]
            elif stop in (LINE, SENTENCE_OF_LINE):
                stops = ["\n"]
            if stops:
                body["stop"] = stops[:MOST_STOPS]
        if "max_tokens" in self.left_out:
            body["max_completion_tokens"] = body["max_tokens"]  # its newer name
        body = {
            name: value for name, value in body.items() if name not in self.left_out
        }
        if self.chat:
            chat = (Message("user", prompt),) if isinstance(prompt, str) else prompt
            messages = [
                {"role": message.role, "content": message.text} for message in chat
            ]
            return "/chat/completions", body | {"messages": messages}
        if not isinstance(prompt, str):
            raise ValueError(
                f"found a prompt of {len(prompt)} messages; set chat=true to send it"
            )
        return "/completions", body | {"prompt": prompt}

    def _refuse(self, status: int, error: object, body: dict) -> None:
        """Leave out the field that a server's error is about, or raise what it means."""
        shown, said = (
            f"{self.url}: status {status}, {self._shown(error)}",
            str(error).lower(),
        )
        for name in FIELDS if status in (400, 403, 422) else ():
            pattern = r"['`\"]n['`\"]|\bn [>=]" if name == "n" else rf"(?<![a-z]){name}"
            named = name in body and re.search(pattern, said)
            if named and (name in FIELDS[:3] or UNSUPPORTED.search(said)):
                print(f"{self.name} is asked without {name}: {shown}", file=sys.stderr)
                self.left_out.add(name)
                return
        if status in (401, 402, 403, 404):
            raise Unavailable(f"{shown}; see {KEY}, model, server and chat")
        if status > 502 or (status in (408, 409, 429) and "too large" not in said):
            raise Unavailable(f"{shown}; {KEPT}")
        # such as a prompt that is too long; 500 may be of it alone
        raise ValueError(shown)

    def _read(self, body: dict, request: Request) -> Reply:
        """The texts of a reply in the order of their indices, and its tokens, which are
        paid.
        """
        texts, faults = [], [Failed(f"found no choice in a reply: {body!r:.200}")]
        choices = [choice for choice in body["choices"] if isinstance(choice, dict)]
        for choice in sorted(choices, key=lambda choice: _count(choice, "index")):
            try:
                texts.append(read_choice(choice, request, self.chat))
            except (Failed, ValueError) as fault:
                faults.append(fault)
        usage = body.get("usage")
        read, written = (
            _count(usage, "prompt_tokens"),
            _count(usage, "completion_tokens"),
        )
        # some leave thoughts out
        written = max(written, _count(usage, "total_tokens") - read)
        sent = self.count_tokens(str(request.prompt))
        if 0 < read < sent // 2 and not self.warned:  # text never has so few
            found = f"{self.url} read {read:,} tokens of {sent // 2:,} or more that were sent"
            does = "give it a larger window, or lower context_tokens"
            print(f"{self.name}: {found}: {does}", file=sys.stderr)
            self.warned = True
        if not read or not written:
            read = sent
            written = sum(self.count_tokens(t.thoughts + (t.text or "")) for t in texts)
        with self._turn:
            self.spent += self.price.of(read, written) if self.price else 0.0
        if not texts:
            raise faults[-1]
        hidden = re.search(r"'reasoning_tokens': [1-9]", str(usage))
        thinks = hidden or any(text.thoughts or text.text is None for text in texts)
        return Reply(texts, read, written, bool(thinks))

    def _shown(self, words: object) -> str:
        """What a server or the client says, in one line and without the key, which some
        repeat.
        """
        key = self.client.api_key
        return plain(str(words).replace(key, "…") if key != NO_KEY else str(words))[
            :300
        ]


def _count(content: object, name: str) -> int:
    """A field of JSON that counts something; 0 if it is missing or another thing."""
    value = content.get(name) if isinstance(content, dict) else 0
    return value if type(value) is int and value > 0 else 0
