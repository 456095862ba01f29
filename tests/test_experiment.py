"""Runs on a bench: their folders, tuning, replay from the call cache; and the tables made of them."""

import json

import pandas as pd
import pytest

pytest.importorskip("torch")

from ircotlib import analysis, experiment
from ircotlib.calls import Calls
from ircotlib.datasets.mini import make_mini
from ircotlib.experiment import Bench, program_of, prompt_path, run_system, tune
from ircotlib.generation.local import load
from ircotlib.paths import MINI_MODEL, PROMPTS
from ircotlib.retrieval.bm25 import open_index
from ircotlib.retrieval.corpus import write_corpus


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.setattr(experiment, "DATA", tmp_path)
    monkeypatch.setattr(analysis, "DATA", tmp_path)
    questions, paragraphs = make_mini(seed=5, paragraphs=600, questions=40)
    retriever = open_index(write_corpus(tmp_path / "corpus", paragraphs), tmp_path / "index")
    with Calls(tmp_path / "calls.sqlite") as calls:
        yield Bench("try", "mini", questions[:12], questions[12:], retriever, calls, load(MINI_MODEL))


def test_a_run_leaves_its_folder_and_replays_from_the_cache(bench, tmp_path):
    scores = run_system(bench, "IRCoT QA", "dev", k=2, m=None)
    assert list(scores["id"]) == [q.id for q in bench.dev]
    assert scores[["recall", "em", "f1"]].map(lambda value: 0 <= value <= 1).all().all()
    (folder,) = (tmp_path / "runs/try/mini/dev").iterdir()
    about = json.loads((folder / "run.json").read_text())
    assert about["system"] == "IRCoT QA" and about["k"] == 2 and about["questions"] == 12
    assert about["counts"]["Generate"]["computed"] > 12
    lines = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == [q.id for q in bench.dev]
    assert {"retrieve", "generate"} <= {name for step in lines[0]["trace"] for name in step}
    first = (folder / "predictions.jsonl").read_bytes(), (folder / "scores.csv").read_bytes()

    assert run_system(bench, "IRCoT QA", "dev", k=2, m=None).equals(scores)
    again = json.loads((folder / "run.json").read_text())["counts"]
    assert again["Generate"]["computed"] == again["Retrieve"]["computed"] == 0
    assert again["Generate"]["tokens"] == about["counts"]["Generate"]["tokens"]
    assert ((folder / "predictions.jsonl").read_bytes(), (folder / "scores.csv").read_bytes()) == first


def test_tuning_takes_the_best_and_of_equals_the_smaller(bench):
    best, table = tune(bench, "OneR", "recall", k=[1, 5, 5])
    assert list(table["k"]) == [1, 5, 5]
    assert best == {"k": 5}
    assert table["recall"][0] < table["recall"][1] == table["recall"][2]
    best, _ = tune(bench, "OneR", "recall", k=[15, 15])
    assert best == {"k": 15}


def test_systems_by_their_paper_names(bench):
    question = bench.dev[0]
    for system, setting in (("OneR", {"k": 5}), ("IRCoT", {"k": 2}), ("NoR QA", {}), ("OneR QA", {"k": 5}), ("IRCoT QA", {"k": 2})):
        assert next(program_of(bench, system, **setting)(question)) is not None
    with pytest.raises(ValueError, match="found system 'Oner', expected one of OneR, IRCoT"):
        program_of(bench, "Oner", k=5)


def test_prompts_with_demonstrations(bench):
    with_files = Bench(**{**{f: getattr(bench, f) for f in bench.__dataclass_fields__}, "demonstrations": PROMPTS})
    text = with_files.prompt("cot", 2, 1)(bench.dev[0], ())
    assert text.count("Wikipedia Title: ") >= 15 * 3
    assert text.count("\nA:") == 16
    with pytest.raises(FileNotFoundError, match="no prompt file .*gold_with_4_distractors"):
        prompt_path(PROMPTS, "mini", 4, "cot", "flan_t5")
    with pytest.raises(FileNotFoundError, match="set `demonstrations` to the folder"):
        bench.prompt("cot", 1, 0)


def test_summary_has_means_and_intervals(bench):
    run_system(bench, "OneR", "test", k=5)
    runs = analysis.read_runs("try", ["mini"])
    (row,) = analysis.summarise(runs, "recall").to_dict("records")
    assert row["n"] == 28 and row["low"] <= row["mean"] <= row["high"]
    assert row["mean"] == pytest.approx(100 * runs["recall"].mean(), abs=0.01)
    with pytest.raises(FileNotFoundError, match="run notebook 04_ircot"):
        analysis.read_runs("try", ["musique"])


def test_several_demonstration_sets_are_averaged_per_question():
    rows = [("a", 1.0), ("a", 0.0), ("b", 1.0), ("b", 1.0)]
    runs = pd.DataFrame([{"profile": "p", "dataset": "d", "model": "m", "system": "OneR QA", "id": i, "f1": f1} for i, f1 in rows])
    (row,) = analysis.summarise(runs, "f1").to_dict("records")
    assert (row["mean"], row["n"]) == (75.0, 2)
    assert (row["low"], row["high"]) == (50.0, 100.0)


def test_the_papers_numbers_stand_beside_ours():
    ours = pd.DataFrame([{"profile": "sample", "dataset": "hotpotqa", "model": "x", "system": "IRCoT QA", "metric": "f1", "mean": 1.0, "low": 0, "high": 2, "n": 5}])
    table = analysis.with_reported(ours, analysis.read_reported(source="Table 4", metric="f1", note="direct"))
    assert list(table.columns) == analysis.COLUMNS
    assert table.loc[0, "reported"] == 59.1
    papers = table[table["profile"] == "paper"].set_index(["model", "dataset", "system"])["reported"]
    assert papers["GPT3", "musique", "OneR QA"] == 20.4
