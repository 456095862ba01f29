"""Questions and corpora imported from tables, JSON lines and texts."""

import json

import pytest

from ircotlib.__main__ import main
from ircotlib.datasets.files import read_dataset


@pytest.fixture
def bring(capsys):
    def run(*arguments):
        status = main(["import", *map(str, arguments)])
        return status, "".join(capsys.readouterr())

    return run


def test_cells_of_a_table_are_texts_as_they_stand(bring, tmp_path):
    """And the file that is named is read, though others match its name as a pattern."""
    (tmp_path / "asked1.CSV").write_text("asked,answers\nwrong,wrong\n")
    lines = ["id,asked,answers,kind", "007,Who?,NA,True", "0,When?,1950,None"]
    lines += ['x,"A, or B?",1e5,""']
    (tmp_path / "asked[1].CSV").write_text(
        "\ufeff" + "\r\n".join(lines), encoding="utf-8"
    )
    (tmp_path / "pages.tsv").write_text('title\tcontents\nNA\t"a ""b""\n1.0"\n')
    asked = ("--column", "question=asked")
    status, said = bring(tmp_path / "asked[1].CSV", tmp_path / "data", *asked)
    assert (
        status == 0
        and "own/questions.jsonl: 3 questions; to use them: --set datasets=" in said
    )
    again = bring(tmp_path / "asked[1].CSV", tmp_path / "data", *asked)
    assert again[0] == 2 and "this file is there already" in again[1]
    status, said = bring(
        tmp_path / "pages.tsv", tmp_path / "data", "--column", "text=contents"
    )
    assert status == 0 and "own/corpus.jsonl: 1 paragraphs" in said
    questions, [page] = read_dataset("own", tmp_path / "data")
    assert [(q.id, q.text, *q.answers, q.kind) for q in questions] == [
        ("007", "Who?", "NA", "True"), ("0", "When?", "1950", "None"), ("x", "A, or B?", "1e5", ""),
    ]  # fmt: skip
    assert (page.title, page.text) == ("NA", 'a "b"\n1.0')


def test_json_lines_with_columns_of_their_own(bring, tmp_path):
    pages = [{"title": "A", "text": "It is Ann.", "is_supporting": True}]
    rows = [{"id": 0, "asked": "Who?", "gold": ["Ann", "A."], "paragraphs": pages}]
    rows.append({"id": 1, "asked": "When?", "gold": "2020-01-01"})
    (tmp_path / "asked.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    columns = ("--column", "question=asked", "--column", "answers=gold")
    assert bring(tmp_path / "asked.jsonl", tmp_path / "data", *columns)[0] == 0
    questions, [page] = read_dataset("own", tmp_path / "data")
    assert [(q.id, q.answers, q.gold) for q in questions] == [
        ("0", ("Ann", "A."), (page.id,)), ("1", ("2020-01-01",), ()),
    ]  # fmt: skip


WRONG = [
    ("asked,gold\nWho?,Ann\n", 1, ":2, field title: Field required"),
    ("question,answers\nWho?\n", 1, ":2: found more or fewer cells than columns"),
    (
        "question,answers\nWho, when?,Ann\n",
        1,
        ":2: found more or fewer cells than columns",
    ),
    (
        "question,answers,answers\nWho?,Ann,Bo\n",
        1,
        ":2: found more or fewer cells than",
    ),
    ("question,answers\nWho?,\n", 1, ":2, field answers.0: "),
    ("question,answers\n", 2, ": found no question and no paragraph"),
]


@pytest.mark.parametrize(("text", "status", "said"), WRONG)
def test_a_wrong_table_is_an_error_of_one_line(bring, tmp_path, text, status, said):
    (tmp_path / "t.csv").write_text(text)
    found = bring(tmp_path / "t.csv", tmp_path / "data")
    assert found[0] == status and found[1].startswith(
        f"error: {tmp_path / 't.csv'}{said}"
    )
    assert (
        found[1].count("\n") == 1
        and not (tmp_path / "data/own/questions.jsonl").exists()
    )
