"""Runs question by question: of a shipped model on a small laboratory, and some written by hand."""

import html
import json
import re
import shutil
from functools import partial

import numpy as np
import pytest
from written import rewrite, write_half, write_run

from ircot_laboratory.make import make_laboratory
from ircotlib.datasets.facts import Evidence
from ircotlib.errors import UserError
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup
from ircotlib.experiment.compare import run_system
from ircotlib.experiment.runs import (
    FILES,
    Run,
    find_folders,
    read_about,
    read_predictions,
    replay,
    write_about,
)
from ircotlib.experiment.setup import open_setup
from ircotlib.explore import box as explore_box
from ircotlib.explore import questions as explore
from ircotlib.explore.ask import ask_as_html
from ircotlib.explore.questions import choose_questions, compare_runs, show_question
from ircotlib.files.checksums import read_description
from ircotlib.files.paths import ROOT
from ircotlib.parameters import read_parameters
from ircotlib.program import Generate
from ircotlib.results import causes
from ircotlib.results.causes import CAUSES, count_causes, find_causes
from ircotlib.systems import all_systems
from ircotlib.text import escape

S = all_systems()
QUICK = "quick/04_ircot-1b"
SETTINGS = {"IRCoT QA": {"k": 2}, "OneR QA": {"k": 2}, "OneR": {"k": 3}, "NoR QA": {}}


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A bench with ten questions of a small laboratory, as if its facts were not known; all files
    are written to a folder.
    """
    folder = tmp_path_factory.mktemp("explore")
    data_dir = make_laboratory(folder / "small", seed=5, size=600, questions=40)
    changes = {"data_dir": str(data_dir), "dev": 4, "test": 10, "distractors": []}
    changes |= {"datasets": ["hotpotqa"], "model": "data/models/mini-base"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setup, "DATA", folder)
        patch.setattr(backends, "DATA", folder)
        patch.setattr(causes, "find_facts", lambda p, dataset: None)
        yield open_setup(read_parameters("mini", changes), "hotpotqa", "04_ircot")


@pytest.fixture(scope="module")
def ran(opened):
    """The folder of a run of each system."""
    for name, setting in SETTINGS.items():
        run_system(opened, S[name], **setting)
    return {name: Run(opened, S[name], "test", each).folder for name, each in SETTINGS.items()}


@pytest.fixture
def copied(ran, tmp_path):
    """A copy of a run that a test may damage."""
    return shutil.copytree(ran["IRCoT QA"], tmp_path / "hotpotqa/test/IRCoT-QA k=2")


@pytest.fixture
def displayed(monkeypatch):
    """What the box shows: its HTML, then its Markdown texts."""
    texts = []
    monkeypatch.delenv("IRCOT_BATCH", raising=False)
    monkeypatch.setattr(explore_box, "display", texts.append)
    return texts


def test_questions_of_a_run_are_joined_with_their_data(opened, ran):
    table = find_causes(ran["IRCoT QA"])
    lines = (ran["IRCoT QA"] / "predictions.jsonl").read_text().splitlines()
    scores = run_system(opened, S["IRCoT QA"], k=2)
    assert list(table["id"]) == [q.id for q in opened.test] == list(scores["id"])
    for row, line, question in zip(table.to_dict("records"), lines, opened.test, strict=True):
        line = json.loads(line)
        assert (row["question"], row["answers"]) == (question.text, question.answers)
        assert (row["kind"], row["answer"]) == (question.kind, line["answer"])
        assert list(row["collected"]) == line["paragraphs"] and row["trace"] == line["trace"]
        assert row["steps"] == len(row["thoughts"])
        assert {*row["gold_found"], *row["gold_missed"]} == {*question.gold}
        assert row["recall"] == len(row["gold_found"]) / len(question.gold)
        assert row["right"] == (row["f1"] == 1) == (row["cause"] == "")
        assert row["cause"] != "misread" or not row["gold_missed"]
    for name in scores:  # read_runs has the same columns
        assert table[name].equals(scores[name]) or name in ("k", "m", "demonstration_set"), name
    assert 0 < table["right"].sum() < len(table)


def test_runs_are_found_and_listed(opened, ran):
    found = find_folders(opened.runs)
    assert set(ran.values()) <= {*found}
    write_half(ran["OneR"])
    assert find_folders(opened.runs) == found
    table = explore.list_runs(ran.values()).set_index("system")
    assert set(table.index) == set(SETTINGS) and set(table["questions"]) == {10}
    assert (table["setting"]["IRCoT QA"], table["setting"]["NoR QA"]) == ("k 2", "")
    assert (table["model"]["OneR"], table["folder"]["OneR"]) == ("mini-base", ran["OneR"])
    # what only returns paragraphs lacks some
    table = find_causes(ran["OneR"])
    assert set(table["cause"]) == {"", "not retrieved"}
    assert (table["gold_missed"].map(len) > 0).equals(table["cause"] != "")
    assert not set(count_causes(map(find_causes, ran.values()))["system"]) & {"OneR"}


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def rename_first(folder):
    id = json.loads((folder / LINES).read_text().splitlines()[0])["id"]
    for name in (LINES, SCORES):
        rewrite(folder, name, (folder / name).read_text().replace(id, "unheard-of"))


RUN, LINES, SCORES = "run.json", "predictions.jsonl", "scores.csv"
DAMAGES = [  # what is done, and what the error names
    (shutil.rmtree, RUN),
    (lambda f: cut(f / RUN), RUN),
    (lambda f: cut(f / LINES), LINES),
    (lambda f: (f / SCORES).unlink(), SCORES),
    (rename_first, "unheard-of.*hotpotqa.*data_dir"),
]


@pytest.mark.parametrize(("harm", "message"), DAMAGES)
def test_a_damaged_folder_is_an_error_of_one_line(copied, harm, message):
    harm(copied)
    with pytest.raises(ValueError, match=message) as error:
        read_predictions(copied)
    assert "\n" not in str(error.value) and str(copied) in str(error.value)


def test_two_runs_are_compared_on_the_same_questions(opened, ran, tmp_path):
    table = compare_runs(ran["IRCoT QA"], ran["OneR QA"])
    a, b = (read_predictions(ran[name]) for name in ("IRCoT QA", "OneR QA"))
    assert list(table["id"]) == list(a["id"])
    assert list(table["score_a"]) == list(a["f1"]) and list(table["answer_b"]) == list(b["answer"])
    names = np.select([a["f1"] > b["f1"], a["f1"] < b["f1"]], ["win", "loss"], "tie")
    assert list(table["outcome"]) == list(names) and {"win", "tie"} <= set(names)
    answers = {"a": ("The Mayor.", "a"), "b": ("mayor", "Bo")}
    for name, (first, second) in answers.items():
        lines = [{"answer": first}, {"answer": second}]
        write_run(tmp_path / name, opened, lines, [(0, 0), (0, int(name == "b"))])
    table = compare_runs(tmp_path / "a", tmp_path / "b")
    assert list(table["disagree"]) == [False, True] and list(table["outcome"]) == ["tie", "loss"]
    fewer = compare_runs(tmp_path / "a", ran["OneR QA"])
    assert list(fewer["id"]) == [q.id for q in opened.test[:2]]


def test_runs_of_another_measure_or_other_questions_are_not_compared(opened, ran):
    with pytest.raises(ValueError, match="found f1 on hotpotqa and recall on hotpotqa"):
        compare_runs(ran["IRCoT QA"], ran["OneR"])
    run_system(opened, S["OneR QA"], "dev", k=2)
    with pytest.raises(ValueError, match="questions and measure in common"):
        compare_runs(ran["OneR QA"], Run(opened, S["OneR QA"], "dev", {"k": 2}).folder)
    run_system(opened, S["OneR"], k=1)
    fewer = compare_runs(ran["OneR"], Run(opened, S["OneR"], "test", {"k": 1}).folder)
    assert fewer["disagree"].any() and set(fewer["outcome"]) == {"win", "tie"}


def test_questions_are_chosen_by_outcome_kind_and_text(ran):
    table = find_causes(ran["IRCoT QA"])
    right, wrong = (choose_questions(table, f"{name} answers") for name in ("right", "wrong"))
    assert len(right) + len(wrong) == len(choose_questions(table)) == 10
    assert sum(len(choose_questions(table, cause)) for cause in CAUSES) == len(wrong) > 0
    kinds = {kind: len(choose_questions(table, kind=kind)) for kind in set(table["kind"])}
    assert len(kinds) > 1 and sum(kinds.values()) == 10
    row = table.iloc[3]
    for text in (row["question"][4:20].upper(), row["answers"][-1], f" {row['answer']} "):
        assert row["id"] in set(choose_questions(table, text=text)["id"])
    assert choose_questions(table, text="(.*").empty
    pairs = compare_runs(ran["IRCoT QA"], ran["OneR QA"])
    parts = [choose_questions(pairs, name) for name in ("wins", "losses", "ties")]
    assert sum(map(len, parts)) == 10 and set(parts[0]["outcome"]) == {"win"}
    assert choose_questions(pairs, "disagreements")["disagree"].all()
    wrong = choose_questions(pairs, "wrong answers")
    assert len(wrong) == ((pairs["score_a"] < 1) | (pairs["score_b"] < 1)).sum()
    with pytest.raises(ValueError, match="found the outcome 'wins'"):
        choose_questions(table, "wins")


class Facts:
    """Facts of which every step asks for another one."""

    def weigh(self, attempt, question):
        return Evidence(written=False, asked=False, searched=False, retrieved=False)


def test_facts_decide_where_they_are_known_else_gold_paragraphs(opened, tmp_path, monkeypatch):
    q = opened.test
    searched = {"paragraphs": q[0].gold[1:], "trace": [{"retrieve": "x"}]}
    lines = [
        {"reading": "It is x.", "answer": "x"} | searched,
        {"answer": "", "paragraphs": q[1].gold},
        {"answer": "x", "paragraphs": q[2].gold, "thoughts": [f"It is {q[2].answers[0]}."]},
        {"answer": "x", "paragraphs": q[3].gold, "reading": "It is y. So the answer is: x."},
        {"answer": q[4].answers[0]},
        {"answer": "x", "reading": "It is x. So the answer is: x."},
    ]
    scores = [(0, 0), (1, 0), (1, 0.4), (1, 0), (0, 1), (0, 0)]
    run = write_run(tmp_path / "run", opened, lines, scores)
    by_gold = ["not retrieved", "not parsed", "wrong conclusion", "misread", "", "made up"]
    assert list(find_causes(run)["cause"]) == by_gold
    knew = find_causes(run, knew={q[0].id: True, q[3].id: True})  # but for q[3] it did not search
    assert list(knew["cause"]) == ["misled by retrieval", *by_gold[1:]]
    assert find_causes(run, measure="recall")["cause"][4] == "made up"
    with pytest.raises(UserError, match="found the measure 'rouge_l', expected one of .*f1"):
        find_causes(run, measure="rouge_l")
    monkeypatch.setattr(causes, "find_facts", lambda p, dataset: Facts())
    assert list(find_causes(run)["cause"][:2]) == ["wrong decomposition", "not parsed"]


def test_a_question_is_shown_with_its_exact_prompts(opened, ran):
    outcomes = replay(ran["IRCoT QA"])
    for question in opened.test[:3]:
        shown = show_question(ran["IRCoT QA"], question.id)
        steps = outcomes[question.id].trace
        prompts = [step.request.prompt for step in steps if isinstance(step.request, Generate)]
        folded = re.findall("tokens</summary><pre>(.*?)</pre>", shown)
        assert [html.unescape(text) for text in folded] == prompts and len(prompts) > 1
        plain = html.unescape(shown)
        assert question.text in plain and f"gold answer: <b>{question.answers[0]}</b>" in plain
        for id in question.gold:
            paragraph = opened.retriever.corpus.find(id)
            assert f"★ gold paragraph: <b>{paragraph.title}.</b> {paragraph.text}" in plain
        answer = outcomes[question.id].result.answer
        assert f"answer: <b>{answer}</b> · f1 " in plain and " gold paragraphs" in plain
        assert "<h4>IRCoT QA, k 2, mini-base</h4>" in plain and shown.count("★ gold: ") == 1
        assert "Replayed" not in plain and " ★" in plain.split("<h4>")[1]
        assert "IRCoT QA writes the next sentence" in plain and "the reader answers" in plain


def test_two_runs_are_shown_in_two_columns_with_what_they_look_up_in_one_row(opened, ran):
    id = opened.test[0].id
    shown = show_question(ran["IRCoT QA"], id, ran["OneR QA"])
    head, heads, first, *rows = shown.split("<tr>")
    assert opened.test[0].text in html.unescape(head) and head.count("<h3>") == 1
    assert all(row.count("<td>") == 2 for row in (heads, first, *rows))
    assert heads.index("IRCoT QA, k 2") < heads.index("OneR QA, k 2")
    assert first.count(f"looks up “{escape(opened.test[0].text)}”") == 2
    steps = re.findall("<em>.*?</em>", shown)
    for name in ("IRCoT QA", "OneR QA"):
        alone = re.findall("<em>.*?</em>", show_question(ran[name], id))
        assert alone and not [step for step in alone if step not in steps]


def test_one_question_is_replayed_alone(opened, ran):
    ids = [opened.test[4].id, opened.test[1].id]
    outcomes = replay(ran["IRCoT QA"], ids)
    assert list(outcomes) == ids and outcomes[ids[0]] == replay(ran["IRCoT QA"])[ids[0]]
    assert all(step.cached for outcome in outcomes.values() for step in outcome.trace)
    assert replay(ran["IRCoT QA"], []) == {}
    for show in (replay, show_question):
        with pytest.raises(ValueError, match="found no question 'x', expected .* 10"):
            show(ran["IRCoT QA"], "x")


def test_it_is_said_when_a_replay_answers_otherwise(opened, copied):
    id = opened.test[0].id
    first, *others = (copied / LINES).read_text().splitlines()
    changed = json.dumps(json.loads(first) | {"answer": "Oz"})
    rewrite(copied, LINES, "\n".join([changed, *others]))
    shown = show_question(copied, id)
    answer = json.loads(first)["answer"]
    assert "answer: <b>Oz</b>" in shown and f"Replayed, it answers <b>{answer}</b>" in shown


def test_a_run_of_a_system_whose_file_is_gone_is_read_and_not_replayed(copied, ran, displayed):
    write_about(copied, read_about(copied) | {"system": "Two-step QA"})
    table = find_causes(copied)
    assert list(table["cause"]) == list(find_causes(ran["IRCoT QA"])["cause"])
    with pytest.raises(ValueError, match="found the system 'Two-step QA'"):
        show_question(copied, table["id"][0])
    explore_box.explore_box([copied])
    assert "found the system 'Two-step QA'" in html.unescape(displayed[0].data)


@pytest.fixture
def marked(opened, tmp_path):
    """The folder of a run on questions whose texts are full of markup."""
    bad = "<img src=x onerror=alert(1)> *b* [l](http://a)"
    texts = [{"title": f"{bad} {n}", "paragraph_text": f"It is {bad} {n}."} for n in range(3)]
    paragraphs = [text | {"is_supporting": n == 0} for n, text in enumerate(texts)]
    row = {"answer": bad, "answer_aliases": [], "answerable": True, "paragraphs": paragraphs}
    rows = [{"id": f"2hop__{n}<i>", "question": f"Who {n} {bad}?"} | row for n in range(3)]
    (tmp_path / "musique_ans_v1.0_dev.jsonl").write_text("\n".join(map(json.dumps, rows)))
    p = opened.parameters.change(data_dir=str(tmp_path), datasets=["musique"], dev=0)
    own = open_setup(p, "musique", "04_ircot")
    run_system(own, S["OneR QA"], k=2)
    folder = Run(own, S["OneR QA"], "test", {"k": 2}).folder
    path = folder / "predictions.jsonl"
    marked = path.read_text().replace('"answer": "', '"answer": "<script>_x_')
    rewrite(folder, path.name, marked)
    return folder


def test_nothing_that_is_said_is_markup(marked):
    table = read_predictions(marked)
    shown = show_question(marked, table["id"][0], marked)
    tags = {tag.strip("/") for tag in re.findall(r"<(/?\w+)", shown)}
    assert tags == {*"b br details div em h3 h4 li ol p pre span style summary table td tr".split()}
    assert "*b*" not in shown and "[l](" not in shown and "_x_" not in shown
    assert "<script>_x_" in html.unescape(shown) and "onerror=alert" in shown


def test_the_example_of_the_docs_runs(ran, monkeypatch, capsys):
    page = (ROOT / "docs/explorer.md").read_text(encoding="utf-8")
    code, names = re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], {}
    two = [ran["IRCoT QA"], ran["OneR QA"]]
    monkeypatch.setattr("ircotlib.experiment.runs.find_folders", lambda: two)
    exec(code, names)
    assert capsys.readouterr().out.count("<h4>") == 3 and len(names["causes"]) == 2 * len(CAUSES)
    assert not [cause for cause in CAUSES if f"| {cause} | " not in page]


def open_box(displayed, ran):
    explore_box.explore_box(list(ran.values()))
    choices, beside, filters, questions, buttons, *_ = displayed[-1].children
    return choices.children, beside.children, *filters.children, questions, *buttons.children


def test_the_box_shows_a_run_question_by_question(ran, displayed):
    choices, beside, outcome, kind, text, questions, before, after = open_box(displayed, ran)
    table = find_causes(ran["IRCoT QA"])
    titles = ["mini", "04 · IRCoT against one-step retrieval and no retrieval", "HotpotQA", "test"]
    assert [each.label for each in choices] == [*titles, "IRCoT QA", "k 2, mini-base"]
    assert [label for label, _ in choices[4].options] == ["NoR QA", "OneR", "OneR QA", "IRCoT QA"]
    others = ["nothing", "NoR QA", "OneR QA"]  # OneR has another measure
    assert beside[0].value == "nothing" and [label for label, _ in beside[0].options] == others
    assert [each.layout.display for each in beside] == [None, "none", "none"]
    assert questions.description == f"{len(table)} of {len(table)}"
    assert [value for _, value in questions.options] == list(table["id"])
    assert displayed[0].data == show_question(ran["IRCoT QA"], table["id"][0])
    for button in (after, after, before):
        button.click()
    assert questions.index == 1 and len(displayed) == 5
    assert displayed[-1].data == show_question(ran["IRCoT QA"], table["id"][1])
    before.click()
    before.click()
    assert questions.index == 0  # there is no question before the first
    outcome.value = "wrong answers"
    wrong = choose_questions(table, "wrong answers")
    assert [value for _, value in questions.options] == list(wrong["id"])
    assert questions.description == f"{len(wrong)} of {len(table)}"
    assert displayed[-1].data == show_question(ran["IRCoT QA"], wrong["id"].iloc[0])
    kind.value = wrong["kind"].iloc[-1]
    assert len(questions.options) == (wrong["kind"] == kind.value).sum()
    text.value = "no question has this"
    assert questions.options == () and "No question is left" in displayed[-1].data
    after.click()
    text.value = ""
    assert "<h3>" in displayed[-1].data


def test_the_box_shows_two_runs_and_keeps_nothing_of_the_last(ran, displayed):
    choices, (beside, *_), outcome, _, _, questions, *_ = open_box(displayed, ran)
    with pytest.raises(Exception, match="not found"):
        outcome.value = "wins"
    count = len(displayed)
    beside.value = "OneR QA"
    assert len(displayed) == count + 1 and displayed[-1].data.count("<h4>") == 2
    outcome.value = "wins"
    assert {label.split(":")[0] for label, _ in questions.options} == {"win"}
    choices[4].value = "NoR QA"
    assert (beside.value, outcome.value) == ("nothing", "all") and len(questions.options) == 10
    assert [label for label, _ in beside.options] == ["nothing", "OneR QA", "IRCoT QA"]


@pytest.fixture
def written(tmp_path):
    """The folders of runs of two profiles and four experiments; each has only a run.json."""
    ircot = "test", "IRCoT QA"
    places = [("mini/04_ircot-1a/hotpotqa", "dev", "OneR QA", {"k": 5})]
    places += [("mini/04_ircot-1a/hotpotqa", *ircot, {"k": k}) for k in (2, 4)]
    places += [(f"{profile}/musique", *ircot, {"k": 4}) for profile in ("mini/04_ircot-1a", QUICK)]
    places += [("quick/04_ircot-2c/musique", *ircot, {"k": 4})]
    places += [("quick/10_your_own-3d/own", "test", "NoR QA", {})]
    places += [("quick/13_head_to_head-4e/musique", *ircot, {"k": k}) for k in (2, 4)]
    folders = [tmp_path / where / part / f"{name} {s}" for where, part, name, s in places]
    for folder, (where, part, system, setting) in zip(folders, places, strict=True):
        profile, experiment, dataset = where.split("/")
        about = {"parameters": {"profile": profile, "server": "", "model": "data/models/mini-xl"}}
        about |= {"experiment": experiment[:-3], "dataset": dataset, "part": part}
        folder.mkdir(parents=True)
        for name in FILES:
            (folder / name).write_text("")
        about |= {"system": system, "metric": "f1", "setting": setting, "questions": 1}
        write_about(folder, about)
    return folders


def test_a_choice_offers_what_is_left_and_keeps_what_it_can(written):
    groups = explore.group_runs(written)
    assert [part for *_, part in groups] == ["test"] * 5 + ["dev"]
    box = explore_box._Box(groups, written[1])
    chosen = box.choices

    def offered(name):
        return [value for _, value in chosen[name].options]

    assert (chosen["system"].value, offered("part")) == ("IRCoT QA", ["test", "dev"])
    chosen["variant"].value = "k 4, mini-xl"
    assert box.run["folder"] == written[2]
    chosen["dataset"].value = "musique"  # the same setting is there, too
    assert box.run["folder"] == written[3] and offered("part") == ["test"]
    chosen["profile"].value = "quick"
    assert offered("variant") == ["k 4, mini-xl, 1b", "k 4, mini-xl, 2c"]
    assert [each.value for each in box.beside.values()] == ["04_ircot", "nothing", ""]
    box.beside["system"].value = "IRCoT QA"  # the other one
    assert box.second == written[5]
    box.beside["experiment"].value = "13_head_to_head"  # the same system is there, too
    box.beside["variant"].value = "k 4, mini-xl"
    assert box.second == written[8]
    chosen["experiment"].value = "10_your_own"
    assert box.run["folder"] == written[6] and chosen["variant"].value == "mini-xl"
    assert [len(each.options) for each in box.beside.values()] == [1, 1, 1] and not box.second
    (written[2] / "run.json").write_text("{")
    damaged = explore_box._Box(groups, written[1]).choices["system"].options
    assert [label for label, _ in damaged] == ["IRCoT QA", written[2].name]


def test_of_all_runs_only_those_of_the_chosen_experiment_are_read(written, monkeypatch):
    read = set()

    def watched(path, remedy):
        read.add(written.index(path.parent))
        return read_description(path, remedy)

    monkeypatch.setattr("ircotlib.experiment.runs.read_description", watched)
    groups = explore.group_runs(written)
    assert read == set()
    box = explore_box._Box(groups, written[1])
    assert read == {1, 2}
    for dropdowns, name, value, expected in [
        (box.choices, "variant", "k 4, mini-xl", {2}),
        (box.choices, "dataset", "musique", {3}),
        (box.choices, "dataset", "hotpotqa", {2}),  # its neighbour was read
        (box.choices, "profile", "quick", {4, 5}),
        (box.beside, "experiment", "13_head_to_head", {4, 7, 8}),
        (box.beside, "system", "IRCoT QA", {4, 7}),
        (box.beside, "variant", "k 4, mini-xl", {4, 8}),
    ]:
        read.clear()
        dropdowns[name].value = value
        assert read == expected, (name, value)


def test_the_box_says_what_is_wrong_with_a_folder(ran, displayed, copied, monkeypatch):
    (copied / SCORES).unlink()
    explore_box.explore_box([copied, *ran.values()], copied)
    assert "scores.csv: found no such file" in html.unescape(displayed[0].data)
    choices, *_ = displayed[-1].children
    choices.children[4].value = "OneR"
    assert "<h3>" in displayed[-1].data
    (copied / "run.json").write_text("{")
    explore_box.explore_box([copied])
    assert "run.json: " in html.unescape(displayed[-2].data)
    with pytest.raises(ValueError, match="found no run to look at"):
        explore_box.explore_box([])
    monkeypatch.setenv("IRCOT_BATCH", "1")
    displayed.clear()
    explore_box.explore_box(list(ran.values()))
    explore_box.explore_box([])
    assert displayed == []


def test_enter_asks_and_another_question_or_system_clears_what_was_shown(displayed, monkeypatch):
    asked, cleared = [], []
    monkeypatch.setattr(explore_box.Output, "clear_output", lambda self: cleared.append(1))

    def ask(text, systems):
        asked.append((text, systems))
        return "<b>said"

    explore_box.ask_box(ask, ["One", "Two", "Three"], "Who?")
    [box] = displayed
    question, row, _, frame = box.children
    first, second, button = row.children
    question._handle_custom_msg({"event": "submit"}, [])
    assert asked == [("Who?", ["One", "Two"])] and displayed[-1].data == "<b>said"
    question._handle_custom_msg({"event": "other"}, [])
    before = len(cleared)
    question.value = "Why?"
    assert len(cleared) == before + 1 and len(asked) == 1
    first.value, second.value = "Three", ""  # nothing beside
    assert len(cleared) == before + 3
    button.click()
    second.value = "Three"
    button.click()
    assert asked[1:] == [("Why?", ["Three"])] * 2
    assert isinstance(frame, explore_box.Frame) and "ircot-explore" in box._dom_classes


def test_what_cannot_be_asked_is_said_in_the_box(displayed):
    explore_box.ask_box(partial(ask_as_html, read_parameters("mini")), ["NoR QA"], " ")
    _, row, *_ = displayed[0].children
    row.children[-1].click()
    assert displayed[-1].data.startswith("found no question, expected one")
