"""What 15_abilities simulates and shows, with few questions."""

import json

import matplotlib
import pandas as pd
import pytest
from matplotlib import pyplot

matplotlib.use("Agg")

from ircotlib.experiment.current import REPLAY
from ircotlib.results.abilities import predictions, simulation, studies
from ircotlib.results.abilities.map import ALIKE, RIVALS, STEP_BY_STEP, WORDS, map_systems
from ircotlib.results.abilities.means import average, weigh
from ircotlib.results.abilities.predictions import (
    BY_STAGE,
    CLASS_MEAN,
    ONE,
    ORDER,
    SYSTEM_MEAN,
)
from ircotlib.results.abilities.simulation import (
    MANY,
    Simulation,
    class_of,
    describe_simulations,
    setting_of,
    simulate,
    simulated_systems,
)

from ircotlib.experiment import finished
from ircotlib.files.checksums import read_description, write_description
from ircotlib.files.paths import FIGURES, MODELS, ROOT
from ircotlib.parameters import read_parameters
from ircotlib.results import kept_plays
from ircotlib.results.figures.maps import draw_ceilings, draw_gains, draw_map, draw_predicted
from ircotlib.systems import all_systems


@pytest.fixture(scope="module")
def p():
    return read_parameters("mini", {"abilities_test": 8, "abilities_seeds": 2})


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    """Scores are kept in the test's folder; every figure is closed at the end."""
    monkeypatch.setattr(kept_plays, "DATA", tmp_path)
    yield
    pyplot.close("all")


def test_each_point_is_simulated_with_each_seed(p):
    point = Simulation("musique", "Self-Ask", {"misreads": 0.5})
    scores = simulate(
        p, [({"x": 1}, point), ({"x": 2}, point), ({"x": 3}, Simulation("fever", "CoT"))]
    )
    assert scores.groupby("x").size().tolist() == [16, 16, 16]
    assert set(scores["id"].str[:2]) == {"0 ", "1 "}
    both = [rows["score"].tolist() for _, rows in scores[scores["x"] < 3].groupby("x")]
    assert both[0] == both[1]
    table = average(scores, "x", "system")
    assert table["n"].tolist() == [16, 16, 16] and (table["low"] <= table["mean"]).all()
    assert describe_simulations(p) == "simulated reader, 8 questions a data set, 2 seeds"
    other = simulate(p.change(abilities_seeds=1, seed=1), [({}, point)])
    assert other["score"].tolist() == both[0][8:]


def test_scores_are_kept_until_something_changes(p, tmp_path, monkeypatch, capsys):
    points = [({"x": m}, Simulation("musique", "CoT", {"knows": m})) for m in (0.3, 0.6)]
    points += [({"x": 0}, Simulation("fever", "OneR QA", {"misreads": 0.5}, {"k": 2}))]
    played, tables, play = [], [], simulation._simulate_group
    monkeypatch.setattr(kept_plays, "count_cores", lambda: 1)

    def count(some=points, p=p) -> int:
        """How many are simulated, and not read."""
        played.clear()
        with monkeypatch.context() as patch:
            patch.setattr(simulation, "_simulate_group", lambda j: played.extend(j[2]) or play(j))
            tables.append(simulate(p, some))
        return len(played)

    assert [count(points[1:]), count(), count(), count(points[:1])] == [2, 1, 0, 0]
    pd.testing.assert_frame_equal(tables[1], tables[2])
    pd.testing.assert_frame_equal(tables[1][tables[1]["x"] == 0.3], tables[3])
    path = next(tmp_path.glob("plays/*/fever/*.json"))
    assert count(p=p.change(seed=5)) == 3 and count() == 0  # each has its own folder
    path.write_text(path.read_text()[:-9])
    assert count() == 1 and count() == 0  # the damaged one
    monkeypatch.setattr(finished, "installed", lambda: {"numpy": "0"})
    assert count() == 3 and count() == 0
    monkeypatch.setattr(finished, "find_sources", lambda *_: "edited")
    assert count() == 3 and count() == 0
    monkeypatch.setattr(finished, "find_sources", lambda *_: None)
    assert count() == 3 and count() == 3  # code below this process was edited, or is a plug-in's


def test_simulating_all_again_says_what_differs(p, tmp_path, monkeypatch, capsys):
    point = Simulation("fever", "CoT", {"knows": 0.3})
    before = simulate(p, [({}, point)])
    monkeypatch.setenv(REPLAY, "1")
    pd.testing.assert_frame_equal(simulate(p, [({}, point)]), before)
    assert "differ" not in capsys.readouterr().err
    [path] = tmp_path.glob("plays/*/*/*.json")
    about = read_description(path, "")
    about["results"][repr(point)][3] = [0.25, 0.0]
    write_description(path, about)
    pd.testing.assert_frame_equal(simulate(p, [({}, point)]), before)
    assert "fever CoT: played again, 1 of 1 differ from those kept" in capsys.readouterr().err


