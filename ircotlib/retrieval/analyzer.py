"""Turns text into terms as Lucene's EnglishAnalyzer does (Elasticsearch's `english`).

Words are those of Unicode's text segmentation (UAX #29), in lower case, without stop
words, stemmed. Differs from Lucene: characters newer than Unicode 12.1 are known; a few
symbols, keycaps and emoji with a text selector have other terms; a word of more than
255 characters stays whole.
"""

import re
from collections import defaultdict
from functools import lru_cache
from hashlib import sha256

import regex

# EnglishAnalyzer's own 33, of Lucene
STOP_WORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the "
    "their then there these they this to was will with".split()
)
# EnglishPossessiveFilter
POSSESSIVES = ("'s", "'S", "\u2019s", "\u2019S", "\uff07s", "\uff07S")


def analyze(text: str) -> list[str]:
    """The terms of a text in order, those of Elasticsearch's `english`.

    >>> analyze("The city of Joe's 1,000 relations")
    ['citi', 'joe', '1,000', 'relat']
    """
    return join_terms(text).split(" ")[1:]


def join_terms(text: str) -> str:
    """The terms, each preceded by a space, for an index that splits at spaces."""
    return "".join(map(_terms_of, text.split(" ")))


@lru_cache(1 << 18)  # 40 MB
def _terms_of(chunk: str) -> str:
    """The terms of the text between two spaces: a space always ends a word."""
    # marks that are never part of a word at its ends
    word = chunk.strip('.,"()').lower()
    if chunk.isascii() and word.isalnum():
        # "Paris," and "paris" have one entry in the cache
        return _term(word) if word == chunk else _terms_of(word)
    pattern = ASCII_WORD if chunk.isascii() else WORD
    return "".join(map(_term, pattern.findall(chunk)))


def _term(word: str) -> str:
    """The term of a word, preceded by a space; "" for a stop word."""
    if word.endswith(POSSESSIVES):
        word = word[:-2]
    # LowerCaseFilter goes by character: no final sigma, no dot above the i
    word = word.replace("\u03a3", "\u03c3").replace("\u0130", "i").lower()
    # StopFilter comes before the stems
    return "" if word in STOP_WORDS else " " + stem(word)


# The words of UAX #29 by the Word_Break property of their characters, each rule written
# with those before it. Single Han and Hiragana characters, runs of South-East Asian
# ones, flags and emoji are Lucene's.
PARTS = {
    # they join what precedes them (rule WB4)
    "x": r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*+",
    "hebrew": r"\p{WB=Hebrew_Letter}",
    "letter": r"[\p{WB=ALetter}\p{WB=Hebrew_Letter}]",
    "digit": r"\p{WB=Numeric}",
    "katakana": r"\p{WB=Katakana}",
    "in_letters": r"[\p{WB=MidLetter}\p{WB=MidNumLet}']",
    "in_digits": r"[\p{WB=MidNum}\p{WB=MidNumLet}']",
    "in_all": r"\p{WB=ExtendNumLet}",
    "single": r"[\p{Script=Han}\p{Script=Hiragana}]",
    "asian": r"\p{LB=SA}",
    "flag": r"\p{WB=Regional_Indicator}",
    "emoji": r"[[\p{Extended_Pictographic}\p{Emoji_Modifier}\u2605\u2607-\u2704]"
    r"--\p{WB=ALetter}]",
}
RULES = {
    "letters": "{hebrew}{x}(?:'{x}|\"{x}{hebrew}{x})"
    "|{letter}{x}(?:{in_letters}{x}{letter}{x})*+",
    "number": "{digit}{x}(?:{in_digits}{x}{digit}{x})*+",
    "run": "(?:(?:{letters}|{number})++|(?:{katakana}{x})++)",
    "word": "(?:{in_all}{x})*+{run}(?:(?:{in_all}{x})++{run})*+(?:{in_all}{x})*+",
    "picture": "{emoji}{x}(?:(?<=\u200d){emoji}{x})*+|{flag}{x}{flag}{x}",
    "any": "{word}|{picture}|(?:{asian}{x})++|{single}{x}",
}
for _name, _rule in RULES.items():
    PARTS[_name] = _rule.format_map(PARTS)
