"""Porter's stemmer (Porter 1980, An algorithm for suffix stripping) with the changes of the program
that its author distributes, which Lucene has, too: words of two characters stay, and the rules for
"bli" and "logi".

In a form, each character is a consonant, "c", or a vowel, "v"; the measure m of the paper is how
often it has "vc". Characters beyond a to z are consonants.
"""

PLURALS = {"sses": "ss", "ies": "i", "ss": "ss", "s": ""}
LONG = {"ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize"}
# the paper has "abli" for "bli", and no "logi": these are the author's program's
LONG |= {"bli": "ble", "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous"}
LONG |= {"ization": "ize", "ation": "ate", "ator": "ate", "alism": "al", "iveness": "ive"}
LONG |= {"fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble"}
LONG |= {"logi": "log"}
SHORT = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic"}
SHORT |= {"ful": "", "ness": ""}
LAST = "al ance ence er ic able ible ant ement ment ent ou ism ate iti ous ive ize".split()
LAST = dict.fromkeys(LAST, "")


def stem(word: str) -> str:
    """The stem of a word in lower case, by the paper's steps."""
    if len(word) <= 2:  # not in the paper: the author's program
        return word
    word = _replace(word, PLURALS, 0)  # step 1a
    if word.endswith("eed"):  # 1b
        word = _replace(word, {"eed": "ee"}, 1)
    elif word.endswith(("ed", "ing")):
        rest = word[:-2] if word.endswith("ed") else word[:-3]
        word = _mend(rest) if "v" in _form(rest) else word
    if word.endswith("y") and "v" in _form(word[:-1]):  # 1c
        word = word[:-1] + "i"
    word = _replace(_replace(word, LONG, 1), SHORT, 1)  # 2, 3
    if not word.endswith("ion"):  # 4
        word = _replace(word, LAST, 2)
    elif word[-4:-3] in ("s", "t"):
        word = _replace(word, {"ion": ""}, 2)
    if word.endswith("e"):  # 5a
        form = _form(word[:-1])
        if form.count("vc") > 1 or form.count("vc") == 1 and not _is_short(word[:-1], form):
            word = word[:-1]
    return _replace(word, {"ll": "l"}, 2, "l")  # 5b


def _replace(word: str, suffixes: dict[str, str], least: int, kept: str = "") -> str:
    """The word with the first of the suffixes that it ends in replaced, if what precedes it, with
    `kept`, has this measure at least.
    """
    for suffix, replacement in suffixes.items():
        if word.endswith(suffix):
            rest = word.removesuffix(suffix)
            enough = not least or _form(rest + kept).count("vc") >= least
            return rest + replacement if enough else word
    return word


def _mend(word: str) -> str:
    """A word that has lost "ed" or "ing" as it is written without it (step 1b)."""
    form = _form(word)
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if word[-2:-1] == word[-1] and form[-1] == "c":  # hopping -> hop, but falling -> fall
        return word if word[-1] in "lsz" else word[:-1]
    return word + "e" if form.count("vc") == 1 and _is_short(word, form) else word


def _form(word: str) -> str:
    form = ""
    for letter in word:
        is_vowel = letter in "aeiou" or letter == "y" and form.endswith("c")
        form += "v" if is_vowel else "c"
    return form


def _is_short(word: str, form: str) -> bool:
    """Whether a word ends as "hop" does (the paper's *o)."""
    return form.endswith("cvc") and word[-1] not in "wxy"
