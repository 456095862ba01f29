"""The analyzer against what Elasticsearch 9.0.4 (analyzer `english`) answered."""

import hashlib
import json
import random

import pytest

from ircotlib.retrieval import analyzer
from ircotlib.retrieval.analyzer import ASCII_WORD, WORD, analyze

# Text -> its terms joined by spaces, as the server answered (POST _analyze).
SERVER = [
    ("Joe's O'Neil's James' children's", "joe o'neil jame children"),
    ("Joe’s Joe＇s JOE'S", "joe joe joe"),
    ("don't won’t y'all 'tis rock'n'roll", "don't won’t y'all ti rock'n'rol"),
    ("1,000,000.50 3.14 1;2 1:2 50% $9.99", "1,000,000.50 3.14 1;2 1 2 50 9.99"),
    ("x² km² 2½ 33⅓ H₂O 10⁻³", "x km 2 33 h o 10"),
    ("İstanbul IŞIK ıI", "istanbul işik ıi"),
    ("ΟΔΥΣΣΕΥΣ ΣΑΣ", "οδυσσευσ σασ"),
    ("café café naïve Dvořák", "café café naïv dvořák"),
    ("soft\xadhyphen zero\u200bwidth", "soft\xadhyphen zero width"),
    ("non\u200djoiner zw\u200cnj", "non\u200djoin zw\u200cnj"),
    ("word\u2060joiner \ufeffBOM a\u0301\u0302s", "word\u2060join bom a\u0301\u0302"),
    ("\u05d0'\u05d0' \u05d0\"\u05d0\"", "\u05d0'\u05d0' \u05d0\"\u05d0"),
    ("\u05d0'1", "\u05d0'1"),
    ("(Arabic: \u0627\u0644\u062e\u200e)", "arab \u0627\u0644\u062e\u200e"),
    ("\u05e2\u05d1\u05e8\u05d9\u05ea\u200e", "\u05e2\u05d1\u05e8\u05d9\u05ea\u200e"),
    ("DJマックス モンスター3rd", "dj マックス モンスター 3rd"),
    ("東京タワー ひらがな", "東 京 タワー ひ ら が な"),
    ("漢字かな交じり", "漢 字 か な 交 じ り"),
    ("ภาษาไทย abcไทย123", "ภาษาไทย abc ไทย 123"),
    ("C♯ ♈ ♠ ☆ ★ ✓ → ∞ №5 ©2020 ™", "c ♯ ♈ ♠ ★ 5 © 2020 ™"),
    ("🇫🇷🇩🇪🇬 a🇫🇷", "🇫🇷 🇩🇪 🇫🇷"),
    ("𠀋 𠮷野家", "𠀋 𠮷 野 家"),
]

QUOTES = "' \" ’ ・ ‧ ·"
NO_TERMS = ["It", "WAS (Not Was)", "... --- !!! ?", QUOTES, " \t\n\r\u2028", ""]
# Texts that are their own terms: Hebrew, Arabic, Indic, Asian, emoji.
SAME = [
    '\u05e8\u05d0\u05d1"\u05d9 \u05e6\u05d4"\u05dc \u05d0\'',
    "\u05d2'\u05d9\u05e8\u05e4\u05d4",
    "\u0627\u0644\u0639\u0631\u0628\u064a\u0629\u200c\u0647\u0627",
    "\u06f1\u06f2\u06f3",
    "\u0939\u093f\u0928\u094d\u0926\u0940",
    "\u092d\u093e\u0937\u093e \u0915\u094d\u200d\u0937",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f44d\U0001f3fd",
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
]
ALL = [*SERVER, *((text, "") for text in NO_TERMS), *((text, text) for text in SAME)]


@pytest.mark.parametrize(("text", "terms"), ALL)
def test_terms_are_those_of_the_server(text, terms):
    assert analyze(text) == terms.split(" ") * bool(terms)


def test_real_texts_give_the_terms_that_were_equal_to_the_servers(shared):
    """All 2Wiki texts, compared with the server when this number was taken."""
    path = shared / "2wikimultihopqa" / "dev_657.json"
    texts = {}
    for record in json.loads(path.read_text(encoding="utf-8")):
        for title, lines in record["context"]:
            texts |= dict.fromkeys((record["question"], title, " ".join(lines)))
    terms = "\n".join(" ".join(analyze(text)) for text in texts)
    assert (len(texts), len(terms.split())) == (9279, 233555)
    assert hashlib.sha256(terms.encode()).hexdigest()[:16] == "4b5bf460fc616029"


def test_the_fast_pattern_finds_the_words_of_the_full_one():
    chance = random.Random(1)
    for _ in range(1500):
        text = "".join(chance.choices("aZ19_'.,:;\"-# \n\t", k=12))
        assert ASCII_WORD.findall(text) == WORD.findall(text), text


def test_stems_are_those_of_nltk():
    needs = "needs pip install -e '.[dev]'"
    nltk = pytest.importorskip("nltk.stem.porter", reason=needs)
    theirs = nltk.PorterStemmer(mode=nltk.PorterStemmer.MARTIN_EXTENSIONS)
    endings = ["sses", "ies", "ss", "s", "eed", "ion", "ll", "y", "e"]
    endings += [*analyzer.STEP_2, *analyzer.STEP_3, *analyzer.STEP_4]
    chance = random.Random(4)
    for _ in range(5_000):
        word = "".join(chance.choices("aeiouybdlstwxzé", k=chance.randint(1, 6)))
        word += chance.choice(endings)
        word += chance.choice(["", "", "s", "ed", "ing", "li"])
        assert analyzer.stem(word) == theirs.stem(word, to_lowercase=False), word
