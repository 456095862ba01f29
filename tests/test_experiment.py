"""Runs on a bench: their folders, tuning, replay from the call cache; and the tables made of them."""

import json
from dataclasses import replace
from functools import partial

import pandas as pd
import pytest

pytest.importorskip("torch")

from ircotlib import analysis, experiment
from ircotlib.calls import Calls
from ircotlib.data import Prediction
from ircotlib.datasets import load as datasets
from ircotlib.experiment import (
    Bench,
    clear_runs,
    open_dataset,
    program_of,
    prompt_path,
    run_system,
    score,
    tune,
)
from ircotlib.generation.local import load
from ircotlib.laboratory.make import make_laboratory
from ircotlib.paths import MODELS, PROMPTS
from ircotlib.program import Generate, NearestTitle, Retrieve

MODEL = MODELS / "mini-large"
WINDOW = 1050  # as in profiles/mini.yaml


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory):
    return make_laboratory(
        tmp_path_factory.mktemp("laboratory") / "small", seed=5, size=600, questions=40
    )


@pytest.fixture(scope="module")
def model():
    return load(MODEL)


@pytest.fixture
def open_bench(tmp_path, monkeypatch, laboratory, model):
    """open_bench(dataset, ...): 12 dev and 28 test questions of the small laboratory; all that is
    made goes to the test's folder.
    """
    monkeypatch.setattr(experiment, "DATA", tmp_path)
    monkeypatch.setattr(analysis, "DATA", tmp_path)
    with Calls(tmp_path / "calls.sqlite") as calls:
        yield lambda dataset="hotpotqa", **setting: Bench(
            "try",
            dataset,
            *open_dataset(dataset, laboratory, 12, 28),
            calls,
            model,
            context_tokens=WINDOW,
            **setting,
        )


@pytest.fixture
def bench(open_bench):
    return open_bench()


def test_a_run_leaves_its_folder_and_replays_from_the_cache(bench, tmp_path):
    scores = run_system(bench, "IRCoT QA", "dev", k=2, m=None)
    assert list(scores["id"]) == [q.id for q in bench.dev]
    assert scores[["recall", "em", "f1"]].map(lambda value: 0 <= value <= 1).all().all()
    (folder,) = (tmp_path / "runs/try/ircot/hotpotqa/dev").iterdir()
    assert folder.name == "IRCoT-QA mini-large cot k=2"
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
    assert (
        (folder / "predictions.jsonl").read_bytes(),
        (folder / "scores.csv").read_bytes(),
    ) == first


def test_without_a_folder_the_laboratory_is_opened(tmp_path, monkeypatch):
    small = partial(make_laboratory, seed=5, size=600, questions=40)
    monkeypatch.setattr(experiment, "DATA", tmp_path)
    monkeypatch.setattr(datasets, "DATA", tmp_path)
    monkeypatch.setattr(datasets, "make_laboratory", small)
    for data_dir in ("", None):
        dev, test, retriever = open_dataset("musique", data_dir, 12, 28)
        assert (len(dev), len(test), test[0].dataset) == (12, 28, "musique")
        assert len(retriever.search(test[0].text, 3)) == 3
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == [
        "corpora",
        "indexes",
        "laboratory",
    ]
    assert (tmp_path / "corpora/laboratory-musique").is_dir() and (
        tmp_path / "indexes/laboratory-musique"
    ).is_dir()


def test_tuning_takes_the_best_and_of_equals_the_smaller(bench):
    best, table = tune(bench, "OneR", "recall", k=[1, 5, 5])
    assert list(table["k"]) == [1, 5, 5]
    assert best == {"k": 5}
    assert table["recall"][0] < table["recall"][1] == table["recall"][2]
    best, _ = tune(bench, "OneR", "recall", k=[15, 15])
    assert best == {"k": 15}


def test_a_grid_of_one_setting_runs_nothing(bench, tmp_path):
    best, table = tune(bench, "IRCoT QA", "f1", k=[4], m=[None])
    assert best == {"k": 4, "m": None} and len(table) == 0
    assert not (tmp_path / "runs").exists()


def test_systems_by_their_paper_names(bench):
    question = bench.dev[0]
    for system, setting in (
        ("OneR", {"k": 5}),
        ("IRCoT", {"k": 2}),
        ("NoR QA", {}),
        ("OneR QA", {"k": 5}),
        ("IRCoT QA", {"k": 2}),
    ):
        assert next(program_of(bench, system, **setting)(question)) is not None
    with pytest.raises(ValueError, match="found system 'Oner', expected one of OneR, IRCoT"):
        program_of(bench, "Oner", k=5)


