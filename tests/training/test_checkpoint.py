"""Checkpoints: training programs write one when they are stopped, and do not resume from that of
another training.
"""

import os
import re
import signal
import subprocess
import sys
import time
from importlib import import_module

import pytest

torch = pytest.importorskip("torch")

from training.checkpoint import Training

# Each program with steps that take a moment; a checkpoint is written after every one of them.
SMALL = {
    "train": "from training import recipe; recipe.PROMPT_TOKENS = 300",
    "reader": "from training.reader.evaluate import open_books\n"
    "learn.open_books = lambda seed, size: open_books(seed, 200)",
    "agent": "learn.CHUNK, learn.TOKENS, learn.LONGEST = 3, 400, 200",
}
LEARN = {"train": "learn", "reader": "reader_learn", "agent": "agent_learn"}
RUN = """
from training import {name} as program, {learn} as learn, checkpoint
checkpoint.SECONDS = -1
{small}
program.main()
"""
STOPPED = re.compile(r"stopped after step ([\d,]+) of 90,000: the same command goes on from its")


@pytest.fixture(params=SMALL)
def stopped(request, tmp_path):
    """A program, its folder, and its stderr after Ctrl-C."""
    name, out = request.param, tmp_path / "out"
    script = RUN.format(name=name, learn=LEARN[name], small=SMALL[name])
    command = [sys.executable, "-c", script, "--out", str(out), "--steps", "90000"]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        while not (out / "checkpoint.pt").exists() and process.poll() is None:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    return name, out, process.returncode, said


def refused(monkeypatch, capsys, name, out, *options) -> str:
    """The error of a program about a checkpoint that it does not resume from."""
    monkeypatch.setattr(sys, "argv", [name, "--out", str(out), *options])
    with pytest.raises(SystemExit) as ended:
        import_module(f"training.{name}").main()
    assert ended.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    return line


def test_a_stopped_training_writes_its_checkpoint_and_no_other_goes_on_from_it(
    stopped, monkeypatch, capsys
):
    name, out, status, said = stopped
    last = said.splitlines()[-1]
    assert status == 130 and "Traceback" not in said
    step = int(STOPPED.match(last)[1].replace(",", ""))
    state = torch.load(out / "checkpoint.pt", weights_only=True)
    assert state["step"] == step >= 1 and state["recipe"]["steps"] == 90_000
    line = refused(monkeypatch, capsys, name, out, "--steps", "90000", "--seed", "3")
    assert line.startswith(
        f"error: {out}/checkpoint.pt: found a training with seed 0, expected seed 3; give the "
        "options that it was begun with, or another --out"
    )
    assert torch.load(out / "checkpoint.pt", weights_only=True)["step"] == step


def tiny(**recipe) -> Training:
    model, teacher = torch.nn.Linear(2, 2), torch.nn.Linear(1, 1)
    model.device = "cpu"
    adam = torch.optim.AdamW(model.parameters())
    return Training(model, teacher, [adam], recipe)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"steps": 5, "start": None}, "found a training with steps 4, expected steps 5;"),
        (
            {"steps": 4, "start": {"size": "base"}},
            "with start None, expected start {'size': 'base'}",
        ),
        (
            {"steps": 4, "start": None, "peak": 1},
            "found a training with peak None, expected peak 1",
        ),
        ({"start": None}, "found a training with steps 4, expected steps None;"),
    ],
)
def test_another_recipe_is_refused(tmp_path, asked, message):
    path = tmp_path / "checkpoint.pt"
    tiny(steps=4, start=None).save(path)
    tiny(start=None, steps=4).restore(path)
    with pytest.raises(ValueError, match=re.escape(message)):
        tiny(**asked).restore(path)


def test_a_checkpoint_that_keeps_no_recipe_is_refused(tmp_path):
    path = tmp_path / "checkpoint.pt"
    torch.save({"step": 3}, path)
    with pytest.raises(
        ValueError, match="found no options in this checkpoint, expected them; give"
    ):
        tiny(steps=4).restore(path)


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "code"])
def test_a_damaged_checkpoint_is_one_line(tmp_path, damage):
    path = tmp_path / "checkpoint.pt"
    tiny(steps=4).save(path)
    whole = path.read_bytes()
    if damage == "code":
        torch.save({"recipe": os.system}, path)
    else:
        path.write_bytes({"cut": whole[:1000], "empty": b"", "text": b"steps: 4\n"}[damage])
    with pytest.raises(ValueError, match=r"found no checkpoint \(.*\); delete it") as error:
        tiny(steps=4).restore(path)
    assert "\n" not in str(error.value)
