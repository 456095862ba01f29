"""Finds sentences, answers and queries in a model's text, and where that text stops."""

import re
import string
from collections.abc import Sequence
from enum import Enum, auto

from ircotlib.program import LINE, SENTENCE, SENTENCE_OF_LINE, Stop

WORDS = (SENTENCE, LINE, SENTENCE_OF_LINE)  # the stops that are not texts

# Words before a full stop. After these it never ends a sentence:
NEVER_END = ("Mr", "Mrs", "Ms", "Dr", "Prof", "Rev", "Fr", "Hon", "Gen", "Col", "Lt",
    "Capt", "Cpl", "Sgt", "Maj", "Adm", "Asst", "Gov", "Sen", "Rep", "Messrs", "Mme",
    "Mlle", "St", "Ste", "Mt", "Ft", "Vol", "vs", "approx", "cf", "ca", "est", "lit",
    "sq", "viz", "feat", "incl", "e.g", "i.e", "a.k.a")  # fmt: skip
# after these not before a number:
BEFORE_NUMBER = ("No", "Nos", "no", "nos", "Op", "op", "Fig", "pp", "Art", "Ep", "bef",
    "aft", "fl", "Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sep", "Sept", "Oct",
    "Nov", "Dec")  # fmt: skip
# after these, and an _ABBREVIATION, only before one of OPENERS:
MAY_END = ("Atty", "Brig", "Ens", "Geo", "Insp", "Pres", "Sec", "Sta", "Sto", "Supt",
    "Inc", "INC", "LTD", "Pty", "Co", "Corp", "Bros", "Esq", "Dept", "Univ", "Ave",
    "Hwy", "al", "etc")  # fmt: skip
# words that begin a sentence
OPENERS = ("He", "She", "It", "They", "I", "We", "A", "An", "The", "This", "That",
    "These", "Those", "There", "His", "Her", "Its", "Their", "So", "Thus", "Therefore",
    "Hence", "Then", "However", "Also", "And", "But", "Or", "When", "While", "After",
    "Before", "Since", "Because", "If", "As", "Although", "Both", "Neither", "Either",
    "Who", "What", "Which", "Where", "In", "On", "At", "By", "For", "Of", "From",
    "With", "You")  # fmt: skip
# IRCoT's program: these words are left out of queries; such a sentence, or a sum, is no
# query
QUESTION_WORDS = ("who", "what", "when", "where", "why", "which", "how", "does", "is")
REASONING_OPENERS = ("thus ", "thus,", "so ", "so,", "that is,", "therefore", "hence")

MARKS, CLOSING = ".!?…", "\"'”’)]"  # what a stop is made of, in this order
_PIECE = re.compile(r"(\S+)(\s*)")
_LIST_NUMBER = re.compile(r"\s*\d{1,2}")
_BEFORE_WORD = re.compile(r"[(\[\"“]")
_FIRST_WORD = re.compile(r"(\w+)(\W?)")
# L, U.S, F.W, M.D, Ph.D; a capital and no vowel: Jr, Ltd, Msgr, Wm, Mk, Nr
_ABBREVIATION = re.compile(
    r"(?:[^\W\d_]{1,2}\.)*[^\W\d_]|[B-DF-HJ-NP-TV-XZ][b-df-hj-np-tv-xz]+"
)
_NUMBER = r"(?:\d[\d,]*\.?\d+|\d)"  # IRCoT's program: it ends in a digit
_SUM = re.compile(rf"{_NUMBER} [+-] {_NUMBER} = {_NUMBER}")
_FENCE = re.compile(r"^\s*```\w*\s*|(?<!\s)\s*```\s*$")
_RULE = re.compile(r"^(?:[^\w\n({[]*\n)+")  # lines without a word, or a JSON list
_BELOW = re.compile(r"(answer is:?)\s*\n\s*(?:```\w*\s+)?(?=\S)")
# IRCoT's program, but for its full stop; from the beginning of each line
_ANSWER = re.compile(r"^.* answer is:? (.*)", re.MULTILINE)
# SQuAD's scorer, which HotpotQA's and MuSiQue's copy: ASCII punctuation only
ARTICLE = re.compile(r"\b(a|an|the)\b")
NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ITEM = re.compile(r"^ *(?:Step )?\d+ *[.):] *(\S.*?) *$", re.MULTILINE)


