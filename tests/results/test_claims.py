"""The tables of claims of both papers: the paper's numbers, our differences, and verdicts."""

import pandas as pd
import pytest
from written import node, run

from ircotlib.files.paths import FIGURES
from ircotlib.parameters import read_parameters
from ircotlib.results import claims, evidence
from ircotlib.results.claims import CLAIMS, compare, compare_sizes, judge_claims
from ircotlib.results.evidence import ircot_values, read_ircot, searchain_values
from ircotlib.results.statistics import holm
from ircotlib.systems import all_systems


def scored(
    system, values, dataset="hotpotqa", model="m/xxl", style="flan_t5", metric="f1", shown=None
):
    """The runs of a system: one score for each question."""
    row = {"dataset": dataset, "model": model, "style": style, "metric": metric}
    row |= {"system": system, "demonstrations": shown or dataset, "demonstration_set": 0}
    ids = [f"q{number}" for number in range(len(values))]
    return pd.DataFrame({"id": ids, metric: values}).assign(**row)


def pair(better=(1, 1, 0, 1), worse=(0, 0, 0, 1), **columns):
    """IRCoT QA and OneR QA on forty questions."""
    runs = scored("IRCoT QA", 10 * better, **columns), scored("OneR QA", 10 * worse, **columns)
    return pd.concat(runs, ignore_index=True)


def judge(scores, **runs):
    runs = {name.replace("_", " "): table for name, table in runs.items()}
    return judge_claims("ircot", ircot_values({"scores": scores, **runs}))


@pytest.mark.parametrize(
    ("better", "worse", "dataset", "expected"),
    [
        ("IRCoT", "OneR", "musique", "+3.5 with Flan-T5-XXL, +12.5 with GPT3"),
        ("IRCoT QA", "OneR QA", "hotpotqa", "+9.4 with Flan-T5-XXL, +7.1 with GPT3"),
        ("IRCoT QA", "OneR QA", "iirc", "+2.5 with Flan-T5-XXL, +0.1 with GPT3"),
        ("IRCoT QA", "OneR QA", "mine", "no number printed"),
        ("SearChain w/o IR", "CoT", "musique", "+4.15"),  # 13.61 and 9.46
        ("SearChain", "ReAct -> CoT-SC", "hotpotqa", "+13.76"),
    ],
)
def test_the_papers_number_is_the_printed_gain_or_computed_from_its_tables(
    better, worse, dataset, expected
):
    every = [claim for of_paper, _ in CLAIMS.values() for claim in of_paper]
    claim = next(c for c in every if c.better == better and c.worse in ((), (worse,)))
    assert claims.paper_says(claim, worse, dataset) == expected


def test_claims_are_about_systems_that_are_there():
    for claim in (claim for of_paper, _ in CLAIMS.values() for claim in of_paper):
        if claim.side == "name" and claim.values != "forms":
            assert {claim.better, *claim.worse} <= set(all_systems())
            assert claim.worse or all_systems()[claim.better].better_than


def test_verdicts_are_by_the_corrected_p_and_the_sign():
    tables = [pair(), pair((0, 0, 0, 1), (1, 1, 0, 1), dataset="musique")]
    tables.append(pair((0, 0, 0, 1), (0, 0, 0, 1), dataset="iirc"))
    table = judge(pd.concat(tables))
    assert list(table["verdict"]) == ["holds", "does not hold", "cannot tell"]
    assert list(table["ours"][:2]) == [50.0, -50.0] and list(table["n"]) == [40] * 3
    assert list(table["p_holm"]) == pytest.approx(holm(table["p"]), abs=1e-4)
    assert set(table["source"]) == {"§5, Figure 4"}
    alone = compare(tables[0])
    assert table["p"][0] == alone["p"][0]
    assert table["p_holm"][0] == pytest.approx(3 * alone["p"][0])


def test_what_one_test_would_tell_many_may_not():
    runs = pair((0, 0, 0, 0), (0, 0, 0, 0))
    runs.loc[:3, "f1"] = 1  # 4 of 40 questions gained: p is about 2 × 0.9^40 = 0.03
    many = pd.concat([runs.assign(dataset=name) for name in ("hotpotqa", "musique", "iirc")])
    assert list(compare(many)["verdict"]) == ["holds"] * 3
    alone, all_three = judge(runs), judge(many)
    assert list(alone["p_holm"]) == list(alone["p"]) and list(alone["verdict"]) == ["holds"]
    assert list(all_three["p_holm"]) == [pytest.approx(3 * alone["p"][0], abs=1e-4)] * 3
    assert list(all_three["verdict"]) == ["cannot tell"] * 3


