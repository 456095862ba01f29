"""Models behind any OpenAI-compatible server as a backend of Generate and Sample. The client is
imported, and the server asked, only at the first request that is not in the call cache.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cached_property
from math import nan
from pathlib import Path
from threading import Event

from ircotlib.generation.budget import Budget
from ircotlib.generation.replies import Request, read_reply
from ircotlib.generation.server import protocol
from ircotlib.generation.server.attempts import ENDING, Endpoints, Patience
from ircotlib.generation.server.batch_files import BatchFiles
from ircotlib.generation.server.conversations import Conversations, count_tokens
from ircotlib.generation.thoughts import THINKING_TOKENS
from ircotlib.program import Generate, Sample, key

VERSION = 2  # raised when a change here or in text.py makes the same server reply differently


@dataclass(eq=False, kw_only=True)
class ServerModel:
    """A model behind a server, or behind several, whose addresses are separated by commas.

    `chat`: prompts are sent as chats, a text as the only message; otherwise they are completed.
    `in_flight`: requests at a time, over all addresses. The key is in the environment, as
    OPENAI_API_KEY. The fingerprint depends on the model's name and `chat`, not on the addresses, so
    two models need two names. `folder`: requests are sent in batch files, which are noted there
    while they are under way; None: one by one. `thinking_tokens`: for the thoughts of a model that
    thinks, beyond max_tokens. Raises ValueError for an invalid address.
    """

    answers = Generate, Sample
    decode = staticmethod(read_reply)
    count_tokens = staticmethod(count_tokens)
    is_encoder_decoder = False
    parameters = nan  # unknown
    name: str = field(kw_only=False)
    server: str = field(kw_only=False)
    chat: bool = False
    in_flight: int = 8
    patience: Patience = Patience()
    budget: Budget = field(default_factory=Budget)
    folder: Path | None = None
    thinking_tokens: int = THINKING_TOKENS

    def __post_init__(self):
        self.urls = protocol.read_addresses(self.server)
        identity = f"server {VERSION} {'chat' if self.chat else 'completions'} {self.name}"
        self.fingerprint = hashlib.blake2b(identity.encode(), digest_size=16).hexdigest()
        self.conversations = Conversations(self.name, self.chat, self.thinking_tokens)
        self.in_waves = self.folder is not None  # asked for all that waits, of every kind
        self.paid: set[str] = set()  # keys answered by batch files, not counted by a run yet

    @cached_property
    def files(self) -> BatchFiles:
        """Sends batch files to the only address."""
        return BatchFiles(*self.urls, self.folder, self.patience, self.budget)

    @cached_property
    def endpoints(self) -> Endpoints:
        """The addresses of the model, with clients that are made at first use."""
        return Endpoints(self.urls, self.patience, self.budget)

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
            if stopped.is_set():
                return None
            try:
                return self.endpoints.write_text(self.conversations.begin(request))
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
        conversations = dict(zip(keys, map(self.conversations.begin, requests), strict=True))
        indices = {name: index for index, name in enumerate(keys)}
        for name, reply in self.files.answer(conversations):
            if isinstance(reply, str):
                self.paid.add(name)
            yield indices[name], reply

    def was_paid(self, request: Request) -> bool:
        """Whether a batch file answered a request for this process, and no run has counted it."""
        return key(request, self.fingerprint) in self.paid

    def count_paid(self, requests: Iterable[Request]) -> None:
        """Note that a run has counted what these requests cost, so that no other run does."""
        self.paid -= {key(request, self.fingerprint) for request in requests}


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
