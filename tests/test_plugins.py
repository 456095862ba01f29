"""Plug-ins: systems, data sets and retrievers in a folder are loaded as ours are."""

import pytest

from tests.processes import run_python

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

named = Dataset("NAME", "NAME", ("lines.txt",), read, {"em": exact_match})
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


def test_systems_data_sets_and_retrievers_in_a_folder_are_loaded(tmp_path):
    files = {"folder/mine.py": SYSTEM, "folder/data.py": DATASET}
    files |= {"folder/found.py": RETRIEVER}
    files |= {"folder/prompts/mine/ask.txt": "Q: {question}\nA:"}
    files |= {"one_off/lines.txt": "Who is Ann? | Ox\nWho is Bo? | Ada\nWho? | Cy\n"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text.replace("NAME", "one_off"))
    own = {"IRCOT_DATA": str(tmp_path / "data"), "IRCOT_BATCH": "1"}
    own |= {"IRCOT_PLUGINS": str(tmp_path / "folder")}
    done = run_python("-c", RUN, "one_off", str(tmp_path), **own)
    assert not done.returncode, done.stderr
    assert done.stdout.split() == ["1.0", "one_off", "Q:", "{question}", "A:"]


TWO = """
from ircotlib.datasets import find_dataset
from dataclasses import replace
DATASETS = [replace(find_dataset('fever'), name='iirc')]
"""
NAMED = SYSTEM.replace("NAME asks", "{}")
BROKEN = [  # a plug-in, and what the error says of it
    (NAMED.replace("{}", "CoT"), "found two systems named 'CoT', the other in "),
    (NAMED.replace("{}", '" + nothing + "'), "NameError: name 'nothing' is not def"),
    ("raise SystemExit", "SystemExit: "),
    ("SYSTEMS = [3]", "found SYSTEMS = [3], expected a list of System"),
    (TWO, "found two datasets named 'iirc', the"),
]


@pytest.mark.parametrize(("text", "says"), BROKEN, ids=[says for _, says in BROKEN])
def test_a_broken_plug_in_is_named_and_no_profile(tmp_path, text, says):
    (tmp_path / "mine.py").write_text(text)
    done = run_python("-m", "ircotlib", "figures", IRCOT_PLUGINS=str(tmp_path))
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"error: {tmp_path / 'mine.py'}: {says}")


@pytest.mark.parametrize("name", ["..", "a\\x1b[2J"])
def test_the_name_of_a_system_that_no_folder_can_have_is_refused(tmp_path, name):
    (tmp_path / "mine.py").write_text(NAMED.replace("{}", name))
    done = run_python("-m", "ircotlib", "systems", IRCOT_PLUGINS=str(tmp_path))
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    says = f"error: found the system '{name}', expected a letter or digit"
    assert done.stderr.startswith(says)


PLACES = dict.fromkeys(["./mine/", "~/mine"], "/mine/none.py: NameError: ")
PLACES["nowhere"] = " is not a folder: "


@pytest.mark.parametrize("place", PLACES)
def test_a_folder_of_plug_ins_is_named_in_whatever_way_or_refused(tmp_path, place):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/none.py").write_text("SYSTEMS = [nothing]")
    own = {"IRCOT_PLUGINS": place, "HOME": str(tmp_path)}
    done = run_python("-m", "ircotlib", "systems", cwd=tmp_path, **own)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert PLACES[place] in done.stderr
