"""Paragraphs of pseudo-words with the statistics of real ones, as many as wanted, from a seed: what
the retrieval benchmark searches.

The frequency of a word by its rank is a Zipf-Mandelbrot law with a steeper tail (two exponents, as
Gerlach and Altmann 2013 find for English) that has no end, so the vocabulary grows with the text as
Heaps' law says. The constants are fitted by hand to 12,512 paragraphs of the development questions
of HotpotQA, 2WikiMultihopQA and MuSiQue; test_benchmark_retrieval.py compares.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from ircotlib.data import Paragraph
from ircotlib.retrieval.analyzer import STOP_WORDS

FREQUENT = """
    the of and in a was is to by as for on he his with it an from at first that also which who has
    her she its or are were their this had be they but into not two all one when there such then
    these no after will if during
"""
FUNCTION_WORDS = FREQUENT.split()
FUNCTION_SHARE = 0.38  # of all words; among themselves they follow (rank + 1) ** -1.4
# the other words: (rank + SHIFT) ** -HEAD, beyond BEND ever nearer to rank ** -TAIL
SHIFT, HEAD, BEND, TAIL = 18.0, 0.75, 2800.0, 1.72
TABLE = 1 << 17  # ranks beyond are drawn from the tail alone
REPEATED = 0.18  # of the words of a text: taken from earlier in it
# of a text in words: mean, deviation of the logarithm, limits
LENGTH, SPREAD, SHORTEST, LONGEST = 44.0, 0.62, 8, 400
TITLE_LENGTHS = (0.08, 0.42, 0.3, 0.2)  # shares of titles of 1, 2, 3 and 4 words
TITLE_FROM = 60  # rank of the most frequent word in titles
NAMED = 0.94  # of texts: begin with their title
# 1 word in 200 each; "": capital
FORMS = (
    20 * ["{},"]
    + 10 * ["{}."]
    + 3 * ["({}"]
    + 3 * ["{})"]
    + 6 * ['"{}"']
    + 2 * ["{}'s"]
    + 12 * [""]
)
BLOCK = 2000  # paragraphs drawn at once
CONSONANTS, VOWELS, CODAS = (
    "b c d f g h k l m n p r s t v w br ch cl dr gr pl sh st th tr",
    "a e i o u ai ea ou",
    "n r l s t m",
)
SYLLABLES = [
    first + vowel + coda
    for first in CONSONANTS.split()
    for vowel in VOWELS.split()
    for coda in ("", "", *CODAS.split())
]
ENDINGS = "s s ed ing er ly e es al ation ment ness y ive ous ities ized ful ance able"
ACCENTS = str.maketrans("aeiou", "áéíöü")


def write_paragraphs(count: int, seed: int = 0) -> Iterator[Paragraph]:
    """A corpus as a stream; a longer one begins with the shorter one of the same seed."""
    chance = np.random.default_rng(seed)
    for start in range(0, count, BLOCK):
        for number, (title, text) in enumerate(_draw_block(chance), start=start):
            if number < count:
                yield Paragraph(f"p{number}", title, text)


def write_queries(
    paragraphs: Sequence[Paragraph], count: int, seed: int = 1, words: int = 20, noise: int = 8
) -> list[str]:
    """Queries of `words` words at most: `noise` words of any paragraphs, then words of one
    paragraph in their order.
    """
    chance, queries = np.random.default_rng(seed), []
    for place, *others in chance.integers(len(paragraphs), size=(count, 1 + noise)).tolist():
        own = paragraphs[place].text.split()
        kept = sorted(chance.permutation(len(own))[: words - noise].tolist())
        foreign = [str(chance.choice(paragraphs[other].text.split())) for other in others]
        queries.append(" ".join(foreign + [own[position] for position in kept]))
    return queries


def _draw_block(chance: np.random.Generator) -> Iterator[tuple[str, str]]:
    """Titles and texts; a text begins with its title as a rule, and repeats its own words."""
    lengths = (
        chance.lognormal(np.log(LENGTH) - SPREAD**2 / 2, SPREAD, BLOCK)
        .astype(int)
        .clip(SHORTEST, LONGEST)
    )
    title_lengths = 1 + chance.choice(len(TITLE_LENGTHS), BLOCK, p=TITLE_LENGTHS)
    titles = [
        _capitalize(spell(rank))
        for rank in _draw_ranks(chance, title_lengths.sum(), TITLE_FROM).tolist()
    ]
    words = list(map(spell, _repeat(chance, _draw_ranks(chance, lengths.sum()), lengths).tolist()))
    _punctuate(words, chance)
    named = chance.random(BLOCK) < NAMED
    for end, length, title_end, title_length, is_named in zip(
        lengths.cumsum(), lengths, title_lengths.cumsum(), title_lengths, named
    ):
        title, text = titles[title_end - title_length : title_end], words[end - length : end]
        if is_named:
            text[:title_length] = title
        yield " ".join(title), _capitalize(" ".join(text)).rstrip(",.") + "."


def _draw_ranks(chance: np.random.Generator, count: int, lowest: int = 1) -> np.ndarray:
    """Ranks as frequent as the law says, none below the lowest."""
    start = SHARES[lowest - 2] if lowest > 1 else 0.0
    drawn = start + (1 - start) * chance.random(count)
    ranks = np.searchsorted(SHARES, drawn, side="right") + 1
    beyond = ranks > len(SHARES)
    rest = np.maximum((1 - drawn[beyond]) / (1 - SHARES[-1]), 1e-12)
    ranks[beyond] = len(SHARES) - TABLE + TABLE * rest ** (-1 / (TAIL - 1))
    return ranks


def _add_up_shares() -> np.ndarray:
    """Shares of the words in all text, added up from the most frequent on; what is left of 1 lies
    beyond the table.
    """
    ranks = np.arange(1, TABLE + 1)
    content = (ranks + SHIFT) ** -HEAD * (1 + ranks / BEND) ** (HEAD - TAIL)
    content *= (1 - FUNCTION_SHARE) / (content.sum() + content[-1] * TABLE / (TAIL - 1))
    function = (np.arange(len(FUNCTION_WORDS)) + 2.0) ** -1.4
    return np.concatenate([function * FUNCTION_SHARE / function.sum(), content]).cumsum()


SHARES = _add_up_shares()


def _repeat(chance: np.random.Generator, ranks: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The words of texts, some of them replaced by an earlier one of the same text."""
    # words of the text before each
    before = np.arange(len(ranks)) - np.repeat(lengths.cumsum() - lengths, lengths)
    back = np.ceil(chance.random(len(ranks)) * before).astype(int)
    return ranks[np.arange(len(ranks)) - np.where(chance.random(len(ranks)) < REPEATED, back, 0)]


