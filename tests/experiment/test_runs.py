"""Runs: their folders, their replay, and that killing their processes loses nothing."""

import json
import os
import random
import shutil
import signal
import time
from dataclasses import replace
from itertools import chain
from multiprocessing import get_context

import pandas as pd
import pytest

from ircotlib.data import DataError, Prediction, read_jsonl
from ircotlib.engine.cache import Calls
from ircotlib.experiment import setup as setups
from ircotlib.experiment import stored
from ircotlib.experiment.compare import compare, run_system
from ircotlib.experiment.replay import replay
from ircotlib.experiment.setup import open_setup
from ircotlib.experiment.stored import find_folders, read_about, read_predictions
from ircotlib.program import Generate, Retrieve
from ircotlib.results.runs import read_runs
from ircotlib.systems import all_systems, choose_systems

S = all_systems()
FILES = ("predictions.jsonl", "scores.csv")
QA = S["IRCoT QA"]


def test_a_run_leaves_its_folder_and_replays_from_the_cache(p, opened):
    scores = run_system(opened, QA, "dev", k=2)
    assert list(scores["id"]) == [q.id for q in opened.dev]
    [folder] = (opened.runs / "dev").iterdir()
    assert folder.name == "IRCoT-QA k=2" and find_folders(opened.runs) == [folder]
    about = json.loads((folder / "run.json").read_text())
    assert (about["system"], about["setting"]) == ("IRCoT QA", {"k": 2})
    assert about["questions"] == 4
    assert about["parameters"] == p.model_dump(mode="json")
    assert about["model_fingerprint"] == opened.model.fingerprint
    assert about["counts"]["Generate"]["computed"] > 4
    lines = list(read_jsonl(folder / "predictions.jsonl"))
    assert [line["id"] for line in lines] == [q.id for q in opened.dev]
    assert {"retrieve", "generate"} <= {*chain(*lines[0]["trace"])}
    first = [(folder / name).read_bytes() for name in FILES]
    shutil.rmtree(folder)
    assert run_system(opened, QA, "dev", k=2).equals(scores)
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
            counted = setup.model.count_tokens(step.request.prompt)
            assert abs(counted - step.prompt_tokens) <= 1
    shown = [outcome.trace[-1].request.demonstrations for outcome in outcomes.values()]
    assert read_about(folder)["demonstrations_shown"] == round(sum(shown) / 4, 2) > 0
    assert list(replay(folder, [lines[1]["id"]])) == [lines[1]["id"]]


def test_the_predictions_of_a_run_are_a_table_with_questions_and_scores(opened):
    scores = run_system(opened, QA, k=2)
    [folder] = (opened.runs / "test").iterdir()
    table = read_predictions(folder)
    assert list(table["f1"]) == list(scores["f1"]) and set(table["metric"]) == {"f1"}
    assert list(table["question"]) == [question.text for question in opened.test]
    gold = (table["gold_found"] + table["gold_missed"]).map(set)
    assert list(gold) == [{*question.gold} for question in opened.test]
    assert list(table["recall"]) == list(table["gold_found"].map(len) / gold.map(len))
    assert list(read_predictions(folder, "em")["right"]) == list(table["em"] == 1)
    with pytest.raises(DataError, match="lack question .* or measure 'x'"):
        read_predictions(folder, "x")


NONE = ["", "{}", "[]", "\xff", '{"half', '{"experiment": 7}']


@pytest.mark.parametrize("content", NONE)
def test_a_run_json_that_is_none_is_named_in_one_line(tmp_path, content):
    (tmp_path / "run.json").write_text(content, encoding="latin-1")
    named = (
        f"^{tmp_path}/run.json: found no finished run of this version; run its[^\n]*$"
    )
    with pytest.raises(DataError, match=named):
        read_about(tmp_path)


def test_a_run_of_another_version_is_read_without_what_is_not_known_here(opened):
    run_system(opened, S["OneR"], k=2)
    [folder] = (opened.runs / "test").iterdir()
    before = read_predictions(folder)
    about = json.loads((folder / "run.json").read_text())
    del about["parameters"]["samples"]
    about["parameters"] |= {"most_samples": 5, "gone_k": [3]}
    (folder / "run.json").write_text(json.dumps(about))
    assert read_predictions(folder).equals(before) and len(replay(folder)) == 4


def test_a_run_with_a_setting_of_another_version_lacks_replies(opened):
    run_system(opened, S["OneR"], k=2)
    [folder] = (opened.runs / "test").iterdir()
    about = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(about | {"setting": {"gone": 3}}))
    with pytest.raises(DataError, match=f"^{folder}: question .* lacks replies"):
        replay(folder)


def test_ids_and_kinds_of_a_run_are_texts_as_they_stand(tmp_path):
    ids = ["007", "NA", "1e5", "", "nan", "True", "1.0"]
    table = pd.DataFrame({"id": ids, "kind": ids[::-1], "f1": 0.5, "recall": None})
    stored.write_table(tmp_path / "scores.csv", table)
    read = stored.read_scores(tmp_path)
    assert list(read["id"]) == ids and list(read["kind"]) == ids[::-1]
    assert read["recall"].isna().all()


def test_predictions_are_kept_whatever_a_server_replied(opened):
    def halve(question):
        yield Retrieve(question.text, 1)
        # halves, which UTF-8 cannot encode
        return Prediction("x\ud800", thoughts=("\udfff",))

    run_system(opened, replace(S["OneR"], name="Half", program=halve))
    rows = list(read_jsonl(opened.runs / "test/Half/predictions.jsonl"))
    assert len(rows) == 4
    assert (rows[0]["answer"], rows[0]["thoughts"]) == ("x\ud800", ["\udfff"])


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
    with Calls(folder / "calls.sqlite") as calls:
        replies = dict(calls._file.execute("SELECT key, reply FROM calls"))
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