def test_sizes_but_the_smallest_a_smaller_against_a_larger_and_other_demonstrations():
    sizes = [pair(model=f"m/{name}") for name in ("base", "xl")]
    sizes.append(pair((1, 1, 1, 1), (1, 0, 0, 0), model="m/xxl"))
    sizes = pd.concat([*sizes, pair(model="m/causal", style="codex")])
    table = judge(pair(), sizes=sizes, other_demonstrations=pair(dataset="musique", shown="iirc"))
    assert [tuple(row) for row in table[["source", "model", "ours"]].to_numpy()] == [
        ("§5, Figure 4", "m/xxl", 50),
        ("§5, Figure 9", "m/xl", 50),
        ("§5, Figure 9", "m/xxl", 75),
        ("§5, Figure 9", "m/causal", 50),
        ("§5, Figure 9: 3B against a 58 times larger GPT3", "m/xl against m/xxl", 50),
        ("§5, Figure 6", "m/xxl", 50),
    ]
    assert list(table["demonstrations"]) == ["hotpotqa"] * 5 + ["iirc"]
    assert list(table["paper"][1:]) == ["no number printed"] * 5
    table = compare_sizes(sizes, "flan_t5")
    assert list(table["model"]) == [*sizes["model"].unique(), "m/xl against m/xxl"]
    assert list(table["mean"]) == [50, 50, 75, 50, 50]


def test_claims_hold_whatever_the_reader_and_one_reader_is_better():
    """App. E: Flan-T5 answers better directly, GPT3 by a chain of thought."""
    main = pair().assign(reader="cot")
    direct = pair((1, 1, 1, 1), (0, 0, 0, 0)).assign(reader="direct")
    table = judge(main, other_reader=direct)
    columns = ["claim", "paper", "ours", "verdict"]
    assert [tuple(row) for row in table[columns].to_numpy()][1:] == [
        ("IRCoT QA > OneR QA", "+9.4 with Flan-T5-XXL, +9.9 with GPT3", 100.0, "holds"),
        ("OneR QA: direct > cot", "+6.6 with Flan-T5-XXL", -25.0, "does not hold"),
        ("IRCoT QA: direct > cot", "+7.1 with Flan-T5-XXL", 25.0, "holds"),
    ]
    table = judge(main.assign(style="codex"), other_reader=direct.assign(style="codex"))
    assert list(table["claim"][2:]) == ["OneR QA: cot > direct", "IRCoT QA: cot > direct"]
    assert list(table["paper"][2:]) == ["+2.9 with GPT3", "+0.1 with GPT3"]
    assert list(table["ours"][2:]) == [25.0, -25.0]


def test_a_claim_that_the_paper_does_not_make_is_not_in_its_table():
    sizes = pd.concat([scored("OneR QA", [1, 1, 1, 1]), scored("NoR QA", [0, 0, 0, 1])])
    assert list(compare(sizes)["claim"]) == list(judge(sizes)["claim"]) == ["OneR QA > NoR QA"]
    table = judge(pair(), sizes=sizes)  # Figure 9 has no NoR QA
    assert list(table["claim"]) == ["IRCoT QA > OneR QA"]
    none = judge(sizes[sizes["system"] == "NoR QA"])
    assert list(none.columns) == CLAIMS["ircot"][1] and none.empty


