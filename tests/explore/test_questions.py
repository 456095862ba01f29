"""Runs question by question, and the widgets, without a browser."""

import html
import json
import re
import shutil
import sqlite3
from types import SimpleNamespace
from unittest.mock import Mock

import pandas as pd
import pytest

from ircotlib import replay
from ircotlib.datasets import Evidence
from ircotlib.errors import DataError, UserError
from ircotlib.experiment.replay import open_recorded
from ircotlib.experiment.runs import Run
from ircotlib.experiment.stored import parameters_of, read_predictions, write_run
from ircotlib.explore import box
from ircotlib.explore.questions import compare_runs, show_question
from ircotlib.explore.report import write_report
from ircotlib.parameters import read_parameters
from ircotlib.program import Generate
from ircotlib.results import causes
from ircotlib.results.causes import CAUSES, find_causes
from ircotlib.systems import all_systems

NOTHING = {"answer": "", "paragraphs": [], "thoughts": [], "reading": "", "nodes": []}
NOTHING |= {"hops": [], "fault": "", "trace": []}


@pytest.fixture
def copied(ran, tmp_path):
    """A copy of a run that a test may damage."""
    where = "runs/mini/04_ircot-1a/hotpotqa/test/IRCoT-QA k=2"
    return shutil.copytree(ran["IRCoT QA"], tmp_path / where)


def write_lines(folder, opened, lines, scores):
    """Write a run by hand: fields of predictions.jsonl, and F1, of a few questions."""
    run = Run(opened, all_systems()["IRCoT QA"], "test", {})
    ids = [question.id for question in opened.test[: len(lines)]]
    rows = [{"id": id} | NOTHING | line for id, line in zip(ids, lines, strict=True)]
    table = pd.DataFrame({"id": ids, "kind": "", "f1": scores, "recall": 1.0})
    about = run.identity | {"questions": len(ids), "counts": {}}
    write_run(folder, rows, table.assign(paragraphs=0, steps=0), about)
    return folder


def edit(folder, **fields):
    """Change fields of the first line of predictions.jsonl."""
    path = folder / "predictions.jsonl"
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps(json.loads(first) | fields), *others, ""]))


def test_two_runs_are_compared_on_the_same_questions(opened, ran, tmp_path):
    table = compare_runs(ran["IRCoT QA"], ran["OneR QA"])
    a, b = (find_causes(ran[name]) for name in ("IRCoT QA", "OneR QA"))
    assert list(table["id"]) == list(a["id"])
    assert list(table["score_a"]) == list(a["f1"])
    assert list(table["answer_b"]) == list(b["answer"])
    assert list(table["cause_b"]) == list(b["cause"])
    wins, losses = ((sign * (a["f1"] - b["f1"]) > 0).sum() for sign in (1, -1))
    counts = table["outcome"].value_counts()
    assert (counts["win"], counts.get("loss", 0), counts.sum()) == (wins, losses, 10)
    ours = write_lines(tmp_path / "a/b/c/a", opened, [{}] * 3, [0.1 + 0.2, 1, None])
    theirs = write_lines(tmp_path / "a/b/c/b", opened, [{}] * 3, [0.3, 0, 0])
    by_hand = compare_runs(ours, theirs)
    assert list(by_hand["outcome"]) == ["tie", "win", "not scored"]


def test_known_facts_decide_else_gold_paragraphs(opened, tmp_path, monkeypatch):
    q = opened.test
    reading = "It is y. So the answer is: x."
    lines = [
        {"reading": "It is x.", "answer": "x", "trace": [{"retrieve": "x"}]},
        {"answer": "x", "paragraphs": q[1].gold, "reading": reading},
        {"answer": q[2].answers[0]},
    ]
    run = write_lines(tmp_path / "a/b/c/run", opened, lines, [0, 0, 1])
    weighed = Evidence(written=False, asked=False, searched=False, retrieved=False)
    facts = SimpleNamespace(weigh=lambda attempt, question: weighed)
    for known, found in (
        (None, ["not retrieved", "misread", ""]),
        (facts, ["wrong decomposition", "wrong decomposition", ""]),
    ):
        monkeypatch.setattr(causes, "find_facts", lambda p, dataset, known=known: known)
        assert list(find_causes(run)["cause"]) == found
    # for q[1] it did not search
    known = find_causes(run, "", {q[0].id: True, q[1].id: True})
    assert list(known["cause"]) == ["misled by retrieval", "wrong decomposition", ""]


