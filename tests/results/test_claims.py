"""The tables of claims of both papers: the paper's numbers, our differences, and verdicts."""

import re

import pandas as pd
import pytest
from written import node, run

from ircotlib.datasets import all_datasets
from ircotlib.files.paths import FIGURES
from ircotlib.parameters import read_parameters
from ircotlib.results.claims import ircot
from ircotlib.results.claims.claim import BETTER_THAN, CONTRADICTED, compare
from ircotlib.results.claims.ircot import read_ircot
from ircotlib.results.claims.judging import CLAIMS, COMPARISONS, judge_claims
from ircotlib.results.claims.searchain import Measured
from ircotlib.results.reported import KINDS
from ircotlib.results.statistics import LEVEL, detectable, holm, questions_needed
from ircotlib.systems import IRCOT, all_systems


def scored(
    system,
    values,
    dataset="hotpotqa",
    model="m/xxl",
    style="flan_t5",
    metric="f1",
    shown=None,
    demonstrations_shown=1.0,
):
    """The runs of a system: one score for each question."""
    row = {"dataset": dataset, "model": model, "style": style, "metric": metric, "reader": "cot"}
    row |= {"system": system, "demonstrations": shown or dataset, "demonstration_set": 0}
    row |= {"kind": "2hop", "demonstrations_shown": demonstrations_shown}
    ids = [f"q{number}" for number in range(len(values))]
    return pd.DataFrame({"id": ids, metric: values}).assign(**row)


def pair(better=(1, 1, 0, 1), worse=(0, 0, 0, 1), **columns):
    """IRCoT QA and OneR QA on forty questions."""
    runs = scored("IRCoT QA", 10 * better, **columns), scored("OneR QA", 10 * worse, **columns)
    return pd.concat(runs, ignore_index=True)


SHOWN = "demonstrations_shown"
DATASETS = [*all_datasets(), *KINDS, "unspecified"]
NAMES = (
    "sizes",
    "chains",
    "other demonstrations",
    "other reader",
    "published systems",
    "second model",
)
ALL = {
    text: claim
    for paper in CLAIMS.values()
    for of_section in paper.values()
    for text, claim in of_section.items()
}


def judge_all(scores, **runs):
    runs = {name.replace("_", " "): table for name, table in runs.items()}
    return judge_claims("ircot", dict.fromkeys(NAMES, scores[:0]) | {"scores": scores, **runs})


def judge(scores, **runs):
    return judge_all(scores, **runs)[1]


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
    claim = next(claim for claim in ALL.values() if (better, worse) in claim.pairs)
    printed = claim.printed.differences(better, worse, dataset)
    assert claim.printed.describe(printed) == expected


@pytest.mark.parametrize(
    ("text", "pair", "dataset", "expected"),
    [
        ("Table 4: GPT3 answers better", ("IRCoT QA: cot", "IRCoT QA: direct"), "musique", "+0.5"),
        (
            "Table 1: IRCoT QA answers",
            ("IRCoT QA: f1", "Recite-and-answer: f1"),
            "hotpotqa",  # all of them: those of hotpotqa_bridge are not among these
            "+12.3",
        ),
        ("Table 1: IRCoT", ("IRCoT QA: em", "ReAct -> CoT-SC: em"), "hotpotqa", "+14.2"),
        ("Table 1: IRCoT", ("IRCoT QA: em", "Self-Ask: em"), "musique_2hop", "+19.0"),
        ("Table 1: IRCoT", ("IRCoT QA: f1", "DecomP: f1"), "hotpotqa_bridge", "+8.5"),
        ("Table 1: IRCoT", ("IRCoT QA: em", "Self-Ask: em"), "hotpotqa", "no number printed"),
        ("Figure 7", ("IRCoT QA", "OneR QA"), "hotpotqa", "50% fewer with an error, GPT3"),
        ("Figure 7", ("OneR QA", "NoR QA"), "hotpotqa", "no number printed"),
        ("Table 2: most", ("knowledge_of_llm", "half"), "musique", "+28.83"),
        (
            "(1), Table 4: SearChain w/o IR takes more steps for",
            ("musique_4hop", "musique_3hop"),
            "musique",
            "+0.40",
        ),
        (
            "(1), Table 3(a): the model alone",
            ("cover_em", "cover_em_where_ir_helps"),
            "musique",
            "+3.41",
        ),
        ("Table 8: IR misleads", ("LLM", "LLM w/ IR"), "hotpotqa", "+19.58"),
        ("Table 7", ("their parts", "LLM"), "musique", "+73.20"),
        (
            "Table 6: SearChain",
            ("SearChain", "Plan-and-Solve w/ IR"),
            "unspecified",
            "-0.49 (halvings)",
        ),
    ],
)
def test_the_papers_number_of_what_is_not_a_score(text, pair, dataset, expected):
    [claim] = [claim for key, claim in ALL.items() if key.startswith(text)]
    printed = claim.printed.differences(*pair, dataset)
    assert claim.printed.describe(printed).startswith(expected)


