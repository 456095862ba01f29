"""What real models wrote: the formats by hand, and the outputs of ../shared where they are."""

import json
from statistics import mean

import pandas as pd
import pytest

from ircotlib.__main__ import main
from ircotlib.datasets import drop
from ircotlib.errors import DataError, UserError
from ircotlib.files import ROOT
from ircotlib.papers.claims import EQUAL_WITHIN
from ircotlib.papers.real_outputs import (
    describe_folder,
    has_outputs,
    import_outputs,
    judge_outputs,
    read_answers,
)

REAL = ROOT.parent / "shared" / "data" / "outputs"
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="needs ../shared/data")
NAME = "ircot_qa_codex_hotpotqa____prompt_set_2___bm25_retrieval_count__4___distractor_count__1"
CONFIG = '"model_name": "code-davinci-002", "query_source": "question_or_last_generated_sentence"'


def lay(folder, name=NAME, dataset="hotpotqa", split="dev", **files):
    """Lay a folder of IRCoT's program. `files`: the content of JSON files by kind."""
    folder = folder / name
    folder.mkdir(parents=True)
    stem = f"{dataset}_to_{dataset}__{split}"
    own = {"prediction": {"q1": "Ann Lee", "q2": "no"}}
    own |= {"ground_truth": {"q1": ["ann lee", "A. Lee"], "q2": ["yes"]}}
    for kind, content in (own | files).items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / f"{kind}__{stem}.json").write_text(text)
    (folder / f"config__{stem}.jsonnet").write_text(CONFIG)
    return folder


def test_a_folder_of_ircots_program_is_scored_by_the_golds_beside_it(tmp_path):
    folder = lay(tmp_path)
    scores, notes = import_outputs(tmp_path)
    assert notes == [] and has_outputs(tmp_path) and not has_outputs(tmp_path / "none")
    assert list(scores["em"]) == [1, 0] and set(scores["metric"]) == {"f1"}
    named = scores[["dataset", "system", "model", "split"]].drop_duplicates().to_numpy().tolist()
    assert named == [["hotpotqa", "IRCoT QA", "code-davinci-002", "dev"]]
    next(folder.glob("config__*")).unlink()
    assert describe_folder(next(folder.glob("prediction__*.json")))[0][2] == "not stated"


def test_what_cannot_be_scored_is_left_out_and_said(tmp_path):
    lay(tmp_path / "good", prediction={"q1": "<think>Lee?</think>\n\nAnn Lee", "q3": "x"})
    lay(tmp_path / "cut", prediction='{"q1": "A')
    lay(tmp_path / "empty", prediction="")
    lay(tmp_path / "twice", prediction='{"q1": "A", "q2": "no", "q1": "Ann Lee"}')
    lay(tmp_path, "oner_codex_musique____x", "musique", prediction={"q1": ["A", "B"]})
    lay(tmp_path, "nor_qa_x_nq____x", "nq")
    scores, notes = import_outputs(tmp_path)
    assert list(scores["id"]) == ["q1"] and len(notes) == 7
    text = "\n".join(notes)
    assert all(any(f"/{name}/" in note for note in notes) for name in ("cut", "empty", "twice"))
    assert "found the id 'q1' again" in text and "1 answers have thoughts" in text
    assert "oner_codex_musique____x: expected a name that begins with ircot_qa" in text
    assert "1 questions have no gold answer: left out" in text and "'nq'" in text
    lay(tmp_path / "again", NAME)
    with pytest.raises(UserError, match="found two outputs of hotpotqa, IRCoT QA, code-davinci"):
        import_outputs(tmp_path)
    with pytest.raises(UserError, match="found no outputs that can be scored, .*: left out"):
        import_outputs(tmp_path / "cut")


def own_data(folder):
    """A data set of one's own, with aliases."""
    rows = [{"id": "u1", "question": "Who led X?", "answers": ["Lee", "Ann Lee"]}]
    rows.append({"id": "u2", "question": "Who led Y?", "answers": ["Bo"]})
    file = folder / "own" / "questions.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"data_dir": str(folder), "dataset": "own"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mine.json", '{"u1": "Ann Lee", "u2": "x", "u9": "no gold"}'),
        ("mine.json", '{"answer": {"u1": "Ann Lee", "u2": "x"}, "sp": {"u1": [["T", 0]]}}'),
        ("mine.jsonl", '{"id": "u1", "prediction": "Ann Lee"}\n{"id": "u2", "prediction": ""}\n'),
    ],
)
def test_answers_by_id_are_scored_by_the_users_golds(name, text, tmp_path):
    path = tmp_path / name
    path.write_text(text)
    scores, notes = import_outputs(path, model="gpt-x", **own_data(tmp_path / "data"))
    assert list(scores["id"]) == ["u1", "u2"] and list(scores["em"]) == [1, 0]
    assert set(scores["system"]) == {"mine"} and set(scores["model"]) == {"gpt-x"}
    assert len(notes) == ("u9" in text)
    with pytest.raises(UserError, match="2 questions have no gold|3 questions have no gold"):
        import_outputs(path, dataset="own")


