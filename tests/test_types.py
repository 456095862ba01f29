"""The type hints of the front door: complete, and right in a program that uses it."""

import pytest

from ircotlib.files import ROOT
from tests.processes import run_python

PROGRAM = """
from collections.abc import Iterator
from typing import assert_type

from ircotlib.systems import RECALL
from ircotlib import (
    Generate, Outcome, Paragraph, Prediction, Program, Question, Retrieve, System,
    UserError, all_systems, answer, answer_all, ask, open_setup, read_parameters,
    squad_f1,
)


def two_steps(question: Question, *, k: int = 2) -> Program:
    found: tuple[Paragraph, ...] = yield Retrieve(question.text, k)
    thought: str = yield Generate(found[0].text, stop="sentence")
    found += yield Retrieve(thought, k)
    return Prediction(paragraphs=found, thoughts=(thought,))


mine = System(name="Two steps", program=two_steps, grid={"k": (2, 4)}, tuned_by=RECALL)
p = read_parameters("mini", {"test": 5}).change(seed=1)
setup = open_setup(p, "musique", "mine")
question = setup.test[0]
assert_type(question, Question)
outcome = answer(setup, mine, question, k=2)
assert_type(outcome, Outcome[Prediction])
assert_type(outcome.result.paragraphs, tuple[Paragraph, ...])
answered = answer_all(setup, all_systems()["IRCoT QA"], [question])
assert_type(answered["1"].result.answer, str)
assert_type(squad_f1("Ann", ["Ann"]), float)
for each in ask(p, "Who?"):
    assert_type(each.outcome.result.answer, str)
"""
WRONG = """
from ircotlib import Question
Question(1, "Who?", (), ())
"""


def test_a_strict_checker_accepts_programs_and_finds_what_is_wrong(tmp_path):
    pytest.importorskip("mypy", reason="needs mypy: pip install -e '.[dev]'")
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "wrong.py").write_text(WRONG)
    options = ["--strict", "--follow-imports=silent", "--ignore-missing-imports"]
    options += ["--no-site-packages"]  # three times as fast
    done = run_python("-m", "mypy", *options, str(tmp_path), cwd=ROOT)
    found = [line for line in done.stdout.splitlines() if ": error: " in line]
    expected = 'Missing positional argument "dataset"', 'expected "str"'
    assert ["wrong.py:3: " in line for line in found] == [True, True], found
    assert all(any(text in line for line in found) for text in expected), found
