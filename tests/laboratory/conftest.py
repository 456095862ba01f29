"""The laboratory that the tests read."""

import pytest

from ircot_laboratory.make import make_laboratory


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return make_laboratory(tmp_path_factory.mktemp("laboratory") / "0")
