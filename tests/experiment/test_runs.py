"""Runs: their folders, their replay, and that killing their processes loses nothing."""

import json
import os
import random
import shutil
import signal
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from multiprocessing import get_context

import pandas as pd
import pytest

from ircotlib.data import DataError, Prediction, read_jsonl
from ircotlib.experiment import setup as setups
from ircotlib.experiment import stored
from ircotlib.experiment.compare import compare, run_system
from ircotlib.experiment.replay import replay
from ircotlib.experiment.runs import Run, count_demonstrations, find_cost
from ircotlib.experiment.setup import open_setup
from ircotlib.experiment.stored import find_folders, read_about, read_predictions
from ircotlib.parameters import read_parameters
from ircotlib.program import Generate, Outcome, Prompt, Retrieve, Step
from ircotlib.results.runs import read_runs
from ircotlib.systems import all_systems, choose_systems

S = all_systems()
FILES = ("predictions.jsonl", "scores.csv")
QA = S["IRCoT QA"]


def test_a_run_leaves_its_folder_and_replays_from_the_cache(p):
    setup = open_setup(p, "hotpotqa", "04_ircot")
    scores = run_system(setup, QA, "dev", k=2)
    assert list(scores["id"]) == [q.id for q in setup.dev]
    [folder] = (setup.runs / "dev").iterdir()
    assert folder.name == "IRCoT-QA k=2" and find_folders(setup.runs) == [folder]
    about = json.loads((folder / "run.json").read_text())
    assert (about["system"], about["setting"], about["questions"]) == (
        "IRCoT QA",
        {"k": 2},
        4,
    )
    assert about["parameters"] == p.model_dump(mode="json")
    assert about["model_fingerprint"] == setup.model.fingerprint
    assert about["counts"]["Generate"]["computed"] > 4
    lines = list(read_jsonl(folder / "predictions.jsonl"))
    assert [line["id"] for line in lines] == [q.id for q in setup.dev]
    assert {"retrieve", "generate"} <= {
        name for step in lines[0]["trace"] for name in step
    }
    first = [(folder / name).read_bytes() for name in FILES]
    shutil.rmtree(folder)
    assert run_system(setup, QA, "dev", k=2).equals(scores)
    again = read_about(folder)["counts"]
    assert again["Generate"]["computed"] == again["Retrieve"]["computed"] == 0
    assert again["Generate"]["tokens"] == about["counts"]["Generate"]["tokens"]
    assert [(folder / name).read_bytes() for name in FILES] == first


def test_a_run_replayed_from_its_folder_shows_its_prompts(p):
    p = p.change(distractors=[1], datasets=["iirc"])
    setup = open_setup(p, "iirc", "04_ircot")
    run_system(setup, QA, k=2, m=1, demonstration_set=2)
    [folder] = (setup.runs / "test").iterdir()
    outcomes, lines = replay(folder), list(read_jsonl(folder / "predictions.jsonl"))
    assert list(outcomes) == [line["id"] for line in lines]
    for line, outcome in zip(lines, outcomes.values(), strict=True):
        assert all(step.cached for step in outcome.trace)
        assert line["answer"] == outcome.result.answer
        written = [step for step in outcome.trace if isinstance(step.request, Generate)]
        kept = [step["generate"] for step in line["trace"] if "generate" in step]
        assert kept == [step.reply for step in written]
        for step in written:
            assert (
                abs(setup.model.count_tokens(step.request.prompt) - step.prompt_tokens)
                <= 1
            )
    shown = [outcome.trace[-1].request.demonstrations for outcome in outcomes.values()]
    assert read_about(folder)["demonstrations_shown"] == round(sum(shown) / 4, 2) > 0
    assert list(replay(folder, [lines[1]["id"]])) == [lines[1]["id"]]


