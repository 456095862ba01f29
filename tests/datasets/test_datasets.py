"""The records of data sets, and small files in the official formats."""

import json
import math
import re
import shutil
from dataclasses import replace

import pytest

from ircotlib.data import GoldStep, Paragraph, Prediction, Question, read_jsonl
from ircotlib.datasets import (
    Dataset,
    all_datasets,
    files,
    find_dataset,
    make_paragraph,
    score,
)
from ircotlib.datasets.files import read_dataset
from ircotlib.datasets.hotpotqa import ABSTRACTS, read_2wikimultihopqa, read_hotpotqa
from ircotlib.datasets.musique import read_musique
from ircotlib.errors import DataError
from ircotlib.metrics import exact_match
from tests.datasets.test_full_corpora import write_archive

GRAVITY = [
    "Lost Gravity",
    ["Lost Gravity is a roller coaster.", " It was made by Mack Rides. "],
]
MACK = ["Mack Rides", ["Mack Rides is a German company."]]
WALIBI = ["Walibi", ["Walibi is a park."]]
HOTPOT = {
    "_id": "5a",
    "question": "In what country was Lost Gravity manufactured?",
    "answer": "Germany",
    "type": "bridge",
    "level": "hard",
    "supporting_facts": [["Mack Rides", 0], ["Lost Gravity", 0], ["Lost Gravity", 1]],
    "context": [WALIBI, GRAVITY, MACK],
}
WIKI = HOTPOT | {"type": "compositional", "evidences": [], "answer_id": "Q183"}
YALE = {"title": "Yale", "paragraph_text": "In New Haven.", "is_supporting": False}
DAVID = {"title": "Yale", "paragraph_text": "David Gelernter works at Yale. "}
BOOK = {"title": "America-Lite", "paragraph_text": "It is by David Gelernter."}
GOLD = {"is_supporting": True}
MUSIQUE = {
    "id": "2hop__1_2",
    "question": "Who is the employer of its author?",
    "answer": "Yale",
    "answer_aliases": ["Yale University", "Yale"],
    "answerable": True,
    "paragraphs": [YALE, DAVID | GOLD, BOOK | GOLD],
}


def write(path, records):
    """Write records as JSON lines or as one list, whichever the file's name implies."""
    rows = list(map(json.dumps, records))
    lines = path.suffix == ".jsonl"
    text = "".join(f"{row}\n" for row in rows) if lines else f"[{', '.join(rows)}]"
    path.write_text(text, encoding="utf-8")
    return path


def test_hotpotqa_in_the_distractor_setting(tmp_path):
    [(question, context)] = read_hotpotqa(write(tmp_path / "dev.json", [HOTPOT]))
    walibi, gravity, mack = context
    assert (gravity.title, mack.title) == ("Lost Gravity", "Mack Rides")
    text = "Lost Gravity is a roller coaster. It was made by Mack Rides."
    assert (walibi.title, gravity.text) == ("Walibi", text)
    steps = [
        GoldStep("", "", (page.id,), page.title, sentence.strip())
        for page, sentences in ((mack, MACK[1]), (gravity, GRAVITY[1]))
        for sentence in sentences
    ]
    assert question == Question(
        id="5a",
        text=HOTPOT["question"],
        answers=("Germany",),
        gold=(mack.id, gravity.id),  # in the order of the supporting facts, each once
        dataset="hotpotqa",
        kind="bridge",
        steps=tuple(steps),
    )


def test_2wikimultihopqa_joins_sentences_by_spaces_and_knows_aliases(tmp_path):
    context = [["Lost Gravity", ["It is a coaster.", "It is by Mack Rides."]], MACK]
    records = [WIKI | {"context": context}, WIKI | {"_id": "5b", "answer_id": None}]
    path = write(tmp_path / "dev.json", records)
    (question, paragraphs), _ = read_2wikimultihopqa(path)
    assert paragraphs[0].text == "It is a coaster. It is by Mack Rides."
    assert (question.answers, question.kind) == (("Germany",), "compositional")
    names = {"aliases": ["FRG", "Germany", "BRD"], "demonyms": ["German"]}
    (tmp_path / "id_aliases.json").write_text(json.dumps({"Q_id": "Q183"} | names))
    (question, _), (without, _) = read_2wikimultihopqa(path)
    assert question.answers == ("Germany", "BRD", "FRG", "German")
    assert without.answers == ("Germany",)


def test_musique_leaves_out_unanswerable_questions(tmp_path):
    records = [MUSIQUE | {"id": "3hop1__9", "answerable": False}, MUSIQUE]
    [(question, context)] = read_musique(write(tmp_path / "dev.jsonl", records))
    yale, david, book = context
    assert david.text == "David Gelernter works at Yale." and david.id != yale.id
    assert question == Question(
        id="2hop__1_2",
        text=MUSIQUE["question"],
        answers=("Yale", "Yale University"),
        gold=(david.id, book.id),
        dataset="musique",
        kind="2hop",
    )


