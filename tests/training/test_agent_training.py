"""Training the agent: its optimizer, batches and losses, resuming after Ctrl-C, and the files that
it writes.
"""

import json
import os
import signal
from collections import Counter

import pytest

torch = pytest.importorskip("torch")

from transformers import AutoModelForCausalLM

from ircotlib.models.causal import can_reuse
from ircotlib.models.local import LocalModel
from ircotlib.program import Generate
from training.agent import learn
from training.agent.draw_transcripts import (
    LESSONS,
    draw_transcripts,
    taught_stages,
)
from training.agent.encode import MADE_UP, encode_transcript
from training.agent.learn import (
    AgentRecipe,
    draw_chunk,
    learn_agent,
    start_agent,
    train_agent,
)
from training.agent.stages import draw_plays
from training.agent.words import MARKS, make_agent_tokenizer
from training.causal import writing_loss
from training.muon import Muon

FILES = "config.json generation_config.json model.safetensors tokenizer.json".split()
FILES += "tokenizer_config.json training.json training.jsonl".split()
PARTS = {"stated", "decided", "inferred", "comparing", "concluding"}  # that a batch may lack


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Make transcripts few and short, so that steps are fast."""
    torch.set_num_threads(1)
    for name, value in {"CHUNK": 3, "TOKENS": 400, "PLAYS": 4, "LONGEST": 200}.items():
        monkeypatch.setattr(learn, name, value)


@pytest.fixture(scope="module")
def plays():
    return draw_plays(26)


def test_muon_steps_as_that_of_torch_does():
    torch.manual_seed(0)
    start = torch.randn(32, 64)
    ours, theirs = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())
    usual = {"weight_decay": 0.0, "adjust_lr_fn": "match_rms_adamw"}
    optimizers = [Muon([ours], lr=0.01), torch.optim.Muon([theirs], lr=0.01, **usual)]
    for _ in range(3):
        gradient = torch.randn(32, 64)
        for weight, optimizer in zip((ours, theirs), optimizers, strict=True):
            weight.grad = gradient.clone()
            optimizer.step()
    moved = [(weight.detach() - start).flatten() for weight in (ours, theirs)]
    assert torch.cosine_similarity(*moved, dim=0) > 0.98
    assert moved[0].norm() / moved[1].norm() == pytest.approx(1, abs=0.1)


def test_each_stage_has_an_equal_share_of_what_is_written(monkeypatch):
    taught = Counter()

    def recorded(subject, library, rng):
        plays = draw_transcripts(subject, library, rng)
        taught[subject] += sum(sum(encode_transcript(play.transcript).weights) for play in plays)
        return plays

    for name, value in {"draw_transcripts": recorded, "CHUNK": 40, "TOKENS": 3000}.items():
        monkeypatch.setattr(learn, name, value)
    draw_chunk(400, AgentRecipe(15_000, 0, 0.01))
    lessons = {subject: taught.pop(subject) for subject in LESSONS}
    assert set(taught) == set(taught_stages()) and len(taught) > 30
    assert max(taught.values()) < 1.2 * min(taught.values())
    assert lessons["lesson"] == pytest.approx(3 * taught["searchain/chain"], rel=0.2)


def test_the_losses_fall_and_made_up_tokens_weigh_less():
    recipe = AgentRecipe(100, 0, 0.01)
    training, [batch, *_] = start_agent(recipe), draw_chunk(3, recipe)
    parts = [learn_agent(training, batch, 0.005) for _ in range(30)]
    # another value means that the model, its transcripts or its losses have changed
    assert sum(parts[0].values()) == pytest.approx(21.754, rel=1e-2)
    assert parts[-1]["writing"] < 0.5 * parts[0]["writing"]
    assert parts[-1]["looking"] < parts[0]["looking"]
    assert set(parts[0]) - PARTS == {"writing", "looking"}
    logits, token = torch.tensor([[4.0, 0.0], [4.0, 0.0]]), torch.tensor([0, 1])
    light = writing_loss(logits, token, torch.tensor([1.0, MADE_UP]))
    assert light < writing_loss(logits, token, None)


def test_a_training_goes_on_where_ctrl_c_stopped_it(tmp_path, monkeypatch):
    recipe = AgentRecipe(5, 1, 0.01)
    train_agent(tmp_path / "whole", recipe)
    steps = []

    def interrupted(*arguments):
        steps.append(arguments)
        if len(steps) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return learn_agent(*arguments)

    monkeypatch.setattr(learn, "learn_agent", interrupted)
    with pytest.raises(KeyboardInterrupt, match="stopped after step 3 of 5"):
        train_agent(tmp_path / "parted", recipe)
    assert (tmp_path / "parted" / "checkpoint.pt").is_file()
    train_agent(tmp_path / "parted", recipe)
    assert len(steps) == 5
    assert sorted(path.name for path in (tmp_path / "parted").iterdir()) == FILES
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "parted")]
    assert weights[0] == weights[1]
    about = json.loads((tmp_path / "parted" / "training.json").read_text())
    assert about["steps"] == 5 and about["parameters"] == 1_185_792
    [curve] = (tmp_path / "parted" / "training.jsonl").read_text().splitlines()
    assert json.loads(curve)["step"] == 5
    kind = type(AutoModelForCausalLM.from_pretrained(tmp_path / "whole"))
    assert kind.__name__ == "LlamaForCausalLM"
    model = LocalModel(tmp_path / "whole")
    assert can_reuse(model.model)
    [(_, reply)] = model.answer([Generate("Direct\nQ: Who?\nA:", max_tokens=3)])
    assert json.loads(reply)["tokens"] <= 3
    marks = set(model.tokens.encode("\n".join(MARKS.values()), special=False))
    assert make_agent_tokenizer().unk_token_id not in marks


