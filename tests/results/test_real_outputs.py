"""IRCoT's claims on real outputs, counted by other means, where ../shared has them."""

import json

import pytest

from ircotlib import (
    conclude_outputs,
    count_misled,
    expect_outputs,
    import_outputs,
    judge_outputs,
    read_parameters,
    read_real_answers,
)
from ircotlib.errors import NothingToRun
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup
from ircotlib.files.paths import ROOT
from ircotlib.metrics import cover_em
from ircotlib.results.imports import runs as imports

REAL = ROOT.parent / "shared" / "data" / "outputs"
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="needs ../shared/data")


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patched:
        data = tmp_path_factory.mktemp("real")
        for module in (imports, backends, setup):
            patched.setattr(module, "DATA", data)
        yield read_real_answers(import_outputs(REAL).runs)


def test_without_outputs_there_is_nothing_to_run(tmp_path):
    p = read_parameters("mini", {"outputs": str(tmp_path)})
    with pytest.raises(NothingToRun, match="outputs: found none in .*, expected folders"):
        expect_outputs(p)


@needs_real
def test_only_what_has_all_three_systems_is_judged(answers):
    assert expect_outputs(read_parameters("mini", {"outputs": str(REAL)})) == REAL
    assert set(answers["model"]) == {"meta-llama/Llama-3.1-8B-Instruct"}
    assert (answers.groupby(["dataset", "system", "split"])["id"].nunique() == 500).all()


@needs_real
def test_claims_on_real_outputs(answers):
    p = read_parameters("mini")
    by_em, by_f1 = (judge_outputs(answers, p, metric) for metric in ("em", "f1"))
    assert len(by_em) == len(by_f1) == 27
    of_all = by_em[by_em["split"] == "all"].set_index(["dataset", "claim"])
    row = of_all.loc["2wikimultihopqa", "IRCoT QA > OneR QA"]
    assert (row["wins"], row["losses"], row["verdict"]) == (127, 56, "holds")
    assert of_all.loc["musique", "OneR QA > NoR QA"]["verdict"] == "cannot tell"
    f1 = by_f1.set_index(["split", "dataset", "claim"])
    row = f1.loc["all", "hotpotqa", "IRCoT QA > OneR QA"]
    assert (round(row["mean_a"], 1), round(row["mean_b"], 1)) == (52.2, 48.5)
    assert row["paper"] == "+9.4 with Flan-T5-XXL, +7.1 with GPT3"
    alone = f1.loc["test_subsampled", "hotpotqa", "IRCoT QA > OneR QA"]
    assert alone["n"] == 500 and alone["verdict"] == "cannot tell"
    text = conclude_outputs(by_f1, count_misled(answers))
    assert text.startswith("**Holds:** IRCoT QA > OneR QA (HotpotQA +3.7, 2WikiMQA +7.5")
    assert "**Undecided:** OneR QA > NoR QA (2WikiMQA +2.9, MuSiQue -1.2)" in text


@needs_real
def test_what_retrieval_takes_is_what_the_files_say(answers):
    misled = count_misled(answers).set_index(["dataset", "metric", "system", "change"])
    known = lost = 0
    for split in ("test", "dev_500"):
        files = {}
        for name, kind in (("nor", "ground_truth"), ("nor", "prediction"), ("oner", "prediction")):
            folder = next((REAL / "adarague" / split).glob(f"{name}_qa_*_musique____*"))
            [path] = folder.glob(f"{kind}__*.json")
            files[name, kind] = json.loads(path.read_text())
        for id, golds in files["nor", "ground_truth"].items():
            if cover_em(files["nor", "prediction"][id], golds):
                known += 1
                lost += not cover_em(files["oner", "prediction"][id], golds)
    row = misled.loc["musique", "cover_em", "OneR QA", "lost"]
    assert (row["n"], row["share"]) == (known, round(100 * lost / known, 1))
    assert row["low"] < row["share"] < row["high"] and row["paper"] == "6 to 15"
