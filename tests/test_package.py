"""The wheel works by itself, outside the clone; and with functions."""

import os
import subprocess
import sys
import zipfile

import pytest

import ircotlib
from ircotlib import Paragraph, Question, all_systems, answer
from ircotlib.files import ROOT

PLUGIN = """
from ircotlib import Prediction, Retrieve, System
from ircotlib.systems import RECALL

def plugged(question, *, k):
    return Prediction(paragraphs=(yield Retrieve(question.text, k)))

SYSTEMS = (System(name="Plugged", program=plugged, grid={"k": (3,)}, tuned_by=RECALL),)
"""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """A folder with the content of the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d"]
    subprocess.run([*build, folder], cwd=ROOT, check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    assert wheel.stat().st_size < 20_000_000
    zipfile.ZipFile(wheel).extractall(folder / "unpacked")
    assert (folder / "unpacked/ircotlib/py.typed").is_file()
    return folder / "unpacked"


def run(unpacked, folder, *arguments, **variables) -> subprocess.CompletedProcess:
    kept = {n: text for n, text in os.environ.items() if not n.startswith("IRCOT_")}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=kept | {"PYTHONPATH": str(unpacked)} | variables,
        capture_output=True,
        text=True,
    )


def test_a_wheel_works_in_the_current_folder_with_its_plugins(unpacked, tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "plugged.py").write_text(PLUGIN)
    assert "Plugged" in run(unpacked, tmp_path, "-m", "ircotlib", "systems").stdout
    shipped = unpacked / "ircotlib/shipped"
    for model in ("mini-xxl", "agent", "mini-reader"):
        assert (shipped / "data/models" / model / "model.safetensors").is_file()
    assert (shipped / "notebooks/04_ircot.ipynb").is_file()


def test_a_wheel_works_in_the_folder_that_a_variable_names(unpacked, tmp_path):
    code = "from ircotlib.files import DATA, FIGURES, PROMPTS, PROFILES\n"
    code += "print(DATA, FIGURES, PROMPTS, PROFILES)"
    done = run(unpacked, tmp_path, "-c", code, IRCOT_HOME="mine")
    own, shipped = tmp_path / "mine", unpacked / "ircotlib" / "shipped"
    folders = [own / "data", own / "figures", shipped / "prompts", shipped / "profiles"]
    assert done.stdout.split() == list(map(str, folders))


QUESTION = Question("1", "Who?", (), (), "musique")
PAGE = Paragraph("p", "Ann", "Ann is old.")


def setup_of(retrieve, generate):
    changes = {"style": "codex", "context_tokens": 2000}
    p = ircotlib.read_parameters("mini", changes)
    return ircotlib.setup_of_functions(p, retrieve, generate)


def test_functions_get_a_systems_requests_and_texts_are_cut_at_its_stops():
    asked, prompts = [], []

    def retrieve(query, k):
        asked.append((query, k))
        return [PAGE, Paragraph("q", "Ben", "Ben is young.")]

    def generate(prompt):
        prompts.append(prompt)
        return "Ann is old. She is 9. So the answer is: 9."

    setup = setup_of(retrieve, generate)
    outcome = answer(setup, all_systems()["IRCoT QA"], QUESTION, k=1, m=0)
    assert asked[:2] == [("Who?", 1), ("Ann is old.", 1)]
    assert outcome.result.paragraphs == (PAGE,) and outcome.result.answer == "9"
    assert outcome.result.thoughts[0] == "Ann is old."
    assert "Ann is old." in prompts[0] and setup.model.count_tokens(prompts[0]) < 2000
    setup = setup_of(retrieve, generate)
    sampled = answer(setup, all_systems()["CoT-SC"], QUESTION)
    assert len(sampled.trace[0].reply) > 1 and sampled.result.answer == "9"
