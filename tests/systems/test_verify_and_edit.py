"""Verify-and-Edit, with replies by hand."""

from replying import drawn, send, writers

from ircotlib.data import Paragraph, Question
from ircotlib.program import LINE, Generate, Retrieve, Sample
from ircotlib.systems.verify_and_edit import nearest, verify_and_edit

QUESTION = Question("q", "What is Grieg's capital?", ("Oslo",), (), "test")
PROMPTS = writers("verify_and_edit", "cot", "question", "answer")
GRIEG = Paragraph(
    "g", "Grieg", "Grieg wrote Peer Gynt. Grieg was born in Norway. He had a house."
)
OSLO = Paragraph("o", "Oslo", "It lies on a fjord. The capital of Norway is Oslo.")
LUND = (
    "First, Grieg was born in Sweden. Second, its capital is Lund. The answer is Lund."
)
CHAINS = ["Hm. The answer is Rome.", "First, it is so. The answer is lund.", LUND]
CHAINS += ["I do not know.", "The answer is Bern."]
ASK = "Q: What is Grieg's capital?\nA:"


def test_chains_that_agree_are_kept():
    """Three of five chains agree, which is at least half."""
    agreeing = (
        "A. The answer is Oslo.",
        "The answer is the Oslo",
        "B.",
        "The answer is oslo",
    )
    chains = drawn(LUND, *agreeing)
    requests, result = send(verify_and_edit(QUESTION, prompts=PROMPTS), [chains])
    assert requests == [Sample(ASK, 5, 0.7, ("\n",), 144)]
    assert (result.answer, result.reading) == ("Oslo", "A. The answer is Oslo.")
    assert result.fault == ""


def test_chains_that_disagree_are_edited():
    replies = [drawn(*CHAINS, scores=[-0.1, -2.0, -1.0, -0.1, -0.1])]
    replies += [" Where was Grieg born?".strip(), (GRIEG,), "Grieg was born in Norway."]
    replies += ["What is its capital?", (OSLO, GRIEG), "It is Oslo."]
    replies += ["The answer is Oslo."]
    program = verify_and_edit(QUESTION, prompts=PROMPTS, shown=1)
    requests, result = send(program, replies)
    reason = "Overall Question: What is Grieg's capital?\nReason: "
    capital = "The capital of Norway is Oslo."
    edited = "First, Grieg was born in Norway. Second, It is Oslo."
    assert requests[1:] == [
        Generate(f"{reason}Grieg was born in Sweden.\nQuestion:", LINE, 70),
        Retrieve("Where was Grieg born?", 5),
        Generate(
            "Grieg was born in Norway.\nQuestion: Where was Grieg born?\nAnswer:",
            LINE,
            70,
        ),
        Generate(f"{reason}its capital is Lund.\nQuestion:", LINE, 70),
        Retrieve("What is its capital?", 5),
        Generate(f"{capital}\nQuestion: What is its capital?\nAnswer:", LINE, 70),
        Generate(f"{ASK} {edited}", LINE, 70),
    ]
    assert (result.answer, result.paragraphs) == ("Oslo", (GRIEG, OSLO))
    assert result.fault == ""
    assert " ".join(result.thoughts) == edited


def test_without_scores_the_first_of_the_majority_and_a_chain_without_an_answer():
    replies = [drawn(*CHAINS), "", (), "Nothing.", "I cannot say."]
    requests, result = send(verify_and_edit(QUESTION, prompts=PROMPTS), replies)
    assert "Reason: it is so." in requests[1].prompt
    assert requests[2] == Retrieve("it is so.", 5)  # no question was written
    assert requests[3].prompt == "\nQuestion: it is so.\nAnswer:"
    assert result.answer == result.reading == "I cannot say."
    assert result.fault == 'no "The answer is" after the edited chain'


RATIONALE = "The Oberoi Group is a hotel company headquartered in Mumbai."
DELHI = "The Oberoi Group is a hotel company with its head office in Delhi."
SHORT = ["The hotel is in Mumbai.", "It is a company.", "The company is in India."]
HOTELS = [Paragraph("s", "Hotels", " ".join(SHORT))]
HOTELS += [Paragraph("o", "Oberoi", f"{DELHI} It is.")]


def test_evidence_is_what_says_the_same_not_what_is_short():
    assert nearest(RATIONALE, HOTELS, 1) == [DELHI]
    assert nearest(RATIONALE, HOTELS, 2) == [DELHI, SHORT[0]]
    assert len(nearest(RATIONALE, HOTELS, 9)) == 5 and nearest(RATIONALE, [], 3) == []
    assert nearest("a", [Paragraph("b", "b", "b")], 1) == ["b"]
    assert nearest(RATIONALE, [*HOTELS, *HOTELS], 9) == nearest(RATIONALE, HOTELS, 9)
