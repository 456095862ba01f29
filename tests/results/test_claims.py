"""The table of claims: Holm's correction by hand, the paper's numbers, and what is in it."""

import csv

import numpy as np
import pandas as pd
import pytest

from ircotlib.files.paths import FIGURES
from ircotlib.parameters import read_parameters
from ircotlib.results import claims_ircot as claims
from ircotlib.results.analysis import compare
from ircotlib.results.claims_ircot import (
    Claimed,
    compare_sizes,
    holm,
    judge_claims,
    paper_says,
    read_claimed,
)

NONE = pd.DataFrame()


def scored(
    system, values, dataset="hotpotqa", model="m/xxl", style="flan_t5", metric="f1", of=None
):
    """The runs of a system: one score for each question."""
    named = {"dataset": dataset, "model": model, "style": style, "metric": metric}
    named |= {"system": system, "demonstrations": of or dataset, "demonstration_set": 0}
    ids = [f"q{number}" for number in range(len(values))]
    return pd.DataFrame({"id": ids, metric: values}).assign(**named)


def pair(better=(1, 1, 0, 1), worse=(0, 0, 0, 1), **named):
    """IRCoT QA and OneR QA on forty questions."""
    runs = scored("IRCoT QA", 10 * better, **named), scored("OneR QA", 10 * worse, **named)
    return pd.concat(runs, ignore_index=True)


@pytest.mark.parametrize(
    ("p", "corrected"),
    [
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),  # 4 × .005, 3 × .01, 2 × .03, .06
        ([0.2, 0.6, 0.9], [0.6, 1.0, 1.0]),  # none above 1
        ([0.01, 0.01], [0.02, 0.02]),
        ([0.03], [0.03]),
        ([], []),
    ],
)
def test_holm_as_computed_by_hand(p, corrected):
    assert holm(p) == pytest.approx(np.array(corrected))


def test_the_paper_prints_gains_and_table_4_and_table_6():
    found = paper_says("IRCoT > OneR", "musique")
    assert found == "+3.5 with Flan-T5-XXL, +12.5 with GPT3"
    assert paper_says("IRCoT QA > OneR QA", "hotpotqa") == "+9.4 with Flan-T5-XXL, +7.1 with GPT3"
    assert paper_says("IRCoT QA > OneR QA", "iirc") == "+2.5 with Flan-T5-XXL, +0.1 with GPT3"
    found = paper_says("IRCoT QA > IRCoT QA w/o reader", "2wikimultihopqa")
    assert found == "+5.6 with Flan-T5-XXL, -2.4 with GPT3"
    assert paper_says("IRCoT QA > OneR QA", "mine") == "no number printed"


def test_verdicts_are_by_the_corrected_p_and_the_sign():
    tables = [pair(), pair((0, 0, 0, 1), (1, 1, 0, 1), dataset="musique")]
    tables.append(pair((0, 0, 0, 1), (0, 0, 0, 1), dataset="iirc"))
    table = judge_claims(Claimed(pd.concat(tables), NONE, NONE, []))
    assert list(table["verdict"]) == ["holds", "does not hold", "cannot tell"]
    assert list(table["ours"][:2]) == [50.0, -50.0] and list(table["n"]) == [40] * 3
    assert list(table["p_holm"]) == pytest.approx(holm(table["p"]), abs=1e-4)
    assert list(table["paper"][:1]) == ["+9.4 with Flan-T5-XXL, +7.1 with GPT3"]
    assert set(table["source"]) == {"§5, Figure 4"}
    alone = compare(tables[0])
    assert table["p"][0] == alone["p"][0]
    assert table["p_holm"][0] == pytest.approx(3 * alone["p"][0])


def test_what_one_test_would_tell_many_may_not():
    runs = pair((0, 0, 0, 0), (0, 0, 0, 0))
    runs.loc[:3, "f1"] = 1  # 4 of 40 questions gained: p is about 2 × 0.9^40 = 0.03
    many = pd.concat([runs.assign(dataset=name) for name in ("hotpotqa", "musique", "iirc")])
    assert list(compare(many)["verdict"]) == ["holds"] * 3
    one, all_three = (judge_claims(Claimed(t, NONE, NONE, [])) for t in (runs, many))
    assert one["p"][0] == pytest.approx(2 * 0.9**40, abs=0.005)
    assert list(one["p_holm"]) == list(one["p"]) and list(one["verdict"]) == ["holds"]
    assert list(all_three["p_holm"]) == [pytest.approx(3 * one["p"][0], abs=1e-4)] * 3
    assert list(all_three["verdict"]) == ["cannot tell"] * 3


def test_sizes_but_the_smallest_a_smaller_against_a_larger_and_other_demonstrations():
    sizes = pd.concat([pair(model=f"m/{name}") for name in ("base", "xl", "xxl")])
    sizes = pd.concat([sizes, pair(model="m/causal", style="codex")])
    others = pair(dataset="musique", of="hotpotqa")
    table = judge_claims(Claimed(pair(), sizes, others, []))
    found = [tuple(row) for row in table[["source", "model"]].to_numpy()]
    assert found == [
        ("§5, Figure 4", "m/xxl"),
        ("§5, Figure 9", "m/xl"),
        ("§5, Figure 9", "m/xxl"),
        ("§5, Figure 9", "m/causal"),
        ("§5, Figure 9: 3B against a 58 times larger GPT3", "m/xl against m/xxl"),
        ("§5, Figure 6", "m/xxl"),
    ]
    assert list(table["demonstrations"]) == ["hotpotqa"] * 6
    assert table["dataset"].iloc[-1] == "musique"
    assert list(table["paper"][1:]) == ["no number printed"] * 5
    table = compare_sizes(sizes, "flan_t5")
    assert list(table["model"]) == [*sizes["model"].unique(), "m/xl against m/xxl"]


