"""The ceilings: what a reader that knows nothing by heart can ask, and what it finds."""

import pytest

from ircotlib.data import GoldStep, Paragraph, Question
from ircotlib.papers.ceilings import (
    QUESTION,
    SENTENCES,
    SUBQUESTIONS,
    Reader,
    find_gold,
    measure_ceilings,
)
from ircotlib.parameters import read_parameters

STEPS = (
    GoldStep("Who wrote Dusk?", "Ann Lee", ("dusk",)),
    GoldStep("Where was #1 born?", "Rome", ("ann",)),
    GoldStep("#2 >> mayor", "Bo Ray", ("rome",)),
)
ASKED = Question("1", "Who governs where Dusk's author was born?", ("Bo Ray",),
                 ("dusk", "ann", "rome"), "musique", steps=STEPS)  # fmt: skip
FILLER = [Paragraph(f"x{n}", "", "") for n in range(9)]


def follow(reader: Reader, found: dict[str, str], k: int = 1, cap: int | None = None):
    """The queries of a reader, where each query in `found` gets the paragraph of that id first."""
    queries = []

    def search(query, k):
        queries.append(query)
        return [Paragraph(found.get(query, f"no {len(queries)}"), "", ""), *FILLER][:k]

    return queries, find_gold(ASKED, search, reader, k, cap)


def test_an_answer_enters_a_query_once_its_paragraph_was_found():
    found = {STEPS[0].question: "dusk", "Where was Ann Lee born?": "ann", "Rome >> mayor": "rome"}
    queries, row = follow(Reader(SUBQUESTIONS), found)
    assert queries == ["Who wrote Dusk?", "Where was Ann Lee born?", "Rome >> mayor"]
    assert row == {"found": 1.0, "recall": 1.0, "paragraphs": 3, "retrievals": 3}


def test_what_was_not_found_is_named_by_its_sub_question():
    queries, row = follow(Reader(SUBQUESTIONS), {})
    nested = "Where was Who wrote Dusk born"
    assert queries[1:] == [f"{nested}?", f"{nested} >> mayor"]
    assert row["recall"] == 0
    assert follow(Reader(SUBQUESTIONS, stops=True), {})[0] == ["Who wrote Dusk?"]


def test_a_sentence_has_its_answer_only_if_it_was_found_or_is_known_by_heart():
    queries, _ = follow(Reader(SENTENCES), {ASKED.text: "dusk"})
    assert queries[:3] == [ASKED.text, "Who wrote Dusk: Ann Lee", "Where was Ann Lee born?"]
    queries, _ = follow(Reader(SENTENCES, by_heart=True), {})
    assert queries[1:] == ["Who wrote Dusk: Ann Lee", "Where was Ann Lee born: Rome",
                           "Rome >> mayor: Bo Ray"]  # fmt: skip


def test_the_question_alone_is_asked_once_and_no_more_than_the_cap_is_kept():
    assert follow(Reader(QUESTION), {ASKED.text: "rome"}, k=4)[1] == {
        "found": 0.0, "recall": pytest.approx(1 / 3), "paragraphs": 4, "retrievals": 1,
    }  # fmt: skip
    assert follow(Reader(SUBQUESTIONS), {}, k=8, cap=10)[1]["paragraphs"] == 10


def test_what_can_be_found_in_musique(shared):
    p = read_parameters("sample", {"data_dir": str(shared), "datasets": ["musique"]})
    table = measure_ceilings(p, ks=(4,), caps=(None,))
    found = 100 * table.groupby(["query", "k"])["found"].mean()
    assert found.round(1).to_dict() == {
        ("sentences", 4): 62.4, ("sentences, stops", 4): 62.4,
        ("sentences, all known by heart", 4): 85.7,
        ("sub-questions", 4): 61.0, ("sub-questions, stops", 4): 61.0,
        ("sub-questions, all known by heart", 4): 68.1,
        ("the question", 4): 10.0, ("the question", 15): 31.9,
    }  # fmt: skip
    assert table["id"].nunique() == 210
