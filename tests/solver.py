"""A small solver that answers the laboratory's questions from texts of paragraphs.

It knows the wordings, but no world and no answers.
"""

import re
from functools import cache, partial

from ircot_laboratory.world.names import LISTS
from ircot_laboratory.world.relations import RELATIONS

NAME = r"[A-Z]\w+(?: [A-Z]\w+)+"
ALL = [relation for relations in RELATIONS.values() for relation in relations]
EVENTS = {"born": "birth", "came out": "release", "was founded": "opening"}
DATES = {"date of birth": "birth", "release date": "release", "opening date": "opening"}
ROLES = {"grandfather": ("father", "father"), "father-in-law": ("spouse", "father")}
SHORT = {"musique": "the {{x}} {}", "iirc": "{{x}}'s {}"}  # of "the mentor of {x}"
MENTIONS = {
    "S": "(?:TITLE|He|She|It|The [a-z]+)",
    "s": "(?:TITLE|him|her|it|the [a-z]+)",
    "P": "(?:TITLE's|His|Her|Its|The [a-z]+'s)",
}


def value_pattern(relation) -> str:
    if relation.value == "year":
        return r"\d{4}"
    return "[A-Za-z]+" if relation.value in LISTS else NAME


def wording_pattern(relation, wording: str) -> re.Pattern:
    """The sentences of a wording; TITLE stands for the subject's name."""
    value = f"({value_pattern(relation)})"
    return re.compile(wording.replace(".", r"\.").format(o=value, **MENTIONS))


PATTERNS = [
    (relation.name, wording_pattern(relation, wording))
    for relation in ALL
    for wording in relation.wordings
]


def read_facts(paragraphs) -> dict[tuple[str, str], str]:
    """(subject in lower case, relation) -> value; pronouns mean the title."""
    facts = {}
    for paragraph in paragraphs:
        for relation, value in _read_paragraph(paragraph.title, paragraph.text):
            fact = paragraph.title.lower(), relation
            assert facts.setdefault(fact, value) == value, paragraph
    return facts


@cache
def _read_paragraph(title: str, text: str) -> list[tuple[str, str]]:
    stated = []
    text = re.sub(re.escape(title), "TITLE", text, flags=re.IGNORECASE)
    for sentence in re.findall(r"[^.]+\.", text):
        facts = set()
        for name, pattern in PATTERNS:
            if match := pattern.fullmatch(sentence.strip()):
                facts.add((name, match[1]))
        is_first = sentence.startswith(("TITLE is a", "TITLE was a"))
        assert len(facts) == 1 or (not facts and is_first), (sentence, facts)
        stated += facts
    return stated


def answer(dataset: str, question: str, paragraphs) -> str | None:
    """The answer that the paragraphs give, or None; fails if they give two."""
    facts = read_facts(paragraphs)
    readings = _readings(dataset, question)
    answers = {attempt(get, facts, name, *way) for name, way in readings}
    for pattern, read in READ.items():
        if match := re.fullmatch(pattern, question):
            answers.add(attempt(read, facts, *match.groups()))
    answers -= {None}
    assert len(answers) <= 1, (question, answers)
    return answers.pop() if answers else None


def attempt(read, *arguments) -> str | None:
    """What a function reads; None if a fact is not in the paragraphs."""
    try:
        return read(*arguments)
    except KeyError:
        return None


def get(facts, name: str, *relations: str) -> str:
    for relation in relations:
        name = facts[name.lower(), relation]
    return name


# Questions that compare, count or subtract


def _compare(relations, facts, when, a, b):
    years = [int(get(facts, name, *relations)) for name in (a, b)]
    assert years[0] != years[1]
    return a if (years[0] < years[1]) == (when in ("first", "earlier")) else b


def _same_country(facts, a, b):
    return "yes" if get(facts, a, "country") == get(facts, b, "country") else "no"


def _inference(facts, role, name):
    return get(facts, name, *ROLES[role])


def _age(facts, phrase, name, event):
    [(start, relations)] = read_phrase("iirc", phrase)
    assert start == name
    birth = get(facts, name, *relations, "birth")
    return str(int(get(facts, name, EVENTS[event])) - int(birth))


def _count(facts, band, city):
    members = [get(facts, band, role) for role in ("singer", "drummer", "pianist")]
    return str([get(facts, member, "birthplace") for member in members].count(city))


def _comparisons():
    for words, relation in EVENTS.items():
        yield rf"(?:Who|Which \w+) (?:was )?{words} (first|last)", [relation]
    for words, relation in DATES.items():
        yield rf"Which \w+ has the (earlier|later) {words}", [relation]
    for role in {relation.name for relation in ALL}:
        yield rf"Which \w+ has the {role} who was born (earlier|later)", [role, "birth"]


READ = {
    rf"Are ({NAME}) and ({NAME}) in the same country\?": _same_country,
    rf"Who is the ({'|'.join(ROLES)}) of ({NAME})\?": _inference,
    rf"How old was (.+) when ({NAME}) (came out|was founded)\?": _age,
    rf"How many of the three members of ({NAME}) were born in ({NAME})\?": _count,
}
for _start, _way in _comparisons():
    READ[rf"{_start}, ({NAME}) or ({NAME})\?"] = partial(_compare, _way)


# Questions that walk from fact to fact


@cache
def _readings(dataset: str, question: str) -> list[tuple[str, tuple[str, ...]]]:
    """Every way to read a question as relations of relations of a name."""
    if dataset == "2wikimultihopqa":
        return read_phrase(dataset, re.sub(r"^(Who|What) is (.+)\?$", r"\2", question))
    kind = 1 if dataset == "musique" else 0
    forms = {(relation.questions[kind], relation.name) for relation in ALL}
    return [way for form in forms for way in _ways(dataset, question, *form)]


@cache
def read_phrase(dataset: str, phrase: str) -> list[tuple[str, tuple[str, ...]]]:
    """Every way to read a noun phrase: a name, and the relations from it."""
    if match := re.fullmatch(rf"(?:(?:the )?(?:film|novel|album) )?({NAME})", phrase):
        return [(match[1], ())]
    forms = {(relation.phrase, relation.name) for relation in ALL}
    for form, relation in [*forms] if dataset in SHORT else ():
        if noun := re.fullmatch(r"the (\S+) of \{x\}", form):
            forms.add((SHORT[dataset].format(noun[1]), relation))
    ways = (way for form in forms for way in _ways(dataset, phrase, *form))
    return list(dict.fromkeys(ways))


def _ways(dataset, text, form, relation):
    """The ways to read a text of a form, which ask for a relation of what is at {x}."""
    before, after = form.split("{x}")
    inner = text[len(before) : len(text) - len(after)]
    if inner and text == f"{before}{inner}{after}":
        for name, way in read_phrase(dataset, inner):
            yield name, (*way, relation)
