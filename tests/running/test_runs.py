"""Benches and runs on a small laboratory with a shipped model, and the tables made from runs."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ircot_laboratory import make
from ircotlib.data import Prediction, read_jsonl
from ircotlib.errors import UserError
from ircotlib.experiment import backends, bench
from ircotlib.experiment import experiment as runs
from ircotlib.experiment.compare import compare_systems, run_system, tune
from ircotlib.experiment.runs import answer, read_about, replay
from ircotlib.experiment.setup import change_model, open_setup, program_of, runs_folder
from ircotlib.papers.claims import compare_claims as compare
from ircotlib.parameters import OOD, SCALE, read_parameters
from ircotlib.program import Generate, NearestTitle, Retrieve
from ircotlib.results.reported import COLUMNS, read_reported, with_reported
from ircotlib.results.runs import has_runs, name_edges, read_costs, read_runs, read_training
from ircotlib.results.statistics import describe, summarise
from ircotlib.systems import all_systems

S = all_systems()
WINDOW = 700


@pytest.fixture
def parameters(tmp_path, monkeypatch, laboratory):
    """12 dev and 28 test questions; all files are written to the test's folder."""
    monkeypatch.setattr(bench, "DATA", tmp_path)
    monkeypatch.setattr(backends, "DATA", tmp_path)
    changes = {"data_dir": str(laboratory), "dev": 12, "test": 28, "datasets": ["hotpotqa"]}
    changes |= {"context_tokens": WINDOW, "most_demonstrations": 15, "distractors": [1, 2]}
    return read_parameters("mini", changes | {"model": "data/models/mini-large"})


@pytest.fixture
def plain(parameters):
    """A bench without demonstrations."""
    return open_setup(parameters.change(distractors=[]), "hotpotqa", "04_ircot")


def few(opened, count=4):
    return replace(opened, dev=opened.dev[:count], test=opened.test[:count])


def test_without_a_folder_the_laboratory_is_opened(tmp_path, parameters, monkeypatch, laboratory):
    made = []
    monkeypatch.setattr(make, "make_laboratory", lambda at: made.append(at) or laboratory)
    opened = open_setup(parameters.change(data_dir=""), "musique", "04_ircot", with_model=False)
    assert made == [tmp_path / "laboratory"]
    assert (len(opened.dev), len(opened.test), opened.test[0].dataset) == (12, 28, "musique")
    assert len(opened.retriever.search(opened.test[0].text, 3)) == 3
    assert (tmp_path / "corpora/small-musique").is_dir()
    assert (tmp_path / "indexes/small-musique").is_dir()
    with pytest.raises(ValueError, match="found no model on the bench of musique, expected one"):
        opened.prompt("cot")


def test_as_many_demonstrations_are_shown_as_fit_the_window_of_the_model(parameters):
    opened = open_setup(parameters, "hotpotqa", "04_ircot")
    question = opened.dev[0]
    found = [paragraph for paragraph, _ in opened.retriever.search(question.text, 8)]
    for stage in ("cot", "direct"):
        write = opened.prompt(stage, 1, 0)
        short, long = write(question, ()), write(question, found)
        assert long.count("\nA:") < short.count("\nA:") < 16
        lengths = [opened.model.count_tokens(text) for text in (short, long)]
        assert all(0.4 * WINDOW < length <= WINDOW - 200 for length in lengths)
    wide = open_setup(parameters.change(context_tokens=None), "hotpotqa", "04_ircot")
    assert wide.prompt("cot", 2, 1)(question, ()).count("\nA:") == 16
    assert wide.prompt("cot", 2, 1).max_prompt_tokens == 5800


def test_a_causal_model_is_prompted_as_gpt3(parameters):
    causal = change_model(parameters, "data/models/mini-causal")
    assert (causal.style, change_model(causal, parameters.model).style) == ("codex", "codex")
    assert change_model(parameters, "data/models/mini-base").style == "flan_t5"
    prompt = open_setup(causal, "hotpotqa", "06_scale", grid_of=SCALE).prompt("cot", 1)
    assert prompt.template.instruction is None and prompt.max_prompt_tokens == WINDOW - 300


