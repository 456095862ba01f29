"""Gold, Iter-RetGen, Search-R1, Search-o1 and ReSP, with replies by hand."""

from dataclasses import replace
from functools import partial

import pytest
from replying import ASKED, LOST, MACK, PARK, QUESTION, send, stages, write, writers

from ircotlib.data import GoldStep
from ircotlib.program import LINE, Generate, Retrieve
from ircotlib.systems.gold import gold_qa
from ircotlib.systems.ircot import read_paragraphs
from ircotlib.systems.iter_retgen import iter_retgen
from ircotlib.systems.resp import resp
from ircotlib.systems.search_o1 import AGAIN, LIMIT, search_o1, show_steps
from ircotlib.systems.search_r1 import INVALID, search_r1

READ = partial(read_paragraphs, prompt=write, chain=True)
ACT, REASON = stages("act"), stages("reason", "read")


def test_gold_reads_the_gold_paragraphs_alone():
    steps = (GoldStep("", "", ("lost",), LOST.title), GoldStep("", "", (), MACK.title))
    asked = replace(QUESTION, steps=(*steps, *steps), gold=("lost", "mack"))
    replies = [(LOST, PARK), (MACK,), "So the answer is: Germany."]
    requests, result = send(gold_qa(asked, read=READ), replies)
    assert requests == [
        Retrieve("Lost Gravity", 20, ("Lost Gravity",)),
        Retrieve("Mack Rides", 20, ("Mack Rides",)),
        Generate(f"{ASKED} | lost mack | ", LINE, 200),
    ]
    assert (result.answer, result.paragraphs) == ("Germany", (LOST, MACK))
    assert result.fault == ""
    _, result = send(gold_qa(QUESTION, read=READ), ["Rome"])
    assert result.fault == "1 gold paragraphs without a title"


def test_iter_retgen_asks_with_its_answer_and_reads_this_rounds_paragraphs():
    first, second = (
        "It was made by Mack Rides. So the answer is: Rome.",
        "answer is: B.",
    )
    replies = [(LOST, PARK), first, (MACK,), f"So the {second}"]
    requests, result = send(iter_retgen(QUESTION, read=READ, k=5), replies)
    assert requests == [
        Retrieve(ASKED, 5),
        Generate(f"{ASKED} | lost park | ", LINE, 200),
        Retrieve(f"{first} {ASKED}", 5),
        Generate(f"{ASKED} | mack | ", LINE, 200),
    ]
    assert (result.answer, result.paragraphs) == ("B", (MACK,))


def test_search_r1_puts_what_it_finds_below_its_search():
    replies = [
        "<think>Who made it?</think>\n<search> maker of Lost Gravity",
        (LOST, MACK),
        "I know it.",
        "<answer> Germany ",
    ]
    requests, result = send(search_r1(QUESTION, prompts=ACT), replies)
    text = (
        f"{replies[0]}</search>\n\n"
        f"<information>Doc 1(Title: Lost Gravity) {LOST.text}\n"
        f"Doc 2(Title: Mack Rides) {MACK.text}</information>\n\n"
    )
    above, stop = f"act|{ASKED}||", ("</search>", "</answer>")
    assert requests == [
        Generate(above, stop, 500),
        Retrieve("maker of Lost Gravity", 3),
        Generate(f"{above}{text}".rstrip(), stop, 500),
        Generate(f"{above}{text}I know it.\n{INVALID}", stop, 500),
    ]
    assert (result.answer, result.paragraphs) == ("Germany", (LOST, MACK))
    assert result.fault == ""


def test_search_r1_searches_four_times_and_may_then_only_answer():
    replies = ["<search>a", (LOST,)] * 4
    requests, result = send(search_r1(QUESTION, prompts=ACT), [*replies, "<search>a"])
    assert len(requests) == 9 and result.answer == ""
    assert result.fault == "no answer after 4 searches"
    _, result = send(search_r1(QUESTION, prompts=ACT), [*replies, "<answer>Oslo"])
    assert result.answer == "Oslo"


QUERY = "<|begin_search_query|>"


