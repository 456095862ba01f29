"""The bench of a real model on real questions, with a shipped model and the laboratory's files."""

import sys

import pandas as pd
import pytest

from bench import real_anchor
from ircot_laboratory.make import make_laboratory
from ircotlib.files import paths
from ircotlib.parameters import read_parameters
from ircotlib.running import backends
from ircotlib.running import bench as setup
from ircotlib.systems import all_systems
from ircotlib.text import answer_from_chain

MODEL = {"model": "data/models/mini-causal", "style": "codex", "context_tokens": 700, "test": 4}
ENDS = (".png", ".pdf", ".svg", ".csv", "_rates.csv", "_differences.csv")


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
    assert len(ids) == 9 and len(set(ids)) == 1 and len(ids.iloc[0]) == 4
    assert {name.partition(",")[0] for name in ids.index} <= set(all_systems())
    direct = answers[answers["system"].str.endswith(", direct")]
    assert set(direct["reader"]) == {"direct"} and set(direct["system"]) == {"IRCoT QA, direct"}
    paragraphs = answers[answers["system"] == "OneR QA"]["collected"].map(len)
    assert set(paragraphs) == {6}


def test_means_are_those_of_the_answers(answers):
    table = real_anchor.measure(answers).set_index(["system", "metric"])
    assert ("NoR QA", "recall") not in table.index and ("NoR QA", "f1") in table.index
    rows = answers[answers["system"] == "IRCoT QA"]
    gold = rows["gold_found"].map(len) + rows["gold_missed"].map(len)
    recall = table.loc[("IRCoT QA", "recall")]
    assert recall["mean"] == pytest.approx(100 * (rows["gold_found"].map(len) / gold).mean())
    assert recall["low"] <= recall["mean"] <= recall["high"] and recall["n"] == 4


def test_oners_recall_is_also_that_of_as_many_paragraphs_as_ircots(answers):
    collected = answers[answers["system"] == "IRCoT QA"]["collected"]
    table = real_anchor.with_recall(answers)
    fewer = table[table["system"] == "OneR QA, as many"]
    for row, others in zip(fewer.itertuples(), collected, strict=True):
        first = row.collected[: len(others)]
        gold = {*row.gold_found, *row.gold_missed}
        assert row.recall == len(gold & {*first}) / len(gold)
    assert len(fewer) == 4 and collected.map(len).min() < 6
    without = real_anchor.with_recall(answers[answers["system"] != "IRCoT QA"])
    assert len(without) == 5 * 4 and not set(real_anchor.CLOSED) & set(without["system"])


def test_ircot_is_compared_with_every_other_system_on_the_same_questions(answers):
    table = real_anchor.compare(answers).set_index(["metric", "system"])
    assert len(table.loc["f1"]) == 8 and len(table.loc["recall"]) == 6 and set(table["n"]) == {4}
    f1 = answers.groupby("system")["f1"].mean()
    gain = 100 * (f1["IRCoT QA"] - f1["CoT"])
    assert table.loc[("f1", "CoT"), "mean"] == pytest.approx(gain, abs=0.001)
    assert (table["low"] <= table["mean"]).all() and (table["mean"] <= table["high"]).all()
    assert len(real_anchor.compare(answers[answers["system"] == "CoT"])) == 0


def test_rates_count_what_they_say(answers):
    answers = answers.assign(recall=[1.0, 0.5] * 18, cover_em=[1.0, 1.0, 0.0, 0.0] * 9)
    rates = real_anchor.rate(answers)
    table = rates[rates["dataset"] == "hotpotqa"].set_index(["rate", "system"])
    assert set(table.loc["right without paragraphs"].index) == set(real_anchor.CLOSED)
    assert set(table.loc["right without paragraphs"]["n"]) == {4}
    others = answers.assign(dataset="musique", id=answers["id"] + " again")
    twice = real_anchor.rate(pd.concat([answers, others]))
    pooled = twice[twice["dataset"] == "all"].set_index(["rate", "system"])["n"]
    assert pooled["right without paragraphs", "CoT"] == 8
    shown = table.loc["right, all gold paragraphs shown"]
    readers = {"OneR QA", "IRCoT QA", "IRCoT QA, direct"}
    assert set(shown.index) == readers and set(shown["n"]) == {2} and set(shown["mean"]) == {50}
    parsed = table.loc["replies parsed"]["mean"]
    chains = answers[answers["system"] == "OneR QA"]["reading"]
    ended = [answer_from_chain(text) is not None for text in chains]
    assert parsed["OneR QA"] == 100 * sum(ended) / 4
    faults = answers[answers["system"] == "ReAct"]["fault"]
    assert parsed["ReAct"] == 100 * (faults == "").mean() and len(parsed) == 9


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
    assert means["dataset"].nunique() == 3 and set(means["metric"]) == set(real_anchor.MEASURES)
    assert means.groupby("dataset")["system"].nunique().tolist() == [10] * 3
