"""Ask or state?: each query, reader and contrast, worked by hand."""

from functools import partial

import pandas as pd
import pytest

from ircot_studies import ask_or_state as study
from ircot_studies import contrasts
from ircot_studies.ask_or_state import (
    HOP,
    RESOLVED,
    asks,
    find_later_hops,
    states,
    states_or_guesses,
    write_queries,
)
from ircotlib.data import GoldStep, Paragraph, Question, write_jsonl
from ircotlib.errors import UserError
from ircotlib.experiment.setup import open_setup
from ircotlib.parameters import read_parameters

STEPS = (
    GoldStep("Who wrote Dusk?", "Ann Lee", ("dusk",)),
    GoldStep("Where was #1 born?", "Rome", ("ann",)),
    GoldStep("#2 >> mayor", "Bo Ray", ("rome",)),
)
ASKED = Question("1", "Who governs where Dusk's author was born?", ("Bo Ray",),
                 ("dusk", "ann", "rome"), "musique", steps=STEPS)  # fmt: skip
# as 2WikiMultihopQA's evidences become steps (datasets/hotpotqa.py)
EVIDENT = (
    GoldStep(
        question="What is the director of Dusk?",
        answer="Ann Lee Jr.",
        gold=("dusk",),
        sentence="The director of Dusk is Ann Lee Jr.",
    ),
    GoldStep("What is the father of #1?", "Ed Lee", ("ann",), sentence="…"),
)
OF_WIKI = Question("2", "Who is the father of Dusk's director?", ("Ed Lee",),
                   ("dusk", "ann"), "2wikimultihopqa", steps=EVIDENT)  # fmt: skip
FILLER = [Paragraph(f"x{n}", "", "") for n in range(20)]


def test_a_later_hop_names_an_earlier_answer_and_has_another_paragraph():
    assert list(find_later_hops(ASKED)) == [(1, 0), (2, 1)]
    same = GoldStep("When was #1 born?", "1990", ("dusk",))
    of_two = GoldStep("Who met #1 in #2?", "Bo", ("bo",))
    not_yet = GoldStep("Who met #9?", "Bo", ("bo",))
    steps = (*STEPS[:2], same, of_two, not_yet)
    asked = Question("1", "?", (), (), "musique", steps=steps)
    assert list(find_later_hops(asked)) == [(1, 0), (3, 1)]  # of two, the last named


def test_the_six_forms_of_a_query():
    assert write_queries(ASKED, 1, 0) == {
        RESOLVED: "Where was Ann Lee born?",
        study.SENTENCE: "Who wrote Dusk: Ann Lee",
        study.ANSWER: "Ann Lee",
        study.QUESTION_AND_ANSWER: f"{ASKED.text} Ann Lee",
        study.UNRESOLVED: "Where was Who wrote Dusk born?",
        study.ALONE: ASKED.text,
    }
    of_third = write_queries(ASKED, 2, 1)
    assert of_third[RESOLVED] == "Rome >> mayor"
    assert of_third[study.SENTENCE] == "Where was Ann Lee born: Rome"
    assert of_third[study.UNRESOLVED] == "Where was Who wrote Dusk born >> mayor"


def test_a_sentence_is_made_from_a_relation_or_from_evidences():
    assert study.state(ASKED, 2, ["x", "Oslo", "Cy"]) == "The mayor of Oslo is Cy."
    assert study.state(OF_WIKI, 0, ["Ann Lee Jr."]) == EVIDENT[0].sentence
    assert study.state(OF_WIKI, 1, ["Cy", "Di"]) == "The father of Cy is Di."
    nested = GoldStep("Where is #1?", "x", ("x",))
    steps = (GoldStep("Ada Moss >> father", "Al", ("p",)), nested)
    asked = Question("1", "?", (), (), "musique", steps=steps)
    unresolved = write_queries(asked, 1, 0)[study.UNRESOLVED]
    assert unresolved == "Where is the father of Ada Moss?"
    # HotpotQA has sentences, and no sub-questions
    stated = Question("1", "?", (), (), "h", steps=(GoldStep("", "", sentence="S."),))
    assert study.state(stated, 0, [""]) == "S."


def follow(reader, found: dict[str, str], k: int = 1, question=ASKED, cap=15):
    """The queries of a reader; one in `found` gets the paragraph of that id first. And
    whether all gold paragraphs are kept.
    """
    queries = []

    def search(text):
        queries.append(text)
        return [Paragraph(found.get(text, f"no {len(queries)}"), "", ""), *FILLER]

    return queries, study.finds_all(question, reader, search, k, cap)


