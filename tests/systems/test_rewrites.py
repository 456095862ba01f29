"""IRCoT as others run it: what each row asks, letter by letter."""

from functools import partial
from itertools import islice

import pytest
from replying import ASKED, LOST, MACK, PARK, QUESTION, THOUGHTS, WALD, send, write

from ircotlib.data import Paragraph
from ircotlib.program import LINE, SENTENCE, Generate, Retrieve
from ircotlib.systems import all_systems
from ircotlib.systems.ircot import ircot_qa, read_paragraphs
from ircotlib.systems.rewrites import (
    AFTER_QUESTION,
    AFTER_THOUGHTS,
    BEST_FIRST,
    FIRST,
    NEWEST,
    NO_CAP,
    REPLACED,
    REWRITES,
    WORST_FIRST,
    keep,
    rewritten,
)

READ = partial(read_paragraphs, prompt=lambda q, p: write(q, p), chain=True)
GIVEN = {"prompts": {"cot": write}, "read": READ}
READING = "So the answer is: Germany."
TURNS = [(LOST, PARK), THOUGHTS[0], (MACK, LOST), THOUGHTS[1], (WALD, MACK)]
MANY = [Paragraph(str(n), chr(0x4E00 + n) * 9, chr(0x4E00 + n)) for n in range(200)]


def run(replies, **settings):
    return send(rewritten(QUESTION, **GIVEN, **settings), replies)


def row(name, replies):
    """What the registered system asks, and its prediction."""
    return send(all_systems()[name].program(QUESTION, **GIVEN), replies)


def prompt(ids="", thoughts=()):
    return f"{ASKED} | {ids} | {' '.join(thoughts)}"


def test_as_released_it_is_ircot_qa():
    replies = [*TURNS, THOUGHTS[2], READING]
    expected = send(ircot_qa(QUESTION, **GIVEN, k=4), replies)
    assert run(replies) == expected
    # also where the model stops, or writes to the limit
    for replies in ([(LOST,), "", READING], [*[(LOST,), "One."] * 8, READING]):
        assert run(replies) == send(ircot_qa(QUESTION, **GIVEN, k=4), replies)


def test_the_query_is_what_the_axis_says():
    expected = {
        AFTER_QUESTION: f"{ASKED} {THOUGHTS[1]}",
        AFTER_THOUGHTS: f"{ASKED} {THOUGHTS[0]} {THOUGHTS[1]}",
    }
    for query, text in expected.items():
        requests, _ = run([*TURNS, "", READING], query=query)
        assert requests[2] == Retrieve(f"{ASKED} {THOUGHTS[0]}", 4)
        assert requests[4] == Retrieve(text, 4)


def test_what_is_kept_and_in_which_order():
    a, b, c, d = MANY[:4]
    found = [(a, b), (c, b), (b, d)]
    assert keep(found, FIRST, 3) == (a, b, c)
    assert keep(found, FIRST, NO_CAP) == (a, b, c, d)
    assert keep(found, NEWEST, 3) == (b, c, d)
    assert keep(found, REPLACED, NO_CAP) == (b, d)
    # ranks 0, 0, 0 and 1: of equal ones, the earlier first
    assert keep(found, BEST_FIRST, NO_CAP) == (a, b, c, d)
    assert keep([(a, b), (d, a)], BEST_FIRST, 2) == (a, d)
    assert keep([(a, b), (d, a)], WORST_FIRST, NO_CAP) == (b, d, a)
    # the first retrieval stands as it was found (FlashRAG)
    assert keep([(a, b)], WORST_FIRST, NO_CAP) == (a, b)
    assert keep([(), (a,)], REPLACED, NO_CAP) == (a,)
    # a is dropped, and is the newest when it is found again
    assert keep([(a, b), (c,), (a,)], NEWEST, 2) == (c, a)


def test_the_last_thought_searches_if_the_axis_says_so():
    turns = [*TURNS[:4], (WALD, MACK), READING]
    requests, result = run(turns, rounds=2, search_last=True)
    assert requests[4:] == [
        Retrieve(THOUGHTS[1], 4),
        Generate(prompt("lost park mack wald"), LINE, 200),
    ]
    assert (result.answer, result.thoughts) == ("Germany", tuple(THOUGHTS[:2]))
    # not one that gives the answer
    turns = [(LOST,), THOUGHTS[2], READING]
    assert len(run(turns, rounds=2, search_last=True)[0]) == 3


