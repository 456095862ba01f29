"""What each method can find at most: a row a question, means, and at which step a page is lost."""

import pytest

from ircotlib.experiment import setup
from ircotlib.parameters import read_parameters
from ircotlib.results.ceilings import METHODS, Method, average_found, average_steps, find_ceilings


@pytest.fixture(scope="module")
def found(laboratory, tmp_path_factory):
    """All methods on three data sets of a small laboratory, of which one does not state steps."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("data")
        patch.setattr(setup, "DATA", folder)
        p = read_parameters("mini", {"data_dir": str(laboratory)})
        yield find_ceilings(p.change(datasets=["hotpotqa", "musique", "iirc"]), METHODS)


def test_a_row_for_each_question_that_the_gold_reader_can_answer(found):
    rows, left_out = found
    counts = rows.groupby(["dataset", "method"]).size().unstack("dataset")
    assert set(counts["musique"]) == {40} and set(counts["hotpotqa"].dropna()) == {40}
    assert "iirc" not in counts and counts["hotpotqa"].notna().sum() < len(METHODS)
    assert not any("musique" in line for line in left_out)
    assert sum("hotpotqa" in line for line in left_out) == counts["hotpotqa"].isna().sum()
    assert ((rows["recall"] == 1) == (rows["found"] == 1)).all()
    assert (rows["lost"].map(len) == 0)[rows["found"] == 1].all()
    one_each = rows[rows["method"] == "Self-Ask"]
    assert (one_each["retrievals"] == one_each["hops"]).all()


def test_means_are_those_of_the_questions(found):
    rows, _ = found
    table = average_found(rows, "dataset", "method", "system").set_index(["dataset", "method"])
    oner = rows[(rows["dataset"] == "musique") & (rows["method"] == "OneR")]
    row = table.loc["musique", "OneR"]
    assert row["mean"] == pytest.approx(100 * oner["found"].mean(), abs=0.001)
    assert row["low"] <= row["mean"] <= row["high"] and (row["paragraphs"], row["n"]) == (15, 40)
    steps = average_steps(rows[rows["method"] == "OneR"], fewest=10)
    first = oner[oner["hops"] == 2]["lost"].map(lambda lost: 1 not in lost)
    [mean] = steps.query("hops == 2 and step == 1")["mean"]
    assert set(steps["dataset"]) == {"musique"}  # HotpotQA's steps are sentences
    assert mean == pytest.approx(100 * first.mean(), abs=0.001)


def test_on_real_text_one_paragraph_a_sub_question_is_too_few(shared, tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "DATA", tmp_path)
    p = read_parameters("sample", {"data_dir": str(shared), "datasets": ["musique"]})
    methods = [method for method in METHODS if method.name in ("SearChain", "IRCoT")]
    methods.append(Method("SearChain, K = 3", "SearChain", {"k": 3}))
    rows, _ = find_ceilings(p, methods)
    means = average_found(rows, "method").set_index("method")["mean"].round(1)
    assert dict(means) == {"IRCoT": 81.9, "SearChain": 31.0, "SearChain, K = 3": 63.3}
    worded = rows[rows["method"] == "IRCoT"]["wording"].value_counts()
    assert worded["relations"] == 121 and worded.sum() == 210
