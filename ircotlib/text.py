"""Finds sentences, answers and queries in a model's text, and where that text stops."""

import re
import string
from collections.abc import Sequence

from ircotlib.program import LINE, SENTENCE, SENTENCE_OF_LINE, Stop

# A full stop after these words never ends a sentence; after the second list, not before
# a number; after the third, and an _ABBREVIATION, only before an OPENER (a name like
# Panic!: AFTER_NAMES).
NEVER_END = """Mr Mrs Ms Dr Prof Rev Fr Hon Gen Col Lt Capt Cpl Sgt Maj Adm Asst Gov Sen Rep Messrs
    Mme Mlle St Ste Mt Ft Vol vs approx cf ca est lit sq viz feat incl e.g i.e a.k.a""".split()
BEFORE_NUMBER = """No Nos no nos Op op Fig pp Art Ep bef aft fl
    Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec""".split()
MAY_END = """Atty Brig Ens Geo Insp Pres Sec Sta Sto Supt
    Inc INC LTD Pty Co Corp Bros Esq Dept Univ Ave Hwy al etc""".split()
AFTER_NAMES = """He She It They I We A An The This That These Those There His Her Its Their
    So Thus Therefore Hence Then However Also And But Or When While After Before Since Because If As
    Although Both Neither Either Who What Which Where""".split()
OPENERS = [*AFTER_NAMES, *"In On At By For Of From With You".split()]
SAYING = "said says asked asks cried cries replied replies shouted shouts".split()
# IRCoT's program: these words are left out of queries; such a sentence, or a sum, is no
# query
QUESTION_WORDS = "who what when where why which how does is".split()
REASONING_OPENERS = ("thus ", "thus,", "so ", "so,", "that is,", "therefore", "hence")

WORDS = (SENTENCE, LINE, SENTENCE_OF_LINE)  # the stops that are not texts
_STOP = re.compile(r"\n|[.!?…]+[\"'”’)\]]*")
# L, U.S, F.W, M.D, Ph.D; a capital and no vowel: Jr, Ltd, Msgr, Wm, Mk, Nr; (Ger,
# (1548, (died aft
_ABBREVIATION = re.compile(
    r"(?:[^\W\d_]{1,2}\.)*[^\W\d_]|[B-DF-HJ-NP-TV-XZ][b-df-hj-np-tv-xz]+"
)
_IN_BRACKET = re.compile(r"\(\s*(?:[^\W\d_]+|\d*)|\((?:[^)]*\W)?[a-z]{1,4}")
_LIST_NUMBER = re.compile(r"\s*\d{1,2}")
_NUMBER = r"\d[\d,]*(?:\.\d+)?"
_SUM = re.compile(rf"{_NUMBER} [+-] {_NUMBER} = {_NUMBER}")
_FENCE = re.compile(r"^\s*```\w*\s*|\s*```\s*$")
# IRCoT's program, but for its last full stop
_ANSWER = re.compile(r".* answer is:? (.*)")
# SQuAD's scorer, which HotpotQA's and MuSiQue's copy: ASCII punctuation only
ARTICLE = re.compile(r"\b(a|an|the)\b")
NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ITEM = re.compile(r"^ *(?:Step )?\d+ *[.):] *(\S.*?) *$", re.MULTILINE)


def stop_end(
    text: str, stop: Stop, complete: bool, by_word: bool = False
) -> int | None:
    """The index where the kept part of a text ends (IRCoT §3.1, §4.1); None: not known
    yet.

    `stop`: SENTENCE, and `by_word`: see `sentence_end`; SENTENCE_OF_LINE: nothing is
    kept of a text that begins with a newline; texts: before the first that is complete;
    None: at the end.
    """
    check_stop(stop)
    if stop == SENTENCE_OF_LINE and "\n" in text[: len(text) - len(text.lstrip())]:
        return 0
    if stop in (SENTENCE, SENTENCE_OF_LINE):
        return sentence_end(text, complete, by_word)
    stops = ("\n",) if stop == LINE else stop or ()
    ends = [(at + len(mark), at) for mark in stops if (at := text.find(mark)) >= 0]
    return min(ends)[1] if ends else len(text) if complete else None


