"""Every system of SearChain's study ends with a prediction, whatever a model writes."""

import random
from dataclasses import replace

import pytest
from bench.parse_rates import CUT
from replying import writers
from transformers import AutoModelForCausalLM, AutoTokenizer

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.engine.scheduler import run
from ircotlib.experiment import backends, bench
from ircotlib.experiment.setup import open_setup, program_of
from ircotlib.files.paths import MODELS
from ircotlib.parameters import read_parameters
from ircotlib.program import Generate, NearestTitle, Retrieve, Sample, Sampled
from ircotlib.systems import SEARCHAIN, choose_systems

DATASETS = "hotpotqa 2wikimultihopqa musique iirc strategyqa zsre trex fever eli5".split()


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Limit generations: a model that does not know the formats writes up to the limit."""
    for name, style in bench.STYLES.items():
        monkeypatch.setitem(bench.STYLES, name, replace(style, chain_tokens=16))


def play_all(opened) -> None:
    """Let all systems answer or report a fault, with no prompt longer than the window."""
    programs = {}
    for system in choose_systems(study=SEARCHAIN):
        grid, cut = opened.grid(system), CUT.get(system.name, {})
        setting = {name: value for name, value in cut.items() if name in grid}
        programs[system.name] = program_of(opened, system, **setting)(opened.test[0])
    outcomes, _ = run(programs, opened.backends, opened.calls)
    for name, outcome in outcomes.items():
        assert outcome.result.answer or outcome.result.fault, name
        for step in outcome.trace:
            if isinstance(step.request, Generate | Sample):
                room = opened.model.count_tokens(step.request.prompt) + step.request.max_tokens
                assert room <= opened.window, (name, step.request.prompt)


@pytest.fixture(scope="module")
def indexes(tmp_path_factory):
    """A folder for corpora, indexes and replies that the data sets share."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def first_layer(tmp_path_factory):
    """A fast model that writes words, but follows no format: mini-causal without most layers."""
    folder = tmp_path_factory.mktemp("models") / "first-layer"
    AutoTokenizer.from_pretrained(MODELS / "mini-causal").save_pretrained(folder)
    whole = AutoModelForCausalLM.from_pretrained(MODELS / "mini-causal", num_hidden_layers=1)
    whole.save_pretrained(folder)
    return folder


SMALL_WINDOWS = [("musique", {"style": style, "context_tokens": 320}) for style in bench.STYLES]


@pytest.mark.parametrize(("dataset", "changes"), [*((d, {}) for d in DATASETS), *SMALL_WINDOWS])
def test_every_system_runs(indexes, first_layer, monkeypatch, laboratory, dataset, changes):
    monkeypatch.setattr(bench, "DATA", indexes)
    monkeypatch.setattr(backends, "DATA", indexes)
    small = {"data_dir": str(laboratory), "dev": 0, "test": 2, "datasets": [dataset], "samples": 2}
    small |= {"model": str(first_layer), "style": "codex"} | changes
    play_all(open_setup(read_parameters("mini", small), dataset, "try"))


QUESTION = Question("q", "Where is Oslo {n}?", ("Norway",), (), "test")
CORPUS = [Paragraph(str(i), f"Page {i}", f"Page {i} [is] {{one}}. It is old.") for i in range(9)]
PIECES = ["", "Oslo", "\n", "The answer is", "The answer is Oslo.", " answer is: ", "→", "[EOQ]"]
PIECES += ["Action 1: ", "\nAction 2: ", "Search[Page 1]", "Lookup[old]", "Finish[]", "Finish[a]"]
PIECES += ["[WikiSearch(Page 2)", "]", "The best choice is 2", "best choice is 99", "First, "]
PIECES += ["\nSearch Query: a", "\nAnswer: b", "(select) [retrieve_odqa] a", "{question}", "..."]
PIECES += ['(select) [multihop_titleqa] Titles: ["Page 1", 2]. Question: c', "(select) [x] y"]
MODULES = ("direct", "react", "dsp", "verify_and_edit", "toolformer")
MODULES += ("tree_of_thought", "interaug", "decomp")
SYSTEMS = [s for s in choose_systems(study=SEARCHAIN) if s.module in MODULES]


def write(chance):
    return "".join(chance.choices(PIECES, k=chance.choice((0, 1, 1, 2, 5)))).strip()


def answer(request, chance):
    match request:
        case Retrieve():
            return tuple(chance.sample(CORPUS, chance.randint(0, min(request.k, 4))))
        case NearestTitle():
            titles = [request.title] if chance.random() < 0.5 else []
            return tuple(titles + ["Page 3"] * (request.n > 1))
        case Generate():
            return write(chance)
        case Sample():
            score = chance.choice((None, -1.0))
            return tuple(Sampled(write(chance), score) for _ in range(request.n))


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_a_system_ends_with_a_prediction(system):
    prompts = writers(system.module, *system.stages)
    setting = {name: values[0] for name, values in system.grid.items() if name != "m"}
    for seed in range(60):
        chance, requests = random.Random(seed), 0
        program = system.program(QUESTION, prompts=prompts, **setting)
        try:
            request = next(program)
            while requests < 1000:
                requests += 1
                request = program.send(answer(request, chance))
        except StopIteration as end:
            prediction = end.value
        assert isinstance(prediction, Prediction) and requests < 1000
        assert isinstance(prediction.answer, str) and isinstance(prediction.fault, str)
        assert prediction.answer or prediction.fault, f"silent with seed {seed}"
        assert len(set(prediction.paragraphs)) == len(prediction.paragraphs)
