"""The dials of the simulated reader set to those of a model that was measured: here to those of a
simulated reader, so that the right values are known.
"""

import pandas as pd
import pytest

from ircotlib.comparing.comparison import run_system
from ircotlib.parameters import SIMULATED, read_parameters
from ircotlib.results.abilities import fit
from ircotlib.running import bench as setup
from ircotlib.running.run import Run
from ircotlib.systems import all_systems

QUESTIONS = 40
DIALS = {"knows": 0.4, "misreads": 0.2, "makes_up": 0.7}
NAMES = ["CoT", "Self-Ask", "SearChain", "OneR QA"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The parameters, and the folders, of runs of a simulated reader."""
    p = read_parameters("mini").change(model=SIMULATED, dials=DIALS, test=QUESTIONS, dev=10)
    folders, data = {}, setup.DATA
    bench = setup.open_bench(p, "musique", "13_head_to_head")
    setup.DATA = tmp_path_factory.mktemp("data")
    try:
        for name in NAMES:
            system = all_systems()[name]
            setting = {"k": 5} if "k" in system.grid else {}
            run_system(bench, system, **setting)
            folders["musique", name] = Run(bench, system, "test", setting).folder
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
    assert [*table["class"]] == [fit.CLOSED, fit.STEPS, fit.STEPS, fit.SEARCHES]
    agreement = fit.compare_predictions(table).set_index("prediction")
    assert agreement["absolute error"][fit.BY_STAGE] < 10
    assert fit.compare_predictions(pd.DataFrame(columns=fit.COLUMNS))["correlation"].isna().all()


def test_the_mean_of_a_class_is_that_of_its_other_systems():
    rows = [("a", "A", fit.STEPS, 50, 90.0, 80.0), ("a", "B", fit.STEPS, 50, 70.0, 50.0)]
    rows += [("a", "C", fit.STEPS, 50, 80.0, 70.0), ("b", "A", fit.STEPS, 50, 60.0, 70.0)]
    rows += [("b", "B", fit.STEPS, 50, 40.0, 40.0), ("a", "D", fit.CLOSED, 50, 10.0, 10.0)]
    table = pd.DataFrame(rows, columns="dataset system class n measured".split() + [fit.ONE])
    table = fit.add_class_mean(table.assign(**{fit.BY_STAGE: table["measured"]}))
    means = table[fit.CLASS_MEAN]
    assert [*means[:5]] == [75, 85, 80, 40, 60] and pd.isna(means[5])  # D has no other
    one, stage, mean = fit.compare_predictions(table).to_dict("records")
    assert one["absolute error"] == pytest.approx(50 / 6, abs=0.01)
    assert one["root mean square"] == pytest.approx((700 / 6) ** 0.5, abs=0.01)
    assert one["many steps: correlation"] == 0.5 and stage["many steps: correlation"] == 1
    assert one["many steps: absolute error"] == 10
    assert mean["absolute error"] == mean["many steps: absolute error"] == 14
    # errors add in quadrature, and both the agent and the simulation answer n questions
    chance = sum(m * (100 - m) for way in ("measured", fit.ONE) for m in table[way]) / 6 / 49
    assert one["without chance"] == pytest.approx((700 / 6 - chance) ** 0.5, abs=0.01)
    assert stage["root mean square"] == stage["without chance"] == 0
