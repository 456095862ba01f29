"""A run: a system with a setting on the questions of a setup. Here its programs are
made, and it is carried out; stored.py has its folder, replay.py looks at it again.
"""

import platform
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property, partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd
from pydantic import TypeAdapter, ValidationError

from ircotlib.data import Prediction, Question
from ircotlib.datasets import score
from ircotlib.engine import scheduler
from ircotlib.errors import UserError
from ircotlib.experiment.setup import BACKENDS, Setup
from ircotlib.experiment.stored import columns_of, prediction_line, write_run
from ircotlib.files import track
from ircotlib.program import Generate, Outcome, Program, Sample
from ircotlib.prompting import demonstrations as sets
from ircotlib.prompting.prompt import PromptWriter
from ircotlib.systems import System, find_system
from ircotlib.systems.ircot import READER, read_paragraphs, with_main_passage

# packages on which replies and scores may depend
VERSIONS = (
    *("ircotlib", "torch", "transformers", "tokenizers"),
    *("tantivy", "regex", "numpy", "pandas"),
)
Outcomes = dict[str, Outcome[Prediction]]  # by question id
PREDICTION = TypeAdapter(Prediction)  # checks its fields


@dataclass(frozen=True, eq=False)
class Run:
    """A run: a system with one setting on the "dev" or "test" questions of a setup.
    `setting`: k, m and whatever else its program takes, and demonstration_set, 0 to 2
    (IRCoT §4.1: K, M).
    """

    setup: Setup
    system: System
    part: str
    setting: dict[str, Any]

    @property
    def questions(self) -> Sequence[Question]:
        return {"dev": self.setup.dev, "test": self.setup.test}.get(self.part, ())

    @property
    def folder(self) -> Path:
        """Its folder, inside that of its experiment and parameters."""
        setting = [f"{name}={value}" for name, value in self.setting.items()]
        name = " ".join([self.system.folder, *setting]).replace("/", "")
        return self.setup.runs / self.part / name

    @property
    def identity(self) -> dict:
        """What distinguishes it from others, as in run.json."""
        return {
            **self.setup.identity,
            "part": self.part,
            "system": self.system.name,
            "setting": self.setting,
            "metric": self.system.measure(self.setup.dataset),
            "parameters": self.setup.parameters.model_dump(mode="json"),
        }

    def programs(self, questions: Collection[Question]) -> dict[str, Program]:
        """A program for each question, by its id."""
        programs = {question.id: self.program(question) for question in questions}
        if len(programs) < len(questions):
            raise UserError(f"found {len(questions)} questions of {len(programs)} ids")
        return programs

    def program(self, question: Question) -> Program:
        """Its program for a question, within pages for a main passage (App. B)."""
        program = self.system.program(question, **self.arguments)
        if not hasattr(program, "send"):
            found = f"{self.system.name}: its program returned {program!r:.60}"
            raise UserError(f"{found}, expected a generator, which yields its requests")
        checked = ends_in_prediction(self.system, question, program)
        if question.passage is None:  # all but IIRC
            return checked
        return with_main_passage(
            question,
            checked,
            lambda: self.title_writer,
            max_tokens=self.setup.style.generation_tokens,
        )

    @cached_property
    def arguments(self) -> dict[str, object]:
        """The keywords that its program takes; a missing prompt file is found here."""
        setup, system = self.setup, self.system
        p = setup.parameters
        given: dict[str, object] = {
            "prompts": {stage: self.writer(stage, system) for stage in system.stages},
            "others": tuple(setup.test),
            "examples": system.count_examples(setup.dataset),
            "max_steps": p.max_steps,
            "sentence": setup.style.sentence,
            "released": p.released,
            "chat": p.chat,
            "max_tokens": setup.style.generation_tokens,
            **setup.dataset.program_arguments,
            **setup.tokens(system),
            **system.draw_at_most(p.samples),
        }
        if system.reads:  # IRCoT §3.2; direct for Flan-T5, cot for GPT3 (App. E)
            given["read"] = partial(
                read_paragraphs,
                prompt=self.writer(p.reader, READER),
                chain=p.reader == "cot",
                max_tokens=setup.style.generation_tokens,
            )
        arguments = {
            name: value
            for name, value in given.items()
            if name in system.defaults and value is not None
        }
        shown = ("m", "demonstration_set")  # by prompts
        own = {name: value for name, value in self.setting.items() if name not in shown}
        return arguments | own

    @cached_property
    def title_writer(self) -> PromptWriter:
        """Asks for pages; made only where one is asked for."""
        return self.writer("titles", READER)

    def writer(self, stage: str, system: System) -> PromptWriter:
        without = sets.NO_DEMONSTRATIONS
        if self.setup.demonstrated:
            without = sets.NO_PARAGRAPHS
        m = self.setting.get("m", without)  # distractors (IRCoT §4.1)
        number = self.setting.get("demonstration_set", 0)
        prompt = self.setup.prompt(stage, m, number, system)
        return replace(prompt, purpose=f"{system.name} {system.stages[stage]}")


