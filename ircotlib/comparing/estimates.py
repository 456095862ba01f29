"""What planned runs will take, from a sample: systems answer a few questions for real, and each of
their requests stands for those that the runs will ask like it.
"""

import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import nan
from typing import NamedTuple

import pandas as pd

from ircotlib.files.progress import show_progress
from ircotlib.generation.config import SMALL
from ircotlib.playing import scheduler
from ircotlib.program import Generate, Outcome, Request, Sample, deepen, key
from ircotlib.running.run import Run

ROWS = 50  # requests that are timed together, about as many as a worker has at a time
TIMED = 5.0  # seconds for which the requests of one kind are timed


class Planned(NamedTuple):
    """What a notebook runs of one system on one bench, which is opened to be sampled."""

    notebook: str
    runs: list[Run]

    @property
    def counts(self) -> dict[str, int]:
        """How many runs it has, by part."""
        return Counter(run.part for run in self.runs)

    @property
    def answers(self) -> int:
        """How many questions it answers in all."""
        return sum(run.size for run in self.runs)

    def sample(self, questions: int) -> list[Run]:
        """Runs of a few questions, with its first and, if there are several, its last setting; none
        if its bench is not opened.
        """
        without_sets = [{**run.setting} for run in self.runs]
        for setting in without_sets:
            setting.pop("demonstration_set", None)
        ends = [without_sets[0]]
        ends += [other for other in without_sets if other != ends[0]][-1:]
        samples = [self.runs[0]._replace(setting=end, most=questions) for end in ends]
        return [run for run in samples if run.questions]


def group_runs(notebook: str, runs: Sequence[Run]) -> list[Planned]:
    """The runs of a notebook by bench and system."""
    groups = defaultdict(list)
    for run in runs:
        groups[id(run.bench), run.system.name].append(run)
    return [Planned(notebook, group) for group in groups.values()]


def play_sample(planned: Sequence[Planned], questions: int, one_core: bool) -> pd.DataFrame:
    """Have each system answer some questions with both ends of its grid through the call cache, and
    time the backends; return a row for each request and part of the runs. `one_core`: time models
    as workers have them, with a core each.

    `weight`: how many requests a row stands for; `new`: how many of these will be answered, because
    equal ones are answered once; `seconds`: what one takes, NaN if it could not be timed.
    """
    groups = defaultdict(list)
    spent = defaultdict(float)
    rows = []
    for one in planned:  # the same backends answer together, in full batches
        groups[tuple(one.runs[0].bench.backends)].append(one)
    with show_progress("a sample, data sets and models", len(groups)) as progress:
        for done, (backends, group) in enumerate(groups.items(), 1):
            programs, sources = {}, {}
            for one, run in [(one, run) for one in group for run in one.sample(questions)]:
                build = run.program
                for question in run.questions:
                    name = f"{question.id}, {run.label}, {one.notebook} {done}.{len(sources)}"
                    programs[name] = build(question)
                    sources[name] = one, run
            calls = group[0].runs[0].bench.calls
            outcomes, counts = scheduler.run(programs, backends, calls)
            serving = {kind: backend for backend in backends for kind in _kinds(backend)}
            for kind, backend in serving.items():
                spent[backend, kind.__name__] += counts[kind.__name__]["seconds"]
            for name, (one, run) in sources.items():
                asked = sum(len(each.questions) for each in one.sample(questions))
                rows += _rows(one, run, asked, outcomes[name], serving)
            progress(done, len(groups))
    table = pd.DataFrame(rows)
    # what both ends ask is taken to be asked by all settings
    settings = table.groupby(["notebook", "bench", "system", "part", "key"])["setting"]
    table["new"] = table["weight"] / table["runs"].where(settings.transform("nunique") > 1, 1)
    seconds = _time_units(table.drop_duplicates(["play", "at"]), spent, one_core)
    pairs = zip(table["backend"], table["kind"], strict=True)
    return table.assign(seconds=table["units"] * [seconds[pair] for pair in pairs])


def _kinds(backend: object) -> tuple[type, ...]:
    return backend.answers if isinstance(backend.answers, tuple) else (backend.answers,)


