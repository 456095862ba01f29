"""The benchmark behind the claims about the speed of models: python -m bench.batching,
or make bench. Writes figures/bench_batching.csv.

The same questions are answered in full batches and one by one, as the papers' released
programs do; a causal model also reads every prompt whole, or the prefix that a batch
shares once, or no prefix twice. Seconds are a thread's CPU seconds, from empty call
caches: their ratios should be similar on other machines.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pandas as pd

from ircotlib.data import Prediction, Question
from ircotlib.engine.cache import Calls
from ircotlib.engine.scheduler import run
from ircotlib.experiment.plan import find_plan
from ircotlib.experiment.setup import Setup, change_model, open_setup
from ircotlib.models.local import LocalModel
from ircotlib.models.prefixes import Prefixes
from ircotlib.options import new_parser
from ircotlib.parameters import read_parameters
from ircotlib.program import SENTENCE, Generate, Program, Retrieve
from ircotlib.prompting.prompt import BETWEEN_DEMONSTRATIONS, PromptWriter, render
from ircotlib.results.figures import save_figure
from ircotlib.systems import all_systems

DATASET, SYSTEM, K, M, ROUNDS = "hotpotqa", "IRCoT QA", 4, 1, 2
# models, with the number of questions
T5, CAUSAL = ("data/models/mini-large", 100), ("data/models/mini-causal", 24)
WINDOW = 2000  # tokens; demonstrations fill most of it, as in the paper
Build = Callable[[Question], Program]


def transcript(question: Question, *, prompt: PromptWriter, steps: int = 4) -> Program:
    """Write and retrieve in turn, in a prompt that grows only at its end (Self-Ask)."""
    text, written = prompt(question), []
    for _ in range(steps):
        written.append((yield Generate(text, SENTENCE, 60)))
        paragraphs = yield Retrieve(written[-1] or question.text, K)
        example = render(paragraphs, question.text)
        text += f" {written[-1]}{BETWEEN_DEMONSTRATIONS}{example}"
    return Prediction(" ".join(written))


def answer_all(setup: Setup, build: Build, at_once: int) -> tuple[dict[str, str], int]:
    """The answers, asked for `at_once` at a time, and the number of tokens written."""
    answers, tokens = {}, 0
    for first in range(0, len(setup.test), at_once):
        programs = {q.id: build(q) for q in setup.test[first : first + at_once]}
        outcomes, counts = run(programs, setup.backends, setup.calls)
        answers |= {id: outcome.result.answer for id, outcome in outcomes.items()}
        tokens += counts["Generate"]["tokens"]
    return answers, tokens


def measure(setup: Setup, program: str, build: Build, ways: dict) -> pd.DataFrame:
    """Measure all ways in turn, each with an empty call cache and a newly opened model;
    the fastest of ROUNDS counts. A way: what opens the model, and questions at once.
    """
    rows, replies = [], []
    for _ in range(ROUNDS):
        for way, (make_model, at_once) in ways.items():
            model = make_model()
            assert model.model is not None  # read before the clock starts
            with Calls() as calls:
                fresh = replace(setup, calls=calls, model=model)
                started = time.process_time()
                replies.append(answer_all(fresh, build, at_once))
                rows.append({"way": way, "seconds": time.process_time() - started})
    assert all(reply == replies[0] for reply in replies), "the ways' answers differ"
    fastest = pd.DataFrame(rows).groupby("way", sort=False)[["seconds"]].min()
    table = fastest.reset_index()
    table["questions per second"] = len(setup.test) / table["seconds"]
    table["times as fast"] = table["seconds"].max() / table["seconds"]
    table.insert(0, "program", program)
    table.insert(0, "model", setup.parameters.model.rpartition("/")[2])
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


def measure_batching() -> pd.DataFrame:
    """Full batches against one question at a time."""
    name, questions = T5
    p = read_parameters("mini", {"model": name, "dev": 0, "test": questions})
    setup = open_setup(p, DATASET, "setup")
    make_model = partial(LocalModel, name)
    ways = {"full batches": (make_model, questions), "one at a time": (make_model, 1)}
    build = find_plan(setup, all_systems()[SYSTEM], {"k": K, "m": M}).program
    return measure(setup, SYSTEM, build, ways)


def measure_reading(name: str, questions: int) -> list[pd.DataFrame]:
    """Ways of reading prefixes, if prompts grow before the question or after it."""
    changes = {"dev": 0, "test": questions, "context_tokens": WINDOW}
    p = change_model(read_parameters("mini", changes), name)
    setup = open_setup(p, DATASET, "setup")
    prompt = setup.prompt("cot", m=M)
    programs = {
        SYSTEM: find_plan(setup, all_systems()[SYSTEM], {"k": K, "m": M}).program,
        "a growing transcript": lambda question: transcript(question, prompt=prompt),
    }
    models = {
        "nothing read twice": partial(LocalModel, name),
        "what a batch shares read once": partial(forgetful, name),
        "every prompt read whole": partial(LocalModel, name, kept_tokens=0),
    }
    ways = {way: (make_model, questions) for way, make_model in models.items()}
    return [measure(setup, program, build, ways) for program, build in programs.items()]


def main() -> None:
    new_parser(__doc__).parse_args()
    import torch  # takes seconds, so only once the options are read

    torch.set_num_threads(1)
    table = pd.concat([measure_batching(), *measure_reading(*CAUSAL)])
    save_figure(None, table.round(2), "bench_batching")


if __name__ == "__main__":
    main()
