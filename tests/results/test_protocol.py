"""The protocol sheet of real runs: each fact against what it is about, counted another way."""

import hashlib
import json
import shutil
from statistics import mean

import pandas as pd
import pytest
from ircotlib.results.protocol.played import find_order, say_asked
from ircotlib.results.protocol.sheet import ABSENT, INDEX, NOT_KNOWN

from ircotlib import all_systems, describe_protocol, import_outputs, open_setup, read_parameters
from ircotlib import run_system as play
from ircotlib.__main__ import main
from ircotlib.errors import DataError, UserError
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup
from ircotlib.experiment.runs import Run, read_about, replay, write_about
from ircotlib.files.paths import ROOT
from ircotlib.program import Generate, Retrieve
from ircotlib.results.imports import runs as imports

REAL = ROOT.parent / "shared" / "data" / "outputs" / "official_llama"
K, SET = "paragraphs of a retrieval (K)", "set of demonstrations"
SHOWN, COLLECTED = "demonstrations in the last prompt", "paragraphs collected"
S = all_systems()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder of data that all runs of this module are in."""
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        for module in (imports, backends, setup):
            patch.setattr(module, "DATA", folder)
        yield folder


@pytest.fixture(scope="module")
def bench(data, laboratory):
    """A window in which paragraphs take the place of demonstrations; four questions."""
    changes = {"data_dir": str(laboratory), "dev": 12, "test": 4, "datasets": ["hotpotqa"]}
    changes |= {"model": "data/models/mini-base", "context_tokens": 700, "distractors": [1, 2]}
    return open_setup(read_parameters("mini", changes | {"max_steps": 3}), "hotpotqa", "mine")


@pytest.fixture(scope="module")
def run_it(bench):
    """run_it(system, **setting) plays a run, if it is not there, and returns its folder."""

    def run_it(name, on=bench, **setting):
        folder = Run(on, S[name], "test", setting).folder
        if not folder.exists():
            play(on, S[name], **setting)
        return folder

    return run_it


def sheet_of(*folders) -> dict:
    """The values of a sheet by fact; of two runs a pair of values."""
    sheet = describe_protocol(*folders).set_index("fact").drop(columns="part")
    assert sheet.index.is_unique
    return {fact: row[0] if len(row) == 1 else row for fact, *row in sheet.itertuples()}


def test_a_sheet_says_what_the_prompts_and_the_index_really_were(bench, run_it):
    folder = run_it("IRCoT QA", k=2, m=1)
    said, outcomes = sheet_of(folder), replay(folder)
    assert NOT_KNOWN not in said.values()
    steps = [[step for step in outcome.trace] for outcome in outcomes.values()]
    prompts = [[s.request for s in of if isinstance(s.request, Generate)] for of in steps]
    shown = [asked[-1].prompt.count("\n\n\n") for asked in prompts]
    assert said[SHOWN] == f"{mean(shown):.2f} ({min(shown)} to {max(shown)})"
    where = "the reader answers"
    assert said[f"demonstrations where {where}"] == said[SHOWN] and 0 < mean(shown) < 15
    assert said[f"where {where}"] == "greedy; ends at the first line break; at most 200 tokens"
    sentence = said["where IRCoT QA writes the next sentence"]
    assert sentence == "greedy; ends after the first sentence; at most 200 tokens"
    searches = [sum(isinstance(s.request, Retrieve) for s in of) for of in steps]
    assert said["retrievals of a question"].startswith(f"{mean(searches):.2f} ({min(searches)} to")
    ends = [len(outcome.result.paragraphs) for outcome in outcomes.values()]
    assert said[COLLECTED] == f"{mean(ends):.2f} ({min(ends)} to {max(ends)})"
    assert said["order of paragraphs"] == "as first found, the best of a retrieval first"
    assert said["in brief"].endswith("from scratch, without the chain (IRCoT §3.2).")
    assert (said[K], said["most steps"], said["most paragraphs"]) == ("2", "3", "15")
    assert said["window"] == "700 tokens, 200 of them for what is written"
    assert said["paragraphs in the corpus"] == str(len(bench.retriever.corpus))
    assert said["checksum of the corpus"] == bench.retriever.corpus.fingerprint
    assert "k1 1.2, b 0.75" in said["scoring"] and "33 stop words" in said["analyzer"]
    ids = "\n".join(sorted(question.id for question in bench.test)) + "\n"
    assert said["checksum of ids"].startswith(hashlib.sha256(ids.encode()).hexdigest()[:16] + " ")
    assert said["drawn"].endswith("12 for dev, 4 for test")
    assert said["definition"].startswith("The word F1 (official scorer of HotpotQA")
    assert said["model"] == "data/models/mini-base" and said["precision"] == "float32"
    assert said["fingerprint of the model"] == bench.model.fingerprint


def test_each_kind_of_system_has_the_facts_that_it_can_have(run_it, bench):
    closed = sheet_of(run_it("NoR QA"))
    assert closed["corpus"] == "none: nothing is retrieved" and K not in closed
    assert closed["distractors (M)"] == "none, nor gold paragraphs"
    found = sheet_of(run_it("OneR", k=5))
    assert found["model"] == "none: nothing is written" and "style" not in found
    assert found["metric"] == "recall" and found[COLLECTED] == "5.00 (5 to 5)"
    agent = bench.parameters.change(model="data/models/agent", style="agent", context_tokens=None)
    other = open_setup(agent, "hotpotqa", "mine")
    chain = sheet_of(run_it("SearChain", other))
    assert chain["demonstrations"] == "none, as the style has it"
    assert chain["`max_rounds`"] == "5" and chain["extractive reader"].endswith("mini-reader")
    asked = 'greedy; ends before "\\n\\n\\n"; at most 160 tokens'
    assert chain["where SearChain writes a chain of queries"] == asked
    titled = sheet_of(run_it("ReAct", other))
    assert titled["`by_title`"] == "yes" and "main passage" not in titled
    drawn = sheet_of(run_it("CoT-SC", other))
    asked = '5 drawn at temperature 0.7; ends before "\\nQ:"; at most 160 tokens'
    assert drawn["where CoT-SC writes a chain of thought"] == asked
    simulated = open_setup(bench.parameters.change(model="simulated"), "hotpotqa", "mine")
    played = sheet_of(run_it("IRCoT QA", simulated, k=2))
    assert played["model"] == "simulated reader" and "precision" not in played
    iirc = open_setup(bench.parameters.change(dev=0, test=2), "iirc", "mine")
    passage = sheet_of(run_it("OneR QA", iirc, k=2, m=1))["main passage"]
    assert passage == "always shown, below what was found in pages that the model names"
    sheets = closed, found, chain, titled, drawn, played
    assert all(NOT_KNOWN not in sheet.values() for sheet in sheets)


def test_two_runs_differ_in_what_was_changed(run_it, tmp_path, capsys):
    folders = run_it("OneR QA", k=5, m=1), run_it("OneR QA", k=3, m=1, demonstration_set=1)
    differ = {fact: row for fact, row in sheet_of(*folders).items() if row[0] != row[1]}
    assert differ[K] == ["5", "3"] and differ[SET] == ["1 of 3", "2 of 3"]
    assert {*differ} - {K, SET} <= {COLLECTED, SHOWN, "demonstrations where the reader answers"}
    assert main(["protocol", *map(str, folders), "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    rows = pd.read_csv(tmp_path / "protocol.csv")
    same = len(describe_protocol(*folders)) - len(rows)
    assert f"; {same} of {same + len(rows)} lines are the same." in printed
    assert list(rows["fact"]) == [*differ] and (tmp_path / "protocol.md").read_text() == printed
    closed = sheet_of(folders[0], run_it("NoR QA"))
    assert closed[K] == ["5", ABSENT] and closed["scoring"][1] == ABSENT
    assert main(["protocol", str(folders[0]), "--index"]) == 0
    printed = capsys.readouterr().out
    sheet = describe_protocol(folders[0])
    assert printed.count("\n") == 2 + (sheet["part"] == INDEX).sum() > 8
    assert "k1 1.2, b 0.75" in printed and "HotpotQA" not in printed


def test_a_run_of_an_earlier_version_has_what_is_sure(run_it, tmp_path):
    now = run_it("IRCoT QA", k=2, m=1)
    old = tmp_path / "old"
    shutil.copytree(now, old)
    about = read_about(now)
    del about["index"], about["stages"], about["files"]
    about["demonstrations"] = {name: about["demonstrations"][name] for name in ("all", "last")}
    write_about(old, about)
    said, before = sheet_of(now), sheet_of(old)
    kept = "scoring", "analyzer", "paragraphs in the corpus", "window", K
    assert [before[fact] for fact in kept] == [said[fact] for fact in kept]
    assert before["texts end"] == "after the first sentence; at the first line break"
    assert before["most tokens of a text"] == "200"
    assert before[SHOWN] == f"{about['demonstrations']['last']:.2f} (least and most not known)"
    write_about(old, about | {"retriever_fingerprint": "of other data"})
    changed = sheet_of(old)
    assert changed["paragraphs in the corpus"] == changed["constants of the retriever"] == NOT_KNOWN
    assert "scoring" not in changed and changed[K] == "2"
    write_about(old, about | {"system": "Gone"})
    assert sheet_of(old)["constants of the program"] == NOT_KNOWN


def test_of_an_imported_run_nothing_is_guessed(data, tmp_path):
    said = {"prediction": "Rome", "answers": ["Rome"]}
    lines = [said | {"id": n, "question": f"Q{n}?"} for n in (1, 2)]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for system in ("SearChain", "IRCoT QA", "one of theirs"):
        [folder] = import_outputs(path, dataset="hotpotqa", system=system).runs
        said = describe_protocol(folder).set_index("fact")
        known = said[(said["value"] != NOT_KNOWN) & ~said["part"].isin(["Questions", "Metric"])]
        assert [*known.index] == ["system", "scored by ircotlib"]
        assert said.loc["number of questions", "value"] == "2"
        assert said.loc["model", "value"] == said.loc["demonstrations of", "value"] == NOT_KNOWN
        assert (K in said.index) == (system != "one of theirs")


@pytest.mark.skipif(not REAL.is_dir(), reason="needs ../shared/data")
def test_a_real_models_run_shows_that_nothing_was_retrieved(data):
    folders = sorted(REAL.glob("ircot_qa_llama_hotpotqa____*__[24]___*"))
    said = sheet_of(*import_outputs(*folders).runs)
    assert said[K] == ["2", "4"] and said["system"] == ["IRCoT QA"] * 2
    assert said[COLLECTED][1] == "0.00 (0 to 0)" != said[COLLECTED][0]
    assert "all 500 lists of titles are empty" in said["found at import"][1]
    assert said["demonstrations of"] == ["HotpotQA"] * 2 and said[SET] == ["1 of 3"] * 2
    assert said["window"] == said["retriever"] == said["a sentence ends"] == [NOT_KNOWN] * 2


def test_what_cannot_be_read_is_one_line(run_it, data, tmp_path, capsys):
    folder = tmp_path / "run"
    shutil.copytree(run_it("OneR", k=5), folder)
    run_it("OneR", k=3)
    content = (folder / "scores.csv").read_text()
    (folder / "scores.csv").write_text(content.replace("1.0", "0.0", 1))
    with pytest.raises(DataError, match="scores.csv: found .* run its notebook again"):
        describe_protocol(folder)
    (folder / "run.json").write_text("{")
    with pytest.raises(DataError, match="run.json: found no JSON"):
        describe_protocol(folder)
    (folder / "run.json").unlink()
    with pytest.raises(DataError, match="found no run.json: the run is still going on, or was"):
        describe_protocol(folder)
    with pytest.raises(UserError, match="runs, expected one or two; name folders"):
        describe_protocol(data)
    capsys.readouterr()
    for asked, status in ((tmp_path / "nowhere", 2), (folder, 1)):
        assert main(["protocol", str(asked)]) == status
        error = capsys.readouterr().err
        assert error.startswith(f"error: {asked}: found no ") and error.count("\n") == 1


def test_paragraphs_in_another_order_are_counted():
    found = [[["a", "b"], ["c"]], [["d"], ["e"]]]
    lines = [{"paragraphs": ["c", "a"]}, {"paragraphs": ["page", "d", "e"]}]
    assert find_order(lines, found).endswith("first, in 1 of 2 questions")
    assert find_order(lines[1:], found[1:]).endswith("retrieval first")
    asked = {"kind": ["Generate", "Sample"], "stop": ["line", ["\n", "X:"]]}
    asked |= {"max_tokens": [50, 60], "n": [5], "temperature": [1]}
    ends = 'ends at the first line break or before "\\n" or "X:"; at most 50 or 60 tokens'
    assert say_asked(asked) == f"greedy or 5 drawn at temperature 1; {ends}"
