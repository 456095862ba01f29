"""The claims of both papers: data/claims.csv, the papers' numbers, and verdicts."""

import pandas as pd
import pytest

from ircotlib.datasets import all_datasets
from ircotlib.errors import UserError
from ircotlib.papers.claims import (
    EQUAL_WITHIN,
    VERDICTS,
    compare_claims,
    conclude_claims,
    judge_claims,
    print_differences,
    read_claims,
    values_of,
)
from ircotlib.results.runs import read_reported
from ircotlib.results.statistics import holm
from ircotlib.systems import all_systems

ALL = read_claims()
FORTY = {"IRCoT QA": [1, 1, 0, 1] * 10, "OneR QA": [0, 0, 0, 1] * 10}


def scored(system, values, dataset="hotpotqa", model="m/xxl", metric="f1", shown=""):
    """The runs of a system: one score for each question."""
    row = {"dataset": dataset, "model": model, "system": system, "metric": metric}
    ids = [f"q{number}" for number in range(len(values))]
    table = pd.DataFrame({"id": ids, metric: [float(value) for value in values]})
    return table.assign(**row, demonstrations=shown or dataset)


def runs_of(answers=FORTY, **columns):
    runs = [scored(*each, **columns) for each in answers.items()]
    return pd.concat(runs, ignore_index=True)


def judge(*tables, paper="ircot", measured="scores"):
    values = pd.concat([values_of(table, measured) for table in tables])
    return judge_claims(paper, values)


def test_the_file_has_each_claim_whole():
    assert list(ALL.groupby("paper")["claim"].nunique()) == [16, 19]
    assert set(ALL["paired"]) == {"yes", "no"} and (ALL["margin"] >= 0).all()
    assert all(len(pair) == 2 for pairs in ALL["pairs"] for pair in pairs)
    assert (ALL[["settled", "taught"]] == "").any(axis=1).all(), "one reason is enough"
    datasets = {name for where in ALL["where"] for name in where.split()}
    assert datasets < set(all_datasets())
    assert ALL[["section", "source", "measured"]].all(axis=None)


def test_sides_that_are_scores_are_known_systems():
    """A pair with an unknown name would be left out silently."""
    measured = "scores|sizes|other dem|IRCoT QA with|cover_em_where"
    of_scores = ALL[ALL["measured"].str.match(measured)]
    sides = {side for pairs in of_scores["pairs"] for pair in pairs for side in pair}
    assert len(of_scores) == 18 and sides < set(all_systems())


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


def test_verdicts_are_by_the_corrected_p_and_the_sign():
    turned = dict(zip(FORTY, reversed(FORTY.values())))
    level = dict.fromkeys(FORTY, [0, 0, 0, 1] * 10)
    many = dict.fromkeys(FORTY, [0, 1] * 100)
    tables = [runs_of(), runs_of(turned, dataset="musique")]
    tables.append(runs_of(level, dataset="iirc"))
    tables.append(runs_of(many, dataset="2wikimultihopqa"))
    whole, table = judge(*tables, measured="scores of both models")
    verdicts = ["holds", "does not hold", "cannot tell", EQUAL_WITHIN]
    assert list(table["verdict"]) == verdicts
    assert list(table["ours"][:2]) == [50, -50]
    assert list(table["n"]) == [40, 40, 40, 200]
    assert list(table["p_holm"]) == pytest.approx(list(holm([*table["p"]])), abs=1e-4)
    assert table["paper"][0] == "+9.4 (Flan-T5-XXL), +7.1 (GPT3)"
    [claim] = whole.to_dict("records")
    assert [claim[verdict] for verdict in VERDICTS] == [1, 1, 1, 1, 0]
    # one comparison refutes it: its p times four
    assert claim["p"] == pytest.approx(4 * table["p"][1], abs=1e-4)
    assert claim["verdict"] == "does not hold"


def test_what_is_significant_alone_and_not_among_several_cannot_be_told():
    """Six wins and no loss: p is 1/32, and corrected for four comparisons 1/8."""
    six = {"IRCoT QA": [1] * 6 + [0] * 34, "OneR QA": [0] * 40}
    places = ("hotpotqa", "musique", "iirc", "2wikimultihopqa")
    tables = [runs_of(six, dataset=name) for name in places]
    _, table = judge(*tables, measured="scores of both models")
    assert list(table["p"]) == pytest.approx([1 / 32] * 4, abs=1e-4)
    assert list(table["verdict"]) == ["cannot tell"] * 4


def test_a_claim_holds_if_all_comparisons_do_and_is_equal_if_all_are():
    better = {"IRCoT QA": [1] * 40, "OneR QA": [0] * 40}
    none, same = dict.fromkeys(FORTY, [0] * 40), dict.fromkeys(FORTY, [0, 1] * 60)
    verdicts = []
    for one, other in ((better, better), (better, none), (better, same), (same, same)):
        tables = [runs_of(one), runs_of(other, dataset="musique")]
        whole, _ = judge(*tables, measured="scores of both models")
        verdicts += list(whole["verdict"])
    assert verdicts == ["holds", "cannot tell", "cannot tell", EQUAL_WITHIN]


