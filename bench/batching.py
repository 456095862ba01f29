"""The benchmark behind the README's claim of speed: python -m bench.batching, or make bench. Writes
figures/bench_batching.csv.

The same IRCoT QA questions of the laboratory with a shipped model and demonstrations, once all at a
time in full batches, once one question after another as the papers' released programs do; empty
call caches, one process, one thread. Only the ratio is meant to travel from machine to machine.
"""

import time
from dataclasses import replace

import pandas as pd
import torch

from ircotlib.bench import Bench, open_bench, program_of
from ircotlib.calls import Calls
from ircotlib.figures import save_figure
from ircotlib.parameters import read_parameters
from ircotlib.scheduler import run
from ircotlib.systems import all_systems

MODEL, DATASET, SYSTEM = "data/models/mini-large", "hotpotqa", "IRCoT QA"
QUESTIONS, K, M, ROUNDS = 100, 4, 1, 3


def answer_all(bench: Bench, at_once: int) -> tuple[float, tuple[dict[str, str], int]]:
    """Answer the bench's test questions, `at_once` of them in one run; return the seconds, and the
    answers with the number of tokens written.
    """
    build = program_of(bench, all_systems()[SYSTEM], k=K, m=M)
    answers, tokens, started = {}, 0, time.perf_counter()
    for first in range(0, len(bench.test), at_once):
        programs = {q.id: build(q) for q in bench.test[first : first + at_once]}
        outcomes, counts = run(programs, bench.backends, bench.calls)
        answers |= {id: outcome.result.answer for id, outcome in outcomes.items()}
        tokens += counts["Generate"]["tokens"]
    return time.perf_counter() - started, (answers, tokens)


def measure(bench: Bench) -> pd.DataFrame:
    """Both ways in turn, several rounds, each with an empty call cache."""
    rows, replies = [], []
    for round_ in range(ROUNDS + 1):  # the first round warms up
        for name, at_once in (("full batches", len(bench.test)), ("one at a time", 1)):
            with Calls() as calls:
                seconds, reply = answer_all(replace(bench, calls=calls), at_once)
            replies.append(reply)
            if round_:
                rows.append({"questions at once": name, "seconds": seconds})
    assert all(reply == replies[0] for reply in replies), "the answers differ between batch sizes"
    return pd.DataFrame(rows)


def main() -> None:
    torch.set_num_threads(1)
    p = read_parameters("mini", {"model": MODEL, "dev": 0, "test": QUESTIONS})
    table = measure(open_bench(p, DATASET, "bench"))
    summary = table.groupby("questions at once", sort=False)[["seconds"]].median()
    summary["questions per second"] = QUESTIONS / summary["seconds"]
    summary["times as fast"] = summary["seconds"]["one at a time"] / summary["seconds"]
    print(summary.round(2))
    save_figure(None, summary.round(2).reset_index(), "bench_batching")


if __name__ == "__main__":
    main()
