"""The analyzer against what a real Elasticsearch 9.0.4 (analyzer `english`) answered."""

import hashlib
import json
import random
import time
from pathlib import Path

import pytest

from ircotlib.retrieval import analyzer
from ircotlib.retrieval.analyzer import ASCII_WORD, MAX_LENGTH, WORD, analyze

# Text -> its terms joined by spaces, as the server answered (POST _analyze).
SERVER = [
    ("The quick brown foxes are jumping over the lazy dogs", "quick brown fox jump over lazi dog"),
    ("To be or not to be, that is the question", "question"),
    ("Joe's O'Neil's James' children's", "joe o'neil jame children"),
    ("Joe’s Joe＇s JOE'S", "joe joe joe"),
    ("don't won’t y'all 'tis rock'n'roll", "don't won’t y'all ti rock'n'rol"),
    ("S's 's", "s s"),
    ("1,000,000.50 3.14 1;2 1:2 50% $9.99", "1,000,000.50 3.14 1;2 1 2 50 9.99"),
    ("U.S.A. e.g. a.m. 3a.m 5p.m.", "u.s.a e.g a.m 3a.m 5p.m"),
    ("12:30 a:b a,b a;b a-b a/b", "12 30 a:b b b b b"),
    ("snake_case __init__ _ a_1_b", "snake_cas __init__ a_1_b"),
    ("2nd 3rd 1990s 747-400 F.C.", "2nd 3rd 1990 747 400 f.c"),
    ("x² km² 2½ 33⅓ H₂O 10⁻³", "x km 2 33 h o 10"),
    ("revved hopping falling hissing agreed", "rev hop fall hiss agre"),
    ("apology possibly terribly geology", "apolog possibl terribl geologi"),
    ("national relational conditional nationalization", "nation relat condit nation"),
    ("flies dies ties tying skies by sky", "fli di ti ty ski sky"),
    ("as is us ass sing bing bling", "us ass sing bing bling"),
    ("caresses ponies cats cease rate controlling roll", "caress poni cat ceas rate control roll"),
    ("adjustment adoption opinion electricity electrical", "adjust adopt opinion electr electr"),
    ("İstanbul IŞIK ıI", "istanbul işik ıi"),
    ("ΟΔΥΣΣΕΥΣ ΣΑΣ", "οδυσσευσ σασ"),
    ("Straße ẞ ŒUVRE Ǆ", "straße ß œuvr ǆ"),
    ("ﬁnance ﬀ", "ﬁnanc ﬀ"),
    ("café café naïve Dvořák", "café café naïv dvořák"),
    (
        "soft\xadhyphen zero\u200bwidth non\u200djoiner zw\u200cnj",
        "soft\xadhyphen zero width non\u200djoin zw\u200cnj",
    ),
    ("word\u2060joiner \ufeffBOM a\u0301\u0302s", "word\u2060join bom a\u0301\u0302"),
    ("narrow\u202fspace no\xa0break thin\u2009space", "narrow\u202fspac break thin space"),
    ("\u05d0'\u05d0' \u05d0\"\u05d0\" \u05d0'1", "\u05d0'\u05d0' \u05d0\"\u05d0 \u05d0'1"),
    (
        "(Arabic: \u0627\u0644\u062e\u0644\u064a\u062c\u200e) \u05e2\u05d1\u05e8\u05d9\u05ea\u200e",
        "arab \u0627\u0644\u062e\u0644\u064a\u062c\u200e \u05e2\u05d1\u05e8\u05d9\u05ea\u200e",
    ),
    ("DJマックス モンスター3rd", "dj マックス モンスター 3rd"),
    ("スター・ウォーズ ﾊﾝｶｸ ー゛", "スター ウォーズ ﾊﾝｶｸ ー゛"),
    ("東京タワー ひらがな 漢字かな交じり", "東 京 タワー ひ ら が な 漢 字 か な 交 じ り"),
    ("１２３ＡＢＣ １．５", "１２３ａｂｃ １．５"),
    ("〆〇々 仝", "〇 々 仝"),
    ("ภาษาไทย abcไทย123", "ภาษาไทย abc ไทย 123"),
    ("กั1 aกั", "กั 1 กั"),
    ("C♯ ♈ ♠ ☆ ★ ✓ → ∞ №5 ©2020 ™", "c ♯ ♈ ♠ ★ 5 © 2020 ™"),
    ("C# C++ AT&T R&B #1 @user", "c c t r b 1 user"),
    ("° º ª µ Ω ℃ Å", "º ª µ ω å"),
    (
        "\u2139\ufe0f \u24c2 \U0001f170\U0001f171 \u3030 \u3297",
        "\u2139\ufe0f \u24dc \U0001f170\U0001f171 \u3030 \u3297",
    ),
    ("🇫🇷🇩🇪🇬 a🇫🇷", "🇫🇷 🇩🇪 🇫🇷"),
    (
        "\u263a\ufe0e \u263a\ufe0f \u263a\u263a \u263a\U0001f3fb \U0001f3fb",
        "\u263a \u263a\ufe0f \u263a \u263a \u263a\U0001f3fb \U0001f3fb",
    ),
    ("\U0001fae0\U0001f972", "\U0001fae0 \U0001f972"),
    # characters Unicode added later
    ("\ua7f1 \U0001e900\U00016fe2 \U00030000 \U00010e80 \u02b8\u02e5 \u058a a\u1ac0b", "𞤢 ʸ b"),
    ("\u0600 12\u06dd3 \u070f\u0710", "12\u06dd3 \u0710"),
    ("𐐨𐐨ed 𐐀s 𝐀𝐁𝐂s 𝓕ed", "𐐨𐐨ed 𐐨 𝐀𝐁𝐂 𝓕ed"),
    ("𠀋 𠮷野家", "𠀋 𠮷 野 家"),
]

