"""Real outputs as runs: the formats by hand, and the outputs of ../shared where they are."""

import json
from statistics import mean

import pandas as pd
import pytest

from ircotlib import (
    compare,
    find_causes,
    find_folders,
    read_predictions,
    read_runs,
    replay,
    show_question,
)
from ircotlib.__main__ import main
from ircotlib.datasets import drop
from ircotlib.datasets.files import read_dataset
from ircotlib.errors import DataError, UserError
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup
from ircotlib.experiment.runs import parameters_of, read_about, read_lines
from ircotlib.explore.questions import list_runs
from ircotlib.explore.report import write_report
from ircotlib.files.paths import ROOT
from ircotlib.metrics import exact_match
from ircotlib.program import Generate, Retrieve
from ircotlib.results.causes import NOT_TOLD, count_causes
from ircotlib.results.imports import runs as imports
from ircotlib.results.imports.official import read_chains, read_name, read_official
from ircotlib.results.imports.runs import import_outputs
from ircotlib.results.statistics import paired_p
from ircotlib.text import escape

REAL = ROOT.parent / "shared" / "data"
needs_real = pytest.mark.skipif(not (REAL / "outputs").is_dir(), reason="needs ../shared/data")
NAME = "ircot_qa_codex_hotpotqa____prompt_set_2___bm25_retrieval_count__4___distractor_count__1"
CHAINS = """
q1
Who led the band that wrote X?
A: ["X", "Band"]
A: X was written by Band.
A: Exit? No.
A: ["X", "Band", "Ann Lee"]
A: X was written by Band. [Band] was led
by Ann Lee.
A: ["pid___1", "pid___2"]
Q: Who led the band that wrote X?
A: "Band was led by \\"Ann\\" Lee. So the answer is: Ann Lee."
A: Ann Lee
Q: [EOQ]
S: 0.0

q2
Second?
A: []
A: I do not know.
A: []
Q: Second?
A: "So the answer is: no."
A: no
Q: [EOQ]
S: 0.0
"""
CONFIG = '"model_name": "code-davinci-002", "query_source": "question_or_last_generated_sentence"'


@pytest.fixture
def bring(tmp_path, monkeypatch):
    """bring(*sources, **options) imports into an empty folder of data."""
    data = tmp_path / "data"
    for module in (imports, backends, setup):
        monkeypatch.setattr(module, "DATA", data)
    return import_outputs


def lay(folder, name=NAME, dataset="hotpotqa", split="dev", chains=CHAINS, **files):
    """Lay an official folder. `files`: the content of JSON files by kind."""
    folder = folder / name
    folder.mkdir(parents=True)
    stem = f"{dataset}_to_{dataset}__{split}"
    own = {"prediction": {"q1": "Ann Lee", "q2": "no"}}
    own |= {"ground_truth": {"q1": ["ann lee", "A. Lee"], "q2": ["yes"]}}
    for kind, content in (own | files).items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / f"{kind}__{stem}.json").write_text(text)
    (folder / f"config__{stem}.jsonnet").write_text(CONFIG)
    if chains:
        (folder / f"prediction__{stem}_chains.txt").write_text(chains)
    return folder


def test_a_chain_is_read_step_by_step(tmp_path):
    path = tmp_path / "chains.txt"
    path.write_text(CHAINS)
    told = dict(read_chains(path, ["q1", "q2"], "IRCoT QA", CONFIG))
    first, second = told["q1"], told["q2"]
    assert first.question == "Who led the band that wrote X?"
    assert first.thoughts == ("X was written by Band.", "[Band] was led\nby Ann Lee.")
    assert first.reading == 'Band was led by "Ann" Lee. So the answer is: Ann Lee.'
    steps = [(type(step.request), step.reply) for step in first.trace]
    assert [kind for kind, _ in steps] == [Retrieve, Generate, Retrieve, Generate, Generate]
    titles = [[page.title for page in reply] for kind, reply in steps if kind is Retrieve]
    assert titles == [["X", "Band"], ["Ann Lee"]]
    queries = [s.request.query for s in first.trace if isinstance(s.request, Retrieve)]
    assert queries == [first.question, "X was written by Band."]
    assert second.paragraphs == () and second.thoughts == ("I do not know.",)
    kinds = [type(step.request) for step in second.trace]
    assert kinds == [Retrieve, Generate, Generate]  # the list before Q is that of pids