def test_scores_are_of_systems_that_are_there():
    named = re.compile("scores|two_models")
    of_scores = [claim for claim in ALL.values() if named.search(str(claim.values))]
    assert len(of_scores) == 14
    for claim in of_scores:
        sides = {side.partition(":")[0] for pair in claim.pairs for side in pair}
        assert sides <= set(all_systems())


NOT_RUN = {  # by the profile mini: a second agent, and the other style of prompts
    "SearChain is better than DSP with another model",
    "GPT3 answers better with the cot reader",
    "IRCoT QA > OneR QA > NoR QA, also with the cot reader",
}


def test_every_pair_that_a_claim_or_a_record_names_is_evaluated():
    """A pair whose name nothing has would be left out in silence."""
    rows = pd.concat(pd.read_csv(FIGURES / f"{paper}_comparisons.csv") for paper in CLAIMS)
    evaluated = rows.groupby("claim")["comparison"].agg(set)
    named = {
        text.split(": ", 1)[1]: {claim.comparison.format(*pair) for pair in claim.pairs}
        for text, claim in ALL.items()
    }
    assert NOT_RUN == named.keys() - evaluated.keys()
    assert evaluated.to_dict() == {text: named[text] for text in evaluated.index}
    records = [s.name for s in all_systems().values() if s.study == IRCOT]
    pairs = {f"{name} > {worse}" for name in records for worse in BETTER_THAN.get(name, ())}
    assert pairs <= set(pd.read_csv(FIGURES / "ircot_differences.csv")["claim"])


def test_every_pair_finds_the_papers_numbers_if_there_are_any():
    """A name that the paper's table does not have would be said to have no number."""
    without = []
    for text, claim in ALL.items():
        if claim.printed:
            for pair in claim.pairs:
                found = [claim.printed.differences(*pair, name) for name in DATASETS]
                without += [] if any(map(len, found)) else [(text.partition(":")[0], *pair)]
    assert without == [("Figure 7", "OneR QA", "NoR QA")]


def test_verdicts_are_by_the_corrected_p_and_the_sign():
    tables = [pair(), pair((0, 0, 0, 1), (1, 1, 0, 1), dataset="musique")]
    tables.append(pair((0, 0, 0, 1), (0, 0, 0, 1), dataset="iirc"))
    table = judge(pd.concat(tables))
    assert list(table["verdict"]) == ["holds", "does not hold", "cannot tell"]
    assert list(table["ours"][:2]) == [50.0, -50.0] and list(table["n"]) == [40] * 3
    assert list(table["p_holm"]) == pytest.approx(holm(table["p"]), abs=1e-4)
    assert set(zip(table["section"], table["source"])) == {("§5", "Figure 4")}
    alone = compare(tables[0])
    assert table["p"][0] == alone["p"][0]
    assert table["p_holm"][0] == pytest.approx(3 * alone["p"][0])