def _punctuate(words: list[str], chance: np.random.Generator) -> None:
    """Marks and capitals on words that are no function words, in place."""
    drawn = chance.random(len(words))
    for place in np.flatnonzero(drawn < len(FORMS) / 200).tolist():
        if words[place] not in FUNCTION_WORDS:
            words[place] = FORMS[int(200 * drawn[place])].format(words[place]) or _capitalize(
                words[place]
            )


@lru_cache(maxsize=1 << 19)
def spell(rank: int) -> str:
    """The word of a rank: function words first, then numbers, names, compounds, and words with the
    endings that the stemmer knows.
    """
    if rank <= len(FUNCTION_WORDS):
        return FUNCTION_WORDS[rank - 1]
    kind = _scatter(rank, 1000)
    if kind < 70:
        return str(1800 + rank % 230 if rank < 5000 else rank % 9973)
    if kind < 470:
        name = _root(rank).capitalize()
        return name.translate(ACCENTS) if kind < 82 else name
    if kind < 500:
        return f"{_root(rank)}-{_root(TITLE_FROM + _scatter(rank, 500))}"
    # the others share the root of a more frequent word
    root = _root(rank if kind < 620 else TITLE_FROM + _scatter(rank + 1, rank))
    endings = ENDINGS.split()
    return root if kind < 580 else root + endings[_scatter(rank + 2, len(endings))]


def _scatter(number: int, below: int) -> int:
    return (number * 0x9E3779B97F4A7C15 >> 32 & 0xFFFFFFFF) % below


def _root(number: int) -> str:
    """A number in syllables, never a stop word."""
    syllables = []
    while number:
        number, place = divmod(number, len(SYLLABLES))
        syllables.append(SYLLABLES[(place * 577 + 31 * len(syllables)) % len(SYLLABLES)])
    root = "".join(syllables) + ("m" if len(syllables) == 1 else "")
    return root + "m" if root in STOP_WORDS else root


def _capitalize(word: str) -> str:
    return word[:1].upper() + word[1:]