def test_search_o1_reads_what_it_finds_in_a_second_call():
    replies = [
        f"First, the maker.\n{QUERY} maker",
        (LOST,),
        "I write **Final Information**.\n**Final Information**\nMack Rides\nmade it.",
        r"So it is \boxed{Rome}, no, \boxed{\text{Germany}}.",
    ]
    requests, result = send(search_o1(QUESTION, prompts=REASON), replies)
    above, stop = f"reason|{ASKED}||", ("<|end_search_query|>",)
    steps = f"Step 1: First, the maker.\n\nStep 2: {QUERY} maker<|end_search_query|>"
    result_text = (
        f"First, the maker.\n{QUERY} maker<|end_search_query|>\n\n"
        "<|begin_search_result|>Mack Rides made it.<|end_search_result|>"
    )
    assert requests == [
        Generate(above, stop, 8192),
        Retrieve("maker", 10),
        Generate(f"read|maker|lost||{steps}", None, 8192),
        Generate(f"{above}{result_text}", stop, 8192),
    ]
    assert (result.answer, result.fault) == ("Germany", "")


def test_search_o1_searches_no_query_twice_and_at_most_ten():
    replies = [f"{QUERY}a", (LOST,), "nothing", f"{QUERY}a", "I stop."]
    requests, result = send(search_o1(QUESTION, prompts=REASON), replies)
    assert (
        AGAIN in requests[-1].prompt and "No helpful information" in requests[3].prompt
    )
    assert result.fault == "no boxed answer"
    searches = [r for n in range(10) for r in (f"{QUERY}{n}", (), "no")]
    for query in ("10", "9"):  # also if it repeats one
        replies = [*searches, f"{QUERY}{query}", "It is late."]
        requests, _ = send(search_o1(QUESTION, prompts=REASON), replies)
        assert LIMIT in requests[-1].prompt and AGAIN not in requests[-1].prompt


def test_steps_are_shortened():
    assert show_steps("a\n\nb\nc\nd").count("Step") == 4
    assert show_steps("a\nb\nc\nd\ne").count("Step") == 4
    lines = ["a", "b", "c", f"{QUERY}d", "e", "f", "g", "h", "i"]
    numbers = [1, "...", 4, "...", 7, 8, 9]
    shown = show_steps("\n".join(lines)).split("\n\n")
    assert [line.partition(":")[0] for line in shown] == [
        n if n == "..." else f"Step {n}" for n in numbers
    ]


RESP = ("support", "solve", "judge", "plan", "answer")


def test_resp_answers_from_its_notes():
    replies = [(LOST,), "Mack made it.", "No.", "Where is Mack?", (MACK,)]
    replies += ["Mack is German.", "in Germany.", "Yes.", "Germany"]
    requests, result = send(resp(QUESTION, prompts=stages(*RESP)), replies)
    first = "Mack made it."
    second = f"{first}\nMack is German.\nWhere is Mack? in Germany."
    assert requests == [
        Retrieve(ASKED, 3),
        Generate(f"support|{ASKED}|lost|", LINE, 200),
        Generate(f"judge|{ASKED}|||{first}", LINE, 5),
        Generate(f"plan|{ASKED}|||{first}|{ASKED}", LINE, 200),
        Retrieve("Where is Mack?", 3),
        Generate(f"support|{ASKED}|mack|", LINE, 200),
        Generate(f"solve|Where is Mack?|||{first}\nMack is German.", LINE, 200),
        Generate(f"judge|{ASKED}|||{second}", LINE, 5),
        Generate(f"answer|{ASKED}|||{second}", LINE, 200),
    ]
    assert (result.answer, result.paragraphs) == ("Germany", (LOST, MACK))


def test_resp_stops_at_a_question_that_was_asked_and_after_three_rounds():
    replies = [(LOST,), "a", "no", ASKED, "Rome"]
    requests, result = send(resp(QUESTION, prompts=stages(*RESP)), replies)
    assert requests[-1].prompt.startswith("answer|") and result.answer == "Rome"
    replies = [(), "a", "no", "1?", (), "a", "b", "no", "2?", (), "a", "b", "c"]
    requests, _ = send(resp(QUESTION, prompts=stages(*RESP)), replies)
    assert [type(each) for each in requests].count(Retrieve) == 3


SHOWN = {  # of a stage's prompt: what it shows besides the question
    "resp/support": "paragraphs",
    "resp/solve": "notes",
    "resp/judge": "notes",
    "resp/plan": "notes asked",
    "resp/answer": "notes",
    "search_r1/act": "",
    "search_o1/reason": "",
    "search_o1/read": "paragraphs steps",
}


@pytest.mark.parametrize(("prompt", "shown"), SHOWN.items())
def test_prompts_show_what_they_are_given(prompt, shown):
    system, stage = prompt.split("/")
    fields = {"notes": "<notes>", "asked": "<asked>", "steps": "<steps>"}
    text = writers(system, stage)[stage](QUESTION, (LOST,), **fields).text
    parts = fields | {"paragraphs": LOST.text}
    assert {name for name, part in parts.items() if part in text} == {*shown.split()}
    assert ASKED in text
