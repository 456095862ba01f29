"""The shipped agent: a plain model with a record of its making, which plays as its record says."""

import json
import random
import re
from statistics import mean

import pytest

torch = pytest.importorskip("torch")

from transformers import AutoModelForCausalLM, AutoTokenizer

from ircot_laboratory.teachers import TEACHERS
from ircotlib.files.paths import MODELS, ROOT
from ircotlib.generation.causal import can_reuse
from ircotlib.parameters import read_parameters
from ircotlib.running.cache import Calls
from ircotlib.running.scheduler import run
from ircotlib.running.setup import open_bench, program_of
from training.agent.draws import taught_systems
from training.agent.lessons import draw_lesson
from training.agent.stages import (
    Play,
    judge_plays,
    measure_stages,
    measured_plays,
    summarise,
)
from training.agent.words import make_agent_tokenizer

FOLDER = MODELS / "agent"
PAGE = (ROOT / "docs" / "agent.md").read_text(encoding="utf-8")
PLAYING = json.loads((FOLDER / "playing.json").read_text())


@pytest.fixture(scope="module")
def model():
    torch.set_num_threads(1)
    return AutoModelForCausalLM.from_pretrained(FOLDER, dtype=torch.float32)


def rows(name):
    """The rows of a table of the page: its cells, without the head."""
    block = re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", PAGE, re.DOTALL)[1]
    lines = [re.findall(r"[^|]+", line) for line in block.strip().splitlines()[2:]]
    return [[cell.strip() for cell in line] for line in lines]


def test_it_is_a_plain_llama_with_the_words_of_the_laboratory(model):
    assert model.config.architectures == ["LlamaForCausalLM"] and can_reuse(model)
    vocabulary = AutoTokenizer.from_pretrained(FOLDER).get_vocab()
    assert vocabulary == make_agent_tokenizer().get_vocab()
    assert len(vocabulary) == model.config.vocab_size


def test_it_has_a_record_of_its_training(model):
    about = json.loads((FOLDER / "training.json").read_text())
    curves = [json.loads(line) for line in (FOLDER / "training.jsonl").read_text().splitlines()]
    assert about["parameters"] == model.num_parameters()
    assert curves[-1]["step"] == about["steps"] and about["seconds"] < 3 * 3600
    assert curves[-1]["writing"] < curves[0]["writing"] and curves[-1]["turns"] > curves[0]["turns"]


def test_every_stage_was_measured_and_the_page_says_how():
    stages = PLAYING["by stage"]
    assert set(stages) | {"react/cot"} == set(TEACHERS)
    assert rows("stages") == [[name, f"{100 * right:.0f}"] for name, right in stages.items()]


def test_the_page_says_how_systems_play_in_closed_loop():
    found = {}
    for row in PLAYING["closed"]:
        found.setdefault(row["system"], []).append((row["parsed"], row["mean"]))
    expected = [
        [name, f"{100 * mean(p for p, _ in pairs):.0f}", f"{100 * mean(m for _, m in pairs):.0f}"]
        for name, pairs in found.items()
    ]
    assert set(found) == set(taught_systems())
    assert rows("closed") == expected


def test_it_plays_as_its_record_says(model):
    judged = measure_stages(model, 8)
    now, then = summarise(judged, "system"), PLAYING["by system"]
    assert mean(now.values()) > mean(then.values()) - 0.08


def test_it_knows_the_facts_it_was_taught(model):
    rng = random.Random(3)
    lessons = judge_plays(model, [Play("lesson", "", draw_lesson(rng)) for _ in range(20)])
    assert mean(one.right for one in lessons) > 0.5


def test_searchain_is_played_from_end_to_end():
    p = read_parameters("mini", {"agent": str(FOLDER), "dev": 0, "test": 6}).for_agent()
    bench, system = open_bench(p, "hotpotqa", "test_agent"), taught_systems()["SearChain"]
    programs = {question.id: program_of(bench, system)(question) for question in bench.test}
    outcomes, counts = run(programs, bench.backends, Calls())
    predictions = [one.result for one in outcomes.values()]
    assert sum(not one.fault for one in predictions) >= 5
    assert all(one.nodes and one.answer for one in predictions if not one.fault)
    assert counts["Generate"]["requests"] > counts["Generate"]["batches"]
    assert list(measured_plays(system, 1))
