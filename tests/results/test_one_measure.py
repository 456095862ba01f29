"""One measure for both sides of every comparison, though systems have measures of their own."""

import pandas as pd
import pytest
from written import write_run

from ircot_laboratory.make import make_laboratory
from ircotlib.errors import UserError
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup
from ircotlib.experiment.compare import join_scores
from ircotlib.experiment.runs import columns_of, read_about, read_scores, share_measure
from ircotlib.experiment.setup import open_setup
from ircotlib.explore.questions import compare_runs, list_runs
from ircotlib.parameters import read_parameters
from ircotlib.results import searchain_measures as measures
from ircotlib.results import tables
from ircotlib.results.cases import find_cases
from ircotlib.results.causes import count_causes, find_causes
from ircotlib.results.claims.claim import compare, difference, values_of
from ircotlib.results.claims.judging import judge_claims
from ircotlib.results.claims.searchain import Measured

OWN = {"CoT": "cover_em", "OneR QA": "f1", "IRCoT QA": "f1", "SearChain": "cover_em"}
SCORES = {  # F1 and cover-EM of four questions: long answers cover the gold one
    "CoT": [(0.2, 1), (0.2, 1), (1, 1), (0, 0)],
    "OneR QA": [(0.5, 1), (1, 1), (0, 0), (0.5, 1)],
    "IRCoT QA": [(0.5, 1), (0.5, 1), (0.5, 1), (0.5, 1)],
    "SearChain": [(0, 0), (1, 1), (1, 1), (1, 1)],
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Runs of the head to head on MuSiQue, each with its system's own measure."""
    folder = tmp_path_factory.mktemp("measures")
    data_dir = make_laboratory(folder / "small", seed=5, size=600, questions=40)
    changes = {"data_dir": str(data_dir), "dev": 0, "test": 4, "datasets": ["musique"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setup, "DATA", folder)
        patch.setattr(backends, "DATA", folder)
        opened = open_setup(read_parameters("mini", changes), "musique", "hand", with_model=False)
        lines, runs = [{"answer": "x", "reading": "It is x."}] * 4, {}
        for name, scores in SCORES.items():
            more = {"more": ["cover_em"], "metric": OWN[name], "system": name}
            scores = [(1, *pair) for pair in scores]
            runs[name] = write_run(folder / name.replace(" ", ""), opened, lines, scores, **more)
        yield runs


@pytest.fixture
def runs(folders, monkeypatch):
    """They as tables and claims read them."""
    found = {("musique", name): folder for name, folder in folders.items()}
    monkeypatch.setattr(measures, "find_test_runs", lambda p, experiment: found)
    return measures.read_all_runs(None, "13_head_to_head")


def joined(folders, *names):
    abouts = [(folders[name], read_about(folders[name])) for name in names]
    tables = [pd.DataFrame(read_scores(*of).values()).assign(**columns_of(of[1])) for of in abouts]
    return join_scores(tables)


def test_runs_of_the_head_to_head_are_scored_by_its_first_measure(runs):
    for name, scores in SCORES.items():
        assert list(runs["musique", name]["score"]) == [covered for _, covered in scores]


def test_a_model_with_passages_is_judged_as_it_is_without(runs, monkeypatch):
    best = pd.Series(True, runs["musique", "CoT"].index)
    monkeypatch.setattr(tables, "_judge_best_passages", lambda p, dataset: best)
    table = tables.table_8(runs, read_parameters("mini", {"datasets": ["musique"]}))
    ours = table[table["system"] == "LLM w/ IR"].set_index("metric")["ours"].dropna()
    assert dict(ours) == {"accuracy_where_llm_right": 66.667, "accuracy_where_llm_wrong": 100}
    assert measures.misled_by_ir(
        *(runs["musique", n] for n in ("CoT", "OneR QA"))
    ) == pytest.approx(100 / 3)


def test_claims_compare_by_one_measure_which_they_name(runs, folders):
    scores = joined(folders, *OWN)
    no_forms = pd.DataFrame(columns=["id", "panel", "hops", "i", "right"])
    table = pd.DataFrame(columns=["dataset", "metric", "system", "seconds"])
    whole, none = runs["musique", "CoT"], pd.DataFrame()
    measured = Measured(table, scores, runs, no_forms, whole, none, {})
    rows = judge_claims("searchain", measured)[1].set_index("comparison")
    misled = rows.loc["LLM > LLM w/ IR where the model is right"]
    assert (misled["ours"], misled["n"], misled["metric"]) == (33.33, 3, "cover_em")
    assert rows["metric"].notna().all()


def test_other_systems_that_are_right_are_counted_by_the_same_measure(runs):
    runs = runs | {("musique", "without"): runs["musique", "OneR QA"]}
    assert list(find_cases(runs, "SearChain", "without")["others"]) == [2, 3]


@pytest.mark.parametrize(
    ("names", "measure"),
    [
        (("CoT", "OneR QA"), "f1"),
        (("SearChain", "IRCoT QA", "CoT"), "f1"),
        (("OneR QA", "IRCoT QA"), "f1"),
        (("CoT", "SearChain"), "cover_em"),
    ],
)
def test_whatever_is_compared_has_one_measure(folders, names, measure):
    assert set(joined(folders, *names)["metric"]) == {measure}
    listed = list_runs(folders[name] for name in names)
    assert set(listed["metric"]) == {measure}
    [sides] = values_of(joined(folders, *names)).values()
    assert {side.name for side in sides.values()} == {measure}
    column = {"f1": 0, "cover_em": 1}[measure]
    means = {name: 25.0 * sum(pair[column] for pair in SCORES[name]) for name in names}
    assert {name: side.mean() for name, side in sides.items()} == pytest.approx(means)
    assert set(compare(joined(folders, *names))["metric"]) <= {measure}
    both = compare_runs(*(folders[name] for name in names[:2]))
    assert list(both["score_b"]) == [pair[column] for pair in SCORES[names[1]]]
    assert list(both["cause_b"] == "") == [pair[column] == 1 for pair in SCORES[names[1]]]
    counted = count_causes(map(find_causes, listed["folder"], listed["metric"]))
    wrong = counted.groupby("system")["n"].sum()
    assert dict(wrong) == {n: sum(pair[column] < 1 for pair in SCORES[n]) for n in names}


def test_two_measures_are_refused(folders):
    with pytest.raises(UserError, match="found answers scored by cover_em and f1, expected one"):
        count_causes(find_causes(folder) for folder in folders.values())
    f1, recall = pd.Series([1.0], name="f1"), pd.Series([1.0], name="recall")
    for pair in ((f1, recall), (f1, f1.rename(None)), (f1, f1.rename("right"))):
        with pytest.raises(UserError, match="expected one measure for all that is compared"):
            difference(*pair)


def test_those_that_only_retrieve_keep_recall():
    runs = [("musique", "recall"), ("musique", "f1"), ("musique", "cover_em"), ("fever", "x")]
    runs = pd.DataFrame(runs, columns=["dataset", "metric"])
    assert list(share_measure(runs)) == ["recall", "f1", "f1", "x"]