def test_what_one_test_would_tell_many_may_not():
    runs = pair((0, 0, 0, 0), (0, 0, 0, 0))
    runs.loc[:5, "f1"] = 1  # 6 of 40 questions gained: p is 2 × 0.5^6 = 0.03
    many = pd.concat([runs.assign(dataset=name) for name in ("hotpotqa", "musique", "iirc")])
    assert list(compare(many)["verdict"]) == ["holds"] * 3
    alone, all_three = judge(runs), judge(many)
    assert list(alone["p_holm"]) == list(alone["p"]) and list(alone["verdict"]) == ["holds"]
    assert list(all_three["p_holm"]) == [pytest.approx(3 * alone["p"][0], abs=1e-3)] * 3
    assert list(all_three["verdict"]) == ["cannot tell"] * 3 and set(all_three["tests"]) == {3}
    needed = questions_needed(15, (100 * 15 - 15**2) ** 0.5, LEVEL / 3)
    assert list(all_three["needed"]) == [f"{-(-needed // 1):.0f} to confirm"] * 3
    assert alone["needed"].isna().all() and set(all_three["leans"]) == {"for"}
    assert list(all_three["detectable"]) == pytest.approx(
        [detectable(40, (100 * 15 - 15**2) ** 0.5, LEVEL / 3)] * 3, abs=0.5
    )


def test_a_claim_holds_if_all_comparisons_do_and_does_not_if_one_is_refuted():
    names, verdicts = ("hotpotqa", "musique", "iirc"), []
    for middle in ((1, 0), (1, 1), (0, 1)):  # of one data set; the others are for the claim
        runs = [pair((1, 1), (0, 0), dataset=name) for name in names]
        runs[1] = pair(middle[:1] * 2, middle[1:] * 2, dataset="musique")
        claims, comparisons = judge_all(pd.concat(runs))
        [claim] = claims.to_dict("records")
        verdicts.append((claim["holds"], claim["does not hold"], claim["verdict"]))
        assert claim["tests"] == 1 and list(comparisons["tests"]) == [3, 3, 3]
    assert verdicts == [(3, 0, "holds"), (2, 0, "cannot tell"), (2, 1, "does not hold")]
    assert claim["p"] == claim["p_holm"] == pytest.approx(min(1, 3 * 2 * 0.5**20), abs=1e-4)
    assert claim["p_section"] == claim["p_holm"]


@pytest.mark.parametrize(
    ("shown", "verdicts"),
    [
        ((1.0, 3.5), ["holds"] * 3),
        ((0.98, 1.0), ["not tested", "holds", "not tested"]),
        ((0.0, 0.3), ["not tested"] * 3),
        ((None, None), ["not tested"] * 3),  # runs of which the number is not known
    ],
)
def test_a_claim_about_demonstrations_is_not_tested_without_them(shown, verdicts):
    """Both sides of a pair must have seen one in each prompt, on average."""
    places = zip(("hotpotqa", "musique"), shown)
    runs = [pair(dataset=name, shown="iirc", demonstrations_shown=n) for name, n in places]
    other = pd.concat([*runs, scored("IRCoT", 40 * [1], metric="recall", shown="iirc")])
    if shown[0] is not None:
        other.loc[(other["dataset"] == "hotpotqa") & (other["system"] == "IRCoT QA"), SHOWN] = 9.0
    claims, table = judge_all(pair(), other_demonstrations=other)
    figure_6 = table[table["source"] == "Figure 6"]
    assert [*figure_6["verdict"], claims.iloc[-1]["verdict"]] == verdicts
    untested = figure_6[figure_6["verdict"] == "not tested"]
    assert untested["p"].isna().all() and (untested["ours"] == 50).all()
    assert set(figure_6["tests"]) == {1 + 2 - len(untested)}
    assert list(claims["not tested"]) == [0, len(untested)]
    assert table["verdict"][0] == "holds", "Figure 4 is not about other demonstrations"


def test_what_recall_is_compared_by_shows_nothing_without_a_model():
    sides = [scored("IRCoT", 40 * [1], metric="recall", shown="iirc", demonstrations_shown=2)]
    sides.append(scored("OneR", 40 * [0], metric="recall", shown="iirc", demonstrations_shown=None))
    table = judge(pair(), other_demonstrations=pd.concat(sides))
    assert list(table[table["source"] == "Figure 5"]["verdict"]) == ["holds"]


