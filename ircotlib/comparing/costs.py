"""What runs with a model behind a server may cost, reported before they start, and what they did
cost.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product

from ircotlib.generation.budget import Usage, find_price, in_dollars
from ircotlib.parameters import Parameters
from ircotlib.program import Outcome
from ircotlib.running.bench import Bench
from ircotlib.systems import System


def most_generations(bench: Bench, system: System) -> int:
    """The most texts that a system has the model write for one question: as many as its record
    says, or else its steps; plus one for its reader, and one to name pages if there are main
    passages.
    """
    steps = bench.parameters.max_steps if system.takes("max_steps") else len(system.stages)
    named = any(question.passage for question in (*bench.dev, *bench.test))
    return (system.generations or steps) + system.takes("read") + named


def count_runs(bench: Bench, system: System, demonstration_sets: int) -> tuple[int, int]:
    """How many runs on the dev questions tune a system, and how many on the test questions follow:
    see `compare_systems`.
    """
    settings = len(bench.settings(system))
    sets = demonstration_sets if bench.demonstrated and system.shows_sets else 1
    return settings if settings > 1 else 0, sets


def most_tokens(bench: Bench, system: System, questions: int) -> tuple[int, Usage]:
    """The most texts that a system has the model write to answer so many questions, and their
    tokens if each text and its prompt fill the window.
    """
    texts, written = questions * most_generations(bench, system), bench.longest(system)
    return texts, Usage(texts * (bench.window - written), texts * written)


def most_of_plan(
    benches: Sequence[Bench], systems: Sequence[System], demonstration_sets: int
) -> list[tuple[int, Usage]]:
    """The most that tuning and testing takes, as of `most_tokens`, for each bench and system."""
    most = []
    for bench, system in product(benches, systems):
        dev, test = count_runs(bench, system, demonstration_sets)
        most.append(most_tokens(bench, system, dev * len(bench.dev) + test * len(bench.test)))
    return most


@contextmanager
def report_cost(
    benches: Sequence[Bench], work: str, most: Sequence[tuple[int, Usage]]
) -> Iterator[None]:
    """Report what work may cost at most (`announce`) and, at its end, what was paid; prints nothing
    for a model on this machine.
    """
    budget = getattr(benches[0].model, "budget", None) if benches else None  # all share it
    if budget is None or not sum(texts for texts, _ in most):
        yield
        return
    announce(benches[0].parameters, work, most)
    requests, spent = budget.requests, budget.spent
    yield
    if asked := budget.requests - requests:
        paid = in_dollars(budget.spent - spent if budget.price else None)
        told = f"{work}: {asked:,} requests were sent, {paid}; run.json has the cost of each run"
        print(told, file=sys.stderr, flush=True)


def run_cost(bench: Bench, outcomes: Mapping[str, Outcome]) -> dict:
    """What a run cost, for run.json; empty for a model on this machine.

    In USD, None if the price is not known. `usd`: the cost of all tokens, including cached ones, so
    that a run costs the same whenever it is made; `paid`: of those computed this time.
    """
    p = bench.parameters
    if not p.server:
        return {}
    price = find_price(p.model, p.prices)
    steps = [step for outcome in outcomes.values() for step in outcome.trace]
    claimed = [p.batch and s.prompt_tokens and bench.model.claim(s.request) for s in steps]
    now = [s for s, now in zip(steps, claimed, strict=True) if now or not s.cached]
    usd = price and sum(price.of(step.prompt_tokens, step.tokens) for step in steps)
    paid = price and sum(price.of(step.prompt_tokens, step.tokens) for step in now)
    each = None if usd is None else usd / max(1, len(outcomes))
    about = {"prices": price and [price.input, price.output], "prices_from": price and price.about}
    return {"cost": {"usd": usd, "per_question": each, "paid": paid, **about}}


def announce(p: Parameters, work: str, most: Sequence[tuple[int, Usage]]) -> None:
    """Report what work may cost at most, from `most_tokens` of its parts; prints nothing for a
    model on this machine.
    """
    if not p.server:
        return
    price, limit = find_price(p.model, p.prices), p.max_cost
    generations = sum(texts for texts, _ in most)
    usd = in_dollars(price and sum(price.of(*usage) for _, usage in most))
    limits = "no max_cost is set" if limit is None else f"it stops at max_cost {limit} USD"
    text = f"{work}: at most {generations:,} generations of {p.model}, {usd}"
    if price and p.batch and not p.prices:
        text += ", as requests one by one (vendors take half for batch files: set prices)"
    print(f"{text}; cached calls cost nothing; {limits}", file=sys.stderr, flush=True)