def test_demonstrations_of_another_data_set_are_another_experiment(parameters):
    own = open_setup(parameters, "hotpotqa", "07_ood", grid_of=OOD)
    other = open_setup(parameters, "hotpotqa", "07_ood", shown="2wikimultihopqa", grid_of=OOD)
    one, two = (opened.prompt("cot", 1, 0)(own.dev[0], ()) for opened in (own, other))
    assert one != two and one.rpartition("\n\n\n")[2] == two.rpartition("\n\n\n")[2]
    assert own.runs != other.runs
    found = compare_systems([few(other)], [S["OneR QA"]], demonstration_sets=1)
    assert set(found.scores["demonstrations"]) == {"2wikimultihopqa"}
    runs_read = read_runs(parameters, "07_ood", shown="2wikimultihopqa", grid_of=OOD)
    assert list(runs_read["f1"]) == list(found.scores["f1"])
    with pytest.raises(FileNotFoundError):
        read_runs(parameters, "07_ood", grid_of=OOD)


def test_pages_of_iirc_are_asked_for_with_demonstrations_of_titles(parameters):
    opened = open_setup(parameters, "iirc", "04_ircot")
    question = opened.test[0]
    for name, setting in (("IRCoT QA", {"k": 2, "m": 1}), ("OneR", {"k": 2})):
        playing = program_of(opened, S[name], **setting)(question)
        asked = next(playing)
        assert isinstance(asked, Generate) and asked.prompt.count("Generate titles of") > 3
        assert asked.prompt.count("Generate titles of 3 Wikipedia pages") >= 1
        assert opened.model.count_tokens(asked.prompt) <= WINDOW - 200
        found = playing.send(f"{question.passage.title}, Nothing Like It")
        assert found == NearestTitle(question.passage.title)
        playing.send((question.passage.title.lower(),))
        first = playing.send(())
        assert first == Retrieve(question.text, 2, titles=(question.passage.title.lower(),))


def test_a_program_is_told_the_other_questions_if_it_asks_for_them(parameters):
    opened = open_setup(parameters.change(distractors=[], extractor=""), "hotpotqa", "try")
    request = next(program_of(opened, S["Auto-CoT"], examples=2)(opened.test[0]))
    asked = {f"Q: {other.text}\nA: Let's think step by step." for other in opened.test}
    assert request.prompt in asked and len(asked) == len(opened.test) > 1


def test_the_released_program_is_reached_from_the_parameters(parameters):
    opened = open_setup(parameters.change(released=True, max_steps=1), "hotpotqa", "04_ircot")
    found = answer(opened, S["IRCoT QA"], opened.test[0], k=2, m=1)
    queries = [s.request for s in found.trace if isinstance(s.request, Retrieve)]
    assert len(queries) == 1 and queries[0].distinct and len(found.result.thoughts) == 1
    assert opened.runs != open_setup(parameters, "hotpotqa", "04_ircot").runs


def test_what_a_program_does_not_take_is_an_error_that_names_what_it_takes(plain):
    question = plain.test[0]
    for name, retrieved in (("NoR QA", 0), ("OneR QA", 3)):
        setting = plain.choose(S[name], k=3, m=1)
        found = answer(plain, S[name], question, **setting)
        assert len(found.result.paragraphs) == retrieved and found.result.answer
    for steps in (1, 3):
        outcome = answer(plain, S["IRCoT QA"], question, k=2, max_steps=steps)
        assert len(outcome.result.thoughts) <= steps
        queries = [step for step in outcome.trace if isinstance(step.request, Retrieve)]
        assert len(queries) <= steps
    for setting in ({"kk": 4}, {"k": 2, "prompts": {}}, {"question": question}, {"setting": 1}):
        wrong = [*setting][-1]
        with pytest.raises(UserError, match=rf"^found {wrong}=.* for IRCoT QA, expected some"):
            program_of(plain, S["IRCoT QA"], **setting)
        if wrong != "question":
            with pytest.raises(UserError, match="k, .*max_steps.* and demonstration_set$"):
                answer(plain, S["IRCoT QA"], question, **setting)
            with pytest.raises(UserError, match=f"found {wrong}="):
                run_system(plain, S["IRCoT QA"], **setting)


