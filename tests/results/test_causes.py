"""Why answers are wrong: every cause, on a question of two facts."""

import pandas as pd
import pytest

from ircot_laboratory.judge.laboratory_facts import weigh
from ircot_laboratory.world.records import Entity, Fact, Riddle, Thought, World
from ircotlib.data import Paragraph, Question
from ircotlib.datasets import Attempt
from ircotlib.results import causes
from ircotlib.results.causes import CAUSES, cause_of, read_attempt

ABOUT = {"director": "Ada Moss", "release": "1950"}
FILM = Entity("Silent Harbor", "film", "drama", ABOUT)
PERSON = Entity("Ada Moss", "person", "x", {"birthplace": "Varn", "birth": "1910"})
WORLD = World({entity.name: entity for entity in (FILM, PERSON)}, {})
FACTS = Fact("Silent Harbor", "director"), Fact("Ada Moss", "birthplace")
TEXT = "Where was the director of Silent Harbor born?"
THOUGHTS = tuple(Thought("", fact) for fact in FACTS)
RIDDLE = Riddle("hotpotqa", "bridge", TEXT, "Varn", THOUGHTS)
PAGE = Paragraph("1", "Silent Harbor", "Silent Harbor was directed by Ada Moss.")
NEXT = Paragraph("2", "Ada Moss", "Ada Moss was born in Varn.")
SILENT = Paragraph("2", "Ada Moss", "Ada Moss is a cook.")
FIRST, BORN = "Silent Harbor was directed by Ada Moss.", "Ada Moss was born in Lund."


def attempt(*steps, answer="Lund", queries=(TEXT,), found=(PAGE,), parsed=True):
    return Attempt(steps, "\n".join([*steps, answer]), queries, found, parsed)


WED = "Ada Moss was married to Bel."
BY_FACTS = {
    "nothing could be read": (attempt(answer="", parsed=False), "not parsed"),
    "both facts, another answer": (attempt(FIRST, NEXT.text), "wrong conclusion"),
    "stops after one step": (attempt(FIRST, answer="Ada Moss"), "wrong decomposition"),
    "asks for another fact": (attempt(FIRST, WED), "wrong decomposition"),
    "the second page is missing": (attempt(FIRST, BORN), "not retrieved"),
    "its page was there": (attempt(FIRST, BORN, found=(PAGE, NEXT)), "misread"),
    "not in its page": (attempt(FIRST, BORN, found=(PAGE, SILENT)), "not retrieved"),
    "never searched": (attempt(FIRST, BORN, queries=(), found=()), "made up"),
}


@pytest.mark.parametrize(("tried", "cause"), BY_FACTS.values(), ids=BY_FACTS)
def test_the_first_rule_that_applies_decides_the_cause(tried, cause):
    assert cause_of(tried, weigh(tried, RIDDLE, WORLD)) == cause


def test_retrieval_misleads_where_the_model_knew():
    searched = attempt(FIRST, BORN)
    alone = attempt(FIRST, BORN, queries=(), found=())
    for tried, cause in (searched, "misled by retrieval"), (alone, "made up"):
        evidence = weigh(tried, RIDDLE, WORLD)
        assert cause_of(tried, evidence, known_without_retrieval=True) == cause
    named = {cause for _, cause in BY_FACTS.values()}
    assert named | {"misled by retrieval"} == set(CAUSES)


def line(**fields):
    nothing = {"answer": "Rome", "paragraphs": [], "thoughts": [], "reading": ""}
    return nothing | {"fault": "", "trace": [{"retrieve": TEXT}]} | fields


READING = "It is Rome. So the answer is: Rome."
CHAIN = {"thoughts": ["Ada lives in Old Kirk."], "reading": READING}
OTHER = {"reading": "It is Oslo."}
SPANS = ['["Rome", "Old Kirk"]', '["Rome", "Oslo"]']
WHOLE = {"answer": "It is in Old Kirk", "reading": "It is in Old Kirk"}
BY_GOLD = [
    ("made up", {"trace": [], "reading": "It is Oslo. The answer is: Rome."}, "12", ()),
    ("not retrieved", OTHER, "Oz", ("g",)),
    ("misread", OTHER, "Oz", ()),
    ("not parsed", WHOLE, "Kirk", ()),
    ("not parsed", {"answer": "One. Two.", "thoughts": ["One.", "Two."]}, "Kirk", ()),
    ("misread", {"reading": "Rome", "direct": True}, "Kirk", ()),
    ("wrong conclusion", CHAIN, "Kirk", ("g",)),
    ("wrong conclusion", CHAIN, SPANS[0], ()),
    ("misread", CHAIN, SPANS[1], ()),
    ("misread", OTHER, "Oz", None),  # no gold paragraph, so none is missed
]


