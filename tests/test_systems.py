"""Systems, tested by playing replies to them and comparing the exact requests."""

from dataclasses import replace
from functools import partial

import pytest

from ircotlib.data import Paragraph, Question
from ircotlib.program import LINE, SENTENCE, Generate, NearestTitle, Retrieve
from ircotlib.systems.iirc import find_pages, read_titles, within_pages
from ircotlib.systems.ircot import collect, ircot, ircot_qa
from ircotlib.systems.nor import nor_qa
from ircotlib.systems.oner import oner, oner_qa
from ircotlib.systems.readers import cot_reader, direct_reader
from ircotlib.text import query_from

QUESTION = Question(
    "q", "In what country was Lost Gravity manufactured?", ("Germany",), ("mack",), "test"
)
LOST = Paragraph("lost", "Lost Gravity", "Lost Gravity is a roller coaster made by Mack Rides.")
MACK = Paragraph("mack", "Mack Rides", "Mack Rides is a company in Waldkirch, Germany.")
PARK = Paragraph("park", "Walibi Holland", "Walibi Holland is a theme park in Biddinghuizen.")
WALD = Paragraph("wald", "Waldkirch", "Waldkirch is a town in the Black Forest.")


def write(question, paragraphs, thoughts=()):
    """A prompt that shows what it was given."""
    return f"{question.text} | {' '.join(p.id for p in paragraphs)} | {' '.join(thoughts)}"


def play(program, replies):
    """Send replies in order; return the requests and what the program returned."""
    requests, reply = [], None
    try:
        for reply in [None, *replies]:
            requests.append(program.send(reply))
    except StopIteration as stop:
        return requests, stop.value
    raise AssertionError(f"the program wants more than {len(replies)} replies: {requests[-1]}")


THOUGHTS = [
    "Lost Gravity was manufactured by Mack Rides.",
    "Mack Rides is a German company.",
    "So the answer is: Germany.",
]


def test_ircot_interleaves_and_stops_at_the_answer():
    requests, found = play(
        ircot(QUESTION, write, k=2),
        [(LOST, PARK), THOUGHTS[0], (MACK, LOST), THOUGHTS[1], (WALD, MACK), THOUGHTS[2]],
    )
    assert requests == [
        Retrieve(QUESTION.text, 2),
        Generate(f"{QUESTION.text} | lost park | ", SENTENCE, 200),
        Retrieve(THOUGHTS[0], 2),
        Generate(f"{QUESTION.text} | lost park mack | {THOUGHTS[0]}", SENTENCE, 200),
        Retrieve(THOUGHTS[1], 2),
        Generate(
            f"{QUESTION.text} | lost park mack wald | {THOUGHTS[0]} {THOUGHTS[1]}", SENTENCE, 200
        ),
    ]
    assert found.paragraphs == (LOST, PARK, MACK, WALD)
    assert found.thoughts == tuple(THOUGHTS)


def test_ircot_ends_after_max_steps_without_a_last_retrieval():
    replies = [(LOST,), "First fact.", (MACK,), "Second fact.", (PARK,), "Third fact."]
    requests, found = play(ircot(QUESTION, write, k=1, max_steps=3), replies)
    assert [type(request) for request in requests] == [Retrieve, Generate] * 3
    assert found.thoughts == ("First fact.", "Second fact.", "Third fact.")


def test_ircot_writes_eight_sentences_of_at_most_200_tokens_and_keeps_15_paragraphs():
    """The paper's constants: §3.1 footnotes 4 and 5; 200 tokens as in the released program."""
    many = [Paragraph(str(i), chr(65 + i) * 9, chr(65 + i) * 40) for i in range(40)]
    replies = [
        reply
        for step in range(8)
        for reply in (tuple(many[5 * step : 5 * step + 5]), f"Fact {step}.")
    ]
    requests, found = play(ircot(QUESTION, write, k=5), replies)
    assert len(found.thoughts) == 8
    # a full set does not stop the loop; the oldest stay
    assert found.paragraphs == tuple(many[:15])
    assert {request.max_tokens for request in requests if isinstance(request, Generate)} == {200}


def test_an_empty_sentence_ends_ircot():
    requests, found = play(ircot(QUESTION, write, k=1), [(LOST,), "One fact.", (MACK,), ""])
    assert len(requests) == 4
    assert found.thoughts == ("One fact.",)


