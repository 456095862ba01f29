"""The stems of our Porter stemmer beside those of nltk, which is optional."""

import random

import pytest

nltk = pytest.importorskip("nltk.stem.porter", reason="compares with nltk: pip install nltk")

from ircotlib.retrieval import porter

ENDINGS = (*porter.PLURALS, *porter.LONG, *porter.SHORT, *porter.LAST, "eed", "ion", "ll", "y", "e")


def test_stems_are_those_of_nltk():
    theirs, chance = nltk.PorterStemmer(mode=nltk.PorterStemmer.MARTIN_EXTENSIONS), random.Random(4)
    for _ in range(20_000):
        start = "".join(chance.choices("aeiouybdlstwxzé", k=chance.randint(1, 6)))
        word = start + chance.choice(ENDINGS) + chance.choice(["", "", "s", "ed", "ing", "li"])
        assert porter.stem(word) == theirs.stem(word, to_lowercase=False), word