def test_claims_hold_whatever_the_reader_and_one_reader_is_better():
    """App. E: Flan-T5 answers better directly, GPT3 by a chain of thought."""
    main = pair().assign(reader="cot")
    direct = pair((1, 1, 1, 1), (0, 0, 0, 0)).assign(reader="direct")
    table = judge_claims(Claimed(main, NONE, NONE, [], direct))
    columns = ["claim", "paper", "ours", "verdict"]
    assert [tuple(row) for row in table[columns].to_numpy()][1:] == [
        ("IRCoT QA > OneR QA", "+9.4 with Flan-T5-XXL, +9.9 with GPT3", 100.0, "holds"),
        ("IRCoT QA: direct > cot", "+7.1 with Flan-T5-XXL", 25.0, "holds"),
        ("OneR QA: direct > cot", "+6.6 with Flan-T5-XXL", -25.0, "does not hold"),
    ]
    sources = ["App. E, Table 4: the other reader", *["App. E, Table 4"] * 2]
    assert list(table["source"][1:]) == sources
    chat = [runs.assign(style="codex") for runs in (main, direct)]
    table = judge_claims(Claimed(chat[0], NONE, NONE, [], chat[1]))
    assert list(table["claim"][2:]) == ["IRCoT QA: cot > direct", "OneR QA: cot > direct"]
    assert list(table["paper"][2:]) == ["+0.1 with GPT3", "+2.9 with GPT3"]
    assert list(table["ours"][2:]) == [-25.0, 25.0]


def test_a_claim_that_the_paper_does_not_make_is_not_in_its_table():
    sizes = pd.concat([scored("OneR QA", [1, 1, 1, 1]), scored("NoR QA", [0, 0, 0, 1])])
    assert list(compare(sizes)["claim"]) == ["OneR QA > NoR QA"]
    assert list(judge_claims(Claimed(sizes, NONE, NONE, []))["claim"]) == ["OneR QA > NoR QA"]
    table = judge_claims(Claimed(pair(), sizes, NONE, []))  # Figure 9 has no NoR QA
    assert list(table["claim"]) == ["IRCoT QA > OneR QA"]
    none = judge_claims(Claimed(sizes[sizes["system"] == "NoR QA"], NONE, NONE, []))
    assert list(none.columns) == claims.COLUMNS and none.empty


def test_runs_that_are_missing_are_left_out_with_the_command_that_makes_them(monkeypatch):
    def read(p, experiment, **how):
        asked.append((experiment, p.datasets, how.get("shown")))
        readers.append(p.reader)
        if experiment == "06_scale":
            raise FileNotFoundError("make them: --only 06_scale")
        own = scored("OneR QA", [1, 1], dataset=p.datasets[0], of=how.get("shown"))
        return pd.concat([own, scored("OneR QA", [1], dataset="2wikimultihopqa", of="musique")])

    asked, readers = [], []
    monkeypatch.setattr(claims, "read_runs", read)
    p = read_parameters("mini", {"datasets": ["musique", "iirc"]})
    found = read_claimed(p)
    assert found.left_out == ["make them: --only 06_scale"] and found.sizes.empty
    assert asked[0] == ("04_ircot", ["musique", "iirc"], None)
    assert asked[-2:] == [
        ("07_ood", ["musique"], "musique"),
        ("04_ircot", ["musique", "iirc"], None),
    ]
    assert readers == ["cot"] * (len(asked) - 1) + ["direct"] and len(found.otherwise) == 3
    assert set(found.others["dataset"]) == {"2wikimultihopqa"}  # with its own it is no claim
    alone = read_claimed(p.change(datasets=["iirc"]))  # not in Figures 5 to 9
    assert alone.sizes.empty and alone.others.empty and alone.left_out == []


def test_the_kept_table_has_the_kept_differences_and_is_corrected_over_all_rows():
    rows, kept = (
        list(csv.DictReader((FIGURES / f"ircot_{name}.csv").open(encoding="utf-8")))
        for name in ("claims", "differences")
    )
    ours = {(r["dataset"], r["claim"]): r for r in rows[: len(kept)]}
    for row in kept:
        same = ours[row["dataset"], row["claim"]]
        for theirs, name in (("mean", "ours"), ("low", "low"), ("high", "high"), ("p", "p")):
            assert float(same[name]) == float(row[theirs]), row
    corrected = holm([float(row["p"]) for row in rows])
    assert [float(row["p_holm"]) for row in rows] == pytest.approx(corrected, abs=1e-4)
    sources = {row["source"] for row in rows}
    assert {f"§5, Figure {n}" for n in (3, 4, 5, 6, 8, 9)} < sources
