"""Training the agent: its losses, resuming after Ctrl-C, and the files that it writes."""

import json
import os
import signal

import pytest

torch = pytest.importorskip("torch")

from ircotlib.models.causal import can_reuse
from ircotlib.models.local import LocalModel
from ircotlib.program import Generate
from training.agent import learn
from training.agent.encode import MADE_UP
from training.agent.learn import AgentRecipe, draw_chunk, learn_agent, start_agent, train_agent
from training.agent.words import MARKS, make_agent_tokenizer
from training.causal import writing_loss

FILES = "config.json generation_config.json model.safetensors tokenizer.json".split()
FILES += "tokenizer_config.json training.json training.jsonl".split()
PARTS = {"stated", "decided", "inferred", "comparing", "concluding"}  # that a batch may lack


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Make transcripts few and short, so that steps are fast."""
    torch.set_num_threads(1)
    for name, value in {"CHUNK": 3, "TOKENS": 400, "PLAYS": 4, "LONGEST": 200}.items():
        monkeypatch.setattr(learn, name, value)


def test_the_losses_fall_and_made_up_tokens_weigh_less():
    recipe = AgentRecipe(100, 0, 0.01)
    training, [batch, *_] = start_agent(recipe), draw_chunk(3, recipe)
    parts = [learn_agent(training, batch, 0.005) for _ in range(12)]
    # another value means that the model, its transcripts or its losses have changed
    assert sum(parts[0].values()) == pytest.approx(21.754, rel=1e-2)
    assert parts[-1]["writing"] < 0.8 * parts[0]["writing"]
    assert parts[-1]["looking"] < parts[0]["looking"]
    assert set(parts[0]) - PARTS == {"writing", "looking"}
    logits, token = torch.tensor([[4.0, 0.0], [4.0, 0.0]]), torch.tensor([0, 1])
    light = writing_loss(logits, token, torch.tensor([1.0, MADE_UP]))
    assert light < writing_loss(logits, token, None)


def test_a_training_goes_on_where_ctrl_c_stopped_it(tmp_path, monkeypatch):
    recipe = AgentRecipe(4, 1, 0.01)
    train_agent(tmp_path / "whole", recipe)
    steps = []

    def interrupted(*arguments):
        steps.append(arguments)
        if len(steps) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return learn_agent(*arguments)

    monkeypatch.setattr(learn, "learn_agent", interrupted)
    with pytest.raises(KeyboardInterrupt, match="stopped after step 2 of 4"):
        train_agent(tmp_path / "parted", recipe)
    assert (tmp_path / "parted" / "checkpoint.pt").is_file()
    train_agent(tmp_path / "parted", recipe)
    assert len(steps) == 4
    assert sorted(path.name for path in (tmp_path / "parted").iterdir()) == FILES
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "parted")]
    assert weights[0] == weights[1]
    about = json.loads((tmp_path / "parted" / "training.json").read_text())
    assert about["steps"] == 4 and about["parameters"] == 1_185_792
    [curve] = (tmp_path / "parted" / "training.jsonl").read_text().splitlines()
    assert json.loads(curve)["step"] == 4
    model = LocalModel(tmp_path / "whole")
    assert can_reuse(model.model)
    [(_, reply)] = model.answer([Generate("Direct\nQ: Who?\nA:", max_tokens=3)])
    assert json.loads(reply)["tokens"] <= 3
    marks = set(model.tokens.encode("\n".join(MARKS.values()), special=False))
    assert make_agent_tokenizer().unk_token_id not in marks
