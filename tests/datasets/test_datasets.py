"""The records of data sets, and small files in the official formats; real ones:
test_pooled.py.
"""

import json
import math
import shutil
import sys
from dataclasses import replace

import pytest

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.datasets import all_datasets, files, find_dataset, score
from ircotlib.datasets.files import read_dataset
from ircotlib.datasets.hotpotqa import read_2wikimultihopqa, read_hotpotqa
from ircotlib.datasets.musique import read_musique
from ircotlib.datasets.own import write_own
from ircotlib.errors import DataError
from tests.datasets.test_full_corpora import write_archive

GRAVITY = [
    "Lost Gravity",
    ["Lost Gravity is a roller coaster.", " It was made by Mack Rides. "],
]
MACK = ["Mack Rides", ["Mack Rides is a German company."]]
WALIBI = ["Walibi", ["Walibi is a park."]]
HOTPOT = {"_id": "5a", "question": "In what country was Lost Gravity manufactured?"}
HOTPOT |= {"answer": "Germany", "type": "bridge", "level": "hard"}
HOTPOT["supporting_facts"] = [
    ["Mack Rides", 0],
    ["Lost Gravity", 0],
    ["Lost Gravity", 1],
]
HOTPOT["context"] = [WALIBI, GRAVITY, MACK]
WIKI = HOTPOT | {"type": "compositional", "evidences": [], "answer_id": "Q183"}
YALE = {
    "title": "Yale",
    "paragraph_text": "Yale is in New Haven.",
    "is_supporting": False,
}
DAVID = {"title": "Yale", "paragraph_text": "David Gelernter works at Yale. "}
BOOK = {"title": "America-Lite", "paragraph_text": "It is by David Gelernter."}
MUSIQUE = {
    "id": "2hop__1_2",
    "question": "Who is the employer of its author?",
    "answer": "Yale",
}
MUSIQUE |= {"answer_aliases": ["Yale University", "Yale"], "answerable": True}
MUSIQUE["paragraphs"] = [
    YALE,
    DAVID | {"is_supporting": True},
    BOOK | {"is_supporting": True},
]


def write(path, records):
    """Write records in the official format that the file's name implies: JSON lines or
    one list.
    """
    rows = [json.dumps(record, ensure_ascii=False) for record in records]
    lines = path.suffix == ".jsonl"
    text = "".join(f"{row}\n" for row in rows) if lines else f"[{', '.join(rows)}]"
    path.write_text(text, encoding="utf-8")
    return path


def test_hotpotqa_in_the_distractor_setting(tmp_path):
    [(question, context)] = read_hotpotqa(write(tmp_path / "dev.json", [HOTPOT]))
    assert [paragraph.title for paragraph in context] == [
        "Walibi",
        "Lost Gravity",
        "Mack Rides",
    ]
    assert (
        context[1].text
        == "Lost Gravity is a roller coaster. It was made by Mack Rides."
    )
    # in the order of the supporting facts, each once
    gold = (context[2].id, context[1].id)
    stated = {"kind": "bridge", "steps": question.steps}
    assert question == Question(
        "5a", HOTPOT["question"], ("Germany",), gold, "hotpotqa", **stated
    )
    assert [step.gold for step in question.steps] == [gold[:1], gold[1:], gold[1:]]
    stated = [sentence.strip() for sentence in (*MACK[1], *GRAVITY[1])]
    assert [step.sentence for step in question.steps] == stated


def test_2wikimultihopqa_joins_sentences_by_spaces_and_knows_aliases(tmp_path):
    context = [["Lost Gravity", ["It is a coaster.", "It is by Mack Rides."]], MACK]
    records = [WIKI | {"context": context}, WIKI | {"_id": "5b", "answer_id": None}]
    path = write(tmp_path / "dev.json", records)
    (question, paragraphs), _ = read_2wikimultihopqa(path)
    assert paragraphs[0].text == "It is a coaster. It is by Mack Rides."
    assert (question.answers, question.kind) == (("Germany",), "compositional")
    names = {
        "Q_id": "Q183",
        "aliases": ["FRG", "Germany", "BRD"],
        "demonyms": ["German"],
    }
    (tmp_path / "id_aliases.json").write_text(json.dumps(names) + "\n")
    (question, _), (without, _) = read_2wikimultihopqa(path)
    assert question.answers == ("Germany", "BRD", "FRG", "German")
    assert without.answers == ("Germany",)


def test_musique_leaves_out_unanswerable_questions(tmp_path):
    records = [MUSIQUE | {"id": "3hop1__9", "answerable": False}, MUSIQUE]
    [(question, context)] = read_musique(write(tmp_path / "dev.jsonl", records))
    assert context[1].text == "David Gelernter works at Yale."
    assert len({paragraph.id for paragraph in context}) == 3
    answers, gold = ("Yale", "Yale University"), (context[1].id, context[2].id)
    assert question == Question(
        "2hop__1_2", MUSIQUE["question"], answers, gold, "musique", "2hop"
    )


