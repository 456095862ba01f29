"""SearChain's tables with our numbers, and what its claims compare, by hand."""

import pandas as pd
import pytest
from written import node, run

from ircotlib.data import Node, Paragraph
from ircotlib.datasets import find_dataset
from ircotlib.papers import searchain
from ircotlib.papers.claims import list_comparisons
from ircotlib.papers.searchain import TABLE, Measured, compare_reported, count_steps
from ircotlib.parameters import read_parameters
from ircotlib.program import (
    Extract,
    Generate,
    Message,
    Outcome,
    Retrieve,
    Sample,
    Sampled,
    Step,
)
from ircotlib.results.runs import read_reported
from ircotlib.systems import choose_systems

ROME = Paragraph("p", "Rome", "Rome is a city.")
RUNS = {
    ("musique", "SearChain"): run([1, 1, 1, 0], [node(1), node(2, "verification")]),
    ("musique", "SearChain w/o IR"): run([1, 0, 0, 0], [node(1), node(2), node(3)]),
    ("musique", "CoT"): run([1, 1, 0, 0], reading="One. Two. The answer is x."),
    ("musique", "Self-Ask"): run([1, 0, 0, 0]),
    ("musique", "DSP"): run([0, 0, 1, 0]),
    ("musique", "Least-to-Most"): run([1, 0, 0, 0], thoughts=("a? x.", "b? y.")),
    ("musique", "Self-Ask w/o IR"): run([0, 0, 0, 1], thoughts=("Follow up: a?", "So")),
}


def cell(table, **wanted):
    for name, value in wanted.items():
        table = table[table[name] == value]
    [row] = table.to_dict("records")
    return row


def kept(table, *sources, without=(), intervals=True):
    """Whether the table has every number of the paper, in its order, except on some
    data sets; and intervals, if it is one of means of questions.
    """
    papers = pd.concat([read_reported("searchain", source=name) for name in sources])
    papers = papers[~papers["dataset"].isin(without)]["value"]
    assert list(table["paper"].dropna()) == list(papers.round(3))
    assert list(table) == [*TABLE[:-2], *(["low", "high"] if intervals else [])]
    if intervals:
        assert table["ours"].between(table["low"] - 0.001, table["high"] + 0.001).any()


def test_every_number_of_the_paper_stands_first_and_ours_beside():
    ours = [
        Measured("fever", "CoT", "cover_em", 80.0),
        Measured("hotpotqa", "IRCoT QA", "cover_em", 1.0, 9),
    ]
    table = compare_reported(ours, "Table 1")
    kept(table, "Table 1", intervals=False)
    row = cell(table, dataset="fever", system="CoT")
    assert (row["paper"], row["ours"], row["difference"]) == (76.98, 80.0, 3.02)
    assert table["ours"].count() == 2 and tuple(table.iloc[-1][["ours", "n"]]) == (1, 9)
    ours = [Measured("musique", "ReAct", "misled_by_ir", 5.0)]
    table = compare_reported(ours, "Table 3(b)")
    # the paper writes React
    assert cell(table, dataset="musique", system="ReAct")["ours"] == 5


def passed(mark, **fields):
    return Node("q?", "a", 1, mark, passage="p", mark=mark, **fields)


FOUND = {"passage": "p", "found": "b"}
CORRECTED = Node("q?", "a", 1, 2, feedback="verification", mark=2, **FOUND)
COMPLETED = Node("q?", "", 1, 3, True, feedback="completion", mark=3, **FOUND)
# not compared
AGAIN, BELOW = Node("q?", "a", 2, 1), Node("q?", "", 1, 3, unsolved=True)
IGNORED = Node("q?", "", 1, 3, True, **FOUND)  # without completion
NODES = [(passed(1), passed(2)), (passed(1), CORRECTED, BELOW, AGAIN)]
NODES += [(passed(1), passed(2), COMPLETED, AGAIN, passed(4)), (passed(1), IGNORED)]
READINGS = [
    "It is A [1] and B [2]. So the final answer is B [1][2].",
    "It is A [1, 2], not [7].",
    "It is A.",
    "It is A [sic] [2] [1].",
]
WITH = run([1, 1, 0, 0]).assign(nodes=NODES, reading=READINGS)


def test_the_sources_of_knowledge():
    """Table 2: of 9 nodes that were compared, one was corrected and one completed."""
    assert [len(searchain.knowledge_of(nodes)) for nodes in NODES] == [2, 2, 4, 1]
    rows = list(searchain.measure_knowledge({("musique", "SearChain"): WITH}))
    sources = [row.metric.split("_")[1] for row in rows]
    assert sources == ["of", "corrected", "completed"]
    assert [row.values for row in rows] == pytest.approx([700 / 9, 100 / 9, 100 / 9])
    assert {row.n for row in rows} == {4}
    table = compare_reported(searchain.measure_knowledge(RUNS), "Table 2")
    kept(table, "Table 2", intervals=False)
    row = cell(table, dataset="musique", metric="knowledge_corrected_by_ir")
    assert row["ours"] == 50


