"""Judges chains and references about the laboratory, where every fact is known (IRCoT
§5, Figure 7; SearChain §4.3.4; there people judge), and says why answers are wrong
(ours): which fact is missing, whether a step asks for it, and whether its page was
found. A fact that no page states is false.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from ircot_laboratory.judge.conclusions import CONCLUSIONS, Conclusion
from ircot_laboratory.judge.reading import Entities, is_true, read_facts
from ircot_laboratory.world.records import Fact, Riddle, World
from ircot_laboratory.world.relations import RELATIONS, Relation
from ircotlib.data import Question
from ircotlib.datasets import Attempt, Evidence
from ircotlib.text import normalise_answer


def judge(
    sentence: str, question: str, answers: Sequence[str], entities: Entities
) -> str:
    """Whether a sentence of a chain is "true" or "false" in a world; "unsure" if it
    cannot be read, or says that something is unknown.

    `question`: needed to judge conclusions. `answers`: the gold answers, for "So the
    answer is".
    """
    if re.search(r"\bunknown\b", sentence):
        return "unsure"
    verdicts = [is_true(reading, entities) for reading in read_facts(sentence)]
    for pattern, decide in CONCLUSIONS.items():
        if match := pattern.fullmatch(sentence):
            words = match.groupdict()
            verdicts.append(decide(Conclusion(words, question, answers, entities)))
    if all(verdict is None for verdict in verdicts):
        return "unsure"
    return "true" if any(verdicts) else "false"


def judge_reference(statement: str, titles: Collection[str], entities: Entities) -> str:
    """Whether a statement is a fact and one of these pages states it: "true" or
    "false"; "unsure" if no fact can be read in it.
    """
    readings = read_facts(statement)
    if not readings:
        return "unsure"
    facts = [reading for reading in readings if is_true(reading, entities)]
    return "true" if any(fact.subject in titles for fact in facts) else "false"


# systems write many of the same sentences
_facts = lru_cache(maxsize=100_000)(read_facts)


@lru_cache(maxsize=100_000)
def _normalise(text: str) -> str:
    # "Ada Moss's father" names Ada Moss
    return normalise_answer(text.replace("'s ", " "))


def weigh(attempt: Attempt, riddle: Riddle, world: World) -> Evidence:
    """The evidence on why an answer is wrong. One fact decides: the first whose value
    is not in the text or, if no steps were written, the first whose page was not found.

    A step that names the fact's subject in words other than the laboratory's counts as
    asking for it. Facts that the chain need not state are not missing: they are in the
    main passage (IIRC).
    """
    needed = [fact for fact in riddle.facts if fact not in riddle.given]
    if attempt.steps:
        missing = [f for f in needed if not _has(attempt.text, world.value(*f))]
    else:
        missing = [f for f in needed if not _is_found(attempt, f, world)]
    fact = (missing or needed)[0]
    searched = _is_asked(attempt.queries, fact, riddle, world)
    asked = searched or _is_asked(attempt.steps, fact, riddle, world)
    return Evidence(
        written=bool(attempt.steps) and not missing,
        asked=asked or not attempt.steps,
        searched=searched or riddle.text in attempt.queries,
        retrieved=_is_found(attempt, fact, world),
    )


def _has(text: str, words: str) -> bool:
    return f" {_normalise(words)} " in f" {_normalise(text)} "


def _is_found(attempt: Attempt, fact: Fact, world: World) -> bool:
    """Whether a paragraph that states a fact was retrieved."""
    stating = (p for p in attempt.paragraphs if p.title == fact.subject)
    return any(_has(paragraph.text, world.value(*fact)) for paragraph in stating)


def _is_asked(lines: Iterable[str], fact: Fact, riddle: Riddle, world: World) -> bool:
    """Whether a line other than the question asks for a fact or states it."""
    others = (line for line in lines if line != riddle.text)
    return any(_asks(line, fact, riddle, world) for line in others)


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
    """Whether a line asks for a relation or states it, in the laboratory's wording."""
    if not _has(line, subject):
        return False
    wordings = (*relation.questions, relation.phrase)
    if any(_has(line, wording.format(x=subject)) for wording in wordings):
        return True
    return any(fact[:2] == (subject, relation.name) for fact in _facts(line))


def _describe(fact: Fact, riddle: Riddle, world: World) -> str:
    """The subject before its name is known: "the director of X"."""
    before = next((f for f in riddle.facts if world.value(*f) == fact.subject), None)
    if before is None or before == fact:
        return fact.subject
    return world.relation(*before).phrase.format(x=_describe(before, riddle, world))


class LaboratoryFacts:
    """The facts of a data set of a laboratory, as the workbench asks them."""

    def __init__(self, world: World, riddles: Iterable[Riddle]):
        self.world = world
        self.riddles = {riddle.text: riddle for riddle in riddles}

    def judge(self, sentence: str, question: Question) -> str:
        return judge(sentence, question.text, question.answers, self.world.entities)

    def judge_reference(self, statement: str, titles: Collection[str]) -> str:
        return judge_reference(statement, titles, self.world.entities)

    def weigh(self, attempt: Attempt, question: Question) -> Evidence:
        return weigh(attempt, self.riddles[question.text], self.world)