def test_who_asks_fills_in_an_answer_once_its_paragraph_was_found():
    asked = ["Who wrote Dusk?", "Where was Ann Lee born?", "Rome >> mayor"]
    found = dict(zip(asked, ASKED.gold, strict=True))
    assert follow(asks, found) == (asked, True)
    queries, all_found = follow(asks, {})
    nested = "Where was Who wrote Dusk born"
    assert queries == [asked[0], f"{nested}?", f"{nested} >> mayor"] and not all_found


def test_who_only_states_stops_where_nothing_was_read():
    assert follow(states, {}) == ([ASKED.text], False)
    first = "Who wrote Dusk: Ann Lee"
    assert follow(states, {ASKED.text: "dusk"}) == ([ASKED.text, first], False)
    second = "Where was Ann Lee born: Rome"
    found = {ASKED.text: "dusk", first: "ann", second: "rome"}
    queries, all_found = follow(states, found)
    assert queries == [ASKED.text, first, second, "The mayor of Rome is Bo Ray."]
    assert all_found


def test_a_guess_is_believed_until_the_end_and_is_no_right_answer():
    answers = ["Ann Lee", "Oslo"]
    reader = partial(states_or_guesses, draw=0, answers=answers)
    # nothing was read of Dusk: its guess must be Oslo, and stays when Dusk is found
    first = "Who wrote Dusk: Oslo"
    queries, _ = follow(reader, {first: "dusk"}, question=ASKED)
    assert queries[:2] == [ASKED.text, first]
    assert queries[2] in [f"Where was Oslo born: {answer}" for answer in answers]
    of_wiki, _ = follow(reader, {}, question=OF_WIKI)
    assert of_wiki[1].startswith("The director of Dusk is ")
    father = of_wiki[1].removeprefix("The director of Dusk is ").removesuffix(".")
    assert of_wiki[2].startswith(f"The father of {father} is ")


def test_no_more_than_the_cap_is_kept():
    found = {"Who wrote Dusk?": "dusk", "Where was Ann Lee born?": "ann"}
    found["Rome >> mayor"] = "rome"
    assert follow(asks, found, k=8)[1]  # 1 + 7, 1, 1
    assert follow(asks, found, k=8, cap=10)[1]
    assert not follow(asks, found, k=8, cap=9)[1]  # the third is left out


def rows_of(found: dict[tuple, list]) -> pd.DataFrame:
    """Rows by unit, query and K: a list of pairs, a question's id and what is found."""
    rows = [
        (*unit_query, id, True, k, value)
        for (*unit_query, k), pairs in found.items()
        for id, value in pairs
    ]
    columns = ["unit", "query", "id", "natural", "k", "found"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(dataset="musique", retriever="BM25", corpus=study.CONTEXTS)


def test_hops_count_alike_in_a_share_and_questions_in_a_difference():
    hops = rows_of({(HOP, RESOLVED, 1): [("a", 1), ("a", 1), ("a", 1), ("b", 0)]})
    shares = contrasts.summarise(hops)
    assert shares[["n", "mean"]].to_numpy().tolist() == [[4, 75]]
    assert 0 <= shares["low"][0] < 75 < shares["high"][0] <= 100
    by_question = contrasts.by_question(hops, HOP, RESOLVED, 1)
    assert by_question.to_dict() == {"a": 100, "b": 0}
    # as many questions as hops: the exact interval of a share
    one_each = rows_of({(HOP, RESOLVED, 1): [("a", 0), ("b", 0)]})
    low, high = contrasts.summarise(one_each)[["low", "high"]].to_numpy()[0]
    assert low == 0 and high == pytest.approx(100 * (1 - 0.025**0.5), abs=0.01)


def test_further_paragraphs_are_searched_unless_their_title_is_there(tmp_path):
    there = {"title": "Bo", "text": "Bo was born in Rome."}
    row = {"question": "Who?", "answers": ["Bo"], "paragraphs": [there]}
    write_jsonl(tmp_path / "a/own/questions.jsonl", [row])
    more = [{"title": name, "text": "Rome!"} for name in ("Bo", "Al")]
    write_jsonl(tmp_path / "b/own/corpus.jsonl", more)
    folders = {"data_dir": str(tmp_path / "a"), "further": str(tmp_path / "b")}
    p = read_parameters("mini", folders)
    retriever = open_setup(p, "own", "more", with_model=False).retriever
    found = [page.text for page, _ in retriever.search("Rome", 3)]
    assert found == ["Rome!", there["text"]]
    with pytest.raises(UserError, match="expected pooled"):
        p.change(corpus="full")
