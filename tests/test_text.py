"""Sentences: a table made by hand, and the annotators' chains if they are present."""

import ast
import json
import re
import time
from itertools import product

import pytest

from ircotlib.models.thoughts import split_thoughts
from ircotlib.program import LINE, SENTENCE, SENTENCE_OF_LINE
from ircotlib.text import (
    answer_from_chain,
    cut,
    sentence_end,
    sentences,
    stop_end,
    without_echo,
)

# Texts with "|" at every place where a sentence ends and another begins.
TEXTS = """
Lost Gravity was made by Mack Rides.| Mack Rides is a German company.| So the answer is: Germany.
Of these Nosferatu was directed by F.W. Murnau.| So the answer is: The Phantom Hour.
Sponge Cola was formed in 1998.| Hurricane No. 1 was formed in 1996.| Thus, Hurricane No. 1 is.
So the answer is: Hurricane No. 1.| The next line.
Coolie No. 1 (1995 film) is by David Dhawan.| The Sensational Trial is by Karl Freund.
He moved to St. Louis in 1904.| He died there.
He served in the U.S. Army.| She did not.
It is located in the U.S.| So the answer is: U.S.
That of "The Operation M.D." was "We Have an Emergency".| So the answer is: The Operation M.D..
Dr. Hibbert fashioned his hair after Mr. T from The A-Team.| Mr T.'s birthname is Lawrence Tureaud.
Laughter In Hell was directed by Edward L. Cahn.| Edward L. Cahn died on August 25, 1963.
The book was written by Robert L.| He died in 1990.
Harry Connick Jr. was born in New Orleans.| Robert Downey Jr.| He was born in New York.
Apple Inc. was founded in 1976.| It belongs to Apple Inc.| Therefore, the answer is clear.
She holds a Ph.D. in physics.| He holds an M.D.| They married at 5 p.m. on Jan. 5, 1990.
He starred in "Help!" with Ringo Starr.| The film came out in 1965.
Who's Afraid of Virginia Woolf? was written by Edward Albee.| Is that right?| Yes!| It is.
He was born in 1989.| "December Bride" is older.
So she served for a total of 1864 - 1811 = 53 years.| So the answer is: 53.
He played for St. Kilda [1], which is in Melbourne [2].| So the final answer is Melbourne.
Denmark has been inhabited since around 12,500 BC.| So the answer is: 12,500 BC.
Amazon.com was founded in 1994.| Node.js was not.
Lonny (magazine) was founded in 2009.| (Allure was founded in 1991.)| Thus, Lonny is newer.
He lived with several artists, writers, etc. in Paris.| They met in 1920.
1. Mack Rides is German.| 2. Mack Rides made Lost Gravity.
Wait... what is it?| It is a film.
He met Msgr. John Ryan and Br. Paul at Sto. Domingo.| Pres. Lincoln and Sec. Stanton came later.
Brig. Gen. Tyler led Pvt. Wm. Smith.| Atty. Geo. Brown and Supt. Lee saw Insp. Hall.| Flt. Lt. Carr.
It belongs to Acme Pvt. Ltd. and to Zeta Pty. Ltd.| He left Zeta Pty. Ltd.| A year later it closed.
It costs Rs. 500 by Art. 5.| Nr. 5, Ch. 5, Ep. 4 and Body Talk Pt. 2 are good.| The Mk. II is not.
Ann (bef. 1683 – aft. 1701) and Bob Bodkin, fl. 1506, were poets.| Carl (died aft. 3 May 1452).| No.
" ... Baby One More Time" is a song.| It ended…| Then he came.
It is followed by "Torchy Blane … Playing with Dynamite".| It ended ...| Then he came.
"Wait Wait... Don't Tell Me!" is a show.| "In a Perfect World..." (2009) is old.| Say: [...] Yes.
He was of Yahoo! Inc. and Yum! Brands.| He was host of Jeopardy! Host Trebek.
She had E! Style and Hail! Hail! Rock 'n' Roll.| I like Panic!| They sing.| It was war!| Nobody won.
"Who is it?" asked Ron.| "Go!"| Ann left.| "Is it?"
"Help!" (1965) is a film.| He asked "Who?"| Two years later he left.| It is!| (He was there.)
He made films for Dream Box LTD. in Asia.| It was so.| " ... And God" is by INC.
""".strip().splitlines()  # noqa: E501
TEXTS += ["Lost Gravity is a coaster|\nQ: Who made it?"]
TEXTS += ["It was made by Mr.|\nIt was not.", "It is by Mack Rides.|\n\nIt is German"]


