"""Training the agent: its optimizer, batches and losses, resuming after Ctrl-C, and the files that
it writes.
"""

import json
import os
import signal
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from transformers import AutoModelForCausalLM

from ircotlib.generation.causal import can_reuse
from ircotlib.generation.local import LocalModel
from ircotlib.program import Generate
from training.agent import learn as agent_learn
from training.agent.draws import make_library
from training.agent.encode import MADE_UP, encode_transcript
from training.agent.learn import (
    Recipe,
    cut_rows,
    draw_chunk,
    learn,
    start_training,
    take_steps,
    train,
)
from training.agent.model import ADDED, SHARED, make_agent_model, shallow
from training.agent.stages import draw_plays, judge_plays, summarise
from training.agent.words import MARKS, make_agent_tokenizer
from training.muon import Muon, orthogonalise

FILES = ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json"]
FILES += ["tokenizer_config.json", "training.json", "training.jsonl"]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Make transcripts few and short, so that steps are fast."""
    torch.set_num_threads(1)
    for name, value in {"CHUNK": 3, "TOKENS": 400, "PLAYS": 4, "LONGEST": 200}.items():
        monkeypatch.setattr(agent_learn, name, value)


@pytest.fixture(scope="module")
def rows():
    return SimpleNamespace(plays=draw_plays(26))


def test_updates_are_orthogonal_whatever_the_shape():
    torch.manual_seed(0)
    for shape in ((3, 16, 48), (2, 48, 16), (1, 16, 16)):
        singular = torch.linalg.svdvals(orthogonalise(torch.randn(shape)))
        assert singular.min() > 0.4 and singular.max() < 1.3


def test_muon_steps_as_that_of_torch_does():
    torch.manual_seed(0)
    start = torch.randn(32, 64)
    ours, theirs = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())
    optimizers = [
        Muon([ours], lr=0.01),
        torch.optim.Muon([theirs], lr=0.01, weight_decay=0.0, adjust_lr_fn="match_rms_adamw"),
    ]
    for _ in range(3):
        gradient = torch.randn(32, 64)
        for weight, optimizer in zip((ours, theirs), optimizers, strict=True):
            weight.grad = gradient.clone()
            optimizer.step()
    moved = [(weight.detach() - start).flatten() for weight in (ours, theirs)]
    assert torch.cosine_similarity(*moved, dim=0) > 0.98
    assert moved[0].norm() / moved[1].norm() == pytest.approx(1, abs=0.1)


def test_the_rate_rises_stays_and_falls():
    recipe = Recipe(1000, 0, 0.01)
    rates = [recipe.learning_rate(step) for step in range(1000)]
    assert rates[0] < rates[50] < rates[100] == rates[400] == 0.01
    assert 0.0002 <= rates[-1] < 0.0003
    assert rates == sorted(rates[:101]) + rates[101:450] + sorted(rates[450:], reverse=True)


def test_the_same_number_draws_the_same_chunk():
    first, again = (draw_chunk(4, Recipe(1000, 0, 0.01)) for _ in range(2))
    other = draw_chunk(5, Recipe(1000, 0, 0.01))
    pairs = zip(first, again, strict=True)
    assert all(torch.equal(a["input_ids"], b["input_ids"]) for a, b in pairs)
    assert not torch.equal(first[0]["input_ids"], other[0]["input_ids"])


def test_rows_of_like_length_are_together_and_no_batch_is_too_large(rows):
    encoded = [encode_transcript(play.transcript) for play in rows.plays]
    encoded = [row for row in encoded if len(row.tokens) <= 200]
    batches = cut_rows(encoded)
    longest = [max(len(row.tokens) for row in batch) for batch in batches]
    assert longest == sorted(longest)
    assert all(
        len(batch) * most <= agent_learn.TOKENS
        for batch, most in zip(batches, longest, strict=True)
    )


def test_the_losses_fall(rows):
    recipe = Recipe(100, 0, 0.01)
    training, [batch, *_] = start_training(recipe), draw_chunk(3, recipe)
    parts = [learn(training, batch, 0.005) for _ in range(30)]
    assert parts[-1]["writing"] < 0.5 * parts[0]["writing"]
    assert parts[-1]["looking"] < parts[0]["looking"]
    assert {"writing", "looking"} <= set(parts[0]) <= {
        "writing", "looking", "stated", "decided", "inferred", "comparing", "concluding",
    }  # fmt: skip


def test_made_up_tokens_weigh_less_in_the_loss():
    from training.t5.causal_teach import _writing_loss

    logits, token = torch.tensor([[4.0, 0.0], [4.0, 0.0]]), torch.tensor([0, 1])
    even = _writing_loss(logits, token, None)
    light = _writing_loss(logits, token, torch.tensor([1.0, MADE_UP]))
    assert light < even


def test_judging_asks_whether_every_token_is_the_most_probable(rows):
    model = make_agent_model(make_agent_tokenizer(), 0)
    judged = judge_plays(model, rows.plays)
    assert sum(one.tokens for one in judged) > 500
    assert max(summarise(judged).values()) < 0.5
    assert {one.system for one in judged} > {"SearChain", "lesson"}


def test_a_training_goes_on_where_ctrl_c_stopped_it(tmp_path, monkeypatch):
    recipe = Recipe(5, 1, 0.01)
    train(tmp_path / "whole", recipe)
    steps, go_on = [], agent_learn.learn

    def interrupted(*how):
        steps.append(how)
        if len(steps) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return go_on(*how)

    monkeypatch.setattr(agent_learn, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt, match="stopped after step 3 of 5"):
        train(tmp_path / "parted", recipe)
    assert (tmp_path / "parted" / "checkpoint.pt").is_file()
    train(tmp_path / "parted", recipe)
    assert len(steps) == 5
    assert sorted(path.name for path in (tmp_path / "parted").iterdir()) == FILES
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "parted")]
    assert weights[0] == weights[1]
    about = json.loads((tmp_path / "parted" / "training.json").read_text())
    assert about["steps"] == 5 and about["parameters"] == 1_300_480
    [curve] = (tmp_path / "parted" / "training.jsonl").read_text().splitlines()
    assert json.loads(curve)["step"] == 5


def test_added_layers_change_nothing_at_first():
    model = make_agent_model(make_agent_tokenizer(), 0)
    ids = torch.randint(2, 1000, (2, 40))
    whole, layers = model(ids).logits, len(model.model.layers)
    with shallow(model):
        assert torch.equal(model(ids).logits, whole)
        assert len(model.model.layers) == layers - ADDED
    assert len(model.model.layers) == layers


def test_added_layers_are_trained_in_the_second_part_only():
    training = start_training(recipe := Recipe(4, 1, 0.01))
    added = training.t5.model.model.layers[SHARED].self_attn.o_proj.weight
    moved = [bool(added.any()) for _ in take_steps(training, recipe)]
    assert moved == [False, False, True, True]


def test_what_is_written_is_a_plain_causal_model(tmp_path):
    train(tmp_path, Recipe(1, 0, 0.01))
    model = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert type(model).__name__ == "LlamaForCausalLM" and can_reuse(model)
    opened = LocalModel(tmp_path)
    asked = Generate("Direct\nQ: Who?\nA:", max_tokens=3)
    [(_, reply)] = opened.answer([asked])
    assert json.loads(reply)["tokens"] <= 3
    marks = set(opened.tokens.encode("\n".join(MARKS.values()), special=False))
    assert make_agent_tokenizer().unk_token_id not in marks


def test_a_library_of_few_names_is_made_with_more_where_they_do_not_suffice():
    sizes = [len(make_library(seed).world.entities) for seed in range(3)]
    assert sizes[0] > 1000 > sizes[1] > 500