@pytest.mark.parametrize(
    ("name", "system", "model", "odd"),
    [
        (NAME, "IRCoT QA", "codex", []),
        ("oner_flan_t5_xl_hotpotqa____hotpotqa_to_hotpotqa__best", "OneR", "flan_t5_xl", []),
        ("nor_qa_llama_musique____x", "NoR QA", "llama", ["its name says musique, its files"]),
        ("oner_qa_brown_own____x", "OneR QA", "brown", ["its name says own, its files"]),
        ("mine____x", "mine", "not stated", ["its name says none of ircot_qa"]),
    ],
)
def test_names_of_folders(name, system, model, odd):
    read = read_name(name, "hotpotqa")
    assert read[:2] == (system, model)
    assert len(read[2]) == len(odd) and all(map(str.startswith, read[2], odd))


def test_an_official_folder_becomes_a_run(tmp_path, bring):
    folder = lay(tmp_path, evaluation_metrics={"em": 0.9, "f1": 0.5})
    [run], notes = bring(folder)
    source = f"{tmp_path.name}/{NAME}"
    assert notes == [
        f"{source}: its name says the model codex, its configuration code-davinci-002",
        f"{source}: its own file says em 0.900, its predictions and golds give 0.500",
    ]
    about = read_about(run)
    assert about["setting"] == {"k": 4, "m": 1, "demonstration_set": 1}
    assert about["imported"]["from"] == source and about["imported"]["traced"]
    table = read_predictions(run).set_index("id")
    assert list(table["em"]) == [1, 0] and list(table["steps"]) == [2, 1]
    assert list(table["paragraphs"]) == [3, 0] and table["recall"].isna().all()
    assert table["model"].unique() == ["code-davinci-002"]
    saved = read_lines(run, about)
    outcome = replay(run, ["q1"])["q1"]
    assert outcome.result.answer == saved["q1"]["answer"] == "Ann Lee"
    assert [page.title for page in outcome.result.paragraphs] == ["X", "Band", "Ann Lee"]
    shown = show_question(run, "q1")
    assert escape(source) in shown and "X was written by Band." in shown
    assert list(find_causes(run)["cause"]) == ["", NOT_TOLD]  # no gold paragraphs are known
    assert bring(folder).runs == [run]  # again: the same place


def test_imported_runs_are_found_by_their_parameters_and_make_a_report(tmp_path, bring):
    first = lay(tmp_path)
    other = lay(tmp_path, "nor_qa_codex_musique____prompt_set_1", "musique", "test", chains="")
    runs, _ = bring(first, other)
    for run in runs:
        about = read_about(run)
        rows = read_runs(parameters_of(about), about["experiment"])
        assert list(rows["id"]) == ["q1", "q2"] and set(rows["system"]) == {about["system"]}
    page = tmp_path / "page.html"
    assert write_report(runs, page) == 2
    text = page.read_text()
    assert "imported from" in text and NAME in text
    assert "<h2>Results</h2>" in text and "<h2>Costs</h2>" not in text
    assert "call cache no longer" not in text


def test_an_id_that_occurs_twice_is_said(tmp_path, bring):
    folder = lay(tmp_path, prediction='{"q1": "A", "q2": "no", "q1": "Ann Lee"}')
    [run], notes = bring(folder)
    assert any("1 ids occur more than once, such as q1: the last one counts" in n for n in notes)
    assert read_predictions(run)["answer"].tolist() == ["Ann Lee", "no"]