def test_a_question_is_shown_with_its_exact_prompts(opened, ran):
    outcomes = replay(ran["IRCoT QA"])
    for question in opened.test[:3]:
        page = show_question(ran["IRCoT QA"], question.id)
        steps = outcomes[question.id].trace
        asked = [s.request for s in steps if isinstance(s.request, Generate)]
        folded = re.findall("tokens</summary><pre>(.*?)</pre>", page, re.DOTALL)
        assert [html.unescape(text) for text in folded] == [r.prompt for r in asked]
        said = html.unescape(page)
        assert len(folded) > 1 and question.text in said
        assert f"gold answer: <b>{question.answers[0]}</b>" in said
        for id in question.gold:
            paragraph = opened.retriever.corpus.find(id)
            head = f"★ gold paragraph: <b>{paragraph.title}.</b>"
            assert f"{head} {paragraph.text}" in said
        answer = outcomes[question.id].result.answer
        assert f"answer: <b>{answer}</b> · f1 " in said and " gold paragraphs" in said
        assert "<h4>IRCoT QA, k 2, mini-base</h4>" in said
        assert "when it was scored" not in said and " ★" in said.split("<h4>")[1]
        assert "IRCoT QA writes the next sentence" in said


def test_two_runs_stand_side_by_side(opened, ran):
    page = show_question(ran["IRCoT QA"], opened.test[0].id, ran["OneR QA"])
    heads = re.findall("<h4>(.*)</h4>", page)
    assert heads == ["IRCoT QA, k 2, mini-base", "OneR QA, k 2, mini-base"]
    assert page.count("<h3>") == 1 and page.count("<div>") == 2
    with pytest.raises(ValueError, match="found no question 'x' in 10"):
        show_question(ran["IRCoT QA"], "x")


def test_a_replay_that_answers_otherwise_is_marked(opened, copied):
    edit(copied, answer="<b>Oz")
    page = html.unescape(show_question(copied, opened.test[0].id))
    before = "when it was scored, it answered “<b>Oz”"
    assert f"{before}: the system's program is another one" in page


@pytest.fixture
def asked(httpserver, monkeypatch):
    """A server, to which a run of others sends those who look at it."""
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("ELASTICSEARCH_API_KEY", "secret")
    httpserver.expect_request(re.compile(".*")).respond_with_json({})
    return httpserver


@pytest.mark.parametrize("part", ["server", "retriever"])
def test_looking_at_a_run_of_others_asks_nobody(
    opened, copied, displayed, asked, part, tmp_path
):
    about = json.loads((copied / "run.json").read_text())
    about["parameters"][part] = asked.url_for("").rstrip("/")
    about[f"{'model' if part == 'server' else part}_fingerprint"] = "of others"
    (copied / "run.json").write_text(json.dumps(about))
    box.explore_box([copied])
    lost = "its steps are not shown: the call cache of this machine lacks replies"
    assert lost in displayed[0].page.value and displayed[0].question.options
    assert lost in show_question(copied, opened.test[0].id)
    assert write_report([copied], tmp_path / "page.html") == 1
    with pytest.raises(DataError, match="lacks replies, .*; run its notebook again"):
        replay(copied)
    assert not asked.log
    # nothing is opened
    assert open_recorded(parameters_of(about), about).backends[0].fingerprint


def test_a_run_of_a_system_that_is_not_here_is_shown_without_its_steps(
    copied, tmp_path
):
    """Such as one that is declared in a notebook, which other processes lack."""
    about = json.loads((copied / "run.json").read_text())
    about["system"] = "Of a notebook"
    (copied / "run.json").write_text(json.dumps(about))
    assert write_report([copied], tmp_path / "page.html") == 1
    id = find_causes(copied)["id"][0]
    assert "or the system or the model" in show_question(copied, id)


