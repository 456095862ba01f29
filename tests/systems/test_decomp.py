"""DecomP, played by hand."""

import json
from dataclasses import replace

import pytest
from replying import own_demonstrations, play, writers

from ircotlib.data import Paragraph, Question
from ircotlib.program import LINE, Extract, Extracted, Generate, Retrieve
from ircotlib.systems.decomp import decomp, read_answers, read_call

QUESTION = Question("q", "What is Grieg's capital?", ("Oslo",), (), "test")
PROMPTS = writers("decomp", "decompose", "singlehop", "multihop")
GRIEG = Paragraph("g", "Grieg", "Grieg was born in Norway.")
OSLO = Paragraph("o", "Oslo", "Oslo is Norway's capital.")
LUND = Paragraph("l", "Lund", "Lund is in Sweden.")
CALLS = ["(select) [retrieve_odqa] Where was Grieg born?"]
CALLS += ["(select) [retrieve_odqa] What is Norway's capital?"]
CALLS += ['(select) [multihop_titleqa] Titles: ["Oslo", "Grieg"]. Question: Grieg\'s capital?']
LINES = [f"QS: {CALLS[0]}", 'A: {"titles": ["Grieg", "Lund"], "answer": ["Norway"]}']
LINES += [f"QS: {CALLS[1]}", 'A: {"titles": ["Oslo"], "answer": ["Oslo city"]}']
LINES += [f"QS: {CALLS[2]}", 'A: ["Oslo"]', "QS: [EOQ]"]


def decomposing(lines):
    text = "\n".join(["QC: What is Grieg's capital?", *LINES[:lines], "QS:"])
    return Generate(text, LINE, 200)


def reading(asked, *paragraphs):
    shown = "".join(f"Wikipedia Title: {p.title}\n{p.text}\n\n" for p in paragraphs)
    return Generate(f"{shown}Q: {asked}\nA:", LINE, 200)


def test_sub_questions_are_answered_and_then_the_question():
    replies = [CALLS[0], (GRIEG, LUND), '["Norway"]']
    replies += [CALLS[1], (OSLO,), '["Oslo city"]', CALLS[2], "It is. So the answer is: Oslo."]
    requests, result = play(decomp(QUESTION, prompts=PROMPTS), [*replies, "[EOQ]"])
    born, capital = "Where was Grieg born?", "What is Norway's capital?"
    expected = [decomposing(0), Retrieve(born, 4), reading(born, GRIEG, LUND)]
    expected += [decomposing(2), Retrieve(capital, 4), reading(capital, OSLO)]
    expected += [decomposing(4), reading("Grieg's capital?", GRIEG, OSLO), decomposing(6)]
    assert requests == expected
    assert (result.answer, result.fault, result.thoughts) == ("Oslo", "", tuple(LINES))
    assert result.paragraphs == (GRIEG, LUND, OSLO)
    assert result.reading == "It is. So the answer is: Oslo."


def test_a_list_of_answers_is_shown_to_the_next_sub_question():
    replies = [CALLS[0], (GRIEG,), '["Bergen", "Norway"]', "[EOQ]"]
    requests, result = play(decomp(QUESTION, prompts=PROMPTS), replies)
    shown = '\nA: {"titles": ["Grieg"], "answer": ["Bergen", "Norway"]}\nQS:'
    assert requests[-1].prompt.endswith(shown)
    assert (result.answer, result.hops[0].answer) == ("Bergen Norway", "Bergen Norway")


@pytest.mark.parametrize(
    ("reply", "answers"),
    [
        ('["Norway"]', ["Norway"]),
        ('["Bergen", "Norway"]', ["Bergen", "Norway"]),
        ("[1843]", ["1843"]),
        ("[]", []),
        ('["Nor', ['["Nor']),  # cut, or no list
        ("[" * 100_000, ["[" * 100_000]),
        ("He was born in Norway. So the answer is: Norway.", ["Norway"]),
        ("Norway", ["Norway"]),
    ],
)
def test_answers_are_read_from_a_list_a_chain_or_the_whole_reply(reply, answers):
    assert read_answers(reply) == answers


