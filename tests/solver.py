"""A small solver that answers the laboratory's questions from the text of paragraphs. It knows the
wordings, but no world and no answers.
"""

import re
from functools import cache

from ircot_laboratory.world.names import LISTS
from ircot_laboratory.world.relations import RELATIONS

NAME = r"[A-Z]\w+ [A-Z]\w+"
ALL = [relation for relations in RELATIONS.values() for relation in relations]
EVENTS = {"born": "birth", "came out": "release", "was founded": "opening"}
DATES = {"date of birth": "birth", "release date": "release", "opening date": "opening"}
ROLES = {"grandfather": ("father", "father"), "father-in-law": ("spouse", "father")}


def _patterns():
    """A pattern for every wording of every relation; TITLE stands for the subject's name."""
    mentions = {
        "S": "(?:TITLE|He|She|It|The [a-z]+)",
        "s": "(?:TITLE|him|her|it|the [a-z]+)",
        "P": "(?:TITLE's|His|Her|Its|The [a-z]+'s)",
    }
    for relation in ALL:
        value = (
            r"\d{4}"
            if relation.value == "year"
            else "[A-Za-z]+"
            if relation.value in LISTS
            else NAME
        )
        for wording in relation.wordings:
            yield (
                relation.name,
                re.compile(wording.replace(".", r"\.").format(o=f"({value})", **mentions)),
            )


PATTERNS = list(_patterns())


def read_facts(paragraphs) -> dict[tuple[str, str], str]:
    """(subject in lower case, relation) -> value, from titles and texts; pronouns and nouns stand
    for the title.
    """
    facts = {}
    for paragraph in paragraphs:
        for relation, value in _read_paragraph(paragraph.title, paragraph.text):
            assert facts.setdefault((paragraph.title.lower(), relation), value) == value, paragraph
    return facts


@cache
def _read_paragraph(title: str, text: str) -> list[tuple[str, str]]:
    stated = []
    for sentence in re.findall(
        r"[^.]+\.", re.sub(re.escape(title), "TITLE", text, flags=re.IGNORECASE)
    ):
        found = {
            (relation, match[1])
            for relation, pattern in PATTERNS
            if (match := pattern.fullmatch(sentence.strip()))
        }
        assert len(found) == 1 or (
            not found and sentence.startswith(("TITLE is a", "TITLE was a"))
        ), (sentence, found)
        stated += found
    return stated


def answer(dataset: str, question: str, paragraphs) -> str | None:
    """The answer to a question of a data set that the paragraphs give, or None; fails if they give
    two.
    """
    facts, answers = read_facts(paragraphs), set()
    for read in (_comparison, _bridge_comparison, _same_country, _inference, _age, _count, _chain):
        try:
            answers |= set(read(dataset, question, facts))
        except KeyError:  # a fact is not in the paragraphs
            continue
    assert len(answers) <= 1, (question, answers)
    return answers.pop() if answers else None


def _get(facts, name: str, *relations: str) -> str:
    for relation in relations:
        name = facts[name.lower(), relation]
    return name


def _earlier_or_later(when: str, a: str, b: str, year_a: str, year_b: str) -> str:
    assert year_a != year_b
    return a if (int(year_a) < int(year_b)) == (when in ("first", "earlier")) else b


def _comparison(dataset, question, facts):
    events = "|".join(EVENTS)
    pattern = rf"(?:Who|Which \w+) (?:was )?({events}) (first|last), ({NAME}) or ({NAME})\?"
    other = rf"Which \w+ has the (earlier|later) ({'|'.join(DATES)}), ({NAME}) or ({NAME})\?"
    if found := re.fullmatch(pattern, question):
        (relation, when), (a, b) = (EVENTS[found[1]], found[2]), found.group(3, 4)
    elif found := re.fullmatch(other, question):
        (when, relation), (a, b) = (found[1], DATES[found[2]]), found.group(3, 4)
    else:
        return []
    return [_earlier_or_later(when, a, b, _get(facts, a, relation), _get(facts, b, relation))]


def _bridge_comparison(dataset, question, facts):
    found = re.fullmatch(
        rf"Which \w+ has the (\w+) who was born (earlier|later), ({NAME}) or ({NAME})\?", question
    )
    if not found:
        return []
    role, when, a, b = found.groups()
    return [
        _earlier_or_later(when, a, b, _get(facts, a, role, "birth"), _get(facts, b, role, "birth"))
    ]


def _same_country(dataset, question, facts):
    found = re.fullmatch(rf"Are ({NAME}) and ({NAME}) in the same country\?", question)
    return (
        ["yes" if _get(facts, found[1], "country") == _get(facts, found[2], "country") else "no"]
        if found
        else []
    )


def _inference(dataset, question, facts):
    found = re.fullmatch(rf"Who is the ({'|'.join(ROLES)}) of ({NAME})\?", question)
    return [_get(facts, found[2], *ROLES[found[1]])] if found else []


def _age(dataset, question, facts):
    found = re.fullmatch(rf"How old was (.+) when ({NAME}) (came out|was founded)\?", question)
    if not found:
        return []
    [(name, relations)] = read_phrase(dataset, found[1])
    assert name == found[2]
    return [
        str(int(_get(facts, name, EVENTS[found[3]])) - int(_get(facts, name, *relations, "birth")))
    ]


def _count(dataset, question, facts):
    found = re.fullmatch(
        rf"How many of the three members of ({NAME}) were born in ({NAME})\?", question
    )
    if not found:
        return []
    members = [_get(facts, found[1], role) for role in ("singer", "drummer", "pianist")]
    return [str([_get(facts, member, "birthplace") for member in members].count(found[2]))]


def _chain(dataset, question, facts):
    """Every way to read the question as relations of relations of a name."""
    answers = []
    for name, relations in _readings(dataset, question):
        try:
            answers.append(_get(facts, name, *relations))
        except KeyError:
            continue
    return answers


@cache
def _readings(dataset: str, question: str) -> list[tuple[str, tuple[str, ...]]]:
    if dataset == "2wikimultihopqa":
        return read_phrase(dataset, re.sub(r"^(Who|What) is (.+)\?$", r"\2", question))
    readings = []
    for form, relation in {
        (relation.questions[dataset == "musique"], relation.name) for relation in ALL
    }:
        if found := _match(form, question):
            readings += [
                (name, (*before, relation)) for name, before in read_phrase(dataset, found)
            ]
    return readings


@cache
def read_phrase(dataset: str, phrase: str) -> list[tuple[str, tuple[str, ...]]]:
    """Every way to read a noun phrase: the name it starts from, and the relations that lead on from
    it.
    """
    if found := re.fullmatch(rf"(?:(?:the )?(?:film|novel|album) )?({NAME})", phrase):
        return [(found[1], ())]
    readings = []
    for form, relation in {(relation.phrase, relation.name) for relation in ALL}:
        noun = re.fullmatch(r"the (\S+) of \{x\}", form)
        short = (
            f"the {{x}} {noun[1]}"
            if noun and dataset == "musique"
            else f"{{x}}'s {noun[1]}"
            if noun and dataset == "iirc"
            else form
        )
        for inner in {_match(form, phrase), _match(short, phrase)} - {None}:
            readings += [
                (name, (*before, relation)) for name, before in read_phrase(dataset, inner)
            ]
    return list(dict.fromkeys(readings))


def _match(form: str, text: str) -> str | None:
    """The part of a text that is at {x} in this form."""
    before, after = form.split("{x}")
    inner = text[len(before) : len(text) - len(after)]
    return inner if inner and text == f"{before}{inner}{after}" else None
