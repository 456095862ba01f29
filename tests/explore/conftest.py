"""Runs of a shipped model on a small laboratory."""

import pytest

from ircot_laboratory.make import make_laboratory
from ircotlib.experiment.compare import run_system
from ircotlib.experiment.runs import Run
from ircotlib.experiment.setup import open_setup
from ircotlib.parameters import read_parameters
from ircotlib.systems import all_systems

SETTINGS = {"NoR QA": {}, "OneR": {"k": 3}, "OneR QA": {"k": 2}, "IRCoT QA": {"k": 2}}


@pytest.fixture(scope="package")
def data(tmp_path_factory):
    """The data folder, to which all is written."""
    folder = tmp_path_factory.mktemp("explore")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ircotlib.experiment.setup.DATA", folder)
        yield folder


@pytest.fixture(scope="package")
def opened(data):
    """A setup with ten questions of a small laboratory."""
    data_dir = make_laboratory(data / "small", seed=5, size=600, questions=40)
    changes = {"dev": 4, "test": 10, "distractors": [], "workers": 1}
    named = {"data_dir": str(data_dir), "datasets": ["hotpotqa"]}
    changes |= named | {"model": "data/models/mini-base"}
    return open_setup(read_parameters("mini", changes), "hotpotqa", "04_ircot")


@pytest.fixture(scope="package")
def ran(opened):
    """The folder of a run of each system."""
    folders = {}
    for name, setting in SETTINGS.items():
        system = all_systems()[name]
        run_system(opened, system, **setting)
        folders[name] = Run(opened, system, "test", setting).folder
    return folders


@pytest.fixture
def displayed(monkeypatch):
    """The outputs that widgets display."""
    parts = []
    monkeypatch.delenv("IRCOT_BATCH", raising=False)
    monkeypatch.setattr("ircotlib.explore.box.display", parts.append)
    return parts