def test_a_question_without_a_score_is_neither_right_nor_wrong(copied, displayed):
    scores = pd.read_csv(copied / "scores.csv", dtype={"id": str})
    scores.loc[:2, "f1"] = [float("nan"), 1, 0]
    scores.to_csv(copied / "scores.csv", index=False)
    table = find_causes(copied)
    assert list(table["right"][:3]) == [None, True, False]
    assert list(table["cause"][:2]) == ["not scored", ""]
    assert table["cause"][2] in CAUSES
    assert show_question(copied, table["id"][0]).count("not scored") == 1
    box.explore_box([copied])
    for which, at in (("not scored", 0), ("right", 1), ("wrong", 2)):
        choose(displayed[0], which=which)
        listed = [id for _, id in displayed[0].question.options]
        assert [n for n in range(3) if table["id"][n] in listed] == [at]


def choose(explorer, **chosen):
    """Choose in the lists of the explorer."""
    names = ("experiment", "data", "run", "beside", "which")
    lists = dict(zip(names, explorer.chosen, strict=True))
    for name, label in chosen.items():
        widget = lists[name]
        widget.index = [text for text, _ in widget.options].index(label)
    return {name: [text for text, _ in lists[name].options] for name in names}


def test_clicks_in_the_box_read_the_causes_of_a_run_once(ran, displayed, monkeypatch):
    read = []  # the runs whose causes are found

    def read_and_note(folder, measure):
        read.append(folder)
        return read_predictions(folder, measure)

    monkeypatch.setattr(causes, "read_predictions", read_and_note)
    box.explore_box([ran["IRCoT QA"], ran["OneR QA"]])
    [explorer] = displayed
    for widget, at in ((explorer.question, 2), (explorer.chosen[3], 1)):
        widget.index = at  # another question; the other run beside it
        explorer.question.index = 1
    assert explorer.page.value.count("<h4>") == 2
    assert sorted(read) == sorted([ran["IRCoT QA"], ran["OneR QA"]])


def test_the_box_shows_a_run_question_by_question(ran, displayed, copied):
    box.explore_box([*ran.values(), copied])
    [explorer] = displayed
    offered = choose(explorer)
    assert offered["experiment"] == ["04_ircot"]
    assert offered["data"] == ["HotpotQA, test"]
    choose(explorer, run="IRCoT QA")
    table = find_causes(ran["IRCoT QA"])
    assert [id for _, id in explorer.question.options] == list(table["id"])
    assert explorer.page.value == show_question(ran["IRCoT QA"], table["id"][0])
    explorer.question.index = 2
    assert explorer.page.value == show_question(ran["IRCoT QA"], table["id"][2])
    choose(explorer, which="wrong")
    wrong = table[table["cause"] != ""]
    assert [id for _, id in explorer.question.options] == list(wrong["id"])
    explorer.text.value = "no question has this"
    assert "No question is left" in explorer.page.value
    assert explorer.question.options == ()
    explorer.text.value = wrong["question"].iloc[0].upper()
    assert explorer.question.value == wrong["id"].iloc[0]
    explorer.text.value = ""
    # OneR has no answers that could be compared
    offered = choose(explorer)
    assert offered["beside"] == ["nothing", "NoR QA", "OneR QA", "IRCoT QA"]
    offered = choose(explorer, beside="OneR QA")
    both = compare_runs(ran["IRCoT QA"], ran["OneR QA"])
    assert offered["which"] == ["all", *both["outcome"].unique()]
    choose(explorer, which="win")
    assert len(explorer.question.options) == (both["outcome"] == "win").sum()
    assert explorer.page.value.count("<h4>") == 2
    with pytest.raises(UserError, match="found f1 on hotpotqa and recall on hotpotqa"):
        compare_runs(ran["IRCoT QA"], ran["OneR"])


