"""The claims of both papers: data/claims.csv, the papers' numbers, and ours."""

import pandas as pd
import pytest

from ircotlib.datasets import all_datasets
from ircotlib.papers.claims import (
    compare_claims,
    list_comparisons,
    print_differences,
    read_claims,
    values_of,
)
from ircotlib.results.runs import read_reported
from ircotlib.results.statistics import holm
from ircotlib.systems import all_systems

ALL = read_claims()
READER = "IRCoT QA > IRCoT QA w/o reader"
FORTY = {"IRCoT QA": [1, 1, 0, 1] * 10, "OneR QA": [0, 0, 0, 1] * 10}


def runs_of(answers=FORTY, dataset="hotpotqa", model="m/xxl", metric="f1"):
    """Runs: of each system one score for each question."""
    named = {"dataset": dataset, "demonstrations": dataset, "model": model}
    runs = []
    for system, values in answers.items():
        ids = [f"q{number}" for number in range(len(values))]
        table = pd.DataFrame({"id": ids, metric: [float(value) for value in values]})
        runs.append(table.assign(system=system, metric=metric, **named))
    return pd.concat(runs, ignore_index=True)


def listed(*tables, paper="ircot", measured="scores", built_in=()):
    values = pd.concat([values_of(table, measured) for table in tables])
    return list_comparisons(paper, values, built_in)


def test_the_file_has_each_claim_whole():
    assert list(ALL.groupby("paper")["claim"].nunique()) == [16, 7]
    assert all(len(pair) == 2 for pairs in ALL["pairs"] for pair in pairs)
    datasets = {name for where in ALL["where"] for name in where.split()}
    assert datasets < set(all_datasets())
    assert ALL[["section", "source", "measured"]].all(axis=None)


def test_sides_that_are_scores_are_known_systems():
    """A pair with an unknown name would be left out silently."""
    measured = "scores|sizes|other dem|cover_em_where"
    of_scores = ALL[ALL["measured"].str.match(measured)]
    sides = {side for pairs in of_scores["pairs"] for pair in pairs for side in pair}
    assert len(of_scores) == 19 and sides < set(all_systems())


def test_what_searchain_claims_of_table_1_is_in_its_table_1():
    """It beats those that retrieve everywhere, and the others on average (§4.2)."""
    reported = read_reported("searchain", source="Table 1")
    values = reported.pivot_table("value", "dataset", "name")
    rows = ALL[(ALL["paper"] == "searchain") & (ALL["printed"] == "Table 1")]
    for row in rows.itertuples():
        chosen = values.loc[row.where.split()] if row.where else values
        for better, worse in row.pairs:
            lead = chosen[better] - chosen[worse]
            everywhere = better == "SearChain" or row.where
            assert (lead > 0).all() or (not everywhere and lead.mean() > 0)
    assert len(rows) == 5 and len(values) == 8


GAINS = [
    ("ircot", "§5 text", "IRCoT > OneR", "musique", "+3.5 (Flan-T5-XXL), +12.5 (GPT3)"),
    ("ircot", "Table 4", "IRCoT QA > NoR QA", "iirc",
     "+13.6 (Flan-T5-XXL), -2.2 (GPT3)"),
    ("ircot", "Table 6", "IRCoT QA > IRCoT QA w/o reader", "hotpotqa",
     "+6.5 (Flan-T5-XXL), -0.3 (GPT3)"),
    ("ircot", "Table 4", "IRCoT QA > OneR QA", "mine", ""),
    ("searchain", "Table 1", "SearChain > ReAct -> CoT-SC", "hotpotqa",
     "+13.76 (gpt-3.5-turbo)"),
    ("searchain", "Table 9", "SearChain > DSP", "musique", "+1.53 (Vicuna-13B)"),
]  # fmt: skip


@pytest.mark.parametrize("row", GAINS)
def test_the_papers_number_is_the_printed_gain_or_computed_from_its_table(row):
    *place, expected = row
    assert print_differences(*place) == expected


def test_every_pair_finds_the_papers_numbers_where_the_row_says_it_has_some():
    for row in ALL[ALL["printed"] != ""].itertuples():
        for pair in map(" > ".join, row.pairs):
            place = row.paper, row.printed, pair
            assert any(print_differences(*place, name) for name in all_datasets())


def test_a_difference_that_is_built_in_or_taught_is_never_tested():
    """In the laboratory with the shipped models, one side wins as it was made to."""
    by_measured = {"ircot": {}, "searchain": {}}
    for row in ALL.itertuples():
        sides = by_measured[row.paper].setdefault(row.measured, {})
        for better, worse in row.pairs:
            sides.setdefault(better, [1.0] * 30)
            sides.setdefault(worse, [0.0] * 30)
    for paper, measured in by_measured.items():
        tables = []
        for name, sides in measured.items():
            runs = runs_of(sides, model="data/models/agent", metric="cover_em")
            tables.append(values_of(runs, name))
        table = list_comparisons(paper, pd.concat(tables), ["hotpotqa"])
        decided = table["not_counted"] != ""
        assert table[decided]["p"].isna().all() and decided.any()
        # a sentence says why, and only readers and one retrieval against none are left
        left = set(table[~decided]["comparison"])
        assert left == ({"OneR QA > NoR QA", READER} if paper == "ircot" else set())
        # the model and the data of others are counted
        other = pd.concat(tables).assign(model="llama", dataset="musique")
        assert list_comparisons(paper, other, ["hotpotqa"])["p"].notna().all()


def test_what_is_tested_is_corrected_for_all_of_the_paper():
    turned = dict(zip(FORTY, reversed(FORTY.values())))
    level = dict.fromkeys(FORTY, [0, 0, 0, 1] * 10)
    tables = [runs_of(), runs_of(turned, dataset="musique")]
    tables.append(runs_of(level, dataset="iirc"))
    both = "scores of both models"
    table = listed(*tables, measured=both, built_in=["musique"])
    assert list(table["mean"]) == [50, -50, 0] and list(table["n"]) == [40] * 3
    assert list(table["p"].isna()) == [False, True, False]
    expected = holm([table["p"][0], table["p"][2]])
    assert [table["p_holm"][0], table["p_holm"][2]] == pytest.approx(list(expected))
    assert table["paper"][0] == "+9.4 (Flan-T5-XXL), +7.1 (GPT3)"
    assert table["not_counted"][1].startswith("most later pages can be found only")
    low, high = table["low"][0], table["high"][0]
    assert 25 < low < 50 < high < 75


def test_demonstration_sets_count_as_their_mean_and_places_are_apart():
    sets = pd.concat([runs_of(), runs_of().assign(f1=0.5)])
    [row] = compare_claims(sets).to_dict("records")
    assert (row["claim"], row["mean"], row["n"]) == ("IRCoT QA > OneR QA", 25, 40)
    both = pd.concat([runs_of(), runs_of(model="m/base")])
    table = compare_claims(both, ["dataset", "model"])
    assert list(table["model"]) == ["m/xxl", "m/base"]
    assert list(table["mean"]) == [50, 50]
    assert list(table["p_holm"]) == pytest.approx(list(2 * table["p"]), abs=1e-4)
    assert listed(runs_of({"NoR QA": [1, 0]})).empty