def run_row(name):
    """What a registered system asks a model that never ends, and its prediction."""
    program, reply = all_systems()[name].program(QUESTION, **GIVEN), None
    pages, requests = iter(MANY), []
    try:
        while True:
            requests.append(program.send(reply))
            reply = "It is old. Or not."
            if isinstance(requests[-1], Retrieve):
                reply = tuple(islice(pages, requests[-1].k))
    except StopIteration as end:
        return requests, end.value


ROWS = {  # K, searches, texts, where a text stops, paragraphs at the end
    "FlashRAG IRCoT (2 rounds)": (5, 3, 2, SENTENCE, 15),
    "FlashRAG IRCoT (5 rounds)": (5, 6, 5, SENTENCE, 30),
    "PyTerrier-RAG IRCoT": (10, 20, 20, LINE, 10),
    "UltraRAG IRCoT": (5, 3, 3, SENTENCE, 15),
    "HippoRAG 2 IRCoT": (5, 3, 3, LINE, 5),
    "AutoRAG-Research IRCoT": (4, 9, 9, SENTENCE, 15),
    "GFM-RAG IRCoT": (10, 3, 3, LINE, 10),
    "PIKE-RAG IRCoT": (4, 5, 6, SENTENCE, 20),
    "s3 IRCoT": (3, 5, 5, LINE, 15),
    "FS-RAG": (3, 8, 8, SENTENCE, 3),
    "Memento IRCoT": (8, 4, 4, SENTENCE, 32),
}


@pytest.mark.parametrize("name", REWRITES)
def test_what_each_project_asks(name):
    requests, result = run_row(name)
    searches = [each for each in requests if isinstance(each, Retrieve)]
    texts = [each for each in requests if isinstance(each, Generate)]
    asked = (searches[0].k, len(searches), len(texts), texts[0].stop)
    assert (*asked, len(result.paragraphs)) == ROWS[name]
    assert {search.query for search in searches} == {ASKED, "It is old. Or not."}


def test_flashrag_shows_the_worst_first_and_answers_from_the_chain():
    turns = [tuple(MANY[:5]), "One.", tuple(MANY[5:10]), "Two.", ()]
    requests, result = row("FlashRAG IRCoT (2 rounds)", turns)
    assert requests[1:4:2] == [
        Generate(prompt("0 1 2 3 4"), SENTENCE),
        Generate(prompt("9 4 8 3 7 2 6 1 5 0", ["One."]), SENTENCE),
    ]
    assert result.answer == "One. Two."
    turns = [(LOST,), "So the answer is: Bern."]
    assert row("FlashRAG IRCoT (5 rounds)", turns)[1].answer == "Bern"


def test_the_first_k_by_score_are_shown_and_read():
    turns = [tuple(MANY[:5]), "It is old.", tuple(MANY[5:10])]
    turns += ["Yes.", (MANY[10], *MANY[:2]), READING]
    requests, result = row("HippoRAG 2 IRCoT", turns)
    assert requests[3].prompt == prompt("0 5 1 6 2", ["It is old."])
    assert requests[5].prompt == prompt("0 5 10 1 6")
    assert result.answer == "Germany"


def test_the_answer_may_be_the_last_thought_or_be_forced():
    turns = [(LOST,), "It is old.", (MACK,), THOUGHTS[2]]
    assert row("PyTerrier-RAG IRCoT", turns)[1].answer == THOUGHTS[2]
    requests, result = row("PIKE-RAG IRCoT", [*[(LOST,), "No."] * 5, "Bern"])
    forced = prompt("lost", [*["No."] * 5, "So the answer is:"])
    assert requests[-1] == Generate(forced, LINE)
    assert result.answer == "Bern"
    # not if the chain has one
    assert row("PIKE-RAG IRCoT", [(LOST,), THOUGHTS[2]])[1].answer == "Germany"
