"""Like solver.py, for the data sets that only SearChain has. It parses questions with its own
patterns, and knows no world.
"""

import re

from solver import ALL, EVENTS, NAME, _get, read_facts, read_phrase

from ircot_laboratory.world.names import LISTS

PHRASES = "strategyqa"  # its noun phrases are those of all data sets but MuSiQue and IIRC
SAME = {
    rf"Could ({NAME}) and ({NAME}) have sat in the same classroom\?": "school",
    rf"Do ({NAME}) and ({NAME}) share a home town\?": "birthplace",
    rf"Could one boat reach both ({NAME}) and ({NAME})\?": "river",
    rf"Did one company pay for both ({NAME}) and ({NAME})\?": "studio",
}
PLACE = {
    r"Can you pay with the (?P<x>\w+) in (?P<a>.+)\?": "currency",
    r"Do people in (?P<a>.+) understand (?P<x>\w+)\?": "language",
}
SLOTS = {
    "place of birth": ("birthplace",),
    "year of birth": ("birth",),
    "place of death": ("death",),
    "year of release": ("release",),
    "year of opening": ("opening",),
    "country of birth": ("birthplace", "country"),
    "country of death": ("death", "country"),
    "city": ("campus",),
}
WHY = {r"pay with the (\w+)": "currency", r"speak (\w+)": "language"}
ORIGINS = {
    r"the film (.+) come about": ["director", "director mentor", "studio"],
    r"the novel (.+) come about": ["author", "author mentor", "publisher"],
    r"the album (.+) come about": ["performer", "performer mentor", "label"],
    r"(.+) begin": ["founder", "founder mentor", "opening"],
    r"(.+) come together": ["home", "singer", "drummer", "pianist"],
}


def _claims():
    """A pattern for a claim about each relation."""
    for relation in ALL:
        value = NAME if relation.value not in LISTS else r"[A-Z]?[a-z]+"
        value = r"\d{4}" if relation.value == "year" else value
        yield (
            re.escape(relation.thought)[:-2]
            .replace(r"\{s\}", "(.+)")
            .replace(r"\{o\}", f"({value})"),
            relation.name,
        )


CLAIMS = dict(_claims())


def answer(dataset: str, question: str, paragraphs) -> str | None:
    """The answer that the paragraphs give, or None."""
    facts = read_facts(paragraphs)
    try:
        return READ[dataset](question, facts)
    except KeyError:  # a fact is not in the paragraphs
        return None


def _verdict(question, facts):
    text = question.removesuffix(" (Yes or No)")
    assert text != question
    if found := re.fullmatch(rf"Was (.+) alive when ({NAME}) (came out|was founded)\?", text):
        [(name, relations)] = read_phrase(PHRASES, found[1])
        born = _get(facts, name, *relations, "birth")
        return "Yes" if born < _get(facts, found[2], EVENTS[found[3]]) else "No"
    for pattern, relation in SAME.items():
        if found := re.fullmatch(pattern, text):
            a, b = (_get(facts, name, relation) for name in found.groups())
            return "Yes" if a == b else "No"
    for pattern, relation in PLACE.items():
        if found := re.fullmatch(pattern, text):
            return "Yes" if _get(facts, found["a"], "country", relation) == found["x"] else "No"
    raise AssertionError(question)


def _slot(question, facts):
    slot, name = re.fullmatch(rf"What is the (.+) of ({NAME})\?", question).groups()
    if slot in SLOTS:
        return _get(facts, name, *SLOTS[slot])
    if slot == "country":
        ways = [(place, slot) for place in ("home", "seat", "campus")] + [(slot,)]
        known = [way for way in ways if (name.lower(), way[0]) in facts]
        return _get(facts, name, *known[0]) if known else None
    return _get(facts, name, slot)


def _claim(question, facts):
    claim = re.fullmatch(r"Is it true that (.+) \(SUPPORTS or REFUTES\)\?", question)[1]
    said = set()
    for pattern, relation in CLAIMS.items():
        if found := re.fullmatch(pattern, claim):
            phrases = {found[1], f"{found[1][0].lower()}{found[1][1:]}"}
            readings = [one for phrase in phrases for one in read_phrase(PHRASES, phrase)]
            said |= {(_find(facts, name, (*way, relation)), found[2]) for name, way in readings}
    assert said, question
    said = {(value, x) for value, x in said if value is not None}
    assert len(said) <= 1, (question, said)
    return next(("SUPPORTS" if value == x else "REFUTES" for value, x in said), None)


def _find(facts, name, way):
    try:
        return _get(facts, name, *way)
    except KeyError:
        return None


def _explanation(question, facts):
    for pattern, relation in WHY.items():
        if found := re.fullmatch(rf"Why do people in ({NAME}) {pattern}\?", question):
            ways = [["country"], ["country", relation]]
            sentence = f"So people in {found[1]} {question.split(found[1] + ' ')[1][:-1]}."
            return " ".join([*(_state(facts, found[1], way) for way in ways), sentence])
    if found := re.fullmatch(rf"How could ({NAME}) and ({NAME}) have met\?", question):
        a, b = found.groups()
        assert _get(facts, a, "school") == _get(facts, b, "school")
        stated = [_state(facts, name, ["school"]) for name in (a, b)]
        return " ".join([*stated, f"So {a} and {b} could have met there."])
    for pattern, ways in ORIGINS.items():
        if found := re.fullmatch(f"How did {pattern}\\?", question):
            return " ".join(_state(facts, found[1], way.split()) for way in ways)
    raise AssertionError(question)


def _state(facts, name, way):
    """The sentence for the last relation of a way from a name."""
    subject = _get(facts, name, *way[:-1])
    value = _get(facts, subject, way[-1])
    [thought] = {one.thought for one in ALL if one.name == way[-1]}
    return thought.format(s=subject, o=value)


READ = {"strategyqa": _verdict, "zsre": _slot, "trex": _slot, "fever": _claim, "eli5": _explanation}
