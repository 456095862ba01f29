"""InterAug, played by hand."""

from replying import drawn, play, writers

from ircotlib.data import Paragraph, Question
from ircotlib.program import LINE, Retrieve, Sample
from ircotlib.systems.interaug import interaug

QUESTION = Question("q", "Where is Oslo?", ("Norway",), (), "test")
PROMPTS = writers("interaug", "read")
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven")
LONG = Paragraph("l", "Long", " ".join(f"This is sentence {number}." for number in NUMBERS))
OSLO = Paragraph("o", "Oslo", "Oslo is in Norway.")
LUND = Paragraph("d", "Lund", "Lund is in Sweden.")


def reading(evidence):
    text = f"Evidence: {evidence}\nQuestion: Where is Oslo?\nAnswer:"
    return Sample(text, 1, 0.7, LINE, 50)


def answer(text, score=None):
    return drawn(text, scores=[score])


def test_each_paragraph_is_read_alone_and_the_most_probable_answer_wins():
    replies = [(LONG, OSLO, LUND), answer("Rome", -0.9), answer("Norway", -0.1), answer("", 0.0)]
    requests, result = play(interaug(QUESTION, prompts=PROMPTS), replies)
    assert requests == [
        Retrieve(QUESTION.text, 50),
        reading(LONG.text.removesuffix(" This is sentence seven.")),
        reading("Oslo is in Norway."),
        reading("Lund is in Sweden."),
    ]
    assert (result.answer, result.paragraphs, result.fault) == ("Norway", (LONG, OSLO, LUND), "")


def test_an_answer_counts_the_more_the_better_its_paragraph_ranks():
    """log p(answer) + log(1 / rank): an answer from the second must be twice as probable."""
    for first, second, best in ((-1.0, -0.4, "Rome"), (-1.0, -0.2, "Norway")):
        replies = [(LONG, OSLO), answer("Rome", first), answer("Norway", second)]
        assert play(interaug(QUESTION, prompts=PROMPTS), replies)[1].answer == best