def test_examples_of_one_fact_are_answered_directly_and_of_two_by_a_chain():
    for block in own_demonstrations("decomp", "singlehop", "multihop"):
        answers = json.loads(block.rpartition("\nA: ")[2])
        assert answers == read_answers(json.dumps(answers)) and "answer is" not in block
    for block in own_demonstrations("decomp", "multihop", "multihop"):
        assert " So the answer is: " in block


def test_a_second_reader_answers_what_a_single_hop_asks():
    born = "Where was Grieg born?"
    found = [Extracted("Norway.", 2.0), Extracted("Lund", 1.0)]
    replies = [CALLS[0], (GRIEG, LUND), *found, CALLS[2], "So the answer is: Oslo.", "[EOQ]"]
    requests, result = play(decomp(QUESTION, prompts=PROMPTS, extract=True), replies)
    read = [Extract(born, GRIEG), Extract(born, LUND)]
    assert requests[:5] == [decomposing(0), Retrieve(born, 4), *read, decomposing(2)]
    assert requests[5] == reading("Grieg's capital?", GRIEG)  # of several paragraphs
    assert (result.answer, result.hops[0].answer) == ("Oslo", "Norway")


def test_the_prompt_of_a_sub_question_ends_with_it_below_fifteen_direct_answers():
    examples = own_demonstrations("decomp", "singlehop", "multihop")
    prompts = PROMPTS | {"singlehop": replace(PROMPTS["singlehop"], demonstrations=examples)}
    requests, _ = play(decomp(QUESTION, prompts=prompts), [CALLS[0], (GRIEG,), '["Norway"]', ""])
    example = reading("Where was Grieg born?", GRIEG).prompt
    assert requests[2] == Generate("\n\n\n".join([*examples, example]), LINE, 200)
    assert requests[2].prompt.count("\nA: [") == 15


def test_a_line_that_is_no_call_ends_it():
    replies = [CALLS[0], (GRIEG,), "Norway", "(project) [x] What?"]
    requests, result = play(decomp(QUESTION, prompts=PROMPTS), replies)
    assert len(requests) == 4 and (result.answer, result.paragraphs) == ("", (GRIEG,))
    assert result.fault == "no call: '(project) [x] What?'"
    assert result.reading == "(project) [x] What?"


def test_an_end_at_once_and_eight_sub_questions_at_most():
    _, result = play(decomp(QUESTION, prompts=PROMPTS), ["[EOQ]"])
    assert (result.answer, result.fault) == ("", "no answer before [EOQ]")
    replies = [CALLS[0], (GRIEG,), "Norway"] * 8
    requests, result = play(decomp(QUESTION, prompts=PROMPTS, k=6), replies)
    assert len(requests) == 24 and requests[1].k == 6
    assert (result.answer, result.fault) == ("Norway", "no [EOQ] in 8 sub-questions")


def test_lines_that_are_no_calls():
    lines = ["", "Who?", "(select) [other] Who?", "(select) [multihop_titleqa] Who?"]
    lines += ['(select) [multihop_titleqa] Titles: ["a", b]. Question: Who?']
    assert [read_call(line) for line in lines] == [("", "", [])] * 5


def test_every_call_of_an_example_is_read_and_names_pages_that_were_found():
    """As in the original, examples have two to four facts, and lists of titles and answers."""
    facts, lengths = [], set()
    for block in own_demonstrations("decomp", "decompose", "multihop"):
        asked, *lines, end = block.splitlines()
        calls = [read_call(line.removeprefix("QS: ")) for line in lines[::2]]
        replies = [json.loads(line.removeprefix("A: ")) for line in lines[1::2]]
        assert all(module for module, _, _ in calls) and end == "QS: [EOQ]"
        found = dict.fromkeys(title for reply in replies[:-1] for title in reply["titles"])
        assert calls[-1] == ("multihop_titleqa", asked.removeprefix("QC: "), list(found))
        assert all(len(reply["titles"]) > 1 for reply in replies[:-1])
        lengths |= {len(reply["answer"]) for reply in replies[:-1]}
        facts.append(len(calls) - 1)
    assert sorted(set(facts)) == [2, 3, 4] and sum(n > 2 for n in facts) == 4
    assert len(facts) == 15 and lengths == {1, 2}
