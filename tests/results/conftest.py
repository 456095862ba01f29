"""What tests of results share."""

import pytest

from ircotlib.results import kept_plays


@pytest.fixture(scope="session", autouse=True)
def one_process():
    """Simulations in this process: others would have to import everything first.
    tests/laboratory/test_simulated.py has them in several.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_plays, "count_cores", lambda: 1)
        yield
