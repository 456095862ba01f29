"""IRCoT as others run it: what each row asks, letter by letter."""

from functools import partial

import pytest
from replying import ASKED, LOST, MACK, PARK, QUESTION, THOUGHTS, WALD, send, write

from ircotlib.data import Paragraph
from ircotlib.program import LINE, SENTENCE, Generate, Retrieve
from ircotlib.systems import WILD, all_systems, choose_systems
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
MANY = [Paragraph(str(n), chr(65 + n) * 9, chr(65 + n) * 40) for n in range(24)]


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


@pytest.mark.parametrize("rounds", [2, 5])
def test_flashrag(rounds):
    """All paragraphs, from the second prompt on worst first; the last thought searches;
    the answer is from the chain, or all of it.
    """
    turns = [tuple(MANY[:5]), "One.", tuple(MANY[5:10]), "Two.", tuple(MANY[10:15])]
    turns += ["Three.", tuple(MANY[15:20]), "Four.", tuple(MANY[19:24]), "Five.", ()]
    name = f"FlashRAG IRCoT ({rounds} rounds)"
    requests, result = row(name, turns[: 2 * rounds + 1])
    assert requests[:4] == [
        Retrieve(ASKED, 5),
        Generate(prompt("0 1 2 3 4"), SENTENCE),
        Retrieve("One.", 5),
        Generate(prompt("9 4 8 3 7 2 6 1 5 0", ["One."]), SENTENCE),
    ]
    assert requests[-1] == Retrieve({2: "Two.", 5: "Five."}[rounds], 5)
    assert result.answer == " ".join(
        ["One.", "Two.", "Three.", "Four.", "Five."][:rounds]
    )
    assert len(result.paragraphs) == (15 if rounds == 2 else 24)
    assert row(name, [(LOST,), "So the answer is: Bern."])[1].answer == "Bern"


def test_pyterrier_rag_as_it_is_meant():
    """10 best of all; whole replies; no limit (20); the answer is the last thought."""
    turns = [tuple(MANY[:10]), "It is old. It is red.", tuple(MANY[10:20])]
    requests, result = row("PyTerrier-RAG IRCoT", [*turns, "So the answer is: Bern."])
    assert requests[0] == Retrieve(ASKED, 10)
    assert requests[1].stop == LINE
    assert requests[2] == Retrieve("It is old. It is red.", 10)
    shown = "0 10 1 11 2 12 3 13 4 14"
    assert requests[3] == Generate(prompt(shown, ["It is old. It is red."]), LINE)
    assert result.answer == "So the answer is: Bern."
    requests, _ = row("PyTerrier-RAG IRCoT", [(LOST,), "No."] * 20)
    assert len(requests) == 40


def test_ultrarag_writes_twice_searches_and_writes_once_more():
    requests, result = row("UltraRAG IRCoT", [*TURNS, "It is far."])
    assert [type(each) for each in requests] == [Retrieve, Generate] * 3
    assert requests[5] == Generate(
        prompt("lost park mack wald", THOUGHTS[:2]), SENTENCE
    )
    assert result.answer == " ".join([*THOUGHTS[:2], "It is far."])


@pytest.mark.parametrize(
    ("name", "k"), [("HippoRAG 2 IRCoT", 5), ("GFM-RAG IRCoT", 10)]
)
def test_the_first_k_by_score_are_shown_and_read(name, k):
    """Two thoughts, each of which searches; whole replies; then the reader."""
    turns = [tuple(MANY[:k]), "It is old. Or not.", tuple(MANY[k : 2 * k])]
    turns += ["Yes.", (MANY[2 * k], *MANY[:2]), READING]
    requests, result = row(name, turns)
    both = [str(n) for pair in zip(range(k), range(k, 2 * k)) for n in pair]
    shown = " ".join(both[:k])
    read = " ".join(["0", str(k), str(2 * k), *both[2:]][:k])
    assert requests == [
        Retrieve(ASKED, k),
        Generate(prompt(" ".join(map(str, range(k)))), LINE),
        Retrieve("It is old. Or not.", k),
        Generate(prompt(shown, ["It is old. Or not."]), LINE),
        Retrieve("Yes.", k),
        Generate(prompt(read), LINE),
    ]
    assert (result.answer, len(result.paragraphs)) == ("Germany", k)


def test_autorag_research_forgets_the_oldest():
    turns = [
        reply for n in range(5) for reply in (tuple(MANY[4 * n : 4 * n + 4]), "A.")
    ]
    turns += [(MANY[0],), "B.", (), "B.", (), "C.", (MANY[1],), READING]
    requests, result = row("AutoRAG-Research IRCoT", turns)
    # eight thoughts, and the last one searches, too
    assert [type(each) for each in requests] == [*[Retrieve, Generate] * 9]
    assert requests[0].k == 4 and requests[-2] == Retrieve("C.", 4)
    # of 20, the last 15; the two that it forgot and found again are the newest
    assert result.paragraphs == (*MANY[7:20], MANY[0], MANY[1])
    assert result.answer == "Germany"


def test_pike_rag_forces_an_answer():
    requests, result = row("PIKE-RAG IRCoT", [*[(LOST,), "No."] * 5, "Bern"])
    forced = prompt("lost", [*["No."] * 5, "So the answer is:"])
    assert requests[-1] == Generate(forced, LINE) and requests[0].k == 4
    assert result.answer == "Bern"
    # not if the chain has one
    assert row("PIKE-RAG IRCoT", [(LOST,), THOUGHTS[2]])[1].answer == "Germany"


def test_s3_asks_with_whole_replies_in_four_rounds_and_reads_all_it_found():
    turns = [
        reply
        for n in range(4)
        for reply in (tuple(MANY[3 * n : 3 * n + 3]), "It is old. Or not.")
    ]
    requests, result = row("s3 IRCoT", [*turns, tuple(MANY[12:15]), READING])
    assert requests[1].stop == LINE
    assert requests[2] == requests[8] == Retrieve("It is old. Or not.", 3)
    everything = " ".join(map(str, range(15)))
    assert requests[9] == Generate(prompt(everything), LINE) and len(requests) == 10
    assert result.answer == "Germany"


def test_fs_rag_shows_the_last_retrieval_alone():
    requests, result = row("FS-RAG", [*TURNS, THOUGHTS[2]])
    assert [each.prompt for each in requests[1::2]] == [
        prompt("lost park"),
        prompt("mack lost", THOUGHTS[:1]),
        prompt("wald mack", THOUGHTS[:2]),
    ]
    assert (requests[0].k, result.answer) == (3, "Germany")


def test_memento_has_no_cap_and_four_rounds():
    turns = [
        reply for n in range(4) for reply in (tuple(MANY[6 * n : 6 * n + 6]), "A.")
    ]
    requests, result = row("Memento IRCoT", turns)
    assert requests[0].k == 8 and len(requests) == 8
    assert len(result.paragraphs) == 24


def test_they_run_only_where_they_are_named():
    assert [system.name for system in choose_systems(study=WILD)] == [*REWRITES]
    assert not {*REWRITES} & {system.name for system in choose_systems()}
    assert all_systems()["FS-RAG"].templates == "ircot"
