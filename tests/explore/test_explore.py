"""Looking at runs question by question: runs of a shipped model on a small laboratory, and some
written by hand. The box is driven without a browser.
"""

import html
import json
import re
import shutil
from dataclasses import replace

import pytest

from ircot_laboratory.make import make_laboratory
from ircotlib.explore import box as explore_box
from ircotlib.explore import questions as explore
from ircotlib.explore.questions import (
    census,
    choose_questions,
    compare_runs,
    find_folders,
    list_runs,
    show_question,
)
from ircotlib.files.paths import ROOT
from ircotlib.parameters import read_parameters
from ircotlib.program import Generate
from ircotlib.running import setup as bench
from ircotlib.running.experiment import replay, run_system
from ircotlib.running.folder import run_folder
from ircotlib.running.predictions import CAUSES, cause_of, read_predictions
from ircotlib.running.setup import open_bench
from ircotlib.systems import all_systems

S = all_systems()
SETTINGS = {"IRCoT QA": {"k": 2}, "OneR QA": {"k": 2}, "OneR": {"k": 3}, "NoR QA": {}}


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A bench with ten questions of a small laboratory; all files are written to a folder."""
    place = tmp_path_factory.mktemp("explore")
    folder = make_laboratory(place / "small", seed=5, size=600, questions=40)
    changes = {"data_dir": str(folder), "dev": 4, "test": 10, "distractors": []}
    changes |= {"datasets": ["hotpotqa"], "model": "data/models/mini-base"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "DATA", place)
        yield open_bench(read_parameters("mini", changes), "hotpotqa", "04_ircot")


@pytest.fixture(scope="module")
def ran(opened):
    """The folder of a run of each system."""
    for name, setting in SETTINGS.items():
        run_system(opened, S[name], **setting)
    return {name: run_folder(opened, S[name], "test", how) for name, how in SETTINGS.items()}


@pytest.fixture
def copied(ran, tmp_path):
    """A copy of a run that a test may damage."""
    return shutil.copytree(ran["IRCoT QA"], tmp_path / "hotpotqa/test/IRCoT-QA k=2")


def write_run(folder, opened, said, scores, system="IRCoT QA"):
    """Write a run folder by hand: answers and scores for the first questions of a bench."""
    folder.mkdir(parents=True)
    questions, setting = opened.test[: len(said)], SETTINGS[system]
    about = {"experiment": "by_hand", "dataset": opened.dataset, "part": "test", "system": system}
    about |= {"setting": setting, "metric": "f1", "shown": None, "grid_of": ""}
    about |= {"parameters": opened.parameters.model_dump(mode="json")}
    (folder / "run.json").write_text(json.dumps(about | {"questions": len(said)}))
    nothing = {"answer": "", "paragraphs": [], "thoughts": [], "reading": "", "trace": []}
    rows = [{"id": q.id} | nothing | row for q, row in zip(questions, said, strict=True)]
    (folder / "predictions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = [f"{q.id},{q.kind},0.5,{f1}" for q, f1 in zip(questions, scores, strict=True)]
    (folder / "scores.csv").write_text("\n".join(["id,kind,recall,f1", *lines]) + "\n")
    return folder


@pytest.fixture
def shown(monkeypatch):
    """What the box shows: its HTML, then its Markdown texts."""
    texts = []
    monkeypatch.delenv("IRCOT_BATCH", raising=False)
    monkeypatch.setattr(explore_box, "display", texts.append)
    return texts


# Reading


def test_questions_of_a_run_are_joined_with_their_data(opened, ran):
    table = read_predictions(ran["IRCoT QA"])
    lines = (ran["IRCoT QA"] / "predictions.jsonl").read_text().splitlines()
    scores = run_system(opened, S["IRCoT QA"], k=2)
    assert list(table["id"]) == [q.id for q in opened.test] == list(scores["id"])
    for row, line, question in zip(table.to_dict("records"), lines, opened.test, strict=True):
        said = json.loads(line)
        assert (row["question"], row["answers"]) == (question.text, question.answers)
        assert (row["kind"], row["answer"]) == (question.kind, said["answer"])
        assert list(row["collected"]) == said["paragraphs"] and row["steps"] == len(row["thoughts"])
        assert {*row["gold_found"], *row["gold_missed"]} == {*question.gold}
        assert row["recall"] == len(row["gold_found"]) / len(question.gold)
        assert row["right"] == (row["f1"] == 1) == (row["cause"] == "")
        assert not row["gold_missed"] or row["right"] or row["cause"] == "not retrieved"
    for name in scores:  # read_runs has the same columns
        assert table[name].equals(scores[name]) or name in ("k", "m", "demonstration_set"), name
    assert 0 < table["right"].sum() < len(table)


def test_runs_are_found_and_listed(opened, ran):
    assert (
        set(ran.values()) <= set(find_folders(opened.runs)) == set(find_folders(opened.runs.parent))
    )
    table = list_runs(ran.values()).set_index("system")
    assert set(table.index) == set(SETTINGS) and set(table["questions"]) == {10}
    assert (table["setting"]["IRCoT QA"], table["setting"]["NoR QA"]) == ("k 2", "")
    assert (table["model"]["OneR"], table["folder"]["OneR"]) == ("mini-base", ran["OneR"])


DAMAGES = {
    "no folder": (lambda f: shutil.rmtree(f), r"found no run.json: the run is still going on, or"),
    "no run.json": (lambda f: (f / "run.json").unlink(), "found no run.json: the run is still"),
    "half a run.json": (lambda f: cut(f / "run.json"), "run.json: found no JSON"),
    "an old run.json": (lambda f: (f / "run.json").write_text("{}"), "found no 'experiment', expe"),
    "cut off": (
        lambda f: cut(f / "predictions.jsonl"),
        r"predictions.jsonl: found a line that is damaged or cut off \(.*line \d+: .*expected 10",
    ),
    "a line gone": (
        lambda f: drop(f / "predictions.jsonl", 3),
        "predictions.jsonl: found 9 questions, expected 10 questions as in run.json",
    ),
    "a line twice": (
        lambda f: drop(f / "predictions.jsonl", 3, instead=2),
        "predictions.jsonl: found 9 questions, expected 10",
    ),
    "a field gone": (
        lambda f: (f / "predictions.jsonl").write_text('{"id": "a"}\n'),
        "predictions.jsonl: found a line that is damaged or cut off .'answer'.",
    ),
    "no predictions": (
        lambda f: (f / "predictions.jsonl").unlink(),
        "predictions.jsonl: found no such file, expected 10",
    ),
    "no scores": (
        lambda f: (f / "scores.csv").unlink(),
        "scores.csv: found no such file, expected",
    ),
    "a score gone": (
        lambda f: drop(f / "scores.csv", 3),
        "scores.csv: found no row of the question '.*', which predictions.jsonl has, expected 10",
    ),
    "no table": (
        lambda f: (f / "scores.csv").write_text("id,kind\n1,2,3\n4,5,6,7,8\n"),
        "scores.csv: found no such table .*expected a table of id, kind and f1",
    ),
    "another data set": (
        lambda f: swap(f / "predictions.jsonl"),
        "found the question 'unheard-of', which hotpotqa does not have, expected one of data_dir",
    ),
}


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def drop(path, number, instead=None):
    lines = path.read_text().splitlines(keepends=True)
    lines[number : number + 1] = [] if instead is None else [lines[instead]]
    path.write_text("".join(lines))


def swap(path):
    for file in (path, path.with_name("scores.csv")):
        id = json.loads(path.read_text().splitlines()[0])["id"]
        file.write_text(file.read_text().replace(id, "unheard-of"))
        path.with_name("scores.csv").write_text(
            path.with_name("scores.csv").read_text().replace(id, "unheard-of")
        )


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_an_error_of_one_line(copied, damage):
    harm, message = DAMAGES[damage]
    harm(copied)
    with pytest.raises(ValueError, match=message) as error:
        read_predictions(copied)
    assert "\n" not in str(error.value) and str(copied) in str(error.value)
    assert "expected" in str(error.value) and "run its notebook again" in str(error.value)


# Comparing and choosing


def test_two_runs_are_compared_on_the_same_questions(ran):
    table = compare_runs(ran["IRCoT QA"], ran["OneR QA"])
    a, b = (read_predictions(ran[name]) for name in ("IRCoT QA", "OneR QA"))
    assert list(table["id"]) == list(a["id"])
    assert list(table["score_a"]) == list(a["f1"]) and list(table["answer_b"]) == list(b["answer"])
    for row in table.to_dict("records"):
        more = (row["score_a"] > row["score_b"]) - (row["score_a"] < row["score_b"])
        assert row["outcome"] == {1: "win", 0: "tie", -1: "loss"}[more]
    assert {"win", "tie"} <= set(table["outcome"])
    swapped = compare_runs(ran["OneR QA"], ran["IRCoT QA"])
    assert (swapped["outcome"] == "loss").sum() == (table["outcome"] == "win").sum()
    assert not compare_runs(ran["OneR QA"], ran["OneR QA"])["disagree"].any()


def test_runs_of_another_measure_or_other_questions_are_not_compared(opened, ran, tmp_path):
    with pytest.raises(ValueError, match="found f1 on hotpotqa and recall on hotpotqa, expected"):
        compare_runs(ran["IRCoT QA"], ran["OneR"])
    run_system(opened, S["OneR QA"], "dev", k=2)
    dev = run_folder(opened, S["OneR QA"], "dev", {"k": 2})
    with pytest.raises(ValueError, match="expected two runs with questions and measure in common"):
        compare_runs(ran["OneR QA"], dev)
    few = write_run(tmp_path / "few", opened, [{"answer": "no"}] * 2, [0, 1])
    assert list(compare_runs(few, ran["OneR QA"])["id"]) == [q.id for q in opened.test[:2]]


def test_answers_disagree_once_normalised_and_retrievers_by_what_they_found(opened, ran, tmp_path):
    one = write_run(tmp_path / "one", opened, [{"answer": "The Mayor."}, {"answer": "a"}], [0, 0])
    two = write_run(tmp_path / "two", opened, [{"answer": "mayor"}, {"answer": "Bo"}], [0, 1])
    table = compare_runs(one, two)
    assert list(table["disagree"]) == [False, True] and list(table["outcome"]) == ["tie", "loss"]
    run_system(opened, S["OneR"], k=1)
    fewer = compare_runs(ran["OneR"], run_folder(opened, S["OneR"], "test", {"k": 1}))
    assert fewer["disagree"].any() and set(fewer["outcome"]) == {"win", "tie"}


def test_questions_are_chosen_by_outcome_kind_and_text(ran):
    table = read_predictions(ran["IRCoT QA"])
    right, wrong = (choose_questions(table, f"{name} answers") for name in ("right", "wrong"))
    assert len(right) + len(wrong) == len(choose_questions(table)) == 10
    assert sum(len(choose_questions(table, cause)) for cause in CAUSES) == len(wrong) > 0
    kinds = {kind: len(choose_questions(table, kind=kind)) for kind in set(table["kind"])}
    assert len(kinds) > 1 and sum(kinds.values()) == 10
    row = table.iloc[3]
    for text in (row["question"][4:20].upper(), row["answers"][-1], f" {row['answer']} "):
        assert row["id"] in set(choose_questions(table, text=text)["id"])
    assert choose_questions(table, text="(.*").empty
    both = compare_runs(ran["IRCoT QA"], ran["OneR QA"])
    parts = [choose_questions(both, name) for name in ("wins", "losses", "ties")]
    assert sum(map(len, parts)) == 10 and set(parts[0]["outcome"]) == {"win"}
    assert choose_questions(both, "disagreements")["disagree"].all()
    wrong = choose_questions(both, "wrong answers")
    assert len(wrong) == ((both["score_a"] < 1) | (both["score_b"] < 1)).sum()
    with pytest.raises(ValueError, match="found the outcome 'wins', expected one of all, right"):
        choose_questions(table, "wins")


# Causes


GOLD = {"gold_missed": (), "answers": ("Old Kirk", "Kirk"), "reader": "cot", "right": False}
CHAIN = {"thoughts": ("Ada lives in Old Kirk.",), "reading": "It is Rome. So the answer is: Rome."}
BY_RULE = [
    ("", {"right": True, "gold_missed": ("p",), "answer": "Old Kirk"}),
    ("not retrieved", {"gold_missed": ("p",), "answer": ""}),
    ("not parsed / empty", {"answer": ""}),
    ("not parsed / empty", {"answer": " The. "}),
    ("not parsed / empty", {"answer": "It is in Old Kirk", "reading": "It is in Old Kirk"}),
    ("not parsed / empty", {"answer": "One. Two.", "thoughts": ("One.", "Two."), "reading": ""}),
    ("retrieved, misread", {"answer": "Rome", "reading": "Rome", "reader": "direct"}),
    ("wrong conclusion", {"answer": "in Kirk", "reading": "in Kirk", "reader": "direct"}),
    ("wrong conclusion", {"answer": "Rome", **CHAIN}),
    (
        "wrong conclusion",
        {"answer": "Rome", **CHAIN, "thoughts": (), "reading": "KIRK! is: Rome"},
    ),
    ("retrieved, misread", {"answer": "Rome", **CHAIN, "thoughts": ("It is Kirkville.",)}),
    ("retrieved, misread", {"answer": "Rome", **CHAIN, "answers": ("yes",)}),
    ("wrong conclusion", {"answer": "Rome", **CHAIN, "answers": ('["Rome", "Old Kirk"]',)}),
    ("retrieved, misread", {"answer": "Rome", **CHAIN, "answers": ('["Rome", "Oslo"]',)}),
    ("retrieved, misread", {"answer": "Rome", **CHAIN, "answers": ("12",)}),
]


@pytest.mark.parametrize(("cause", "row"), BY_RULE)
def test_a_wrong_answer_has_the_first_cause_that_applies(cause, row):
    assert cause_of(GOLD | {"thoughts": (), "reading": ""} | row) == cause


def test_the_census_counts_every_cause_by_system(opened, ran, tmp_path):
    gold = [list(question.gold) for question in opened.test]
    said = [
        {"answer": "x", "paragraphs": gold[0][1:]},
        {"answer": "", "paragraphs": gold[1]},
        {"answer": "x", "paragraphs": gold[2], "thoughts": [f"It is {opened.test[2].answers[0]}."]},
        {"answer": "x", "paragraphs": gold[3], "reading": "It is y. So the answer is: x."},
        {"answer": opened.test[4].answers[0]},
    ]
    one = write_run(tmp_path / "one", opened, said, [0, 0, 0.4, 0, 1])
    two = write_run(tmp_path / "two", opened, said[4:], [1])
    nor = write_run(tmp_path / "nor", opened, [{"answer": "x"}], [0], system="NoR QA")
    table = census([one, two, nor, ran["OneR"]])  # which returns paragraphs only
    assert list(dict.fromkeys(table["system"])) == ["NoR QA", "IRCoT QA"]  # in their records' order
    assert list(table["cause"]) == [*CAUSES, *CAUSES]
    assert list(table["n"]) == [1, 0, 0, 0, 1, 1, 1, 1]
    assert list(table["answers"]) == [1] * 4 + [6] * 4
    assert list(table["share"]) == [100, 0, 0, 0] + [16.67] * 4
    assert set(table["model"]) == {"data/models/mini-base"} and set(table["profile"]) == {"mini"}
    with pytest.raises(ValueError, match="found only runs that return paragraphs, expected one"):
        census([ran["OneR"]])


def test_without_gold_paragraphs_nothing_is_missed(opened, tmp_path, monkeypatch):
    bare = [replace(question, gold=()) for question in opened.test]
    monkeypatch.setattr("ircotlib.running.predictions.open_dataset", lambda *_: ([], bare, None))
    run = write_run(tmp_path / "run", opened, [{"answer": ""}, {"answer": "x"}], [0, 0])
    assert list(read_predictions(run)["cause"]) == ["not parsed / empty", "retrieved, misread"]


# Showing


def prompts_in(markdown):
    return [html.unescape(one) for one in re.findall("<pre>(.*?)</pre>", markdown)]


def test_a_question_is_shown_with_its_exact_prompts(opened, ran):
    outcomes = replay(ran["IRCoT QA"])
    for question in opened.test[:3]:
        shown = show_question(ran["IRCoT QA"], question.id)
        steps = outcomes[question.id].trace
        prompts = [step.request.prompt for step in steps if isinstance(step.request, Generate)]
        assert prompts_in(shown) == prompts and len(prompts) > 1
        plain = html.unescape(shown)
        assert question.text in plain and f"gold answer: **{question.answers[0]}**" in plain
        for id in question.gold:
            paragraph = opened.retriever.corpus.find(id)
            assert f"★ **{paragraph.title}.** {paragraph.text}" in plain
        answer = outcomes[question.id].result.answer
        assert f"answer: **{answer}** · f1 " in plain and " gold paragraphs" in plain
        assert "Replayed" not in plain and " ★" in plain.split("####")[1]


def test_two_runs_are_shown_in_two_columns(opened, ran):
    id = opened.test[0].id
    shown = show_question(ran["IRCoT QA"], id, ran["OneR QA"])
    head, left, right = shown.split("<td ")
    assert opened.test[0].text in html.unescape(head) and head.count("###") == 1
    for cell, name in ((left, "IRCoT QA"), (right, "OneR QA")):
        alone = show_question(ran[name], id).partition("####")[2]
        assert alone in cell and ran[name].name.replace("_", "&#95;") in cell


def test_one_question_is_replayed_alone(opened, ran):
    ids = [opened.test[4].id, opened.test[1].id]
    found = replay(ran["IRCoT QA"], ids)
    assert list(found) == ids and all(s.cached for one in found.values() for s in one.trace)
    assert found[ids[0]] == replay(ran["IRCoT QA"])[ids[0]]
    assert replay(ran["IRCoT QA"], []) == {}
    with pytest.raises(ValueError, match="found no question 'x', expected some of its 10 questi"):
        replay(ran["IRCoT QA"], ["x"])
    with pytest.raises(ValueError, match="found no question 'x', expected one of its 10, such as"):
        show_question(ran["IRCoT QA"], "x")


def test_it_is_said_when_a_replay_answers_otherwise(opened, copied):
    path, id = copied / "predictions.jsonl", opened.test[0].id
    lines = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps(json.loads(lines[0]) | {"answer": "Oz"}), *lines[1:]]))
    shown = show_question(copied, id)
    answer = json.loads(lines[0])["answer"]
    assert "answer: **Oz**" in shown and f"Replayed, it answers **{answer}**" in shown


def test_a_run_of_a_system_whose_file_is_gone_is_read_and_not_replayed(copied, ran, shown):
    about = json.loads((copied / "run.json").read_text()) | {"system": "Two-step QA"}
    (copied / "run.json").write_text(json.dumps(about))
    table = read_predictions(copied)
    assert list(table["answer"]) == list(read_predictions(ran["IRCoT QA"])["answer"])
    with pytest.raises(ValueError, match="found the system 'Two-step QA', expected some of NoR"):
        show_question(copied, table["id"][0])
    explore_box.explore_box([copied])
    assert "found the system 'Two-step QA'" in html.unescape(shown[0].data)


@pytest.fixture
def marked(opened, tmp_path):
    """The folder of a run on questions whose texts are full of markup."""
    bad = "<img src=x onerror=alert(1)> *b* [l](http://a)"
    paragraphs = [
        {"title": f"{bad} {n}", "paragraph_text": f"It is {bad} {n}.", "is_supporting": n == 0}
        for n in range(3)
    ]
    rows = [
        {"id": f"2hop__{n}<i>", "question": f"Who {n} {bad}?", "answer": bad, "answer_aliases": []}
        | {"answerable": True, "paragraphs": paragraphs}
        for n in range(3)
    ]
    (tmp_path / "musique_ans_v1.0_dev.jsonl").write_text("\n".join(map(json.dumps, rows)))
    p = opened.parameters.change(data_dir=str(tmp_path), datasets=["musique"], dev=0)
    own = open_bench(p, "musique", "04_ircot")
    run_system(own, S["OneR QA"], k=2)
    folder = run_folder(own, S["OneR QA"], "test", {"k": 2})
    path = folder / "predictions.jsonl"
    path.write_text(path.read_text().replace('"answer": "', '"answer": "<script>_x_'))
    return folder


def test_nothing_that_is_said_is_markup(marked):
    table = read_predictions(marked)
    shown = show_question(marked, table["id"][0], marked)
    tags = set(re.findall(r"<(/?\w+)", shown))
    assert {tag.strip("/") for tag in tags} == {"table", "tr", "td", "details", "summary", "pre"}
    assert "*b*" not in shown and "[l](" not in shown and "_x_" not in shown
    assert "<script>_x_" in html.unescape(shown) and "onerror=alert" in shown


def test_the_example_of_the_docs_runs(ran, monkeypatch, capsys):
    page = (ROOT / "docs/explorer.md").read_text(encoding="utf-8")
    code, made = re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], {}
    monkeypatch.setattr(explore, "find_folders", lambda: [ran["IRCoT QA"], ran["OneR QA"]])
    exec(code, made)
    assert capsys.readouterr().out.count("<td ") == 2 and len(made["causes"]) == 8
    assert not [cause for cause in CAUSES if f"| {cause} | " not in page]


# The box


def open_box(shown, ran, start=None):
    explore_box.explore_box(list(ran.values()), start)
    run, beside, filters, questions, buttons, *_ = shown[-1].children
    return run, beside, *filters.children, questions, *buttons.children


def test_the_box_shows_a_run_question_by_question(ran, shown):
    run, beside, outcome, kind, text, questions, before, after = open_box(
        shown, ran, ran["IRCoT QA"]
    )
    table = read_predictions(ran["IRCoT QA"])
    assert run.value == ran["IRCoT QA"] and beside.value is None
    others = {None, ran["NoR QA"], ran["OneR QA"]}  # OneR has another measure
    assert len(run.options) == 4 and {value for _, value in beside.options} == others
    assert questions.description == f"{len(table)} of {len(table)}"
    assert [value for _, value in questions.options] == list(table["id"])
    assert shown[0].data == show_question(ran["IRCoT QA"], table["id"][0])
    after.click()
    after.click()
    before.click()
    assert questions.index == 1 and len(shown) == 5
    assert shown[-1].data == show_question(ran["IRCoT QA"], table["id"][1])
    before.click()
    before.click()
    assert questions.index == 0  # there is no question before the first
    outcome.value = "wrong answers"
    wrong = choose_questions(table, "wrong answers")
    assert [value for _, value in questions.options] == list(wrong["id"])
    assert questions.description == f"{len(wrong)} of {len(table)}"
    assert shown[-1].data == show_question(ran["IRCoT QA"], wrong["id"].iloc[0])
    kind.value = wrong["kind"].iloc[-1]
    assert len(questions.options) == (wrong["kind"] == kind.value).sum()
    text.value = "no question has this"
    assert questions.options == () and shown[-1].data.startswith("No question is left")
    after.click()
    text.value = ""
    assert shown[-1].data.startswith("### ")


def test_the_box_shows_two_runs_and_keeps_nothing_of_the_last(ran, shown):
    run, beside, outcome, _, _, questions, *_ = open_box(shown, ran, ran["IRCoT QA"])
    with pytest.raises(Exception, match="not found"):
        outcome.value = "wins"
    count = len(shown)
    beside.value = ran["OneR QA"]
    assert len(shown) == count + 1 and shown[-1].data.count("<td ") == 2
    outcome.value = "wins"
    assert {label.split(":")[0] for label, _ in questions.options} == {"win"}
    run.value = ran["NoR QA"]
    assert (beside.value, outcome.value) == (None, "all") and len(questions.options) == 10
    assert ran["NoR QA"] not in [value for _, value in beside.options]


def test_the_box_says_what_is_wrong_with_a_folder(ran, shown, copied):
    (copied / "scores.csv").unlink()
    explore_box.explore_box([copied, *ran.values()])
    assert "scores.csv: found no such file" in html.unescape(shown[0].data)
    run, *_ = shown[-1].children
    run.value = ran["OneR"]
    assert shown[-1].data.startswith("### ")
    with pytest.raises(ValueError, match="found no run to look at, expected one"):
        explore_box.explore_box([])


def test_the_box_is_silent_in_batch(ran, shown, monkeypatch):
    monkeypatch.setenv("IRCOT_BATCH", "1")
    explore_box.explore_box(list(ran.values()))
    explore_box.explore_box([])
    assert shown == []
