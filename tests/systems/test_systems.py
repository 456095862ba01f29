"""Systems, tested by playing replies to them and comparing the exact requests."""

import json
import sys
from dataclasses import replace
from functools import partial

import pandas
import pytest
from playing import drawn, play

from ircotlib import systems
from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.datasets import find_dataset
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
)
from ircotlib.prompting.examples import find_examples
from ircotlib.prompting.prompt import Prompt
from ircotlib.prompting.templates import read_template
from ircotlib.systems import ANSWER, RECALL, SEARCHAIN, all_systems, choose_systems
from ircotlib.systems.ircot import collect, ircot, ircot_qa, ircot_without_reader
from ircotlib.systems.main_passage import find_pages, read_titles, with_main_passage
from ircotlib.systems.nor import nor_qa
from ircotlib.systems.oner import oner, oner_qa
from ircotlib.systems.readers import cot_reader, direct_reader

ASKED = "In what country was Lost Gravity manufactured?"
QUESTION = Question("q", ASKED, ("Germany",), ("mack",), "test")
LOST = Paragraph("lost", "Lost Gravity", "Lost Gravity is a roller coaster made by Mack Rides.")
MACK = Paragraph("mack", "Mack Rides", "Mack Rides is a company in Waldkirch, Germany.")
PARK = Paragraph("park", "Walibi Holland", "Walibi Holland is a theme park in Biddinghuizen.")
WALD = Paragraph("wald", "Waldkirch", "Waldkirch is a town in the Black Forest.")


def write(question, paragraphs=(), thoughts=(), n=None):
    """A prompt that shows its arguments; like Prompt, it always shows the main passage."""
    text = question.text if n is None else f"{n} titles for {question.text}"
    main = [] if question.passage is None else [question.passage]
    shown = main + [paragraph for paragraph in paragraphs if paragraph not in main]
    return f"{text} | {' '.join(p.id for p in shown)} | {' '.join(thoughts)}"


PROMPTS = {"cot": write}
read_by_chain = partial(cot_reader, prompt=write)
read_directly = partial(direct_reader, prompt=write)


def within_pages(question, system, **setting):
    """Play a system as on a bench: the prompt writer of titles is opened when it is needed."""
    return with_main_passage(question, system(question), lambda: write, **setting)


THOUGHTS = ["Lost Gravity was manufactured by Mack Rides.", "Mack Rides is a German company."]
THOUGHTS += ["So the answer is: Germany."]


