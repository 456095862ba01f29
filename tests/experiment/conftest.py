"""Setups on a small laboratory with a shipped model; all files are written to the
test's folder.
"""

import pytest

from ircotlib.experiment import setup, workers
from ircotlib.experiment.setup import Setup, open_setup
from ircotlib.parameters import Parameters, read_parameters


@pytest.fixture
def at(monkeypatch):
    """at(folder): from now on data are kept there, also by other processes."""

    def keep(folder):
        monkeypatch.setenv("IRCOT_DATA", str(folder))
        monkeypatch.setenv("IRCOT_BATCH", "1")
        monkeypatch.setattr(setup, "DATA", folder)
        monkeypatch.setattr(workers, "DATA", folder)

    return keep


@pytest.fixture
def p(tmp_path, at, laboratory) -> Parameters:
    """Four dev and four test questions, prompts without demonstrations."""
    at(tmp_path / "data")
    changes = {"data_dir": str(laboratory), "datasets": ["hotpotqa"], "workers": 1}
    changes |= {"dev": 4, "test": 4, "distractors": [], "max_steps": 3}
    return read_parameters("mini", changes | {"model": "data/models/mini-base"})


@pytest.fixture
def opened(p) -> Setup:
    """The setup of these parameters."""
    return open_setup(p, "hotpotqa", "04_ircot")