NO_TERMS = ["It", "WAS (Not Was)", "... --- !!! ?", "' \" ’ ・ ‧ ·", " \t\n\r\u2028", ""]
# Texts that are their own terms: Hebrew, Arabic, Indic, Asian, emoji.
SAME = [
    "\u05e8\u05d0\u05d1\"\u05d9 \u05e6\u05d4\"\u05dc \u05d0' \u05d2'\u05d9\u05e8\u05e4\u05d4",
    "\u0627\u0644\u0639\u0631\u0628\u064a\u0629\u200c\u0647\u0627 \u06f1\u06f2\u06f3",
    "\u0661\u066c\u0662\u0663\u0664 தமிழ் বাংলা 한국어 조선말 ㄱㄴ ພາສາລາວ ខ្មែរ မြန်မာ",
    "\u0939\u093f\u0928\u094d\u0926\u0940 \u092d\u093e\u0937\u093e \u0915\u094d\u200d\u0937",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f44d\U0001f3fd",
    "\U0001f3f3\ufe0f\u200d\U0001f308 1\ufe0f\u20e3 #\ufe0f\u20e3 *\u20e3 12\u20e33",
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
]
ALL = [*SERVER, *((text, "") for text in NO_TERMS), *((text, text) for text in SAME)]


@pytest.mark.parametrize(("text", "terms"), ALL)
def test_terms_are_those_of_the_server(text, terms):
    assert analyze(text) == terms.split(" ") * bool(terms)


def test_words_beyond_255_utf16_units_are_cut_as_the_server_cuts_them():
    astral = "\U00010428"
    lengths = {
        "a" * 300: [255, 45],
        "a" * 254 + "." + "b" * 50: [254, 50],  # a joiner at the cut is in neither part
        "a" * 253 + "." + "b" * 50: [255, 49],
        "1" * 255 + ".5": [255, 1],
        astral * 200: [127, 73],  # 254 and 146 units: no character is cut in half
        "a" + astral * 200: [128, 73],
        "c" + "\u0301" * 300 + "b": [255, 1],  # the remaining marks join nothing
        "a" * 254 + "\U0001f1eb\U0001f1f7": [254, 2],
        "b " + "a" * 600: [1, 255, 255, 90],
    }
    assert MAX_LENGTH == 255
    assert {text: [len(term) for term in analyze(text)] for text in lengths} == lengths


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


