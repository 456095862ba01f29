"""Systems, tested by playing replies to them and comparing the exact requests."""

import sys
from dataclasses import replace
from functools import partial

import pandas
import pytest
from playing import play

from ircotlib import systems
from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.files.paths import PROMPTS as PROMPTS_FOLDER
from ircotlib.files.paths import REPORTED
from ircotlib.parameters import grid_names
from ircotlib.program import (
    LINE,
    SENTENCE,
    Duplicate,
    Extract,
    Extracted,
    Generate,
    NearestTitle,
    Retrieve,
    Sample,
    Sampled,
)
from ircotlib.prompting.examples import read_examples
from ircotlib.prompting.prompt import Prompt
from ircotlib.prompting.templates import read_template
from ircotlib.systems import ANSWER, RECALL, SEARCHAIN, all_systems, choose_systems
from ircotlib.systems.ircot import collect, ircot, ircot_qa, ircot_without_reader
from ircotlib.systems.main_passage import find_pages, read_titles, with_main_passage
from ircotlib.systems.nor import nor_qa
from ircotlib.systems.oner import oner, oner_qa
from ircotlib.systems.readers import cot_reader, direct_reader

QUESTION = Question(
    "q", "In what country was Lost Gravity manufactured?", ("Germany",), ("mack",), "test"
)
LOST = Paragraph("lost", "Lost Gravity", "Lost Gravity is a roller coaster made by Mack Rides.")
MACK = Paragraph("mack", "Mack Rides", "Mack Rides is a company in Waldkirch, Germany.")
PARK = Paragraph("park", "Walibi Holland", "Walibi Holland is a theme park in Biddinghuizen.")
WALD = Paragraph("wald", "Waldkirch", "Waldkirch is a town in the Black Forest.")


def write(question, paragraphs=(), thoughts=(), n=None):
    """A prompt that shows its arguments; like Prompt, it always shows the main passage."""
    asked = question.text if n is None else ASK.format(question.text, n)
    main = [] if question.passage is None else [question.passage]
    shown = main + [paragraph for paragraph in paragraphs if paragraph not in main]
    return f"{asked} | {' '.join(p.id for p in shown)} | {' '.join(thoughts)}"


ASK = (
    "The question is: '{}'. "
    "Generate titles of {} Wikipedia pages that have relevant information to answer this question."
)
PROMPTS = {"cot": write}
read_by_chain = partial(cot_reader, prompt=write)
read_directly = partial(direct_reader, prompt=write)


def within_pages(question, system, **setting):
    """Play a system as on a bench: the prompt writer of titles is opened when it is needed."""
    return with_main_passage(question, system(question), lambda: write, **setting)


THOUGHTS = [
    "Lost Gravity was manufactured by Mack Rides.",
    "Mack Rides is a German company.",
    "So the answer is: Germany.",
]


