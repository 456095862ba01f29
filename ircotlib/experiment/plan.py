"""What a system does on a setup with one setting: its programs, built once."""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial

from pydantic import TypeAdapter, ValidationError

from ircotlib.data import Prediction, Question
from ircotlib.errors import UserError
from ircotlib.experiment.setup import Setup
from ircotlib.program import Program
from ircotlib.prompting import demonstrations as sets
from ircotlib.prompting.prompt import PromptWriter
from ircotlib.systems import System
from ircotlib.systems.ircot import READER, read_paragraphs, with_main_passage

PREDICTION = TypeAdapter(Prediction)  # checks its fields


@dataclass(frozen=True, eq=False)
class Plan:
    """A system on a setup with one setting: k, m and whatever else its program takes,
    and demonstration_set, 0 to 2 (IRCoT §4.1: K, M). `find_plan` finds it.
    """

    setup: Setup
    system: System
    setting: Mapping

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
            raise UserError(
                f"{self.system.name}: its program returned {program!r:.60}, expected a "
                "generator: let it `yield` its requests and return a Prediction"
            )
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


def find_plan(setup: Setup, system: System, setting: Mapping) -> Plan:
    """The plan of a system with a setting on a setup: there is only one of each."""
    key = system.name, id(system.program), json.dumps(setting, default=repr)
    if key not in setup.plans:
        setup.plans[key] = Plan(setup, system, dict(setting))
    return setup.plans[key]


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
