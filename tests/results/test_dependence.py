"""Whether answers depend on demonstrations: what is compared."""

import pandas as pd

from ircotlib.results.dependence import NONE, measure_dependence

SCORES = {"musique": 10 * [1], NONE: 10 * [0], "hotpotqa": [0, *9 * [1]]}


def written(scores: dict[str, list[int]]) -> pd.DataFrame:
    """Texts of ten questions of MuSiQue, which say what was shown; an answer is its score."""
    rows = [
        ("a/m", "musique", "OneR QA", shown, str(n), f"text, shown {shown}", str(score), score)
        for shown, of_shown in scores.items()
        for n, score in enumerate(of_shown)
    ]
    columns = "model dataset system demonstrations id reading answer score".split()
    return pd.DataFrame(rows, columns=columns).sample(frac=1, random_state=0)  # in any order


def test_texts_answers_and_scores_are_compared_with_those_of_the_own_demonstrations():
    table = measure_dependence(written(SCORES)).set_index("demonstrations")
    assert sorted(table.index) == sorted([NONE, "hotpotqa"])
    assert set(table["texts"]) == {100} and set(table["own"]) == {100} and set(table["n"]) == {10}
    assert table["answers"].to_dict() == {NONE: 100, "hotpotqa": 10}
    assert table["gain"].to_dict() == {NONE: 100, "hotpotqa": 10}
    assert table.loc[NONE, "p"] == round(2 / 2**10, 4)