def test_the_predictions_of_a_run_are_a_table_with_questions_and_scores(p):
    setup = open_setup(p, "hotpotqa", "04_ircot")
    scores = run_system(setup, QA, k=2)
    [folder] = (setup.runs / "test").iterdir()
    table = read_predictions(folder)
    assert list(table["f1"]) == list(scores["f1"]) and set(table["metric"]) == {"f1"}
    assert list(table["question"]) == [question.text for question in setup.test]
    gold = [
        {*found, *missed}
        for found, missed in table[["gold_found", "gold_missed"]].to_numpy()
    ]
    assert gold == [{*question.gold} for question in setup.test]
    assert list(table["recall"]) == [
        len(found) / (len(found) + len(missed))
        for found, missed in zip(table["gold_found"], table["gold_missed"], strict=True)
    ]
    assert list(read_predictions(folder, "em")["right"]) == list(table["em"] == 1)
    with pytest.raises(
        DataError, match="the measure 'x', which hotpotqa does not have"
    ):
        read_predictions(folder, "x")
    (folder / "run.json").write_text('{"half')
    with pytest.raises(
        DataError, match="run.json: found no finished run .*; run its notebook"
    ):
        read_predictions(folder)


NONE = ["", "{}", "[]", "null", "[" * 99_999, '{"a":' * 99_999, "\xff", "7"]
WITHOUT = ["system", "setting", "parameters", "dataset", "parameters.model"]
OF_OTHER_TYPES = [("setting", "k=2"), ("parameters", []), ("system", None)]


@pytest.mark.parametrize("wrong", [*NONE, *WITHOUT, *OF_OTHER_TYPES], ids=repr)
def test_a_run_json_that_is_none_is_named_in_one_line(p, tmp_path, wrong):
    setup = open_setup(p, "hotpotqa", "04_ircot", with_model=False)
    about = Run(setup, S["OneR"], "test", {"k": 2}).identity
    field = wrong
    if isinstance(wrong, tuple):
        field, about[wrong[0]] = wrong[0], wrong[1]
    elif wrong == "parameters.model":
        del about["parameters"]["model"]
    elif wrong in about:
        del about[wrong]
    text = wrong if wrong in NONE else json.dumps(about)
    field = "" if wrong in NONE else f"field {field}"
    (tmp_path / "run.json").write_text(text, encoding="latin-1")
    named = f"^{tmp_path}/run.json: found no finished run [^\n]*{field}[^\n]*; run its"
    with pytest.raises(DataError, match=named) as error:
        read_about(tmp_path)
    assert len(str(error.value)) < 400 + len(str(tmp_path))


def test_a_run_of_another_version_is_read_without_what_is_not_known_here(p):
    setup = open_setup(p, "hotpotqa", "04_ircot")
    run_system(setup, S["OneR"], k=2)
    [folder] = (setup.runs / "test").iterdir()
    before = read_predictions(folder)
    about = json.loads((folder / "run.json").read_text())
    del about["parameters"]["samples"]
    about["parameters"] |= {"most_samples": 5, "gone_k": [3]}
    (folder / "run.json").write_text(json.dumps(about))
    assert read_predictions(folder).equals(before) and len(replay(folder)) == 4


def test_ids_and_kinds_of_a_run_are_texts_as_they_stand(tmp_path):
    ids = ["007", "NA", "1e5", "", "nan", "True", "1.0"]
    table = pd.DataFrame({"id": ids, "kind": ids[::-1], "f1": 0.5, "recall": None})
    stored.write_table(tmp_path / "scores.csv", table)
    read = stored.read_scores(tmp_path)
    assert list(read["id"]) == ids and list(read["kind"]) == ids[::-1]
    assert read["recall"].isna().all()


def test_a_disk_that_is_full_names_the_run(p, monkeypatch):
    def fill(path, records):
        with open("/dev/full", "w") as full:
            full.write("x" * 99_999)

    setup = open_setup(p, "hotpotqa", "04_ircot")
    monkeypatch.setattr(stored, "write_jsonl", fill)
    with pytest.raises(OSError, match=f"No space left .*{setup.runs.parent}"):
        run_system(setup, S["OneR"], k=2)
    assert not find_folders(setup.runs)