def ends_in_prediction(system: System, question: Question, program: Program) -> Program:
    """The program; what it returns is checked while it can be said where."""
    where = f"{system.name}, question {question.id!r}"
    try:
        result = yield from program
    except Exception as error:
        raise RuntimeError(f"{where}: {type(error).__name__}: {error}") from error
    if not isinstance(result, Prediction):
        raise UserError(f"{where}: found {result!r:.60}, expected a Prediction")
    try:
        return PREDICTION.validate_python(asdict(result))
    except ValidationError as error:
        wrong = error.errors()[0]
        raise UserError(f"{where}: {wrong['loc'][0]}: {wrong['msg']}") from None


def run_one(run: Run) -> pd.DataFrame:
    """Answer and score the questions of a run, and write its folder; a row each."""
    setup = run.setup
    started = time.monotonic()
    programs = run.programs(run.questions)
    label = f"{setup.dataset.name} {run.part} {run.folder.name}"
    with track((), label, len(programs)) as bar:
        outcomes, counts = scheduler.run(
            programs,
            setup.backends,
            setup.calls,
            progress=lambda ended, total: bar.update(ended - bar.n),
        )
    # by which replies are found again
    fingerprints = {
        f"{name}_fingerprint": getattr(setup, name).fingerprint
        for name in BACKENDS
        if getattr(setup, name) is not None
    }
    about = {
        **run.identity,
        "questions": len(outcomes),
        "counts": counts,
        **installed(),
        "seconds": round(time.monotonic() - started, 2),
        **fingerprints,
        "generation_config_ignored": getattr(setup.model, "ignored", {}),
        "demonstrations_shown": count_demonstrations(outcomes.values()),
    }
    rows = []
    for question in run.questions:
        scores = score(question, outcomes[question.id].result, setup.scored_as)
        rows.append({"id": question.id, "kind": question.kind, **scores})
    table = pd.DataFrame(rows)
    write_run(run.folder, map(prediction_line, outcomes.values()), table, about)
    return table.assign(**columns_of(about))


def answer(
    setup: Setup, system: System | str, question: Question, **setting: object
) -> Outcome[Prediction]:
    """Answer one question; see `answer_all`."""
    return answer_all(setup, system, [question], **setting)[question.id]


def answer_all(
    setup: Setup, system: System | str, questions: Sequence[Question], **setting: object
) -> Outcomes:
    """Answer questions in one batch, of which no run is kept; return the outcomes by
    question id. `setting`: see `Run`, and `Setup.choose`.
    """
    run = Run(setup, find_system(system), "test", setting)
    outcomes, _ = scheduler.run(run.programs(questions), setup.backends, setup.calls)
    return outcomes


@cache
def installed() -> dict[str, str]:
    """The versions of Python and packages here; a replay needs no torch."""
    packages = {name: version(name) for name in VERSIONS if find_spec(name)}
    return {"python": platform.python_version(), **packages}


def count_demonstrations(outcomes: Iterable[Outcome]) -> float | None:
    """How many demonstrations a question's last prompt shows, on average."""
    last = []
    for outcome in outcomes:
        requests = [step.request for step in outcome.trace]
        written = [each for each in requests if isinstance(each, Generate | Sample)]
        last += [each.demonstrations for each in written[-1:]]
    return round(fmean(last), 2) if last else None
