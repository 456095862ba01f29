"""Turns text into terms as Lucene's EnglishAnalyzer does (Elasticsearch's `english`).

Words are those of Unicode's text segmentation (UAX #29), in lower case, without stop
words, stemmed. Differs from Lucene: characters newer than Unicode 12.1 are known; a few
symbols, keycaps and emoji with a text selector have other terms; a word of more than
255 characters stays whole.
"""

import re
from functools import cache, lru_cache

import regex

# changes whenever the terms of a text may: an index or cache made with another one is
# stale (a test says when; it is no hash made here, which would need a stem at once)
FINGERPRINT = "b1366acec86ee5d7"
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


def stem(word: str) -> str:
    """The stem of a word in lower case.

    >>> list(map(stem, ["ponies", "hopping", "falling", "filing", "relational", "by"]))
    ['poni', 'hop', 'fall', 'file', 'relat', 'by']
    """
    return _stemmer().stem(word, to_lowercase=False)


@cache
def _stemmer():
    # imported where a stem is first needed: it takes a second or two
    from nltk.stem.porter import PorterStemmer

    # Lucene has the changes of Porter's own program (to Porter 1980), too: words of two
    # characters stay, "bli" is there for "abli", and "logi" is new
    return PorterStemmer(mode=PorterStemmer.MARTIN_EXTENSIONS)
