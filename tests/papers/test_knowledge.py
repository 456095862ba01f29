"""The parts of MuSiQue's questions, by heart or in the prompt (SearChain A.2.1)."""

from dataclasses import replace

import pandas as pd
import pytest
from replying import send

from ircotlib.data import GoldStep, Question
from ircotlib.engine.cache import Calls
from ircotlib.papers import knowledge
from ircotlib.papers.knowledge import compare_forms, parts_of
from ircotlib.papers.searchain import TABLE, compare_reported
from ircotlib.program import LINE, Generate, Outcome
from ircotlib.results.runs import read_reported

DIRECTED = GoldStep("Who directed F?", "Ada", ())
STEPS = (DIRECTED, GoldStep("Where was #1 born?", "Varn", ()))
TEXT = "Where was the director of F born?"
QUESTION = Question("q", TEXT, ("Varn",), (), "musique", steps=STEPS)
OF_Q = parts_of(QUESTION)
OTHER = Question("r", "Who?", ("x",), (), "musique", steps=STEPS)


def test_parts_are_questions_with_the_answers_before_them_filled_in():
    third = GoldStep("Who founded #2, not #1?", "Bel", ())
    asked = parts_of(replace(QUESTION, steps=(*STEPS, third)))
    assert [(part.id, part.text, part.answers) for part in asked] == [
        ("q/part 0", "Who directed F?", ("Ada",)),
        ("q/part 1", "Where was Ada born?", ("Varn",)),
        ("q/part 2", "Who founded Varn, not Ada?", ("Bel",)),
    ]


def write(question, thoughts):
    return f"Q: {question.text}\nA: {thoughts[0]}"


BEFORE = [
    (OF_Q[:1], True, "Q: Who directed F?\nA: Ada\n"),
    (OF_Q[:1], False, "Q: Who directed F?\nA: \n"),
    ((), True, ""),
]


@pytest.mark.parametrize(("given", "answered", "before"), BEFORE)
def test_a_question_below_its_parts(given, answered, before):
    steps = knowledge.answer_given_parts(QUESTION, given, answered, write, max_tokens=9)
    requests, result = send(steps, ["Varn"])
    assert requests == [Generate(f"{before}Q: {QUESTION.text}\nA: ", LINE, 9)]
    assert result.answer == "Varn"


def test_only_what_is_known_is_asked(monkeypatch):
    """The last part of q is known, and both parts of r; so q is only in S_1."""
    fields = {"backends": (), "calls": Calls(), "test": [QUESTION, OTHER]}
    setup = type("Setup", (), fields)()
    setup.prompt = lambda stage, system: write
    setup.tokens = lambda system: {"max_tokens": 5}
    knows = dict.fromkeys(["q/part 0", "q/part 1", "r/part 0", "r/part 1"], True)
    knows["q/part 0"] = False

    def run(programs, backends, calls):
        answer = type("P", (), {"answer": "Varn"})
        return {id: Outcome(id, answer, ()) for id in programs}, {}

    monkeypatch.setattr(knowledge, "run", run)
    table = compare_forms(setup, pd.Series(knows))
    rows = [tuple(row) for row in table[["id", "panel", "i", "right"]].to_numpy()]
    of_r = [("r", panel, i, False) for panel in "ab" for i in (1, 2)]
    assert rows == [("q", "a", 1, True), *of_r]
    assert compare_forms(setup, pd.Series(dict.fromkeys(knows, False))).empty
    counted = knowledge.count_forms(table)[["panel", "i", "n"]].to_numpy().tolist()
    of_r = [["a of b", 1, 1], ["a of b", 2, 1], ["b", 1, 1], ["b", 2, 1]]
    assert counted == [["a", 1, 2], ["a", 2, 1], *of_r]
    # Table 7, of those all of whose parts are known: r
    right = pd.Series({"q": False, "r": True})
    known = compare_reported(knowledge.measure_known(right, table), "Table 7")
    paper = read_reported("searchain", source="Table 7")["value"]
    assert list(known["paper"].dropna()) == list(paper.round(3))
    assert list(known["ours"][:1]) == [1] and list(known["n"][:1]) == [1]
    assert list(known) == TABLE