def test_ircot_with_the_query_of_the_released_program():
    replies = [
        (LOST,),
        "Who made it is Mack Rides.",
        (MACK,),
        "Thus, it is German.",
        (PARK,),
        "So the answer is: Germany.",
    ]
    requests, _ = play(ircot(QUESTION, write, k=1, write_query=query_from), replies)
    queries = [request.query for request in requests if isinstance(request, Retrieve)]
    # "Thus, ..." re-issues the factual sentence before
    assert queries == [QUESTION.text, "made it Mack Rides.", "made it Mack Rides."]


def test_collect_keeps_order_and_drops_near_duplicates_and_long_paragraphs():
    near = Paragraph("near", "Lost Gravity.", LOST.text.replace("roller", "Roller"))
    long = Paragraph("long", "Long", "word " * 601)
    assert collect((PARK,), (LOST, near, long, PARK, MACK), 15) == (PARK, LOST, MACK)
    assert collect((PARK,), (LOST, MACK), 2) == (PARK, LOST)


def test_ircot_qa_reads_from_scratch():
    reading = "Mack Rides is in Germany. So the answer is: Germany."
    replies = [(LOST,), THOUGHTS[0], (MACK,), THOUGHTS[2], reading]
    requests, prediction = play(ircot_qa(QUESTION, write, write, cot_reader, k=1), replies)
    assert requests[-1] == Generate(f"{QUESTION.text} | lost mack | ", LINE, 200)
    assert (prediction.answer, prediction.reading) == ("Germany", reading)
    assert prediction.paragraphs == (LOST, MACK)
    assert prediction.thoughts == (THOUGHTS[0], THOUGHTS[2])


def test_oner_retrieves_once():
    assert play(oner(QUESTION, k=5), [(LOST, PARK)])[0] == [Retrieve(QUESTION.text, 5)]
    requests, prediction = play(
        oner_qa(QUESTION, write, direct_reader, k=5), [(LOST, PARK), "Germany"]
    )
    assert requests == [
        Retrieve(QUESTION.text, 5),
        Generate(f"{QUESTION.text} | lost park | ", LINE, 200),
    ]
    assert prediction.answer == prediction.reading == "Germany"


def test_nor_shows_no_paragraph_and_a_chain_without_answer_is_the_answer():
    requests, prediction = play(nor_qa(QUESTION, write, cot_reader), ["I cannot tell."])
    assert requests == [Generate(f"{QUESTION.text} |  | ", LINE, 200)]
    assert prediction.answer == "I cannot tell."
    assert prediction.paragraphs == ()


# Questions with a main passage (App. B)

RIDE = Paragraph("ride", "Walibi", "The park has a coaster called Lost Gravity.")
IIRC = replace(QUESTION, passage=RIDE)
ASKED = (
    f"The question is: '{QUESTION.text}'. "
    "Generate titles of 3 Wikipedia pages that have relevant information to answer this question. | ride | "
)
PAGES = ("mack rides", "waldkirch")
NAMED = [
    '["Mack Rides", "Waldkirch (town)", "Mack rides"]',
    ("mack rides",),
    ("waldkirch",),
    ("mack rides",),
]
NAMING = [
    Generate(ASKED, LINE, 200),
    NearestTitle("Mack Rides"),
    NearestTitle("Waldkirch (town)"),
    NearestTitle("Mack rides"),
]


def test_pages_are_the_nearest_to_the_titles_the_model_writes():
    assert play(find_pages(IIRC, write), NAMED) == (NAMING, PAGES)
    requests, pages = play(
        find_pages(IIRC, write, n=2, max_tokens=9), ["Rome, Lund", (), ("lund", "lund (city)")]
    )
    assert requests == [
        Generate(ASKED.replace("of 3", "of 2"), LINE, 9),
        NearestTitle("Rome"),
        NearestTitle("Lund"),
    ]
    assert pages == ("lund", "lund (city)")


def test_without_titles_the_whole_corpus_is_searched():
    for replies in ([""], ["[]"], [" , "], ["Xyzzy", ()]):
        assert play(find_pages(IIRC, write), replies)[1] is None
    requests, _ = play(within_pages(IIRC, write, partial(oner, k=5)), ["", (LOST,)])
    assert requests == [NAMING[0], Retrieve(IIRC.text, 5, None)]


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ('["Rome", "Malmö, Sweden"]', ["Rome", "Malmö, Sweden"]),
        ('[" Rome "]', ["Rome"]),
        ("Rome, Lund", ["Rome", "Lund"]),
        # as Flan-T5 is shown it: the comma of a title parts it
        ("Cooksville, Illinois", ["Cooksville", "Illinois"]),
        ('["Rome", "Lund', ["Rome", "Lund"]),  # cut off
        ('"Rome", "Lund"', ["Rome", "Lund"]),
        ('"Rome"', ["Rome"]),  # JSON, but no list
        ("1900", ["1900"]),
        ('[1900, "Rome"]', ["1900", "Rome"]),
        ('["Rome", ""], ', ["Rome"]),
        ("[]", []),
        ("", []),
    ],
)
def test_titles_are_read_as_json_or_between_commas(text, titles):
    assert read_titles(text) == titles