WORD = regex.compile(PARTS["any"], regex.VERSION1)
ASCII_RUN = r"(?:[A-Za-z]++(?:[:.'][A-Za-z]++)*+|[0-9]++(?:[,;.'][0-9]++)*+)++"
# finds the same words in ASCII text, several times faster
ASCII_WORD = re.compile(rf"_*+{ASCII_RUN}(?:_++{ASCII_RUN})*+_*+")

# Porter's stemmer (Porter 1980) with the changes of its author's program, which Lucene
# has, too: words of two characters stay, "bli" is there for "abli", and "logi" is new.
# A suffix comes before those that it ends with.
# fmt: off
STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize",
    "bli": "ble", "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous",
    "logi": "log", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al",
    "iviti": "ive", "biliti": "ble",
}
STEP_3 = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic",
    "ful": "", "ness": "",
}
STEP_4 = dict.fromkeys((
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent",
    "ou", "ism", "ate", "iti", "ous", "ive", "ize",
), "")
# fmt: on
# characters -> "v", "c" for all that is not a to z, too, and "y", which is either
FORMS = defaultdict(lambda: ord("c"), str.maketrans("aeiouy", "vvvvvy"))


def stem(word: str) -> str:
    """The stem of a word in lower case, by the steps of Porter's paper.

    >>> list(map(stem, ["ponies", "hopping", "falling", "filing", "relational", "by"]))
    ['poni', 'hop', 'fall', 'file', 'relat', 'by']
    """
    if len(word) <= 2:  # not in the paper: the author's program
        return word
    if word.endswith(("sses", "ies")):  # 1a
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if word.endswith("eed"):  # 1b
        if _measure(word[:-3]):
            word = word[:-1]
    elif word.endswith(("ed", "ing")):
        rest = word[:-2] if word.endswith("ed") else word[:-3]
        if "v" in _form(rest):
            word = _complete(rest)
    if word.endswith("y") and "v" in _form(word[:-1]):  # 1c
        word = word[:-1] + "i"
    word = _replace(word, STEP_2, 1)
    word = _replace(word, STEP_3, 1)
    if not word.endswith("ion"):
        word = _replace(word, STEP_4, 2)
    elif word[-4:-3] in ("s", "t") and _measure(word[:-3]) > 1:
        word = word[:-3]
    if word.endswith("e"):  # 5a
        measure = _measure(word[:-1])
        if measure > 1 or measure == 1 and not _is_short(word[:-1]):
            word = word[:-1]
    if word.endswith("ll") and _measure(word[:-1]) > 1:  # 5b
        word = word[:-1]
    return word


def _complete(word: str) -> str:
    """What has lost "ed" or "ing", as a word: "hopp" is "hop", "fil" is "file"."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if word[-2:-1] == word[-1] and _form(word).endswith("c"):
        return word if word[-1] in "lsz" else word[:-1]  # "fall" stays
    if _measure(word) == 1 and _is_short(word):
        return word + "e"
    return word


def _replace(word: str, suffixes: dict[str, str], least: int) -> str:
    """Replace a suffix, if what precedes it has this measure at least."""
    for suffix, other in suffixes.items():
        if word.endswith(suffix):
            rest = word.removesuffix(suffix)
            return word if _measure(rest) < least else rest + other
    return word


def _measure(word: str) -> int:
    """The paper's m: how often a consonant follows a vowel, twice in "private"."""
    return _form(word).count("vc")


def _form(word: str) -> str:
    """The word with "c" for each consonant and "v" for each vowel: "toy" is "cvc"."""
    form = word.translate(FORMS)
    while "y" in form:  # a vowel only after a consonant
        before, _, after = form.partition("y")
        form = before + ("v" if before.endswith("c") else "c") + after
    return form


def _is_short(word: str) -> bool:
    """Whether a word ends as "hop" does (the paper's *o)."""
    return word[-1:] not in "wxy" and _form(word).endswith("cvc")


# changes whenever the terms of a text might: an index or cache made with another one
# is stale
PROBE = (
    'km² 2½ DJマックス ♯ Joe’s 1,000.5 a_b U.S. ראב"י İΑΣ 漢字 ไทย 👩\u200d👧 🇫🇷 revved'
)
MADE_OF = WORD.pattern, ASCII_WORD.pattern, sorted(STOP_WORDS), analyze(PROBE)
FINGERPRINT = sha256(repr(MADE_OF).encode()).hexdigest()[:16]
