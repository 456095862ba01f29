"""Models behind an OpenAI-compatible server, as a backend of Generate and Sample.

A request passes through these methods of `ServerModel`, each of which calls the next:

- `answer`: in `in_flight` threads, and yields each reply as it comes
- `_write`: asks until no text of a Sample is missing, and writes the reply
- `_ask`: asks again, with room for thoughts, if a first reply looks like thoughts
- `_send`: asks again, after PAUSES, for a reply that came without a text (`Failed`)
- `_try`: asks again without OPTIONAL fields if the server refuses what it is sent
- `_post`: one request (made by `_body`); `openai` repeats it if the server is busy

A ValueError or `Failed` costs one request; Unavailable ends the run: nothing more is
sent, and what is in flight is kept. Threads share what replies show: `thinks` and
`spent`, which change under `_turn`; `taken` and `left_out`, which do no harm twice. No
failure is kept in the call cache.
"""

import hashlib
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cached_property
from threading import Event, Lock
from typing import NamedTuple

from ircotlib.backends import Replies
from ircotlib.data import whole
from ircotlib.errors import Unavailable, UserError
from ircotlib.files import need
from ircotlib.keys import KEY, check_server, is_here, may_have_key, read_key
from ircotlib.models.batches import Request, check, count_rows, read_reply, write_reply
from ircotlib.models.thoughts import Failed, Written, read_body, read_choice, tokens_of
from ircotlib.program import LINE, SENTENCE_OF_LINE, Generate, Message, Sample
from ircotlib.text import plain

# raised when a change here or in text.py makes the same server reply differently
VERSIONS = {"completions": 3, "chat": 5}
NO_KEY = "none"  # the key that is sent if KEY is not set
TIMEOUT = 300.0  # seconds without a byte
RETRIES = 6  # by openai: 0.5 s to 8 s later, or when Retry-After says, within 120 s
PAUSES = (1.0, 4.0)  # seconds, before asking again for a reply that came without a text
THINKING = 4_000  # tokens for the thoughts of a model that thinks, beyond max_tokens
BYTES_PER_TOKEN = 3  # English text has 3.5 to 4.5 today; the rest is margin
MOST_STOPS = 4  # that OpenAI's servers take; all are applied here, too
SEE = f"see {KEY}, model, server and chat"
KEPT = "all replies are kept: run the same command again to continue"
# Fields that a server may refuse, those first without which nothing is lost: more texts
# are asked for, and all are cut here. A chat's max_tokens gets its newer name.
OPTIONAL = ("n", "logprobs", "stop", "temperature", "max_tokens")


class Price(NamedTuple):
    """USD per million tokens read and written."""

    input: float
    output: float

    def of(self, prompt_tokens: int, tokens: int) -> float:
        """The cost in USD of these tokens."""
        return (self.input * prompt_tokens + self.output * tokens) / 1e6


class Refused(ValueError):
    """The server does not take a request as it is. `status`: 400, 403 or 422."""

    def __init__(self, words: str, status: int):
        super().__init__(words)
        self.status = status


class Reply(NamedTuple):
    """Texts, tokens, and whether the model thought first, perhaps unseen."""

    texts: list[Written]
    prompt_tokens: int
    tokens: int
    thinks: bool


