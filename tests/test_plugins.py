"""Plug-ins: systems, data sets and retrievers in a folder are loaded as ours are."""

import os
import subprocess
import sys

import pytest

from ircotlib.files import ROOT

SYSTEM = """
from ircotlib import Generate, Prediction, Retrieve, System
from ircotlib.systems import RECALL

def twice(question, *, k):
    first = yield Retrieve(question.text, k)
    second = (yield Retrieve(first[0].title, k)) if first else ()
    return Prediction(paragraphs=tuple(dict.fromkeys(first + second)))

def ask(question, *, prompts, max_tokens=20):
    return Prediction((yield Generate(prompts["ask"](question), None, max_tokens)))

SYSTEMS = (
    System(name="NAME", program=twice, grid={"k": (2, 3)}, tuned_by=RECALL),
    System(name="NAME asks", program=ask, stages={"ask": "asks"}),
)
"""
DATASET = """
from ircotlib.data import Paragraph, Question
from ircotlib.datasets import Dataset
from ircotlib.metrics import exact_match

def read(path):
    for number, line in enumerate(path.read_text().splitlines()):
        text, answer = line.split(" | ")
        page = Paragraph(f"p{number}", answer, f"{answer} is the answer to: {text}")
        yield Question(str(number), text, (answer,), (page.id,), "NAME"), (page,)

named = Dataset("NAME", "NAME", ("lines.txt",), "here", read, {"em": exact_match})
DATASETS = [named]
"""
RETRIEVER = """
from ircotlib.retrieval import Retriever, open_retriever

def open_other(corpus, folder, text):
    return open_retriever(corpus, folder, "embedded")

RETRIEVERS = (Retriever("NAME", "NAME", "NAME", open_other),)
"""
RUN = """
import sys
from ircotlib import all_systems, open_setup, read_parameters, run_system
from ircotlib.retrieval import retriever_name
name, folder = sys.argv[1:]
mini = {"dev": 0, "test": 3, "model": "data/models/mini-base", "distractors": []}
own = {"datasets": [name], "data_dir": folder, "retriever": name}
setup = open_setup(read_parameters("mini", mini | own), name, "plugged")
scores = run_system(setup, all_systems()[name], k=2)
prompt = setup.prompt("ask", system=all_systems()[f"{name} asks"])
print(scores["recall"].mean(), retriever_name(name), prompt.template.text)
"""


@pytest.fixture
def run(tmp_path):
    """run(name, **environment): a process that runs the plug-ins of this name."""

    def run(name: str, **environment: str) -> subprocess.CompletedProcess:
        (tmp_path / name).mkdir(exist_ok=True)
        lines = "Who is Ann? | Ox\nWho is Bo? | Ada\nWho? | Cy\n"
        (tmp_path / name / "lines.txt").write_text(lines)
        own = {"IRCOT_DATA": str(tmp_path / "data"), "IRCOT_BATCH": "1"}
        return execute("-c", RUN, name, str(tmp_path), **own, **environment)

    return run


def execute(*words: str, cwd=None, **environment) -> subprocess.CompletedProcess:
    env = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    command = [sys.executable, *words]
    return subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True)


def write(folder, name: str, **files: str) -> None:
    for stem, text in files.items():
        path = folder / f"{stem}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("NAME", name))
    (folder / "prompts" / "mine").mkdir(parents=True)
    (folder / "prompts" / "mine" / "ask.txt").write_text("Q: {question}\nA:")


def test_systems_data_sets_and_retrievers_in_a_folder_are_loaded(run, tmp_path):
    write(tmp_path / "folder", "one_off", mine=SYSTEM, data=DATASET, found=RETRIEVER)
    done = run("one_off", IRCOT_PLUGINS=str(tmp_path / "folder"))
    assert not done.returncode, done.stderr
    assert done.stdout.split() == ["1.0", "one_off", "Q:", "{question}", "A:"]


PROBLEMS = {  # a name of a system, and what the error says of it
    "CoT": "mine.py: found two systems named 'CoT', the other in ",
    "..": "found the system '..', expected a letter or digit",
    "a\\x1b[2J": "found the system 'a\\x1b[2J'",
    '" + nothing + "': "mine.py: NameError: name 'nothing' is not defined",
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_an_error_in_a_plug_in_is_one_line(tmp_path, name):
    problem = PROBLEMS[name]
    write(tmp_path / "folder", "x", mine=SYSTEM.replace("NAME asks", name))
    folder = str(tmp_path / "folder")
    done = execute("-m", "ircotlib", "systems", IRCOT_PLUGINS=folder)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: ") and problem in done.stderr


BROKEN = {  # a plug-in, and what the error says of it
    "def half(:": "mine.py: SyntaxError: invalid syntax",
    "import not_here": "mine.py: ModuleNotFoundError: No module named 'not_here'",
    "DATASETS = [1 / 0]": "mine.py: ZeroDivisionError: division by zero",
    "raise SystemExit": "mine.py: SystemExit: ",
    "from ircotlib.datasets import find_dataset as f\n"
    "from dataclasses import replace\n"
    "DATASETS = [replace(f('fever'), name='iirc')]": "two datasets named 'iirc', the",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_plug_in_is_named_and_no_profile(tmp_path, text):
    (tmp_path / "mine.py").write_text(text)
    for profile in ("mini", "quick"):
        command = "-m", "ircotlib", "figures", "--profile", profile
        done = execute(*command, IRCOT_PLUGINS=str(tmp_path))
        assert done.returncode == 2 and done.stderr.count("\n") == 1
        assert done.stderr.startswith(f"error: {tmp_path / 'mine.py'}: ")
        assert BROKEN[text] in done.stderr and ".yaml" not in done.stderr


def test_a_folder_of_plug_ins_that_is_none_is_refused(tmp_path):
    (tmp_path / "file").touch()
    for place in ("/nowhere", str(tmp_path / "file"), "nowhere", "~/nowhere"):
        done = execute("-m", "ircotlib", "systems", IRCOT_PLUGINS=place)
        assert done.returncode == 2 and done.stderr.count("\n") == 1
        assert done.stderr.startswith("error: IRCOT_PLUGINS: /")
        assert "is not a folder: correct or unset it" in done.stderr
    # one that is there, named in whatever way
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/none.py").write_text("SYSTEMS = [nothing]")
    for place in ("mine", "./mine/", "~/mine"):
        own = {"IRCOT_PLUGINS": place, "HOME": str(tmp_path)}
        done = execute("-m", "ircotlib", "systems", cwd=tmp_path, **own)
        assert f"{tmp_path / 'mine/none.py'}: NameError" in done.stderr
    # as if it were not set
    assert execute("-m", "ircotlib", "systems", IRCOT_PLUGINS="").returncode == 0