BROKEN = [
    (read_hotpotqa, [HOTPOT, {"_id": "5b"}], ", record 2, field context: Field req"),
    (
        read_hotpotqa,
        [HOTPOT | {"supporting_facts": [["A", 0]]}],
        "supporting_facts: .* 'A'",
    ),
    (
        read_musique,
        [MUSIQUE | {"paragraphs": [{"title": "Y"}]}],
        "paragraphs.0.paragraph_text: ",
    ),
    (
        read_musique,
        [MUSIQUE | {"paragraphs": [YALE]}],
        ":1: lacks supporting paragraphs",
    ),
    (read_musique, [MUSIQUE, 5], r":2: found 5, expected one JSON object"),
]


@pytest.mark.parametrize(("read", "records", "message"), BROKEN)
def test_a_record_out_of_format_is_named_with_its_field(
    tmp_path, read, records, message
):
    path = write(
        tmp_path / ("dev.jsonl" if read is read_musique else "dev.json"), records
    )
    with pytest.raises(DataError, match=f"^{path}.*{message}[^\n]*$"):
        read(path)


@pytest.mark.parametrize("name", sorted(set(all_datasets()) - {"own"}))
def test_a_file_that_is_cut_off_is_named_in_one_line(name, laboratory, tmp_path):
    """Questions, and the paragraphs in files beside them."""
    shutil.copytree(laboratory / name, tmp_path, dirs_exist_ok=True)
    for path in [
        path for path in tmp_path.iterdir() if path.suffix in (".json", ".jsonl")
    ]:
        whole = path.read_bytes()
        for part in (0, 0.3, 0.99):
            path.write_bytes(whole[: int(part * len(whole))])
            if path.name == "id_aliases.json" and not part:
                continue  # nobody need have aliases
            with pytest.raises(DataError, match=f"^{path}[^\n]*$"):
                [*read_dataset(name, tmp_path)[1]]
        path.write_bytes(whole)


OWN = {"id": "1", "question": "Who?", "answers": ["Ann", "A.", "Ann"], "paragraphs": []}
SAYS = {"title": "A", "text": "It is Ann."}


def test_own_questions_have_aliases_and_gold_paragraphs_if_given(tmp_path):
    (tmp_path / "own").mkdir()
    two = [
        SAYS | {"is_supporting": True},
        {"title": "B", "text": "b", "is_supporting": False},
    ]
    rows = [
        OWN | {"paragraphs": two, "kind": "2hop"},
        OWN | {"id": "2", "paragraphs": [SAYS]},
    ]
    write(tmp_path / "own/questions.jsonl", rows)
    [one, other], paragraphs = read_dataset("own", tmp_path)
    assert [paragraph.title for paragraph in paragraphs] == ["A", "B"]
    assert (one.answers, one.gold, one.kind) == (
        ("Ann", "A."),
        (paragraphs[0].id,),
        "2hop",
    )
    assert (other.gold, other.kind, other.dataset) == ((), "", "own")
    assert score(one, Prediction("a.", (paragraphs[0],)))["recall"] == 1
    assert math.isnan(score(other, Prediction("x", (paragraphs[0],)))["recall"])
    examples = find_dataset("own").read(tmp_path / "own/questions.jsonl")
    again = write_own(tmp_path / "again", examples)
    assert read_dataset("own", again) == ([one, other], paragraphs)


WRONG_OWN = [
    ({"answers": []}, "answers"),
    ({"answers": ["Ann", 5]}, "answers.1"),
    ({"paragraphs": [SAYS, {"title": "B"}]}, "paragraphs.1.text"),
    ({"paragraphs": [{"title": "B", "text": "\ud83d"}]}, "paragraphs.0.text"),
]


@pytest.mark.parametrize(("row", "field"), WRONG_OWN)
def test_a_wrong_line_of_own_questions_is_named(row, field, tmp_path):
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps(OWN) + "\n" + json.dumps(OWN | row))
    with pytest.raises(DataError, match=f"^{path}:2, field {field}: [^\n]+$"):
        read_dataset("own", tmp_path)


MINE = '''"""My questions, as JSON lines of question, answers and paragraphs."""

from ircotlib.data import Question, read_jsonl
from ircotlib.datasets import Dataset
from ircotlib.datasets.hotpotqa import ABSTRACTS
from ircotlib.datasets import make_paragraph
from ircotlib.metrics import exact_match, squad_f1


def read_mine(path):
    for number, row in enumerate(read_jsonl(path), start=1):
        context = [make_paragraph(title, text) for title, text in row["paragraphs"]]
        answers = tuple(row["answers"])
        yield Question(f"mine-{number}", row["question"], answers, (), "mine"), context


DATASET = Dataset(
    name="mine",
    title="My questions",
    files=("mine.jsonl",),
    source="my own disk",
    read=read_mine,
    scores={"em": exact_match, "f1": squad_f1, "letters": lambda text, answers: len(text) / 100},
    full_corpus=ABSTRACTS,
)
'''
ROWS = [
    {
        "question": "Who?",
        "answers": ["Ann", "A."],
        "paragraphs": [["A", "It is Ann."], ["B", "b"]],
    },
    {
        "question": "Where?",
        "answers": ["Ulm"],
        "paragraphs": [["B", "b"], ["U", "In Ulm."]],
    },
]