@dataclass(eq=False, kw_only=True)
class ServerModel:
    """A model behind a server, which completes prompts or, with `chat`, gets them as
    messages. `in_flight`: requests at a time. `max_cost`: the most that may be spent,
    in USD, apart from requests then in flight. The fingerprint does not depend on the
    address. Raises UserError for an invalid one.
    """

    answers = Generate, Sample
    decode = staticmethod(read_reply)
    name: str = field(kw_only=False)
    server: str = field(kw_only=False)
    chat: bool = False
    in_flight: int = 8
    price: Price | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        url = self.server.strip().rstrip("/")
        check_server(url)
        self.url = url if url.count("/") > 2 else f"{url}/v1"
        if self.max_cost is not None and self.price is None:
            raise UserError(f"max_cost: no price of {self.name} is known; set prices")
        interface = "chat" if self.chat else "completions"
        identity = f"server {VERSIONS[interface]} {interface} {self.name}".encode()
        self.fingerprint = hashlib.blake2b(identity, digest_size=16).hexdigest()
        # not known yet; but what completes prompts marks where its thoughts begin
        self.thinks: bool | None = None
        self.taken: set[str] = set()  # fields that the server has taken
        self.left_out: set[str] = set()  # and those that it refuses
        if not self.chat:
            self.thinks = False
            self.taken.add("max_tokens")  # a completion's has no newer name
        self.spent = 0.0  # USD
        self._turn = Lock()  # to change `thinks` and `spent`

    @cached_property
    def client(self):
        """The client. Raises Unavailable without `openai`."""
        need("openai", "server")
        import openai

        return openai.OpenAI(
            base_url=self.url,
            api_key=(may_have_key(self.url) and read_key(KEY)) or NO_KEY,
            http_client=openai.DefaultHttpxClient(
                # a proxy must not see requests to this machine
                trust_env=not is_here(self.url),
                event_hooks={"response": [self._refuse_redirect]},
            ),
            timeout=openai.Timeout(TIMEOUT, connect=10.0),
            max_retries=RETRIES,
        )

    def count_tokens(self, text: str) -> int:
        """An estimate with a margin, since the model's tokenizer is not here."""
        return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)

    def answer(self, requests: Sequence[Request]) -> Replies:
        """As a Backend; after Unavailable, the replies in flight are yielded first."""
        self.client  # noqa: B018  made once, before the threads
        stopped = Event()
        ending: Unavailable | None = None

        def write(request: Request) -> str | Exception | None:
            if stopped.is_set():
                return None
            try:
                return self._write(request)
            except Unavailable as error:
                stopped.set()
                return error
            except Exception as error:
                return error

        with ThreadPoolExecutor(self.in_flight) as pool:
            jobs = {pool.submit(write, each): at for at, each in enumerate(requests)}
            try:
                for job in as_completed(jobs):
                    reply = job.result()
                    if isinstance(reply, Unavailable):
                        ending = ending or reply
                    elif reply is not None:
                        yield jobs[job], reply
            finally:  # also if nobody takes the next reply
                stopped.set()
        if ending:
            raise ending

    def _write(self, request: Request) -> str:
        """The reply to a request; samples are asked for until none is missing."""
        check(request)
        rows: list[tuple] = []
        prompt_tokens = 0
        while (missing := count_rows(request) - len(rows)) > 0:
            reply = self._ask(request, missing)
            prompt_tokens += reply.prompt_tokens
            tokens = reply.tokens  # of all texts: they count with the first
            for text in reply.texts[:missing]:
                rows.append((text.text, text.mean, tokens, text.thoughts))
                tokens = 0
        return whole(write_reply(request, prompt_tokens, rows))

    def _ask(self, request: Request, n: int) -> Reply:
        """At least one of n whole texts. A model that thinks, as its first whole reply
        shows, gets tokens for its thoughts, and no stop, which might end them.
        """
        known = self.thinks
        first = self._send(request, n, room=bool(known))
        replies = [first]
        # perhaps cut in its thoughts, which look like a text if nothing opens them
        doubtful = [t.text is None or (t.cut and known is None) for t in first.texts]
        if not known and any(doubtful):
            try:
                replies.append(self._send(request, n, room=True))
            except ValueError:  # the server takes no so many tokens
                if first.thinks:
                    raise
        thinks = any(reply.thinks for reply in replies)
        with self._turn:
            self.thinks = bool(self.thinks) or thinks
        reply = replies[-1] if thinks else first
        texts = [text for text in reply.texts if self._is_whole(text, request)]
        if not texts:
            of = f"{self.url}: {reply.tokens} tokens, no whole text among them"
            advice = "let the model think less, or set the server's reasoning parser"
            raise ValueError(f"{of}; {advice}")
        read = sum(reply.prompt_tokens for reply in replies)
        return Reply(texts, read, sum(reply.tokens for reply in replies), thinks)

    def _is_whole(self, written: Written, request: Request) -> bool:
        """Whether nothing but a text's stop or its max_tokens has cut it."""
        if written.text is None:
            return False
        # roughly: counts differ
        enough = 2 * self.count_tokens(written.text) >= request.max_tokens
        return not written.cut or written.stopped or enough

    def _send(self, request: Request, n: int, room: bool) -> Reply:
        """A reply; one without a text is asked for again, after a pause."""
        path, body = self._body(request, n, room)
        for pause in (*PAUSES, 0.0):
            try:
                return self._read(self._try(path, body), request)
            except Failed as error:
                failure = f"{self.url}: {self._in_line(error)}"
                time.sleep(pause)
        raise Failed(f"{failure}; it was asked {len(PAUSES) + 1} times")

    def _try(self, path: str, body: dict) -> dict:
        """The body of a reply. If the server refuses what is sent, in whatever words,
        OPTIONAL fields that it has not taken yet are left out: each alone, then the
        first two, and so on. Raises its first refusal if none helps.
        """
        known = self.taken | self.left_out
        unsure = [name for name in OPTIONAL if name in body and name not in known]
        alone = [[name] for name in unsure]
        together = [unsure[:count] for count in range(2, len(unsure) + 1)]
        refusals: list[Refused] = []
        for names in ([], *alone, *together):
            left_out = {*self.left_out, *names}
            sent = {name: body[name] for name in body if name not in left_out}
            if "max_tokens" in left_out:
                sent["max_completion_tokens"] = body["max_tokens"]
            try:
                reply = self._post(path, sent)
            except Refused as refusal:
                refusals.append(refusal)
                continue
            if names:
                said = f"{self.name} is asked without {', '.join(names)}: {refusals[0]}"
                print(said, file=sys.stderr)
            self.taken.update(sent)
            self.left_out.update(names)
            return reply
        if refusals[0].status == 403:  # of a wrong key, not of a field
            raise Unavailable(f"{refusals[0]}; {SEE}; {KEPT}")
        raise refusals[0]

    def _post(self, path: str, body: dict) -> dict:
        """The body of a reply. Errors are unchained: openai's may hold a key."""
        import openai

        if self.max_cost is not None and self.spent >= self.max_cost:
            raise Unavailable(
                f"spent {self.spent:.3g} USD of max_cost {self.max_cost}; "
                f"{KEPT}, with a new budget"
            )
        try:
            return read_body(self.client.post(path, cast_to=str, body=body))
        except openai.APIConnectionError as failure:
            reason = self._in_line(failure.__cause__ or failure)
            raise Unavailable(f"{self.url}: no connection ({reason}); {KEPT}") from None
        except openai.APIStatusError as error:
            status = error.status_code
            words = self._in_line(error.body or error.message)
            fault = f"{self.url}: status {status}, {words}"
            # of a field, or a prompt that is too long; 403 perhaps of a wrong key
            if status in (400, 403, 422):
                raise Refused(fault, status) from None
            if status in (413, 500, 502):  # perhaps of this prompt alone
                raise ValueError(fault) from None
            raise Unavailable(f"{fault}; {SEE}; {KEPT}") from None

    def _refuse_redirect(self, response) -> None:
        """Raise Unavailable for a redirect after which a POST would become a GET."""
        if response.status_code in (301, 302, 303):
            address = self._in_line(response.headers.get("location", "nowhere"))
            address = address.rpartition("@")[2]  # without a password
            raise Unavailable(f"{self.url}: moved to {address}; set server to it")

    def _body(self, request: Request, n: int, room: bool) -> tuple[str, dict]:
        """The endpoint's path, and what is sent there."""
        prompt = request.prompt
        body: dict[str, object] = {
            "model": self.name,
            "max_tokens": request.max_tokens + (THINKING if room else 0),
            "temperature": getattr(request, "temperature", 0),
            "stream": False,  # some servers stream if it is not said
        }
        if isinstance(request, Sample):
            body["logprobs"] = self.chat or 1  # of a completion: of how many tokens
            if n > 1:
                body["n"] = n
        stops = list(request.stop) if isinstance(request.stop, tuple) else []
        if request.stop in (LINE, SENTENCE_OF_LINE):
            stops = ["\n"]
        if self.chat:  # it may begin with empty lines or a fence
            stops = [text for text in stops if text.strip()]
        if stops and self.thinks is False and not room:  # no thoughts that it might end
            body["stop"] = stops[:MOST_STOPS]
        if self.chat:
            chat = (Message("user", prompt),) if isinstance(prompt, str) else prompt
            body["messages"] = [{"role": role, "content": text} for role, text in chat]
            return "/chat/completions", body
        body["prompt"] = prompt
        return "/completions", body

    def _read(self, body: dict, request: Request) -> Reply:
        """The texts of a reply in the order of their indices; its tokens are paid."""
        texts = []
        faults: list[Exception] = []
        for choice in sorted(body["choices"], key=lambda each: each.get("index") or 0):
            try:
                texts.append(read_choice(choice, request, self.chat))
            except (Failed, ValueError) as fault:
                faults.append(fault)
        read, written, hidden = tokens_of(body.get("usage"))
        if not read or not written:
            read = self.count_tokens(str(request.prompt))
            written = sum(self.count_tokens(t.thoughts + (t.text or "")) for t in texts)
        if self.price:
            with self._turn:
                self.spent += self.price.of(read, written)
        if not texts:
            raise type(faults[0])(self._in_line(faults[0]))
        thinks = any(text.thoughts or text.text is None for text in texts)
        return Reply(texts, read, written, thinks or hidden)

    def _in_line(self, words: object) -> str:
        """A message in one line and without the key, which some servers repeat."""
        text = str(words)
        if self.client.api_key != NO_KEY:
            text = text.replace(self.client.api_key, "…")
        return plain(text)[:300]
