"""IRCoT, OneR and NoR, with replies by hand; requests are compared by letters."""

import json
from dataclasses import replace
from functools import partial

import pytest
from replying import ASKED, LOST, MACK, PARK, QUESTION, THOUGHTS, WALD, send, write

from ircotlib.data import Paragraph
from ircotlib.program import LINE, SENTENCE, Generate, NearestTitle, Retrieve
from ircotlib.systems.ircot import (
    collect,
    ircot,
    read_paragraphs,
    read_titles,
    with_main_passage,
)
from ircotlib.systems.oner import nor_qa, oner
from ircotlib.systems.react import react

PROMPTS = {"cot": write}
TURNS = [(LOST, PARK), THOUGHTS[0], (MACK, LOST), THOUGHTS[1], (WALD, MACK)]
TURNS += [THOUGHTS[2]]
MANY = [Paragraph(str(i), chr(65 + i) * 9, chr(65 + i) * 40) for i in range(40)]


def test_ircot_interleaves_and_stops_at_the_answer():
    requests, result = send(ircot(QUESTION, prompts=PROMPTS, k=2), TURNS)
    assert requests == [
        Retrieve(ASKED, 2),
        Generate(f"{ASKED} | lost park | ", SENTENCE, 200),
        Retrieve(THOUGHTS[0], 2),
        Generate(f"{ASKED} | lost park mack | {THOUGHTS[0]}", SENTENCE, 200),
        Retrieve(THOUGHTS[1], 2),
        Generate(
            f"{ASKED} | lost park mack wald | {' '.join(THOUGHTS[:2])}", SENTENCE, 200
        ),
    ]
    assert result.paragraphs == (LOST, PARK, MACK, WALD)
    assert result.thoughts == tuple(THOUGHTS)


def test_ircot_writes_eight_sentences_of_at_most_200_tokens_and_keeps_15_paragraphs():
    """§3.1, footnotes 4 and 5; nothing is retrieved after the last one."""
    replies = []
    for step in range(8):
        replies += [tuple(MANY[5 * step : 5 * step + 5]), f"Fact {step}."]
    requests, result = send(ircot(QUESTION, prompts=PROMPTS, k=5), replies)
    assert [type(request) for request in requests] == [Retrieve, Generate] * 8
    assert len(result.thoughts) == 8
    # a full set does not stop the loop; the oldest stay
    assert result.paragraphs == tuple(MANY[:15])
    assert {request.max_tokens for request in requests[1::2]} == {200}


def test_ircot_with_the_query_of_the_released_program():
    replies = [(LOST,), "Who made it is Mack Rides.", (MACK,), "Thus, it is German."]
    replies += [(PARK,), "So the answer is: Germany."]
    requests, _ = send(ircot(QUESTION, prompts=PROMPTS, k=1, released=True), replies)
    queries = [request.query for request in requests[::2]]
    # the question too; "Thus, ..." asks for the factual sentence before it again
    first = "In country was Lost Gravity manufactured?"
    assert queries == [first, "made it Mack Rides.", "made it Mack Rides."]
    assert all(request.distinct for request in requests[::2])


def test_ircot_ends_where_the_paper_or_the_released_program_does():
    sentence = "So the answer is Germany."
    endings = {True: [(LOST,), sentence], False: [(LOST,), sentence, (MACK,), ""]}
    for released, replies in endings.items():
        program = ircot(QUESTION, prompts=PROMPTS, k=1, released=released)
        assert send(program, replies)[1].thoughts == (sentence,)


def test_collect_keeps_order_and_drops_near_duplicates_and_long_paragraphs():
    near = Paragraph("near", "Lost Gravity.", LOST.text.replace("roller", "Roller"))
    long = Paragraph("long", "Long", "word " * 601)
    assert collect((PARK,), (LOST, near, long, PARK, MACK), 15) == (PARK, LOST, MACK)
    assert collect((PARK,), (LOST, MACK), 2) == (PARK, LOST)
    # both title and text must be alike
    same_title = Paragraph("t", LOST.title, MACK.text)
    same_text = Paragraph("x", "Walibi Holland", LOST.text)
    both = same_title, same_text
    assert collect((LOST,), both, 15) == (LOST, *both)


