"""What runs with a model behind a server may cost at most, told before they start, and what they
did cost.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ircotlib.running.bench import Bench
from ircotlib.running.run import Run
from ircotlib.systems import System


class Usage(NamedTuple):
    """Tokens read and written."""

    prompt_tokens: int
    tokens: int


def in_dollars(cost: float | None) -> str:
    """A cost in words; None is "unknown cost"."""
    return "unknown cost" if cost is None else f"{cost:.3g} USD"


def most_generations(bench: Bench, system: System) -> int:
    """The most texts that a system has the model write for one question: as many as its record
    says, or else its steps; plus one for its reader, and one to name pages if there are main
    passages.
    """
    steps = bench.parameters.max_steps if system.takes("max_steps") else len(system.stages)
    named = any(question.passage for question in (*bench.dev, *bench.test))
    return (system.generations or steps) + system.takes("read") + named


def most_texts(runs: Sequence[Run]) -> int:
    """The most texts that runs have the model write."""
    return sum(run.size * most_generations(run.bench, run.system) for run in runs)


def most_usage(run: Run) -> Usage:
    """The most tokens that a run takes, if each text and its prompt fill the window."""
    texts = most_texts([run])
    written = run.bench.longest(run.system)
    return Usage(texts * (run.bench.window - written), texts * written)


def most_usd(runs: Sequence[Run]) -> float | None:
    """The most that runs may cost in USD; None: the price is not known."""
    if any(run.bench.price is None for run in runs):
        return None
    return sum(run.bench.price.of(*most_usage(run)) for run in runs)


def announce(runs: Sequence[Run]) -> str:
    """What runs are and may cost at most, in a line."""
    p = runs[0].bench.parameters
    price = runs[0].bench.price
    limit = f"it stops at max_cost {p.max_cost} USD"
    limits = "no max_cost is set" if p.max_cost is None else limit
    usd = in_dollars(most_usd(runs))
    text = f"{name_work(runs)}: at most {most_texts(runs):,} generations of {p.model}, {usd}"
    if price and p.batch and not p.prices:
        text += ", as requests one by one (vendors take half for batch files: set prices)"
    return f"{text}; cached calls cost nothing; {limits}"


def name_work(runs: Sequence[Run]) -> str:
    """The data sets, systems and number of questions of runs, in words."""
    systems = list(dict.fromkeys(run.system.name for run in runs))
    named = systems[0] if len(systems) == 1 else f"{len(systems)} systems"
    datasets = dict.fromkeys(run.bench.dataset.name for run in runs)
    return f"{', '.join(datasets)}, {named}, {sum(run.size for run in runs):,} questions"


@contextmanager
def report_cost(runs: Sequence[Run]) -> Iterator[None]:
    """Say on stderr what runs may cost at most (`announce`) and, at their end, what was paid. Says
    nothing for a model on this machine.
    """
    # all runs of a process share it
    budget = getattr(runs[0].bench.model, "budget", None) if runs else None
    if budget is None or not most_texts(runs):
        yield
        return
    print(announce(runs), file=sys.stderr, flush=True)
    spent = budget.spent
    yield
    if budget.spent > spent:
        paid = in_dollars(budget.spent - spent if budget.price else None)
        told = f"{name_work(runs)}: paid {paid}"
        print(f"{told}; run.json has the cost of each run", file=sys.stderr, flush=True)
