"""Systems compared on the same questions: scores of runs, lm-eval, Inspect and JSON lines."""

import json

import pandas as pd
import pytest
from scipy.stats import binomtest

from ircotlib import all_systems, compare_scores, list_flipped, open_setup, read_parameters
from ircotlib import run_system as play
from ircotlib.__main__ import main
from ircotlib.errors import DataError, UserError
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup
from ircotlib.files.paths import ROOT
from ircotlib.results.imports import runs as imports
from ircotlib.results.imports.runs import import_outputs
from ircotlib.results.scored import read_scored

REAL = ROOT.parent / "shared" / "data" / "outputs"
RIGHT = {"a": "110" * 20, "b": "100" * 20, "c": "101" * 20}  # of 60 questions


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def plain(tmp_path):
    """Files of JSON lines, a question each, in different orders."""
    files = []
    for n, (name, right) in enumerate(RIGHT.items()):
        rows = [{"id": i, "score": int(r), "question": f"Q{i}?"} for i, r in enumerate(right)]
        files.append(write(tmp_path / f"{name}.jsonl", rows[n:] + rows[:n]))
    return files


def test_pairs_are_tested_exactly_and_corrected_for_all(plain):
    table = compare_scores(*plain).set_index(["a", "b"])
    assert list(table.index) == [("a", "b"), ("a", "c"), ("b", "c")]
    ab, ac = table.loc["a", "b"], table.loc["a", "c"]
    assert (ab["wins"], ab["losses"], ab["n"], ab["unshared"]) == (20, 0, 60, 0)
    assert (ac["wins"], ac["losses"], ac["difference"], ac["p"]) == (20, 20, 0, 1)
    assert ab["p"] == pytest.approx(binomtest(20, 20).pvalue)
    assert ab["p_holm"] == pytest.approx(3 * ab["p"])
    assert ab["mean_a"] == pytest.approx(200 / 3, abs=0.01) and ab["difference"] > 33
    assert ab["low"] < ab["difference"] < ab["high"]
    verdicts = list(table["verdict"])
    assert verdicts == ["a is better", "cannot tell", "b is better"]
    assert pd.isna(ac["needed"]) and 0 < ab["needed"] < 60
    assert 20 < ac["detectable"] < 50
    flipped = list_flipped(*plain)
    assert len(flipped) == 20 + 40 + 20
    row = flipped.iloc[0]
    assert (row["outcome"], row["question"]) == ("win", f"Q{row['id']}?")


def test_what_cannot_be_compared_is_said(plain, tmp_path):
    other = write(tmp_path / "other.jsonl", [{"id": 1, "score": 1, "question": "Another?"}])
    with pytest.raises(UserError, match="found the id '1' of “Q1\\?” and of “Another\\?”"):
        compare_scores(plain[0], other)
    foreign = write(tmp_path / "foreign.jsonl", [{"id": "x", "score": 1}])
    with pytest.raises(UserError, match="expected two with questions in common"):
        compare_scores(plain[0], foreign)
    unscored = write(tmp_path / "unscored.jsonl", [{"id": 1, "prediction": "x", "em": True}])
    with pytest.raises(DataError, match="line 1: found score None.*--metric names one of em"):
        compare_scores(plain[0], unscored)
    with pytest.raises(UserError, match="a scored by score, unscored by em"):
        compare_scores(*read_scored([plain[0]]), *read_scored([unscored], "em"))
    with pytest.raises(UserError, match="found neither, expected runs, or lm-eval"):
        compare_scores(tmp_path / "none" if (tmp_path / "none").mkdir() else tmp_path / "none")
    assert compare_scores(plain[0], write(tmp_path / "few.jsonl", [{"id": 1, "score": 0}]))[
        "unshared"
    ].tolist() == [59]


def test_lm_eval_samples_with_filters(tmp_path):
    folders = []
    for model, right in list(RIGHT.items())[:2]:
        rows = []
        for i, r in enumerate(right):
            base = {"doc_id": i, "doc": {"question": f"Q{i}?"}, "target": "x", "resps": [["y"]]}
            for name, score in (("strict-match", int(r)), ("flexible-extract", 1)):
                row = base | {"filter": name, "metrics": ["exact_match"], "exact_match": score}
                rows.append(row | {"filtered_resps": [f"answer {i}"]})
        path = tmp_path / model / "samples_gsm8k_2025-01-02T03-04-05.678.jsonl"
        folders.append(write(path, rows).parent)
    table = compare_scores(*folders)
    assert set(table["dataset"]) == {"gsm8k"} and set(table["metric"]) == {"exact_match"}
    names = ("a · strict-match", "b · strict-match")
    [row] = table[(table["a"] == names[0]) & (table["b"] == names[1])].to_dict("records")
    assert (row["wins"], row["losses"], row["n"]) == (20, 0, 60)
    assert list_flipped(*folders)["answer_a"].str.startswith("answer").all()


