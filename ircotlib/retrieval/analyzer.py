"""Turns text into terms as Lucene's EnglishAnalyzer does (Elasticsearch's analyzer `english`): it
splits the text into words, lower-cases them, drops stop words and stems the rest.

Words follow Unicode's text segmentation (UAX #29) as Lucene's StandardTokenizer implements it, with
the characters of Unicode 12.1. Differs from Lucene: the letter-like pictographs (ℹ Ⓜ 🅰 🅱 🅾 🅿) next
to a zero-width joiner stay letters.
"""

import re
from collections.abc import Iterator
from hashlib import sha256

import regex

from ircotlib.retrieval import porter

STOP_WORDS = frozenset(  # EnglishAnalyzer's own 33, of Lucene
    """
    a an and are as at be but by for if in into is it no not of on or such that the their then there
    these they this to was will with
    """.split()
)
POSSESSIVES = ("'s", "'S", "\u2019s", "\u2019S", "\uff07s", "\uff07S")  # EnglishPossessiveFilter
MOST = 1 << 18  # chunks remembered, plus as many older ones: 80 MB
# of a word, in UTF-16 code units; the rest becomes the next word (StandardTokenizer's default)
MAX_LENGTH = 255

# Characters that became part of words, or combining, after Unicode 12.1. Lucene's tokenizer does
# not know them.
LATER = """
    B8 2E5-2EB 558 55A 55F 58A-58C 5C8-5C9 870-89F 8B5 8BE-8D2 B53-B55 C3C C5C-C5D CDC-CDD CF3 D04
    D81 ECE 170D 1715-171F 180F 1ABF-1AF0 1B4C 1C89-1C8A 1DFA 208F 209D-209F 2C2F 2C5F 31BB-31BF
    4DB6-4DBF 9FF0-9FFF A708-A716 A7C0-A7C1 A7C7-A7F6 A82C AB68-AB6D 10570-105F3 10780-107BF
    10940-10959 10D40-10EFF 10F70-10FC4 11070-11075 110C2 11147 111CE-111CF 1123F-11241 11380-113E2
    11460-11461 116D0-116E3 11740-11746 11900-11959 11AB0-11ABF 11B0A-11BF9 11DB0-11DF1 11F00-11FB0
    1246F-1247F 12550-12FF0 1342F 13439-143FA 16100-16139 16A70-16AC9 16D40-16D79 16EA0-16ED3 16FE2
    16FE4-1AFFE 1B11F-1B132 1B155 1B168 1CCF0-1D128 1D250-1D281 1D6A6 1DF00-1DFFF 1E030-1E08F
    1E290-1E2AE 1E4D0-1E7FE 1FBF0-1FBF9 2A6D7-2A6DF 2B735-2B73F 2B81E 2CEA2-2CEAD 2EBF0-2EE5D
    30000-33479
"""
SIGNS_BELOW = "600-605 6DD 70F 8E2 110BD 110CD"  # format characters in 12.1, part of words later
# Pictographs of version 12.1 that later versions no longer list as pictographs.
PICTOGRAPHS = """
    2388 2605 2607-2612 2616-2685 2690-2704 270E-2711 2765-2767 1F000-1F0F5 1F10D-1F10F 1F12F
    1F16C-1F16F 1F1AD-1F1AE 1F260-1F3F6 1F4FE 1F546-1F5F9 1F6C6-1F6F2 1F774-1F77F 1F7D5-1F7FF
    1F8B0-1F8D8 1FA00-1FBFF
"""


def analyze(text: str) -> list[str]:
    """The terms of a text in order, equal to those of Elasticsearch's `english`."""
    return join_terms(text).split(" ")[1:]


def join_terms(text: str) -> str:
    """The terms of a text, each preceded by a space, for an index that splits at spaces."""
    return "".join([CHUNKS[chunk] for chunk in text.split(" ")])


class Chunks(dict):
    """The terms of each recent chunk, the text between two spaces: a space always ends a word."""

    def __init__(self):
        super().__init__()
        self.older: dict[str, str] = {}

    def __missing__(self, chunk: str) -> str:
        if len(self) >= MOST:
            self.older = dict(self)
            self.clear()
        terms = self.older.get(chunk)
        if terms is None:
            word = chunk.strip('.,"()').lower()  # marks that are never part of a word at its ends
            if not (chunk.isascii() and word.isalnum() and len(word) <= MAX_LENGTH):
                terms = "".join(map(_term, _words(chunk)))
            else:
                terms = _term(word) if word == chunk else self[word]
        self[chunk] = terms
        return terms


def _words(chunk: str) -> list[str]:
    if len(chunk) * 2 > MAX_LENGTH:  # a character has at most two units
        return list(_cut_words(chunk))
    return (ASCII_WORD if chunk.isascii() else WORD).findall(chunk)


def _term(word: str) -> str:
    """The term of a word, preceded by a space; "" for a stop word."""
    word = _lower(word[:-2] if word.endswith(POSSESSIVES) else word)
    return "" if word in STOP_WORDS else " " + _stem(word)  # StopFilter comes before the stems


def _lower(word: str) -> str:
    """Lower case character by character: no final sigma, no dot above the i."""
    return word.replace("\u03a3", "\u03c3").replace("\u0130", "i").lower()  # LowerCaseFilter


