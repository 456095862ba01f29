"""Packing: what is dropped, in which order, so that prompts keep to their limit."""

from dataclasses import replace

import pytest
from replying import TextWriter, count_words

from ircotlib.data import Demonstration, Paragraph, Question
from ircotlib.prompting import prompt as prompts
from ircotlib.prompting.packing import DEMONSTRATION, Segment, fit, join
from ircotlib.prompting.prompt import PLAIN, render_demonstration
from ircotlib.prompting.templates import Template

COT, DIRECT = prompts.FLAN_T5.template("cot"), prompts.FLAN_T5.template("direct")
NUMBERS = (5, 4, 3, 2, 1)  # demonstrations of 9, 8, 7, 6, 5 words
DEMONSTRATIONS = tuple(
    Demonstration(f"d{i}", (), f"w{i} " * i + "end", f"a{i}") for i in NUMBERS
)
ARRANGE = {False: prompts.GPT3.arrange, True: prompts.FLAN_T5.arrange}
QUESTION = Question("q", "who is it", (), (), "test")  # 5 words with Q: and A:
PARAGRAPHS = [Paragraph("1", "One", "a b c d"), Paragraph("2", "Two", "e f\ng h")]
PARAGRAPHS += [Paragraph("3", "Three", "i j")]  # 7, 7, 5 words


def test_tokens_that_joining_adds_are_counted_where_they_could_matter():
    def count_tokens(text):
        return len(text) if len(text) <= 5 else len(text) + 3

    pieces = [Segment(f"abc{n} ", DEMONSTRATION) for n in range(4)]
    kept = fit(pieces, 21, count_tokens)  # their sum is 20 tokens, joined they have 23
    assert kept == pieces[1:] and count_tokens(join(kept)) == 18


# all parts have 59 words; those without the first, 50, and so on
KEPT = {59: 5, 58: 4, 50: 4, 49: 3, 42: 3, 41: 2, 35: 2, 34: 1, 29: 1, 28: 0, 24: 0}


@pytest.mark.parametrize(("limit", "kept"), KEPT.items())
@pytest.mark.parametrize("released", [False, True])
def test_demonstrations_are_dropped_from_the_front(limit, kept, released):
    limit += released  # the authors' program keeps one token below the limit
    write = TextWriter(DEMONSTRATIONS, count_words, PLAIN, limit, released=released)
    blocks = [render_demonstration(d) for d in DEMONSTRATIONS]
    example = Demonstration("", tuple(PARAGRAPHS), QUESTION.text, "")
    parts = [*blocks[len(blocks) - kept :], render_demonstration(example)]
    assert write(QUESTION, PARAGRAPHS) == "\n\n\n".join(parts)


SHOWN = "".join(f"{prompts.render_paragraph(p)}\n\n" for p in PARAGRAPHS)
MAIN = Paragraph("m", "Main", "k l m")  # 6 words with its title line
# at each limit, the first line that stays above a question with one thought, and above
# a question beside the main passage
FIRST_LINE = {23: "a b c d", 20: "Wikipedia Title: Two", 15: "e f", 13: "g h"}
FIRST_LINE |= {9: "i j", 8: "i j", 7: None, 6: None}
BESIDE_MAIN = {30: "Wikipedia Title: One", 29: "a b c d", 23: "Wikipedia Title: Two"}
BESIDE_MAIN |= {18: "g h", 13: "i j", 12: None, 11: None}


def from_line(line: str | None) -> str:
    return "" if line is None else SHOWN[SHOWN.index(line) :]


@pytest.mark.parametrize(("limit", "line"), FIRST_LINE.items())
def test_top_lines_go_when_the_test_example_alone_is_too_long(limit, line):
    write = TextWriter(DEMONSTRATIONS, count_words, PLAIN, limit)
    text = write(QUESTION, PARAGRAPHS, ["so"])
    assert text == from_line(line) + "Q: who is it\nA: so"
    assert count_words(text) <= limit


@pytest.mark.parametrize(("limit", "line"), BESIDE_MAIN.items())
@pytest.mark.parametrize("last", [False, True])
def test_the_main_passage_stays_when_lines_go(limit, line, last):
    kept, main = from_line(line), "Wikipedia Title: Main\nk l m\n\n"
    expected = (kept + main if last else main + kept) + "Q: who is it\nA:"
    write = TextWriter(DEMONSTRATIONS, count_words, PLAIN, limit, ARRANGE[last])
    text = write(replace(QUESTION, passage=MAIN), [MAIN, *PARAGRAPHS])
    assert text == expected
    assert count_words(text) <= limit


@pytest.mark.parametrize(("thoughts", "tokens"), [([], 5), (["so", "it", "is"], 6)])
def test_the_question_is_never_cut(thoughts, tokens):
    prompt = TextWriter(DEMONSTRATIONS, count_words, PLAIN, tokens - 1)
    with pytest.raises(ValueError, match=f"'q': found more than {tokens - 1} tokens"):
        prompt(QUESTION, PARAGRAPHS, thoughts)
    text = TextWriter((), count_words, DIRECT, 9)(QUESTION, PARAGRAPHS)
    assert text == "Q: Answer the following question.\nwho is it\nA:"


ROUNDS = "chain one\nits end\n\nfeedback one\n\n"
ROUNDS += "chain two of\nthree words\n\nlast of\nall words"


@pytest.mark.parametrize(
    ("limit", "kept"),
    [
        (20, ROUNDS),
        (19, ROUNDS[ROUNDS.index("feedback") :]),  # whole parts between blank lines
        (15, ROUNDS[ROUNDS.index("chain two") :]),
        (13, "last of\nall words"),
        (9, "last of\nall words"),
        (7, "all words"),  # lines of the last part
        (6, "words"),  # words of the last line
    ],
)
def test_the_oldest_of_what_was_written_goes_last_of_all(limit, kept):
    for paragraphs in (PARAGRAPHS, ()):
        write = TextWriter(DEMONSTRATIONS, count_words, PLAIN, limit)
        text = write(QUESTION, paragraphs, [ROUNDS])
        assert text == f"Q: who is it\nA: {kept}"
        assert count_words(text) <= limit


BELOW = Template(
    "{paragraphs}\n\nQuestion: {question}\nRead:\n{reference}\nSay: {so_far}"
)


@pytest.mark.parametrize(
    ("limit", "kept"),
    [
        (13, "Read:\na b\nc d\nSay: it is so"),
        (12, "Read:\na b\nc d\nSay: is so"),
        (11, "Read:\na b\nc d\nSay: so"),
        # finally, the words of a field below the question
        (10, "Read:\nb\nc d\nSay: so"),
        (8, "Read:\nd\nSay: so"),
        (7, "Read:\n\nSay: so"),
    ],
)
def test_fields_below_the_question_go_last_word_by_word(limit, kept):
    prompt = TextWriter(DEMONSTRATIONS, count_words, BELOW, limit)
    given = {"thoughts": ["it is so"], "reference": "a b\nc d"}
    text = prompt(QUESTION, PARAGRAPHS, **given)
    assert text == f"Question: who is it\n{kept}" and count_words(text) <= limit
    with pytest.raises(ValueError, match="found more than 6 tokens"):
        TextWriter((), count_words, BELOW, 6)(QUESTION, PARAGRAPHS, **given)
