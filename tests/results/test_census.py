"""Why answers are wrong: every cause, on a question of two facts written by hand."""

import json

import pandas as pd
import pytest

from ircot_laboratory.world.records import Entity, Fact, Riddle, Thought, World
from ircotlib.data import Paragraph
from ircotlib.results import causes as census
from ircotlib.results.causes import CAUSES, Said, cause_of, count_causes, read_said

FILM = Entity("Silent Harbor", "film", "drama", {"director": "Ada Moss", "release": "1950"})
PERSON = Entity("Ada Moss", "person", "x", {"birthplace": "Varn", "birth": "1910"})
WORLD = World({one.name: one for one in (FILM, PERSON)}, {})
FACTS = Fact("Silent Harbor", "director"), Fact("Ada Moss", "birthplace")
TEXT = "Where was the director of Silent Harbor born?"
RIDDLE = Riddle("hotpotqa", "bridge", TEXT, "Varn", tuple(Thought("", f) for f in FACTS))
PAGE = Paragraph("1", "Silent Harbor", "Silent Harbor was directed by Ada Moss.")
NEXT = Paragraph("2", "Ada Moss", "Ada Moss was born in Varn.")
OTHER = Paragraph("3", "Bel Kane", "Bel Kane was born in Lund.")
FIRST = "Silent Harbor was directed by Ada Moss."
BORN = "Ada Moss was born in Lund."


def said(*steps, answer="Lund", queries=(TEXT,), found=(PAGE,), parsed=True):
    wrote = "\n".join([*steps, answer])
    return Said(TEXT, answer, steps, wrote, queries, found, parsed)