def _stem(word: str) -> str:
    """Porter's stem; a character beyond U+FFFF counts as two UTF-16 code units, as in Lucene."""
    if word.isascii() or max(word) <= "\uffff":
        return porter.stem(word)  # PorterStemFilter
    code = word.encode("utf-16-le")
    units = "".join(chr(low | high << 8) for low, high in zip(code[::2], code[1::2]))
    return porter.stem(units).encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _cut_words(chunk: str) -> Iterator[str]:
    """The words of a chunk, each as long as possible within MAX_LENGTH. A search sees so many
    characters beyond each place where a word may begin, not the whole rest, which would take the
    square of the time.
    """
    start = 0
    while start < len(chunk):
        match = WORD.search(chunk, start, start + 2 * MAX_LENGTH)
        if not match or match.start() > start + MAX_LENGTH:
            start += MAX_LENGTH
            continue
        first = match.start()
        units = match[0].encode("utf-16-le")
        if len(units) > 2 * MAX_LENGTH:
            window = units[: 2 * MAX_LENGTH].decode("utf-16-le", "ignore")
            match = WORD.match(chunk, first, first + len(window))
        if match:
            yield match[0]
        start = match.end() if match else first + 1


# The parts of the pattern: first characters by their Word_Break property in Unicode 12.1. `x`: any
# number of combining and format characters, which join what precedes them (rule WB4); `y`: the same
# without variation selectors.
_LATER, _BELOW, _PICTOGRAPHS = (
    "".join(re.sub(r"\w+", lambda code: rf"\U{code[0]:0>8}", ranges).split())
    for ranges in (LATER, SIGNS_BELOW, PICTOGRAPHS)
)
_EXTEND = rf"[\p{{WB=Extend}}\p{{WB=Format}}\p{{WB=ZWJ}}{_BELOW}]--[{_LATER}]"
_WIDE_DIGIT = r"[\p{InHalfwidth_And_Fullwidth_Forms}&&\p{Nd}]"
PARTS = {
    "x": f"[{_EXTEND}]*+",
    "y": f"[{_EXTEND}--[\\uFE0E\\uFE0F]]*",
    "letter": rf"[[\p{{WB=ALetter}}\p{{WB=Hebrew_Letter}}]--[{_LATER}{_BELOW}]]",
    "hebrew": r"\p{WB=Hebrew_Letter}",
    "digit": rf"[[\p{{WB=Numeric}}{_WIDE_DIGIT}]--[\u19DA{_LATER}{_BELOW}]]",
    "katakana": rf"[\p{{WB=Katakana}}--[{_LATER}]]",
    "joins_letters": rf"[[\p{{WB=MidLetter}}\p{{WB=MidNumLet}}']--[{_LATER}]]",
    "joins_digits": r"[\p{WB=MidNum}\p{WB=MidNumLet}'\uFE10\uFE14]",
    "joins_all": r"\p{WB=ExtendNumLet}",
    "pictograph": rf"[[\p{{Extended_Pictographic}}{_PICTOGRAPHS}]"
    r"--[\p{WB=ALetter}\p{Emoji_Modifier}]]",
    "tone": r"\p{Emoji_Modifier}",
    "flag": r"\p{WB=Regional_Indicator}",
    "alone": rf"[[\p{{Script=Han}}\p{{Script=Hiragana}}]--[{_LATER}]]",
    "asian": rf"[[\p{{LB=SA}}\u19DA]--[{_LATER}]]",
    "zwj": r"\u200D",
}
# The words of UAX #29, each rule written with the characters and rules before it, without ever
# backtracking over a word. Emoji, flags, single Han and Hiragana characters and runs of South-East
# Asian characters are added: they have no rule there.
RULES = {
    "letters": "{hebrew}{x}(?:'{x}|\"{x}{hebrew}{x})"
    "|{letter}{x}(?:{joins_letters}{x}{letter}{x})*+",
    "number": "{digit}{x}(?:{joins_digits}{x}{digit}{x})*+",
    "run": "(?:(?:{letters}|{number})++|(?:{katakana}{x})++)",
    "word": "(?:{joins_all}{x})*+{run}(?:(?:{joins_all}{x})++{run})*+(?:{joins_all}{x})*+",
    "picture": "{pictograph}{y}+\\uFE0F?+",
    "emoji": "(?:{zwj}*+{picture}|{tone}{y}+)(?:{zwj}*+(?<={zwj}){picture}|{zwj}{tone}{y}+)*+",
    "keycap": "[#*]{y}\\uFE0F?\\u20E3{y}+",
    "any": "{word}|{emoji}|{keycap}|{flag}{x}{flag}{x}|(?:{asian}{x})++|{alone}{x}",
}
for _name, _rule in RULES.items():
    PARTS[_name] = _rule.format_map(PARTS)


def _digest() -> str:
    """A hash of all that decides the words of a text; their stems do not change."""
    probe = (
        "The km² 2½ DJマックス ♯ Joe’s O'Neil's 1,000.5 a_b U.S. ראב\"י İΑΣ 漢字 ไทย "
        "👩\u200d👧 🇫🇷 #\ufe0f\u20e3 " + 300 * "x"
    )
    words = [_lower(word) for chunk in probe.split(" ") for word in _words(chunk)]
    made_of = WORD.pattern, ASCII_WORD.pattern, sorted(STOP_WORDS), words
    return sha256(repr(made_of).encode()).hexdigest()[:16]


WORD = regex.compile(PARTS["any"], regex.VERSION1)
ASCII_RUN = r"(?:[A-Za-z]++(?:[:.'][A-Za-z]++)*+|[0-9]++(?:[,;.'][0-9]++)*+)++"
# finds the same words in ASCII text, several times faster
ASCII_WORD = re.compile(rf"_*+{ASCII_RUN}(?:_++{ASCII_RUN})*+_*+")
CHUNKS = Chunks()
# Changes whenever the terms of a text might: an index or cache made with another one is stale. The
# terms of this digest keep the fingerprint they always had, and so all that was made of them.
FINGERPRINT = {"43e37dd27cb9f1dd": "4472b4ffe95a3a15"}.get(_digest(), _digest())
