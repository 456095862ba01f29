"""Official raw files as questions and paragraphs, by small files in the same format; the real
samples are in test_pooled.py.
"""

import json
import re

import pytest

from ircotlib.data import Question
from ircotlib.datasets.hotpotqa import read_hotpotqa
from ircotlib.datasets.musique import read_musique
from ircotlib.datasets.twowiki import read_2wikimultihopqa

GRAVITY = ["Lost Gravity", ["Lost Gravity is a roller coaster.", " It was made by Mack Rides. "]]
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
WIKI = HOTPOT | {
    "type": "compositional",
    "evidences": [],
    "answer_id": "Q183",
    "entity_ids": "Q1_Q2",
    "evidences_id": [],
}
MUSIQUE = {
    "id": "2hop__1_2",
    "question": "Who is the employer of its author?",
    "answer": "Yale",
    "answer_aliases": ["Yale University", "Yale"],
    "answerable": True,
    "paragraphs": [
        {
            "idx": 0,
            "title": "Yale",
            "paragraph_text": "Yale is in New Haven.",
            "is_supporting": False,
        },
        {
            "idx": 1,
            "title": "Yale",
            "paragraph_text": "David Gelernter works at Yale. ",
            "is_supporting": True,
        },
        {
            "idx": 2,
            "title": "America-Lite",
            "paragraph_text": "It is by David Gelernter.",
            "is_supporting": True,
        },
    ],
    "question_decomposition": [],
}


def write(path, records):
    """A file in the official format of its name: JSON lines or one JSON list."""
    rows = [json.dumps(record, ensure_ascii=False) for record in records]
    path.write_text(
        "".join(row + "\n" for row in rows) if path.suffix == ".jsonl" else f"[{', '.join(rows)}]",
        encoding="utf-8",
    )
    return path


def test_hotpotqa_in_the_distractor_setting(tmp_path):
    [(question, context)] = read_hotpotqa(write(tmp_path / "dev.json", [HOTPOT]))
    assert [paragraph.title for paragraph in context] == ["Walibi", "Lost Gravity", "Mack Rides"]
    assert context[1].text == "Lost Gravity is a roller coaster. It was made by Mack Rides."
    gold = (context[2].id, context[1].id)  # in the order of the supporting facts, each once
    assert question == Question("5a", HOTPOT["question"], ("Germany",), gold, "hotpotqa", "bridge")


def test_hotpotqa_in_the_fullwiki_setting_takes_gold_from_the_corpus(tmp_path):
    path = write(tmp_path / "fullwiki.json", [HOTPOT | {"context": [WALIBI]}])
    [(question, context)] = read_hotpotqa(
        path, corpus_ids={"Lost Gravity": "p1", "Mack Rides": "p2", "Walibi": "p3"}
    )
    assert question.gold == ("p2", "p1") and len(context) == 1
    with pytest.raises(
        ValueError,
        match=r"record 1, field 'supporting_facts': .*found 'Mack Rides'.*pass corpus_ids",
    ):
        read_hotpotqa(path)
    with pytest.raises(ValueError, match="found 'Mack Rides'"):
        read_hotpotqa(path, corpus_ids={"Lost Gravity": "p1"})


def test_a_question_without_id_gets_one_from_its_text(tmp_path):
    other = HOTPOT | {"_id": None, "question": "Another?"}
    [(first, _), (second, _), (again, _)] = read_hotpotqa(
        write(tmp_path / "dev.json", [HOTPOT | {"_id": None}, other, HOTPOT | {"_id": None}])
    )
    assert first.id == again.id == "hotpotqa-de9480fbdeec602d"
    assert second.id != first.id


def test_2wikimultihopqa_joins_sentences_by_spaces_and_knows_aliases(tmp_path):
    context = [["Lost Gravity", ["It is a coaster.", "It is by Mack Rides."]], MACK]
    path = write(
        tmp_path / "dev.json",
        [WIKI | {"context": context}, WIKI | {"_id": "5b", "answer_id": None}],
    )
    (question, paragraphs), _ = read_2wikimultihopqa(path)
    assert paragraphs[0].text == "It is a coaster. It is by Mack Rides."
    assert (question.answers, question.dataset, question.kind) == (
        ("Germany",),
        "2wikimultihopqa",
        "compositional",
    )
    (tmp_path / "id_aliases.json").write_text(
        '{"Q_id": "Q183", "aliases": ["FRG", "Germany", "BRD"], "demonyms": ["German"]}\n'
    )
    (question, _), (without, _) = read_2wikimultihopqa(path)
    assert question.answers == ("Germany", "BRD", "FRG", "German")
    assert without.answers == ("Germany",)


