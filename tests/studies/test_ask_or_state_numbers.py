"""Ask or state?: the numbers on real text, as they are kept and measured."""

import pandas as pd
import pytest

from ircot_studies import ask_or_state as study
from ircot_studies import contrasts
from ircotlib.errors import UserError
from ircotlib.files import FIGURES, SHIPPED
from ircotlib.parameters import read_parameters

# of an independent replay: percent by K; how many hops and questions
EXPECTED = {
    "musique": {
        study.RESOLVED: {1: 54.1, 2: 63.4, 4: 74.6, 8: 86.7, 15: 90.3},
        study.SENTENCE: {1: 5.4, 2: 21.5, 4: 36.6, 8: 56.6, 15: 73.5},
        study.UNRESOLVED: {1: 5.4, 2: 12.9, 4: 18.6, 8: 28.3, 15: 36.6},
        study.ASKS: {1: 31.0, 2: 46.2, 4: 61.0, 8: 61.0},
        study.STATES: {1: 0.5, 2: 17.6, 4: 30.0, 8: 48.1},
        study.GUESSES: {1: 19.0, 2: 36.5, 4: 52.1, 8: 60.8},
    },
    "2wikimultihopqa": {
        study.RESOLVED: {1: 88.5, 2: 97.9, 4: 99.5, 8: 99.8},
        study.SENTENCE: {1: 13.0, 2: 88.0, 4: 98.4, 8: 99.8},
        study.UNRESOLVED: {1: 0.3, 2: 2.1, 4: 6.1, 8: 12.3},
        study.ASKS: {1: 83.3, 2: 95.7, 4: 98.9, 8: 74.6},
        study.STATES: {1: 7.0, 2: 78.4, 4: 94.5, 8: 92.2},
        study.GUESSES: {1: 50.4, 2: 91.6, 4: 98.2, 8: 92.6},
    },
}
COUNTED = {"musique": (279, 210), "2wikimultihopqa": (608, 657)}
DIFFERENCES = {  # the sub-question minus the sentence, by data set and K
    ("musique", 1): (49.9, 43.6, 56.3),
    ("musique", 4): (40.4, 34.1, 46.8),
    ("2wikimultihopqa", 1): (71.3, 67.3, 75.3),
    ("2wikimultihopqa", 4): (1.2, -0.1, 2.6),
}


@pytest.mark.parametrize("dataset", EXPECTED)
def test_the_kept_shares_are_those_of_an_independent_replay(dataset):
    kept = pd.read_csv(FIGURES / "ask_or_state_sample.csv")
    kept = kept[kept["dataset"] == dataset].set_index(["query", "k"])
    for query, by_k in EXPECTED[dataset].items():
        for k, share in by_k.items():
            room = 1.5 if query == study.GUESSES else 0.2
            assert kept["mean"][query, k] == pytest.approx(share, abs=room), (query, k)
    counted = kept["n"][study.RESOLVED, 1], kept["n"][study.ASKS, 1]
    assert counted == COUNTED[dataset]


def test_the_kept_contrasts_are_those_of_an_independent_replay():
    kept = pd.read_csv(FIGURES / "ask_or_state_contrasts_sample.csv")
    same_k = kept[(kept["k"] == kept["second_k"]) & (kept["second"] == study.SENTENCE)]
    ends = same_k.set_index(["dataset", "k"])[["difference", "low", "high"]]
    for place, expected in DIFFERENCES.items():
        assert ends.loc[place].tolist() == pytest.approx(expected, abs=0.2)


def test_what_is_kept_of_other_retrievers_has_the_same_contrasts_of_bm25():
    every = pd.read_csv(SHIPPED / "data" / "ask_or_state_contrasts.csv")
    first = every[(every["retriever"] == "BM25") & (every["corpus"] == study.CONTEXTS)]
    kept = pd.read_csv(FIGURES / "ask_or_state_contrasts_sample.csv")
    # p is corrected for more contrasts there
    both = [
        table.drop(columns="p_holm").reset_index(drop=True) for table in (first, kept)
    ]
    pd.testing.assert_frame_equal(*both)


@pytest.fixture(scope="module")
def of_musique(shared):
    p = read_parameters("sample", {"data_dir": str(shared)})
    return study.measure(p.change(datasets=["hotpotqa", "musique"]))


def test_what_is_measured_on_musique_is_what_is_kept(of_musique):
    """And HotpotQA, which has no sub-questions, is left out."""
    shares, tests = contrasts.summarise(of_musique), contrasts.compare(of_musique)
    for name, made in {"ask_or_state": shares, "ask_or_state_contrasts": tests}.items():
        kept = pd.read_csv(FIGURES / f"{name}_sample.csv")
        kept = kept[kept["dataset"] == "musique"].reset_index(drop=True)
        pd.testing.assert_frame_equal(made, kept)


def test_retrievers_and_corpora_are_compared_one_at_a_time(of_musique):
    few = of_musique[of_musique["k"] == 4]
    other = few.assign(retriever="hybrid", found=1.0)
    larger = few.assign(corpus=study.FURTHER)
    table = contrasts.compare_retrievers(pd.concat([few, other, larger]))
    pairs = table[["unit", "first", "second"]].drop_duplicates().to_numpy().tolist()
    plain, more = f"BM25, {study.CONTEXTS}", f"BM25, {study.FURTHER}"
    for unit in (study.HOP, study.QUESTION):
        assert [unit, plain, f"hybrid, {study.CONTEXTS}"] in pairs
        assert [unit, plain, more] in pairs
    assert len(pairs) == 4 == len(table)
    assert set(table[table["second"] == more]["difference"]) == {0}
    assert (table[table["second"] != more]["difference"] < 0).all()


def test_data_sets_without_sub_questions_are_an_error(shared):
    p = read_parameters("sample", {"data_dir": str(shared)})
    with pytest.raises(UserError, match="no sub-questions in hotpotqa"):
        study.measure(p.change(datasets=["hotpotqa"]))
