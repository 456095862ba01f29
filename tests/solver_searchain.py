"""Like solver.py, for the data sets that only SearChain has."""

import re

from solver import (
    ALL,
    EVENTS,
    NAME,
    attempt,
    get,
    read_facts,
    read_phrase,
    value_pattern,
)

# its noun phrases are those of all data sets but MuSiQue and IIRC
PHRASES = "strategyqa"
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


def claim_pattern(relation) -> str:
    """The claims about a relation: its thought without the point."""
    thought = re.escape(relation.thought)[:-2].replace(r"\{s\}", "(.+)")
    return thought.replace(r"\{o\}", f"({value_pattern(relation)})")


CLAIMS = {claim_pattern(relation): relation.name for relation in ALL}


def answer(dataset: str, question: str, paragraphs) -> str | None:
    """The answer that the paragraphs give, or None."""
    return attempt(READ[dataset], question, read_facts(paragraphs))


def _verdict(question, facts):
    text = question.removesuffix(" (Yes or No)")
    assert text != question
    alive = rf"Was (.+) alive when ({NAME}) (came out|was founded)\?"
    if match := re.fullmatch(alive, text):
        [(name, relations)] = read_phrase(PHRASES, match[1])
        born = get(facts, name, *relations, "birth")
        return "Yes" if born < get(facts, match[2], EVENTS[match[3]]) else "No"
    for pattern, relation in SAME.items():
        if match := re.fullmatch(pattern, text):
            a, b = (get(facts, name, relation) for name in match.groups())
            return "Yes" if a == b else "No"
    for pattern, relation in PLACE.items():
        if match := re.fullmatch(pattern, text):
            value = get(facts, match["a"], "country", relation)
            return "Yes" if value == match["x"] else "No"
    raise AssertionError(question)


def _slot(question, facts):
    slot, name = re.fullmatch(rf"What is the (.+) of ({NAME})\?", question).groups()
    if slot in SLOTS:
        return get(facts, name, *SLOTS[slot])
    if slot == "country":
        ways = [(place, slot) for place in ("home", "seat", "campus")] + [(slot,)]
        known = [way for way in ways if (name.lower(), way[0]) in facts]
        return get(facts, name, *known[0]) if known else None
    return get(facts, name, slot)


def _claim(question, facts):
    claim = re.fullmatch(r"Is it true that (.+) \(SUPPORTS or REFUTES\)\?", question)[1]
    claimed = set()
    for pattern, relation in CLAIMS.items():
        if match := re.fullmatch(pattern, claim):
            for phrase in {match[1], f"{match[1][0].lower()}{match[1][1:]}"}:
                for name, way in read_phrase(PHRASES, phrase):
                    claimed.add((attempt(get, facts, name, *way, relation), match[2]))
    assert claimed, question
    known = [(value, x) for value, x in claimed if value is not None]
    assert len(known) <= 1, (question, known)
    return next(("SUPPORTS" if value == x else "REFUTES" for value, x in known), None)


def _explanation(question, facts):
    for pattern, relation in WHY.items():
        if match := re.fullmatch(rf"Why do people in ({NAME}) {pattern}\?", question):
            ways = [["country"], ["country", relation]]
            stated = [_state(facts, match[1], way) for way in ways]
            action = question.split(f"{match[1]} ")[1].removesuffix("?")
            return " ".join([*stated, f"So people in {match[1]} {action}."])
    if match := re.fullmatch(rf"How could ({NAME}) and ({NAME}) have met\?", question):
        a, b = match.groups()
        assert get(facts, a, "school") == get(facts, b, "school")
        stated = [_state(facts, name, ["school"]) for name in (a, b)]
        return " ".join([*stated, f"So {a} and {b} could have met there."])
    for pattern, ways in ORIGINS.items():
        if match := re.fullmatch(f"How did {pattern}\\?", question):
            return " ".join(_state(facts, match[1], way.split()) for way in ways)
    raise AssertionError(question)


def _state(facts, name, way):
    """The sentence for the last relation of a way from a name."""
    subject = get(facts, name, *way[:-1])
    value = get(facts, subject, way[-1])
    [thought] = {relation.thought for relation in ALL if relation.name == way[-1]}
    return thought.format(s=subject, o=value)


READ = {
    "strategyqa": _verdict,
    "zsre": _slot,
    "trex": _slot,
    "fever": _claim,
    "eli5": _explanation,
}
