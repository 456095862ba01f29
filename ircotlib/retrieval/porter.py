"""Porter's stemmer (Porter 1980, An algorithm for suffix stripping) with the changes of the program
that its author distributes, which Lucene has, too: words of two characters stay, and the rules for
"bli" and "logi".

In a form, each character is a consonant, "c", or a vowel, "v"; the measure m of the paper is how
often it has "vc". Characters beyond a to z are consonants.
"""

from collections import defaultdict

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
FORMS = defaultdict(lambda: "c", str.maketrans("aeiouy", "vvvvvy"))


def _by_end(suffixes: dict[str, str]) -> dict[str, dict[str, str]]:
    """Suffixes by their last two letters: most words end in none of these."""
    ends = {suffix[-2:] for suffix in suffixes}
    return {end: {s: suffixes[s] for s in suffixes if s.endswith(end)} for end in ends}


STEP_2, STEP_3, STEP_4 = map(_by_end, (LONG, SHORT, LAST))


def stem(word: str) -> str:
    """The stem of a word in lower case, by the paper's steps."""
    if len(word) <= 2:  # not in the paper: the author's program
        return word
    if word.endswith("s") and not word.endswith("ss"):  # step 1a
        word = word[:-2] if word.endswith(("sses", "ies")) else word[:-1]
    if word.endswith("eed"):  # 1b
        word = word[:-1] if _measure(word[:-3]) else word
    elif word.endswith(("ed", "ing")):
        rest = word[:-2] if word.endswith("ed") else word[:-3]
        word = _mend(rest) if "v" in _form(rest) else word
    if word.endswith("y") and "v" in _form(word[:-1]):  # 1c
        word = word[:-1] + "i"
    word = _replace(_replace(word, STEP_2, 1), STEP_3, 1)
    if not word.endswith("ion"):  # 4
        word = _replace(word, STEP_4, 2)
    elif word[-4:-3] in ("s", "t") and _measure(word[:-3]) > 1:
        word = word[:-3]
    if word.endswith("e"):  # 5a
        measure = _measure(word[:-1])
        if measure > 1 or measure == 1 and not _is_short(word[:-1]):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word  # 5b


def _replace(word: str, suffixes: dict[str, dict[str, str]], least: int) -> str:
    """The word with the first of the suffixes that it ends in replaced, if what precedes it has
    this measure at least.
    """
    for suffix, replacement in suffixes.get(word[-2:], {}).items():
        if word.endswith(suffix):
            rest = word.removesuffix(suffix)
            return rest + replacement if _measure(rest) >= least else word
    return word


def _mend(word: str) -> str:
    """A word that has lost "ed" or "ing" as it is written without it (step 1b)."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if word[-2:-1] == word[-1] and _form(word).endswith("c"):  # hopping -> hop, but falling -> fall
        return word if word[-1] in "lsz" else word[:-1]
    return word + "e" if _measure(word) == 1 and _is_short(word) else word


def _measure(word: str) -> int:
    return _form(word).count("vc")


def _form(word: str) -> str:
    form = word.translate(FORMS)
    while "y" in form:  # a vowel only after a consonant
        before, _, after = form.partition("y")
        form = before + ("v" if before.endswith("c") else "c") + after
    return form


def _is_short(word: str) -> bool:
    """Whether a word ends as "hop" does (the paper's *o)."""
    return word[-1:] not in "wxy" and _form(word).endswith("cvc")