def stop_end(
    text: str, stop: Stop, complete: bool, by_word: bool = False
) -> int | None:
    """The index where the kept part of a text ends; None: not known yet (IRCoT §3.1).

    `stop`: SENTENCE, and `by_word`: see `sentence_end`; SENTENCE_OF_LINE: nothing is
    kept of a text that begins with a newline; texts: before the first that is complete;
    None: at the end. Raises ValueError for another.
    """
    check_stop(stop)
    if stop == SENTENCE_OF_LINE and "\n" in text[: len(text) - len(text.lstrip())]:
        return 0
    if stop in (SENTENCE, SENTENCE_OF_LINE):
        return sentence_end(text, complete, by_word)
    stops = ("\n",) if stop == LINE else stop or ()
    ends = [(at + len(mark), at) for mark in stops if (at := text.find(mark)) >= 0]
    if ends:
        return min(ends)[1]  # of two that are complete at once, the longer one
    return len(text) if complete else None


def cut(text: str, stop: Stop) -> str:
    """The kept part of a finished text, stripped (see `stop_end`)."""
    return text[: stop_end(text, stop, complete=True)].strip()


def without_echo(text: str, prompt: str) -> str:
    """A chat model's reply without what a continuation of the prompt would not have:
    empty lines and rules before it, line breaks after "answer is:", a code fence or
    quotation marks around it, bold type, and the prompt's last line, or a part of it
    (ours).

    >>> without_echo("**A: It is Oslo.**", "Q: What is it?\\nA:")
    'It is Oslo.'
    """
    text = _RULE.sub("", _FENCE.sub("", text).replace("**", "")).lstrip()
    text = _BELOW.sub(r"\1 ", text)
    if len(text) > 1 and text[0] == text[-1] == '"' and text.count('"') == 2:
        text = text[1:-1]
    label, colon, so_far = prompt.rstrip().rpartition("\n")[2].partition(":")
    for repeated in (label + colon, so_far.strip()):
        if repeated and text.lstrip().startswith(repeated):
            text = text.lstrip().removeprefix(repeated).lstrip()
    return text


def check_stop(stop: Stop) -> None:
    """Raise ValueError unless `stop` is None, one of WORDS or a tuple of texts."""
    texts = isinstance(stop, tuple) and stop and all(stop)  # "" would be everywhere
    if stop not in (None, *WORDS) and not texts:
        raise ValueError(
            f"found stop {stop!r}, expected one of {WORDS}, a tuple of texts, or None"
        )


class Follows(Enum):
    """What must follow a stop for the sentence to end there."""

    ANYTHING = auto()  # an ordinary word is before it: "a company."
    NOTHING = auto()  # it never ends there: "Mr.", or "1." of a list
    OPENER = auto()  # one of OPENERS: "in the U.S.", "Wait...", "Yahoo!"
    NO_NUMBER = auto()  # no number and no small letter: "No.", "Jan."
    NO_SMALL_LETTER = auto()  # "in 1989.", or a quotation or bracket is still open


def sentence_end(text: str, complete: bool, by_word: bool = False) -> int | None:
    """The index just after the first sentence of `text` (IRCoT §3.1: only the first
    generated sentence is kept); None: not known yet, as in `stop_end`.

    An end must be right for every continuation: a full stop ends a sentence only before
    white space, because "Amazon." may become "Amazon.com". `by_word`: no model writes a
    word directly after a full stop, so that one after an ordinary word ends the
    sentence at once. A newline after its text always ends it. Differs from the paper:
    its program splits with spaCy, ours by rules.

    >>> text = "Dr. Hall made it. It is old."
    >>> text[: sentence_end(text, complete=False)]
    'Dr. Hall made it.'
    """
    before = ""  # the piece before this one
    for match in _PIECE.finditer(text):
        piece, space = match.groups()
        if "\n" in space:
            return match.end(1)
        if complete and match.end() == len(text):
            break
        word = piece.rstrip(CLOSING).rstrip(MARKS)
        stop = piece[len(word) :]
        if stop and stop[0] in MARKS:  # not 3.5, U.S, T.'s, Amazon.com
            start = match.start() + len(word)
            rule = _what_must_follow(text, start, word or before, stop)
            ends = _follow(rule, text, match.end(), complete, by_word)
            if ends is not False:
                return match.end(1) if ends else None
        before = piece
    return len(text.rstrip()) if complete else None