def test_folders_of_the_best_setting_say_it_in_their_configuration(tmp_path, bring):
    name = "ircot_flan_t5_xl_2wikimultihopqa____hotpotqa_to_2wikimultihopqa__best"
    titles = {"q1": ["Ann Lee", "Band"], "q2": []}
    folder = lay(tmp_path, name, "2wikimultihopqa", chains="", prediction=titles)
    for path in folder.iterdir():
        path.rename(folder / path.name.replace("__2wikimultihopqa_to", "__hotpotqa_to"))
    config = 'local bm25_retrieval_count = 6;\nlocal distractor_count = "2";\n'
    config += '"prediction_type": "titles",'
    next(folder.glob("config__*")).write_text(config)
    (folder / "dev_variable_replacements.json").touch()  # 0 bytes
    with pytest.raises(UserError, match="2 questions have no gold answer"):  # golds are titles
        bring(folder)
    golds = lay(tmp_path, "nor_qa_flan_t5_xl_2wikimultihopqa____x", "2wikimultihopqa", chains="")
    [run, _], notes = bring(folder, golds)
    about = read_about(run)
    assert (about["system"], about["metric"], about["shown"]) == ("IRCoT", "recall", "hotpotqa")
    assert about["setting"] == {"k": 6, "m": 2}
    assert about["parameters"]["model"] == "flan_t5_xl"
    table = read_predictions(run)
    assert table["paragraphs"].tolist() == [2, 0] and table["answer"].tolist() == ["", ""]
    assert len(notes) == 2 and "known by id alone" in notes[0] and "codex" not in notes[0]


def test_what_is_odd_is_said(tmp_path, bring):
    empty = CHAINS.replace('["X", "Band"]', "[]").replace('["X", "Band", "Ann Lee"]', "[]")
    first = lay(tmp_path / "a", chains=empty)
    more = {f"q{n}": "yes" for n in range(12)}
    golds = {id: ["yes"] for id in more}
    second = lay(tmp_path / "b", "oner_qa_codex_hotpotqa____bm25_retrieval_count__5", chains="",
                 prediction=more, ground_truth=golds)  # fmt: skip
    third = lay(tmp_path / "b", "oner_qa_codex_hotpotqa____bm25_retrieval_count__7", chains="",
                prediction=more, ground_truth={})  # fmt: skip
    foreign = lay(tmp_path / "b", "nor_qa_x_nq____x", dataset="nq", chains="")
    result = bring(first, second, third, foreign)
    text = "\n".join(result.notes)
    assert len(result.runs) == 3
    assert "all 2 lists of titles are empty: nothing was retrieved" in text
    assert (
        "all 12 answers equal those of b/oner_qa_codex_hotpotqa____bm25_retrieval_count__5" in text
    )
    assert "shares 2 of 12 questions with a/ircot_qa" in text
    assert "found the data set nq, expected one of" in text
    assert "hotpotqa: 10 questions are known by id alone" in text
    causes = count_causes([find_causes(run) for run in result.runs])
    assert NOT_TOLD in set(causes["cause"])
    alone = lay(
        tmp_path / "d", "ircot_qa_codex_musique____x", "musique", ground_truth={}, chains=""
    )
    assert [run.parts[-3] for run in bring(first, alone).runs] == ["hotpotqa"]
    with pytest.raises(UserError, match="found the same run twice"):
        bring(second, lay(tmp_path / "c", second.name))
    with pytest.raises(UserError, match="found no outputs"):
        bring(tmp_path / "empty" if (tmp_path / "empty").mkdir() else tmp_path / "empty")


