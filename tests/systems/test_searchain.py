"""SearChain, run with replies by hand; its requests are compared letter by letter."""

from dataclasses import replace

import pytest
from replying import send, writers

from ircotlib import files
from ircotlib.data import Node, Paragraph, Question
from ircotlib.metrics import rouge_l
from ircotlib.program import Duplicate, Extract, Extracted, Generate, Message, Retrieve
from ircotlib.prompting.demonstrations import read_examples
from ircotlib.prompting.prompt import render_paragraph
from ircotlib.systems import all_systems
from ircotlib.systems.searchain import END, searchain

ASKED = (
    "Where do greyhound buses in the birthplace of Spirit if...'s performer leave from?"
)
QUESTION = Question("q", ASKED, ("Toronto Coach Terminal",), (), "test")
SPIRIT = Paragraph(
    "spirit", "Spirit If...", "Spirit If... is the debut solo album by Kevin Drew."
)
DREW = Paragraph(
    "drew", "Kevin Drew", "Kevin Drew (born in 1976 in Toronto) is a musician."
)
BUSES = Paragraph(
    "buses", "Toronto Coach Terminal", "The terminal is the station for buses."
)
PERFORMER = "Who is the performer of Spirit if...?"
STAGES = all_systems()["SearChain"].stages
PROMPTS = writers("searchain", *STAGES, "without_ir")
FIRST = PROMPTS["chain"](QUESTION).text


def write(*pairs, final="", unsolved=""):
    """A chain as the model writes it."""
    lines = [
        f"[Query {n}]: {q}\n[Answer {n}]: {a}"
        for n, (q, a) in enumerate(pairs, start=1)
    ]
    lines += [f"[Unsolved Query]: {unsolved}"] if unsolved else []
    return "\n".join(lines + ([f"[Final Content]: {final}"] if final else []))


def born(name):
    return f"What is the place of birth of {name}?"


def leave(place):
    return f"Where do greyhound buses leave from in {place}?"


def told(can, query, answer, passage):
    return (
        f'According to the Reference, the answer for "{query}" should be "{answer}", '
        f"you can {can} your answer and continue constructing the reasoning chain for "
        f'[Question]: "{QUESTION.text}".\nReference:\n'
        f"Wikipedia Title: {passage.title}\n{passage.text}"
    )


COTT, KEVIN = born("Casey Cott"), born("Kevin Drew")
CHAINS = [
    write((PERFORMER, "Casey Cott"), (COTT, "Cuyahoga"), unsolved=leave("Cuyahoga")),
    write((PERFORMER, "Kevin Drew"), (KEVIN, "Vancouver"), unsolved=leave("Vancouver")),
    write((KEVIN, "in Toronto"), unsolved=leave("Toronto")),
    write(
        (leave("Toronto"), "Toronto Coach Terminal"),
        final="So the final answer is a terminal.",
    ),
]
FEEDBACK = [told("change", PERFORMER, "Kevin Drew", SPIRIT)]
FEEDBACK += [told("change", KEVIN, "Toronto", DREW)]
FEEDBACK += [told("give", leave("Toronto"), "Toronto Coach Terminal", BUSES)]
TRACING = (
    f'You can try to generate the final answer for [Question]: "{QUESTION.text}" by '
    "referring to the [Query]-[Answer] pairs, starting with [Final Content]. Mark "
    f"what comes from a pair with its number, as [1].\n[Query 1]: {PERFORMER}\n[Answer "
    f"1]: Kevin Drew\n[Query 2]: {born('Kevin Drew')}\n[Answer 2]: Toronto\n[Query 3]: "
    f"{leave('Toronto')}\n[Answer 3]: Toronto Coach Terminal"
)
FINAL = "Kevin Drew performs it [1]. He is of Toronto [2]. "
FINAL += "So the final answer is Toronto [3]."
REPLIES = [CHAINS[0], (SPIRIT,), Extracted("Kevin Drew", 4.0)]
REPLIES += [CHAINS[1], 1.0, 0.0, (DREW,), Extracted("Toronto", 1.6)]
REPLIES += [CHAINS[2], 1.0, 0.0, (BUSES,), Extracted("Toronto Coach Terminal", -3.0)]
REPLIES += [CHAINS[3], 1.0, f"[Final Content]: {FINAL}"]


def shown(*said):
    return "\n".join([FIRST, "\n\n".join(said)]) if said else FIRST


