"""Questions and corpora brought in from tables that `datasets` itself wrote; test_documents.py in
tests/datasets has texts of one's own.
"""

import json
import re

import pytest

from ircot_laboratory.make import make_laboratory
from ircotlib import read_dataset
from ircotlib.__main__ import main
from ircotlib.datasets.hub import read_table
from ircotlib.errors import DataError

pytest.importorskip("datasets.arrow_dataset", reason="needs the extra hub: pip install -e '.[dev]'")
import datasets


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("laboratory") / "small"
    return make_laboratory(folder, seed=5, size=600, questions=20)


def of_hub(row):
    """A question of HotpotQA's or 2WikiMultihopQA's file as their tables on the hub have it."""
    titles, sentences = zip(*row["context"], strict=True)
    facts, numbers = zip(*row["supporting_facts"], strict=True)
    row = {"id": row["_id"]} | {name: row[name] for name in ("question", "answer", "type")}
    row["supporting_facts"] = {"title": [*facts], "sent_id": [*numbers]}
    return row | {"context": {"title": [*titles], "sentences": [*sentences]}}


def bring(capsys, *arguments):
    status = main(["import", *map(str, arguments)])
    told = capsys.readouterr()
    return status, told.out + re.sub(r".*\r", "", told.err)


@pytest.mark.parametrize("dataset", ["hotpotqa", "musique"])
def test_a_copy_from_the_hub_gives_the_records_of_the_official_file(
    dataset, small, tmp_path, capsys
):
    [file] = (small / dataset).glob("*.json*")
    text = file.read_text(encoding="utf-8")
    if dataset == "hotpotqa":
        rows = [of_hub(row) for row in json.loads(text)]
    else:
        rows = [*map(json.loads, text.splitlines())]
        rows.append(rows[0] | {"id": "not", "answerable": False})
    table = datasets.Dataset.from_list(rows)
    parts = datasets.DatasetDict({"train": table.select([0]), "validation": table})
    parts.save_to_disk(tmp_path / "copy")
    status, told = bring(capsys, tmp_path / "copy", tmp_path / "brought")
    assert status == 0 and "own/questions.jsonl: 20 questions; to use them" in told
    own, corpus = read_dataset("own", tmp_path / "brought")
    official, expected = read_dataset(dataset, small)
    assert corpus == expected and len(own) == 20
    for one, other in zip(own, official, strict=True):
        assert (one.id, one.text, one.answers) == (other.id, other.text, other.answers)
        assert {*one.gold} == {*other.gold} and one.gold
    again = bring(capsys, tmp_path / "copy", tmp_path / "brought")
    assert again[0] == 2 and "found a file, expected nothing there yet" in again[1]
    assert "found the splits train, validation, expected 'test'" in bring(
        capsys, tmp_path / "copy", tmp_path / "x", "--split", "test")[1]  # fmt: skip


def test_a_file_with_columns_of_its_own_and_a_corpus_beside_it(tmp_path, capsys):
    table = datasets.Dataset.from_dict({"asked": ["Who?"], "gold": [["Ann", "A."]]})
    table.to_parquet(tmp_path / "asked.parquet")
    pages = datasets.Dataset.from_dict({"title": ["A", "B"], "text": ["It is Ann.", "b"]})
    pages.save_to_disk(tmp_path / "pages")
    lost = bring(capsys, tmp_path / "asked.parquet", tmp_path / "own")
    assert lost[0] == 2 and "found the columns asked, gold, expected question and" in lost[1]
    columns = ("--column", "question=asked", "--column", "answers=gold")
    assert bring(capsys, tmp_path / "asked.parquet", tmp_path / "own", *columns)[0] == 0
    with pytest.raises(DataError, match="found no paragraphs, expected some to search, in"):
        read_dataset("own", tmp_path / "own")
    assert bring(capsys, tmp_path / "pages", tmp_path / "own")[0] == 0
    [question], corpus = read_dataset("own", tmp_path / "own")
    assert (question.text, question.answers, question.gold) == ("Who?", ("Ann", "A."), ())
    assert [(page.title, page.text) for page in corpus] == [("A", "It is Ann."), ("B", "b")]


LAYOUTS = [  # a row, the answers, titles and texts of its paragraphs, and which are gold
    ({"context": "Ann.", "title": "T", "answers": {"text": ["Ann", "Ann"], "answer_start": [0, 0]}},
     ("Ann",), [("T", "Ann.")], [0]),
    ({"answer": {"value": "Ann", "aliases": ["A."]}}, ("Ann", "A."), [], []),
    ({"golden_answers": ["Ann"]}, ("Ann",), [], []),
    ({"answer": "Ann", "context": [["T", ["One.", "Two."]], ["U", ["x", " y"]]],
      "supporting_facts": [["U", 0], ["U", 1]]}, ("Ann",), [("T", "One. Two."), ("U", "x y")], [1]),
    ({"answers": ["Ann"], "contexts": ["one", "two"]}, ("Ann",), [("", "one"), ("", "two")], []),
]  # fmt: skip


@pytest.mark.parametrize(("row", "answers", "texts", "gold"), LAYOUTS)
def test_layouts_are_recognised_by_their_columns(row, answers, texts, gold):
    [(question, context)] = read_table([{"question": "Who?"} | row])
    assert question.answers == answers and question.id.startswith("own-")
    assert [(p.title, p.text) for p in context] == texts
    assert question.gold == tuple(context[n].id for n in gold)


WRONG = [
    ({"question": "?", "answer": " "}, "expected a question and answers, found ' '"),
    ({"question": "?", "answers": {"text": []}}, "expected a question and answers, found ''"),
    ({"question": "?", "answer": True}, "expected a question and answers, found True"),
    ({"question": "?", "answer": "x", "supporting_facts": [["T", 0]]}, "a title of its .* 'T'"),
    ({"question": "?", "answer": "x", "context": [{"title": "T"}]}, "paragraph's text, found None"),
    ({"question": "?", "answer": None}, "expected a question and answers, found ''"),
    ({"text": 5}, "expected a paragraph's text, found 5"),
]


@pytest.mark.parametrize(("row", "told"), WRONG)
def test_a_wrong_row_is_told_in_one_line(row, told):
    with pytest.raises(DataError, match=f"^mine, row 1: .*{told}[^\n]*$"):
        list(read_table([row], name="mine"))


def test_a_hub_out_of_reach_says_what_to_do(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.hf_api.constants.ENDPOINT", "http://127.0.0.1:9")
    status, told = bring(capsys, "hotpotqa/hotpot_qa", tmp_path / "own")
    [line] = told.strip().splitlines()
    assert status == 1 and line.startswith("error: hotpotqa/hotpot_qa: the hub does not give it (")
    assert "load_dataset(NAME).save_to_disk(FOLDER); then give the folder" in line
    damaged = tmp_path / "x.parquet"
    damaged.write_text("junk")
    status, told = bring(capsys, damaged, tmp_path / "own")
    assert status == 1 and told.startswith(f"error: {damaged}: cannot be read (")
    status, told = bring(capsys, "nothing.parquet", tmp_path / "own")
    assert status == 2 and "found no 'nothing.parquet', expected a folder of" in told