def test_varied_texts_give_the_terms_that_they_always_gave():
    """Words of all endings, cases, marks and scripts, alone, glued together and repeated."""
    chance = random.Random(7)
    endings = "s sses ies ed ing eed y ly ation ational izer ness ful ement ibility ology ll e 's"
    marks = [*".,;:!?()\"'’-_/", "'s", "’S", " ", "  ", "\n", ", ", ". ", " (", ") "]
    texts = []
    for _ in range(20_000):
        starts = ["".join(chance.choices("aeioubdlnprsty", k=chance.randint(1, 5))) for _ in "12"]
        words = [start + chance.choice(endings.split()) for start in starts]
        words += [words[0].title(), words[1].upper(), str(chance.randint(0, 3000)), "The", "of"]
        pieces = chance.choices([*words * 5, *marks, *PIECES, *" " * 30], k=chance.randint(1, 60))
        texts.append("".join(pieces))
    terms = [" ".join(analyze(text)) for text in texts]
    assert (sum(len(text.split(" ")) for text in terms), len(set(terms))) == (145513, 19057)
    assert hashlib.sha256("\n".join(terms).encode()).hexdigest()[:16] == "cb25e81f0423b5de"


def test_the_fast_pattern_finds_the_words_of_the_full_one():
    chance = random.Random(1)
    for _ in range(3000):
        text = "".join(chance.choices("aZ19_'.,:;\"-# \n\t", k=12))
        assert ASCII_WORD.findall(text) == WORD.findall(text), text


def test_spaces_never_change_words():
    chance = random.Random(2)
    alphabet = "aZ1_'.:\u0301\u200d\u05d0\u30a2\u6f22\u0e01\u263a\ufe0f\U0001f3fb\U0001f1eb\u202f  "
    for _ in range(3000):
        text = "".join(chance.choices(alphabet, k=10))
        in_chunks = [word for chunk in text.split(" ") for word in WORD.findall(chunk)]
        assert WORD.findall(text) == in_chunks, ascii(text)


def test_terms_hold_no_white_space_that_would_split_them_in_the_index():
    every_character = " ".join(f"a{chr(code)}b" for code in range(0x21, 0x3400))
    assert all(len(term.encode().split()) == 1 for term in analyze(every_character))


def test_the_fingerprint_changes_with_the_words_only(monkeypatch):
    assert analyzer.FINGERPRINT == "4472b4ffe95a3a15"  # that of every index and cache so far
    digest = analyzer._digest()
    monkeypatch.setattr(analyzer, "STOP_WORDS", analyzer.STOP_WORDS - {"the"})
    assert analyzer._digest() != digest


PIECES = [*"aB1_'\".,:;-#*\u0301\u200d\ufe0f\u20e3אア漢ไ👩🏽𝒜ー½İ\u0600", "🇫"]


def cut_slowly(chunk: str) -> list[str]:
    """The words of a chunk by searching in all of the rest for each."""
    words, start = [], 0
    while match := WORD.search(chunk, start):
        first, units = match.start(), match[0].encode("utf-16-le")[: 2 * MAX_LENGTH]
        if len(units) < len(match[0].encode("utf-16-le")):
            window = units.decode("utf-16-le", "ignore")
            match = WORD.match(chunk, first, first + len(window))
        words += [match[0]] if match else []
        start = match.end() if match else first + 1
    return words


@pytest.mark.parametrize("seed", range(60))
def test_long_chunks_are_cut_as_by_searching_in_all_of_the_rest(seed):
    rng = random.Random(seed)
    counts = 1, 2, 3, 120, 254, 255, 256, 300, 511
    chunk = "".join(rng.choice(PIECES) * rng.choice(counts) for _ in range(rng.randint(2, 6)))
    text = "".join(Path(__file__).read_text().split())[seed * 60 :][:600]  # with all scripts
    for long in (chunk + "a" * 128, text, text.replace("=", "_"), chunk + text):
        assert analyzer._words(long) == cut_slowly(long)


def test_a_long_word_takes_time_in_proportion_to_its_length():
    seconds = []
    for length in (5_000, 40_000):  # the square of the time would be 64 times as long
        started = time.process_time()
        assert len(analyze("x" * length)) == -(-length // MAX_LENGTH)
        seconds.append(time.process_time() - started)
    assert seconds[1] < 30 * seconds[0]
