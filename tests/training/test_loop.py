"""A stopped training writes a checkpoint; a training with other options refuses it."""

import os
import signal
import sys

import pytest

torch = pytest.importorskip("torch")

from training.reader import __main__ as command
from training.reader import learn


def test_a_stopped_training_writes_its_checkpoint_and_no_other_continues_it(
    tmp_path, monkeypatch, capsys
):
    learn_reader, open_books = learn.learn_reader, learn.open_books

    def interrupted(*arguments):
        os.kill(os.getpid(), signal.SIGINT)
        return learn_reader(*arguments)

    monkeypatch.setattr(learn, "learn_reader", interrupted)
    monkeypatch.setattr(learn, "open_books", lambda seed, size: open_books(seed, 200))
    out = tmp_path / "out"
    stopped = (
        "stopped after step 1 of 90,000: the same command resumes from its checkpoint"
    )
    other = (
        f"error: {out}/checkpoint.pt: found a training with seed 0, expected seed 3;"
    )
    for seed, status, line in ((0, 130, stopped), (3, 2, other)):
        options = ["--out", str(out), "--steps", "90000", "--seed", str(seed)]
        monkeypatch.setattr(sys, "argv", ["reader", *options])
        with pytest.raises(SystemExit) as ended:
            command.main()
        assert ended.value.code == status
        assert capsys.readouterr().err.splitlines()[-1].startswith(line)
        state = torch.load(out / "checkpoint.pt", weights_only=True)
        assert (state["step"], state["recipe"]["seed"]) == (1, 0)
