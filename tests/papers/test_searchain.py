"""SearChain's tables with our numbers and what its claims compare, from runs written by
hand.
"""

from dataclasses import replace
from itertools import product

import pandas as pd
import pytest
from replying import send
from written import node, run

from ircotlib import program
from ircotlib.data import GoldStep, Node, Paragraph, Question
from ircotlib.datasets import find_dataset
from ircotlib.papers import searchain
from ircotlib.papers import steps as by_steps
from ircotlib.papers.claims import judge_claims
from ircotlib.papers.searchain import (
    ALPHAS,
    TABLE,
    compare_reported,
    count_examples,
    count_steps,
    count_words,
    knowledge_of,
    measure_answers,
    measure_conflicts,
    measure_effects,
    measure_knowledge,
    measure_references,
    measure_searchain,
    measure_steps,
)
from ircotlib.papers.steps import compare_forms, count_forms, measure_known, parts_of
from ircotlib.parameters import read_parameters
from ircotlib.program import (
    LINE,
    Generate,
    Message,
    Outcome,
    Retrieve,
    Sample,
    Sampled,
    Step,
)
from ircotlib.results.runs import KEYS, read_reported
from ircotlib.systems import choose_systems

ROME = Paragraph("p", "Rome", "Rome is a city.")
RUNS = {
    ("musique", "SearChain"): run([1, 1, 1, 0], [node(1), node(2, "verification")]),
    ("musique", "SearChain w/o IR"): run([1, 0, 0, 0], [node(1), node(2), node(3)]),
    ("musique", "CoT"): run([1, 1, 0, 0], reading="One. Two. The answer is x."),
    ("musique", "Self-Ask"): run([1, 0, 0, 0]),
    ("musique", "DSP"): run([0, 0, 1, 0]),
    ("musique", "Least-to-Most"): run([1, 0, 0, 0], thoughts=("a? x.", "b? y.")),
    ("musique", "Self-Ask w/o IR"): run(
        [0, 0, 0, 1], thoughts=("Follow up: a?", "So …")
    ),
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
    papers = pd.concat(
        [read_reported("searchain", source=source) for source in sources]
    )
    papers = papers[~papers["dataset"].isin(without)]["value"]
    assert list(table["paper"].dropna()) == list(papers.round(3))
    assert list(table) == [*TABLE[:-2], *(["low", "high"] if intervals else [])]
    if intervals:
        assert table["ours"].between(table["low"] - 0.001, table["high"] + 0.001).any()


def test_every_number_of_the_paper_stands_first_and_ours_beside():
    ours = [
        ("fever", "CoT", "cover_em", (80.0, None)),
        ("hotpotqa", "IRCoT QA", "cover_em", (1.0, 9)),
    ]
    table = compare_reported(ours, "Table 1")
    kept(table, "Table 1", intervals=False)
    row = cell(table, dataset="fever", system="CoT")
    assert (row["paper"], row["ours"], row["difference"]) == (76.98, 80.0, 3.02)
    assert table["ours"].count() == 2 and tuple(table.iloc[-1][["ours", "n"]]) == (1, 9)
    table = compare_reported(
        [("musique", "ReAct", "misled_by_ir", (5.0, None))], "Table 3(b)"
    )
    # as the paper writes it
    assert cell(table, dataset="musique", system="React")["ours"] == 5


def passed(mark, **fields):
    return Node("q?", "a", 1, mark, passage="p", mark=mark, **fields)


CORRECTED = Node(
    "q?", "a", 1, 2, passage="p", found="b", feedback="verification", mark=2
)
COMPLETED = Node(
    "q?", "", 1, 3, True, passage="p", found="b", feedback="completion", mark=3
)
# not compared
AGAIN, BELOW = Node("q?", "a", 2, 1), Node("q?", "", 1, 3, unsolved=True)
IGNORED = Node("q?", "", 1, 3, True, passage="p", found="b")  # without completion
NODES = [(passed(1), passed(2)), (passed(1), CORRECTED, BELOW, AGAIN)]
NODES += [(passed(1), passed(2), COMPLETED, AGAIN, passed(4)), (passed(1), IGNORED)]
READINGS = [
    "It is A [1] and B [2]. So the final answer is B [1][2].",
    "It is A [1, 2], not [7].",
]
READINGS += ["It is A.", "It is A [sic] [2] [1]."]
WITH = run([1, 1, 0, 0]).assign(nodes=NODES, reading=READINGS)


def test_the_sources_of_knowledge():
    """Table 2: of 9 nodes that were compared, one was corrected and one completed."""
    assert [len(knowledge_of(nodes)) for nodes in NODES] == [2, 2, 4, 1]
    rows = [*measure_knowledge({("musique", "SearChain"): WITH})]
    shares = {metric: values for *_, metric, values in rows}
    assert shares["knowledge_of_llm"] == (pytest.approx(700 / 9), 4)
    assert shares["knowledge_corrected_by_ir"] == (pytest.approx(100 / 9), 4)
    assert shares["knowledge_completed_by_ir"] == (pytest.approx(100 / 9), 4)
    table = compare_reported(measure_knowledge(RUNS), "Table 2")
    kept(table, "Table 2", intervals=False)
    assert (
        cell(table, dataset="musique", metric="knowledge_corrected_by_ir")["ours"] == 50
    )


def test_where_retrieval_helps_and_misleads():
    table = compare_reported(measure_effects(RUNS), "Table 3(a)", "Table 3(b)")
    kept(table, "Table 3(a)", "Table 3(b)")
    row = cell(
        table, dataset="musique", system="SearChain", metric="cover_em_where_ir_helps"
    )
    assert (row["ours"], row["n"]) == (75, 4)
    misled = table[
        (table["metric"] == "misled_by_ir") & table["ours"].notna()
    ].set_index("system")
    assert dict(misled["ours"]) == {"Self-Ask": 50, "DSP": 100, "SearChain": 0}
    exact = misled[["low", "high"]].round(1)  # 0 of 2: 1 - 0.025^(1/2)
    assert tuple(exact.loc["SearChain"]) == (0, 84.2) and tuple(exact.loc["DSP"]) == (
        15.8,
        100,
    )
    # what was not run stays empty
    few = {("musique", "SearChain"): RUNS["musique", "SearChain"]}
    table = compare_reported(measure_effects(few), "Table 3(a)")
    assert table["ours"].isna().all() and table["paper"].notna().all()


def test_steps_of_reasoning():
    """Nodes on the path, or thoughts, or sentences other than the answer's; of
    Least-to-Most the last call, too, and without sub-questions it asks the question
    alone.
    """
    assert list(count_steps(WITH, "SearChain")) == [2, 2, 4, 1]
    without = run([1] * 4, reading="It is A. The answer is B.")
    for name in ("CoT", "Least-to-Most"):
        assert list(count_steps(without, name)) == [1] * 4
    table = compare_reported(measure_steps(RUNS), "Table 4")
    kept(table, "Table 4")
    steps = table[table["dataset"] == "musique_2hop"].set_index("system")["ours"]
    asked = {"CoT": 2, "Self-Ask w/o IR": 1, "Least-to-Most": 3, "SearChain w/o IR": 3}
    assert dict(steps.dropna()) == asked
    row = cell(table, dataset="musique", system="CoT")
    assert (row["paper"], row["ours"]) == (35.04, 50)


def test_references_are_counted_without_facts():
    """3 marks in the first, 1 in the second, 0 in the third; in the fourth only [1]."""
    p = read_parameters("mini", {"datasets": ["musique"], "data_dir": "elsewhere"})
    table = compare_reported(
        measure_references({("musique", "SearChain"): WITH}, p), "Table 5"
    )
    kept(table, "Table 5", intervals=False)
    assert cell(table, system="SearChain", metric="skc")["ours"] == (3 + 1 + 0 + 1) / 4
    assert pd.isna(cell(table, system="SearChain", metric="amp")["ours"])
    assert not [*measure_references({}, p)]


def steps(*pairs):
    return tuple(Step(request, reply, cached=False) for request, reply in pairs)


def test_words_and_rounds():
    """Table 6; prompts of messages and samples are counted too."""
    found, read = (Retrieve("q", 1), (ROME,)), (program.Extract("q", ROME), None)
    messages = Message("user", "one two"), Message("assistant", "three\nfour")
    chain = (
        (Generate("one two three"), "a b"),
        found,
        read,
        found,
        (Generate(messages), "c"),
        found,
    )
    chain = steps(*chain, (Generate("five"), ""))
    expected = {"words_in": 8, "words_out": 3, "rounds": 2}
    assert count_words(Outcome("x", None, chain)) == expected
    drawn = steps((Sample("one  two", 2), (Sampled("a b", None), Sampled("c", -1.0))))
    assert count_words(Outcome("y", None, drawn)) == {
        "words_in": 2,
        "words_out": 3,
        "rounds": 0,
    }


def test_efficiency_is_of_the_first_data_set_and_the_mean_of_all(monkeypatch):
    chain = steps((Generate("one two"), "a"), (Retrieve("q", 1), (ROME,)))
    folders = {(name, "DSP"): name for name in ("musique", "fever")}
    monkeypatch.setattr(searchain, "find_test_runs", lambda p, experiment: folders)
    monkeypatch.setattr(
        searchain, "replay", lambda name: {name: Outcome("x", None, chain)}
    )
    scores = pd.DataFrame(
        {"id": "a", "dataset": ["musique", "fever"], "cover_em": [1.0, 0.5]}
    )
    p = read_parameters("mini", {"datasets": ["musique", "fever"]})
    rows = searchain.measure_efficiency(p, scores.assign(system="DSP"))
    table = compare_reported(rows, "Table 6")
    kept(table, "Table 6", intervals=False)
    ours = table[table["system"] == "DSP"].set_index("metric")["ours"].dropna()
    assert dict(ours) == {"words_in": 2, "words_out": 1, "rounds": 1, "average": 75}


def test_conflicts_of_two_kinds_of_knowledge(monkeypatch):
    """The model alone is right on q0 to q2, wrong on q3; the best pages of q0, q3 have
    it.
    """
    pages = {
        "right": Paragraph("right", "", "It is x."),
        "wrong": Paragraph("wrong", "", "No."),
    }
    corpus = type("Corpus", (), {"find": pages.__getitem__})
    monkeypatch.setattr(searchain, "open_corpus", lambda p, name: ([], [], corpus))
    with_ir = run([1, 1, 0, 1]).assign(answers=[("x",)] * 4)
    with_ir["collected"] = [("right", "wrong"), ("wrong", "right"), (), ("right",)]
    runs = {("hotpotqa", "CoT"): run([1, 1, 1, 0]), ("hotpotqa", "OneR QA"): with_ir}
    p = read_parameters("mini", {"datasets": ["hotpotqa", "fever", "eli5"]})
    table = compare_reported(measure_conflicts(runs, p), "Table 8")
    kept(
        table,
        "Table 8",
        without=("naturalquestions", "squad", "triviaqa", "webquestions"),
    )
    by = {"index": "system", "columns": "metric", "values": "ours"}
    ours = (
        table.dropna(subset="ours")
        .assign(metric=lambda t: t["metric"].str[-5:])
        .pivot(**by)
    )
    assert list(ours["right"][["retriever", "LLM", "LLM w/ IR"]]) == [
        33.333,
        100,
        66.667,
    ]
    assert list(ours["wrong"][["retriever", "LLM", "LLM w/ IR"]]) == [100, 0, 100]


def test_other_models_thresholds_and_examples():
    second = pd.DataFrame(
        {"id": ["a", "b"], "dataset": "eli5", "system": "DSP", "metric": "f1"}
    )
    second = second.assign(rouge_l=[0.5, 0.25])  # the first measure of ELI5
    table = compare_reported(measure_answers(second), "Table 9")
    kept(table, "Table 9")
    assert cell(table, dataset="eli5", system="DSP")["ours"] == 37.5
    alphas = second.assign(system=ALPHAS[0.3], rouge_l=[0.2, 0.3])
    table = compare_reported(measure_answers(alphas), "Table 10")
    kept(table, "Table 10")
    assert list(table["ours"].dropna()) == [25.0]
    setup = type("Setup", (), {"dataset": find_dataset("zsre")})
    setup.prompt = lambda stage, system: type(
        "Prompt", (), {"demonstrations": [stage] * 2}
    )
    rows = count_examples([setup], choose_systems(["Self-Ask"]))
    table = compare_reported(rows, "Table 11")
    kept(table, "Table 11", intervals=False)
    assert dict(table.dropna(subset="ours").set_index("system")["ours"]) == {
        "Self-Ask": 2
    }


def test_what_searchains_claims_compare():
    answers = {"SearChain": [1] * 40, "DSP": [0] * 36 + [1] * 4}
    answers |= {"SearChain w/o IR": [0] * 38 + [1] * 2, "CoT": [1] * 20 + [0] * 20}
    nodes = {"SearChain": [node(1, "completion")]}
    runs = {
        ("musique", n): run(right, nodes.get(n, ())) for n, right in answers.items()
    }
    whole, alone = runs["musique", "SearChain"], runs["musique", "SearChain w/o IR"]
    for id in ("q38", "q39"):
        whole.at[id, "nodes"] = (node(1),)
    for of_system in runs.values():
        of_system["kind"] = ["2hop", "3hop"] * 20
    alone["nodes"] = [(node(1),), (node(1), node(2))] * 20
    forms = product((f"q{n}" for n in range(9)), "ab", [2], (1, 2))
    forms = pd.DataFrame(forms, columns=["id", "panel", "hops", "i"])
    forms["right"] = (forms["panel"] == "a") & (forms["i"] == 1)
    eli5 = [
        (id, ALPHAS[a], n)
        for a in (0.35, 0.4)
        for id, n in (("a", 0.5), ("b", 0.25 + a))
    ]
    eli5 = pd.DataFrame(eli5, columns=["id", "system", "rouge_l"]).assign(
        dataset="eli5"
    )
    about = {"dataset": "musique", "demonstrations": "musique", "model": "gpt-x"}
    scores = [
        one.assign(system=n, cover_em=one["score"]) for (_, n), one in runs.items()
    ]
    scores = pd.concat(scores).rename_axis("id").reset_index().assign(**about)
    second = scores.assign(model="vicuna")
    values = measure_searchain(scores, runs, forms, second, eli5)
    claims, table = judge_claims("searchain", values)
    assert len(claims) == 16 and set(table["model"].dropna()) == {"gpt-x", "vicuna"}
    rows = table.set_index("comparison")
    assert rows.at["SearChain w/o IR > CoT", "verdict"].tolist()[0] == "does not hold"
    misled = rows.loc["DSP > SearChain"]
    assert (misled["ours"], misled["n"], misled["metric"]) == (100, 20, "misled_by_ir")
    helped = rows.loc["SearChain > SearChain w/o IR"]
    assert (helped["ours"], helped["n"]) == (100, 38)
    other = rows.loc["elsewhere > where IR helps"]
    assert (other["ours"], other["n"], other["p"]) == (
        100,
        40,
        pytest.approx(2 / 780, abs=1e-4),
    )
    own = rows.loc["the model's own > half"]
    assert (own["ours"], own["verdict"]) == (-45, "does not hold")
    taken = table[table["claim"] == "SearChain w/o IR takes more steps than others"]
    assert dict(zip(taken["dataset"], taken["ours"])) == {
        "musique_2hop": 1,
        "musique_3hop": 2,
    }
    assert rows.at["musique_3hop > musique_2hop", "ours"] == 1
    form = rows.loc["knowledge in the prompt > sub-questions alone"]
    assert (form["ours"], form["n"], form["p"]) == (
        100,
        9,
        pytest.approx(2 * 0.5**9, abs=1e-4),
    )
    assert rows.at["last 1 by heart > last 2 by heart", "ours"] == 100
    rouge = table[table["source"] == "Table 10"]
    assert list(rouge["ours"]) == [-2.5, 2.5] and set(rouge["margin"]) == {1}
    assert list(table[table["source"] == "Table 9"]["paper"]) == ["+1.53 (Vicuna-13B)"]


STEPS = (
    GoldStep("Who directed F?", "Ada", ()),
    GoldStep("Where was #1 born?", "Varn", ()),
)
QUESTION = Question(
    "q", "Where was the director of F born?", ("Varn",), (), "musique", steps=STEPS
)
OF_Q = parts_of(QUESTION)
OTHER = Question("r", "Who?", ("x",), (), "musique", steps=STEPS)


def test_parts_are_questions_with_the_answers_before_them_filled_in():
    last = replace(
        QUESTION, steps=(*STEPS, GoldStep("Who founded #2, not #1?", "Bel", ()))
    )
    parts = [(part.id, part.text, part.answers) for part in parts_of(last)]
    assert parts == [
        ("q/part 0", "Who directed F?", ("Ada",)),
        ("q/part 1", "Where was Ada born?", ("Varn",)),
        ("q/part 2", "Who founded Varn, not Ada?", ("Bel",)),
    ]


def write(question, thoughts):
    return f"Q: {question.text}\nA: {thoughts[0]}"


DIRECTED = "Q: Who directed F?\nA: "
BELOW = [
    (OF_Q[:1], True, f"{DIRECTED}Ada\n"),
    (OF_Q[:1], False, f"{DIRECTED}\n"),
    ((), True, ""),
]


@pytest.mark.parametrize(("given", "answered", "before"), BELOW)
def test_a_question_below_its_parts(given, answered, before):
    steps = by_steps.answer_given_parts(QUESTION, given, answered, write, max_tokens=9)
    requests, result = send(steps, ["Varn"])
    assert requests == [Generate(f"{before}Q: {QUESTION.text}\nA: ", LINE, 9)]
    assert result.answer == "Varn"


def test_only_what_is_known_is_asked(monkeypatch):
    """The last part of q is known, and both parts of r; so q is only in S_1."""
    setup = type(
        "Setup", (), {"backends": (), "calls": None, "test": [QUESTION, OTHER]}
    )()
    setup.prompt = lambda stage, system: write
    setup.tokens = lambda system: {"max_tokens": 5}
    knows = {"q/part 0": False} | dict.fromkeys(
        ["q/part 1", "r/part 0", "r/part 1"], True
    )

    def run(programs, backends, calls):
        answer = type("P", (), {"answer": "Varn"})
        return {id: Outcome(id, answer, ()) for id in programs}, {}

    monkeypatch.setattr(by_steps, "run", run)
    table = compare_forms(setup, pd.Series(knows))
    rows = [tuple(row) for row in table[["id", "panel", "i", "right"]].to_numpy()]
    assert rows == [
        ("q", "a", 1, True),
        *(("r", x, i, False) for x in "ab" for i in (1, 2)),
    ]
    assert compare_forms(setup, pd.Series(dict.fromkeys(knows, False))).empty
    counted = count_forms(table)[["panel", "i", "n"]].to_numpy().tolist()
    of_r = [["a of b", 1, 1], ["a of b", 2, 1], ["b", 1, 1], ["b", 2, 1]]
    assert counted == [["a", 1, 2], ["a", 2, 1], *of_r]
    # Table 7, of those all of whose parts are known: r
    known = compare_reported(
        measure_known(pd.Series({"q": False, "r": True}), table), "Table 7"
    )
    kept(known, "Table 7")
    assert list(known["ours"][:1]) == [1] and list(known["n"][:1]) == [1]
    assert list(known)[:3] == KEYS
