"""The wheel works by itself, outside the clone."""

import subprocess
import sys
import zipfile

import pytest

from ircotlib.files import ROOT
from tests.processes import run_python

PLUGIN = """
from ircotlib import Prediction, Retrieve, system

@system("Plugged", k=(3,))
def plugged(question, *, k):
    return Prediction(paragraphs=(yield Retrieve(question.text, k)))
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


def test_a_wheel_works_in_the_current_folder_with_its_plugins(unpacked, tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "plugged.py").write_text(PLUGIN)
    done = run_python("-m", "ircotlib", "systems", cwd=tmp_path, library=unpacked)
    assert "Plugged" in done.stdout
    shipped = unpacked / "ircotlib/shipped"
    for model in ("mini-xxl", "agent", "mini-reader"):
        assert (shipped / "data/models" / model / "model.safetensors").is_file()
    assert (shipped / "notebooks/04_ircot.ipynb").is_file()
    # what 14_in_the_wild imports and reads
    assert (unpacked / "ircot_studies/wild.py").is_file()
    assert (shipped / "data/real_queries.csv").is_file()


def test_a_wheel_works_in_the_folder_that_a_variable_names(unpacked, tmp_path):
    code = "from ircotlib.files import DATA, FIGURES, PROMPTS, PROFILES\n"
    code += "print(DATA, FIGURES, PROMPTS, PROFILES)"
    home = {"IRCOT_HOME": "mine"}
    done = run_python("-c", code, cwd=tmp_path, library=unpacked, **home)
    own, shipped = tmp_path / "mine", unpacked / "ircotlib" / "shipped"
    folders = [own / "data", own / "figures", shipped / "prompts", shipped / "profiles"]
    assert done.stdout.split() == list(map(str, folders))
