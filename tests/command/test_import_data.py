"""Questions and corpora imported from tables and JSON lines."""

import json

import pytest

from ircotlib.__main__ import main
from ircotlib.datasets.files import read_dataset


@pytest.fixture
def run(capsys):
    """Runs the command; returns its exit status, and all that it prints."""

    def run(*arguments):
        status = main(["import", *map(str, arguments)])
        return status, "".join(capsys.readouterr())

    return run


def test_cells_of_a_table_are_texts_as_they_stand(run, tmp_path):
    """And the file that is named is read, though others match its name as a pattern."""
    folder = tmp_path / "data"
    table = tmp_path / "asked[1].CSV"
    (tmp_path / "asked1.CSV").write_text("asked,answers\nwrong,wrong\n")
    rows = ["007,Who?,NA,True", "0,When?,1950,None", 'x,"A, or B?",1e5,""']
    text = "\ufeff" + "\r\n".join(["id,asked,answers,kind", *rows])
    table.write_text(text, encoding="utf-8")
    (tmp_path / "pages.tsv").write_text('title\tcontents\nNA\t"a ""b""\n1.0"\n')
    status, printed = run(table, folder, "--column", "question=asked")
    assert status == 0
    assert "own/questions.jsonl: 3 questions; to use them: --set datasets=" in printed
    status, printed = run(table, folder, "--column", "question=asked")
    assert status == 2 and "this file is there already" in printed
    status, printed = run(tmp_path / "pages.tsv", folder, "--column", "text=contents")
    assert status == 0 and "own/corpus.jsonl: 1 paragraphs" in printed
    questions, [page] = read_dataset("own", folder)
    assert [(q.id, q.text, *q.answers, q.kind) for q in questions] == [
        ("007", "Who?", "NA", "True"),
        ("0", "When?", "1950", "None"),
        ("x", "A, or B?", "1e5", ""),
    ]
    assert (page.title, page.text) == ("NA", 'a "b"\n1.0')


def test_json_lines_with_columns_of_their_own(run, tmp_path):
    pages = [{"title": "A", "text": "It is Ann.", "is_supporting": True}]
    rows = [
        {"id": 0, "asked": "Who?", "gold": ["Ann", "A."], "paragraphs": pages},
        {"id": 1, "asked": "When?", "gold": "2020-01-01"},
    ]
    source = tmp_path / "asked.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = ("--column", "question=asked", "--column", "answers=gold")
    assert run(source, tmp_path / "data", *columns)[0] == 0
    questions, [page] = read_dataset("own", tmp_path / "data")
    assert [(q.id, q.answers, q.gold) for q in questions] == [
        ("0", ("Ann", "A."), (page.id,)),
        ("1", ("2020-01-01",), ()),
    ]


CELLS = ":2: found more or fewer cells than columns"
WRONG = [
    ("asked,gold\nWho?,Ann\n", 1, ":2, field title: Field required"),
    ("question,answers\nWho?\n", 1, CELLS),
    ("question,answers\nWho, when?,Ann\n", 1, CELLS),
    ("question,answers,answers\nWho?,Ann,Bo\n", 1, CELLS),
    ("question,answers\nWho?,\n", 1, ":2, field answers.0: "),
    ("question,answers\n", 2, ": found no question and no paragraph"),
]


@pytest.mark.parametrize(("text", "status", "message"), WRONG)
def test_a_wrong_table_is_an_error_of_one_line(run, tmp_path, text, status, message):
    table = tmp_path / "t.csv"
    table.write_text(text)
    ended, printed = run(table, tmp_path / "data")
    assert ended == status and printed.startswith(f"error: {table}{message}")
    assert printed.count("\n") == 1
    assert not (tmp_path / "data/own/questions.jsonl").exists()


def test_texts_are_refused_with_what_to_do(run, tmp_path):
    (tmp_path / "notes.md").write_text("# A\nIt is Ann.\n")
    for source in (tmp_path / "notes.md", tmp_path):
        status, printed = run(source, tmp_path / "data")
        assert status == 2 and printed.count("\n") == 1
        expected = (
            f"{source}, expected a file that ends in .csv, .tsv, .jsonl: put texts"
        )
        assert expected in printed
