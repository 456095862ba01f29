"""The commands `ask` and `systems`: which systems are asked and with which model; what is shown."""

import json
from contextlib import redirect_stdout
from io import StringIO

import pytest

from ircotlib import UserError, all_systems, ask, read_parameters
from ircotlib.__main__ import main
from ircotlib.explore.ask import DEFAULT
from ircotlib.files.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def asked(tmp_path_factory) -> str:
    """What `ircotlib ask` prints about the README's question in a new data folder."""
    [question] = {line.split('"')[1] for line in README.splitlines() if "ircotlib ask" in line}
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as printed:
        patch.setattr("ircotlib.experiment.setup.DATA", tmp_path_factory.mktemp("ask") / "data")
        assert main(["ask", question]) == 0
    return printed.getvalue()


def test_each_system_shows_its_steps_and_then_its_answer(asked):
    blocks = [block.splitlines() for block in asked.strip().split("\n\n")]
    models = ["mini-xxl"] * 3 + ["agent"]
    assert [lines[0] for lines in blocks] == list(map("{}, {}".format, DEFAULT, models))
    for name, (_, *steps, answer) in zip(DEFAULT, blocks, strict=True):
        assert answer.startswith(f"{name} answers: ")
        assert [step.split(".")[0] for step in steps] == [str(n + 1) for n in range(len(steps))]
    assert "[Query 1]" in blocks[-1][1]  # the agent writes in SearChain's format


def test_the_steps_in_the_readme_are_those_of_ircot(asked):
    shown = README.split("ircotlib ask")[1].split("\n\n")[1]
    lines = [line.strip() for line in shown.splitlines()]
    assert lines[-1].startswith("IRCoT QA answers: ") and len(lines) > 3
    steps = asked[asked.index("\nIRCoT QA, ") : asked.index("\nSearChain, ")]
    for part in (part.strip() for line in lines for part in line.split("…")):
        assert part in steps


def test_a_file_of_ones_own_can_be_asked(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("ircotlib.experiment.setup.DATA", tmp_path / "data")
    paragraphs = [{"title": title, "text": f"{title} is old."} for title in ("Ann", "Bob")]
    row = {"id": "1", "question": "Who?", "answers": ["Ann"], "paragraphs": paragraphs}
    (tmp_path / "questions.jsonl").write_text(json.dumps(row) + "\n")
    changes = [f"data_dir={tmp_path}", "datasets=[own]", "model=data/models/mini-base", "dev=0"]
    options = [f"--set={change}" for change in [*changes, "distractors=[]"]]
    assert main(["ask", "Who: is\n 'Ann' #1?", "--system", "OneR QA", *options]) == 0
    name, retrieved, *_, answer = capsys.readouterr().out.strip().split("\n")
    assert name == "OneR QA, mini-base"
    assert retrieved == "1. looks up “Who: is 'Ann' #1?” → Ann"
    assert answer.startswith("OneR QA answers: ")


def test_an_unknown_system_and_an_empty_question_are_refused():
    with pytest.raises(UserError, match="'SearChains', expected some of NoR QA"):
        list(ask(read_parameters("mini"), "Who?", ["SearChains"]))
    with pytest.raises(UserError, match="no question"):
        list(ask(read_parameters("mini"), "\n\t "))


def test_the_list_has_every_system_with_its_study_grid_and_stages(capsys):
    assert main(["systems"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:28].strip() for line in lines] == list(all_systems())
    [ircot] = [line for line in lines if line.startswith("IRCoT QA  ")]
    assert ircot.split()[2:] == ["IRCoT", "k=2,4,6,8", "m=1,2,3", "cot"]
