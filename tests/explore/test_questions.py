"""Runs question by question, and the explorer, without a browser."""

import html
import json
import re
import shutil
import sqlite3
from dataclasses import replace
from unittest.mock import Mock

import pandas as pd
import pytest

from ircotlib import replay
from ircotlib.errors import DataError, UserError
from ircotlib.experiment import stored
from ircotlib.experiment.replay import open_recorded
from ircotlib.experiment.runs import Run
from ircotlib.experiment.stored import parameters_of, write_run
from ircotlib.explore import box, questions
from ircotlib.explore.questions import compare_runs, read_marked, show_question
from ircotlib.explore.report import write_report
from ircotlib.program import Generate
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
    run = Run(opened, all_systems()["IRCoT QA"], "test", {"k": 2})
    ids = [question.id for question in opened.test[: len(lines)]]
    rows = [{"id": id} | NOTHING | line for id, line in zip(ids, lines, strict=True)]
    table = pd.DataFrame({"id": ids, "kind": "", "f1": scores, "recall": 1.0})
    about = run.identity | {"questions": len(ids), "counts": {}}
    write_run(folder, rows, table.assign(paragraphs=0, steps=0), about)
    return folder


def test_two_runs_are_compared_on_the_same_questions(opened, ran, tmp_path):
    table = compare_runs(ran["IRCoT QA"], ran["OneR QA"])
    a, b = (read_marked(ran[name]) for name in ("IRCoT QA", "OneR QA"))
    assert list(table["id"]) == list(a["id"])
    assert list(table["score_a"]) == list(a["f1"])
    assert list(table["answer_b"]) == list(b["answer"])
    assert list(table["mark_b"]) == list(b["mark"])
    wins, losses = ((sign * (a["f1"] - b["f1"]) > 0).sum() for sign in (1, -1))
    counts = table["outcome"].value_counts()
    assert (counts["win"], counts.get("loss", 0), counts.sum()) == (wins, losses, 10)
    ours = write_lines(tmp_path / "a/b/c/a", opened, [{}] * 3, [0.1 + 0.2, 1, None])
    theirs = write_lines(tmp_path / "a/b/c/b", opened, [{}] * 3, [0.3, 0, 0])
    by_hand = compare_runs(ours, theirs)
    assert list(by_hand["outcome"]) == ["tie", "win", "not scored"]


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
        assert "<h4>IRCoT QA</h4>" in said
        assert "when it was scored" not in said and " ★" in said.split("<h4>")[1]
        assert "IRCoT QA writes the next sentence" in said


def test_two_runs_stand_side_by_side(opened, ran):
    page = show_question(ran["IRCoT QA"], opened.test[0].id, ran["OneR QA"])
    heads = re.findall("<h4>(.*)</h4>", page)
    assert heads == ["IRCoT QA", "OneR QA"]
    assert page.count("<h3>") == 1 and page.count("<div>") == 2
    with pytest.raises(ValueError, match="found no question 'x' in 10"):
        show_question(ran["IRCoT QA"], "x")


def test_a_replay_that_answers_otherwise_is_marked(opened, copied):
    path = copied / "predictions.jsonl"
    path.write_text(path.read_text().replace('"answer": "', '"answer": "<b>Oz '))
    page = html.unescape(show_question(copied, opened.test[0].id))
    assert "when it was scored, it answered “<b>Oz " in page


@pytest.fixture
def asked(httpserver, monkeypatch):
    """A server, to which a run of others sends those who look at it."""
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("ELASTICSEARCH_API_KEY", "secret")
    httpserver.expect_request(re.compile(".*")).respond_with_json({})
    return httpserver


@pytest.mark.parametrize("part", ["server", "retriever", "system"])
def test_looking_at_a_run_of_others_asks_nobody(
    opened, copied, displayed, asked, part, tmp_path
):
    about = json.loads((copied / "run.json").read_text())
    if part == "system":  # declared in a notebook, which other processes lack
        about["system"] = "Of a notebook"
    else:
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


MARKED = [  # the score, which of two gold paragraphs were collected (None: no gold)
    (1, (), "right"),
    (0, (0,), "wrong, gold missed"),
    (0.5, (0, 1), "wrong, gold found"),
    (0, None, "wrong"),
    (None, (0, 1), "not scored"),
]


def test_a_mark_says_whether_an_answer_is_right_and_gold_was_found(
    opened, tmp_path, monkeypatch, displayed
):
    asked, lines = {}, []
    for question, (_, collected, _) in zip(opened.test, MARKED, strict=False):
        gold = question.gold if collected is not None else ()
        asked[question.id] = replace(question, gold=gold)
        lines.append({"paragraphs": [question.gold[n] for n in collected or ()]})
    scores = [score for score, _, _ in MARKED]
    folder = write_lines(tmp_path / "a/b/c/run", opened, lines, scores)
    corpus = opened.retriever.corpus
    monkeypatch.setattr(stored, "open_questions", lambda about: (asked, corpus))
    table = read_marked(folder)
    marks = [mark for _, _, mark in MARKED]
    assert list(table["mark"]) == marks
    assert show_question(folder, table["id"][4]).count("not scored") == 1
    box.explore_box([folder])
    assert choose(displayed[0])["which"] == ["all", *marks]
    for which in ("all", *marks):
        choose(displayed[0], which=which)
        ids = [id for _, id in displayed[0].question.options]
        passes = [which == "all" or mark.startswith(which) for mark in marks]
        assert ids == list(table["id"][passes])


