"""Runs many programs at once, answers their requests in full batches, and keeps every
reply.

Every program advances until it waits for a reply that is not in the cache. Then the
backends take turns: first those that answer all waiting requests (retrieval), then
those that take one full batch (generation). The same programs with the same cache
always make the same batches.

A task goes round in this loop until its program returns:

    waits   its request is prepared by the backend and looked up in the cache
    hits    the stored reply is decoded and sent to the program, which asks again
    misses  it waits for its backend's turn; what is answered is stored, then sent
    fails   its request has no reply: the other tasks go on, then the run ends
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ircotlib.backends import Backend
from ircotlib.engine.cache import Replies
from ircotlib.errors import DataError, UserError
from ircotlib.program import Outcome, Program, Request, Sample, Step, key

COSTS = ("requests", "computed", "prompt_tokens", "tokens")
Costs = dict[str, dict[str, int]]  # by class of request
Programs = Mapping[str, Program]  # by question id


@dataclass(slots=True, eq=False)
class Task:
    """A program in progress. It waits for the reply to `request`, or has ended."""

    id: str
    program: Program
    request: Request | None = None
    prepared: Any = None  # what the backend answers in place of `request`
    key: str = ""  # of `prepared`, in the cache
    trace: list[Step] = field(default_factory=list)
    ended: bool = False
    result: Any = None
    failure: Exception | None = None  # of its last request

    @property
    def outcome(self) -> Outcome:
        return Outcome(self.id, self.result, tuple(self.trace))


def run(
    programs: Programs,
    backends: Sequence[Backend],
    calls: Replies,
    progress: Callable[[int, int], None] = lambda ended, total: None,
) -> tuple[dict[str, Outcome], Costs]:
    """Run programs to their ends; return outcomes by question id, COSTS by request.

    `progress(ended, total)` is called after every batch. If a request fails, only its
    question fails: RuntimeError, with question and request, is raised after the other
    programs have ended; at once if a program or a whole backend fails.
    """
    engine = Engine(programs, backends, calls)
    engine.run(progress)
    tasks = engine.tasks
    failed = [task for task in tasks if task.failure]
    if failed:
        failure = f"{len(failed)} of {len(tasks)} questions failed, this one with"
        error = failed[0].failure
        raise RuntimeError(describe(failure, failed, error)) from error
    return {task.id: task.outcome for task in tasks}, engine.costs


def find_missing(
    programs: Programs, backends: Sequence[Backend], calls: Replies
) -> list[str]:
    """The ids of the programs that wait for a reply that is not in the cache."""
    ended = replay(programs, backends, calls)
    return [id for id in programs if id not in ended]


def replay(
    programs: Programs, backends: Sequence[Backend], calls: Replies
) -> dict[str, Outcome]:
    """The outcomes, by question id, of the programs whose replies are all in the cache.
    No backend is asked for others.
    """
    engine = Engine(programs, backends, calls)
    engine.replay(engine.tasks)
    return {task.id: task.outcome for task in engine.tasks if task.ended}


class Engine:
    """Programs in progress, backends, the cache of their replies, what these cost."""

    def __init__(self, programs: Programs, backends: Sequence[Backend], calls: Replies):
        self.calls = calls
        self.served: dict[type, Any] = {}  # the backend of each class of request
        # in turn: retrieval, which answers all; then models, which take one batch
        for backend in sorted(backends, key=lambda backend: hasattr(backend, "take")):
            kinds = backend.answers
            for kind in kinds if isinstance(kinds, tuple) else (kinds,):
                self.served[kind] = backend
        self.costs = {kind.__name__: dict.fromkeys(COSTS, 0) for kind in self.served}
        self.tasks = [Task(id, program) for id, program in programs.items()]
        for task in self.tasks:
            self.advance(task)  # up to its first request

    def run(self, progress: Callable[[int, int], None]) -> None:
        """Answer requests, kind by kind in turns, until all tasks have ended."""
        tasks = self.tasks
        self.replay(tasks)
        progress(sum(task.ended for task in tasks), len(tasks))
        while not all(task.ended for task in tasks):
            for kind in self.served:
                live = [task for task in tasks if not task.ended]
                waiting = [task for task in live if type(task.request) is kind]
                if waiting:
                    self.replay(self.answer(kind, waiting))  # those that got a reply
                    progress(sum(task.ended for task in tasks), len(tasks))

    def replay(self, tasks: list[Task]) -> None:
        """Advance tasks as far as the cache goes."""
        waiting = [task for task in tasks if not task.ended]
        while waiting:  # a round for each cached step
            for task in waiting:
                self.prepare(task)
            stored = self.calls.get_many({task.key for task in waiting})
            known = [task for task in waiting if task.key in stored]
            for task in known:
                self.advance(task, stored[task.key], cached=True)
            waiting = [task for task in known if not task.ended]

    def prepare(self, task: Task) -> None:
        """What the backend of a task's request is sent, and its key in the cache."""
        kind = type(task.request)
        if kind not in self.served:
            served = ", ".join(each.__name__ for each in self.served) or "nothing"
            raise UserError(
                f"question {task.id!r} asked a {kind.__name__}, but the backends serve "
                f"{served}: give the setup one that does (Extract: set `extractor`)"
            )
        backend = self.served[kind]
        task.prepared = task.request
        if hasattr(backend, "prepare"):
            task.prepared = backend.prepare(task.request)
        task.key = f"not stored: {task.id} {len(task.trace)}"
        if backend.fingerprint is not None:
            task.key = key(task.prepared, backend.fingerprint)

    def answer(self, kind: type, waiting: list[Task]) -> list[Task]:
        """Have a backend answer a batch, each once; return the tasks that continue."""
        backend = self.served[kind]
        batch = list({task.key: task for task in waiting}.values())  # equal ones once
        try:
            if hasattr(backend, "take"):
                chosen = backend.take([task.prepared for task in batch])
                if not chosen:
                    raise ValueError(f"`take` gave none of {len(batch)} requests")
                batch = [batch[index] for index in chosen]
            # perhaps another process has stored some since these were looked up
            stored = self.calls.get_many(task.key for task in batch)
            batch = [task for task in batch if task.key not in stored]
            replies = stored | self.ask(backend, batch)
        except Exception as error:
            failed = f"{type(backend).__name__} failed"
            raise RuntimeError(describe(failed, batch, error)) from error
        answered = [task for task in waiting if task.key in replies]
        computed = {task.key for task in batch}  # paid by the first task that gets them
        for task in answered:
            reply = replies[task.key]
            if isinstance(reply, Exception):
                task.ended = True
                task.failure = reply
            else:
                self.advance(task, reply, cached=task.key not in computed)
                computed.discard(task.key)
        return answered

    def ask(self, backend: Backend, batch: list[Task]) -> dict[str, str | Exception]:
        """The replies of a backend by key. Each is stored as it comes; what another
        process stored first is the reply of both.
        """
        replies: dict[str, str | Exception] = {}
        requests = [task.prepared for task in batch]
        for index, reply in backend.answer(requests) if batch else ():
            asked = batch[index].key
            if not isinstance(reply, Exception) and backend.fingerprint is not None:
                reply = self.calls.put_many({asked: reply})[asked]
            replies[asked] = reply
        left_out = sum(task.key not in replies for task in batch)
        if left_out:
            raise ValueError(f"`answer` left out {left_out} of {len(batch)} requests")
        return replies

    def advance(self, task: Task, stored: str | None = None, cached=False) -> None:
        """Send a program the stored reply, or None to begin, up to its next request."""
        try:
            reply = None if stored is None else self.decode(task, stored, cached)
            task.request = task.program.send(reply)
            for name in ("query", "title", "prompt"):
                text = getattr(task.request, name, "")
                if not isinstance(text, str | tuple):  # or a chat
                    fault = f"found the {name} {text!r:.60}, expected a text"
                    task.program.throw(TypeError(fault))  # at its own line
            k = getattr(task.request, "k", 0)
            if k < 0:
                task.program.throw(ValueError(f"found the k {k}, expected a count"))
        except StopIteration as end:
            task.ended = True
            task.result = end.value
            task.request = task.prepared = None
        except Exception as error:
            failed = f"failed after {len(task.trace)} replies"
            raise RuntimeError(describe(failed, [task], error)) from error

    def decode(self, task: Task, stored: str, cached: bool) -> Any:
        """What a program is sent for a stored reply, which is added to its trace."""
        assert task.request is not None
        kind = type(task.request)
        try:
            reply = self.served[kind].decode(stored, task.request)
            # only an object counts tokens: a list of paragraphs is not parsed twice
            counted = json.loads(stored) if stored.lstrip().startswith("{") else {}
        except DataError:  # of a damaged corpus: no fault of the cache
            raise
        except Exception as error:  # whatever a damaged reply does to its reader
            advice = ": delete the call cache, it is made again" * cached
            message = f"cannot read the reply {stored!r:.60}: {error!r}{advice}"
            raise DataError(message) from error
        if isinstance(task.request, Sample) and not reply:
            raise ValueError(f"found none of {task.request.n} texts")
        step = Step(
            task.request,
            reply,
            cached,
            prompt_tokens=counted.get("prompt_tokens", 0),
            tokens=counted.get("tokens", 0),
            thoughts=tuple(counted.get("thoughts", ())),
        )
        costs = self.costs[kind.__name__]
        costs["requests"] += 1
        costs["computed"] += not cached
        costs["prompt_tokens"] += step.prompt_tokens
        costs["tokens"] += step.tokens
        task.trace.append(step)
        return reply


def describe(failure: str, tasks: Sequence[Task], error: object) -> str:
    """A failure in one line: the question, how many others, and the request."""
    others = ""
    if len(tasks) > 1:
        others = f" (and {len(tasks) - 1} others with it)"
    asked = repr(tasks[0].request)
    if len(asked) > 300:  # the question is near its end
        asked = f"{asked[:80]} … {asked[-210:]}"
    return (
        f"question {tasks[0].id!r}{others}: {failure}: {error!r}; it asked {asked}; "
        "the replies until then are in the cache"
    )