def ends_while_written(text, by_word=False):
    """The ends given for the prefixes of a text, in order, without repetitions."""
    prefixes = (text[:length] for length in range(len(text) + 1))
    ends = [sentence_end(prefix, False, by_word) for prefix in prefixes]
    return list(dict.fromkeys(end for end in ends if end is not None))


# Prefixes of these are judged too early if whole words arrive: an ordinary word's full
# stop is followed by something without a space, or a full stop is followed by a number.
EARLY = """
Amazon.com was founded in 1994. Node.js was not.
Wait... what is it? It is a film.
It is 'Gone.' He left.
He said Gone." He left.
It is Songs: A Collection... Old and New. It is.
He made European/U.S.A. films. It is.
She has a cand.oecon. degree. He founded Amazon.com. It is.
He has the .30 carbine. It is a .30. The other is a .45 pistol.
""".strip().splitlines()


@pytest.mark.parametrize("marked", TEXTS)
def test_sentences_end_at_one_place_while_a_text_grows_and_when_it_is_finished(marked):
    expected = [sentence.strip() for sentence in marked.split("|")]
    text = marked.replace("|", "")
    assert sentences(text) == expected and cut(text, SENTENCE) == expected[0]
    end = sentence_end(text, complete=True)
    assert ends_while_written(text) in ([end], [])
    if text not in EARLY:
        assert ends_while_written(text, True) in ([end], [])


@pytest.mark.parametrize("text", EARLY)
def test_a_growing_text_never_ends_elsewhere_than_the_finished_one(text):
    assert ends_while_written(text) in ([sentence_end(text, complete=True)], [])


def test_short_growing_texts_never_end_elsewhere_than_the_finished_ones():
    for characters in (*product('aB .?\n"3', repeat=5), *product('aB .!("', repeat=5)):
        text = "".join(characters)
        assert ends_while_written(text) in ([sentence_end(text, complete=True)], [])


# Is it company.com, .30, 1989.5, U.S. Theodore, no. 1; will the quotation be closed?
OPEN = ["Mack Rides is a German company.", "Mack Rides is a German company.com"]
OPEN += ["He carried the .", ".", "It was founded in 1989.", "It was founded in 1989. "]
OPEN += ["It has 3.5", "Edward L.", "Edward L. Th", "He is in the U.S. The"]
OPEN += ["He is in the U.S. Army", "Yahoo!", "", "So the answer is: no."]
OPEN += ['He starred in "Gone.', 'It was "We Have an Emergency".']
ENDED = ["Mack Rides is a German company.| ", "Mack Rides is a German company.| So"]
ENDED += ["\nRome|\n", "It was founded in 1989.| T", "He is in the U.S.| The "]
ENDED += ["So the answer is: no.| S", 'He starred in "Gone."| The']


def test_an_end_is_known_as_early_as_can_be():
    for written in OPEN:
        assert sentence_end(written, complete=False) is None, written
    for marked in ENDED:
        written, end = marked.replace("|", ""), marked.index("|")
        assert sentence_end(written, complete=False) == end, written


