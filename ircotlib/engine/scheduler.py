"""Runs many programs at once, answers their requests in full batches, and keeps every
reply.

Every program advances until it waits for a reply that is not in the cache. Then the
backends take turns: first those that answer all waiting requests (retrieval), then
those that take one full batch (generation). The same programs with the same cache
always make the same batches.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ircotlib.engine.cache import Calls
from ircotlib.program import Outcome, Program, Request, Retrieve, Step, key

COSTS = ("requests", "computed", "prompt_tokens", "tokens")


@dataclass(slots=True, eq=False)
class Task:
    """A program in progress. It waits for the reply to `request`, or has ended."""

    id: str
    program: Program
    request: Request | None = None
    # to the backend in place of `request`, if it has a `depth`
    sent: Request | None = None
    key: str = ""  # of `sent`, in the cache
    trace: list[Step] = field(default_factory=list)
    ended: bool = False
    result: object = None
    failure: Exception | None = None  # of its last request


def run(
    programs: Mapping[str, Program],
    backends: Sequence,
    calls: Calls,
    progress: Callable[[int, int], None] = lambda ended, total: None,
    note: Callable[[Step], Step] = lambda step: step,
) -> tuple[dict[str, Outcome], dict[str, dict[str, int]]]:
    """Run programs, by question id, to their ends; return their outcomes, and their
    COSTS by class of request.

    A backend has
    - `answers`: the class of the requests that it answers, or a tuple of classes;
    - `fingerprint`: a text that changes whenever its replies may change; None: none is
      stored;
    - `answer(requests)`: for requests of one class, yields pairs (index, reply): a JSON
      string, or the Exception of a request that failed; of Generate, with
      "prompt_tokens" and "tokens";
    - `decode(string)`: the reply as the program gets it;
    - perhaps `take(requests)`: the indices of the requests to answer next, as one
      batch;
    - perhaps `depth`: a retrieval of fewer paragraphs is answered and cached as one of
      `depth`.
    `progress(ended, total)` is called after every batch. `note`: what traces keep of
    each step.

    If a request fails, only its question fails: RuntimeError, with question and
    request, is raised after the other programs have ended; at once if a program or a
    whole backend fails.
    """
    engine = Engine(backends, calls, note)
    tasks = [Task(id, program) for id, program in programs.items()]
    engine.run(tasks, progress)
    if failed := [task for task in tasks if task.failure]:
        failure = f"{len(failed)} of {len(tasks)} questions failed, this one with"
        raise RuntimeError(describe(failure, failed, failed[0].failure)) from failed[
            0
        ].failure
    outcomes = {
        task.id: Outcome(task.id, task.result, tuple(task.trace)) for task in tasks
    }
    return outcomes, engine.costs


def find_missing(
    programs: Mapping[str, Program], backends: Sequence, calls: Calls
) -> dict[str, Request]:
    """The first request of each program, by its id, that has no reply in the cache."""
    engine = Engine(backends, calls, note=lambda step: None)
    tasks = [Task(id, program) for id, program in programs.items()]
    return {
        task.id: task.request for task in engine.replay([*map(engine.advance, tasks)])
    }


def replay(
    programs: Mapping[str, Program], backends: Sequence, calls: Calls
) -> dict[str, Outcome]:
    """The outcomes, by question id, of the programs whose replies are all in the cache.
    Backends are never asked: of each only `answers`, `fingerprint`, `decode` and
    `depth` are used.
    """
    engine = Engine(backends, calls, note=lambda step: step)
    tasks = [Task(id, program) for id, program in programs.items()]
    engine.replay([*map(engine.advance, tasks)])
    return {t.id: Outcome(t.id, t.result, tuple(t.trace)) for t in tasks if t.ended}


class Engine:
    """Backends, the cache of their replies, and what these cost."""

    def __init__(self, backends: Sequence, calls: Calls, note: Callable):
        self.calls, self.note, self.served = calls, note, {}
        # in turn: retrieval, which answers all; then models, which take one batch
        for backend in sorted(backends, key=lambda backend: hasattr(backend, "take")):
            kinds = (
                backend.answers
                if isinstance(backend.answers, tuple)
                else (backend.answers,)
            )
            self.served |= dict.fromkeys(kinds, backend)
        self.costs = {kind.__name__: dict.fromkeys(COSTS, 0) for kind in self.served}

    def run(self, tasks: list[Task], progress: Callable) -> None:
        self.replay([self.advance(task) for task in tasks])
        progress(sum(task.ended for task in tasks), len(tasks))
        while waiting := [task for task in tasks if not task.ended]:
            for kind in self.served:
                asking = [t for t in waiting if not t.ended and type(t.request) is kind]
                if asking:
                    # only those that got a reply
                    self.replay(self.answer(kind, asking))
                    progress(sum(task.ended for task in tasks), len(tasks))

    def replay(self, tasks: list[Task]) -> list[Task]:
        """Advance tasks as far as the cache goes; return those that have not ended."""
        left = []
        # a round for each cached step
        while waiting := [task for task in tasks if not task.ended]:
            for task in waiting:
                if (backend := self.served.get(type(task.request))) is None:
                    served = (
                        ", ".join(kind.__name__ for kind in self.served) or "nothing"
                    )
                    found = (
                        f"question {task.id!r} asked a {type(task.request).__name__}"
                    )
                    raise TypeError(f"{found}, but the backends serve {served}")
                task.sent, depth = task.request, getattr(backend, "depth", 0)
                if isinstance(task.sent, Retrieve) and 1 <= task.sent.k < depth:
                    # its best k are the first of these
                    task.sent = replace(task.sent, k=depth)
                task.key = f"not stored: {task.id} {len(task.trace)}"
                if backend.fingerprint is not None:
                    task.key = key(task.sent, backend.fingerprint)
            stored = self.calls.get_many({task.key for task in waiting})
            left += [task for task in waiting if task.key not in stored]
            tasks = [task for task in waiting if task.key in stored]
            for task in tasks:
                self.advance(task, stored[task.key], cached=True)
        return left

    def answer(self, kind: type, waiting: list[Task]) -> list[Task]:
        """Have a backend answer a batch of requests, each once; return the tasks that
        continue.
        """
        backend = self.served[kind]
        # one task for each request
        batch = list({task.key: task for task in waiting}.values())
        try:
            if hasattr(backend, "take"):
                if not (chosen := backend.take([task.sent for task in batch])):
                    raise ValueError(
                        f"`take` gave none of {len(batch)} requests, expected some"
                    )
                batch = [batch[index] for index in chosen]
            stored = self.calls.get_many(task.key for task in batch)
            replies: dict[str, str | Exception] = dict(stored)
            batch = [task for task in batch if task.key not in stored]
            for index, reply in (
                backend.answer([task.sent for task in batch]) if batch else ()
            ):
                asked = batch[index].key
                if not isinstance(reply, Exception) and backend.fingerprint is not None:
                    # or what came first
                    reply = self.calls.put_many({asked: reply})[asked]
                replies[asked] = reply
            if missing := [task for task in batch if task.key not in replies]:
                raise ValueError(
                    f"`answer` left out {len(missing)} of {len(batch)} requests"
                )
        except Exception as error:
            failed = f"{type(backend).__name__} failed"
            raise RuntimeError(describe(failed, batch, error)) from error
        answered, known = [task for task in waiting if task.key in replies], {*stored}
        for task in answered:
            asked = task.key
            if isinstance(replies[asked], Exception):
                task.ended, task.failure = True, replies[asked]
            else:
                self.advance(task, replies[asked], cached=asked in known)
                known.add(asked)
        return answered

    def advance(
        self, task: Task, stored: str | None = None, cached: bool = False
    ) -> Task:
        """Send a program the stored reply, or None to begin, and run it to its next
        request.
        """
        try:
            reply = None if stored is None else self.decode(task, stored, cached)
            task.request = task.program.send(reply)
        except StopIteration as end:
            task.ended, task.result, task.request, task.sent = (
                True,
                end.value,
                None,
                None,
            )
        except Exception as error:
            failed = f"failed after {len(task.trace)} replies"
            raise RuntimeError(describe(failed, [task], error)) from error
        return task

    def decode(self, task: Task, stored: str, cached: bool) -> object:
        """What a program is sent for a stored reply, which is added to its trace and
        the costs.
        """
        reply, kind = self.served[type(task.request)].decode(stored), type(task.request)
        if kind is Retrieve:
            reply = reply[: task.request.k]  # of the deeper retrieval that was sent
        about = json.loads(stored) if hasattr(task.request, "prompt") else {}
        tokens = about.get("prompt_tokens", 0), about.get("tokens", 0)
        step = Step(
            task.request, reply, cached, *tokens, tuple(about.get("thoughts", ()))
        )
        for name, count in zip(COSTS, (1, not cached, *tokens), strict=True):
            self.costs[kind.__name__][name] += count
        task.trace.append(self.note(step))
        return reply


def describe(failure: str, tasks: Sequence[Task], error: object) -> str:
    """A failure in one line: the question, how many others failed with it, and the
    request.
    """
    others = f" (and {len(tasks) - 1} others with it)" if len(tasks) > 1 else ""
    asked = repr(tasks[0].request)
    if len(asked) > 300:  # the question is near its end
        asked = f"{asked[:80]} … {asked[-210:]}"
    report = f"{failure}: {error!r}; it asked {asked}; the replies until then are in the cache"
    return f"question {tasks[0].id!r}{others}: {report}"