LONE = {"supporting_facts": [["A", 0]]}
TITLED = {"paragraphs": [{"title": "Y"}]}
BROKEN = [
    (read_hotpotqa, [HOTPOT, {"_id": "5b"}], ", record 2, field context: Field req"),
    (read_hotpotqa, [HOTPOT | LONE], "supporting_facts: .* 'A'"),
    (read_musique, [MUSIQUE | TITLED], "paragraphs.0.paragraph_text: "),
    (read_musique, [MUSIQUE, 5], r":2: found 5, expected one JSON object"),
]


@pytest.mark.parametrize(("read", "records", "message"), BROKEN)
def test_a_record_out_of_format_is_named_with_its_field(
    tmp_path, read, records, message
):
    name = "dev.jsonl" if read is read_musique else "dev.json"
    path = write(tmp_path / name, records)
    with pytest.raises(DataError, match=f"^{path}.*{message}[^\n]*$"):
        read(path)


MARK = b"\xef\xbb\xbf"


@pytest.mark.parametrize("before", [MARK, MARK + b"\n ", b" " * 120, b"\n\t" * 5000])
@pytest.mark.parametrize("name", ["dev.json", "dev.jsonl"])
def test_a_byte_order_mark_and_space_may_come_first(tmp_path, name, before):
    path = write(tmp_path / name, [HOTPOT | {"level": 10**40}, HOTPOT | {"_id": "5b"}])
    path.write_bytes(before + path.read_bytes())
    assert [question.id for question, _ in read_hotpotqa(path)] == ["5a", "5b"]


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
@pytest.mark.parametrize("name", ["dev.json", "dev.jsonl"])
def test_a_file_in_another_encoding_is_to_be_saved_in_utf_8(tmp_path, name, encoding):
    path = write(tmp_path / name, [HOTPOT])
    text = path.read_text().replace("Germany", "España")
    path.write_bytes(text.encode(encoding))
    with pytest.raises(
        DataError, match=f"^{path}.*: save it in UTF-8, or get it again"
    ):
        [*read_hotpotqa(path)]


BRACKETS = [b"[" * 99_999, b'{"a":' * 99_999, b'[{"a":' * 99_999]


@pytest.mark.parametrize("name", sorted(set(all_datasets()) - {"own"}))
def test_a_file_cut_off_or_of_brackets_is_named_in_one_line(name, laboratory, tmp_path):
    """Questions, and the paragraphs in files beside them."""
    shutil.copytree(laboratory / name, tmp_path, dirs_exist_ok=True)
    for path in [*tmp_path.glob("*.json"), *tmp_path.glob("*.jsonl")]:
        whole = path.read_bytes()
        cut_off = [whole[: int(part * len(whole))] for part in (0, 0.3, 0.99)]
        for content in (*cut_off, *BRACKETS):
            path.write_bytes(content)
            if path.name == "id_aliases.json" and not content:
                continue  # nobody need have aliases
            with pytest.raises(DataError, match=f"^{path}[^\n]*$"):
                [*read_dataset(name, tmp_path)[1]]
        path.write_bytes(whole)


OWN = {"id": "1", "question": "Who?", "answers": ["Ann", "A.", "Ann"], "paragraphs": []}
SAYS = {"title": "A", "text": "It is Ann."}


def test_own_questions_have_aliases_and_gold_paragraphs_if_given(tmp_path):
    (tmp_path / "own").mkdir()
    other_page = {"title": "B", "text": "b", "is_supporting": False}
    rows = [
        OWN | {"paragraphs": [SAYS | GOLD, other_page], "kind": "2hop"},
        OWN | {"id": "2", "paragraphs": [SAYS]},
        {"question": "When?", "answers": "1950"},  # as from a table
    ]
    write(tmp_path / "own/questions.jsonl", rows)
    [one, other, least], paragraphs = read_dataset("own", tmp_path)
    page = paragraphs[0]
    assert [paragraph.title for paragraph in paragraphs] == ["A", "B"]
    assert (one.answers, one.gold, one.kind) == (("Ann", "A."), (page.id,), "2hop")
    assert (other.gold, other.kind, other.dataset) == ((), "", "own")
    assert score(one, Prediction("a.", (page,)))["recall"] == 1
    assert math.isnan(score(other, Prediction("x", (page,)))["recall"])
    assert least.answers == ("1950",) and re.fullmatch("own-[0-9a-f]{16}", least.id)


WRONG_OWN = [
    ({"answers": []}, ":2, field answers: "),
    ({"paragraphs": [{"title": "B", "text": "\ud83d"}]}, ":2, field paragraphs.0.text"),
    ({}, ": found 2 questions with the id '1'"),
]


