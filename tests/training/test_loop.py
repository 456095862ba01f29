"""The loop of all trainings: they write a checkpoint when they are stopped, and do not resume from
that of another training.
"""

import os
import re
import runpy
import signal
import sys
import time
from multiprocessing import get_context

import pytest

torch = pytest.importorskip("torch")

from training.loop import Training

# Each trainer with steps that take a moment; a checkpoint is written after every one of them.
SMALL = {
    "t5": "from training.t5 import draw_examples; draw_examples.PROMPT_TOKENS = 300",
    "reader": "from training.reader import learn, evaluate\n"
    "learn.open_books = lambda seed, size: evaluate.open_books(seed, 200)",
    "agent": "from training.agent import learn; learn.CHUNK = 3; learn.TOKENS = 400",
}
RUN = """
import os, sys
from training import loop
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.dup2(os.open("{errors}", os.O_WRONLY | os.O_CREAT), 2)
sys.argv = ["train", "--out", "{out}", "--steps", "90000"]
from training.{name} import __main__ as program
{small}
loop.SECONDS = -1
program.main()
"""
CONTEXT = get_context("forkserver")  # imports once, for all trainers
CONTEXT.set_forkserver_preload(["ircotlib.models.weights"])
STOPPED = re.compile(r"stopped after step ([\d,]+) of 90,000: the same command goes on from its")


@pytest.mark.parametrize("name", SMALL)
def test_a_stopped_training_writes_its_checkpoint_and_no_other_goes_on_from_it(
    name, tmp_path, monkeypatch, capsys
):
    out, errors = tmp_path / "out", tmp_path / "errors"
    script = RUN.format(name=name, small=SMALL[name], out=out, errors=errors)
    process = CONTEXT.Process(target=exec, args=(script, {}))
    process.start()
    try:
        while not (out / "checkpoint.pt").exists() and process.is_alive():
            time.sleep(0.1)
        os.kill(process.pid, signal.SIGINT)
        process.join(120)
    finally:
        process.kill()
    lines = errors.read_text().splitlines()
    assert process.exitcode == 130 and not any("Traceback" in line for line in lines)
    step = int(STOPPED.match(lines[-1])[1].replace(",", ""))
    state = torch.load(out / "checkpoint.pt", weights_only=True)
    assert state["step"] == step >= 1 and state["recipe"]["steps"] == 90_000
    options = ["--out", str(out), "--steps", "90000", "--seed", "3"]
    monkeypatch.setattr(sys, "argv", [name, *options])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(f"training.{name}", run_name="__main__")
    [line] = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2
    assert line.startswith(f"error: {out}/checkpoint.pt: found a training with seed 0, expected")
    assert torch.load(out / "checkpoint.pt", weights_only=True)["step"] == step


def tiny(**recipe) -> Training:
    model, teacher = torch.nn.Linear(2, 2), torch.nn.Linear(1, 1)
    model.device = "cpu"
    return Training(model, teacher, [torch.optim.AdamW(model.parameters())], recipe)