def test_ircot_interleaves_and_stops_at_the_answer():
    requests, found = play(
        ircot(QUESTION, prompts=PROMPTS, k=2),
        [(LOST, PARK), THOUGHTS[0], (MACK, LOST), THOUGHTS[1], (WALD, MACK), THOUGHTS[2]],
    )
    assert requests == [
        Retrieve(ASKED, 2),
        Generate(f"{ASKED} | lost park | ", SENTENCE, 200),
        Retrieve(THOUGHTS[0], 2),
        Generate(f"{ASKED} | lost park mack | {THOUGHTS[0]}", SENTENCE, 200),
        Retrieve(THOUGHTS[1], 2),
        Generate(f"{ASKED} | lost park mack wald | {' '.join(THOUGHTS[:2])}", SENTENCE, 200),
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
    pairs = [(tuple(many[5 * step : 5 * step + 5]), f"Fact {step}.") for step in range(8)]
    replies = [reply for pair in pairs for reply in pair]
    requests, found = play(ircot(QUESTION, prompts=PROMPTS, k=5), replies)
    assert len(found.thoughts) == 8
    # a full set does not stop the loop; the oldest stay
    assert found.paragraphs == tuple(many[:15])
    assert {request.max_tokens for request in requests if isinstance(request, Generate)} == {200}


def test_an_empty_sentence_ends_ircot():
    replies = [(LOST,), "One fact.", (MACK,), ""]
    requests, found = play(ircot(QUESTION, prompts=PROMPTS, k=1), replies)
    assert len(requests) == 4
    assert found.thoughts == ("One fact.",)


def test_ircot_with_the_query_of_the_released_program():
    replies = [(LOST,), "Who made it is Mack Rides.", (MACK,), "Thus, it is German."]
    replies += [(PARK,), "So the answer is: Germany."]
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
    program = ircot_qa(QUESTION, prompts=PROMPTS, read=read_by_chain, k=1)
    requests, prediction = play(program, replies)
    assert requests[-1] == Generate(f"{ASKED} | lost mack | ", LINE, 200)
    assert (prediction.answer, prediction.reading) == ("Germany", reading)
    assert prediction.paragraphs == (LOST, MACK)
    assert prediction.thoughts == (THOUGHTS[0], THOUGHTS[2])


def test_oner_retrieves_once():
    assert play(oner(QUESTION, k=5), [(LOST, PARK)])[0] == [Retrieve(ASKED, 5)]
    program = oner_qa(QUESTION, read=read_directly, k=5)
    requests, prediction = play(program, [(LOST, PARK), "Germany"])
    assert requests == [Retrieve(ASKED, 5), Generate(f"{ASKED} | lost park | ", LINE, 200)]
    assert prediction.answer == prediction.reading == "Germany"


def test_nor_shows_no_paragraph_and_a_chain_without_answer_is_the_answer():
    requests, prediction = play(nor_qa(QUESTION, read=read_by_chain), ["I cannot tell."])
    assert requests == [Generate(f"{ASKED} |  | ", LINE, 200)]
    assert prediction.answer == "I cannot tell."
    assert prediction.paragraphs == ()


# Questions with a main passage (App. B)

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
    program = within_pages(IIRC, partial(ircot, prompts=PROMPTS, k=2))
    requests, found = play(program, NAMED + replies)
    assert requests == [
        *NAMING,
        Retrieve(ASKED, 2, PAGES),
        Generate(f"{ASKED} | ride lost park | ", SENTENCE, 200),
        Retrieve(THOUGHTS[0], 2, PAGES),
        Generate(f"{ASKED} | ride lost park mack | {THOUGHTS[0]}", SENTENCE, 200),
        Retrieve(THOUGHTS[1], 2, PAGES),
        Generate(f"{ASKED} | ride lost park mack wald | {' '.join(THOUGHTS[:2])}", SENTENCE, 200),
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
        Retrieve(ASKED, 1, PAGES),
        Generate(f"{ASKED} | ride lost | ", SENTENCE, 300),
        Retrieve(THOUGHTS[0], 1, PAGES),
        Generate(f"{ASKED} | ride lost mack | {THOUGHTS[0]}", SENTENCE, 300),
        Generate(f"{ASKED} | ride lost mack | ", LINE, 200),
    ]
    assert (prediction.answer, prediction.paragraphs) == ("Germany", (RIDE, LOST, MACK))
    assert prediction.thoughts == (THOUGHTS[0], THOUGHTS[2])


def test_oner_with_a_main_passage():
    requests, prediction = play(within_pages(IIRC, partial(oner, k=5)), [*NAMED, (LOST, PARK)])
    assert requests == [*NAMING, Retrieve(ASKED, 5, PAGES)]
    assert prediction.paragraphs == (RIDE, LOST, PARK)
    system = partial(oner_qa, read=read_by_chain, k=5)
    replies = [*NAMED, (LOST, PARK), "So the answer is: Germany."]
    requests, prediction = play(within_pages(IIRC, system), replies)
    assert requests == [
        *NAMING,
        Retrieve(ASKED, 5, PAGES),
        Generate(f"{ASKED} | ride lost park | ", LINE, 200),
    ]
    assert (prediction.answer, prediction.paragraphs) == ("Germany", (RIDE, LOST, PARK))


def test_the_main_passage_counts_towards_the_15_paragraphs():
    many = [Paragraph(str(i), chr(65 + i) * 9, chr(65 + i) * 40) for i in range(20)]
    found = play(within_pages(IIRC, partial(oner, k=15)), ["", tuple(many[:15])])[1].paragraphs
    assert found == (RIDE, *many[:14])
    assert play(oner(QUESTION, k=20), [tuple(many)])[1].paragraphs == tuple(many)
    replies = ["", tuple(many[:8]), "One.", tuple(many[8:16]), "Two.", tuple(many[16:])]
    replies += ["So the answer is: 3."]
    system = partial(ircot, prompts=PROMPTS, k=8)
    assert play(within_pages(IIRC, system), replies)[1].paragraphs == (RIDE, *many[:14])


def test_nor_shows_the_main_passage():
    program = within_pages(IIRC, partial(nor_qa, read=read_directly))
    requests, prediction = play(program, ["Germany"])
    assert requests == [Generate(f"{ASKED} | ride | ", LINE, 200)]
    assert (prediction.answer, prediction.paragraphs) == ("Germany", (RIDE,))


def test_a_program_that_returns_at_once_is_played_too():
    def at_once(question):
        return Prediction("Germany")
        yield

    assert play(within_pages(IIRC, at_once), [])[1] == Prediction("Germany", (RIDE,))


# Records


def test_the_grids_are_the_papers():
    """IRCoT §4.1; the readers' M is tied to the retriever's."""
    grids = {system.name: dict(system.grid) for system in choose_systems()}
    once, ircot_grid = (5, 7, 9, 11, 13, 15), {"k": (2, 4, 6, 8), "m": (1, 2, 3)}
    ircots = dict.fromkeys(("IRCoT", "IRCoT QA", "IRCoT QA w/o reader"), ircot_grid)
    oners = {"OneR": {"k": once}, "OneR QA": {"k": once, "m": (1, 2, 3)}}
    assert grids == {"NoR QA": {}} | oners | ircots


CONSTANTS = {  # the papers', their released programs', and ours
    "IRCoT": dict(max_steps=8, max_paragraphs=15, max_tokens=200, sentence=SENTENCE)
    | {"released": False},
    "Direct Prompting": dict(max_tokens=200),
    "Auto-CoT": dict(examples=4, seed=0, max_tokens=256),
    "CoT": dict(max_tokens=256),
    "CoT-SC": dict(n=40, temperature=0.7, max_tokens=256),
    "Recite-and-answer": dict(n=20, temperature=0.7, recite_tokens=128, max_tokens=16),
    "Self-Ask w/o IR": dict(begun="", max_tokens=256),
    "Least-to-Most": dict(max_questions=8, max_tokens=256),
    "Plan-and-Solve": dict(max_tokens=256, answer_tokens=32),
    "Direct Retrieval": dict(k=5, max_tokens=200),
    "ToolFormer": dict(max_calls=1, k=1, max_tokens=200),
    "Self-Ask": dict(begun="", k=1, extract=False, max_follow_ups=8, max_tokens=256),
    "Plan-and-Solve w/ IR": dict(k=1, max_searched=8, max_tokens=256, answer_tokens=32),
    "ReAct": dict(max_actions=7, tokens=100, by_title=True),
    "ReAct -> CoT-SC": dict(n=21, temperature=0.7, max_actions=7, tokens=100)
    | {"by_title": True, "max_tokens": 256},
    "Verify-and-Edit": dict(n=5, temperature=0.7, k=5, shown=3, max_tokens=200),
    "Tree-of-Thought w/ IR": dict(n=5, votes=5, b=1, temperature=0.7, depth=4, k=3)
    | {"max_tokens": 200},
    "DSP": dict(annotated=3, hops=2, queries=10, depth=15, k=5, n=20, temperature=0.7)
    | {"max_tokens": 200},
    "InterAug": dict(k=50, n=1, temperature=0.7, length=6, tokens=50),
    "DecomP": dict(k=4, max_calls=8, max_tokens=200),
    "SearChain w/o IR": dict(long_form=False, max_tokens=512),
    "SearChain": dict(max_rounds=5, confidence=1.5, overlap=0.35, same=0.5, long_form=False)
    | {"verify": True, "complete": True, "max_tokens": 512, "released": False},
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_the_constants_of_the_papers(name):
    defaults = all_systems()[name].defaults
    constants = {
        key: value for key, value in defaults.items() if isinstance(value, int | float | str)
    }
    assert constants == CONSTANTS[name]


def test_the_constants_of_every_system_are_tested():
    assert {one.name for one in choose_systems(study=SEARCHAIN) if one.inner is None} < set(
        CONSTANTS
    )


def test_every_record_is_whole_and_known_to_the_papers():
    systems, reported = all_systems(), set(pandas.read_csv(REPORTED)["system"])
    names = ["NoR QA", "OneR", "OneR QA", "IRCoT", "IRCoT QA w/o reader", "IRCoT QA"]
    assert [system.name for system in choose_systems()] == names
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
    assert (mine.module, mine.shows_sets, mine.reads) == ("mine", True, True)
    assert not mine.takes("prompts")
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
        best = values[study[name].reported[0]]
        leads = [best - values[study[other].reported[0]] for other in worse]
        assert all(lead.mean() > 0 for lead in leads)
        assert name != "SearChain" or all((lead > 0).all() for lead in leads)
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
    prompts, multihop = {}, find_dataset("hotpotqa")
    for stage in system.stages:
        template = read_template(system.module, stage)
        shown = find_examples("prompts/own", system.module, stage, multihop, template)
        prompts[stage] = Prompt(shown, len, template, 10**9)
    others = {"others": (QUESTION,)} if system.takes("others") else {}
    program, answer, texts = system.program(QUESTION, prompts=prompts, **others), None, 0
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
                texts, answer = texts + n, drawn(*written)
    raise AssertionError(f"{system.name} does not end")


@pytest.mark.parametrize("name", [system.name for system in choose_systems(study=SEARCHAIN)])
def test_a_system_has_no_more_texts_written_than_its_record_says(name):
    system = all_systems()[name]
    counted = {kind: count_texts(system, reply) for kind, reply in REPLIES.items()}
    most = system.generations or len(system.stages)
    assert max(counted.values()) == most, counted