def cut(text: str, stop: Stop) -> str:
    """The kept part of a finished text, stripped (see `stop_end`)."""
    return text[: stop_end(text, stop, complete=True)].strip()


def without_echo(text: str, prompt: str) -> str:
    """A chat model's reply without what a continuation of the prompt would not have:
    line breaks before it, a code fence or quotation marks around it, bold type, and the
    prompt's last line, or a part of it (ours).
    """
    text = _FENCE.sub("", text).replace("**", "").lstrip()
    if len(text) > 1 and text[0] == text[-1] == '"' and text.count('"') == 2:
        text = text[1:-1]
    label, colon, so_far = prompt.rstrip().rpartition("\n")[2].partition(":")
    for repeated in (label + colon, so_far.strip()):
        if repeated and text.lstrip().startswith(repeated):
            text = text.lstrip().removeprefix(repeated).lstrip()
    return text


def check_stop(stop: Stop) -> None:
    """Raise ValueError unless `stop` is None, one of WORDS or a tuple of non-empty
    texts.
    """
    if stop not in (None, *WORDS) and not (
        isinstance(stop, tuple) and stop and all(stop)
    ):
        raise ValueError(
            f"found stop {stop!r}, expected one of {WORDS}, a tuple of texts, or None"
        )


def sentence_end(text: str, complete: bool, by_word: bool = False) -> int | None:
    """The index just after the first sentence of `text` (IRCoT §3.1: only the first
    generated sentence is kept); None: not known yet, as in `stop_end`.

    An end must be right for every continuation: a full stop ends a sentence only before
    white space, because "Amazon." may become "Amazon.com". `by_word`: no model writes a
    word directly after a full stop, so that one after an ordinary word ends the
    sentence at once. A newline after its text always ends it. Differs from the paper:
    its program splits with spaCy, ours by rules.
    """
    for stop in _STOP.finditer(text, len(text) - len(text.lstrip())):
        before, after = text[: stop.start()], text[stop.end() :]
        if stop[0] == "\n":
            return len(before.rstrip())
        ends = _stop_ends(before, stop[0], after, complete, by_word)
        if ends is not False:
            return stop.end() if ends else None
    return len(text.rstrip()) if complete else None


def sentences(text: str) -> list[str]:
    """All sentences of a finished text, stripped, in order (IRCoT §3.1)."""
    parts, rest = [], text.strip()
    while rest:
        end = sentence_end(rest, complete=True)
        parts.append(rest[:end])
        rest = rest[end:].strip()
    return parts


def answer_from_chain(text: str) -> str | None:
    """The text after the last " answer is: " of a chain of thought, to the end of the
    line, without a final full stop; None if these words are missing (IRCoT §3.2,
    program).
    """
    # their program takes the last match: "the answer is: …" may be a thought on the way
    answers = _ANSWER.findall(text)
    return answers[-1].strip().removesuffix(".") if answers else None


def list_items(text: str) -> list[str]:
    """The items of a numbered list, one per line, such as "1. …", "2) …" or "Step 3:
    …".
    """
    return _ITEM.findall(text)


def gives_answer(sentence: str, released: bool = False) -> bool:
    """Whether this sentence of a chain of thought ends it (IRCoT §3.1: it contains
    "answer is:"). `released`: as in the authors' program the pattern of
    `answer_from_chain` decides.
    """
    return _ANSWER.match(sentence) is not None if released else "answer is:" in sentence


def remove_question_words(query: str) -> str:
    """The query without QUESTION_WORDS, as every query of IRCoT and OneR (IRCoT,
    program).
    """
    return " ".join(
        word for word in query.split(" ") if word.strip().lower() not in QUESTION_WORDS
    )