def test_reading_every_step_has_its_closed_form(p):
    points = [
        ({"x": m}, Simulation("musique", "IRCoT QA", {"misreads": m}, {"k": 4})) for m in (0, 1)
    ]
    scores = simulate(p, points)
    assert scores.groupby("x")["score"].mean().tolist() == [1, 0]
    assert set(scores["kind"].str[0]) <= {*"234"}


def test_classes_and_settings_are_those_of_the_systems(p):
    named = {system.name: class_of(system) for system in simulated_systems()}
    assert named["CoT"] == named["SearChain w/o IR"] == "none" and named["OneR QA"] == "one"
    assert named["SearChain"] == named["IRCoT QA"] == named["DSP"] == MANY
    assert setting_of(p, all_systems()["IRCoT QA"]) == {"k": 4}
    assert setting_of(p, all_systems()["Self-Ask"]) == {}


def test_changes_are_worth_what_they_change(p):
    well, badly = {"knows": 0.2}, {"knows": 0.2, "misreads": 1.0}
    changes = [
        (
            {"change": "a"},
            Simulation("musique", "Self-Ask", well),
            Simulation("musique", "Self-Ask", badly),
        ),
        ({"change": "b"}, Simulation("musique", "CoT", well), Simulation("musique", "CoT", badly)),
    ]
    table = weigh(p, changes).set_index("change")
    assert table.loc["a", ["before", "after", "gain"]].tolist() == [100, 0, -100]
    assert table.loc["b", "gain"] == 0 and set(table["n"]) == {16}


def test_every_dial_and_part_is_weighed_for_every_system(p):
    changes = list(studies.change_reader())
    labels = pd.DataFrame([label for label, *_ in changes])
    by_system = labels.groupby("system").size()
    assert set(by_system.index) == {*studies.SYSTEMS} and by_system.min() >= 19
    assert {name.partition(":")[0] for name in labels["change"]} >= {*studies.DIALS}
    for label, before, after in changes:
        assert before != after and before.dataset == after.dataset, label
    offered = labels[labels["change"] == "reads by the extractor"]["system"]
    assert {"Self-Ask", "IRCoT QA", "DecomP", "ReAct"} <= {*offered}
    parts = list(studies.take_parts())
    assert len(parts) == len(studies.PARTS) * len(studies.READERS) * 2
    few = [change for change in parts if change[0]["part"].startswith("SearChain")][:5]
    table = weigh(p, few)
    figure = draw_gains(table, "part", "reader", "title", "temper")
    assert [axis.get_title("left") for axis in figure.axes] == ["says so"]


def test_parts_are_worth_what_their_reader_makes_of_them(p):
    names = [f"SearChain: {name}" for name in ("verification", "completion")]
    chosen = [
        c for c in studies.take_parts() if c[0]["part"] in names and "nothing" in c[0]["reader"]
    ]
    worth = weigh(p, chosen).set_index(["temper", "part"])["gain"]
    # who makes up has no unsolved query to complete; who does not has no wrong answer to verify
    assert worth["makes it up", names[1]] == worth["says so", names[0]] == 0
    assert worth["makes it up", names[0]] > 50 and worth["says so", names[1]] > 50


def test_a_map_has_regions_with_words(p):
    systems = STEP_BY_STEP | {"CoT": {}}
    assumed = {"a": {}, "b": {"confirms": 1.0}}
    table = map_systems(p, assumed, systems, knows=(0, 0.5, 1), misreads=(0, 0.5))
    assert len(table) == 2 * 6 * 2
    best = table[table["p"] == 1].groupby(["map", "knows", "misreads"])["system"].agg(list)
    assert best["a", 0.0, 0.0] == ["IRCoT QA"] and "CoT" in best["a", 1.0, 0.5]
    means = table.set_index(["map", "knows", "misreads", "system"])["mean"]
    assert means["a", 1, 0.5, "IRCoT QA"] < 60 and means["b", 1, 0.5, "IRCoT QA"] == 100
    figure = draw_map(table, "IRCoT QA", WORDS, "title")
    axes = [axis for axis in figure.axes if axis.get_title("left")]
    assert [axis.get_title("left") for axis in axes] == ["a", "b"]
    words = {" ".join(text.get_text().split()) for text in axes[0].texts}
    assert words == {"read every step", "CoT"}
    assert set(ALIKE).isdisjoint(RIVALS)  # those that are one system on the map


def test_the_kept_map_has_what_its_page_says():
    fine = pd.read_csv(FIGURES / "abilities_map_fine.csv")
    assert set(fine["n"]) == {2000} and set(fine["map"]) == {
        *pd.read_csv(FIGURES / "abilities_map.csv")["map"]
    }


def test_ceilings_are_drawn():
    table = pd.read_csv(FIGURES / "abilities_ceilings.csv")
    figure = draw_ceilings(table, "title")
    assert len(figure.axes[0].texts) == len(table)


PROBES = {
    "reads": {"self_ask/read": [80, 100], "ircot/cot": [50, 100], "dsp/search": [1, 2]},
    "asks": {"self_ask/ask": [90, 100], "react/act": [50, 100]},
    "knows": {"musique": [30, 100]},
    "admits": {"musique": [35, 100]},
}