@pytest.fixture
def mine(tmp_path, plugins):
    """A data set defined by one file in another folder, and its questions."""
    (plugins / "questions_of_mine.py").write_text(MINE, encoding="utf-8")
    return write(tmp_path / "mine.jsonl", ROWS)


def test_a_data_set_is_added_by_one_file(mine, tmp_path):
    assert len(MINE.splitlines()) == 25
    assert [*all_datasets()][-1] == "mine" and find_dataset(
        "mine"
    ).title == "My questions"
    questions, paragraphs = read_dataset("mine", tmp_path)
    assert [question.text for question in questions] == ["Who?", "Where?"]
    assert [paragraph.title for paragraph in paragraphs] == ["A", "B", "U"]
    scores = score(questions[0], Prediction("Ann B", (paragraphs[1],), ("Hm.",)))
    assert math.isnan(scores["recall"]) and scores["letters"] == 0.05
    with pytest.raises(DataError, match="found letters = 9.0, expected 0 to 1"):
        score(questions[0], Prediction("x" * 900))
    mine.unlink()
    with pytest.raises(
        FileNotFoundError, match="of mine: .* get mine.jsonl from my own disk"
    ):
        read_dataset("mine", tmp_path)


def test_data_sets_share_a_full_corpus(mine, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "DATA", tmp_path / "data")
    write_archive(
        tmp_path, {"AA/wiki_00": [("Lost Gravity", ["Lost Gravity"]), ("B", ["B"])]}
    )
    record = HOTPOT | {"supporting_facts": [["Lost Gravity", 0]]}
    write(tmp_path / "hotpot_dev_distractor_v1.json", [record])
    with pytest.warns(UserWarning, match="found 2 paragraphs, the paper 5,233,329"):
        _, one = read_dataset("mine", tmp_path, "full")
        questions, other = read_dataset("hotpotqa", tmp_path, "full")
    assert one.folder == other.folder
    # by title: the context's text is another
    assert questions[0].gold == (other[0].id,)


def test_a_corpus_that_a_data_set_lacks_is_an_error_before_it_is_read(
    mine, tmp_path, monkeypatch
):
    none = replace(find_dataset("mine"), full_corpus=None)
    monkeypatch.setattr(
        sys.modules["ircotlib_plugins.questions_of_mine"], "DATASET", none
    )
    with pytest.raises(
        ValueError, match="found corpus 'full' for mine, expected pooled"
    ):
        read_dataset("mine", tmp_path / "nowhere", "full")
    write(mine, [ROWS[0] | {"paragraphs": []}])
    with pytest.raises(ValueError, match="mine.jsonl: found no contexts"):
        read_dataset("mine", tmp_path)
    twin = replace(find_dataset("mine"), name="musique")
    monkeypatch.setattr(
        sys.modules["ircotlib_plugins.questions_of_mine"], "DATASET", twin
    )
    with pytest.raises(ValueError, match="two data sets of .*have one name"):
        all_datasets()


def test_a_question_that_comes_twice_is_refused(mine, tmp_path):
    write(tmp_path / "questions.jsonl", [OWN, OWN])
    with pytest.raises(DataError, match="found 2 questions with the id '1'"):
        read_dataset("own", tmp_path)


def test_a_prediction_gets_recall_the_scores_of_its_data_set_and_counts():
    question = Question("q", "Who?", ("yes",), ("a", "b"), "hotpotqa")
    found = (Paragraph("b", "B", ""), Paragraph("c", "C", ""))
    scores = score(question, Prediction("yes, both", found, ("One.", "Two.")))
    expected = {
        "recall": 0.5,
        "f1": 0,
        "em": 0,
        "cover_em": 1,
        "paragraphs": 2,
        "steps": 2,
    }
    assert scores == expected and [*scores] == [*expected]
    assert (find_dataset("zsre").covering, find_dataset("iirc").covering) == (
        "cover_em",
        "f1",
    )
    squad = replace(question, dataset="musique")
    assert score(squad, Prediction("yes, both", found))["f1"] == pytest.approx(2 / 3)
    with pytest.raises(
        ValueError, match="data set 'squad', expected one of hotpotqa, 2wiki"
    ):
        score(replace(question, dataset="squad"), Prediction("yes"))
