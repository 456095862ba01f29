"""The stems of our Porter stemmer beside those of nltk."""

import random

from nltk.stem.porter import PorterStemmer

from ircotlib.retrieval import porter

ENDINGS = "sses ies ss s eed ion ll y e".split()
ENDINGS += [*porter.LONG, *porter.SHORT, *porter.LAST]


def test_stems_are_those_of_nltk():
    theirs = PorterStemmer(mode=PorterStemmer.MARTIN_EXTENSIONS)
    chance = random.Random(4)
    for _ in range(20_000):
        start = "".join(chance.choices("aeiouybdlstwxzé", k=chance.randint(1, 6)))
        word = start + chance.choice(ENDINGS) + chance.choice(["", "", "s", "ed", "ing", "li"])
        assert porter.stem(word) == theirs.stem(word, to_lowercase=False), word
