"""A run: a system with a setting on the questions of a setup. Here it is carried out;
stored.py has its folder, replay.py looks at it again.
"""

import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from math import fsum
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import pandas as pd

from ircotlib.data import Prediction, Question
from ircotlib.datasets import score
from ircotlib.engine import scheduler
from ircotlib.experiment.plan import Plan, find_plan
from ircotlib.experiment.setup import BACKENDS, Setup
from ircotlib.experiment.stored import columns_of, prediction_line, write_run
from ircotlib.files import track
from ircotlib.models.server import Price
from ircotlib.parameters import Parameters
from ircotlib.program import Generate, Outcome, Sample
from ircotlib.systems import System, find_system

# packages on which replies and scores may depend
VERSIONS = (
    *("ircotlib", "torch", "transformers", "tokenizers"),
    *("tantivy", "regex", "numpy", "pandas"),
)


class Run(NamedTuple):
    """A run: a system with one setting on the "dev" or "test" questions of a setup.
    `setting`: k, m and whatever else the program takes, and demonstration_set, 0 to 2.
    """

    setup: Setup
    system: System
    part: str
    setting: dict

    @property
    def plan(self) -> Plan:
        return find_plan(self.setup, self.system, self.setting)

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


def run_one(run: Run) -> pd.DataFrame:
    """Answer and score the questions of a run, and write its folder; a row each."""
    setup = run.setup
    assert setup.calls is not None
    started = time.monotonic()
    programs = run.plan.programs(run.questions)
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
        **find_cost(setup.parameters, counts),
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
) -> dict[str, Outcome[Prediction]]:
    """Answer questions in one batch, of which no run is kept; return the outcomes by
    question id. `setting`: see `Run`, and `Setup.choose`.
    """
    assert setup.calls is not None
    plan = find_plan(setup, find_system(system), setting)
    outcomes, _ = scheduler.run(plan.programs(questions), setup.backends, setup.calls)
    return outcomes


@cache
def installed() -> dict[str, str]:
    """The versions of Python and packages here; a replay needs no torch."""
    packages = {name: version(name) for name in VERSIONS if find_spec(name)}
    return {"python": platform.python_version(), **packages}


def find_cost(p: Parameters, counts: Mapping[str, Mapping]) -> dict:
    """The USD that a run's requests to a server cost, cached or not; None: unknown."""
    if not p.server:
        return {}
    if p.prices is None:
        return {"cost": {"usd": None, "prices": None}}
    price = Price(*p.prices)
    each = [price.of(kind["prompt_tokens"], kind["tokens"]) for kind in counts.values()]
    return {"cost": {"usd": fsum(each), "prices": price}}


def count_demonstrations(outcomes: Iterable[Outcome]) -> float | None:
    """How many demonstrations a question's last prompt shows, on average."""
    last = []
    for outcome in outcomes:
        requests = [step.request for step in outcome.trace]
        written = [each for each in requests if isinstance(each, Generate | Sample)]
        last += [each.demonstrations for each in written[-1:]]
    return round(fmean(last), 2) if last else None