@pytest.mark.parametrize(("row", "wrong"), WRONG_OWN)
def test_a_wrong_line_of_own_questions_is_named(row, wrong, tmp_path):
    path = write(tmp_path / "questions.jsonl", [OWN, OWN | row])
    with pytest.raises(DataError, match=f"^{path}{wrong}[^\n]*$"):
        read_dataset("own", tmp_path)


def read_mine(path):
    for number, row in enumerate(read_jsonl(path), start=1):
        context = [make_paragraph(title, text) for title, text in row["paragraphs"]]
        answers = tuple(row["answers"])
        yield Question(f"mine-{number}", row["question"], answers, (), "mine"), context


SCORES = {"em": exact_match, "letters": lambda text, answers: len(text) / 100}
MINE = Dataset(
    name="mine",
    title="My questions",
    files=("mine.jsonl",),
    read=read_mine,
    scores=SCORES,
    full_corpus=ABSTRACTS,
)
A, B, U = ["A", "It is Ann."], ["B", "b"], ["U", "In Ulm."]
ROWS = [
    {"question": "Who?", "answers": ["Ann", "A."], "paragraphs": [A, B]},
    {"question": "Where?", "answers": ["Ulm"], "paragraphs": [B, U]},
]


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """The questions of a data set that a notebook's cell declares."""
    monkeypatch.setattr("__main__.DATASETS", [MINE], raising=False)
    return write(tmp_path / "mine.jsonl", ROWS)


def test_a_data_set_is_added_by_one_record(mine, tmp_path):
    assert [*all_datasets()][-1] == "mine"
    questions, paragraphs = read_dataset("mine", tmp_path)
    assert [question.text for question in questions] == ["Who?", "Where?"]
    assert [paragraph.title for paragraph in paragraphs] == ["A", "B", "U"]
    scores = score(questions[0], Prediction("Ann B", (paragraphs[1],), ("Hm.",)))
    assert math.isnan(scores["recall"]) and scores["letters"] == 0.05
    with pytest.raises(DataError, match="mine-1: found letters = 9.0, expected 0 to 1"):
        score(questions[0], Prediction("x" * 900))
    unknown = replace(MINE, scores={"none": lambda *of: math.nan})
    with pytest.raises(DataError, match="mine-1: found none = nan, expected 0 to 1"):
        score(questions[0], Prediction("x"), unknown)
    mine.unlink()
    absent = "of mine: looked for mine.jsonl in .*; put it there"
    with pytest.raises(FileNotFoundError, match=absent):
        read_dataset("mine", tmp_path)


def test_data_sets_share_a_full_corpus(mine, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "DATA", tmp_path / "data")
    pages = [("Lost Gravity", ["Lost Gravity"]), ("B", ["B"])]
    write_archive(tmp_path, {"AA/wiki_00": pages})
    record = HOTPOT | {"supporting_facts": [["Lost Gravity", 0]]}
    write(tmp_path / "hotpot_dev_distractor_v1.json", [record])
    with pytest.warns(UserWarning, match="found 2 paragraphs, the paper 5,233,329"):
        _, one = read_dataset("mine", tmp_path, "full")
        questions, other = read_dataset("hotpotqa", tmp_path, "full")
    assert one.folder == other.folder
    # by title: the context's text is another
    assert questions[0].gold == (other[0].id,)


def test_a_wrong_record_is_refused_before_files_are_read(mine, tmp_path, monkeypatch):
    none = replace(MINE, full_corpus=None)
    monkeypatch.setattr("__main__.DATASETS", [none])
    no_corpus = "found corpus 'full' for mine, expected pooled"
    with pytest.raises(ValueError, match=no_corpus):
        read_dataset("mine", tmp_path / "nowhere", "full")
    write(mine, [ROWS[0] | {"paragraphs": []}])
    with pytest.raises(ValueError, match="mine.jsonl: found no contexts"):
        read_dataset("mine", tmp_path)


def test_a_prediction_gets_recall_the_scores_of_its_data_set_and_counts():
    question = Question("q", "Who?", ("yes",), ("a", "b"), "hotpotqa")
    pages = (Paragraph("b", "B", ""), Paragraph("c", "C", ""))
    scores = score(question, Prediction("yes, both", pages, ("One.", "Two.")))
    assert [*scores.items()] == [
        ("recall", 0.5),
        ("f1", 0),
        ("em", 0),
        ("cover_em", 1),
        ("paragraphs", 2),
        ("steps", 2),
    ]
    assert find_dataset("zsre").covering == "cover_em"
    assert find_dataset("iirc").covering == "f1"
    squad = replace(question, dataset="musique")
    assert score(squad, Prediction("yes, both", pages))["f1"] == pytest.approx(2 / 3)
    unknown = "data set 'squad', expected one of hotpotqa, 2wiki"
    with pytest.raises(ValueError, match=unknown):
        score(replace(question, dataset="squad"), Prediction("yes"))