def test_a_run_leaves_its_folder_and_replays_from_the_cache(plain, tmp_path):
    scores = run_system(plain, S["IRCoT QA"], "dev", k=2)
    assert list(scores["id"]) == [q.id for q in plain.dev]
    assert scores[["recall", "em", "f1"]].map(lambda value: 0 <= value <= 1).all().all()
    (folder,) = (plain.runs / "dev").iterdir()
    assert folder.name == "IRCoT-QA k=2"
    about = json.loads((folder / "run.json").read_text())
    assert (about["system"], about["setting"], about["questions"]) == ("IRCoT QA", {"k": 2}, 12)
    assert about["parameters"] == plain.parameters.model_dump(mode="json")
    assert about["model_fingerprint"] == plain.model.fingerprint
    assert about["counts"]["Generate"]["computed"] > 12
    lines = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == [q.id for q in plain.dev]
    assert {"retrieve", "generate"} <= {name for step in lines[0]["trace"] for name in step}
    first = [(folder / name).read_bytes() for name in ("predictions.jsonl", "scores.csv")]
    shutil.rmtree(folder)
    assert run_system(plain, S["IRCoT QA"], "dev", k=2).equals(scores)
    again = json.loads((folder / "run.json").read_text())["counts"]
    assert again["Generate"]["computed"] == again["Retrieve"]["computed"] == 0
    assert again["Generate"]["tokens"] == about["counts"]["Generate"]["tokens"]
    assert [(folder / name).read_bytes() for name in ("predictions.jsonl", "scores.csv")] == first


def test_a_run_replayed_from_its_folder_shows_its_prompts(parameters):
    opened = few(open_setup(parameters.change(test=4), "iirc", "04_ircot"))
    run_system(opened, S["IRCoT QA"], "test", k=2, m=1, demonstration_set=2)
    (folder,) = (opened.runs / "test").iterdir()
    outcomes = replay(folder)
    lines = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
    assert list(outcomes) == [line["id"] for line in lines]
    for line, outcome in zip(lines, outcomes.values(), strict=True):
        assert all(step.cached for step in outcome.trace)
        assert line["answer"] == outcome.result.answer
        written = [step for step in outcome.trace if isinstance(step.request, Generate)]
        kept = [step["generate"] for step in line["trace"] if "generate" in step]
        assert kept == [step.reply for step in written]
        for step in written:
            assert step.request.prompt.endswith("\nA:") or "\nA: " in step.request.prompt
            length = len(opened.model.tokens.encode_prompt(step.request.prompt))
            assert length == step.prompt_tokens


def test_when_scoring_fails_the_earlier_run_stays(plain, monkeypatch):
    run_system(few(plain, 5), S["OneR"], k=3)

    def fail(*_):
        raise ValueError("no such score")

    monkeypatch.setattr(runs, "score", fail)
    with pytest.raises(ValueError, match="no such score"):
        run_system(few(plain), S["OneR"], k=3)
    (folder,) = (plain.runs / "test").iterdir()
    assert len((folder / "predictions.jsonl").read_text().splitlines()) == 5
    assert read_about(folder)["questions"] == 5


def test_predictions_are_kept_whatever_a_server_replied(plain):
    """The answer has half of a surrogate pair, which UTF-8 cannot encode."""

    def halve(question):
        yield Retrieve(question.text, 1)
        return Prediction("x\ud800", thoughts=("\udfff",))

    run_system(few(plain), replace(S["OneR"], name="Half", program=halve))
    rows = list(read_jsonl(plain.runs / "test/Half/predictions.jsonl"))
    assert [(row["answer"], row["thoughts"]) for row in rows] == [("x\ud800", ["\udfff"])] * 4


def test_a_wrong_setting_is_an_error(plain):
    with pytest.raises(UserError, match="found kk=3 for OneR, expected some of m, k, "):
        run_system(few(plain), S["OneR"], kk=3)


def test_settings_never_share_a_folder(parameters):
    folders = {runs_folder(parameters, "04_ircot")}
    changes = {"model": "data/models/mini-base", "seed": 1, "reader": "direct", "test": 27}
    changes |= {"dtype": "bfloat16", "context_tokens": 900, "ircot_k": [2], "distractors": [1]}
    changes |= {"released": True, "demonstrations": "elsewhere", "data_dir": "elsewhere"}
    for name, value in changes.items():
        folders.add(runs_folder(parameters.change(**{name: value}), "04_ircot"))
    folders.add(runs_folder(parameters, "06_scale"))
    folders.add(runs_folder(parameters, "04_ircot", grid_of=SCALE))
    assert len(folders) == 14
    same = parameters.change(datasets=["musique"], systems=["OneR"], measured=3)
    assert runs_folder(same, "04_ircot") == runs_folder(parameters, "04_ircot")