def test_the_score_of_a_prediction(bench):
    question = bench.test[0]
    gold = [paragraph for paragraph in bench.retriever.corpus if paragraph.id in question.gold]
    thoughts = ("One sentence.", f"So the answer is: {question.answers[0]}.")
    found = score(question, Prediction("something else", tuple(gold[:1]), thoughts), "hotpotqa")
    expected = {
        "em": 0,
        "f1": 0,
        "f1_without_reader": 1,
        "paragraphs": 1,
        "steps": 2,
        "recall": 1 / len(question.gold),
    }
    assert found == pytest.approx(expected)


def paragraphs_of(bench, question):
    return [paragraph for paragraph, _ in bench.retriever.search(question.text, 200)]


# Demonstrations and the window


def test_prompts_with_demonstrations(open_bench):
    bench = open_bench(demonstrations=PROMPTS / "laboratory")
    wide = replace(bench, context_tokens=None)
    text = wide.prompt("cot", 2, 1)(bench.dev[0], ())
    assert text.count("\nA:") == 16 and text.count("Wikipedia Title: ") >= 15 * 3
    with pytest.raises(FileNotFoundError, match="no prompt file .*gold_with_4_distractors"):
        prompt_path(PROMPTS / "laboratory", "hotpotqa", 4, "cot", "flan_t5")
    with pytest.raises(FileNotFoundError, match="set `demonstrations` to the folder"):
        replace(bench, demonstrations=None).prompt("cot", 1, 0)


def test_as_many_demonstrations_are_shown_as_fit_the_window_of_the_model(open_bench):
    bench = open_bench(demonstrations="prompts/laboratory")
    assert (bench.window.context_tokens, bench.window.max_prompt_tokens) == (
        WINDOW,
        WINDOW - bench.window.generation_tokens,
    )
    for kind in ("cot", "direct"):
        write, question = bench.prompt(kind, 1, 0), bench.dev[0]
        few, many = write(question, ()), write(question, paragraphs_of(bench, question)[:8])
        assert many.count("\nA:") < few.count("\nA:") < 16
        assert all(
            0.6 * WINDOW < bench.model.count_tokens(text) <= bench.window.max_prompt_tokens
            for text in (few, many)
        )
    assert replace(bench, context_tokens=None).window.context_tokens == 6000


def test_demonstrations_of_another_data_set(open_bench, tmp_path):
    bench = replace(
        open_bench(demonstrations=PROMPTS / "laboratory"),
        shown="2wikimultihopqa",
        experiment="ood",
        test=(),
    )
    own, other = (
        replace(bench, shown=shown).prompt("cot", 1, 0)(bench.dev[0], ())
        for shown in (None, "2wikimultihopqa")
    )
    assert own != other and own.rpartition("\n\n\n")[2] == other.rpartition("\n\n\n")[2]
    scores = run_system(replace(bench, dev=bench.dev[:3]), "OneR QA", "dev", k=3, m=1)
    (folder,) = (tmp_path / "runs/try/ood/hotpotqa/dev").iterdir()
    assert folder.name == "OneR-QA mini-large cot shown=2wikimultihopqa k=3 m=1"
    assert json.loads((folder / "run.json").read_text())["demonstrations"] == "2wikimultihopqa"
    runs = analysis.read_runs("try", ["hotpotqa"], "dev", "ood")
    assert list(runs["demonstrations"]) == ["2wikimultihopqa"] * 3 and list(runs["f1"]) == list(
        scores["f1"]
    )


def test_pages_of_iirc_are_asked_for_with_demonstrations_of_titles(open_bench):
    bench = open_bench("iirc", demonstrations=PROMPTS / "laboratory")
    question = bench.test[0]
    playing = program_of(bench, "IRCoT QA", k=2, m=1)(question)
    asked = next(playing)
    assert isinstance(asked, Generate) and asked.prompt.count("Generate titles of") > 3
    assert bench.model.count_tokens(asked.prompt) <= bench.window.max_prompt_tokens
    found = playing.send(f"{question.passage.title}, Nothing Like It")
    assert found == NearestTitle(question.passage.title)
    playing.send((question.passage.title.lower(),))
    first = playing.send(())
    assert first == Retrieve(question.text, 2, titles=(question.passage.title.lower(),))


