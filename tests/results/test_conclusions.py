"""The sentences that say what was found."""

import pandas as pd

from ircotlib.results.conclusions import conclude_claims, conclude_verdicts, count_verdicts
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
