"""Why an answer about the laboratory is wrong: which fact is missing, whether a step asks for it,
and whether its page was searched for and found (ours).
"""

from collections.abc import Iterable
from functools import lru_cache

from ircot_laboratory.judge.reading import read_facts
from ircot_laboratory.world.records import Fact, Riddle, World
from ircot_laboratory.world.relations import RELATIONS, Relation
from ircotlib.datasets import Attempt, Evidence
from ircotlib.text import normalise_answer

_facts = lru_cache(maxsize=100_000)(read_facts)  # systems write many of the same sentences


@lru_cache(maxsize=100_000)
def _normalise(text: str) -> str:
    return normalise_answer(text.replace("'s ", " "))  # "Ada Moss's father" names Ada Moss


def weigh(attempt: Attempt, riddle: Riddle, world: World) -> Evidence:
    """The evidence on why an answer is wrong. One fact decides: the first whose value is not in the
    text or, if no steps were written, the first whose page was not found.

    A step that names the fact's subject in words other than the laboratory's counts as asking for
    it. Facts that the chain need not state are not missing: they are in the main passage (IIRC).
    """
    needed = [fact for fact in riddle.facts if fact not in riddle.given]
    missing = [fact for fact in needed if not _has(attempt.text, world.value(*fact))]
    written = bool(attempt.steps) and not missing
    if not attempt.steps:
        missing = [fact for fact in needed if not _is_found(attempt, fact, world)]
    fact = (missing or needed)[0]
    searched = _is_asked(attempt.queries, fact, riddle, world)
    return Evidence(
        written,
        not attempt.steps or searched or _is_asked(attempt.steps, fact, riddle, world),
        searched or riddle.text in attempt.queries,
        _is_found(attempt, fact, world),
    )


def _has(text: str, words: str) -> bool:
    return f" {_normalise(words)} " in f" {_normalise(text)} "


def _is_found(attempt: Attempt, fact: Fact, world: World) -> bool:
    """Whether a paragraph that states a fact was retrieved."""
    stating = (p for p in attempt.paragraphs if p.title == fact.subject)
    return any(_has(paragraph.text, world.value(*fact)) for paragraph in stating)


def _is_asked(lines: Iterable[str], fact: Fact, riddle: Riddle, world: World) -> bool:
    """Whether one of these lines, other than the question itself, asks for a fact or states it."""
    return any(_asks(line, fact, riddle, world) for line in lines if line != riddle.text)


def _asks(line: str, fact: Fact, riddle: Riddle, world: World) -> bool:
    relation = world.relation(*fact)
    subjects = fact.subject, _describe(fact, riddle, world)
    if any(_is_about(line, subject, relation) for subject in subjects):
        return True
    if not _has(line, fact.subject) or _facts(line):
        return False
    others = (r for r in RELATIONS[world.entities[fact.subject].kind] if r != relation)
    return not any(_is_about(line, fact.subject, other) for other in others)


def _is_about(line: str, subject: str, relation: Relation) -> bool:
    """Whether a line asks for a relation of a subject, or states it, in the laboratory's
    wording.
    """
    if not _has(line, subject):
        return False
    wordings = (*relation.questions, relation.phrase)
    if any(_has(line, wording.format(x=subject)) for wording in wordings):
        return True
    return any((r.subject, r.relation) == (subject, relation.name) for r in _facts(line))


def _describe(fact: Fact, riddle: Riddle, world: World) -> str:
    """The subject of a fact as it is described before its name is known: "the director of X"."""
    before = next((f for f in riddle.facts if world.value(*f) == fact.subject), None)
    if before is None or before == fact:
        return fact.subject
    return world.relation(*before).phrase.format(x=_describe(before, riddle, world))
