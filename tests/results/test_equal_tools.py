"""The head to head with equal tools: who gets what, and both settings beside each other."""

import pandas as pd
import pytest
from ircotlib.experiment.identity import identity

from ircotlib.experiment.setup import name_bench
from ircotlib.parameters import EQUAL, read_parameters
from ircotlib.results import equal_tools
from ircotlib.results.conclusions import conclude_settings
from ircotlib.results.head_to_head import EXPERIMENT, measures_of, systems_of
from ircotlib.results.statistics import paired_p
from ircotlib.systems import all_systems

P = read_parameters("mini", {"head_to_head": ["hotpotqa", "fever"]}).for_agent()
S = all_systems()
PAPERS, TOOLS = equal_tools.PAPERS, equal_tools.EQUAL_TOOLS


def test_only_with_equal_tools_k_is_tuned_and_the_second_reader_is_there():
    papers, tools = (name_bench(P, "musique", EXPERIMENT, grid_of=of) for of in ("", EQUAL))
    assert papers.grid(S["Self-Ask"]) == {} and papers.grid(S["DecomP"]) == {"k": [2, 4, 6]}
    assert tools.grid(S["Self-Ask"]) == {"k": [1, 3], "extract": [True]}
    assert tools.grid(S["DecomP"]) == {"k": [2, 4, 6], "extract": [True]}
    assert tools.grid(S["IRCoT QA"]) == {"k": [2, 4], "extract": [True]}
    assert tools.grid(S["SearChain"]) == {"k": [1, 3]} and tools.grid(S["CoT"]) == {}
    without = name_bench(P.change(extractor="", equal_k=[2]), "musique", EXPERIMENT, grid_of=EQUAL)
    assert without.grid(S["Self-Ask"]) == {"k": [2]} and without.grid(S["ReAct"]) == {}
    shown = name_bench(
        P.change(style="codex", distractors=[1, 2]), "musique", EXPERIMENT, grid_of=EQUAL
    )
    assert shown.grid(S["IRCoT QA"]) == {"k": [2, 4], "m": [1, 2], "extract": [True]}
    other = P.change(equal_k=[2])
    assert identity(other) == identity(P) and papers.runs != tools.runs
    assert identity(other, grid_of=EQUAL) != identity(P, grid_of=EQUAL)


def test_the_comparison_has_the_systems_that_get_anything_and_plans_their_runs():
    study = equal_tools.with_equal_tools(P.change(datasets=["fever"]), systems_of(P))
    names = {system.name for system in study.systems}
    assert {"Self-Ask", "SearChain", "IRCoT QA"} < names and not names & {"CoT", "OneR QA"}
    of_self_ask = [run.setting for run in study.runs if run.system.name == "Self-Ask"]
    assert of_self_ask == [{"k": k, "extract": True} for k in (1, 3, 1)]  # the last: the test
    assert not equal_tools.with_equal_tools(P, [S["CoT"]]).runs
    assert not equal_tools.with_equal_tools(P.change(equal_k=[]), systems_of(P)).runs


def test_a_model_that_sees_examples_sees_two_of_each_system_with_equal_tools():
    p = read_parameters("mini", {"agent": "", "demonstrations": "prompts/own", "dev": 0, "test": 1})
    study = equal_tools.with_equal_tools(p.change(datasets=["hotpotqa"]), systems_of(p))
    [bench] = study.opened
    assert {system.name for system in study.systems} == {system.name for system in systems_of(p)}
    shown = {
        (system.name, stage): len(bench.examples(stage, 1, 0, system)[1])
        for system in study.systems
        for stage in system.stages
    }
    assert shown["SearChain", "chain"] == shown["ReAct", "act"] == shown["IRCoT QA", "cot"] == 2
    assert max(shown.values()) == 2 and shown["Direct Prompting", "direct"] == 0


def scores_of(**right):
    """Runs on two data sets of ten questions each; so many of each system are right."""
    tables = []
    for dataset in ("hotpotqa", "fever"):
        for name, n in right.items():
            ids = [f"q{number}" for number in range(10)]
            values = [1] * n + [0] * (10 - n)
            table = pd.DataFrame({"id": ids, **dict.fromkeys(measures_of(dataset), values)})
            tables.append(table.assign(system=name.replace("_", "-"), dataset=dataset))
    return pd.concat(tables, ignore_index=True)


@pytest.fixture
def settings(monkeypatch):
    """SearChain and Self-Ask, which gains, and CoT, which gets nothing."""

    def count_costs(p, grid_of=""):
        systems = ["Self-Ask", "SearChain", *([] if grid_of else ["CoT"])]
        rows = [{"dataset": d, "system": s} for d in ("hotpotqa", "fever") for s in systems]
        costs = {"tokens_in": 90.0 if grid_of else 70.0, "tokens_out": 10.0}
        return pd.DataFrame(rows).assign(**costs, extractions=3.0 if grid_of else 0.0)

    monkeypatch.setattr(equal_tools, "count_costs", count_costs)
    runs, equal = scores_of(CoT=1, Self_Ask=2, SearChain=9), scores_of(Self_Ask=8, SearChain=9)
    return equal_tools.compare_settings(runs, equal, P)