def test_nor_shows_no_paragraph_and_a_chain_without_answer_is_the_answer():
    read = partial(read_paragraphs, prompt=write, chain=True)
    requests, prediction = send(nor_qa(QUESTION, read=read), ["I cannot tell."])
    assert requests == [Generate(f"{ASKED} |  | ", LINE, 200)]
    assert (prediction.answer, prediction.paragraphs) == ("I cannot tell.", ())


# Questions with a main passage (IRCoT App. B)


def within_pages(system):
    return with_main_passage(IIRC, system(IIRC), lambda: write)


RIDE = Paragraph("ride", "Walibi", "The park has a coaster called Lost Gravity.")
IIRC = replace(QUESTION, passage=RIDE)
PAGES = ("mack rides", "waldkirch")
TITLES = ["Mack Rides", "Waldkirch (town)", "Mack rides"]
NAMED = [json.dumps(TITLES), ("mack rides",), ("waldkirch",), ("mack rides",)]
NAMING = [Generate(f"3 titles for {ASKED} | ride | ", LINE, 200)]
NAMING += [*map(NearestTitle, TITLES)]


def act(*actions):
    """The replies of a model that takes these actions, in ReAct."""
    steps = enumerate(actions, start=1)
    return [f"Hm.\nAction {step}: {action}" for step, action in steps]


# the page that ReAct searches, the pages that the model names, what is observed
SEARCHES = [
    ("Mack Rides", '["Mack Rides"]', (MACK,), MACK.text),
    ("Mack Rides", "[]", (MACK,), MACK.text),
    ("Walibi", '["Mack Rides"]', (), RIDE.text),
    ("Waldkirch", '["Mack Rides"]', (), "Could not find Waldkirch. Similar"),
]


@pytest.mark.parametrize(("title", "named", "found", "observed"), SEARCHES)
def test_a_page_that_react_searches_is_within_the_pages(title, named, found, observed):
    search, finish = act(f"Search[{title}]", "Finish[Germany]")
    names = json.loads(named)
    replies = [search, (title,), named, *[(name,) for name in names], found, finish]
    program = within_pages(partial(react, prompts={"act": write}))
    requests, result = send(program, replies)
    within = (title,) if title in names or not names else ()
    assert requests[-2] == Retrieve(title, 1, within)
    assert result.thoughts[2].startswith(f"Observation 1: {observed}")
    assert result.paragraphs == (RIDE, *found)


def test_without_titles_the_whole_corpus_is_searched():
    for replies in ([""], ["[]"], [" , "], ["Xyzzy", ()]):
        requests, _ = send(within_pages(partial(oner, k=5)), [*replies, (LOST,)])
        assert (requests[0], requests[-1]) == (NAMING[0], Retrieve(IIRC.text, 5, None))


READ = {
    '["Rome", "Malmö, Sweden"]': "Rome|Malmö, Sweden",
    '[1900, "Rome"]': "1900|Rome",
    "Rome, Lund": "Rome|Lund",  # between commas, as Flan-T5 is shown it
    "Malmö, Sweden": "Malmö|Sweden",  # the comma of a title parts it
    '["Rome", "Lund': "Rome|Lund",  # cut off
    '"Rome", "Lund"': "Rome|Lund",
    '"Rome"': "Rome",  # JSON, but no list
    "1900": "1900",
    '[" Rome "]': "Rome",
    '["Rome", ""], ': "Rome",
}


@pytest.mark.parametrize(("text", "titles"), READ.items())
def test_titles_are_read_as_json_or_between_commas(text, titles):
    assert read_titles(text) == titles.split("|")
    assert read_titles("[]") == read_titles("") == []


def test_retrievals_are_within_pages_and_the_main_passage_is_one_of_15_paragraphs():
    replies = [*NAMED, tuple(MANY[:8]), "One.", tuple(MANY[8:16])]
    replies += ["So the answer is: 3."]
    requests, result = send(within_pages(partial(ircot, prompts=PROMPTS, k=8)), replies)
    assert requests[:4] == NAMING and result.paragraphs == (RIDE, *MANY[:14])
    assert requests[4::2] == [Retrieve(ASKED, 8, PAGES), Retrieve("One.", 8, PAGES)]
