"""The dials of the simulated reader set to those of a model that was measured: here to those of a
simulated reader, so that the right values are known.
"""

import pytest

from ircotlib.parameters import read_parameters
from ircotlib.results.abilities import fit
from ircotlib.results.abilities.plays import with_simulated
from ircotlib.running import setup
from ircotlib.running.experiment import run_system
from ircotlib.running.folder import run_folder
from ircotlib.systems import all_systems

QUESTIONS = 40
DIALS = {"knows": 0.4, "misreads": 0.2, "makes_up": 0.7}
NAMES = ["CoT", "Self-Ask", "SearChain", "OneR QA"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The parameters, and the folders, of runs of a simulated reader."""
    p = with_simulated(read_parameters("mini"), DIALS, test=QUESTIONS, dev=10)
    folders, data = {}, setup.DATA
    bench = setup.open_bench(p, "musique", "13_head_to_head")
    setup.DATA = tmp_path_factory.mktemp("data")
    try:
        for name in NAMES:
            system = all_systems()[name]
            setting = {"k": 5} if "k" in system.grid else {}
            run_system(bench, system, **setting)
            folders["musique", name] = run_folder(bench, system, "test", setting)
        yield p, folders
    finally:
        setup.DATA = data


def test_dials_are_those_of_the_runs(runs):
    p, folders = runs
    assert fit.share_known(p, "musique", folders) == pytest.approx(0.4, abs=0.1)
    plays = fit.set_dials(p, folders)
    assert [(play.dataset, play.system) for play in plays] == [*folders]
    assert [play.setting for play in plays] == [{}, {}, {}, {"k": 5}]
    for play in plays:
        assert play.dials["breaks_form"] == 0 and play.dials["makes_up"] == 1
        assert play.stages["searchain/chain"]["makes_up"] == pytest.approx(0.7, abs=0.15)


def test_rates_follow_from_right_turns():
    facts = {"a/read": (1.0, 2.0), "b/read": (0.5, 1.0), "c/write": (0.0, 3.0), "d/new": (1, 1)}
    rate, rates = fit.rate_misreading({"a/read": 0.81, "b/read": 0.8, "c/write": 0.5}, facts)
    assert rates == pytest.approx({"a/read": 0.1, "b/read": 0.2})
    assert rate == pytest.approx(1 - (0.81 * 0.8) ** (1 / 3))


def test_a_reader_like_that_of_the_runs_is_predicted(runs):
    p, folders = runs
    right = {"self_ask/read": 0.8, "ircot/cot": 0.8, "searchain/chain": 0.9}
    table = fit.predict(p, folders, right, QUESTIONS + 1)  # of each run at most all
    assert list(table["system"]) == NAMES and set(table["n"]) == {QUESTIONS}
    assert (table["measured"] - table[fit.BY_STAGE]).abs().max() < 15
    worse = fit.predict(p, folders, dict.fromkeys(right, 0.2), 10).set_index("system")
    assert worse[fit.ONE]["Self-Ask"] < table.set_index("system")[fit.ONE]["Self-Ask"] - 30
    agreement = fit.compare_predictions(table).set_index("prediction")
    assert list(agreement.index) == [fit.ONE, fit.BY_STAGE]
    assert (
        agreement["absolute error"][fit.BY_STAGE] < 10 and agreement["chance"].between(2, 9).all()
    )
