"""Batch files: many requests go to a server as one file, which it answers within a day, at half the
price at most vendors (OpenAI's `/v1/files` and `/v1/batches`).

What is under way is noted in a folder. So a process that is killed loses nothing: started again, it
waits for the same batches, and sends only what is missing. The id of a request is the key of what a
program asked, and its number among the requests that this takes.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from secrets import token_hex

from ircotlib.errors import DataError
from ircotlib.files.old import hold_lock, write_whole
from ircotlib.files.progress import show_progress
from ircotlib.generation.budget import Budget, BudgetSpent, Usage
from ircotlib.generation.server import batch_protocol, protocol
from ircotlib.generation.server.attempts import ENDING, Endpoints, Patience
from ircotlib.generation.server.protocol import Conversation, Sending, ServerReply, T
from ircotlib.generation.server.refusals import NotServed, RequestRefused, TemporaryFailure

Replies = Iterator[tuple[str, ServerReply | Exception]]  # by the request's id
MOST_LINES, MOST_BYTES = 50_000, 190_000_000  # of a file; OpenAI's limits: 50,000 and 200 MB
MOST_SENT = 3  # times that a request is sent
OUTAGE = 20  # times the usual attempts, if a server that has answered is away: an hour


@dataclass(slots=True, eq=False)
class Sent:
    """A file that was sent: our name of it, the server's of its batch ("": not known to have begun)
    and the ids of the requests in it.
    """

    server: str
    name: str
    batch: str
    ids: list[str]


class BatchFiles:
    """Sends requests to a server in batch files. `folder`: where those under way are noted."""

    def __init__(self, url: str, folder: Path, patience: Patience, budget: Budget):
        self.url, self.folder, self.patience, self.budget = url, folder, patience, budget
        long = replace(patience, attempts=OUTAGE * patience.attempts)
        self.endpoints, self.most_lines = Endpoints((url,), long, budget), MOST_LINES
        self._reserved: dict[str, float] = {}  # what each request under way may cost
        self._in_vain = Counter()  # how often each request was sent without a reply

    def answer(
        self, conversations: Mapping[str, Conversation]
    ) -> Iterator[tuple[str, str | Exception]]:
        """Yield the key of each conversation with what it returns, or the error that ends it. All
        that they ask at the same time is one file. Raises as ServerModel.answer.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        waiting: dict[str, Sending] = {}
        asked, done, ending = Counter(), [], None
        replies = ((key, None) for key in conversations)
        try:
            while replies:
                for id, reply in replies:
                    key = id.partition("-")[0]
                    waiting.pop(id, None)
                    try:
                        request = protocol.resume(conversations[key], reply)
                    except StopIteration as end:
                        yield key, end.value
                    except ENDING as error:
                        ending = ending or error
                    except Exception as error:
                        yield key, error
                    else:
                        asked[key] += 1
                        waiting[f"{key}-{asked[key]}"] = request
                        continue
                    done += [f"{key}-{number}" for number in range(1, asked[key] + 1)]
                replies = self._exchange(dict(waiting)) if waiting and not ending else None
        finally:  # what was not taken from here is not in the call cache: it stays noted
            self._forget(done)
        if ending:
            raise ending

    def _exchange(self, requests: Mapping[str, Sending]) -> Replies:
        """Send the requests that are not under way, as many as the budget allows; yield the id and
        the reply of each that is answered.
        """
        with hold_lock(self.folder / "lock", "a batch file"):
            under_way = [sent for sent in self._noted() if not requests.keys().isdisjoint(sent.ids)]
            under_way = [sent for sent in under_way if sent.batch or self._find(sent)]
            known = {id for sent in under_way for id in sent.ids}
            try:
                for lines in self._split({i: r for i, r in requests.items() if i not in known}):
                    under_way.append(self._send(lines))
                    if self.most_lines < MOST_LINES:
                        break  # the server takes one such file at a time
            except BudgetSpent:
                if not under_way:
                    raise
        looks = count(1)
        answered = 0
        with show_progress(f"{self.url}, batch files", len(requests)) as progress:
            while under_way:
                completed = 0
                for sent in under_way.copy():
                    batch = self._ask(sent, batch_protocol.look_at, sent.batch)
                    counts = protocol.as_object(batch.get("request_counts"))
                    completed += protocol.as_count(counts.get("completed")) or 0
                    if batch["status"] in batch_protocol.ENDED:
                        under_way.remove(sent)
                        for id, reply in self._read(sent, batch, requests):
                            answered += 1
                            yield id, reply
                progress(answered + completed, len(requests))
                if under_way:
                    time.sleep(self.patience.pause(next(looks)))

    def _split(self, requests: Mapping[str, Sending]) -> Iterator[dict[str, bytes]]:
        """The lines of files by id, within the server's limits. Raises BudgetSpent after those that
        the budget allows.
        """
        lines, size = {}, 0
        for id, (path, body, most) in requests.items():
            about = {"custom_id": id, "method": "POST", "url": f"/v1{path}", "body": body}
            line = json.dumps(about).encode() + b"\n"
            if lines and (len(lines) >= self.most_lines or size + len(line) > MOST_BYTES):
                yield lines
                lines, size = {}, 0
            try:
                self._reserved[id] = self.budget.reserve(most, wait=False)
            except BudgetSpent:
                if lines:
                    yield lines
                raise
            lines[id], size = line, size + len(line)
        if lines:
            yield lines

    def _send(self, lines: Mapping[str, bytes]) -> Sent:
        """Send a file and begin its batch, noted before and after."""
        self._note(sent := Sent(self.url, token_hex(8), "", [*lines]))
        url, content = json.loads(next(iter(lines.values())))["url"], b"".join(lines.values())
        self._ask(sent, batch_protocol.look_for, sent.name)  # fails if it takes no batch files
        file = self._ask(sent, batch_protocol.upload, sent.name, content)
        sent.batch = self._ask(sent, batch_protocol.begin, sent.name, file, url)
        self._note(sent)
        told = f"{self.url}: sent {len(lines)} requests as batch {sent.batch}"
        print(f"{told}; if this is stopped, the same command resumes", file=sys.stderr, flush=True)
        return sent

    def _find(self, sent: Sent) -> bool:
        """Find the batch that a process began before it was killed; forget it if there is none."""
        sent.batch = self._ask(sent, batch_protocol.look_for, sent.name)
        if sent.batch:
            self._note(sent)
        else:
            self._path(sent).unlink()
        return bool(sent.batch)

    def _read(self, sent: Sent, batch: Mapping, requests: Mapping[str, Sending]) -> Replies:
        """Yield the ids and the replies of the requests that a batch answered, now that it ended;
        others are no longer under way.
        """
        replies = self._ask(sent, batch_protocol.read_replies, batch, requests)
        told, limited = batch_protocol.tell_end(batch)
        reason = f"{self.url}: batch {sent.batch} {told}"
        if large := limited and len(sent.ids) > 1:
            self.most_lines = len(sent.ids) // 2
            print(f"{reason}; smaller files follow, one by one", file=sys.stderr, flush=True)
        answered = {}
        for id in filter(requests.__contains__, sent.ids):
            reply = replies.get(id) or TemporaryFailure(f"{reason}, without a reply to it")
            used = reply.usage if isinstance(reply, ServerReply) else Usage(0, 0)
            self.budget.settle(self._reserved.pop(id, 0.0), used)
            if isinstance(reply, TemporaryFailure):
                self._in_vain[id] += not large
                if self._in_vain[id] < MOST_SENT:
                    continue
                reply = RuntimeError(f"{reply}; it was sent {self._in_vain.pop(id)} times")
            answered[id] = reply
        self._forget([id for id in sent.ids if id in requests and id not in answered])
        for id, reply in answered.items():
            faulty = isinstance(reply, ServerReply) and not reply.texts
            yield id, reply.fault(self.url) if faulty else reply

    def _ask(self, sent: Sent, function: Callable[..., T], *about) -> T:
        """What a function of the address returns, called again while the server is away, or says
        what is not in its protocol.
        """
        try:
            return self.endpoints.send_until_answered(function, *about)
        except (NotServed, RequestRefused, ConnectionError) as error:
            remedy = "or set batch=false, or delete"
            remedy = f"{remedy} {self._path(sent)} to send it, and pay for it, again"
            raise type(error)(f"{error}; {remedy}") from None

    def _path(self, sent: Sent) -> Path:
        return self.folder / f"{sent.name}.json"

    def _note(self, sent: Sent) -> None:
        write_whole(self._path(sent), json.dumps(asdict(sent)))

    def _noted(self) -> list[Sent]:
        """The files under way on this server."""
        found = []
        for path in sorted(self.folder.glob("*.json")):
            try:
                found.append(Sent(**json.loads(path.read_text(encoding="utf-8"))))
            except (ValueError, TypeError):
                expected = "expected a note of what is under way; delete it to send that again"
                raise DataError(f"{path}: found another text, {expected}") from None
        return [sent for sent in found if sent.server == self.url]

    def _forget(self, ids: Collection[str]) -> None:
        """Note that requests are no longer under way."""
        ids = set(ids)
        with hold_lock(self.folder / "lock", "a batch file"):
            for sent in self._noted():
                if not ids.isdisjoint(sent.ids):
                    sent.ids = [id for id in sent.ids if id not in ids]
                    self._note(sent) if sent.ids else self._path(sent).unlink()