def test_json_lines_and_flashrag(tmp_path, bring):
    file = tmp_path / "mine.jsonl"
    rows = [{"id": 1, "prediction": "Ann", "answers": ["Ann"], "question": "Who?", "score": True}]
    rows += [{"id": "2", "prediction": "x", "answers": ["y"], "chain": ["One.", "Two."],
              "paragraphs": ["T", {"title": "U", "text": "u"}]}]  # fmt: skip
    rows += [rows[0] | {"prediction": "again"}, {"id": 3, "prediction": "no gold"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    [run], notes = bring(file, model="gpt-x")
    table = read_predictions(run).set_index("id")
    assert list(table.index) == ["1", "2"] and list(table["em"]) == [1, 0]
    assert table["system"].unique() == ["mine"] and table["model"].unique() == ["gpt-x"]
    assert [bool(n) for n in table["paragraphs"].isna()] == [True, False]
    assert "mine.jsonl: 1 ids occur more than once, such as 1: the first one counts" in notes[-2]
    assert "its own scores, which are not used, have the mean 1.000" in notes[-1]
    assert "own: 1 questions have no gold answer anywhere: left out" in notes

    said = {
        "pred": "Ann",
        "metric_score": {"em": 1.0},
        "pred_iter_0": "Maybe Bo.",
        "pred_iter_1": "Ann",
    }
    pages = [{"id": n, "contents": f'"T{n}"\ntext {n}'} for n in range(3)]
    said |= {"retrieval_result_iter_0": pages[:2], "retrieval_result_iter_1": pages[1:]}
    path = tmp_path / "iterretgen" / "intermediate_data.json"
    path.parent.mkdir()
    row = {"id": "dev_1", "question": "Who?", "golden_answers": ["Ann"], "output": said}
    path.write_text(json.dumps([row]))
    [run], _ = bring(path, dataset="hotpotqa", system="ITER-RETGEN")
    outcome = replay(run)["dev_1"]
    assert [page.title for page in outcome.result.paragraphs] == ["T0", "T1", "T2"]
    queries = [s.request.query for s in outcome.trace if isinstance(s.request, Retrieve)]
    assert queries == ["Who?", "Who? Maybe Bo."]
    path.write_text(json.dumps([row | {"output": {}}]))
    with pytest.raises(DataError, match="expected pred: a finished run's"):
        bring(path)


def test_questions_are_found_by_id_or_text_in_the_users_data(tmp_path, bring):
    own = {"id": "u1", "question": "Who led the band that wrote X?", "answers": ["Lee", "Ann Lee"]}
    own |= {"paragraphs": [{"title": "Ann Lee", "text": "led", "is_supporting": True}]}
    own["paragraphs"] += [{"title": "Y", "text": "y", "is_supporting": True}]
    data = tmp_path / "mydata" / "own" / "questions.jsonl"
    data.parent.mkdir(parents=True)
    data.write_text(json.dumps(own) + "\n")
    rows = [{"id": "other", "question": "who led the band that wrote X", "prediction": "Ann Lee",
             "paragraphs": ["Ann Lee", "Z"], "answers": ["Bo"]}]  # fmt: skip
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps(rows[0]) + "\n")
    [run], notes = bring(file, data_dir=str(data.parents[1]))
    [row] = read_predictions(run).to_dict("records")
    assert (row["em"], row["recall"], row["id"]) == (1, 0.5, "other")
    assert row["answers"] == ("Lee", "Ann Lee")
    assert notes == ["own: 1 gold answers differ from your data's, which count"]


def test_the_command_imports_and_refuses_in_one_line(tmp_path, bring, capsys):
    folder = lay(tmp_path)
    assert main(["import", str(folder)]) == 0
    told = capsys.readouterr()
    assert "1 runs: ircotlib compare" in told.out and "codex" in told.err
    for arguments in ([str(folder), "out", "more"], [str(folder), "--set", "seed=1"], ["one"]):
        assert main(["import", *arguments]) == 2
        assert capsys.readouterr().err.count("\n") == 1


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """The runs of ../shared/data/outputs, with the golds beside them, and the notes."""
    with pytest.MonkeyPatch.context() as patched:
        data = tmp_path_factory.mktemp("real")
        for module in (imports, backends, setup):
            patched.setattr(module, "DATA", data)
        yield import_outputs(REAL / "outputs")


@needs_real
def test_real_scores_are_those_that_are_committed(real):
    compared = official = 0
    for folder in sorted((REAL / "outputs" / "adarague").glob("*/*")):
        [outputs] = read_official(folder)
        golds = {output.id: output.answers for output in outputs.outputs}
        for name, measure in (("em", drop.exact_match), ("f1", drop.f1)):
            own = mean(measure(o.prediction, golds[o.id]) for o in outputs.outputs)
            assert own == pytest.approx(outputs.committed[name], abs=0.00051), folder.name
        compared += 1
        [run] = [run for run in real.runs if matches(run, folder)]
        scores = read_predictions(run)
        for path in folder.glob("official_evaluation_metrics__*"):
            stated = json.loads(path.read_text())
            if outputs.dataset == "hotpotqa":  # the official scorer, and no aliases
                for name in ("em", "f1"):
                    assert scores[name].mean() == pytest.approx(stated[name], abs=0.00001)
            else:  # aliases, which are not beside the outputs, add 0.8 to 2.2 points of EM
                assert 0.0079 < stated["em"] - scores["em"].mean() < 0.0221
            official += 1
    assert (compared, official) == (18, 12)


def matches(run, folder):
    source = read_about(run)["imported"]["from"]
    return source == f"{folder.parent.name}/{folder.name}"


@needs_real
def test_what_is_odd_about_the_real_outputs(real):
    assert len(real.runs) == 20
    [empty] = [note for note in real.notes if "empty" in note]
    assert "bm25_retrieval_count__4" in empty and "all 500 lists of titles" in empty
    assert not [note for note in real.notes if "its own file says" in note]


@needs_real
def test_musique_aliases_are_what_the_official_scores_add(bring):
    data = {q.id: q for q in read_dataset("musique", REAL)[0]}
    folder = next((REAL / "outputs/adarague/test").glob("ircot_qa*musique*"))
    [run], notes = bring(folder, data_dir=str(REAL))
    table = read_predictions(run).set_index("id")
    known = table[table.index.isin(data)]
    assert f"musique: {len(known)} of 500 questions are in your data" in notes[0]
    [outputs] = read_official(folder)
    plain = {o.id: exact_match(o.prediction, o.answers) for o in outputs.outputs}
    assert known["em"].sum() > sum(plain[id] for id in known.index)
    assert known["gold_missed"].map(len).min() >= 2


REPORTED = {  # EM of IRCoT QA, of the other, wins, losses, p: counted by hand, in percent
    ("hotpotqa", "OneR QA"): (41.4, 37.3, 100, 59, 0.001),
    ("2wikimultihopqa", "OneR QA"): (36.2, 29.1, 127, 56, 0.0),
    ("musique", "OneR QA"): (13.7, 10.0, 71, 34, 0.0),
    ("hotpotqa", "NoR QA"): (41.4, 27.8, None, None, 0.0),
    ("2wikimultihopqa", "NoR QA"): (36.2, 28.4, None, None, 0.0),
    ("musique", "NoR QA"): (13.7, 9.5, None, None, 0.001),
}


@needs_real
@pytest.mark.parametrize("pair", REPORTED)
def test_exact_tests_of_the_real_outputs(real, pair):
    dataset, other = pair
    ours, theirs = (scores_of(real, dataset, name) for name in ("IRCoT QA", other))
    difference = ours - theirs
    mean_a, mean_b, wins, losses, p = REPORTED[pair]
    assert len(difference) == 1000 and not difference.isna().any()
    assert (round(100 * ours.mean(), 1), round(100 * theirs.mean(), 1)) == (mean_a, mean_b)
    if wins:
        assert ((difference > 0).sum(), (difference < 0).sum()) == (wins, losses)
    assert paired_p(difference) == pytest.approx(p, abs=0.0006)


def scores_of(real, dataset, system, metric="em"):
    runs = list_runs(real.runs)
    chosen = runs[(runs["dataset"] == dataset) & (runs["system"] == system)]
    chosen = chosen[chosen["model"] == "Llama-3.1-8B-Instruct"]
    tables = [read_predictions(folder) for folder in chosen["folder"]]
    return pd.concat(tables).set_index("id")[metric]


@needs_real
def test_claims_and_tables_work_on_imported_runs(real):
    tables = [read_predictions(run) for run in real.runs if "k=2" not in run.name]
    table = pd.concat([t for t in tables if t["model"].iloc[0].startswith("meta")])
    claims = compare(table)
    assert set(claims["dataset"]) == {"hotpotqa", "2wikimultihopqa", "musique"}
    by = claims.set_index(["dataset", "claim"])
    assert by.loc[("musique", "IRCoT QA > OneR QA"), "verdict"] == "holds"
    assert by.loc[("musique", "IRCoT QA > OneR QA"), "n"] == 1000
    assert len(find_folders(real.runs[0].parents[4])) == 20