def test_the_box_says_what_is_wrong_with_a_folder(
    ran, displayed, copied, monkeypatch, capsys
):
    (copied / "scores.csv").unlink()
    box.explore_box([copied])
    assert "scores.csv" in displayed[0].page.value
    assert displayed[0].question.options == ()
    box.explore_box([])
    assert displayed[1].value == "there is no run to look at: run 04_ircot first"
    monkeypatch.setenv("IRCOT_BATCH", "1")
    box.explore_box([copied])
    box.ask_box(read_parameters("mini"))
    assert len(displayed) == 2
    assert capsys.readouterr().out == "(a form, in JupyterLab)\n" * 2


DAMAGED = ("{}", "[]", "null", '{"part": "test"', '{"parameters": {"profile": "mini"}}')


@pytest.mark.parametrize("text", DAMAGED)
def test_a_run_json_that_is_none_is_left_out_of_the_box(ran, displayed, copied, text):
    (copied / "run.json").write_text(text)
    with pytest.warns(UserWarning, match="left out .*: found no finished run"):
        box.explore_box([copied, ran["OneR QA"]])
    [explorer] = displayed
    assert choose(explorer)["experiment"] == ["04_ircot"]
    assert choose(explorer)["run"] == ["OneR QA"] and "<h4>" in explorer.page.value


def test_a_run_of_another_version_is_left_out_with_a_line(
    ran, displayed, copied, tmp_path
):
    about = json.loads((copied / "run.json").read_text())
    about["renamed"] = about.pop("setting")
    (copied / "run.json").write_text(json.dumps(about))
    with pytest.warns(UserWarning) as warned:
        assert write_report([copied, ran["OneR QA"]], tmp_path / "page.html") == 1
    [words] = [str(each.message) for each in warned]
    assert words.startswith(f"left out {copied}/run.json: found no finished run of ")
    with pytest.warns(UserWarning, match="left out "):
        box.explore_box([copied])
    assert displayed[0].value.startswith("there is no run to look at")


@pytest.mark.parametrize("error", [KeyError("x"), sqlite3.DatabaseError("no <b>")])
def test_whatever_a_library_raises_stands_in_the_boxes(
    ran, displayed, monkeypatch, error
):
    for name in ("find_causes", "ask"):
        monkeypatch.setattr(box, name, Mock(side_effect=error))
    box.explore_box([ran["OneR QA"]])
    box.ask_box(read_parameters("mini"), "Who?")
    explorer, asked = displayed
    asked.children[1].children[2].click()
    for shown in (explorer.page.value, asked.children[2].value):
        assert shown.startswith(f"{type(error).__name__}: ")
        assert "<b>" not in shown


def test_the_ask_box_says_in_plain_words_why_a_program_failed(displayed, monkeypatch):
    failed = RuntimeError("question 'own': failed after 0 replies: DataError(…)")
    failed.__cause__ = RuntimeError("in another one")
    found = DataError("found more than 864 tokens; raise context_tokens")
    failed.__cause__.__cause__ = found
    monkeypatch.setattr(box, "ask", Mock(side_effect=failed))
    box.ask_box(read_parameters("mini"), "Who?")
    _, row, page, _ = displayed[0].children
    row.children[2].click()
    assert page.value == "found more than 864 tokens; raise context_tokens"


def test_the_ask_box_shows_only_what_was_asked_last(displayed, monkeypatch):
    asked = []

    def ask(p, text, systems):
        assert page.value == "asking …" and button.disabled
        asked.append((text, systems))
        if not text:
            raise UserError("found <no> question")
        return []

    monkeypatch.setattr(box, "ask", ask)
    monkeypatch.setattr(box, "answers_as_html", lambda outcomes: "said")
    box.ask_box(read_parameters("mini"), "Who?")
    question, row, page, _ = displayed[0].children
    first, second, button = row.children
    second.value = ""
    button.click()
    assert asked == [("Who?", ["SearChain"])]
    question.value = ""
    assert page.value == ""
    question._handle_custom_msg({"event": "submit"}, [])  # Enter
    assert page.value == "found &lt;no&gt; question" and not button.disabled