def _rows(one: Planned, run: Run, asked: int, outcome: Outcome, serving: Mapping) -> list:
    """The rows of a question; `units`: the tokens that are read and written, or 1 if none are;
    `asked`: how many questions the sample of `one` has; `runs`: for how many of a part it stands.
    """
    rows = []
    sizes = {each.part: each.size for each in one.runs}
    of = {"notebook": one.notebook, "system": run.system.name, "bench": id(run.bench)}
    of |= {"setting": str(run.setting), "play": outcome.id}
    for at, step in enumerate(outcome.trace):
        backend = serving[type(step.request)]
        sent = deepen(step.request, getattr(backend, "depth", 0))
        stored = key(sent, backend.fingerprint) if backend.fingerprint else f"{outcome.id} {at}"
        row = of | {"at": at, "request": sent, "key": stored, "cached": step.cached}
        row |= {"backend": backend, "kind": type(sent).__name__, "tokens": step.tokens}
        row |= {"prompt_tokens": step.prompt_tokens}
        row |= {"units": step.prompt_tokens + step.tokens or 1}
        for part, count in one.counts.items():
            weight = count * sizes[part] / asked
            ends = asked // len(run.questions)
            rows.append(row | {"part": part, "runs": count / ends, "weight": weight})
    return rows


def _time_units(rows: pd.DataFrame, spent: Mapping, one_core: bool) -> dict[tuple, float]:
    """The seconds for a unit, by backend and kind of request: as it took to answer what was not in
    the call cache (`spent`: in seconds) for servers and what depends on more than the request, else
    as `time_backend` measures.
    """
    seconds = {}
    for (backend, kind), of_kind in rows.groupby(["backend", "kind"], sort=False):
        if getattr(backend, "server", "") or backend.fingerprint is None:
            units = of_kind.loc[~of_kind["cached"], "units"].sum()
            seconds[backend, kind] = spent[backend, kind] / units if units else nan
            continue
        clock = time.perf_counter
        if one_core and 0 < getattr(backend, "parameters", 0) < SMALL:
            backend.threads, clock = 1, time.process_time  # whatever else runs on the other cores
        once = of_kind.drop_duplicates("key")
        # with fewer plays than in runs, batches are as large with requests of neighbouring steps
        steps = once["at"] * once.groupby("system")["play"].transform("nunique") // ROWS
        alike = once.groupby([once["system"], steps])["request"]
        batches = [[*requests] for _, requests in alike]
        seconds[backend, kind] = time_backend(backend, batches, clock)
    return seconds


def time_backend(
    backend: object, alike: Sequence[Sequence[Request]], clock: Callable, limit: float = TIMED
) -> float:
    """The seconds for a unit that a backend takes without the call cache, measured for `limit`
    seconds. `alike`: what a system asks at about the same step, which fills the batches of a run.
    """
    batches = [of[first : first + ROWS] for of in alike for first in range(0, len(of), ROWS)]
    random.Random(0).shuffle(batches)
    list(backend.answer(batches[0][:1]))  # reads the model
    seconds, units = 0.0, 0
    for batch in batches:
        if seconds > limit:
            break
        taken = backend.take(batch) if hasattr(backend, "take") else range(len(batch))
        started = clock()
        replies = dict(backend.answer([batch[index] for index in taken]))
        seconds += clock() - started
        written = isinstance(batch[0], Generate | Sample)
        costs = [json.loads(reply) if written else {} for reply in replies.values()]
        units += sum(cost.get("prompt_tokens", 0) + cost.get("tokens", 0) or 1 for cost in costs)
    return seconds / units


def add_up(requests: pd.DataFrame) -> dict[str, float]:
    """What requests of `play_sample` come to; `new_…`: those that will be answered."""
    new = requests.sort_values("new").drop_duplicates(["part", "key"], keep="last")
    row = {"seconds": (new["new"] * new["seconds"]).sum(skipna=False)}
    for prefix, of, weight in (("", requests, requests["weight"]), ("new_", new, new["new"])):
        row[f"{prefix}requests"] = weight.sum()
        row[f"{prefix}generations"] = weight[of["kind"].isin(["Generate", "Sample"])].sum()
        row[f"{prefix}retrievals"] = weight[of["kind"] == "Retrieve"].sum()
        row |= {prefix + name: (weight * of[name]).sum() for name in ("prompt_tokens", "tokens")}
    return row