def _what_must_follow(text: str, start: int, piece: str, stop: str) -> Follows:
    """The rule for a stop, by the text before its start, and the last piece of that."""
    word = _BEFORE_WORD.split(piece)[-1].lstrip("'‘†")
    if stop[0] == "." and (word in NEVER_END or _LIST_NUMBER.fullmatch(text, 0, start)):
        return Follows.NOTHING
    if stop.startswith(("...", "…")) and not word[:1].islower():
        return Follows.OPENER if word else Follows.NOTHING
    if not stop.strip("!") and word[:1].isupper():  # Yahoo! Inc.
        return Follows.OPENER
    if stop[0] != "." or stop.startswith(".."):
        return Follows.NO_SMALL_LETTER
    if word in BEFORE_NUMBER:
        return Follows.NO_NUMBER
    if word in MAY_END or _ABBREVIATION.fullmatch(word):
        return Follows.OPENER
    if word[-1:].isdigit() or stop != "." or "." in word:
        return Follows.NO_SMALL_LETTER
    # the mark that closes an open quotation or bracket may follow the stop
    for opening, closing in ("“”", "()", "[]"):
        if text.count(opening, 0, start) > text.count(closing, 0, start):
            return Follows.NO_SMALL_LETTER
    is_open = text.count('"', 0, start) % 2 == 1
    return Follows.NO_SMALL_LETTER if is_open else Follows.ANYTHING


def _follow(
    rule: Follows, text: str, at: int, complete: bool, by_word: bool
) -> bool | None:
    """Whether the text from `at` on follows a rule; None if what is to come decides."""
    if rule is Follows.NOTHING:
        return False
    if rule is Follows.ANYTHING:
        return True if by_word or text[at - 1].isspace() else None
    first = _FIRST_WORD.search(text, at)
    if rule is Follows.OPENER:
        if not complete and (first is None or not first[2]):
            return None  # the word may go on
        return first is not None and first[1] in OPENERS and first[2] != "."
    if first is None:
        return True if complete else None
    if first[0][0].isdigit() and (rule is Follows.NO_NUMBER or text[at] == "("):
        return False  # No. 5, "Help!" (1965)
    return not first[0][0].islower()


def sentences(text: str) -> list[str]:
    """All sentences of a finished text, stripped, in order (IRCoT §3.1).

    >>> sentences("He is in the U.S. Army. She is not.")
    ['He is in the U.S. Army.', 'She is not.']
    """
    parts = []
    rest = text.strip()
    while rest:
        end = sentence_end(rest, complete=True)
        parts.append(rest[:end])
        rest = rest[end:].strip()
    return parts


def answer_from_chain(text: str) -> str | None:
    """What follows the last " answer is: " of a chain of thought on its line, without a
    final full stop; None if these words are missing (IRCoT §3.2, program).

    >>> answer_from_chain("The answer is: 5? No. So the answer is: 3.5 million.")
    '3.5 million'
    """
    # their program takes the last match: "the answer is: …" may be a thought on the way
    answers = _ANSWER.findall(text)
    return answers[-1].strip().removesuffix(".") if answers else None


def list_items(text: str) -> list[str]:
    """The items of a numbered list, one per line.

    >>> list_items("My plan:\\n1. Find it.\\n2) Read it.\\nStep 3: Answer.")
    ['Find it.', 'Read it.', 'Answer.']
    """
    return _ITEM.findall(text)


def gives_answer(sentence: str, released: bool = False) -> bool:
    """Whether this sentence ends a chain of thought: it has "answer is:" (IRCoT §3.1);
    if `released`, the pattern of `answer_from_chain` (IRCoT, program).
    """
    if released:
        return _ANSWER.match(sentence) is not None
    return "answer is:" in sentence


def remove_question_words(query: str) -> str:
    """The query without QUESTION_WORDS, as every query of IRCoT and OneR (program)."""
    words = query.split(" ")
    kept = [word for word in words if word.strip().lower() not in QUESTION_WORDS]
    return " ".join(kept)


def last_sentence(thoughts: Sequence[str], question: str) -> str:
    """The query of a retrieve step: the chain's last sentence (IRCoT §3.1)."""
    return thoughts[-1] if thoughts else question


def query_from(thoughts: Sequence[str], question: str) -> str:
    """The query of the retrieve step, without question words: the last sentence that is
    no reasoning sentence, else the question (IRCoT, program). Differs from the paper:
    `last_sentence`.

    >>> query_from(["The ship is General Hewitt.", "So, it is old."], "How old is it?")
    'The ship General Hewitt.'
    >>> query_from([], "Who made it?")
    'made it?'
    """
    # a conclusion names nothing new to look for: the query is the fact before it again
    facts = [t for t in thoughts if not t.lower().startswith(REASONING_OPENERS)]
    factual = [fact.strip() for fact in facts if not _SUM.search(fact)]
    return remove_question_words(last_sentence(factual, question) or question)


def normalise_answer(text: str) -> str:
    """A text without case, ASCII punctuation and articles (official SQuAD scorer).

    >>> normalise_answer("The first-party  Games")
    'firstparty games'
    """
    return " ".join(ARTICLE.sub(" ", text.lower().translate(NO_PUNCTUATION)).split())


def plain(text: str) -> str:
    """A text in one line, with control codes written out, such as "\\x1b"."""
    line = " ".join(text.split())
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in line
    )
