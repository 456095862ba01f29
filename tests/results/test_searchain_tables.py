"""SearChain's tables with our numbers, from runs written by hand; and pictures of its results."""

import pandas as pd
from written import node, run

from ircotlib.datasets import find_dataset
from ircotlib.parameters import read_parameters
from ircotlib.results import reported, tables
from ircotlib.results.cases import find_cases
from ircotlib.results.figures.lines import draw_forms
from ircotlib.results.figures.rows import draw_by_dataset, draw_front
from ircotlib.results.markdown import as_wide_markdown
from ircotlib.results.reported import read_reported
from ircotlib.systems import choose_systems

RUNS = {
    ("musique", "SearChain"): run([1, 1, 1, 0], [node(1), node(2, "verification")]),
    ("musique", "SearChain w/o IR"): run([1, 0, 0, 0], [node(1), node(2), node(3)]),
    ("musique", "CoT"): run([1, 1, 0, 0], reading="One. Two. The answer is x."),
    ("musique", "Self-Ask"): run([1, 0, 0, 0]),
    ("musique", "DSP"): run([0, 0, 1, 0]),
    ("musique", "Least-to-Most"): run([1, 0, 0, 0], thoughts=("a? x.", "b? y.")),
    ("musique", "Self-Ask w/o IR"): run([0, 0, 0, 1], thoughts=("Follow up: a?", "So …")),
}


def cell(table, **wanted):
    for name, value in wanted.items():
        table = table[table[name] == value]
    [row] = table.to_dict("records")
    return row


def kept(table, *sources, without=(), intervals=True):
    """Whether the table has every number of the paper, in its order, except on some data sets; and
    intervals, if it is one of means of questions.
    """
    papers = pd.concat([read_reported("searchain", source=source) for source in sources])
    papers = papers[~papers["dataset"].isin(without)]["value"]
    assert list(table["paper"].dropna()) == list(papers.round(3))
    assert list(table) == [*reported.TABLE[:-2], *(["low", "high"] if intervals else [])]
    if intervals:
        assert table["ours"].between(table["low"] - 0.001, table["high"] + 0.001).any()


def test_every_number_of_the_paper_stands_first_and_ours_beside():
    ours = [("fever", "CoT", "cover_em", 80.0), ("hotpotqa", "IRCoT QA", "cover_em", 1.0)]
    ours.append(("hotpotqa", "IRCoT QA", "f1", 2.0))
    table = tables.table_1(pd.DataFrame(ours, columns=[*reported.KEYS, "mean"]).assign(n=9))
    kept(table, "Table 1", intervals=False)
    row = cell(table, dataset="fever", system="CoT")
    assert (row["paper"], row["ours"], row["difference"], row["n"]) == (76.98, 80.0, 3.02, 9)
    assert table["ours"].count() == 2 and table["ours"].iloc[-1] == 1
    lines = as_wide_markdown(table).splitlines()
    assert lines[0].startswith("| system | HotpotQA | MuSiQue |")
    assert any(line.startswith("| CoT | – (35.04)") and "80 (76.98)" in line for line in lines)


def test_sources_and_effects_of_retrieval():
    table = tables.table_2(RUNS)
    kept(table, "Table 2", intervals=False)
    assert cell(table, dataset="musique", metric="knowledge_corrected_by_ir")["ours"] == 50
    table = tables.table_3(RUNS)
    kept(table, "Table 3(a)", "Table 3(b)")
    row = cell(table, dataset="musique", system="SearChain", metric="cover_em_where_ir_helps")
    assert (row["ours"], row["n"]) == (75, 4)
    misled = table[(table["metric"] == "misled_by_ir") & table["ours"].notna()]
    shares = dict(zip(misled["system"], misled["ours"], strict=True))
    assert shares == {"Self-Ask": 50, "DSP": 100, "SearChain": 0} and set(misled["n"]) == {2}
    exact = misled.set_index("system")[["low", "high"]].round(1)  # 0 of 2: 1 - 0.025^(1/2)
    assert tuple(exact.loc["SearChain"]) == (0, 84.2) and tuple(exact.loc["DSP"]) == (15.8, 100)


def test_what_was_not_run_stays_empty():
    few = {("musique", "SearChain"): RUNS["musique", "SearChain"]}
    for table in (tables.table_3(few), tables.table_4(few)):
        assert table["ours"].isna().all() and table["paper"].notna().all()
    assert find_cases(few, "SearChain", "SearChain w/o IR").empty


def test_steps_of_reasoning():
    table = tables.table_4(RUNS)
    kept(table, "Table 4")
    steps = table[table["dataset"] == "musique_2hop"].set_index("system")["ours"]
    asked = {"CoT": 2, "Self-Ask w/o IR": 1, "Least-to-Most": 3, "SearChain w/o IR": 3}
    assert dict(steps.dropna()) == asked
    row = cell(table, dataset="musique", system="CoT")
    assert (row["paper"], row["ours"]) == (35.04, 50)


def test_references_are_counted_without_facts():
    p = read_parameters("mini", {"datasets": ["musique"], "data_dir": "elsewhere"})
    marked = {**RUNS, ("musique", "SearChain"): run([1], [node(1)], reading="A [1]. B [1]. C.")}
    table = tables.table_5(marked, p)
    kept(table, "Table 5", intervals=False)
    assert cell(table, system="SearChain", metric="skc")["ours"] == 2
    assert pd.isna(cell(table, system="SearChain", metric="amp")["ours"])


