"""The wheel works by itself: outside the clone, in a folder of one's own, and with functions."""

import os
import subprocess
import sys
import zipfile

import pytest

from ircotlib import (
    Paragraph,
    Question,
    UserError,
    all_systems,
    answer,
    read_parameters,
    setup_of_functions,
)
from ircotlib.files.paths import ROOT

EXAMPLE = ROOT / "docs" / "own_retriever_and_model.py"
PLUGIN = """
from ircotlib import RECALL, Prediction, Retrieve, System

def plugged(question, *, k):
    return Prediction(paragraphs=(yield Retrieve(question.text, k)))

SYSTEMS = (System(name="Plugged", program=plugged, grid={"k": (3,)}, tuned_by=RECALL),)
"""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """A folder with the content of the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    assert wheel.stat().st_size < 20_000_000
    zipfile.ZipFile(wheel).extractall(folder / "unpacked")
    assert (folder / "unpacked/ircotlib/py.typed").is_file()
    return folder / "unpacked"


def run(unpacked, folder, *arguments, **variables) -> subprocess.CompletedProcess:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("IRCOT_")}
    kept |= {"PYTHONPATH": str(unpacked), "XDG_DATA_HOME": str(folder / "of_the_user")}
    command = [sys.executable, *arguments]
    options = {"cwd": folder, "env": kept | variables, "capture_output": True, "text": True}
    return subprocess.run(command, check=False, **options)


def test_a_wheel_answers_anywhere_and_keeps_its_data_in_a_folder_of_the_user(unpacked, tmp_path):
    question = "Who founded the Foreign Quarry label?"
    done = run(unpacked, tmp_path, "-m", "ircotlib", "ask", question, "--system", "SearChain")
    assert "SearChain answers: Igor Kelgate" in done.stdout, done.stderr
    assert (tmp_path / "of_the_user/ircotlib/data/calls.sqlite").is_file()
    elsewhere = {"IRCOT_HOME": str(tmp_path / "mine")}
    shown = "from ircotlib.files import paths as p; print(p.DATA, p.FIGURES, p.PROMPTS)"
    done = run(unpacked, tmp_path, "-c", shown, **elsewhere)
    mine, shipped = tmp_path / "mine", unpacked / "ircotlib/shipped/prompts"
    assert done.stdout.split() == [str(mine / "data"), str(mine / "figures"), str(shipped)]


def test_a_laid_folder_has_its_own_notebooks_profiles_and_plugins(unpacked, tmp_path):
    project = tmp_path / "project"
    done = run(unpacked, tmp_path, "-m", "ircotlib", "new", str(project))
    assert "ircotlib figures --profile quick" in done.stdout, done.stderr
    again = run(unpacked, tmp_path, "-m", "ircotlib", "new", str(project))
    assert again.returncode == 2 and "found a folder with files" in again.stderr
    (project / "plugins" / "plugged.py").write_text(PLUGIN)
    assert "Plugged" in run(unpacked, project, "-m", "ircotlib", "systems").stdout
    (project / "plugins" / "plugged.py").unlink()
    few = ["--set", "datasets=[musique]", "--set", "oner_k=[3]", "--set", "test=5"]
    command = ["figures", "--profile", "quick", "--only", "02_index", *few]
    done = run(unpacked, project, "-m", "ircotlib", *command)
    assert done.returncode == 0, done.stderr
    assert [*project.glob("figures/trials/*/*.csv")]
    assert not (tmp_path / "of_the_user").exists()


def test_in_a_clone_there_is_nothing_to_lay(tmp_path):
    command = [sys.executable, "-m", "ircotlib", "new", str(tmp_path / "project")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "expected an installed package" in done.stderr


def test_the_example_runs_from_the_wheel_and_is_that_of_the_page(unpacked, tmp_path):
    done = run(unpacked, tmp_path, str(EXAMPLE))
    assert done.stdout.splitlines() == [
        "IRCoT QA read Telemachus, Ann Lee and answers: Toronto",
        "SearChain read Telemachus and answers: Toronto",
    ], done.stderr
    code = EXAMPLE.read_text().split('"""\n\n', 1)[1]
    assert f"```python\n{code}```" in (ROOT / "docs/package.md").read_text()


QUESTION = Question("1", "Who?", (), (), "musique")
PAGE = Paragraph("p", "Ann", "Ann is old.")


def bench_of(retrieve, generate):
    p = read_parameters("mini", {"style": "codex", "context_tokens": 2000})
    return setup_of_functions(p, retrieve, generate)


def test_functions_are_asked_what_the_system_asks_and_cut_where_it_stops():
    asked, prompts = [], []

    def retrieve(query, k):
        asked.append((query, k))
        return [PAGE, Paragraph("q", "Ben", "Ben is young.")]

    def generate(prompt):
        prompts.append(prompt)
        return "Ann is old. She is 9. So the answer is: 9."

    bench = bench_of(retrieve, generate)
    outcome = answer(bench, all_systems()["IRCoT QA"], QUESTION, k=1, m=0)
    assert asked[:2] == [("Who?", 1), ("Ann is old.", 1)]
    assert outcome.result.paragraphs == (PAGE,) and outcome.result.answer == "9"
    assert outcome.result.thoughts[0] == "Ann is old."
    assert "Ann is old." in prompts[0] and bench.model.count_tokens(prompts[0]) < 2000
    bench = bench_of(retrieve, generate)
    sampled = answer(bench, all_systems()["CoT-SC"], QUESTION)
    assert len(sampled.trace[0].reply) > 1 and sampled.result.answer == "9"


@pytest.mark.parametrize(
    ("retrieve", "generate", "found"),
    [
        (lambda query, k: ["Ann is old."], lambda prompt: "It is.", "expected a Paragraph"),
        (lambda query, k: [PAGE], lambda prompt: None, "generate: found None, expected a text"),
    ],
)
def test_what_a_function_replies_wrongly_is_said(retrieve, generate, found):
    with pytest.raises(RuntimeError, match=found) as raised:
        answer(bench_of(retrieve, generate), all_systems()["IRCoT QA"], QUESTION, k=1, m=0)
    assert isinstance(raised.value.__cause__, UserError)


def test_without_a_reader_searchain_says_what_it_lacks():
    bench = bench_of(lambda query, k: [PAGE], lambda prompt: "[Query 1]: Who? [Answer 1]: Ann")
    with pytest.raises(TypeError, match="Extract"):
        answer(bench, all_systems()["SearChain"], QUESTION)