def test_both_settings_beside_each_other(settings):
    before, after = (
        settings[settings["setting"] == n].set_index("system") for n in (PAPERS, TOOLS)
    )
    assert dict(before["mean"]) == {"CoT": 10, "Self-Ask": 20, "SearChain": 90}
    assert dict(after["mean"]) == {"CoT": 10, "Self-Ask": 80, "SearChain": 90}
    assert list(after.loc["Self-Ask", ["tokens", "extractions", "gain"]]) == [100, 3, 60]
    assert list(after.loc["CoT", ["tokens", "extractions"]]) == [80, 0]
    assert before["gain"].isna().all() and pd.isna(after.at["CoT", "gain"])
    p = paired_p([1] * 12 + [0] * 8)  # of both systems that get anything
    assert after.at["Self-Ask", "gain_p_holm"] == pytest.approx(2 * p, abs=1e-4)
    assert before.at["Self-Ask", "p_holm"] < 0.05 < after.at["Self-Ask", "p_holm"]
    wide = equal_tools.beside_each_other(settings)
    assert list(wide.index) == ["SearChain", "Self-Ask", "CoT"]
    row = wide.loc["Self-Ask"]
    assert row[PAPERS].startswith("20.0 (") and row[TOOLS].startswith("80.0 (")
    assert row["gain"].startswith("60.0 (") and wide.at["CoT", "gain"] == ""
    assert row["minus SearChain, papers"] == -70 and row["minus SearChain, equal"] == -10


def test_each_setting_says_what_may_be_concluded(settings):
    papers, tools, gains, apart = conclude_settings(settings).splitlines()
    assert papers == (
        f"- *{PAPERS}*: SearChain has the highest mean, 90.0%; better than SearChain: none; not "
        "told apart from it: none."
    )
    assert tools.endswith("not told apart from it: Self-Ask (-10.0).")
    assert gains.startswith("- Of 2 systems that get anything in addition, these change: Self-Ask")
    assert apart.endswith("not with equal tools: Self-Ask.")
    assert conclude_settings(settings[:0]) == "No system was run on all data sets."


def test_who_gets_nothing_is_compared_as_in_the_papers_only(settings):
    """Below `settings`, whose costs are those of the runs."""
    runs = scores_of(CoT=1)
    one = equal_tools.compare_settings(runs, runs[:0], P)
    assert one[["setting", "system", "mean"]].to_numpy().tolist() == [[PAPERS, "CoT", 10]]
    assert conclude_settings(one) == f"- *{PAPERS}*: CoT has the highest mean, 10.0%."
    wide = equal_tools.beside_each_other(one)
    assert wide.at["CoT", PAPERS].startswith("10.0 (") and pd.isna(wide.at["CoT", TOOLS])
    chosen = pd.DataFrame(columns=["dataset", "system", "k", "m"])
    assert equal_tools.tabulate_chosen(chosen).empty


def test_no_scores_are_no_rows(monkeypatch):
    monkeypatch.setattr(
        equal_tools, "count_costs", lambda p, **of: pd.DataFrame(columns=["system"])
    )
    runs = scores_of(CoT=1)[:0]
    assert equal_tools.compare_settings(runs, runs, P).empty


def test_the_k_that_was_chosen():
    chosen = [("fever", "DSP", 3), ("fever", "ReAct", None), ("zsre", "DSP", 5)]
    table = pd.DataFrame(chosen, columns=["dataset", "system", "k"])
    assert equal_tools.tabulate_chosen(table).to_dict("index") == {"DSP": {"fever": 3, "zsre": 5}}


def test_the_rule_for_what_could_not_be_read_and_what_the_other_one_gives():
    columns = {"thoughts": (), "hops": [], "trace": [], "metric": "cover_em"}
    read = {"answer": "Oslo", "reading": "The answer is Oslo.", "fault": "", "cover_em": 1.0}
    whole = {"answer": "It is Oslo.", "reading": "It is Oslo.", "fault": "none", "cover_em": 1.0}
    empty = {"answer": "", "reading": "I say Oslo", "fault": "none", "cover_em": 1.0}
    tables = [
        pd.DataFrame([columns | row for row in rows]).assign(system=system)
        for system, rows in (
            ("CoT", [read, whole]),
            ("ReAct", [empty, read]),
            ("NoR QA", [whole | {"fault": ""}]),  # IRCoT's readers note no fault
            ("SearChain", [read]),
        )
    ]
    table = equal_tools.compare_rules(tables)
    assert table["whole texts"].to_dict() == {"CoT": 1, "ReAct": 1, "NoR QA": 1}
    assert table["mean"].tolist() == [100, 100, 100]
    assert table["as no answer"].to_dict() == {"CoT": 50, "ReAct": 50, "NoR QA": 0}
    assert equal_tools.compare_rules([]).empty
