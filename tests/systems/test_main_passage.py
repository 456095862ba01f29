"""Systems on questions with a main passage (IRCoT App. B), played by hand."""

import json
from dataclasses import replace
from functools import partial

import pytest
from replying import ASKED, LOST, MACK, PARK, QUESTION, THOUGHTS, WALD, play, write

from ircotlib.data import Paragraph
from ircotlib.program import LINE, SENTENCE, Generate, NearestTitle, Retrieve
from ircotlib.systems.ircot import ircot
from ircotlib.systems.main_passage import find_pages, read_titles, with_main_passage
from ircotlib.systems.oner import oner
from ircotlib.systems.readers import direct_reader

PROMPTS = {"cot": write}
read_directly = partial(direct_reader, prompt=write)


def within_pages(question, system, **setting):
    """Play a system as on a bench: the prompt writer of titles is opened when it is needed."""
    return with_main_passage(question, system(question), lambda: write, **setting)


RIDE = Paragraph("ride", "Walibi", "The park has a coaster called Lost Gravity.")
IIRC = replace(QUESTION, passage=RIDE)
ASK_FOR_TITLES = f"3 titles for {ASKED} | ride | "
PAGES = ("mack rides", "waldkirch")
TITLES = ["Mack Rides", "Waldkirch (town)", "Mack rides"]
NAMED = [json.dumps(TITLES), ("mack rides",), ("waldkirch",), ("mack rides",)]
NAMING = [Generate(ASK_FOR_TITLES, LINE, 200), *map(NearestTitle, TITLES)]


def test_pages_are_the_nearest_to_the_titles_the_model_writes():
    assert play(find_pages(IIRC, write), NAMED) == (NAMING, PAGES)
    program = find_pages(IIRC, write, n=2, max_tokens=9)
    requests, pages = play(program, ["Rome, Lund", (), ("lund", "lund (city)")])
    asked = Generate(ASK_FOR_TITLES.replace("3", "2"), LINE, 9)
    assert requests == [asked, NearestTitle("Rome"), NearestTitle("Lund")]
    assert pages == ("lund", "lund (city)")


def test_without_titles_the_whole_corpus_is_searched():
    for replies in ([""], ["[]"], [" , "], ["Xyzzy", ()]):
        assert play(find_pages(IIRC, write), replies)[1] is None
    requests, _ = play(within_pages(IIRC, partial(oner, k=5)), ["", (LOST,)])
    assert requests == [NAMING[0], Retrieve(IIRC.text, 5, None)]


READ = {'["Rome", "Malmö, Sweden"]': "Rome|Malmö, Sweden", '[1900, "Rome"]': "1900|Rome"}
# between commas; as Flan-T5 is shown it: the comma of a title parts it; cut off
READ |= {"Rome, Lund": "Rome|Lund", "Malmö, Sweden": "Malmö|Sweden", '["Rome", "Lund': "Rome|Lund"}
READ |= {'"Rome", "Lund"': "Rome|Lund", '"Rome"': "Rome", "1900": "1900"}  # JSON, but no list
READ |= {'[" Rome "]': "Rome", '["Rome", ""], ': "Rome"}


@pytest.mark.parametrize(("text", "titles"), READ.items())
def test_titles_are_read_as_json_or_between_commas(text, titles):
    assert read_titles(text) == titles.split("|")
    assert read_titles("[]") == read_titles("") == []


def test_ircot_with_a_main_passage_goes_round_within_its_pages():
    replies = [(LOST, PARK), THOUGHTS[0], (MACK, LOST), THOUGHTS[1], (WALD, MACK), THOUGHTS[2]]
    program = within_pages(IIRC, partial(ircot, prompts=PROMPTS, k=2))
    requests, result = play(program, NAMED + replies)
    assert requests == [
        *NAMING,
        Retrieve(ASKED, 2, PAGES),
        Generate(f"{ASKED} | ride lost park | ", SENTENCE, 200),
        Retrieve(THOUGHTS[0], 2, PAGES),
        Generate(f"{ASKED} | ride lost park mack | {THOUGHTS[0]}", SENTENCE, 200),
        Retrieve(THOUGHTS[1], 2, PAGES),
        Generate(f"{ASKED} | ride lost park mack wald | {' '.join(THOUGHTS[:2])}", SENTENCE, 200),
    ]
    assert result.paragraphs == (RIDE, LOST, PARK, MACK, WALD)
    assert result.thoughts == tuple(THOUGHTS)


def test_the_main_passage_counts_towards_the_15_paragraphs():
    many = [Paragraph(str(i), chr(65 + i) * 9, chr(65 + i) * 40) for i in range(20)]
    result = play(within_pages(IIRC, partial(oner, k=15)), ["", tuple(many[:15])])[1].paragraphs
    assert result == (RIDE, *many[:14])
    assert play(oner(QUESTION, k=20), [tuple(many)])[1].paragraphs == tuple(many)
    replies = ["", tuple(many[:8]), "One.", tuple(many[8:16]), "Two.", tuple(many[16:])]
    replies += ["So the answer is: 3."]
    system = partial(ircot, prompts=PROMPTS, k=8)
    assert play(within_pages(IIRC, system), replies)[1].paragraphs == (RIDE, *many[:14])