def test_questions_all_of_whose_parts_are_known():
    hops = {"q0": 2, "q2": 3, "q3": 2}  # not all parts of q1 are known
    rows = [(id, "b", n, i) for id, n in hops.items() for i in range(1, n + 1)] + [
        ("q1", "a", 2, 1)
    ]
    forms = pd.DataFrame(rows, columns=["id", "panel", "hops", "i"])
    table = tables.table_7(run([1, 1, 0, 0.5]), forms)
    kept(table, "Table 7")
    assert list(table["ours"][:2]) == [0.75, 0] and list(table["n"][:2]) == [2, 1]


def test_conflicts_of_two_kinds_of_knowledge(monkeypatch):
    """The model alone is right on q0, q1 and q2, and wrong on q3."""
    best = pd.Series({"q0": True, "q1": False, "q2": False, "q3": True})
    monkeypatch.setattr(tables, "_judge_best_passages", lambda p, dataset: best)
    runs = {("hotpotqa", "CoT"): run([1, 1, 1, 0]), ("hotpotqa", "OneR QA"): run([1, 1, 0, 1])}
    p = read_parameters("mini", {"datasets": ["hotpotqa", "fever", "eli5"]})
    table = tables.table_8(runs, p)
    kept(table, "Table 8", without=("naturalquestions", "squad", "triviaqa", "webquestions"))
    by = {"index": "system", "columns": "metric", "values": "ours"}
    ours = table.dropna(subset="ours").assign(metric=lambda t: t["metric"].str[-5:]).pivot(**by)
    assert list(ours["right"][["retriever", "LLM", "LLM w/ IR"]]) == [33.333, 100, 66.667]
    assert list(ours["wrong"][["retriever", "LLM", "LLM w/ IR"]]) == [100, 0, 100]


def test_other_models_thresholds_and_examples():
    second = pd.DataFrame({"dataset": "eli5", "system": "DSP", "rouge_l": [0.5, 0.25]})
    table = tables.table_9(second)
    kept(table, "Table 9")
    assert cell(table, dataset="eli5", system="DSP")["ours"] == 37.5
    assert tables.table_9(pd.DataFrame())["ours"].isna().all()
    table = tables.table_10({0.3: [pd.DataFrame({"rouge_l": [0.2, 0.3]})]})
    kept(table, "Table 10")
    assert list(table["ours"].dropna()) == [25.0]

    class Setup:
        dataset = find_dataset("zsre")

        def prompt(self, stage, system):
            return type("Prompt", (), {"demonstrations": [stage] * (stage == "read")})

    table = tables.table_11([Setup()], choose_systems(["Self-Ask", "CoT"]))
    kept(table, "Table 11", intervals=False)
    ours = table.dropna(subset="ours").set_index("system")["ours"]
    assert dict(ours) == {"CoT": 0, "Self-Ask": 1}


def marked(axis):
    """What the marks of a panel say."""
    gids = [line.get_gid() or "" for line in axis.lines]
    return [gid.removeprefix("title: ") for gid in gids if gid.startswith("title: ")]


def test_pictures_have_what_the_tables_have():
    row = {"retriever": "BM25", "system": "CoT", "tokens": 10.0, "mean": 5.0, "reported": 7.0}
    row |= {"low": 4.0, "high": 6.0, "p_holm": 0.5}
    means = pd.DataFrame([row | {"on_front": True}, row | {"system": "DSP", "tokens": 99.0}])
    means["on_front"] = means["on_front"].fillna(False).astype(bool)
    said = [marked(axis) for axis in draw_front(means, "title").axes]
    scores = ["CoT: 5.0 (4.0 to 6.0)", "CoT, the paper: 7.0", "DSP: 5.0 (4.0 to 6.0)"]
    assert said[0] == [*scores, "DSP, the paper: 7.0"]
    assert said[1] == ["CoT: 10 tokens a question", "DSP: 99 tokens a question"]
    forms = pd.DataFrame({"panel": ["b", "a", "a"], "hops": 2, "i": [1, 2, 1], "accuracy": 0.5})
    figure = draw_forms(forms.assign(n=[7, 8, 9], low=0.3, high=0.7), "t")
    answered, asked = (axis.lines[0].get_xdata().tolist() for axis in figure.axes)
    assert answered == [1, 2] and asked == [1]
    names = [[text.get_text() for text in axis.texts] for axis in figure.axes]
    assert names == [["2 hops (8 to 9)"], ["2 hops (7)"]]
    table = pd.DataFrame([row | {"dataset": "eli5", "metric": "rouge_l", "low": 4.0, "high": 6.0}])
    [axis] = draw_by_dataset(table, "title").axes
    assert marked(axis) == ["CoT: 5.0 (4.0 to 6.0)", "CoT, the paper: 7.0"]
    unknown = table.assign(reported=pd.Series([None], dtype=object))  # no paper has the data set
    [axis] = draw_by_dataset(unknown, "title").axes
    assert marked(axis) == ["CoT: 5.0 (4.0 to 6.0)"]


def test_the_most_telling_questions_come_first():
    helped = node(1, "verification"), node(2, "completion")
    whole, without = run([1, 1, 0, 1]), run([0, 0, 1, 1])
    whole["nodes"] = [helped[:1], helped, (node(1),), ()]
    runs = {("musique", "W"): whole, ("musique", "O"): without, ("musique", "X"): run([0, 1, 1, 0])}
    cases = find_cases(runs, "W", "O")
    assert list(cases["case"]) == ["rescued", "misled"] and list(cases["id"]) == ["q1", "q2"]
    assert list(cases["others"]) == [1, 1] and list(cases["of"]) == [1, 1]
    runs["musique", "W"]["nodes"] = [helped] * 4
    assert list(find_cases(runs, "W", "O")["id"]) == ["q0", "q2"]  # fewer other systems are right