def test_runs_of_another_setting_are_not_read_and_the_error_says_what_to_do(parameters):
    run_system(few(open_setup(parameters, "hotpotqa", "04_ircot")), S["OneR"], k=5)
    assert set(read_runs(parameters, "04_ircot")["k"]) == {5}
    other = parameters.change(seed=1)
    with pytest.raises(FileNotFoundError) as error:
        read_runs(other, "04_ircot")
    assert "ircotlib figures --only 04_ircot --profile mini" in str(error.value)
    assert "--set seed=1" in str(error.value) and "\n" not in str(error.value)
    with pytest.raises(FileNotFoundError, match="found no test runs of 04_ircot on musique"):
        read_runs(parameters.change(datasets=["hotpotqa", "musique"]), "04_ircot")


def test_tuning_takes_the_best_and_of_equals_the_smaller(parameters):
    def tuned(values):
        p = parameters.change(oner_k=values, distractors=[])
        return tune(open_setup(p, "hotpotqa", "04_ircot"), S["OneR"])

    best, table = tuned([1, 5])
    assert list(table["k"]) == [1, 5] and best == {"k": 5}
    assert table["value"][0] < table["value"][1]
    best, table = tuned([600, 601])  # both retrieve the whole corpus
    assert best == {"k": 600} and table["value"][0] == table["value"][1]
    best, table = tuned([7])
    assert best == {"k": 7} and table.empty


@pytest.mark.parametrize(
    ("values", "edge"),
    [
        ({(5, 1): 60, (9, 1): 50, (15, 1): 40, (5, 2): 60, (9, 2): 50, (15, 2): 60}, "k"),
        ({(5, 1): 50, (9, 1): 60, (15, 1): 60}, ""),  # a value inside the grid is as good
        ({(2, 1): 50, (4, 1): 60, (2, 2): 50, (4, 2): 70}, ""),  # both of two values are at an edge
        ({(5, 1): 1, (9, 1): 2, (15, 1): 3, (5, 2): 1, (5, 3): 9}, "k, m"),
        ({(5, None): 60, (9, None): 50, (15, None): 70}, "k"),
        ({}, ""),  # nothing to tune
    ],
)
def test_a_best_value_on_the_edge_of_its_grid_is_named(values, edge):
    named = {"dataset": "d", "system": "s"}
    rows = [{"k": k, "m": m, "value": value} for (k, m), value in values.items()]
    tuning = pd.DataFrame(rows, columns=["k", "m", "value"]).assign(**named)
    other = pd.DataFrame({"k": [1, 2, 3], "m": None, "value": [1, 2, 3], "system": "t"})
    tuning = pd.concat([tuning, other.assign(dataset="d")], ignore_index=True)
    chosen = pd.DataFrame([named | {"k": 5, "m": 1}])
    assert list(name_edges(chosen, tuning)["edge"]) == [edge]


def test_tuning_without_dev_questions_is_an_error(parameters):
    opened = open_setup(parameters.change(dev=0), "hotpotqa", "04_ircot")
    with pytest.raises(ValueError, match="found 3 settings of OneR and no dev question of hotpot"):
        tune(opened, S["OneR"])


def test_systems_are_tuned_and_run_with_every_demonstration_set(parameters):
    opened = few(open_setup(parameters.change(ircot_k=[2], oner_k=[1, 3]), "hotpotqa", "04_ircot"))
    systems = [S[name] for name in ("NoR QA", "OneR", "IRCoT QA")]
    found = compare_systems([opened], systems)
    sets = found.scores.groupby("system", sort=False)["demonstration_set"].nunique()
    assert dict(sets) == {"NoR QA": 3, "OneR": 0, "IRCoT QA": 3}
    assert set(found.tuning["system"]) == {"OneR", "IRCoT QA"}
    assert list(found.chosen["system"]) == ["NoR QA", "OneR", "IRCoT QA"]
    assert has_runs(opened.parameters, "04_ircot")
    assert not has_runs(opened.parameters.change(seed=1), "04_ircot")
    assert not has_runs(opened.parameters.change(datasets=["hotpotqa", "musique"]), "04_ircot")
    read = read_runs(parameters.change(ircot_k=[2], oner_k=[1, 3]), "04_ircot")
    columns = ["system", "id", "demonstration_set", "f1", "recall", "metric"]
    read, run = (t[columns].sort_values(columns, ignore_index=True) for t in (read, found.scores))
    pd.testing.assert_frame_equal(read, run, check_dtype=False)
    run_system(opened, S["OneR"], k=2)
    run_system(opened, S["OneR"], "dev", k=2)
    again = compare_systems([opened], systems[1:2])
    assert len(again.scores) == 4
    assert len([*opened.runs.glob("*/OneR k=*")]) == 3  # without those of another setting
    read = read_runs(parameters.change(ircot_k=[2], oner_k=[1, 3]), "04_ircot")
    assert set(read["system"]) == {"NoR QA", "OneR", "IRCoT QA"}  # runs of other systems stay