@pytest.mark.parametrize(("cause", "fields", "gold", "missed"), BY_GOLD)
def test_without_facts_gold_answers_and_paragraphs_decide_the_cause(
    cause, fields, gold, missed
):
    row = line(**fields)
    found = [PAGE] if row["trace"] else []
    tried = read_attempt(row, found, unmarked=not row.get("direct"))
    needed = () if missed is None else ("1", *missed)
    question = Question("q", TEXT, ("Somewhere", gold), needed, "musique")
    assert cause_of(tried, causes.weigh_gold(tried, question)) == cause


def test_attempts_are_read_from_what_was_written():
    reading = f"{FIRST} {BORN} The answer is Lund."
    chain = read_attempt(line(answer="Lund", reading=reading))
    assert chain.steps == (FIRST, BORN) and chain.parsed
    assert "answer is Lund" in chain.text
    trace = [{"retrieve": "Ada Moss", "k": 1, "found": ["2"]}, {"generate": "x"}]
    lines = ["Thought 1: I search Ada Moss.", "Action 1: Search[Ada Moss]"]
    lines += ["Observation 1: Ada Moss was born in Varn.", "Action 2: Finish[Lund]"]
    acted = read_attempt(line(thoughts=lines, reading=lines[-1], trace=trace), [NEXT])
    assert acted.steps[0] == "Thought 1: I search Ada Moss." and acted.parsed
    assert acted.queries == ("Ada Moss",) and acted.paragraphs == (NEXT,)
    assert "Varn" not in acted.text  # what it was shown, it did not write
    listed = read_attempt(line(thoughts=[f"1. {FIRST}", f"2. {BORN}"], answer="Lund"))
    assert listed.steps == (FIRST, BORN)
    thoughts = [FIRST, "So the answer is: Malmö."]
    concludes = read_attempt(line(thoughts=thoughts, answer="Lund"))
    assert concludes.steps == (FIRST,) and "Malmö" in concludes.text


LUND = {"answer": "Lund", "reading": f"{BORN} The answer is Lund."}
LAST = {"answer": BORN, "thoughts": [FIRST, BORN], "reading": f"Thought 2: {BORN}"}
PARSED = [
    (False, {"answer": BORN, "reading": BORN}),
    (False, {"answer": ""}),
    (False, LAST),
    (True, LUND),
    (True, {"answer": "Lund", "reading": "Lund", "fault": ""}),
]


@pytest.mark.parametrize(("parsed", "fields"), PARSED)
def test_if_the_answer_is_the_whole_text_it_could_not_be_read(parsed, fields):
    assert read_attempt(line(**{"fault": "no answer"} | fields)).parsed == parsed


def test_causes_are_counted_of_all_answers_in_the_order_of_the_records():
    given = {"IRCoT QA": ("", "made up", "made up", "misread"), "NoR QA": ("made up",)}
    named = {"profile": "mini", "dataset": "hotpotqa", "model": "m", "metric": "f1"}
    runs = [
        pd.DataFrame({"cause": each}).assign(system=name, **named)
        for name, each in given.items()
    ]
    returns_paragraphs = runs[0].assign(system="OneR", metric="recall")
    table = causes.count_causes([*runs, returns_paragraphs])
    assert list(table["cause"]) == [*CAUSES, *CAUSES]
    assert list(table["answers"]) == [1] * 7 + [4] * 7
    assert list(table["system"]) == ["NoR QA"] * 7 + ["IRCoT QA"] * 7
    assert list(table["n"]) == [0] * 6 + [1] + [0] * 5 + [1, 2]
    assert list(table["share"])[-2:] == [25, 50]
    assert list(causes.count_causes([returns_paragraphs])) == list(table)
