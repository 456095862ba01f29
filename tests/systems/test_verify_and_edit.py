"""Verify-and-Edit, played by hand."""

import inspect

import pytest
from playing import drawn, own_demonstrations, play, writers

from ircotlib.data import Paragraph, Question
from ircotlib.program import LINE, Generate, Retrieve, Sample
from ircotlib.systems.verify_and_edit import rationale, verify_and_edit

QUESTION = Question("q", "What is Grieg's capital?", ("Oslo",), (), "test")
PROMPTS = writers("verify_and_edit", "cot", "question", "answer")
GRIEG = Paragraph("g", "Grieg", "Grieg wrote Peer Gynt. Grieg was born in Norway. He had a house.")
OSLO = Paragraph("o", "Oslo", "It lies on a fjord. The capital of Norway is Oslo.")
LUND = "First, Grieg was born in Sweden. Second, its capital is Lund. The answer is Lund."
CHAINS = [
    "Hm. The answer is Rome.",
    "First, it is so. The answer is lund.",
    LUND,
    "I do not know.",
    "The answer is Bern.",
]
ASK = "Q: What is Grieg's capital?\nA:"


def test_chains_that_agree_are_kept():
    """Three of five chains agree, which is at least half."""
    chains = drawn(
        LUND, "A. The answer is Oslo.", "The answer is the Oslo", "B.", "The answer is oslo"
    )
    requests, found = play(verify_and_edit(QUESTION, prompts=PROMPTS), [chains])
    assert requests == [Sample(ASK, 5, 0.7, ("\n",), 200)]
    assert (found.answer, found.reading, found.fault) == ("Oslo", "A. The answer is Oslo.", "")


def test_chains_that_do_not_are_edited():
    replies = [drawn(*CHAINS, scores=[-0.1, -2.0, -1.0, -0.1, -0.1])]
    replies += [" Where was Grieg born?".strip(), (GRIEG,), "Grieg was born in Norway."]
    replies += ["What is its capital?", (OSLO, GRIEG), "It is Oslo."]
    replies += ["The answer is Oslo."]
    requests, found = play(verify_and_edit(QUESTION, prompts=PROMPTS, shown=1), replies)
    reason = "Overall Question: What is Grieg's capital?\nReason: "
    edited = "First, Grieg was born in Norway. Second, It is Oslo."
    assert requests[1:] == [
        Generate(f"{reason}Grieg was born in Sweden.\nQuestion:", LINE, 200),
        Retrieve("Where was Grieg born?", 5),
        Generate("Grieg was born in Norway.\nQuestion: Where was Grieg born?\nAnswer:", LINE, 200),
        Generate(f"{reason}its capital is Lund.\nQuestion:", LINE, 200),
        Retrieve("What is its capital?", 5),
        Generate(
            "The capital of Norway is Oslo.\nQuestion: What is its capital?\nAnswer:", LINE, 200
        ),
        Generate(f"{ASK} {edited}", LINE, 200),
    ]
    assert (found.answer, found.paragraphs, found.fault) == ("Oslo", (GRIEG, OSLO), "")
    assert " ".join(found.thoughts) == edited


def test_without_scores_the_first_of_the_majority_and_an_edited_chain_without_an_answer():
    replies = [drawn(*CHAINS), "", (), "Nothing.", "I cannot say."]
    requests, found = play(verify_and_edit(QUESTION, prompts=PROMPTS), replies)
    assert "Reason: it is so." in requests[1].prompt
    assert requests[2] == Retrieve("it is so.", 5)  # no question was written
    assert requests[3].prompt == "\nQuestion: it is so.\nAnswer:"
    assert found.answer == found.reading == "I cannot say."
    assert found.fault == 'no "The answer is" after the edited chain'


def test_chains_without_any_answer_are_edited_too():
    replies = [drawn("A.", "B.", "C.", "D.", "E."), "Is it?", (), "No.", "The answer is no"]
    requests, found = play(verify_and_edit(QUESTION, prompts=PROMPTS), replies)
    assert len(requests) == 5 and (found.answer, found.fault) == ("no", "")


def test_a_rationale_has_at_most_eight_sentences():
    facts = [f"Fact {name} holds." for name in ("one", "two", "six", "ten")]
    assert rationale(f"First, {' Second, '.join(facts)} The answer is 3.") == facts
    assert len(rationale(" ".join(facts * 3))) == 8


def test_prompts_as_they_are_shown():
    shown = own_demonstrations("verify_and_edit", "question", "multihop")[:1]
    prompt = writers("verify_and_edit", "question", demonstrations=shown)["question"]
    assert prompt(QUESTION, sentence="It is Lund.") == (
        "Overall Question: What is the capital of the country where the composer Edvard Grieg was"
        " born?\nReason: The capital of Norway is Oslo.\nQuestion: What is the capital of Norway?"
        "\n\n\nOverall Question: What is Grieg's capital?\nReason: It is Lund.\nQuestion:"
    )


@pytest.mark.parametrize("family", ["multihop", "strategyqa", "slotfilling", "fever", "eli5"])
def test_two_examples_as_in_table_11(family):
    for stage in ("cot", "question"):
        assert len(own_demonstrations("verify_and_edit", stage, family)) == 2


def test_the_constants_are_the_papers():
    defaults = inspect.signature(verify_and_edit).parameters
    assert [defaults[name].default for name in ("n", "temperature", "shown")] == [5, 0.7, 3]


def test_a_chain_as_it_is_shown():
    shown = own_demonstrations("verify_and_edit", "cot", "fever")[1:]
    prompt = writers("verify_and_edit", "cot", demonstrations=shown)["cot"]
    assert prompt(QUESTION, (), ("First, it is Oslo.",)) == (
        "Q: Is it true that Hamlet was written by Charles Dickens (SUPPORTS or REFUTES)?\n"
        "A: First, Hamlet is a tragedy of about 1600. Second, Hamlet was written by William"
        f" Shakespeare. The answer is REFUTES.\n\n\n{ASK} First, it is Oslo."
    )