@pytest.mark.parametrize(
    "text", ["[]", "{}", '["a"]', '{"q": 1}', '{"q": {"a": "b"}}', '{"q": "a", "q": "b"}', "\x00"]
)
def test_other_files_are_refused_in_a_line(text, tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(text)
    with pytest.raises(DataError, match="mine.json: ") as error:
        read_answers(path)
    assert "\n" not in str(error.value)
    lines = tmp_path / "mine.jsonl"
    lines.write_text('{"id": 1, "score": 1}\n')
    with pytest.raises(DataError, match="found the id 1 with"):
        read_answers(lines)


def test_the_command_scores_outputs_and_says_what_it_left_out(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("ircotlib.command.bring.DATA", tmp_path / "data")
    lay(tmp_path)
    lay(tmp_path, "nor_qa_x_nq____x", "nq")
    assert main(["import", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert "IRCoT QA" in told.out and "2 scored answers" in told.out and "'nq'" in told.err
    assert len(pd.read_csv(tmp_path / "data" / "imported" / "scores.csv")) == 2


@pytest.fixture(scope="module")
def real():
    """The scores of ../shared/data/outputs, with the golds beside them, and the notes."""
    return import_outputs(REAL)


def of_all_three(scores):
    systems = scores.groupby(["dataset", "model", "split"])["system"].transform("nunique")
    return scores[systems == 3]


@needs_real
def test_real_scores_are_those_that_are_committed(real):
    scores, compared, official = real[0], 0, 0
    for path in sorted((REAL / "adarague").rglob("prediction__*.json")):
        (dataset, system, model, split), golds = describe_folder(path)
        answers = read_answers(path)
        kinds = {"evaluation_metrics": drop.exact_match, "official_evaluation_metrics": None}
        own = scores[
            (
                scores[["dataset", "system", "model", "split"]] == [dataset, system, model, split]
            ).all(axis=1)
        ]
        for kind, measure in kinds.items():
            stated = path.with_name(path.name.replace("prediction", kind, 1))
            if not stated.exists():
                continue
            em = json.loads(stated.read_text())["em"]
            if measure:  # IRCoT's released program scores all data sets as DROP does
                by_drop = mean(measure(answers[id], golds[id]) for id in answers)
                assert by_drop == pytest.approx(em, abs=0.00051)
                compared += 1
            elif dataset == "hotpotqa":  # the official scorer, and no aliases
                assert own["em"].mean() == pytest.approx(em, abs=0.00001)
                official += 1
            else:  # aliases, which are not beside the outputs, add 0.8 to 2.2 points of EM
                assert 0.0079 < em - own["em"].mean() < 0.0221
                official += 1
    assert (compared, official) == (18, 12)


@needs_real
def test_the_real_outputs_that_have_no_golds_are_left_out(real):
    [note] = real[1]
    assert "bm25_retrieval_count__4" in note and "500 questions have no gold answer" in note
    chosen = of_all_three(real[0])
    assert set(chosen["model"]) == {"meta-llama/Llama-3.1-8B-Instruct"}
    assert (chosen.groupby(["dataset", "system", "split"])["id"].nunique() == 500).all()


@needs_real
def test_claims_on_real_outputs(real):
    chosen = of_all_three(real[0])
    table = judge_outputs(chosen)
    assert len(table) == 27 and list(table["dataset"][:7:3]) == [
        "hotpotqa",
        "2wikimultihopqa",
        "musique",
    ]
    rows = table.set_index(["split", "dataset", "claim"])
    row = rows.loc["all", "hotpotqa", "IRCoT QA > OneR QA"]
    assert (row["difference"], row["verdict"]) == (3.68, "holds")
    assert row["paper"] == "+9.4 (Flan-T5-XXL), +7.1 (GPT3)"
    for dataset, counted in (  # the exact matches are counted by hand
        ("2wikimultihopqa", [36.2, 29.1, 127, 56]),
        ("musique", [13.7, 10.0, 71, 34]),
    ):
        em = chosen[chosen["dataset"] == dataset].pivot_table("em", "id", "system")
        ours, theirs = em["IRCoT QA"], em["OneR QA"]
        means = [round(100 * side.mean(), 2) for side in (ours, theirs)]
        assert [*means, (ours > theirs).sum(), (ours < theirs).sum()] == counted
    alone = rows.loc["test_subsampled", "hotpotqa", "IRCoT QA > OneR QA"]
    assert alone["n"] == 500 and alone["verdict"] == "cannot tell"
    level = rows.loc["dev_500_subsampled", "musique", "OneR QA > NoR QA"]
    assert level["verdict"] == EQUAL_WITHIN == "equal within 3 points"
    by_em = judge_outputs(chosen, "em").set_index(["split", "dataset", "claim"])
    assert by_em.loc["all", "musique", "OneR QA > NoR QA"]["verdict"] == EQUAL_WITHIN
    with pytest.raises(UserError, match="found outputs of .*llama3-1-8b.*, expected those of one"):
        judge_outputs(real[0])