def test_costs_are_what_the_runs_asked_for(parameters, plain):
    short = few(plain)
    run_system(short, S["OneR QA"], k=3)
    run_system(short, S["NoR QA"])
    nor, oner = read_costs(plain.parameters, "04_ircot").to_dict("records")
    assert (nor["system"], nor["retrievals"], nor["generations"]) == ("NoR QA", 0, 4)
    assert (oner["system"], oner["retrievals"], oner["generations"]) == ("OneR QA", 4, 4)
    assert oner["prompt tokens"] > nor["prompt tokens"] > 0 and oner["tokens written"] > 0
    assert "extractions" not in nor  # nobody asked for any
    made = [(row["requests"], row["computed"], row["saved"]) for row in (nor, oner)]
    assert made == [(4, 4, 0), (8, 8, 0)]
    shutil.rmtree(short.runs / "test" / "OneR-QA k=3")
    run_system(short, S["OneR QA"], k=3)
    (_, again) = read_costs(plain.parameters, "04_ircot").to_dict("records")
    assert (again["requests"], again["computed"], again["saved"]) == (8, 0, 8)


def test_costs_of_tuning_are_means_over_the_settings_and_one_retrieval_serves_them(plain):
    opened = few(plain)
    for k in (2, 3):
        run_system(opened, S["OneR"], "dev", k=k)
    (row,) = read_costs(plain.parameters, "04_ircot", "dev").to_dict("records")
    assert (row["requests"], row["computed"], row["saved"]) == (4, 2, 2)  # 4 and 0 of the two
    (two, three) = sorted((opened.runs / "dev").iterdir())
    assert json.loads((two / "run.json").read_text())["counts"]["Retrieve"]["computed"] == 4
    assert json.loads((three / "run.json").read_text())["counts"]["Retrieve"]["cached"] == 4
    texts = [(folder / "predictions.jsonl").read_text() for folder in (two, three)]
    fewer, more = (json.loads(text.splitlines()[0])["paragraphs"] for text in texts)
    assert (len(fewer), len(more)) == (2, 3) and more[:2] == fewer


def test_the_other_reader_reads_the_same_chains_and_costs_its_own_requests_only(plain):
    opened = few(plain)
    other = few(open_setup(plain.parameters.other_reader(), "hotpotqa", "04_ircot"))
    assert other.runs != opened.runs and other.parameters.reader == "direct"
    assert other.parameters.other_reader() == plain.parameters
    run_system(opened, S["IRCoT QA"], k=2)
    run_system(other, S["IRCoT QA"], k=2)
    (cot,), (direct,) = ((bench.runs / "test").iterdir() for bench in (opened, other))
    counts = json.loads((direct / "run.json").read_text())["counts"]
    assert counts["Retrieve"]["computed"] == 0 and counts["Generate"]["computed"] <= 4
    lines = zip(*((f / "predictions.jsonl").read_text().splitlines() for f in (cot, direct)))
    for one, two in (map(json.loads, pair) for pair in lines):
        assert one["thoughts"] == two["thoughts"] and one["paragraphs"] == two["paragraphs"]
        assert two["reading"] == two["answer"] and "answer is" not in two["reading"]


def test_without_gold_paragraphs_what_is_tuned_by_recall_is_left_out(plain, monkeypatch):
    bare = [replace(question, gold=()) for question in plain.test[:3]]
    found = compare_systems([replace(plain, test=bare, dev=bare)], [S["OneR"], S["NoR QA"]])
    assert set(found.scores["system"]) == {"NoR QA"} and found.scores["recall"].isna().all()
    with pytest.raises(ValueError, match="found nothing to run"):
        compare_systems([replace(plain, test=bare)], [S["OneR"]])