def test_where_retrieval_helps_and_misleads():
    table = compare_reported(
        searchain.measure_effects(RUNS), "Table 3(a)", "Table 3(b)"
    )
    kept(table, "Table 3(a)", "Table 3(b)")
    helped = table[table["metric"] == "cover_em_where_ir_helps"]
    row = cell(helped, dataset="musique", system="SearChain")
    assert (row["ours"], row["n"]) == (75, 4)
    misled = table[table["metric"] == "misled_by_ir"].dropna(subset="ours")
    misled = misled.set_index("system")
    assert dict(misled["ours"]) == {"Self-Ask": 50, "DSP": 100, "SearChain": 0}
    exact = misled[["low", "high"]].round(1)  # 0 of 2: 1 - 0.025^(1/2)
    assert tuple(exact.loc["SearChain"]) == (0, 84.2)
    assert tuple(exact.loc["DSP"]) == (15.8, 100)
    few = {("musique", "SearChain"): RUNS["musique", "SearChain"]}
    assert not [*searchain.measure_effects(few)]  # what was not run stays empty


def test_steps_of_reasoning():
    """Nodes on the path, or thoughts, or sentences other than the answer's; of
    Least-to-Most the last call, too, and without sub-questions it asks the question
    alone.
    """
    assert list(count_steps(WITH, "SearChain")) == [2, 2, 4, 1]
    without = run([1] * 4, reading="It is A. The answer is B.")
    for name in ("CoT", "Least-to-Most"):
        assert list(count_steps(without, name)) == [1] * 4
    table = compare_reported(searchain.measure_steps(RUNS), "Table 4")
    kept(table, "Table 4")
    steps = table[table["dataset"] == "musique_2hop"].set_index("system")["ours"]
    asked = {"CoT": 2, "Self-Ask w/o IR": 1, "Least-to-Most": 3, "SearChain w/o IR": 3}
    assert dict(steps.dropna()) == asked
    row = cell(table, dataset="musique", system="CoT")
    assert (row["paper"], row["ours"]) == (35.04, 50)


def test_references_are_counted():
    """3 marks in the first, 1 in the second, 0 in the third; in the fourth only [1]."""
    rows = searchain.measure_references({("musique", "SearChain"): WITH})
    table = compare_reported(rows, "Table 5")
    kept(table, "Table 5", intervals=False)
    assert cell(table, system="SearChain", metric="skc")["ours"] == (3 + 1 + 0 + 1) / 4
    assert not [*searchain.measure_references({})]


def steps(*pairs):
    return tuple(Step(request, reply, cached=False) for request, reply in pairs)


def test_words_and_rounds():
    """Table 6; prompts of messages and samples are counted too."""
    found = (Retrieve("q", 1), (ROME,))
    read = (Extract("q", ROME), None)
    messages = Message("user", "one two"), Message("assistant", "three\nfour")
    written = [(Generate("one two three"), "a b"), (Generate(messages), "c")]
    last = (Generate("five"), "")
    chain = steps(written[0], found, read, found, written[1], found, last)
    expected = {"words_in": 8, "words_out": 3, "rounds": 2}
    assert searchain.count_words(Outcome("x", None, chain)) == expected
    drawn = steps((Sample("one  two", 2), (Sampled("a b", None), Sampled("c", -1.0))))
    expected = {"words_in": 2, "words_out": 3, "rounds": 0}
    assert searchain.count_words(Outcome("y", None, drawn)) == expected


def test_efficiency_is_of_the_first_data_set_and_the_mean_of_all(monkeypatch):
    chain = steps((Generate("one two"), "a"), (Retrieve("q", 1), (ROME,)))
    folders = {(name, "DSP"): name for name in ("musique", "fever")}
    monkeypatch.setattr(searchain, "find_test_runs", lambda p, experiment: folders)
    outcomes = {"x": Outcome("x", None, chain)}
    monkeypatch.setattr(searchain, "replay", lambda folder: outcomes)
    columns = {"id": "a", "dataset": ["musique", "fever"], "cover_em": [1.0, 0.5]}
    scores = pd.DataFrame(columns)
    p = read_parameters("mini", {"datasets": ["musique", "fever"]})
    rows = searchain.measure_efficiency(p, scores.assign(system="DSP"))
    table = compare_reported(rows, "Table 6")
    kept(table, "Table 6", intervals=False)
    ours = table[table["system"] == "DSP"].set_index("metric")["ours"].dropna()
    assert dict(ours) == {"words_in": 2, "words_out": 1, "rounds": 1, "average": 75}