def test_what_is_undecided_leans_one_way_or_is_mixed():
    """It leans if all differences have one sign; one of 0 has none, and all of 0 are equal."""
    few, none = ((1, 1) + (0,) * 18, (0,) * 20), ((0,), (0,))
    for others, leans, needed in (
        ([few], "for", "to confirm"),
        ([few, none], "mixed", "> 10,000 to confirm"),
        ([none, none], "equal", "> 10,000 to confirm"),
        ([few, few[::-1]], "mixed", "to refute"),
        ([few[::-1], few[::-1]], "against", "to refute"),
    ):
        runs = [pair(*(20 // len(side) * side for side in sides)) for sides in others]
        names = ("hotpotqa", "musique")
        runs = [run.assign(dataset=name) for run, name in zip(runs, names)]
        runs = pd.concat([run[run["id"].str[1:].astype(int) < 20] for run in runs])
        [claim] = judge_all(runs)[0].to_dict("records")
        assert (claim["verdict"], claim["leans"]) == ("cannot tell", leans)
        assert claim["needed"].endswith(needed)
        assert claim["detectable"] > 10 or (leans == "equal" and pd.isna(claim["detectable"]))


def test_what_the_papers_own_table_contradicts_is_not_counted():
    """On FEVER the paper's SearChain w/o IR is worse than CoT-SC, by 0.09, but not than CoT."""
    answers = {"SearChain w/o IR": 40 * [1], "CoT-SC": 40 * [0], "CoT": 40 * [0]}
    runs = pd.concat([scored(*each, dataset="fever") for each in answers.items()])
    runs = runs.assign(cover_em=runs["f1"])
    measured = Measured(NO_TABLE, runs, {}, NO_FORMS, run([]), pd.DataFrame(), {})
    claims, table = judge_claims("searchain", measured)
    assert list(table["comparison"]) == ["SearChain w/o IR > CoT", "SearChain w/o IR > CoT-SC"]
    assert list(table["paper"]) == ["+0.08", "-0.09"]
    assert list(table["verdict"]) == ["holds", "not counted"] and table["p"].isna()[1]
    assert list(table["note"]) == ["", CONTRADICTED] and list(table["tests"]) == [1, 1]
    [claim] = claims.to_dict("records")
    assert (claim["holds"], claim["not counted"], claim["verdict"]) == (1, 1, "holds")
    assert claim["note"] == f"{CONTRADICTED}: SearChain w/o IR > CoT-SC on FEVER"
    without = runs[runs["system"] != "CoT"]
    claims, _ = judge_claims("searchain", measured._replace(scores=without))
    assert list(claims["verdict"]) == ["not counted"] and list(claims["note"]) == [CONTRADICTED]
    assert list(claims["tests"]) == [0] and claims["p_holm"].isna().all()


def test_what_one_of_the_papers_models_contradicts_is_counted_and_noted():
    """With GPT3, IRCoT QA does not answer better than NoR QA on IIRC; with Flan-T5-XXL it does."""
    runs = scored("IRCoT QA", 40 * [1], "iirc"), scored("NoR QA", 40 * [0], "iirc")
    [claim] = judge_all(pd.concat(runs))[0].to_dict("records")
    assert claim["verdict"] == "holds"
    printed = "the paper's own number with GPT3 is against it"
    assert claim["note"] == f"{printed}: IRCoT QA > NoR QA on IIRC"


SETTLED = ["more steps than", "more steps for", "Table 7", "IR misleads a model", "IR helps a"]


def test_how_a_claim_is_settled_is_said_and_applies_if_the_values_show_it():
    settled = {text: claim for text, claim in ALL.items() if claim.settled}
    assert all(part in text for part, text in zip(SETTLED, settled, strict=True))
    steps, of_hops, _, misleads, helps = settled.values()
    margin = next(claim for claim in ALL.values() if claim.margin == 1)
    answers = next(claim for text, claim in ALL.items() if text.startswith("Figure 4"))
    always, varied = pd.Series([100.0] * 10, name="em"), pd.Series([100.0, 0.0] * 5, name="em")
    nearly, other = always.where(always.index > 0, 0.0), varied[::-1].reset_index(drop=True)

    def reason(claim, better, worse):
        sides = {("hotpotqa", "m", "hotpotqa"): dict(zip(claim.pairs[0], (better, worse)))}
        return next(claim.compare(None, sides))["not_counted"]

    for better in (always, nearly):
        assert reason(misleads, better, varied) == misleads.settled["LLM"]
        assert reason(helps, varied, better) == helps.settled["LLM"]
        assert reason(steps, better, varied).startswith("cannot hold")
        assert reason(of_hops, better, always).startswith("cannot fail")
        assert reason(of_hops, better, varied) == "", "both sides must not vary"
        assert reason(misleads, varied, better) == reason(steps, varied, better) == ""
        assert reason(answers, better, varied) == "", "nothing settles it, however clear it is"
    assert (
        reason(margin, varied, varied) == "cannot fail: both sides are the same on every question"
    )
    assert reason(margin, varied, other) == ""


def test_verdicts_are_by_all_claims_of_the_paper_and_the_sections_p_is_beside():
    few = [[1] * 6 + [0] * 34, [0] * 40]  # p = 2 × 0.5^6 = 0.03
    scores = [scored(name, values) for name, values in zip(("IRCoT QA", "OneR QA"), few)]
    scores.append(scored("NoR QA", [0] * 40))
    claims, comparisons = judge_all(pd.concat(scores))
    assert list(claims["section"]) == ["§5", "App. E"] and list(claims["tests"]) == [2, 2]
    assert list(claims["p"]) == [0.0312, 1] and list(claims["p_section"]) == [0.0312, 1]
    assert claims["p_holm"][0] == 0.0625 and claims["verdict"][0] == "cannot tell"
    assert list(comparisons["tests"]) == [3, 3, 3]
    assert list(comparisons["p_section"]) == [0.0625, 0.0625, 1]
    assert list(comparisons["p_holm"]) == [0.0938, 0.0938, 1]


def test_sizes_but_the_smallest_a_smaller_against_a_larger_and_other_demonstrations():
    sizes = [pair(model=f"m/{name}") for name in ("base", "xl")]
    sizes.append(pair((1, 1, 1, 1), (1, 0, 0, 0), model="m/xxl"))
    sizes = pd.concat([*sizes, pair(model="m/causal", style="codex")])
    table = judge(pair(), sizes=sizes, other_demonstrations=pair(dataset="musique", shown="iirc"))
    assert [tuple(row) for row in table[["source", "model", "ours"]].to_numpy()] == [
        ("Figure 4", "m/xxl", 50),
        ("Figure 6", "m/xxl", 50),
        ("Figure 9", "m/xl", 50),
        ("Figure 9", "m/xxl", 75),
        ("Figure 9", "m/causal", 50),
        ("Figure 9", "m/xl against m/xxl", 50),
    ]
    assert list(table["demonstrations"]) == ["hotpotqa", "iirc"] + ["hotpotqa"] * 4
    assert list(table["paper"][1:]) == ["no number printed"] * 5
    table = compare(sizes, ("dataset", "model"))
    assert list(table["model"]) == list(sizes["model"].unique())
    assert list(table["mean"]) == [50, 50, 75, 50]


def test_claims_hold_whatever_the_reader_and_one_reader_is_better():
    """App. E: Flan-T5 answers better directly, GPT3 by a chain of thought."""
    main = pair().assign(reader="cot")
    direct = pair((1, 1, 1, 1), (0, 0, 0, 0)).assign(reader="direct")
    table = judge(main, other_reader=direct)
    columns = ["comparison", "paper", "ours", "verdict"]
    assert [tuple(row) for row in table[columns].to_numpy()][1:] == [
        ("IRCoT QA > OneR QA", "+9.4 with Flan-T5-XXL, +9.9 with GPT3", 100.0, "holds"),
        ("OneR QA: direct > OneR QA: cot", "+6.6 with Flan-T5-XXL", -25.0, "does not hold"),
        ("IRCoT QA: direct > IRCoT QA: cot", "+7.1 with Flan-T5-XXL", 25.0, "holds"),
    ]
    table = judge(main.assign(style="codex"), other_reader=direct.assign(style="codex"))
    assert list(table["comparison"][2:]) == [
        "OneR QA: cot > OneR QA: direct",
        "IRCoT QA: cot > IRCoT QA: direct",
    ]
    assert list(table["paper"][2:]) == ["+2.9 with GPT3", "+0.1 with GPT3"]
    assert list(table["ours"][2:]) == [25.0, -25.0]


def test_a_claim_that_the_paper_does_not_make_is_not_in_its_table():
    sizes = pd.concat([scored("OneR QA", [1, 1, 1, 1]), scored("NoR QA", [0, 0, 0, 1])])
    assert list(compare(sizes)["claim"]) == list(judge(sizes)["comparison"]) == ["OneR QA > NoR QA"]
    table = judge(pair(), sizes=sizes)  # Figure 9 has no NoR QA
    assert list(table["comparison"]) == ["IRCoT QA > OneR QA"]
    none = judge(sizes[sizes["system"] == "NoR QA"])
    assert list(none.columns) == COMPARISONS and none.empty


def test_runs_that_are_missing_are_left_out_with_the_command_that_makes_them(monkeypatch):
    def read(p, experiment, shown=None, grid_of=None):
        calls.append((experiment, p.datasets, p.reader, shown))
        if experiment == "06_scale":
            raise FileNotFoundError("make them: --only 06_scale")
        own = scored("OneR QA", [1, 1], dataset=p.datasets[0], shown=shown).assign(reader=p.reader)
        return pd.concat([own, scored("OneR QA", [1], dataset="2wikimultihopqa", shown="musique")])

    calls = []
    monkeypatch.setattr(ircot, "read_runs", read)
    monkeypatch.setattr(ircot, "read_items", lambda p: [])
    p = read_parameters("mini", {"datasets": ["musique", "iirc"]})
    runs, left_out = read_ircot(p)
    assert left_out == ["make them: --only 06_scale"] and runs["sizes"].empty
    assert calls[0] == ("04_ircot", ["musique", "iirc"], "cot", None)
    assert calls[-4:] == [
        ("07_ood", ["musique"], "cot", "musique"),
        ("04_ircot", ["musique", "iirc"], "direct", None),
        ("04_ircot", ["musique", "iirc"], "cot", None),
        ("13_head_to_head", ["musique"], "cot", None),
    ]
    other = runs["other demonstrations"]
    assert (other["dataset"] != other["demonstrations"]).all() and len(other)
    assert "direct" in set(runs["other reader"]["reader"])
    runs, left_out = read_ircot(p.change(datasets=["iirc"]))  # not in Figures 5 to 9
    assert runs["sizes"].empty and runs["other demonstrations"].empty and left_out == []


NO_FORMS = pd.DataFrame(columns=["id", "panel", "hops", "i", "right"])
NO_TABLE = pd.DataFrame(columns=["dataset", "metric", "system", "seconds"])


def test_searchains_claims_are_those_of_its_paper():
    answers = {"SearChain": [1] * 40, "DSP": [0] * 36 + [1] * 4, "SearChain w/o IR": [0] * 40}
    answers["SearChain w/o IR"][39] = 1
    answers |= {"CoT": [1] * 20 + [0] * 20, "OneR QA": [0] * 40}
    columns = {"dataset": "musique", "model": "m", "metric": "cover_em"}
    scores = pd.concat([scored(*each, **columns) for each in answers.items()], ignore_index=True)
    nodes = {"SearChain": [node(1, "completion")]}
    runs = {("musique", n): run(right, nodes.get(n, ())) for n, right in answers.items()}
    whole, alone = runs["musique", "SearChain"], runs["musique", "SearChain w/o IR"]
    whole.at["q39", "nodes"] = (node(1),)
    for of_system in runs.values():
        of_system["kind"] = ["2hop", "3hop"] * 20
    alone["nodes"] = [(node(1),), (node(1), node(2))] * 20
    forms = [
        (f"q{n}", panel, 2, i, panel == "a" and i == 1)
        for n in range(9)
        for panel in "ab"
        for i in (1, 2)
    ]
    forms = pd.DataFrame(forms, columns=NO_FORMS.columns)
    seconds = [("musique", "SearChain", 3.0), ("musique", "DSP", 2.0), ("musique", "Self-Ask", 1.0)]
    table = pd.DataFrame(seconds, columns=["dataset", "system", "seconds"]).assign(
        metric="cover_em"
    )
    eli5 = {a: [pd.DataFrame({"id": ["a", "b"], "rouge_l": [0.5, 0.25 + a]})] for a in (0.35, 0.4)}
    measured = Measured(table, scores, runs, forms, alone, scores, eli5)
    whole_claims, table = judge_claims("searchain", measured)
    assert list(table) == COMPARISONS and len(whole_claims) == table["claim"].nunique() == 16
    rows = table.set_index("comparison")
    assert rows.at["SearChain w/o IR > CoT", "verdict"] == "does not hold"
    misled = rows.loc["SearChain misled less than DSP"]
    assert (misled["ours"], misled["n"], misled["paper"]) == (100, 20, "+7.53")  # 14.03 and 6.50
    assert rows.at["SearChain > SearChain w/o IR where IR helps", "ours"] == 100
    other = rows.loc["SearChain w/o IR: other questions > where IR helps"]
    assert (other["ours"], other["n"], other["p"]) == (100, 40, 1 / 40)
    own = rows.loc["share of the model's own knowledge > half"]
    assert (own["ours"], own["verdict"]) == (-47.5, "does not hold")
    steps = rows.loc["steps: SearChain w/o IR > CoT"]
    assert (steps["ours"], steps["paper"]) == (1.5, "+2.40 (mean of 2 to 4 hops)")
    assert rows.at["steps: musique_3hop > musique_2hop", "ours"] == 1
    assert rows.at["SearChain at most 1.4 times as long as DSP", "ours"] == -0.58  # log2 of 2 / 3
    assert rows.at["SearChain at most 1.4 times as long as Self-Ask", "above"] == -0.5
    form = rows.loc["knowledge in the prompt > sub-questions alone"]
    assert (form["ours"], form["n"], form["p"]) == (100, 9, pytest.approx(2 * 0.5**9, abs=1e-4))
    assert rows.at["last 1 by heart > last 2 by heart", "ours"] == 100
    parts = rows.loc["right: their parts > questions whose parts are known"]
    assert (parts["ours"], parts["n"]) == (100, 9)
    assert rows.at["LLM > LLM w/ IR where the model is right", "n"] == 20
    settled = table[table["verdict"] == "not counted"]
    assert set(settled["source"]) == {"Table 7", "Table 8", "(1), Table 4"}
    assert settled["p"].isna().all() and settled["note"].str.startswith("cannot ").all()
    rouge = table[table["source"] == "Table 10"]
    assert list(rouge["ours"]) == [-2.5, 2.5] and set(rouge["above"]) == {-1}
    of_second = table[table["source"] == "Table 9"]
    assert list(of_second["paper"]) == ["+1.53"]
    assert list(of_second["comparison"]) == ["SearChain > DSP"]
    for tests in (table, whole_claims):
        tested = tests.dropna(subset="p")
        assert list(tested["p_holm"]) == pytest.approx(holm(tested["p"]), abs=0.01)


def test_what_was_not_run_has_no_claim():
    scores = [scored(name, [0, 1, 1], metric="cover_em") for name in ("SearChain", "DSP")]
    runs, none = {("musique", "SearChain"): run([0, 1, 1])}, pd.DataFrame()
    measured = Measured(NO_TABLE, pd.concat(scores), runs, NO_FORMS, run([]), none, {})
    claims, comparisons = judge_claims("searchain", measured)
    assert list(comparisons["comparison"]) == ["SearChain > DSP"] and len(claims) == 1


def test_the_kept_tables_have_the_kept_differences_and_are_corrected_for_all_of_the_paper():
    rows, kept = (
        pd.read_csv(FIGURES / f"ircot_{name}.csv") for name in ("comparisons", "differences")
    )
    rows = rows.rename(columns={"claim": "whole", "comparison": "claim", "ours": "mean"})
    columns = ["dataset", "claim", "mean", "low", "high", "p"]
    both = kept[columns].merge(rows[columns].drop_duplicates(), "inner")
    assert len(both) == len(kept)
    for paper in CLAIMS:
        for name in ("claims", "comparisons"):
            table = pd.read_csv(FIGURES / f"{paper}_{name}.csv")
            tested = table[~table["verdict"].isin(["not tested", "not counted"])]
            assert list(tested["p_holm"]) == pytest.approx(holm(tested["p"]), abs=0.02)
            assert set(table["tests"]) == {len(tested)}
            for _, section in tested.groupby("section"):
                assert list(section["p_section"]) == pytest.approx(holm(section["p"]), abs=0.01)
            decided = tested["verdict"] != "cannot tell"
            assert list(decided) == list(tested["p_holm"] < LEVEL)