def test_dials_are_those_of_the_probes():
    system = all_systems()["Self-Ask"]
    dials, stages = predictions.set_dials(PROBES, system, "musique", by_stage=False)
    assert dials["misreads"] == pytest.approx(1 - 131 / 202) and dials["knows"] == 0.3
    assert dials["wanders"] == dials["misplans"] == pytest.approx(0.3)
    assert stages == {"searchain/chain": {"makes_up": 0.5}}
    dials, stages = predictions.set_dials(PROBES, system, "musique", by_stage=True)
    assert dials["wanders"] == pytest.approx(0.1)
    assert stages["self_ask/read"] == {"misreads": pytest.approx(0.2)}
    assert "dsp/search" not in stages  # too few probes
    cot = all_systems()["CoT"]  # which has no probes of its own
    assert predictions.set_dials(PROBES, cot, "musique", True)[0]["misplans"] == pytest.approx(0.3)


def test_a_reader_is_predicted_by_its_probes(p, tmp_path, monkeypatch):
    (tmp_path / predictions.PROBES).write_text(json.dumps(PROBES))
    few = [all_systems()[name] for name in ("CoT", "Self-Ask", "IRCoT QA")]
    monkeypatch.setattr(predictions, "simulated_systems", lambda: few)
    table = predictions.predict_readers(p.change(head_to_head=["musique"]), [str(tmp_path)])
    assert table["system"].tolist() == ["CoT", "Self-Ask", "IRCoT QA"]
    assert table["reader"].unique().tolist() == [tmp_path.name]
    by_stage = table.set_index("system")[BY_STAGE]
    assert by_stage["Self-Ask"] > by_stage["IRCoT QA"]


@pytest.fixture
def predicted():
    rows = [("r", "d", "A", MANY, 80.0, 70.0, 80.0), ("r", "d", "B", MANY, 60.0, 70.0, 55.0)]
    rows += [("r", "d", "C", MANY, 40.0, 30.0, 40.0), ("r", "d", "D", "none", 10.0, 0.0, 10.0)]
    columns = ["reader", "dataset", "system", "class", "measured", ONE, BY_STAGE]
    return predictions.add_baselines(pd.DataFrame(rows, columns=columns).assign(n=60))


def test_what_needs_no_simulation(predicted):
    assert predicted[CLASS_MEAN].tolist()[:3] == [50, 60, 70]
    assert pd.isna(predicted[CLASS_MEAN][3]) and predicted[SYSTEM_MEAN][3] == 60
    assert predicted[ORDER].tolist() == [2, 2, 2, 0]


def test_levels_and_differences_are_compared(predicted):
    pairs = predictions.pair_systems(predicted[predicted["class"] == MANY])
    assert pairs[["a", "b"]].apply("".join, axis=1).tolist() == ["AB", "AC", "BC"]
    assert pairs["measured"].tolist() == [20, 40, 20] and pairs[ONE].tolist() == [0, 40, 40]
    assert set(pairs[CLASS_MEAN]) == {0} == set(pairs[SYSTEM_MEAN])
    table = predictions.compare_predictions(predicted)
    assert [*table["reader"].unique()] == ["all", "r"]
    many = table[table["systems"] == MANY].set_index(["reader", "prediction"])
    assert many.loc["all"].equals(many.loc["r"])
    one, stage, mean = (many.loc[("all", way)] for way in (ONE, BY_STAGE, CLASS_MEAN))
    assert one["levels"] == 10 and stage["levels"] == pytest.approx(5 / 3, abs=0.01)
    assert one["differences"] == pytest.approx(40 / 3, abs=0.01)
    assert mean["differences"] == pytest.approx(80 / 3, abs=0.01) and mean["p"] == 1
    leads = [row["leads"] for row in (one, stage, mean)]
    assert leads == [pytest.approx(83.3), 100, 50] and mean["pairs"] == 3
    assert stage["order"] == 1 and pd.isna(mean["order"])
    assert pd.isna(many.loc[("all", ORDER), "levels"])
    text = predictions.conclude_predictions(predictions.compare_predictions(predicted))
    assert "**no better** than the mean" in text  # of one reader on one data set
    figure = draw_predicted(pairs, ONE, CLASS_MEAN, "title")
    assert [axis.get_title("left") for axis in figure.axes] == ["r\noff by 13; none: 27"]


def test_the_kept_predictions_are_of_the_shipped_readers():
    table = predictions.read_predicted()
    readers = {path.parent.name for path in MODELS.glob("agent*/probes.json")}
    assert set(table["reader"]) == readers and len(readers) == 5
    assert len(table) == 5 * 8 * len(simulated_systems())
    assert table[[ONE, BY_STAGE, "measured"]].notna().all(axis=None)
    shipped = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for name in ("predicted", "measured"):
        assert f'"figures/abilities_{name}.csv"' in shipped
