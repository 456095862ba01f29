"""Porter's algorithm for suffix stripping, in the version that its author distributes (Porter
1980).
"""

# Steps 2 and 3: the first of these suffixes that ends the word is replaced if the measure of the
# rest is above 0.
STEP_2 = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("logi", "log"),
)
STEP_3 = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
# Step 4: the first of these suffixes that ends the word is removed if the measure of the rest is
# above 1 ("ion" only after s or t).
STEP_4 = tuple(
    "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split()
)
SUFFIXES_2, SUFFIXES_3 = (tuple(suffix for suffix, _ in rules) for rules in (STEP_2, STEP_3))


def stem(word: str) -> str:
    """The stem of a lower-case word (Porter 1980, with the author's later changes: bli -> ble, logi
    -> log, words of two letters stay).

    Any character that is not a, e, i, o, u or y counts as a consonant.
    """
    if len(word) <= 2:
        return word
    word = _strip_past(_strip_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    if word.endswith(SUFFIXES_2):
        word = _replace(word, STEP_2)
    if word.endswith(SUFFIXES_3):
        word = _replace(word, STEP_3)
    if word.endswith(STEP_4):
        word = _strip_residue(word)
    return _strip_final(word) if word.endswith(("e", "l")) else word


def _shape(word: str) -> str:
    """One letter per character: v for a vowel, c for a consonant; y after a consonant is a
    vowel.
    """
    shape = ""
    for letter in word:
        shape += "v" if letter in "aeiou" or (letter == "y" and shape.endswith("c")) else "c"
    return shape


def _measure(word: str) -> int:
    """How many times a run of vowels is followed by a consonant: 0 in tree, 1 in trouble, 2 in
    private.
    """
    return _shape(word).count("vc")


def _has_vowel(word: str) -> bool:
    return "v" in _shape(word)


def _doubles_consonant(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _shape(word).endswith("c")


def _ends_short(word: str) -> bool:
    """Whether the word ends in consonant, vowel, consonant (not w, x or y), as hop and fil do."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


def _strip_plural(word: str) -> str:
    """Step 1a: caresses, ponies, cats."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _strip_past(word: str) -> str:
    """Step 1b: agreed, plastered, motoring."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    stem = word[:-2] if word.endswith("ed") else word[:-3] if word.endswith("ing") else ""
    if not _has_vowel(stem):
        return word
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if _doubles_consonant(stem):
        return stem if stem[-1] in "lsz" else stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _ends_short(stem) else stem


def _replace(word: str, rules: tuple[tuple[str, str], ...]) -> str:
    for suffix, replacement in rules:
        if word.endswith(suffix):
            stem = word.removesuffix(suffix)
            return stem + replacement if _measure(stem) > 0 else word
    return word


def _strip_residue(word: str) -> str:
    """Step 4: revival, adjustment, adoption."""
    for suffix in STEP_4:
        stem = word.removesuffix(suffix)
        if stem != word and (suffix != "ion" or stem.endswith(("s", "t"))):
            return stem if _measure(stem) > 1 else word
    return word


def _strip_final(word: str) -> str:
    """Step 5: probate, cease, controll."""
    measure = _measure(word)
    if word.endswith("e") and (measure > 1 or (measure == 1 and not _ends_short(word[:-1]))):
        word = word[:-1]
    return word[:-1] if word.endswith("ll") and measure > 1 else word