@pytest.mark.parametrize(
    ("text", "stop", "known", "end"),
    [
        ("It is. So", SENTENCE, 6, 6),
        ("It is.", SENTENCE, None, 6),
        (" Rome\nQ", LINE, 5, 5),
        ("\nRome", LINE, 0, 0),
        ("Rome", LINE, None, 4),
        (" Rome. It", SENTENCE_OF_LINE, 6, 6),
        ("Rome\nQ: Who", SENTENCE_OF_LINE, 4, 4),
        ("\nQ: Who? It", SENTENCE_OF_LINE, 0, 0),
        (" \n\nRome. It", SENTENCE_OF_LINE, 0, 0),
        ("\n\nRome. It", SENTENCE, 7, 7),
        ("Rome\n\nQ: Who", ("\nQ:",), 5, 5),
        ("Rome\n\nQ: Who", ("\nQ:", "\n\n"), 4, 4),
        ("Rome\n\nQ: Who", ("Q: Who", ":"), 7, 7),  # ":" is complete first
        # if two end at once, the longer one
        ("Rome\n\nQ: Who", ("me\n", "\n", "ome\n"), 1, 1),
        ("Rome\n\nQ", ("\nQ:",), None, 7),
        ("Rome. It\nis ", None, None, 12),
        ("", ("x",), None, 0),
    ],
)
def test_where_a_text_stops(text, stop, known, end):
    assert stop_end(text, stop, complete=False) == known
    assert stop_end(text, stop, complete=True) == end
    assert cut(text, stop) == text[:end].strip()


@pytest.mark.parametrize("stop", ["word", "\n", (), ("\n", ""), ["\n"]])
def test_other_stops_are_errors(stop):
    for complete in (True, False):
        with pytest.raises(ValueError, match="found stop .*'sentence', 'line', 'sent"):
            stop_end("Rome", stop, complete)


def test_texts_without_an_end_take_time_in_proportion():
    long = ["Dr. " * 20_000, '("' + "an end. then " * 10_000, "It is " * 20_000]
    long += ["a" + "\n" * 40_000 + "b", "It is. " * 10_000]
    started = time.process_time()
    for text in long:
        assert sentences(text)
        assert answer_from_chain(text) is None
        assert without_echo(text, "Q:") and split_thoughts(text)[1]
    assert time.process_time() - started < 3


def annotated_chains(folder):
    """The annotators' steps for each question; one may have two sentences."""
    step = re.compile(r""""cot_sent":\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""")
    for path in sorted(folder.glob("*.jsonnet")):
        for question in path.read_text(encoding="utf-8").split('"question_id"')[1:]:
            yield [ast.literal_eval(text).strip() for text in step.findall(question)]


def test_the_annotators_steps_end_where_sentences_do(shared):
    chains = list(annotated_chains(shared / "ircot_prompts"))
    assert (len(chains), sum(map(len, chains))) == (49, 178)
    longer = []
    for steps in chains:
        parts = [sentences(step) for step in steps]
        assert sentences(" ".join(steps)) == [each for part in parts for each in part]
        longer += [part for part in parts if len(part) > 1]
    [[_, second]] = longer  # one step has two sentences
    assert second == "That is, it has 4 members."


def paragraphs_of_wikipedia(shared):
    """The sentences of each paragraph as the data sets' authors have them."""
    for file in ("hotpotqa/dev_distractor_498.json", "2wikimultihopqa/dev_657.json"):
        for record in json.loads((shared / file).read_text(encoding="utf-8")):
            for _, parts in record["context"]:
                yield [part.strip() for part in parts if part.strip()]


def is_two(sentence, end):
    """Whether a sentence of theirs holds more than one: a line break, a quotation mark
    that opens the next, or a full stop between an ordinary word and a capital.
    """
    kept, more = sentence[:end], sentence[end:]
    ordinary = re.search(r"\b[a-z]{4,}\.$", kept) and re.match(r" [\"(]?[A-Z]", more)
    return more.startswith("\n") or more.strip() == '"' or bool(ordinary)


def test_sentences_of_wikipedia(shared):
    early, found, total = [], 0, 0
    for parts in paragraphs_of_wikipedia(shared):
        for at, sentence in enumerate(parts):
            end = sentence_end(" ".join(parts[at:]), complete=True)
            if end < len(sentence) and not is_two(sentence, end):
                early.append(f"{sentence[:end]} | {sentence[end:]}")
            total, found = total + 1, found + (end == len(sentence))
    assert total > 41_000 and len(early) <= 70, "\n".join(early)
    assert found / total > 0.97
