"""The bench of a real model on real questions, with a shipped model and the laboratory's files."""

import sys

import pandas as pd
import pytest

from bench import real_anchor
from ircot_laboratory.make import make_laboratory
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup
from ircotlib.files import paths
from ircotlib.parameters import read_parameters
from ircotlib.text import answer_from_chain

MODEL = {"model": "data/models/mini-causal", "style": "codex", "context_tokens": 700, "test": 4}
ENDS = (".png", ".pdf", ".svg", ".csv", "_compared.csv")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    laboratory = tmp_path_factory.mktemp("laboratory") / "small"
    return str(make_laboratory(laboratory, seed=5, size=600, questions=40))


@pytest.fixture(scope="module")
def answers(folder, tmp_path_factory):
    changes = real_anchor.FIXED | MODEL | {"data_dir": folder, "datasets": ["hotpotqa"]}
    p = read_parameters("sample", changes)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(setup, "DATA", tmp_path_factory.mktemp("data"))
        patched.setattr(backends, "DATA", tmp_path_factory.mktemp("data"))
        return real_anchor.run_dataset(p, "hotpotqa")


def test_every_system_answers_the_same_questions(answers):
    ids = answers.groupby("system", sort=False)["id"].agg(tuple)
    assert len(set(ids)) == 1 and len(ids.iloc[0]) == 4
    as_many = [real_anchor.AS_MANY + name for name in real_anchor.STEPWISE]
    assert [*ids.index] == [*real_anchor.SYSTEMS, *as_many]
    paragraphs = answers[answers["system"] == "OneR QA"]["collected"].map(len)
    assert set(paragraphs) == {6}


@pytest.mark.parametrize("name", real_anchor.STEPWISE)
def test_oner_has_as_many_paragraphs_as_each_system_that_searches_in_steps(answers, name):
    by_system = {name: rows.set_index("id") for name, rows in answers.groupby("system")}
    fewer, other = by_system[real_anchor.AS_MANY + name], by_system[name]
    assert [*fewer["paragraphs"]] == [len(ids) for ids in other["collected"]]
    for row in fewer.itertuples():
        gold = {*row.gold_found, *row.gold_missed}
        assert row.recall == len(gold & {*row.collected[: row.paragraphs]}) / len(gold)


def test_oner_qa_reads_as_many_paragraphs_as_ircot_qa(answers):
    by_system = {name: rows.set_index("id") for name, rows in answers.groupby("system")}
    fewer, all_six = by_system[real_anchor.AS_MANY + "IRCoT QA"], by_system["OneR QA"]
    for id, row in fewer.iterrows():
        assert row["collected"] == all_six.loc[id, "collected"][: row["paragraphs"]]
        assert row["answer"] and row["paragraphs"] < 6
    others = answers[answers["system"].isin([f"{real_anchor.AS_MANY}{n}" for n in ("ReAct",)])]
    assert others[["f1", "cover_em", "parsed"]].isna().all(axis=None)  # only their recall is known


def test_means_are_those_of_the_answers(answers):
    table = real_anchor.measure(answers).set_index(["dataset", "system", "metric"])
    assert ("all", "NoR QA", "recall") not in table.index
    rows = answers[answers["system"] == "IRCoT QA"]
    gold = rows["gold_found"].map(len) + rows["gold_missed"].map(len)
    recall = table.loc[("hotpotqa", "IRCoT QA", "recall")]
    assert recall["mean"] == pytest.approx(100 * (rows["gold_found"].map(len) / gold).mean())
    assert recall["low"] <= recall["mean"] <= recall["high"] and recall["n"] == 4
    assert recall["paragraphs"] == rows["collected"].map(len).mean()
    chains = answers[answers["system"] == "OneR QA"]["reading"]
    ended = [answer_from_chain(text) is not None for text in chains]
    assert table.loc[("all", "OneR QA", "parsed"), "mean"] == 100 * sum(ended) / 4
    faults = answers[answers["system"] == "ReAct"]["fault"]
    assert table.loc[("all", "ReAct", "parsed"), "mean"] == 100 * (faults == "").mean()


def test_data_sets_are_also_pooled_and_readers_judged_by_what_they_were_shown(answers):
    answers = answers.assign(recall=[1.0, 0.5, 1.0, 0.5] * 12, cover_em=[1.0, 1.0, 0.0, 0.0] * 12)
    others = answers.assign(dataset="musique", id=answers["id"] + " again")
    table = real_anchor.measure(pd.concat([answers, others])).set_index(["metric", "system"])
    pooled = table[table["dataset"] == "all"]
    assert pooled.loc[("cover_em", "CoT"), ["mean", "n"]].tolist() == [50, 8]
    shown = pooled.loc[real_anchor.SHOWN]
    assert [*shown.index] == ["OneR QA", "IRCoT QA", real_anchor.AS_MANY + "IRCoT QA"]
    assert set(shown["n"]) == {4} and set(shown["mean"]) == {50}
    below = pooled.loc["recall"].index
    assert [*below[-2:]] == ["SearChain", real_anchor.AS_MANY + "SearChain"]


def test_tests_are_paired_and_corrected_for_all(answers):
    table = real_anchor.compare(answers)
    assert [*table.columns[:4]] == ["dataset", "metric", "a", "b"] and set(table["n"]) == {4}
    recall, f1 = (rows.set_index(["a", "b"]) for _, rows in table.groupby("metric", sort=False))
    assert [*recall.index] == [(n, real_anchor.AS_MANY + n) for n in real_anchor.STEPWISE]
    assert {a for a, _ in f1.index} == {"IRCoT QA"} and len(f1) == 8
    means = answers.groupby("system")["f1"].mean()
    gain = 100 * (means["IRCoT QA"] - means["CoT"])
    assert f1.loc[("IRCoT QA", "CoT"), "difference"] == pytest.approx(gain, abs=0.001)
    assert (table["p_holm"] >= table["p"]).all() and (table["low"] <= table["high"]).all()
    assert table["p_holm"].min() == pytest.approx(min(1, 12 * table["p"].min()))
    assert len(real_anchor.compare(answers[answers["system"] == "CoT"])) == 0


def test_the_command_writes_the_figure_and_both_tables(answers, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "FIGURES", tmp_path)
    monkeypatch.setattr(real_anchor, "run_dataset", lambda p, name: answers.assign(dataset=name))
    options = [f"--set={name}={value}" for name, value in MODEL.items()]
    monkeypatch.setattr(sys, "argv", ["real_anchor", *options, f"--set=data_dir={folder}"])
    real_anchor.main()
    [made] = tmp_path.glob("trials/*")  # with changes, beside the kept ones
    assert {p.name.replace("_sample", "") for p in made.iterdir()} == {
        f"real_anchor{e}" for e in ENDS
    }
    means = pd.read_csv(made / "real_anchor_sample.csv")
    assert [*means["dataset"].unique()] == ["hotpotqa", "2wikimultihopqa", "musique", "all"]
    assert [*means["metric"].unique()] == [*real_anchor.MEASURES]
    assert means.groupby("dataset")["system"].nunique().tolist() == [12] * 4