def test_predictions_are_kept_whatever_a_server_replied(p):
    def halve(question):
        yield Retrieve(question.text, 1)
        # halves, which UTF-8 cannot encode
        return Prediction("x\ud800", thoughts=("\udfff",))

    setup = open_setup(p, "hotpotqa", "04_ircot")
    run_system(setup, replace(S["OneR"], name="Half", program=halve))
    rows = list(read_jsonl(setup.runs / "test/Half/predictions.jsonl"))
    assert [(row["answer"], row["thoughts"]) for row in rows] == [
        ("x\ud800", ["\udfff"])
    ] * 4


def test_the_demonstrations_of_the_last_prompt_count():
    def outcome(*shown: int) -> Outcome:
        prompts = [Prompt("p", demonstrations=count) for count in shown]
        steps = [Step(Retrieve("q", 1), (), False)]
        return Outcome(
            "q", None, (*steps, *(Step(Generate(p), "", False) for p in prompts))
        )

    assert count_demonstrations([outcome(9, 4), outcome(9, 1), outcome()]) == 2.5
    assert count_demonstrations([outcome()]) is None


def test_what_a_run_behind_a_server_costs():
    counts = {"Generate": {"prompt_tokens": 10**6, "tokens": 10**5}}
    counts["Retrieve"] = {"prompt_tokens": 0, "tokens": 0}
    p = read_parameters(
        "mini", {"server": "http://h:1", "model": "x", "prices": [2, 4.0]}
    )
    cost = {"usd": 2.4, "prices": (2.0, 4.0)}
    assert find_cost(p, counts) == {"cost": cost}
    assert find_cost(p.change(prices=None), counts) == {"cost": dict.fromkeys(cost)}
    assert find_cost(p.change(server=""), counts) == {}


SYSTEMS = ("OneR", "NoR QA", "IRCoT QA")
CONTEXT = get_context("forkserver")  # a fork of this process could not use torch
CONTEXT.set_forkserver_preload(["ircotlib.models.weights"])


def make_runs(p, folder, seed: int) -> None:
    """Make all runs in a random order, and read them."""
    setups.DATA = folder  # of a process of its own
    order = [*SYSTEMS]
    random.Random(seed).shuffle(order)
    for system in order:
        compare([open_setup(p, "hotpotqa", "together")], choose_systems([system]))
        assert len(read_runs(p, "together"))
    os._exit(0)


def start(p, folder, seed: int):
    process = CONTEXT.Process(target=make_runs, args=(p, folder, seed))
    process.start()
    return process


def read_all(folder) -> tuple[dict, dict]:
    """Replies by key, and files of runs by name."""
    with closing(sqlite3.connect(folder / "calls.sqlite")) as connection:
        made = connection.execute(
            "SELECT 1 FROM sqlite_schema WHERE name = 'calls'"
        ).fetchone()
        replies = (
            dict(connection.execute("SELECT key, reply FROM calls")) if made else {}
        )
    made = [run / name for run in find_folders(folder / "runs") for name in FILES]
    return replies, {path.relative_to(folder): path.read_bytes() for path in made}


def test_killing_processes_loses_nothing(tmp_path, p):
    p = p.change(ircot_k=[2, 3], oner_k=[2])
    alone, tried = tmp_path / "alone", tmp_path / "tried"
    # imports take seconds
    (warm := CONTEXT.Process(target=time.sleep, args=(0,))).start()
    warm.join()
    started = time.monotonic()
    (undisturbed := start(p, alone, 0)).join()
    assert undisturbed.exitcode == 0
    longest, chance = time.monotonic() - started, random.Random(3)
    kept, killed = set(), 0
    for number in range(3):
        processes = [start(p, tried, chance.random()) for _ in range(2)]
        for process in processes[: 2 if number < 2 else 1]:
            process.join(chance.uniform(0.1, 0.4) * longest)
            process.kill()
            process.join()
            killed += process.exitcode == -signal.SIGKILL
        processes[1].join()
        if (tried / "calls.sqlite").exists():
            replies, _ = read_all(tried)
            assert kept <= {*replies.items()}
            kept = {*replies.items()}
    assert killed >= 3 and processes[1].exitcode == 0
    assert read_all(tried) == read_all(alone) and len(read_all(alone)[1]) > 8
