"""Self-Ask, Least-to-Most and Plan-and-Solve, with replies by hand."""

from functools import partial

import pytest
from replying import CAPITAL as QUESTION
from replying import CAPITAL_ASKED as ASKED
from replying import GRIEG, OSLO, send, stages

from ircotlib.program import LINE, Generate, Retrieve
from ircotlib.systems.least_to_most import least_to_most
from ircotlib.systems.plan_and_solve import plan_and_solve, plan_and_solve_with_ir
from ircotlib.systems.self_ask import read_asking, self_ask, self_ask_with_search

ASKING = ["Yes.", "Follow up: Where was Grieg born?", "Intermediate answer: Norway."]
ASKING += ["Follow up: What is the capital of Norway?", "Intermediate answer: Oslo."]
ASKING += ["So the final answer is: Oslo."]
NEXT_QUESTION = "\nQuestion:"
FINAL = "\nSo the final answer is:"
ASK = f"ask|{ASKED}||"


def test_self_ask_writes_all_at_once():
    program = self_ask(QUESTION, prompts=stages("ask"))
    requests, result = send(program, ["\n".join(ASKING)])
    assert requests == [Generate(ASK, (NEXT_QUESTION,), 256)]
    assert (result.answer, result.fault, result.thoughts) == ("Oslo", "", tuple(ASKING))


FINALS = {
    f"No.{FINAL} Alien: Covenant.": "Alien: Covenant",
    f"{FINAL} Oslo.\nA city.": "Oslo",
}
OPEN = {"Yes.\nFollow up: Where was Grieg": "Where was Grieg", "Oslo.": "Oslo"}
OPEN |= {f"No.{FINAL}": "", "": ""}


@pytest.mark.parametrize(("text", "answer"), [*FINALS.items(), *OPEN.items()])
def test_self_asks_text_is_read(text, answer):
    result = read_asking(text)
    assert result.answer == answer
    assert result.fault == ("no final answer" if text in OPEN else "")


@pytest.mark.parametrize("read", [[(GRIEG,), "Unknown."], [()]])
def test_self_ask_with_search_is_capped_and_then_asked_for_the_final_answer(read):
    prompts = stages("ask", "read")
    system = self_ask_with_search(QUESTION, prompts=prompts, max_follow_ups=2)
    replies = ["Yes.\nFollow up: Where?", *read, "Norway.", "Follow up: Which?", *read]
    replies += ["Oslo.", "Oslo."]
    requests, result = send(system, replies)
    queries = [request.query for request in requests if isinstance(request, Retrieve)]
    assert queries == ["Where?", "Which?"]
    text = " Yes.\nFollow up: Where?\nIntermediate answer: Norway."
    text += "\nFollow up: Which?\nIntermediate answer: Oslo.\nSo the final answer is:"
    assert requests[-1] == Generate(ASK + text, LINE, 256)
    assert (result.answer, result.fault) == ("Oslo", "")


def test_least_to_most_without_a_list_asks_the_question_alone():
    system = partial(
        least_to_most, prompts=stages("decompose", "solve"), max_questions=1
    )
    requests, result = send(system(QUESTION), ["I do not know.", ""])
    assert requests[1:] == [Generate(f"solve|{ASKED}||", LINE, 256)]
    assert (result.answer, result.fault) == ("", "no answer")


PLAN = "Plan:\n1. Find the country of Grieg.\n2. Find its capital."
SO = " Therefore, the answer is"


def test_a_solution_without_an_answer_is_asked_for_it():
    system = partial(plan_and_solve, prompts=stages("solve"))
    requests, result = send(system(QUESTION), [PLAN, "Oslo."])
    assert requests[1:] == [Generate(f"solve|{ASKED}||{PLAN}{SO}", LINE, 32)]
    assert (result.answer, result.reading) == ("Oslo", f"{PLAN}{SO} Oslo.")
    _, result = send(system(QUESTION), ["", ""])
    assert result.fault == "no answer in the chain"


def test_plan_and_solve_with_ir_without_a_plan_retrieves_with_the_question():
    prompts = stages("solve", "read")
    system = partial(plan_and_solve_with_ir, prompts=prompts, k=2, max_searched=1)
    replies = ["Hm.", (OSLO, GRIEG), "It is Oslo.", "Oslo."]
    requests, result = send(system(QUESTION), replies)
    assert requests[1] == Retrieve(ASKED, 2)
    text = f"Hm.\nSolution:\nIt is Oslo.{SO}"
    assert requests[3] == Generate(f"read|{ASKED}|oslo grieg|{text}", LINE, 32)
    assert (result.answer, result.paragraphs) == ("Oslo", (OSLO, GRIEG))
    assert result.fault == "no plan"