def test_ircot_interleaves_and_stops_at_the_answer():
    requests, found = play(
        ircot(QUESTION, prompts=PROMPTS, k=2),
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
    requests, found = play(ircot(QUESTION, prompts=PROMPTS, k=1, max_steps=3), replies)
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
    requests, found = play(ircot(QUESTION, prompts=PROMPTS, k=5), replies)
    assert len(found.thoughts) == 8
    # a full set does not stop the loop; the oldest stay
    assert found.paragraphs == tuple(many[:15])
    assert {request.max_tokens for request in requests if isinstance(request, Generate)} == {200}


def test_an_empty_sentence_ends_ircot():
    requests, found = play(
        ircot(QUESTION, prompts=PROMPTS, k=1), [(LOST,), "One fact.", (MACK,), ""]
    )
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
    requests, _ = play(ircot(QUESTION, prompts=PROMPTS, k=1, released=True), replies)
    queries = [request.query for request in requests if isinstance(request, Retrieve)]
    # the question without question words too; "Thus, ..." re-issues the factual sentence before
    first = "In country was Lost Gravity manufactured?"
    assert queries == [first, "made it Mack Rides.", "made it Mack Rides."]
    assert all(request.distinct for request in requests if isinstance(request, Retrieve))


@pytest.mark.parametrize(
    ("sentence", "paper", "released"),
    [
        ("So the answer is: Germany.", True, True),
        ("So the answer is Germany.", False, True),
        ("So the answer is:", True, False),
    ],
)
def test_ircot_ends_where_the_paper_or_the_released_program_does(sentence, paper, released):
    for ends, as_released in ((paper, False), (released, True)):
        program = ircot(QUESTION, prompts=PROMPTS, k=1, released=as_released)
        replies = [(LOST,), sentence] if ends else [(LOST,), sentence, (MACK,), ""]
        requests, found = play(program, replies)
        assert len(requests) == (2 if ends else 4) and found.thoughts == (sentence,)


def test_oner_as_the_released_program():
    (request,), _ = play(oner(QUESTION, k=5, released=True), [(LOST,)])
    assert request == Retrieve("In country was Lost Gravity manufactured?", 5, distinct=True)
    requests, _ = play(oner_qa(QUESTION, read=read_directly, k=5, released=True), [(LOST,), "x"])
    assert requests[0] == request


def test_without_a_reader_the_answer_is_that_of_the_chain():
    system = partial(ircot_without_reader, prompts=PROMPTS, k=1)
    _, found = play(system(QUESTION), [(LOST,), THOUGHTS[0], (MACK,), THOUGHTS[2]])
    assert (found.answer, found.reading) == ("Germany", "")
    _, found = play(system(QUESTION, max_steps=1), [(LOST,), THOUGHTS[0]])
    assert found.answer == THOUGHTS[0]


def test_collect_keeps_order_and_drops_near_duplicates_and_long_paragraphs():
    near = Paragraph("near", "Lost Gravity.", LOST.text.replace("roller", "Roller"))
    long = Paragraph("long", "Long", "word " * 601)
    assert collect((PARK,), (LOST, near, long, PARK, MACK), 15) == (PARK, LOST, MACK)
    assert collect((PARK,), (LOST, MACK), 2) == (PARK, LOST)


def test_ircot_qa_reads_from_scratch():
    reading = "Mack Rides is in Germany. So the answer is: Germany."
    replies = [(LOST,), THOUGHTS[0], (MACK,), THOUGHTS[2], reading]
    requests, prediction = play(
        ircot_qa(QUESTION, prompts=PROMPTS, read=read_by_chain, k=1), replies
    )
    assert requests[-1] == Generate(f"{QUESTION.text} | lost mack | ", LINE, 200)
    assert (prediction.answer, prediction.reading) == ("Germany", reading)
    assert prediction.paragraphs == (LOST, MACK)
    assert prediction.thoughts == (THOUGHTS[0], THOUGHTS[2])


def test_oner_retrieves_once():
    assert play(oner(QUESTION, k=5), [(LOST, PARK)])[0] == [Retrieve(QUESTION.text, 5)]
    requests, prediction = play(
        oner_qa(QUESTION, read=read_directly, k=5), [(LOST, PARK), "Germany"]
    )
    assert requests == [
        Retrieve(QUESTION.text, 5),
        Generate(f"{QUESTION.text} | lost park | ", LINE, 200),
    ]
    assert prediction.answer == prediction.reading == "Germany"


def test_nor_shows_no_paragraph_and_a_chain_without_answer_is_the_answer():
    requests, prediction = play(nor_qa(QUESTION, read=read_by_chain), ["I cannot tell."])
    assert requests == [Generate(f"{QUESTION.text} |  | ", LINE, 200)]
    assert prediction.answer == "I cannot tell."
    assert prediction.paragraphs == ()


# Questions with a main passage (App. B)

RIDE = Paragraph("ride", "Walibi", "The park has a coaster called Lost Gravity.")
IIRC = replace(QUESTION, passage=RIDE)
ASKED = (
    f"The question is: '{QUESTION.text}'. "
    "Generate titles of 3 Wikipedia pages that have relevant information to answer this question."
    " | ride | "
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
    requests, _ = play(within_pages(IIRC, partial(oner, k=5)), ["", (LOST,)])
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
        within_pages(IIRC, partial(ircot, prompts=PROMPTS, k=2)), NAMED + replies
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
    system = partial(ircot_qa, prompts=PROMPTS, read=read_directly, k=1, max_tokens=300)
    requests, prediction = play(within_pages(IIRC, system, max_tokens=300), NAMED + replies)
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
    requests, prediction = play(within_pages(IIRC, partial(oner, k=5)), [*NAMED, (LOST, PARK)])
    assert requests == [*NAMING, Retrieve(QUESTION.text, 5, PAGES)]
    assert prediction.paragraphs == (RIDE, LOST, PARK)
    system = partial(oner_qa, read=read_by_chain, k=5)
    requests, prediction = play(
        within_pages(IIRC, system), [*NAMED, (LOST, PARK), "So the answer is: Germany."]
    )
    assert requests == [
        *NAMING,
        Retrieve(QUESTION.text, 5, PAGES),
        Generate(f"{QUESTION.text} | ride lost park | ", LINE, 200),
    ]
    assert (prediction.answer, prediction.paragraphs) == ("Germany", (RIDE, LOST, PARK))


def test_the_main_passage_counts_towards_the_15_paragraphs():
    many = [Paragraph(str(i), chr(65 + i) * 9, chr(65 + i) * 40) for i in range(20)]
    found = play(within_pages(IIRC, partial(oner, k=15)), ["", tuple(many[:15])])[1].paragraphs
    assert found == (RIDE, *many[:14])
    assert play(oner(QUESTION, k=20), [tuple(many)])[1].paragraphs == tuple(many)
    replies = [
        "",
        tuple(many[:8]),
        "One.",
        tuple(many[8:16]),
        "Two.",
        tuple(many[16:]),
        "So the answer is: 3.",
    ]
    system = partial(ircot, prompts=PROMPTS, k=8)
    assert play(within_pages(IIRC, system), replies)[1].paragraphs == (RIDE, *many[:14])


def test_nor_shows_the_main_passage():
    requests, prediction = play(
        within_pages(IIRC, partial(nor_qa, read=read_directly)), ["Germany"]
    )
    assert requests == [Generate(f"{QUESTION.text} | ride | ", LINE, 200)]
    assert (prediction.answer, prediction.paragraphs) == ("Germany", (RIDE,))


def test_a_program_that_returns_at_once_is_played_too():
    def at_once(question):
        return Prediction("Germany")
        yield

    assert play(within_pages(IIRC, at_once), [])[1] == Prediction("Germany", (RIDE,))


# Records


def test_the_grids_are_the_papers():
    """IRCoT §4.1; the readers' M is tied to the retriever's."""
    grids = {name: dict(system.grid) for name, system in all_systems().items()}
    ircot_grid = {"k": (2, 4, 6, 8), "m": (1, 2, 3)}
    one_retrieval = (5, 7, 9, 11, 13, 15)
    assert grids["OneR"] == {"k": one_retrieval} and grids["NoR QA"] == {}
    assert grids["OneR QA"] == {"k": one_retrieval, "m": (1, 2, 3)}
    for name in ("IRCoT", "IRCoT QA", "IRCoT QA w/o reader"):
        assert grids[name] == ircot_grid


def test_every_record_is_whole_and_known_to_the_papers():
    systems, reported = all_systems(), set(pandas.read_csv(REPORTED)["system"])
    assert [system.name for system in choose_systems()] == [
        "NoR QA",
        "OneR",
        "OneR QA",
        "IRCoT",
        "IRCoT QA w/o reader",
        "IRCoT QA",
    ]
    for system in systems.values():
        assert set(system.reported) <= reported and set(system.better_than) <= set(systems)
        assert system.tuned_by in (ANSWER, RECALL)
        for stage in system.stages:
            read_template(system.module, stage)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder whose files add systems."""
    monkeypatch.setattr(systems, "__path__", [*systems.__path__, str(tmp_path)])
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("ircotlib.systems.mine")]:
        del sys.modules[name]


MINE = """
from ircotlib.data import Prediction
from ircotlib.program import Retrieve
from ircotlib.systems import System


def two_steps(question, *, read, k):
    first = yield Retrieve(question.text, 1)
    found = yield Retrieve(first[0].title, k)
    answer, reading = yield from read(question, (*first, *found))
    return Prediction(answer, (*first, *found), reading=reading)


SYSTEMS = (System("Two steps", two_steps, grid={"k": (2, 4)}, order=25, color="teal"),)
"""


def test_a_file_in_the_folder_is_a_system(folder):
    (folder / "mine.py").write_text(MINE)
    assert list(all_systems()).index("Two steps") == 3  # after OneR QA, because of its `order`
    mine = all_systems()["Two steps"]
    assert (mine.module, mine.shows_sets, mine.takes("read"), mine.takes("prompts")) == (
        ("mine", True, True, False)
    )
    assert choose_systems(["IRCoT", "Two steps"])[0] is mine
    assert "mine_k" in grid_names()
    with pytest.raises(ValueError, match="found the system 'Three', expected some of NoR QA, "):
        choose_systems(["Three"])


def test_two_systems_of_one_name_are_refused(folder):
    (folder / "mine2.py").write_text(MINE.replace("Two steps", "OneR"))
    with pytest.raises(ValueError, match="found two systems of one name among .*OneR, OneR, "):
        all_systems()


def test_what_searchain_claims_is_in_its_table_1():
    """It beats all systems that retrieve on every data set, and the others on average (§4.2)."""
    reported = pandas.read_csv(REPORTED).query("paper == 'searchain' and source == 'Table 1'")
    values = reported.pivot_table("value", "dataset", "system")
    study = {system.name: system for system in choose_systems(study=SEARCHAIN)}
    claims = {name: system.better_than for name, system in study.items() if system.better_than}
    assert set(claims) == {"SearChain", "SearChain w/o IR"} and len(values) == 8
    for name, worse in claims.items():
        lead = {
            other: values[study[name].reported[0]] - values[study[other].reported[0]]
            for other in worse
        }
        assert all(one.mean() > 0 for one in lead.values())
        assert name != "SearChain" or all((one > 0).all() for one in lead.values())
    compared = {name for name, s in study.items() if 200 <= s.order < 300 and name != "ReAct"}
    assert compared < set(claims["SearChain"])


# What they cost

LIST = "\n".join(f"{number}. Who is number {number}?" for number in range(1, 12))
REPLIES = {  # replies that keep a system running as long as possible
    "nothing": "",
    "a follow up question": "Follow up: Who?",
    "an action": "hm\nAction {n}: Search[x]",
    "a thought alone": "hm",
    "a call of retrieval": "(select) [retrieve_odqa] Who?",
    "a call of a tool": "[WikiSearch(who)",
    "a list": LIST,
    "a wrong answer": "[Query 1]: Who is number {n}?\n[Answer 1]: nobody",
    "an unsolved query": "[Unsolved Query]: Who is number {n}?",
    "what is not known": "Follow up: Who?|unknown",  # the second reply for requests of few tokens
    "facts": "First, a is {n}. Second, b. Third, c. Fourth, d. Fifth, e. Sixth, f. Seventh, g. "
    "Eighth, h. The answer is {n}.",
}


def count_texts(system, reply: str) -> int:
    """How many texts a program asks for, if all replies are the same except for their number."""
    prompts = {}
    for stage in system.stages:
        path = PROMPTS_FOLDER / "own" / system.module / f"{stage}.multihop.txt"
        template = read_template(system.module, stage)
        shown = read_examples(path, template) if path.is_file() else ()
        prompts[stage] = Prompt(shown, len, template, 10**9)
    told = {"others": (QUESTION,)} if system.takes("others") else {}
    program, answer, texts = system.program(QUESTION, prompts=prompts, **told), None, 0
    for number in range(10_000):
        try:
            request = program.send(answer)
        except StopIteration:
            return texts
        match request:
            case Retrieve(_, k):
                answer = tuple(replace(LOST, id=str(n)) for n in range(k))
            case NearestTitle(title):
                answer = (title,)
            case Extract():
                answer = Extracted("somebody", 9.0)
            case Duplicate():
                answer = 0.0
            case Generate():
                long, _, short = reply.replace("{n}", str(number)).partition("|")
                texts, answer = texts + 1, short if short and request.max_tokens == 32 else long
            case Sample(_, n):
                written = [reply.replace("{n}", f"{number}{i}") for i in range(n)]
                texts, answer = texts + n, tuple(Sampled(text, None) for text in written)
    raise AssertionError(f"{system.name} does not end")


@pytest.mark.parametrize("name", [system.name for system in choose_systems(study=SEARCHAIN)])
def test_a_system_has_no_more_texts_written_than_its_record_says(name):
    system = all_systems()[name]
    counted = {kind: count_texts(system, reply) for kind, reply in REPLIES.items()}
    most = system.generations or len(system.stages)
    assert max(counted.values()) == most, counted