# Tables


def test_summary_has_means_and_intervals(bench):
    run_system(bench, "OneR", "test", k=5)
    runs = analysis.read_runs("try", ["hotpotqa"])
    (row,) = analysis.summarise(runs, "recall").to_dict("records")
    assert row["n"] == 28 and row["low"] <= row["mean"] <= row["high"]
    assert row["mean"] == pytest.approx(100 * runs["recall"].mean(), abs=0.01)
    with pytest.raises(
        FileNotFoundError, match="run the notebook of the experiment 'ircot' on the profile 'try'"
    ):
        analysis.read_runs("try", ["musique"])


def test_experiments_have_run_folders_of_their_own(bench):
    other = replace(bench, experiment="scale")
    for where, k in ((bench, 5), (bench, 7), (other, 3)):
        run_system(where, "OneR", "test", k=k)
    assert set(analysis.read_runs("try", ["hotpotqa"])["k"]) == {5, 7}
    assert set(analysis.read_runs("try", ["hotpotqa"], experiment="scale")["k"]) == {3}
    clear_runs(bench)
    with pytest.raises(FileNotFoundError):
        analysis.read_runs("try", ["hotpotqa"])
    assert len(analysis.read_runs("try", ["hotpotqa"], experiment="scale")) == 28


def test_costs_are_what_the_runs_asked_for(bench):
    short = replace(bench, test=bench.test[:4])
    run_system(short, "OneR QA", k=3, m=None)
    run_system(short, "NoR QA", m=None)
    nor, oner = analysis.read_costs("try", ["hotpotqa"]).to_dict("records")
    assert (nor["system"], nor["retrievals"], nor["generations"]) == ("NoR QA", 0, 4)
    assert (oner["system"], oner["retrievals"], oner["generations"]) == ("OneR QA", 4, 4)
    assert oner["prompt tokens"] > nor["prompt tokens"] > 0 and oner["tokens written"] > 0


def test_several_demonstration_sets_are_averaged_per_question():
    rows = [("a", 1.0), ("a", 0.0), ("b", 1.0), ("b", 1.0)]
    runs = pd.DataFrame(
        [
            {"profile": "p", "dataset": "d", "model": "m", "system": "OneR QA", "id": i, "f1": f1}
            for i, f1 in rows
        ]
    )
    (row,) = analysis.summarise(runs, "f1").to_dict("records")
    assert (row["mean"], row["n"]) == (75.0, 2)
    assert (row["low"], row["high"]) == (50.0, 100.0)


def test_the_papers_numbers_stand_beside_ours():
    ours = pd.DataFrame(
        [
            {
                "profile": "sample",
                "dataset": "hotpotqa",
                "model": "x",
                "system": "IRCoT QA",
                "metric": "f1",
                "mean": 1.0,
                "low": 0,
                "high": 2,
                "n": 5,
            }
        ]
    )
    table = analysis.with_reported(
        ours, analysis.read_reported(source="Table 4", metric="f1", note="direct")
    )
    assert list(table.columns) == analysis.COLUMNS
    assert table.loc[0, "reported"] == 59.1
    papers = table[table["profile"] == "paper"].set_index(["model", "dataset", "system"])[
        "reported"
    ]
    assert papers["GPT3", "musique", "OneR QA"] == 20.4


def test_trainings_of_several_models_stand_side_by_side(tmp_path):
    for number, name in enumerate(("mini-base", "mini-large"), start=1):
        (tmp_path / name).mkdir()
        rows = [
            {"step": step, "seconds": 60 * step, "answer": 0.1 * step * number}
            for step in (1, 2, 3)[: 4 - number]
        ]
        (tmp_path / name / "training.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in rows)
        )
        (tmp_path / name / "training.json").write_text(json.dumps({"size": name, "steps": number}))
    curves, about = analysis.read_training([tmp_path / "mini-base", str(tmp_path / "mini-large")])
    assert list(curves["model"]) == ["mini-base"] * 3 + ["mini-large"] * 2
    assert list(curves["answer"]) == pytest.approx([0.1, 0.2, 0.3, 0.2, 0.4]) and list(
        curves.index
    ) == list(range(5))
    assert list(about.columns) == ["mini-base", "mini-large"] and list(about.loc["steps"]) == [1, 2]