def test_runs_that_are_missing_are_left_out_with_the_command_that_makes_them(monkeypatch):
    def read(p, experiment, shown=None, grid_of=None):
        calls.append((experiment, p.datasets, p.reader, shown))
        if experiment == "06_scale":
            raise FileNotFoundError("make them: --only 06_scale")
        own = scored("OneR QA", [1, 1], dataset=p.datasets[0], shown=shown).assign(reader=p.reader)
        return pd.concat([own, scored("OneR QA", [1], dataset="2wikimultihopqa", shown="musique")])

    calls = []
    monkeypatch.setattr(evidence, "read_runs", read)
    p = read_parameters("mini", {"datasets": ["musique", "iirc"]})
    values, left_out = read_ircot(p)
    assert left_out == ["make them: --only 06_scale"] and "sizes" not in values
    assert calls[0] == ("04_ircot", ["musique", "iirc"], "cot", None)
    assert calls[-2:] == [
        ("07_ood", ["musique"], "cot", "musique"),
        ("04_ircot", ["musique", "iirc"], "direct", None),
    ]
    with_its_own = {place[0] == place[2] for place in values["other demonstrations"]}
    assert with_its_own == {False} and "other reader: direct" in values
    values, left_out = read_ircot(p.change(datasets=["iirc"]))  # not in Figures 5 to 9
    assert not {"sizes", "other demonstrations"} & set(values) and left_out == []


def test_searchains_claims_are_those_of_its_paper_corrected_over_all():
    answers = {"SearChain": [1] * 40, "DSP": [0] * 36 + [1] * 4, "SearChain w/o IR": [0] * 40}
    answers |= {"CoT": [1] * 20 + [0] * 20, "OneR QA": [0] * 40}
    columns = {"dataset": "musique", "model": "m", "metric": "cover_em"}
    scores = pd.concat([scored(*each, **columns) for each in answers.items()], ignore_index=True)
    nodes = {"SearChain": [node(1, "completion")]}
    runs = {("musique", n): run(right, nodes.get(n, ())) for n, right in answers.items()}
    forms = [(f"q{n}", panel, 2, 1, panel == "a") for n in range(9) for panel in "ab"]
    forms = pd.DataFrame(forms, columns=["id", "panel", "hops", "i", "right"])
    table = judge_claims("searchain", searchain_values(scores, runs, forms, scores))
    assert list(table) == CLAIMS["searchain"][1]
    rows = table.set_index("claim")
    assert rows.at["SearChain > SearChain w/o IR", "verdict"] == "holds"
    assert rows.at["SearChain w/o IR > CoT", "verdict"] == "does not hold"
    misled = rows.loc["SearChain misled less than DSP"]
    assert (misled["ours"], misled["n"], misled["paper"]) == (100, 20, "+7.53")  # 14.03 and 6.50
    assert rows.at["SearChain > SearChain w/o IR where IR helps", "ours"] == 100
    steps = rows.loc["SearChain w/o IR takes more steps than CoT"]
    assert (steps["ours"], steps["paper"]) == (0, "+2.40 (mean of 2 to 4 hops)")
    form = rows.loc["knowledge in the prompt > sub-questions alone"]
    assert (form["ours"], form["n"], form["p"]) == (100, 9, pytest.approx(2 * 0.5**9, abs=1e-4))
    of_second = table[table["source"] == "A.3, Table 9"]
    assert list(of_second["paper"]) == ["+1.53"] and list(of_second["claim"]) == ["SearChain > DSP"]
    assert list(table["p_holm"]) == pytest.approx(holm(table["p"]), abs=0.01)
    assert claims.count_verdicts(table).to_numpy().sum() == len(table)


def test_what_was_not_run_has_no_claim():
    scores = [scored(name, [0, 1, 1], metric="cover_em") for name in ("SearChain", "DSP")]
    runs = {("musique", "SearChain"): run([0, 1, 1])}
    forms = pd.DataFrame(columns=["id", "panel", "hops", "i", "right"])
    values = searchain_values(pd.concat(scores), runs, forms, pd.DataFrame())
    assert list(judge_claims("searchain", values)["claim"]) == ["SearChain > DSP"]


def test_the_kept_table_has_the_kept_differences_and_is_corrected_over_all_rows():
    rows, kept = (pd.read_csv(FIGURES / f"ircot_{name}.csv") for name in ("claims", "differences"))
    first = rows.iloc[: len(kept)].rename(columns={"ours": "mean"})
    columns = ["dataset", "claim", "mean", "low", "high", "p"]
    first, kept = (t[columns].sort_values(columns, ignore_index=True) for t in (first, kept))
    pd.testing.assert_frame_equal(first, kept)
    assert list(rows["p_holm"]) == pytest.approx(holm(rows["p"]), abs=1e-4)
    assert {f"§5, Figure {n}" for n in (3, 4, 5, 6, 8, 9)} < set(rows["source"])