def test_the_example_of_the_paper():
    """Figures 20 and 21: two nodes are verified, one completed, the path traced."""
    requests, result = send(searchain(QUESTION, prompts=PROMPTS), REPLIES)
    said = [text for turn in zip(CHAINS, [*FEEDBACK, TRACING]) for text in turn]
    place, bus = KEVIN, leave("Toronto")
    assert requests == [
        Generate(FIRST, END, 512),
        *(Retrieve(PERFORMER, 1), Extract(PERFORMER, SPIRIT)),
        Generate(shown(*said[:2]), END, 512),
        *(Duplicate(PERFORMER, (PERFORMER,)), Duplicate(place, (PERFORMER,))),
        *(Retrieve(place, 1), Extract(place, DREW)),
        Generate(shown(*said[:4]), END, 512),
        *(Duplicate(place, (PERFORMER, place)), Duplicate(bus, (PERFORMER, place))),
        *(Retrieve(bus, 1), Extract(bus, BUSES)),
        Generate(shown(*said[:6]), END, 512),
        Duplicate(bus, (PERFORMER, place, bus)),
        Generate(shown(*said), END, 512),
    ]
    assert (result.answer, result.reading, result.fault) == ("Toronto", FINAL, "")
    assert result.paragraphs == (SPIRIT, DREW, BUSES)
    assert result.thoughts == tuple(CHAINS)
    # the tree, and its correct path
    verified = ("spirit", "Kevin Drew", 4.0, "verification", 1)
    corrected = ("drew", "Toronto", 1.6, "verification", 2)
    completed = ("buses", "Toronto Coach Terminal", -3.0, "completion", 3)
    assert result.nodes == (
        Node(PERFORMER, "Casey Cott", 1, 1, False, None, *verified),
        Node(COTT, "Cuyahoga", 1, 2, after=0),
        Node(leave("Cuyahoga"), "", 1, 3, unsolved=True, after=1),
        Node(PERFORMER, "Kevin Drew", 2, 1, after=0),
        Node(KEVIN, "Vancouver", 2, 2, False, 3, *corrected),
        Node(leave("Vancouver"), "", 2, 3, unsolved=True, after=4),
        Node(KEVIN, "in Toronto", 3, 1, after=4),
        Node(leave("Toronto"), "", 3, 2, True, 6, *completed),
        Node(leave("Toronto"), "Toronto Coach Terminal", 4, 1, after=7),
    )


ROME = "So the final answer is Rome."
SHORT = write((PERFORMER, "It is Kevin Drew."), (KEVIN, "Rome"), final=ROME)
TRACED = "[Final Content]: So the final answer is Rome [2]."


def kinds(requests):
    return "".join(type(request).__name__[0] for request in requests)


@pytest.mark.parametrize(
    ("span", "confidence", "feedback"),
    [
        ("the Kevin Drew!", 9.0, ""),  # it occurs in the answer, both normalised
        ("Casey", 1.5, ""),  # not above the threshold
        ("Casey", 1.6, "verification"),
        ("", 1.6, "verification"),  # an empty span occurs in no answer
    ],
)
def test_a_node_is_verified_where_the_reader_is_sure(span, confidence, feedback):
    chain = write((PERFORMER, "It is Kevin Drew."), final="x")
    replies = [chain, (SPIRIT,), Extracted(span, confidence), *[chain] * bool(feedback)]
    replies += [1.0] * bool(feedback) + ["y"]
    requests, prediction = send(searchain(QUESTION, prompts=PROMPTS), replies)
    assert prediction.nodes[0].feedback == feedback
    assert kinds(requests) == "GRE" + "GD" * bool(feedback) + "G"
    if feedback and not span:  # no answer was extracted; the model's own stays
        assert 'you can give or change your answer for "Who' in requests[3].prompt
        assert "should be" not in requests[3].prompt
        assert requests[-1].prompt.endswith("[Answer 1]: It is Kevin Drew.")


def test_the_program_lets_an_empty_span_pass_and_traces_nothing():
    replies = [SHORT, (SPIRIT,), Extracted("", 9.0), 0.0, (DREW,)]
    replies += [Extracted("Toronto", 9.0), write((KEVIN, "Toronto")), 1.0]
    program = searchain(QUESTION, prompts=PROMPTS, released=True)
    requests, result = send(program, replies)
    assert kinds(requests) == "GREDREGD"
    assert [node.feedback for node in result.nodes] == ["", "verification", ""]
    # the last final content that was written
    assert (result.answer, result.reading) == ("Rome", "So the final answer is Rome.")


EXAMPLES = read_examples(files.PROMPTS / "own/searchain/chain.multihop.txt")


