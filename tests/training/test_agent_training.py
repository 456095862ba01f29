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

from ircotlib.generation.causal import can_reuse
from ircotlib.generation.local import LocalModel
from ircotlib.program import Generate
from training.agent import learn
from training.agent.draw_transcripts import (
    LESSONS,
    draw_transcripts,
    make_library,
    taught_stages,
)
from training.agent.encode import MADE_UP, encode_transcript
from training.agent.learn import (
    AgentRecipe,
    cut_rows,
    draw_chunk,
    learn_agent,
    start_agent,
    take_agent_steps,
    train_agent,
)
from training.agent.model import ADDED, SHARED, make_agent_model, shallow
from training.agent.stages import draw_plays
from training.agent.transcripts import Transcript, WrittenSpan
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


def test_the_rate_rises_stays_and_falls():
    rates = [AgentRecipe(1000, 0, 0.01).rate(step) for step in range(1000)]
    assert rates[0] < rates[50] < rates[100] == rates[400] == 0.01
    assert 0.0002 <= rates[-1] < 0.0003
    assert rates == sorted(rates[:101]) + rates[101:450] + sorted(rates[450:], reverse=True)


def test_rows_of_like_length_are_together_and_no_batch_is_too_large(plays):
    encoded = [encode_transcript(play.transcript) for play in plays]
    batches = cut_rows([row for row in encoded if len(row.tokens) <= 200])
    longest = [max(len(row.tokens) for row in batch) for batch in batches]
    assert longest == sorted(longest)
    sizes = [len(batch) * most for batch, most in zip(batches, longest, strict=True)]
    assert max(sizes) <= learn.TOKENS


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


def test_a_short_reply_weighs_as_much_as_one_of_ten_tokens():
    reply = Transcript("Q: Who? A: Oslo", [WrittenSpan("direct/direct", 10, 15, ends=True)])
    assert encode_transcript(reply).weights == [5.0, 5.0]


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


def test_added_layers_change_nothing_at_first_and_are_trained_in_the_second_part_only(tmp_path):
    model = make_agent_model(make_agent_tokenizer(), 0)
    ids = torch.randint(2, 1000, (2, 40))
    whole, layers = model(ids).logits, len(model.model.layers)
    with shallow(model):
        assert torch.equal(model(ids).logits, whole)
        assert len(model.model.layers) == layers - ADDED
    assert len(model.model.layers) == layers
    training = start_agent(recipe := AgentRecipe(4, 1, 0.01))
    added = training.model.model.layers[SHARED].self_attn.o_proj.weight
    moved = [bool(added.any()) for _ in take_agent_steps(training, recipe, tmp_path / "agent")]
    assert moved == [False, False, True, True]
    kept = AutoModelForCausalLM.from_pretrained(tmp_path / "agent-55")
    assert kept.dtype == torch.float16 and len(kept.model.layers) == layers


def test_a_library_of_few_names_is_made_with_more_where_they_do_not_suffice():
    sizes = [len(make_library(seed).world.entities) for seed in range(3)]
    assert sizes[0] > 1000 > sizes[1] > 500
