"""The wheel works by itself, outside the clone; and with functions."""

import os
import subprocess
import sys
import zipfile

import pytest

from ircotlib import (
    Paragraph,
    Question,
    all_systems,
    answer,
    read_parameters,
    setup_of_functions,
)
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
    command = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-t",
        "wheel",
        "-d",
        str(folder),
    ]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    assert wheel.stat().st_size < 20_000_000
    zipfile.ZipFile(wheel).extractall(folder / "unpacked")
    assert (folder / "unpacked/ircotlib/py.typed").is_file()
    return folder / "unpacked"


def run(unpacked, folder, *arguments, **variables) -> subprocess.CompletedProcess:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("IRCOT_")
    }
    kept |= {"PYTHONPATH": str(unpacked)}
    command = [sys.executable, *arguments]
    options = {
        "cwd": folder,
        "env": kept | variables,
        "capture_output": True,
        "text": True,
    }
    return subprocess.run(command, check=False, **options)


def test_a_wheel_works_in_the_current_folder_with_plugins_of_its_own(
    unpacked, tmp_path
):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "plugged.py").write_text(PLUGIN)
    assert "Plugged" in run(unpacked, tmp_path, "-m", "ircotlib", "systems").stdout
    shipped = unpacked / "ircotlib/shipped"
    for model in ("mini-xxl", "agent", "mini-reader"):
        assert (shipped / "data/models" / model / "model.safetensors").is_file()
    assert (shipped / "notebooks/04_ircot.ipynb").is_file()


def test_a_wheel_works_in_the_folder_that_a_variable_names(unpacked, tmp_path):
    shown = "from ircotlib import files as p; print(p.DATA, p.FIGURES, p.PROMPTS, p.PROFILES)"
    done = run(unpacked, tmp_path, "-c", shown, IRCOT_HOME="mine")
    shipped = unpacked / "ircotlib" / "shipped"
    own = [tmp_path / "mine" / "data", tmp_path / "mine" / "figures"]
    assert done.stdout.split() == [
        *map(str, [*own, shipped / "prompts", shipped / "profiles"])
    ]


QUESTION = Question("1", "Who?", (), (), "musique")
PAGE = Paragraph("p", "Ann", "Ann is old.")


def setup_of(retrieve, generate):
    p = read_parameters("mini", {"style": "codex", "context_tokens": 2000})
    return setup_of_functions(p, retrieve, generate)


def test_functions_get_a_systems_requests_and_their_texts_are_cut_at_its_stops():
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