ASKS = "Where was Ada Moss born?"
CASES = {
    "nothing could be read": (said(answer="", parsed=False), "not parsed"),
    "both facts, another answer": (said(FIRST, "Ada Moss was born in Varn."), "wrong conclusion"),
    "stops after one step": (said(FIRST, answer="Ada Moss"), "wrong decomposition"),
    "asks for another fact": (
        said(FIRST, "Ada Moss was married to Bel Kane."),
        "wrong decomposition",
    ),
    "asks of the wrong film": (said("Who directed Red Hill?"), "wrong decomposition"),
    "the second page is missing": (said(FIRST, BORN), "not retrieved"),
    "searched for by its name": (said(FIRST, queries=("Ada Moss",)), "not retrieved"),
    "its page was there": (said(FIRST, BORN, found=(PAGE, NEXT)), "misread"),
    "its page states it not": (
        said(FIRST, BORN, found=(PAGE, Paragraph("2", "Ada Moss", "Ada Moss is a cook."))),
        "not retrieved",
    ),
    "never searched": (said(FIRST, BORN, queries=(), found=()), "made up"),
    "searched for the first alone": (
        said(FIRST, BORN, queries=("Who directed Silent Harbor?",)),
        "made up",
    ),
    "a noun phrase in another": (
        said("Where was the director of Silent Harbor born?" + " Lund", FIRST),
        "not retrieved",
    ),
    "an answer alone, from memory": (said(queries=(), found=()), "made up"),
    "an answer alone, a page missing": (said(), "not retrieved"),
    "an answer alone, both pages": (said(found=(PAGE, NEXT)), "misread"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_first_rule_that_applies_tells_the_cause(case):
    one, cause = CASES[case]
    assert cause_of(one, RIDDLE, WORLD) == cause


def test_retrieval_misleads_where_the_model_knew():
    assert cause_of(said(FIRST, BORN), RIDDLE, WORLD, knew=True) == "misled by retrieval"
    alone = said(FIRST, BORN, queries=(), found=())
    assert cause_of(alone, RIDDLE, WORLD, knew=True) == "made up"
    assert {cause for _, cause in CASES.values()} | {"misled by retrieval"} == set(CAUSES)


def line(**fields):
    told = {"answer": "Lund", "paragraphs": [], "thoughts": [], "reading": "", "nodes": []}
    return told | {"fault": "", "trace": []} | fields


def read(**fields):
    return read_said(line(**fields), TEXT, {"1": PAGE, "2": NEXT}.get)


def test_what_was_said_is_read_from_chains_transcripts_and_nodes():
    chain = read(reading=f"{FIRST} {BORN} The answer is Lund.")
    assert chain.steps == (FIRST, BORN) and chain.parsed and "answer is Lund" in chain.wrote
    trace = [{"retrieve": "Ada Moss", "k": 1, "found": ["2"]}, {"generate": "x"}]
    lines = ("Thought 1: I search Ada Moss.", "Action 1: Search[Ada Moss]")
    lines += ("Observation 1: Ada Moss was born in Varn.", "Action 2: Finish[Lund]")
    acted = read(thoughts=lines, paragraphs=["2"], trace=trace)
    assert acted.steps == ("I search Ada Moss.", "Search[Ada Moss]")
    assert acted.queries == ("Ada Moss",) and acted.found == (NEXT,) and "Varn" not in acted.wrote
    called = f"{FIRST} [WikiSearch(Ada Moss)→ Ada Moss was born in Varn.] {BORN}"
    assert "Varn" not in read(reading=called).wrote
    asked = {"query": ASKS, "answer": "Varn", "round": 1, "number": 1, "mark": 1}
    asked |= {"passage": "2", "found": "Lund", "feedback": "verification"}
    nodes = [asked, asked | {"mark": 0, "query": "Who?"}]
    chained = read(nodes=nodes, thoughts=["Ada Moss was born in Varn."], reading=BORN)
    assert chained.steps == (f"{ASKS} Lund", BORN) and "Varn" not in chained.wrote


def test_an_answer_that_is_all_that_was_written_could_not_be_read():
    fault = {"fault": "no answer in the chain"}
    assert not read(answer=BORN, reading=BORN, **fault).parsed
    assert not read(
        answer=BORN, thoughts=[FIRST, BORN], reading=f"Thought 2: {BORN}", **fault
    ).parsed
    assert read(reading=f"{BORN} The answer is Lund.", fault="no answer in 1 of 5 chains").parsed
    assert read(reading="Lund").parsed and not read(answer="").parsed


def test_a_run_of_the_laboratory_has_a_cause_for_each_wrong_answer(tmp_path, monkeypatch):
    questions = [type("Q", (), {"id": id, "text": TEXT}) for id in ("a", "b", "c")]
    corpus = type("C", (), {"corpus": type("F", (), {"find": lambda id: PAGE})})
    monkeypatch.setattr(census, "open_dataset", lambda p, dataset: ([], questions, corpus))
    monkeypatch.setattr(census, "make_dataset", lambda dataset: (WORLD, (RIDDLE,)))
    p = census.parameters_of({"parameters": {"profile": "mini"}})
    about = {name: None for name in ("experiment", "part", "setting", "shown", "grid_of")}
    about |= {"dataset": "hotpotqa", "system": "CoT", "metric": "f1", "questions": 3}
    (tmp_path / "run.json").write_text(json.dumps(about | {"parameters": p.model_dump()}))
    rows = [line(id=q.id, reading=f"{FIRST} {BORN}") for q in questions]
    (tmp_path / "predictions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "scores.csv").write_text("id,kind,f1\na,bridge,1\nb,bridge,0\nc,bridge,0.5\n")
    causes = census.find_causes(tmp_path, {"c": True})
    assert list(causes["cause"]) == ["", "made up", "made up"]
    assert set(causes["system"]) == {"CoT"} and set(causes["model"]) == {p.model}


def test_causes_are_counted_of_all_answers():
    named = {"profile": "mini", "dataset": "hotpotqa", "model": "m", "system": "CoT"}
    runs = pd.DataFrame(
        [named | {"cause": cause} for cause in ("", "made up", "made up", "misread")]
    )
    table = count_causes(runs)
    assert list(table["cause"]) == list(CAUSES) and set(table["answers"]) == {4}
    assert dict(zip(table["cause"], table["share"]))["made up"] == 50
