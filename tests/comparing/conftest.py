"""Where runs are kept while they are tested."""

import pytest

from ircotlib.experiment import backends, workers
from ircotlib.experiment import bench as setup


@pytest.fixture
def at(monkeypatch):
    """at(folder): all is kept there, by workers too."""

    def keep(folder):
        monkeypatch.setenv("IRCOT_DATA", str(folder))
        monkeypatch.setattr(setup, "DATA", folder)
        monkeypatch.setattr(backends, "DATA", folder)
        monkeypatch.setattr(workers, "DATA", folder)

    return keep
