"""A training's folder: nothing is overwritten; errors come before torch is imported."""

import runpy
import shutil
import sys

import pytest

from ircotlib.files import MODELS
from training.folder import CHECKPOINT, claim


@pytest.mark.parametrize("name", ["t5", "reader", "agent"])
def test_a_folder_with_a_model_or_other_files_is_refused_and_kept(
    name, monkeypatch, capsys, tmp_path
):
    for module in ("training.loop", "training.agent.evaluate"):  # what imports torch
        monkeypatch.setitem(sys.modules, module, None)
    model = shutil.copytree(MODELS / "mini-base", tmp_path / "model")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("x")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    for folder in (model, tmp_path / "notes"):
        monkeypatch.setattr(sys, "argv", [name, "--out", str(folder), "--steps", "1"])
        with pytest.raises(SystemExit) as ended:
            runpy.run_module(f"training.{name}", run_name="__main__")
        line = capsys.readouterr().err.splitlines()[-1]
        assert ended.value.code == 2
        assert f"{folder}: holds files that are no unfinished training" in line
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == before


def test_an_empty_folder_and_an_unfinished_training_are_claimed(tmp_path, monkeypatch):
    claim(tmp_path)
    claim(tmp_path / "new" / "model")
    monkeypatch.chdir(tmp_path)
    claim(type(tmp_path)("relative/model"))
    assert not list(tmp_path.iterdir())
    for name in ("model.safetensors", CHECKPOINT):  # killed while it wrote its model
        (tmp_path / name).write_bytes(b"")
    claim(tmp_path)
