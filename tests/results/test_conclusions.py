"""The sentences that say what was found."""

import pandas as pd

from ircotlib.results.conclusions import (
    conclude_causes,
    conclude_claims,
    conclude_means,
    conclude_orders,
    conclude_told_apart,
    conclude_verdicts,
    count_verdicts,
)
from ircotlib.results.statistics import verdicts


def claims_of(*differences: tuple[str, str, float, float]) -> pd.DataFrame:
    rows = [
        {"dataset": dataset, "claim": claim, "metric": "f1", "mean": mean, "p": p, "n": 20}
        for dataset, claim, mean, p in differences
    ]
    table = pd.DataFrame(rows)
    return table.assign(verdict=verdicts(table["p"], table["mean"]))


def test_a_claim_is_said_with_its_differences_and_where_it_holds():
    claims = claims_of(
        ("hotpotqa", "A > B", 5.0, 0.01),
        ("musique", "A > B", -4.0, 0.01),
        ("iirc", "A > B", -0.02, 0.9),
        ("hotpotqa", "B > C", 1.0, 0.5),
        ("musique", "B > C", 2.0, 0.5),
    )
    first, second, _, tests = conclude_claims(claims).splitlines()
    assert first == (
        "- **A answers better than B** on HotpotQA (+5.0 points of F1); the opposite holds on "
        "MuSiQue (-4.0 points of F1); cannot be told on IIRC (+0.0 points of F1)."
    )
    assert second == (
        "- Whether B answers better than C cannot be told in any of the 2 comparisons (+1.0 to "
        "+2.0 points of F1)."
    )
    assert tests.startswith("Exact paired tests of 20 questions each")
    many = claims.assign(verdict="not tested", metric="recall", model="data/models/m").head(1)
    assert conclude_claims(many).startswith(
        "- That A finds more than B was not tested on HotpotQA (m) (+5.0 points of recall)."
    )
    assert conclude_claims(claims.head(0)) == "No two of these systems are compared by a paper."


def test_verdicts_are_counted_and_named():
    claims = pd.DataFrame(
        {
            "claim": ["one", "two", "three", "four", "five"],
            "verdict": ["holds", "cannot tell", "cannot tell", "not tested", "not counted"],
            "leans": [None, "for", "mixed", None, None],
            "note": ["", "", "", "", "cannot fail: so chosen"],
        }
    )
    verdicts = ["does not hold"] * 2 + ["cannot tell"] * 3
    leans = [None, None, "equal", "against", "for"]
    comparisons = pd.DataFrame({"verdict": verdicts, "leans": leans})
    first, *lines = conclude_verdicts(claims, comparisons).splitlines()
    assert first == (
        "Of the paper's 5 claims 1 holds, none is refuted, 2 are undecided (1 leans towards the "
        "paper, 1 is mixed), 1 is not tested, 1 is not counted. Of their 5 comparisons none holds, "
        "2 do not, 3 are undecided (1 leans towards the paper, 1 is equal, 1 leans against it)."
    )
    assert lines[:2] == ["- *holds*: one", "- *cannot tell*: two; three"]
    assert lines[-1] == "- *not counted*: five (cannot fail: so chosen)" and len(lines) == 4
    assert count_verdicts(comparisons.head(0)) == "none holds, none is refuted"
    none = claims.head(0), comparisons.head(0)
    assert conclude_verdicts(*none) == "None of the paper's claims could be tested."


def test_the_best_of_the_head_to_head_and_what_is_as_good():
    means = pd.DataFrame(
        {
            "retriever": "BM25",
            "system": ["CoT", "OneR QA", "IRCoT QA", "SearChain"],
            "mean": [20.0, 30.0, 81.0, 80.0],
            "retrievals": [0, 1, 3.5, 3.0],
            "difference": [-60.0, -50.0, 1.0, None],
            "p_holm": [0.001, 0.001, 0.8, None],
        }
    )
    best, alike = conclude_means(means).split("\n\n")
    assert best.startswith("With BM25, **IRCoT QA answers best: 81.0%**; the best that searches")
    assert "OneR QA (30.0%)" in best and best.endswith("does not search, CoT (20.0%).")
    told = "better than SearChain: none; not told apart from it: IRCoT QA (+1.0)"
    assert alike == f"In points, {told}."
    assert conclude_means(means.head(0)) == "No system was run on all data sets."


def test_the_most_frequent_cause_of_each_system():
    causes = pd.DataFrame(
        {
            "dataset": ["hotpotqa", "hotpotqa", "musique", "musique", "musique"],
            "system": ["A", "A", "A", "A", "B"],
            "cause": ["misread", "made up", "misread", "made up", "made up"],
            "n": [1, 2, 5, 0, 0],
            "answers": [10, 10, 10, 10, 10],
        }
    )
    text = "- **A** answers 40% wrong, 75% of them *misread*.\n- **B** answers nothing wrong."
    assert conclude_causes(causes) == text


def test_single_data_sets_tell_systems_apart():
    first = pd.DataFrame(
        {
            "dataset": ["fever"] * 3 + ["zsre"] * 3,
            "system": ["Self-Ask", "SearChain", "CoT"] * 2,
            "mean": [64.0, 82.0, 10.0, 94.0, 99.0, 5.0],
            "p_against_best": [0.03, None, 0.001, 0.8, None, 0.001],
            "p_against_searchain": [0.03, None, 0.001, 0.8, None, 0.001],
            "p_against_ircot": [None] * 6,
        }
    )
    text = conclude_told_apart(first, ["SearChain", "Self-Ask"])
    assert text.splitlines() == [
        "Of SearChain, Self-Ask, single data sets tell apart only:",
        "",
        "- FEVER: Self-Ask (64) < SearChain (82)",
    ]
    alike = conclude_told_apart(first.query("dataset == 'zsre'"), ["SearChain", "Self-Ask"])
    assert alike == "No data set tells any of these apart: SearChain, Self-Ask."


def test_agreement_with_the_papers_is_said_by_group():
    orders = pd.DataFrame(
        {
            "among": ["all", "all", "without", "without"],
            "metric": ["cover_em", "cover_em", "cover_em", "f1"],
            "tau": [0.42, 0.75, -0.2, None],
            "p": [0.04, 0.001, 0.7, None],
        }
    )
    everyone, without = conclude_orders(orders).splitlines()
    assert everyone == (
        "- all, cover-EM: tau +0.42 to +0.75; an agreement is shown on **2 of 2** data sets"
    )
    assert without.endswith("tau -0.20 to -0.20; an agreement is shown on **0 of 1** data sets")
    assert conclude_orders(orders[:0]) == "No order of the papers' is there to compare with."