def test_logs_of_inspect_with_epochs_and_grades(tmp_path):
    files = []
    for model, right in list(RIGHT.items())[:2]:
        samples = []
        for i, r in enumerate(right):
            for epoch in (1, 2):
                grade = {"value": "C" if r == "1" else "PI"[epoch - 1], "answer": f"{epoch}"}
                sample = {"id": i, "epoch": epoch, "input": f"Q{i}?", "scores": {"match": grade}}
                samples.append(sample)
        log = {"eval": {"task": "gpqa", "model": f"openai/{model}"}, "samples": samples}
        files.append(tmp_path / f"{model}.json")
        files[-1].write_text(json.dumps(log))
    [row] = compare_scores(*files).to_dict("records")
    assert (row["a"], row["b"], row["dataset"], row["metric"]) == ("a", "b", "gpqa", "match")
    assert (row["n"], row["wins"], row["losses"]) == (60, 20, 0)
    # wrong answers were partly right in one of two epochs
    assert row["difference"] == pytest.approx(100 * 20 * 0.75 / 60, abs=0.01)
    log["samples"][0]["scores"]["match"]["value"] = "maybe"
    files[0].write_text(json.dumps(log))
    with pytest.raises(DataError, match="sample 1: found the value 'maybe', expected a number"):
        compare_scores(*files)
    with pytest.raises(DataError, match="found the scorers match, expected f1"):
        compare_scores(files[1], metric="f1")
    files[0].write_text(json.dumps({"results": {}}))
    with pytest.raises(DataError, match="is it a log of Inspect"):
        compare_scores(*files)


def test_own_runs_are_compared_as_the_demonstration_sets_mean(tmp_path, monkeypatch):
    for module in (setup, backends):
        monkeypatch.setattr(module, "DATA", tmp_path)
    changes = {"model": "simulated", "dials": {"knows": 0.3, "misreads": 0.3}}
    changes |= {"dev": 0, "test": 30}
    p = read_parameters("mini", changes | {"datasets": ["musique"]})
    bench = open_setup(p, "musique", "04_ircot")
    scores = {}
    for name, setting in (("NoR QA", {}), ("OneR QA", {"k": 3, "m": 1})):
        scores[name] = play(bench, all_systems()[name], **setting).set_index("id")["f1"]
    [row] = compare_scores(tmp_path / "runs").to_dict("records")
    assert row["metric"] == "f1" and {row["a"], row["b"]} == {"NoR QA", "OneR QA · k 3 · m 1"}
    sign = 1 if row["a"] == "NoR QA" else -1
    difference = 100 * (scores["NoR QA"] - scores["OneR QA"])
    assert row["difference"] == pytest.approx(sign * difference.mean(), abs=0.01)
    assert row["wins"] + row["losses"] == (difference != 0).sum()


def test_the_command_prints_and_writes_what_it_compares(plain, tmp_path, capsys):
    out = tmp_path / "compared"
    assert main(["compare", *map(str, plain), "--flipped", "2", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert told.startswith("80 flipped questions, such as:\n- Q") and told.count("\n- Q") == 2
    assert "2 of 3 pairs decided" in told
    assert (out / "compared.md").read_text() in told
    table = pd.read_csv(out / "compared.csv")
    pd.testing.assert_frame_equal(
        table[["a", "b", "p"]], compare_scores(*plain)[["a", "b", "p"]], check_dtype=False
    )
    assert len(pd.read_csv(out / "flipped.csv")) == 80
    assert main(["compare", str(tmp_path / "gone.jsonl")]) == 2
    assert "found nothing, expected a folder or a file" in capsys.readouterr().err


@pytest.mark.skipif(not REAL.is_dir(), reason="needs ../shared/data")
def test_parts_of_real_outputs_are_compared_as_one(tmp_path, monkeypatch):
    for module in (imports, backends, setup):
        monkeypatch.setattr(module, "DATA", tmp_path)
    runs, _ = import_outputs(REAL / "adarague")
    table = compare_scores(tmp_path / "runs", metric="em")
    assert len(table) == 9 and set(table["n"]) == {1000}
    of_pair = table.set_index(["dataset", "a", "b"])
    names = ("IRCoT QA · k 6 · m 1", "OneR QA · k 15 · m 1")
    row = of_pair.loc[("musique", *names)]
    assert (row["wins"], row["losses"], row["mean_a"], row["mean_b"]) == (71, 34, 13.7, 10.0)
    undecided = of_pair.loc[("musique", "NoR QA", names[1])]
    assert (undecided["wins"], undecided["losses"], round(undecided["p"], 2)) == (58, 63, 0.72)
    own = [run for run in runs if "hotpotqa/test" in str(run) and "test_sub" in str(run)]
    alone = compare_scores(*own, metric="em").set_index(["a", "b"]).loc[names]
    assert (alone["n"], round(alone["p"], 2)) == (500, 0.16)
