"""Every system of SearChain's study, run from a bench with a model that was never taught its
format, on every data set of the laboratory, and with a window so small that prompts are cut.
"""

from dataclasses import replace

import pytest

from bench.parse_rates import CUT
from ircot_laboratory.make import make_laboratory
from ircotlib.parameters import read_parameters
from ircotlib.program import Generate, Sample
from ircotlib.running import setup as bench
from ircotlib.running.experiment import program_of
from ircotlib.running.scheduler import run
from ircotlib.running.setup import open_bench
from ircotlib.systems import SEARCHAIN, choose_systems

DATASETS = "hotpotqa 2wikimultihopqa musique iirc strategyqa zsre trex fever eli5".split()


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Limit generations: a model that does not know the formats writes up to the limit."""
    for name, style in bench.STYLES.items():
        monkeypatch.setitem(bench.STYLES, name, replace(style, chain_tokens=16))


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory):
    folder = tmp_path_factory.mktemp("laboratory") / "small"
    return make_laboratory(folder, seed=5, size=600, questions=20)


def open_small(laboratory, dataset: str, **changes):
    changes = {"data_dir": str(laboratory), "dev": 0, "test": 2, "datasets": [dataset]} | changes
    changes = {"samples": 2} | changes
    p = read_parameters("mini", {"model": "data/models/mini-causal", "style": "codex"} | changes)
    return open_bench(p, dataset, "try")


def play_all(opened) -> None:
    """Let all systems answer a question together. Check that each has an answer or reports what it
    could not parse, and that no prompt with its reply is longer than the window.
    """
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


SMALL_WINDOWS = [("musique", {"style": style, "context_tokens": 320}) for style in bench.STYLES]


@pytest.mark.parametrize(("dataset", "changes"), [*((d, {}) for d in DATASETS), *SMALL_WINDOWS])
def test_every_system_runs(tmp_path, monkeypatch, laboratory, dataset, changes):
    monkeypatch.setattr(bench, "DATA", tmp_path)
    play_all(open_small(laboratory, dataset, **changes))
