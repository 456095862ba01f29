"""What tests of results share."""

import pytest

from ircotlib.results.abilities import simulated_plays as plays


@pytest.fixture(scope="session", autouse=True)
def one_process():
    """Plays of the simulated reader in this process: others would have to import everything first.
    tests/laboratory/test_simulated.py has them in several.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plays, "count_cores", lambda: 1)
        yield