def test_claims_that_training_decides_are_not_counted_for_the_shipped_models_alone():
    answers = dict.fromkeys(("DSP", "SearChain w/o Verification"), [0] * 40)
    answers["SearChain"] = [1] * 40
    verdicts = {}
    for model in ("data/models/agent", "gpt-x"):
        runs = runs_of(answers, model=model, metric="cover_em", dataset="musique")
        whole, table = judge(runs, paper="searchain")
        assert table[table["verdict"] == "not counted"]["p"].isna().all()
        verdicts[model] = dict(zip(whole["claim"], whole["verdict"]))
    best = "SearChain is better than all with IR"
    parts = "SearChain is better with verification and completion"
    shipped, other = verdicts.values()
    assert (shipped[best], shipped[parts]) == ("not counted", "holds")
    assert (other[best], other[parts]) == ("holds", "holds")
    [reason] = whole[whole["source"] == "Table 7"]["note"]
    assert reason == "cannot fail: the parts are all right, as questions are chosen"
    # what the choice of questions decides is in the table though it is not measured
    settled = {"Table 6", "Table 7", "Table 8"}
    assert set(whole[whole["verdict"] == "not counted"]["source"]) == settled


def test_values_of_other_questions_with_a_margin_and_in_another_unit():
    """Never called equal: with a margin the claim itself is that nothing is lost."""
    rows = [
        ("w/o IR", "elsewhere", range(0, 40), 100),
        ("w/o IR", "where IR helps", range(40, 60), 0),
        ("rouge_l", "SearChain (alpha 0.35)", range(100), 30),
        ("rouge_l", "SearChain (alpha 0.40)", range(100), 30.5),
        ("reasoning_steps", "SearChain w/o IR", range(100), 2),
        ("reasoning_steps", "CoT", range(100), 2),
    ]  # fmt: skip
    tables = []
    for measured, side, ids, value in rows:
        table = pd.DataFrame({"id": [f"q{n}" for n in ids], "value": float(value)})
        tables.append(table.assign(measured=measured, side=side))
    named = {"metric": "m", "dataset": "eli5", "demonstrations": "", "model": "m"}
    _, table = judge_claims("searchain", pd.concat(tables).assign(**named))
    table = table.set_index("comparison")
    unpaired = table.loc["elsewhere > where IR helps"]
    assert (unpaired["ours"], unpaired["n"], unpaired["verdict"]) == (100, 60, "holds")
    assert pd.isna(unpaired["low"])
    lower = table.loc["SearChain (alpha 0.35) > SearChain (alpha 0.40)"]
    assert (lower["ours"], lower["margin"], lower["verdict"]) == (-0.5, 1, "holds")
    assert table.loc["SearChain w/o IR > CoT", "verdict"] == "cannot tell"


def test_two_measures_are_refused():
    runs = [scored("IRCoT QA", [1, 0]), scored("OneR QA", [1, 0], metric="em")]
    with pytest.raises(UserError, match="IRCoT QA scored by f1, OneR QA by em, expec"):
        compare_claims(pd.concat(runs))
    with pytest.raises(UserError, match="IRCoT QA scored by f1, OneR QA by em, expec"):
        judge(*runs, measured="scores of both models")
    pairs = pd.concat([runs_of(), scored("IRCoT", [1, 1], metric="recall")])
    assert set(compare_claims(pairs)["metric"]) == {"f1"}  # OneR was not run


def test_demonstration_sets_count_as_their_mean_and_places_are_apart():
    sets = pd.concat([runs_of(), runs_of().assign(f1=0.5)])
    [row] = compare_claims(sets).to_dict("records")
    assert (row["claim"], row["mean"], row["n"]) == ("IRCoT QA > OneR QA", 25, 40)
    both = pd.concat([runs_of(), runs_of(model="m/base")])
    table = compare_claims(both, ["dataset", "model"])
    assert list(table["model"]) == ["m/xxl", "m/base"]
    assert list(table["mean"]) == [50, 50]
    assert compare_claims(scored("NoR QA", [1])).empty


def test_values_that_were_not_measured_are_in_no_table():
    for table in judge(scored("NoR QA", [1, 0])):
        assert table.empty and "verdict" in table


def test_a_claim_is_printed_with_the_data_sets_on_which_it_holds():
    turned = dict(zip(FORTY, reversed(FORTY.values())))
    runs = [runs_of(), runs_of(turned, dataset="musique"), runs_of(dataset="iirc")]
    head, _, line = conclude_claims(compare_claims(pd.concat(runs))).splitlines()
    assert head.startswith("Exact paired tests on each data set, uncorrected")
    assert line == (
        "- IRCoT QA answers -50 to 50 points better than OneR QA "
        "(holds in 2, does not hold in 1 of 3 tests)."
    )
    none = compare_claims(scored("NoR QA", [1]))
    assert conclude_claims(none) == "No two of these systems are compared by a paper."