def test_a_chat_model_is_sent_the_words_and_the_roles_of_the_program():
    prompts = writers("searchain", *STAGES)
    prompts |= {"chain": replace(prompts["chain"], demonstrations=EXAMPLES)}
    first = write((PERFORMER, "Casey Cott"))
    second = write((PERFORMER, "Kevin Drew"), unsolved=KEVIN)
    last = write((KEVIN, "Toronto"), final="So the final answer is Toronto.")
    replies = [first, (SPIRIT,), Extracted("Kevin Drew", 4.0)]
    replies += [second, 1.0, (DREW,), Extracted("", -3.0), last, 1.0]
    program = searchain(QUESTION, prompts=prompts, released=True, chat=True)
    requests, result = send(program, replies)
    fields = {"examples": "\n\n\n".join(EXAMPLES), "asked": ASKED}
    opening = prompts["released"](QUESTION, **fields).text
    assert opening.startswith("Construct a global reasoning chain for this complex")
    told = {"query": PERFORMER, "found": "Kevin Drew"}
    told["reference"] = render_paragraph(SPIRIT)
    corrected = prompts["released_verification"](QUESTION, **told).text
    told = {"query": KEVIN, "found": "", "reference": render_paragraph(DREW)}
    completed = prompts["released_completion"](QUESTION, **told).text
    chat = [Message("user", opening), Message("assistant", first)]
    chat += [Message("user", corrected)]
    chat += [Message("assistant", second), Message("user", completed)]
    asked = [request for request in requests if isinstance(request, Generate)]
    assert asked == [Generate(tuple(chat[:n]), END, 512) for n in (1, 3, 5)]
    assert (result.answer, result.thoughts) == ("Toronto", (first, second, last))
    # other models are sent the conversation as one text
    for setting in ({"released": True}, {"chat": True}):
        assert isinstance(
            next(searchain(QUESTION, prompts=prompts, **setting)).prompt, str
        )


def test_a_long_answer_is_verified_by_its_overlap_with_the_passage():
    like = "The debut solo album by Kevin Drew is Spirit If."
    assert 0.35 < rouge_l(like, [SPIRIT.text]) < 0.85
    chain = write(
        (PERFORMER, like), final="It is by [1] Kevin Drew. So the answer is this."
    )
    setting = {"prompts": PROMPTS, "long_form": True}
    replies = [chain, (SPIRIT,), Extracted("Casey", 9.0)]
    replies += ["[Final Content]: All of it [1]. The answer is this."]
    requests, result = send(searchain(QUESTION, **setting), replies)
    assert kinds(requests) == "GREG"
    assert result.answer == "All of it. The answer is this."
    program = searchain(QUESTION, **setting, overlap=0.85)
    requests, _ = send(program, [*replies[:3], chain, 1.0, "x"])
    assert kinds(requests) == "GREGDG" and 'should be "Casey"' in requests[3].prompt


def test_five_chains_are_written_at_most_and_what_was_found_last_is_traced():
    """As in §4.1; Algorithm 1 as printed writes a sixth."""
    unsolved = [write(unsolved=f"Where is it, {n}?") for n in range(5)]
    found = (DREW,), Extracted("Rome", 0.0)
    replies = [reply for text in unsolved for reply in (text, 0.0, *found)]
    del replies[1]  # nothing was processed before the first
    requests, result = send(searchain(QUESTION, prompts=PROMPTS), [*replies, "y"])
    assert kinds(requests) == "GRE" + "GDRE" * 4 + "G"
    assert "[Query 5]: Where is it, 4?" in requests[-1].prompt
    assert len(result.nodes) == result.nodes[-1].mark == 5
    assert result.answer == "y"


def test_without_verification_and_without_completion():
    systems, setting = all_systems(), {"prompts": PROMPTS}
    chain = write((PERFORMER, "Casey"), unsolved=leave("Toronto"))
    compared = [chain, (SPIRIT,), Extracted("Drew", 9.0)]
    then = [0.0, (BUSES,), Extracted("Rome", 9.0)]
    program = systems["SearChain w/o Verification"].program(QUESTION, **setting)
    requests, result = send(program, [*compared, *then, SHORT, 1.0, 1.0, TRACED])
    assert [node.feedback for node in result.nodes] == ["", "completion", "", ""]
    assert "[Answer 1]: Casey\n[Query 2]" in requests[-1].prompt
    program = systems["SearChain w/o Completion"].program(QUESTION, **setting)
    requests, result = send(program, [*compared, chain, 1.0, *then, TRACED])
    assert [node.feedback for node in result.nodes] == ["verification", "", "", ""]
    # an unsolved node has no answer
    assert [node.mark for node in result.nodes] == [1, 0, 0, 0]
    assert requests[-1].prompt.endswith(f"[Query 1]: {PERFORMER}\n[Answer 1]: Drew")


def test_a_node_for_which_nothing_is_found_passes():
    asked = write(unsolved=PERFORMER)
    requests, result = send(searchain(QUESTION, prompts=PROMPTS), [asked, (), ROME])
    no_pairs = TRACING.partition("\n[Query 1]")[0]
    assert kinds(requests) == "GRG" and requests[2].prompt == shown(asked, no_pairs)
    assert result.nodes == (Node(PERFORMER, "", 1, 1, unsolved=True),)
    assert result.answer == "Rome"
