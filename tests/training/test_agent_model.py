"""The shipped agent: a plain model with a record, as good as that says."""

import json
from statistics import mean

import pandas as pd
import pytest

torch = pytest.importorskip("torch")

from transformers import AutoModelForCausalLM, AutoTokenizer

from ircotlib.files import MODELS
from ircotlib.models.causal import can_reuse
from ircotlib.parameters import read_parameters
from training.agent import gold
from training.agent.draw_transcripts import LESSONS
from training.agent.evaluate import (
    JudgedTurn,
    by_stage,
    draw_turns,
    judge_plays,
    tabulate_gate,
    write_freely,
)
from training.agent.words import make_agent_tokenizer
from training.teachers import TEACHERS

FOLDER = MODELS / "agent"
GATE = pd.read_csv(FOLDER / "gate.csv")


@pytest.fixture(scope="module")
def model():
    torch.set_num_threads(1)
    return AutoModelForCausalLM.from_pretrained(FOLDER, dtype=torch.float32)


def test_it_is_a_plain_llama_with_the_words_of_the_laboratory_and_a_record(model):
    assert model.config.architectures == ["LlamaForCausalLM"] and can_reuse(model)
    vocabulary = AutoTokenizer.from_pretrained(FOLDER).get_vocab()
    assert vocabulary == make_agent_tokenizer().get_vocab()
    assert len(vocabulary) == model.config.vocab_size
    record = json.loads((FOLDER / "training.json").read_text())
    curves = (FOLDER / "training.jsonl").read_text().splitlines()
    first, *_, last = map(json.loads, curves)
    assert record["parameters"] == model.num_parameters()
    assert last["step"] == record["steps"] and record["seconds"] < 4 * 3600
    assert last["writing"] < first["writing"] and last["turns"] > first["turns"]


def test_its_gate_is_kept_and_says_what_it_can_do(model):
    stages = GATE.set_index("stage")
    assert set(stages.index) == {*TEACHERS, *LESSONS} and stages["replies"].min() > 20
    judged = by_stage(judge_plays(model, draw_turns(8, seed=1)))
    turns = [turn for of_stage in judged.values() for turn in of_stage]
    now = 100 * sum(turn.found for turn in turns) / sum(turn.bearing for turn in turns)
    assert now == pytest.approx(stages["tokens right"].mean(), abs=3)


def test_a_stage_passes_or_fails_by_whole_replies_if_its_interval_can_tell(model):
    turn = JudgedTurn("CoT", "cot/cot", "musique", True, 10, 9, None)
    verdicts = {}
    for right in (100, 85, 50):
        written = {"cot/cot": [True] * right + [False] * (100 - right)}
        [row] = tabulate_gate([turn], written).to_dict("records")
        assert (row["tokens right"], row["replies right"]) == (90, right)
        verdicts[right] = row["gate"]
    assert verdicts == {100: "passes", 85: "undecided", 50: "fails"}
    # what the shipped agent writes freely: of few replies to one prompt, most are right
    plays = [play for play in draw_turns(3) if play.system == "Self-Ask"][:4]
    written = write_freely(FOLDER, plays)
    replies = [right for of_stage in written.values() for right in of_stage]
    assert len(replies) >= 4 and mean(replies) > 0.6


def test_with_right_replies_the_programs_answer_as_kept(monkeypatch):
    systems = {name: gold.taught_systems()[name] for name in ("Self-Ask", "CoT")}
    monkeypatch.setattr(gold, "taught_systems", lambda: systems)
    p = read_parameters("mini")
    table = gold.answer_with_gold(p.change(head_to_head=["trex", "eli5"]))
    kept = pd.read_csv(FOLDER / "gold.csv").merge(table, on=["dataset", "system"])
    assert len(kept) == 2 and kept["gold_x"].equals(kept["gold_y"])