def scored(system, values, metric="f1", **more):
    """Scores of one system: for each demonstration set, one value for each question."""
    cells = [(number, n, value) for number, row in enumerate(values) for n, value in enumerate(row)]
    rows = [{"id": str(n), metric: v, "demonstration_set": number} for number, n, v in cells]
    named = {"dataset": "d", "model": "m", "profile": "p", "system": system, "metric": metric}
    return pd.DataFrame(rows).assign(**named | more)


def test_several_demonstration_sets_are_averaged_per_question():
    (row,) = summarise(scored("OneR QA", [[1, 1], [0, 1], [0.5, 1]])).to_dict("records")
    assert (row["mean"], row["n"], row["low"], row["high"]) == (75.0, 2, 50.0, 100.0)
    assert row["deviation"] == pytest.approx(100 * np.std([1, 0.5, 0.75], ddof=1))
    (row,) = summarise(scored("OneR QA", [[1, 0]])).to_dict("records")
    assert np.isnan(row["deviation"])


def test_claims_are_tested_on_the_same_questions():
    hard, easy = [0.1 * (n % 5) for n in range(40)], [0.1 * (n % 5) + 0.05 for n in range(40)]
    scores = pd.concat([scored("OneR QA", [hard]), scored("IRCoT QA", [easy, easy])])
    (row,) = compare(scores).to_dict("records")
    assert (row["claim"], row["mean"], row["verdict"]) == ("IRCoT QA > OneR QA", 5.0, "holds")
    assert row["n"] == 40 and row["p"] < 0.001
    lows, highs = summarise(scores)["low"], summarise(scores)["high"]
    assert lows[1] < highs[0]  # though the intervals of the means overlap
    worse = pd.concat([scored("OneR QA", [easy]), scored("IRCoT QA", [hard])])
    assert list(compare(worse)["verdict"]) == ["does not hold"]
    equal = compare(pd.concat([scored("OneR QA", [hard]), scored("IRCoT QA", [hard])]))
    assert (list(equal["verdict"]), list(equal["p"])) == (["cannot tell"], [1.0])


def test_a_figure_says_what_made_it():
    scores = pd.concat([scored("OneR QA", [[1, 0]]), scored("OneR QA", [[1]], dataset="e")])
    assert describe(scores, "mini").startswith("profile mini, model m, n = 1 to 2 ")
    both = pd.concat([scores, scores.assign(model="x/y")])
    assert "2 models" in describe(both, "mini")


def test_the_papers_numbers_stand_beside_ours():
    ours = summarise(scored("IRCoT QA", [[1, 0]], dataset="hotpotqa"))
    reported = read_reported(source="Table 4", metric="f1", note="direct")
    table = with_reported(ours, reported)
    assert list(table.columns) == COLUMNS
    assert table.loc[0, "reported"] == 59.1
    papers = table[table["profile"] == "paper"].set_index(["model", "dataset", "system"])
    assert papers["reported"]["GPT3", "musique", "OneR QA"] == 20.4


def test_trainings_of_several_models_stand_side_by_side(tmp_path):
    for number, name in enumerate(("mini-base", "mini-large"), start=1):
        (tmp_path / name).mkdir()
        steps = range(1, 5 - number)
        rows = [{"step": n, "seconds": 60 * n, "answer": 0.1 * n * number} for n in steps]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / name / "training.jsonl").write_text(lines)
        (tmp_path / name / "training.json").write_text(json.dumps({"size": name, "steps": number}))
    curves, about = read_training([tmp_path / "mini-base", str(tmp_path / "mini-large")])
    assert list(curves["model"]) == ["mini-base"] * 3 + ["mini-large"] * 2
    assert list(curves["answer"]) == pytest.approx([0.1, 0.2, 0.3, 0.2, 0.4])
    assert list(curves.index) == list(range(5))
    assert list(about.columns) == ["mini-base", "mini-large"] and list(about.loc["steps"]) == [1, 2]


def test_a_prediction_without_anything_is_scored(plain):
    assert runs.score(plain.test[0], Prediction())["paragraphs"] == 0
