"""A training's folder: nothing is overwritten; errors come before torch is imported."""

import runpy
import shutil
import sys

import pytest

from ircotlib.files import MODELS
from training.folder import CHECKPOINT, claim

TRAININGS = ["t5", "reader", "agent"]


@pytest.fixture
def refused(monkeypatch, capsys):
    """Run a module's command line, which must be refused at once; return its line."""

    def run(module: str, *arguments: object) -> str:
        for name in ("training.loop", "training.agent.evaluate"):  # what imports torch
            monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.setattr(sys, "argv", [module, *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            runpy.run_module(f"training.{module}", run_name="__main__")
        line = capsys.readouterr().err.splitlines()[-1]
        assert ended.value.code == 2 and "error: " in line
        return line

    return run


@pytest.mark.parametrize("name", TRAININGS)
def test_a_folder_with_a_model_or_other_files_is_refused_and_kept(
    name, refused, tmp_path
):
    model = shutil.copytree(MODELS / "mini-base", tmp_path / "model")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("x")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for folder in (model, tmp_path / "notes"):
        line = refused(name, "--out", folder, "--steps", 1)
        assert f"{folder}: holds files that are no unfinished training" in line
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_an_empty_folder_and_an_unfinished_training_are_claimed(tmp_path, monkeypatch):
    claim(tmp_path)
    claim(tmp_path / "new" / "model")
    monkeypatch.chdir(tmp_path)
    claim(type(tmp_path)("relative/model"))
    assert not list(tmp_path.iterdir())
    for name in ("model.safetensors", CHECKPOINT):  # killed while it wrote its model
        (tmp_path / name).write_bytes(b"")
    claim(tmp_path)