def test_conflicts_of_two_kinds_of_knowledge(monkeypatch):
    """Alone right on q0 to q2, wrong on q3; the best pages of q0 and q3 have it."""
    texts = {"right": "It is x.", "wrong": "No."}
    pages = {id: Paragraph(id, "", text) for id, text in texts.items()}
    corpus = type("Corpus", (), {"find": pages.__getitem__})
    monkeypatch.setattr(searchain, "open_corpus", lambda p, name: ([], [], corpus))
    with_ir = run([1, 1, 0, 1]).assign(answers=[("x",)] * 4)
    with_ir["collected"] = [("right", "wrong"), ("wrong", "right"), (), ("right",)]
    runs = {("hotpotqa", "CoT"): run([1, 1, 1, 0]), ("hotpotqa", "OneR QA"): with_ir}
    p = read_parameters("mini", {"datasets": ["hotpotqa", "fever", "eli5"]})
    table = compare_reported(searchain.measure_conflicts(runs, p), "Table 8")
    others = ("naturalquestions", "squad", "triviaqa", "webquestions")
    kept(table, "Table 8", without=others)
    ours = table.dropna(subset="ours")
    ours = ours.assign(side=ours["metric"].str[-5:])
    ours = ours.pivot(index="side", columns="system", values="ours")
    ours = ours[["retriever", "LLM", "LLM w/ IR"]]
    assert list(ours.loc["right"]) == [33.333, 100, 66.667]
    assert list(ours.loc["wrong"]) == [100, 0, 100]


def test_other_models_thresholds_and_examples():
    second = pd.DataFrame({"id": ["a", "b"], "dataset": "eli5", "system": "DSP"})
    second = second.assign(metric="f1", rouge_l=[0.5, 0.25])  # ELI5's first measure
    table = compare_reported(searchain.measure_answers(second), "Table 9")
    kept(table, "Table 9")
    assert cell(table, dataset="eli5", system="DSP")["ours"] == 37.5
    alphas = second.assign(system=searchain.ALPHAS[0.3], rouge_l=[0.2, 0.3])
    table = compare_reported(searchain.measure_answers(alphas), "Table 10")
    kept(table, "Table 10")
    assert list(table["ours"].dropna()) == [25.0]
    setup = type("Setup", (), {"dataset": find_dataset("zsre")})
    prompt = type("Prompt", (), {"demonstrations": ["one", "another"]})
    setup.prompt = lambda stage, system: prompt
    rows = searchain.count_examples([setup], choose_systems(["Self-Ask"]))
    table = compare_reported(rows, "Table 11")
    kept(table, "Table 11", intervals=False)
    assert cell(table.dropna(subset="ours"), system="Self-Ask")["ours"] == 2


def test_what_searchains_claims_compare():
    answers = {"SearChain": [1] * 40, "DSP": [0] * 36 + [1] * 4}
    answers |= {"SearChain w/o IR": [0] * 38 + [1] * 2, "CoT": [1] * 20 + [0] * 20}
    runs = {("musique", name): run(right) for name, right in answers.items()}
    whole = runs["musique", "SearChain"]
    whole["nodes"] = [(node(1, "completion"),)] * 40
    for id in ("q38", "q39"):
        whole.at[id, "nodes"] = (node(1),)
    scores = pd.concat({name: one for (_, name), one in runs.items()})
    scores = scores.rename_axis(["system", "id"]).reset_index()
    scores = scores.assign(cover_em=scores["score"], dataset="musique", model="gpt-x")
    scores["demonstrations"] = "musique"
    second = scores.assign(model="vicuna")
    table = list_comparisons(
        "searchain", searchain.measure_claimed(scores, runs, second)
    )
    assert set(table["model"]) == {"gpt-x", "vicuna"}
    rows = table.set_index(["comparison", "source"])
    alone = rows.loc["SearChain w/o IR > CoT", "(1), Table 1"]
    assert (alone["mean"], alone["n"]) == (-45, 40) and alone["p"] < 0.001
    misled = rows.loc["DSP > SearChain", "(2), Table 3(b)"]
    assert (misled["mean"], misled["n"], misled["metric"]) == (100, 20, "misled_by_ir")
    helped = rows.loc["SearChain > SearChain w/o IR", "(1), Table 3(a)"]
    assert (helped["mean"], helped["n"]) == (100, 38)
    assert list(table[table["source"] == "Table 9"]["paper"]) == ["+1.53 (Vicuna-13B)"]
