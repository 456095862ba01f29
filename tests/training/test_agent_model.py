"""The shipped agent: a plain model with a record of its making, which plays as its record says."""

import json
import random
from statistics import mean

import pytest

torch = pytest.importorskip("torch")

from transformers import AutoModelForCausalLM, AutoTokenizer

from ircotlib.files import MODELS
from ircotlib.models.causal import can_reuse
from training.agent.draw_transcripts import Play, taught_systems
from training.agent.lessons import draw_lesson
from training.agent.stages import judge_plays, measured_plays, share_right
from training.agent.words import make_agent_tokenizer
from training.teachers import TEACHERS

FOLDER = MODELS / "agent"
PLAYING = json.loads((FOLDER / "playing.json").read_text())


@pytest.fixture(scope="module")
def model():
    torch.set_num_threads(1)
    return AutoModelForCausalLM.from_pretrained(FOLDER, dtype=torch.float32)


def test_it_is_a_plain_llama_with_the_words_of_the_laboratory_and_a_record(model):
    assert model.config.architectures == ["LlamaForCausalLM"] and can_reuse(model)
    vocabulary = AutoTokenizer.from_pretrained(FOLDER).get_vocab()
    assert vocabulary == make_agent_tokenizer().get_vocab()
    assert len(vocabulary) == model.config.vocab_size
    about = json.loads((FOLDER / "training.json").read_text())
    first, *_, last = map(json.loads, (FOLDER / "training.jsonl").read_text().splitlines())
    assert about["parameters"] == model.num_parameters()
    assert last["step"] == about["steps"] and about["seconds"] < 4 * 3600
    assert last["writing"] < first["writing"] and last["turns"] > first["turns"]


def test_every_stage_and_every_system_was_measured():
    untaught = {"react/cot", "ircot/titles"}  # IIRC is not among its data sets
    assert set(PLAYING["by stage"]) | untaught == set(TEACHERS)
    assert {row["system"] for row in PLAYING["closed"]} == set(taught_systems())


def test_it_plays_as_its_record_says(model):
    names, then = ("CoT", "IRCoT QA", "ReAct", "DecomP", "SearChain"), PLAYING["by system"]
    plays = [play for name in names for play in measured_plays(taught_systems()[name], 8)]
    now = share_right(judge_plays(model, plays), "system")
    assert mean(now.values()) > mean(then[name] for name in names) - 0.08


def test_it_knows_the_facts_it_was_taught(model):
    rng = random.Random(3)
    lessons = judge_plays(model, [Play(draw_lesson(rng), "lesson") for _ in range(12)])
    assert mean(turn.right for turn in lessons) > 0.5
