"""The benchmark behind the claims about the speed of models: python -m bench.batching,
or make bench. Writes figures/bench_batching.csv.

The same questions are answered in full batches and one by one, as the papers' released
programs do; a causal model also reads every prompt whole, or the prefix that a batch
shares once, or no prefix twice. Seconds are a thread's CPU seconds, from empty call
caches: their ratios should be similar on other machines.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pandas as pd

from bench import timed
from ircotlib.data import Demonstration, Prediction, Question
from ircotlib.engine.cache import Calls
from ircotlib.experiment.runs import answer_all
from ircotlib.experiment.setup import Setup, change_model, open_setup
from ircotlib.models.local import LocalModel
from ircotlib.models.prefixes import Prefixes
from ircotlib.options import new_parser
from ircotlib.parameters import read_parameters
from ircotlib.program import SENTENCE, Generate, Program, Retrieve
from ircotlib.prompting.prompt import BETWEEN_DEMONSTRATIONS, render_demonstration
from ircotlib.results.figures import save_figure
from ircotlib.systems import SETS, Prompts, System, all_systems

DATASET, K, M, ROUNDS, STEPS = "hotpotqa", 4, 1, 2, 4
T5, T5_QUESTIONS = "data/models/mini-large", 100
CAUSAL, CAUSAL_QUESTIONS = "data/models/mini-causal", 24
WINDOW = 2000  # tokens; demonstrations fill most of it, as in the paper


def transcript(question: Question, *, prompts: Prompts, k: int) -> Program:
    """Write and retrieve in turn, in a prompt that grows only at its end (Self-Ask)."""
    text, written = prompts["cot"](question).text, []
    for _ in range(STEPS):
        written.append((yield Generate(text, SENTENCE, 60)))
        paragraphs = yield Retrieve(written[-1] or question.text, k)
        asked = Demonstration("", tuple(paragraphs), question.text, "")
        example = render_demonstration(asked)
        text += f" {written[-1]}{BETWEEN_DEMONSTRATIONS}{example}"
    return Prediction(" ".join(written))


IRCOT = all_systems()["IRCoT QA"]
GROWS = System("a growing transcript", transcript, {"cot": ""}, demonstrated_by=SETS)


def answer(setup: Setup, system: System, at_once: int) -> list[str]:
    """The answers, asked for `at_once` at a time."""
    outcomes = {}
    for first in range(0, len(setup.test), at_once):
        questions = setup.test[first : first + at_once]
        outcomes |= answer_all(setup, system, questions, k=K, m=M)
    return [outcome.result.answer for outcome in outcomes.values()]


def measure(setup: Setup, system: System, ways: dict) -> pd.DataFrame:
    """Measure all ways in turn, each with an empty call cache and a newly opened model;
    the fastest of ROUNDS counts. A way: what opens the model, and questions at once.
    """
    seconds, answers = {}, []
    for way, (make_model, at_once) in [*ways.items()] * ROUNDS:
        model = make_model(setup.parameters.model)
        assert model.model is not None  # read before the clock starts
        with Calls() as calls:
            fresh = replace(setup, calls=calls, model=model)
            answered, _, cpu = timed(partial(answer, fresh, system, at_once))
        answers.append(answered)
        seconds[way] = min(cpu, seconds.get(way, cpu))
    assert all(each == answers[0] for each in answers), "the ways' answers differ"
    table = pd.DataFrame({"way": seconds.keys(), "seconds": seconds.values()})
    table.insert(0, "program", system.name)
    table.insert(0, "model", setup.parameters.model.rpartition("/")[2])
    table["questions per second"] = len(setup.test) / table["seconds"]
    table["times as fast"] = table["seconds"].max() / table["seconds"]
    print(table.round(2).to_string(index=False), flush=True)
    return table


def forgetful(name: str) -> LocalModel:
    """A model whose prefix cache is emptied after each batch."""
    model = LocalModel(name)
    answer, limit = model.answer, model.prefixes.limit

    def answer_and_forget(requests):
        yield from answer(requests)
        model.prefixes = Prefixes(limit)

    model.answer = answer_and_forget
    return model


def measure_all() -> Iterator[pd.DataFrame]:
    """Full batches against one question at a time; then ways of reading prefixes, if
    prompts grow before the question or after it.
    """
    p = read_parameters("mini", {"model": T5, "dev": 0, "test": T5_QUESTIONS})
    ways = {"full batches": (LocalModel, p.test), "one at a time": (LocalModel, 1)}
    yield measure(open_setup(p, DATASET, "setup"), IRCOT, ways)
    changes = {"dev": 0, "test": CAUSAL_QUESTIONS, "context_tokens": WINDOW}
    p = change_model(read_parameters("mini", changes), CAUSAL)
    setup = open_setup(p, DATASET, "setup")
    reading = {
        "nothing read twice": (LocalModel, p.test),
        "what a batch shares read once": (forgetful, p.test),
        "every prompt read whole": (partial(LocalModel, kept_tokens=0), p.test),
    }
    for system in (IRCOT, GROWS):
        yield measure(setup, system, reading)


def main() -> None:
    new_parser(__doc__).parse_args()
    import torch  # takes seconds, so only once the options are read

    torch.set_num_threads(1)
    save_figure(None, pd.concat(measure_all()).round(2), "bench_batching")


if __name__ == "__main__":
    main()