def choose(explorer, **chosen):
    """Choose in the lists of the explorer."""
    names = ("experiment", "data", "run", "beside", "which")
    lists = dict(zip(names, explorer.chosen, strict=True))
    for name, label in chosen.items():
        widget = lists[name]
        widget.index = [text for text, _ in widget.options].index(label)
    return {name: [text for text, _ in lists[name].options] for name in names}


def test_the_box_shows_a_run_question_by_question(ran, displayed, copied):
    box.explore_box([*ran.values(), copied])
    [explorer] = displayed
    offered = choose(explorer)
    assert offered["experiment"] == ["04_ircot"]
    assert offered["data"] == ["HotpotQA, test"]
    choose(explorer, run="IRCoT QA")
    table = read_marked(ran["IRCoT QA"])
    assert [id for _, id in explorer.question.options] == list(table["id"])
    assert explorer.page.value == show_question(ran["IRCoT QA"], table["id"][0])
    explorer.question.index = 2
    assert explorer.page.value == show_question(ran["IRCoT QA"], table["id"][2])
    choose(explorer, which="wrong")
    wrong = table[table["mark"].str.startswith("wrong")]
    assert [id for _, id in explorer.question.options] == list(wrong["id"])
    explorer.text.value = "no question has this"
    assert "No question is left" in explorer.page.value
    assert explorer.question.options == ()
    explorer.text.value = wrong["question"].iloc[0].upper()
    assert explorer.question.value == wrong["id"].iloc[0]
    explorer.text.value = ""
    offered = choose(explorer, beside="OneR QA")
    both = compare_runs(ran["IRCoT QA"], ran["OneR QA"])
    assert offered["which"] == ["all", *both["outcome"].unique()]
    choose(explorer, which="win")
    assert len(explorer.question.options) == (both["outcome"] == "win").sum()
    assert explorer.page.value.count("<h4>") == 2
    other = "found f1 on hotpotqa and recall on hotpotqa"
    with pytest.raises(UserError, match=other):
        compare_runs(ran["IRCoT QA"], ran["OneR"])
    choose(explorer, beside="OneR")  # it gives no answer
    assert explorer.page.value.startswith(other)


LACKS = "predictions.jsonl lacks or repeats lines"
DAMAGED = [
    ("predictions.jsonl", "", f": {LACKS}; run its notebook again"),
    ("predictions.jsonl", '{"id": "q"}\n', f": {LACKS}; run its notebook again"),
    ("scores.csv", "", "/scores.csv: .*; run its notebook again"),
    ("scores.csv", "id,kind,f1\nq,,abc\n", "/scores.csv: .*; run its notebook again"),
]


@pytest.mark.parametrize(("name", "text", "says"), DAMAGED)
def test_a_damaged_file_of_a_run_is_named(copied, displayed, name, text, says):
    (copied / name).write_text(text)
    with pytest.raises(DataError, match=f"^{copied}.*{says}"):
        read_marked(copied)
    box.explore_box([copied])
    assert str(copied) in displayed[0].page.value


@pytest.mark.parametrize("times", [0.5, 2])
def test_predictions_that_lack_or_repeat_lines_are_named(copied, displayed, times):
    path = copied / "predictions.jsonl"
    lines = path.read_text().splitlines(keepends=True) * 2
    path.write_text("".join(lines[: int(times * len(lines) / 2)]))
    with pytest.raises(DataError, match=f"^{copied}: {LACKS}"):
        read_marked(copied)
    box.explore_box([copied])
    assert str(copied) in displayed[0].page.value


def test_without_runs_or_in_a_batch_run_there_is_a_line(
    displayed, copied, monkeypatch, capsys
):
    box.explore_box([])
    assert displayed[0].value == "there is no run to look at: run 04_ircot first"
    monkeypatch.setenv("IRCOT_BATCH", "1")
    box.explore_box([copied])
    assert len(displayed) == 1
    assert capsys.readouterr().out == "(a form, in JupyterLab)\n"


RUN_JSONS = {"empty": "{}", "a list": "[]", "half": '{"part": "test"', "no model": ""}


@pytest.mark.parametrize("text", RUN_JSONS.values(), ids=RUN_JSONS)
def test_a_run_json_of_another_version_is_left_out_with_a_line(
    ran, displayed, copied, tmp_path, text
):
    path = copied / "run.json"
    path.write_text(text or path.read_text().replace('"model"', '"renamed"'))
    folders = [copied, ran["OneR QA"]]
    with pytest.warns(UserWarning) as warned:
        box.explore_box(folders)
        assert write_report(folders, tmp_path / "page.html") == 1
    assert choose(displayed[0])["run"] == ["OneR QA"]
    for words in [str(each.message) for each in warned]:
        assert words.startswith(f"left out {path}: found no finished run")
        assert "\n" not in words and len(words) < 500


@pytest.mark.parametrize("error", [KeyError("x"), sqlite3.DatabaseError("no <b>")])
def test_whatever_a_library_raises_stands_in_the_box(
    ran, displayed, monkeypatch, error
):
    monkeypatch.setattr(questions, "read_marked", Mock(side_effect=error))
    box.explore_box([ran["OneR QA"]])
    shown = displayed[0].page.value
    assert shown.startswith(f"{type(error).__name__}: ") and "<b>" not in shown