def test_ircot_with_a_main_passage_goes_round_within_its_pages():
    replies = [(LOST, PARK), THOUGHTS[0], (MACK, LOST), THOUGHTS[1], (WALD, MACK), THOUGHTS[2]]
    requests, found = play(
        within_pages(IIRC, write, partial(ircot, prompt=write, k=2)), NAMED + replies
    )
    assert requests == [
        *NAMING,
        Retrieve(QUESTION.text, 2, PAGES),
        Generate(f"{QUESTION.text} | ride lost park | ", SENTENCE, 200),
        Retrieve(THOUGHTS[0], 2, PAGES),
        Generate(f"{QUESTION.text} | ride lost park mack | {THOUGHTS[0]}", SENTENCE, 200),
        Retrieve(THOUGHTS[1], 2, PAGES),
        Generate(
            f"{QUESTION.text} | ride lost park mack wald | {THOUGHTS[0]} {THOUGHTS[1]}",
            SENTENCE,
            200,
        ),
    ]
    assert found.paragraphs == (RIDE, LOST, PARK, MACK, WALD)
    assert found.thoughts == tuple(THOUGHTS)


def test_ircot_qa_with_a_main_passage():
    replies = [(LOST,), THOUGHTS[0], (MACK,), THOUGHTS[2], "Germany"]
    system = partial(
        ircot_qa, prompt=write, reader_prompt=write, reader=direct_reader, k=1, max_tokens=300
    )
    requests, prediction = play(within_pages(IIRC, write, system, max_tokens=300), NAMED + replies)
    assert requests == [
        replace(NAMING[0], max_tokens=300),
        *NAMING[1:],
        Retrieve(QUESTION.text, 1, PAGES),
        Generate(f"{QUESTION.text} | ride lost | ", SENTENCE, 300),
        Retrieve(THOUGHTS[0], 1, PAGES),
        Generate(f"{QUESTION.text} | ride lost mack | {THOUGHTS[0]}", SENTENCE, 300),
        Generate(f"{QUESTION.text} | ride lost mack | ", LINE, 200),
    ]
    assert (prediction.answer, prediction.paragraphs) == ("Germany", (RIDE, LOST, MACK))
    assert prediction.thoughts == (THOUGHTS[0], THOUGHTS[2])


def test_oner_with_a_main_passage():
    requests, prediction = play(
        within_pages(IIRC, write, partial(oner, k=5)), [*NAMED, (LOST, PARK)]
    )
    assert requests == [*NAMING, Retrieve(QUESTION.text, 5, PAGES)]
    assert prediction.paragraphs == (RIDE, LOST, PARK)
    system = partial(oner_qa, prompt=write, reader=cot_reader, k=5)
    requests, prediction = play(
        within_pages(IIRC, write, system), [*NAMED, (LOST, PARK), "So the answer is: Germany."]
    )
    assert requests == [
        *NAMING,
        Retrieve(QUESTION.text, 5, PAGES),
        Generate(f"{QUESTION.text} | ride lost park | ", LINE, 200),
    ]
    assert (prediction.answer, prediction.paragraphs) == ("Germany", (RIDE, LOST, PARK))


def test_the_main_passage_counts_towards_the_15_paragraphs():
    many = [Paragraph(str(i), chr(65 + i) * 9, chr(65 + i) * 40) for i in range(20)]
    assert play(oner(IIRC, k=15), [tuple(many[:15])])[1].paragraphs == (RIDE, *many[:14])
    assert play(oner(QUESTION, k=20), [tuple(many)])[1].paragraphs == tuple(many)
    replies = [
        tuple(many[:8]),
        "One.",
        tuple(many[8:16]),
        "Two.",
        tuple(many[16:]),
        "So the answer is: 3.",
    ]
    assert play(ircot(IIRC, write, k=8), replies)[1].paragraphs == (RIDE, *many[:14])


def test_nor_shows_the_main_passage():
    requests, prediction = play(nor_qa(IIRC, write, direct_reader), ["Germany"])
    assert requests == [Generate(f"{QUESTION.text} | ride | ", LINE, 200)]
    assert (prediction.answer, prediction.paragraphs) == ("Germany", (RIDE,))