def last_sentence(thoughts: Sequence[str], question: str) -> str:
    """The query of the retrieve step: the chain's last sentence, else the question
    (IRCoT §3.1).
    """
    return thoughts[-1] if thoughts else question


def query_from(thoughts: Sequence[str], question: str) -> str:
    """The query of the retrieve step, without question words: the last sentence that is
    no reasoning sentence, else the question (IRCoT, program). Differs from the paper:
    `last_sentence`.
    """
    # a conclusion names nothing new to look for, so the fact before it is the query
    # again
    facts = [
        each.strip()
        for each in thoughts
        if not each.lower().startswith(REASONING_OPENERS)
    ]
    factual = [fact for fact in facts if not _SUM.search(fact)]
    return remove_question_words(last_sentence(factual, question) or question)


def normalise_answer(text: str) -> str:
    """Lower case, no ASCII punctuation, no a, an, the, single spaces (official SQuAD
    scorer).
    """
    return " ".join(ARTICLE.sub(" ", text.lower().translate(NO_PUNCTUATION)).split())


def _stop_ends(
    before: str, marks: str, after: str, complete: bool, by_word: bool
) -> bool | None:
    """Whether the sentence ends at a stop; None if that depends on text still to come."""
    if after and not after[0].isspace():
        return False  # 3.5, U.S, T.'s, Amazon.com
    following = after.lstrip()
    if "\n" in after[: len(after) - len(following)] or (complete and not following):
        return True
    kind = _stop_kind(before, marks)
    if kind == "never":
        return False
    if kind == "certain":
        return True if after or by_word else None
    if kind in ("before an opener", "after a name"):
        word = re.match(r"\W*(\w+)(\W?)", following)
        if not complete and (word is None or not word[2]):
            return None
        openers = AFTER_NAMES if kind == "after a name" else OPENERS
        return word is not None and word[1] in openers and word[2] != "."
    if (first := re.search(r"\w", following)) is None:
        return True if complete else None
    if first[0].isdigit() and (kind == "not before a number" or following[0] == "("):
        return False  # No. 5, "Help!" (1965)
    if first[0].islower() or kind != "not before X said":
        return not first[0].islower()
    _, said, more = (following + "  ").split(" ", 2)
    return said.strip(".,;:") not in SAYING if complete or more.strip() else None


def _stop_kind(before: str, marks: str) -> str:
    """What must follow a stop for the sentence to end, judging by the text before it."""
    word = re.split(r"[\s(\[\"“]", before.rstrip())[-1].lstrip("'‘†")
    if marks[0] == "." and (word in NEVER_END or _LIST_NUMBER.fullmatch(before)):
        return "never"
    if ")" not in marks and _IN_BRACKET.fullmatch(before, before.rfind("(")):
        return "before an opener"
    if marks.startswith(("...", "…")) and not word[:1].islower():
        return "before an opener" if word else "never"
    if not marks.strip("!") and word[:1].isupper():
        return "after a name"
    if marks[0] != "." or marks.startswith(".."):
        return "not before X said" if marks[-1] in '"”' else "not before lower case"
    if word in BEFORE_NUMBER:
        return "not before a number"
    if word in MAY_END or _ABBREVIATION.fullmatch(word):
        return "before an opener"
    if word[-1:].isdigit() or marks != "." or "." in word:
        return "not before lower case"
    # in a quotation or a bracket that is still open, the mark that closes it may follow
    # the stop
    closed = all(
        before.count(pair[0]) <= before.count(pair[1]) for pair in ("“”", "()", "[]")
    )
    return (
        "certain" if closed and before.count('"') % 2 == 0 else "not before lower case"
    )


def plain(text: str) -> str:
    """A text in one line, with control codes written out, such as "\\x1b"."""
    line = " ".join(text.split())
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in line
    )
