"""Tree-of-Thought w/ IR, with replies by hand."""

from replying import drawn, send, writers

from ircotlib.data import Paragraph, Question
from ircotlib.program import LINE, Retrieve, Sample
from ircotlib.systems.tree_of_thought import tree_of_thought

QUESTION = Question("q", "What is Grieg's capital?", ("Oslo",), (), "test")
PROMPTS = writers("tree_of_thought", "propose", "vote")
GRIEG = Paragraph("g", "Grieg", "Grieg was born in Norway.")
OSLO = Paragraph("o", "Oslo", "Oslo is Norway's capital.")
SEEN = "Wikipedia Title: Grieg\nGrieg was born in Norway.\n\n"
MORE = "Wikipedia Title: Oslo\nOslo is Norway's capital.\n\n"
ASK = "Question: What is Grieg's capital?"
DECIDE = "Which of these choices leads to the right answer? Look at each of them, then "
DECIDE += 'end with "The best choice is s", where s is the number of the choice.'
NORWAY, SWEDEN = "He is from Norway.", "He is from Sweden."


def proposing(above, *thoughts):
    lines = [f"Thought {i}: {text}" for i, text in enumerate(thoughts, start=1)]
    so_far = "\n".join([ASK, *lines, f"Thought {len(thoughts) + 1}:"])
    return Sample(above + so_far, 5, 0.7, LINE, 1000)


def voting(above, *choices):
    shown = [f"Choice {i}:\n{text}" for i, text in enumerate(choices, start=1)]
    return Sample("\n\n".join([above + ASK, *shown, DECIDE]), 5, 0.7, None, 1000)


def best(*numbers):
    return drawn(*[f"I see. The best choice is {number}." for number in numbers])


def test_thoughts_are_proposed_voted_on_and_retrieved_with():
    replies = [(GRIEG,), drawn(SWEDEN, NORWAY, NORWAY, "", SWEDEN)]
    replies += [best(2, "Choice 2", 1, 7, "?"), (OSLO, GRIEG)]
    replies += [drawn("The answer is Oslo.", "It is Bergen."), best(1, 1, 2)]
    requests, result = send(tree_of_thought(QUESTION, prompts=PROMPTS), replies)
    both = f"Thought 1: {NORWAY}\nThought 2: "
    assert requests == [
        Retrieve(QUESTION.text, 3),
        proposing(SEEN),
        voting(SEEN, f"Thought 1: {SWEDEN}", f"Thought 1: {NORWAY}"),
        Retrieve(NORWAY, 3),
        proposing(SEEN + MORE, NORWAY),
        voting(SEEN + MORE, f"{both}The answer is Oslo.", f"{both}It is Bergen."),
    ]
    assert (result.answer, result.paragraphs) == ("Oslo", (GRIEG, OSLO))
    assert result.fault == ""
    assert result.thoughts == (NORWAY, "The answer is Oslo.")


def test_votes_that_name_no_choice_and_no_answer_at_the_greatest_depth():
    replies = [(), drawn(NORWAY, SWEDEN), drawn("Hm.", "No choice."), ()]
    replies += [drawn("It is cold.")]  # alone, so there is no vote
    program = tree_of_thought(QUESTION, prompts=PROMPTS, depth=2)
    requests, result = send(program, replies)
    assert requests[3] == Retrieve(NORWAY, 3)  # the first one
    assert result.answer == "It is cold."
    assert result.fault == "no vote that names a choice"