def test_musique_leaves_out_unanswerable_questions(tmp_path):
    path = write(
        tmp_path / "dev.jsonl", [MUSIQUE | {"id": "3hop1__9", "answerable": False}, MUSIQUE]
    )
    [(question, context)] = read_musique(path)
    assert (
        context[1].text == "David Gelernter works at Yale."
        and len({paragraph.id for paragraph in context}) == 3
    )
    gold = (context[1].id, context[2].id)
    assert question == Question(
        "2hop__1_2", MUSIQUE["question"], ("Yale", "Yale University"), gold, "musique", "2hop"
    )


def without(record, name):
    return {key: value for key, value in record.items() if key != name}


BROKEN = [
    (
        read_hotpotqa,
        [HOTPOT, without(HOTPOT, "answer")],
        "record 2, field 'answer': expected a text, found only _id, question",
    ),
    (read_hotpotqa, [without(HOTPOT, "_id")], "record 1, field '_id': expected a text, found only"),
    (
        read_hotpotqa,
        [HOTPOT | {"question": 7}],
        "record 1, field 'question': expected a text, found 7",
    ),
    (
        read_hotpotqa,
        [HOTPOT | {"context": {"title": []}}],
        "record 1, field 'context': expected a list, found {'title': []}",
    ),
    (
        read_hotpotqa,
        [HOTPOT | {"context": [["Lost Gravity", "It is."]]}],
        "field 'context': expected [title, [sentence, ...]] for each paragraph, found ['Lost",
    ),
    (
        read_hotpotqa,
        [HOTPOT | {"context": [["A", [1]]]}],
        "field 'context': expected [title, [sentence, ...]] for each paragraph, found ['A', [1]]",
    ),
    (
        read_hotpotqa,
        [HOTPOT | {"supporting_facts": ["Lost Gravity"]}],
        "'supporting_facts': expected [title, number of the sentence], found 'Lost Gravity'",
    ),
    (
        read_hotpotqa,
        [HOTPOT | {"supporting_facts": [["Walibo", 0]]}],
        "field 'supporting_facts': expected titles of paragraphs in the context",
    ),
    (
        read_hotpotqa,
        [WIKI],
        "field 'type': expected one of bridge, comparison, found 'compositional': is it another data set's file?",
    ),
    (
        read_hotpotqa,
        ["text"],
        "record 1: expected a JSON object with a field 'question', found 'text'",
    ),
    (
        read_2wikimultihopqa,
        [HOTPOT],
        "field 'type': expected one of compositional, comparison, inference, bridge_comparison, found 'bridge'",
    ),
    (
        read_musique,
        [MUSIQUE, without(MUSIQUE, "answerable")],
        "line 2, field 'answerable': expected true or false, found only",
    ),
    (
        read_musique,
        [MUSIQUE | {"answer_aliases": "Yale"}],
        "line 1, field 'answer_aliases': expected a list, found 'Yale'",
    ),
    (
        read_musique,
        [MUSIQUE | {"paragraphs": [{"title": "Yale"}]}],
        "line 1, paragraph 0, field 'paragraph_text': expected a text, found only",
    ),
    (
        read_musique,
        [MUSIQUE | {"paragraphs": MUSIQUE["paragraphs"][:1]}],
        "expected paragraphs with is_supporting true, found none among 1",
    ),
    (
        read_musique,
        [HOTPOT],
        "line 1, field 'answerable': expected true or false, found only _id, question",
    ),
    (
        read_musique,
        [[HOTPOT]],
        "line 1: expected a JSON object with a field 'answerable', found [{'_id': '5a'",
    ),
]


@pytest.mark.parametrize(("read", "records", "message"), BROKEN)
def test_a_record_out_of_format_is_named_with_its_field(tmp_path, read, records, message):
    path = write(tmp_path / ("dev.jsonl" if read is read_musique else "dev.json"), records)
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        read(path)
    assert str(error.value).startswith(str(path))


def test_a_file_cut_off_or_of_another_kind_is_named(tmp_path):
    whole = write(tmp_path / "dev.json", [HOTPOT | {"question": "Où ?"}]).read_bytes()
    for content in (
        whole[:-20],
        whole[: whole.index("ù".encode()) + 1],
        b"",
        json.dumps(MUSIQUE).encode() * 2,
    ):
        (tmp_path / "dev.json").write_bytes(content)
        with pytest.raises(
            ValueError,
            match=r"dev.json: expected one JSON list of questions, found \d+ bytes.*cut off or damaged",
        ):
            read_hotpotqa(tmp_path / "dev.json")
    (tmp_path / "dev.json").write_text(json.dumps(MUSIQUE))
    with pytest.raises(
        ValueError, match="dev.json: expected one JSON list of questions, found {'id': '2hop__1_2'"
    ):
        read_2wikimultihopqa(tmp_path / "dev.json")
    path = write(tmp_path / "dev.jsonl", [MUSIQUE, MUSIQUE])
    path.write_text(path.read_text()[:-30])
    with pytest.raises(ValueError, match="dev.jsonl, line 2: expected one dict"):
        read_musique(path)
