"""The folder of a training: nobody's work is overwritten, and what is wrong is told before torch is
imported.
"""

import json
import runpy
import shutil
import sys

import pytest

from ircotlib.files.models import CAUSAL, CROSS_ENCODER, ENCODER, READER, T5, find_kind
from ircotlib.files.paths import MODELS
from training.folder import CHECKPOINT, claim

TRAININGS = ["t5", "reader", "agent"]


@pytest.fixture
def refused(monkeypatch, capsys):
    """Run a module's command line, which must be refused before any work; return its line."""

    def run(module: str, *arguments: object) -> str:
        for name in ("training.loop", "training.agent.stages"):  # what imports torch
            monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.setattr(sys, "argv", [module, *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            runpy.run_module(f"training.{module}", run_name="__main__")
        [line] = capsys.readouterr().err.splitlines()
        assert ended.value.code == 2 and line.startswith("error: ")
        return line

    return run


@pytest.mark.parametrize("name", TRAININGS)
def test_a_folder_with_a_model_or_other_files_is_refused_and_kept(name, refused, tmp_path):
    model = shutil.copytree(MODELS / "mini-base", tmp_path / "model")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("x")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for folder in (model, tmp_path / "notes"):
        line = refused(name, "--out", folder, "--steps", 1)
        assert f"{folder} holds files that are no unfinished training" in line
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_a_training_does_not_replace_what_it_starts_from(refused, tmp_path):
    model = shutil.copytree(MODELS / "mini-base", tmp_path / "model")
    (tmp_path / "link").symlink_to(model)
    for out in (model, tmp_path / "link"):
        line = refused("t5", "--size", "large", "--start", model, "--out", out)
        assert "holds files that are no unfinished training" in line


@pytest.mark.parametrize("name", TRAININGS)
def test_a_folder_that_cannot_be_written_is_told_before_torch_is_imported(name, refused, tmp_path):
    (tmp_path / "file").write_text("x")
    line = refused(name, "--out", tmp_path / "file" / "model")
    assert "cannot be written to" in line and "set --out to another" in line
    assert "/proc/none" in refused(name, "--out", "/proc/none")
    assert "--steps: found '0'" in refused(name, "--out", tmp_path / "out", "--steps", 0)
    assert not (tmp_path / "out").exists()


def test_an_empty_folder_and_an_unfinished_training_are_claimed(tmp_path, monkeypatch):
    claim(tmp_path)
    claim(tmp_path / "new" / "model")
    monkeypatch.chdir(tmp_path)
    claim(type(tmp_path)("relative/model"))
    assert not list(tmp_path.iterdir())
    for name in ("model.safetensors", CHECKPOINT):  # killed while it wrote its model
        (tmp_path / name).write_bytes(b"")
    claim(tmp_path)


def test_what_is_no_agent_is_not_measured(refused, tmp_path, monkeypatch):
    for name, kind in (("mini-base", T5), ("mini-reader", READER)):
        line = refused("agent.evaluate", MODELS / name)
        assert f"{MODELS / name}: found {kind}, expected {CAUSAL}" in line
    monkeypatch.undo()
    stages = pytest.importorskip("training.agent.stages")
    with pytest.raises(ValueError, match="mini-causal: found a model with other words"):
        stages.measure_agent(MODELS / "mini-causal", 1, 0)


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"config.json": {"architectures": ["T5ForConditionalGeneration"]}}, T5),
        ({"config.json": {"architectures": ["GPT2LMHeadModel"]}}, CAUSAL),
        ({"config.json": {"architectures": ["BertModel"]}}, ENCODER),
        ({"config.json": {"architectures": ["MPNetForMaskedLM"]}}, ENCODER),
        ({"config.json": {"architectures": ["HF_ColBERT"]}}, ENCODER),
        ({"config.json": {"architectures": ["Qwen3ForCausalLM"]}, "modules.json": {}}, ENCODER),
        ({"config.json": {"architectures": ["BertForSequenceClassification"]}}, CROSS_ENCODER),
        ({"config_sentence_transformers.json": {"model_type": "CrossEncoder"}}, CROSS_ENCODER),
        ({"config.json": {"architectures": None, "model_type": "bert"}}, ""),
        ({}, ""),
    ],
)
def test_the_kind_of_a_model_is_that_of_its_class(files, kind, tmp_path):
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    assert find_kind(tmp_path) == kind
