"""The benchmark behind the README's claim of speed: make bench. Writes figures/bench_batching.csv.

The same IRCoT QA questions of the laboratory with a shipped model and demonstrations, once all at a
time in full batches, once one question after another as the papers' released programs do; empty
call caches, one process, one thread. Only the ratio is meant to travel from machine to machine.
"""

import time

import pandas as pd
import torch

from ircotlib.calls import Calls
from ircotlib.experiment import Bench, open_dataset, program_of
from ircotlib.figures import save_figure
from ircotlib.generation.local import load
from ircotlib.paths import MODELS
from ircotlib.regenerate import read_profile
from ircotlib.scheduler import run

DATASET, QUESTIONS, K, M, ROUNDS = "hotpotqa", 100, 4, 1, 3


def answer_all(bench: Bench, at_once: int) -> tuple[float, dict[str, str], int]:
    """Answer the bench's test questions, `at_once` of them in one run; return seconds, answers and
    tokens written.
    """
    build, answers, tokens, started = (
        program_of(bench, "IRCoT QA", k=K, m=M),
        {},
        0,
        time.perf_counter(),
    )
    for first in range(0, len(bench.test), at_once):
        questions = bench.test[first : first + at_once]
        outcomes, counts = run(
            {q.id: build(q) for q in questions}, [bench.retriever, bench.model], bench.calls
        )
        answers |= {id: outcome.result.answer for id, outcome in outcomes.items()}
        tokens += counts["Generate"]["tokens"]
    return time.perf_counter() - started, answers, tokens


def main() -> None:
    torch.set_num_threads(1)
    mini, (_, test, retriever) = read_profile("mini"), open_dataset(DATASET, "", 0, QUESTIONS)
    shown = {"demonstrations": mini["demonstrations"], "context_tokens": mini["context_tokens"]}
    model = load(MODELS / "mini-large")
    rows, replies = [], []
    for round_ in range(ROUNDS + 1):  # the first round warms up
        for name, at_once in (("full batches", QUESTIONS), ("one at a time", 1)):
            with Calls() as calls:
                seconds, answers, tokens = answer_all(
                    Bench("bench", DATASET, [], test, retriever, calls, model, **shown), at_once
                )
            replies.append((answers, tokens))
            if round_:
                rows.append(
                    {
                        "questions at once": name,
                        "round": round_,
                        "questions": QUESTIONS,
                        "seconds": seconds,
                        "tokens written": tokens,
                    }
                )
    assert all(reply == replies[0] for reply in replies), "the answers differ between batch sizes"
    table = pd.DataFrame(rows)
    summary = table.groupby("questions at once", sort=False)[["seconds"]].median()
    summary["questions per second"] = QUESTIONS / summary["seconds"]
    summary["times as fast"] = summary["seconds"]["one at a time"] / summary["seconds"]
    print(summary.round(2))
    save_figure(None, summary.round(2).reset_index(), "bench_batching")


if __name__ == "__main__":
    main()
