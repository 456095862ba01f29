"""Judges chains and references about the laboratory, where every fact is known (IRCoT §5, Figure 7;
SearChain §4.3.4; there people judge). A fact that no page states is false.
"""

import re
from collections.abc import Collection, Iterable, Sequence

from ircot_laboratory.judge.conclusions import CONCLUSIONS, Conclusion
from ircot_laboratory.judge.missing_facts import weigh
from ircot_laboratory.judge.reading import Entities, read_facts, value_of
from ircot_laboratory.world.records import Riddle, World
from ircotlib.data import Question
from ircotlib.datasets import Attempt, Evidence


def judge(sentence: str, question: str, answers: Sequence[str], entities: Entities) -> str:
    """Whether a sentence of a chain is "true" or "false" in a world; "unsure" if it cannot be read,
    or says that something is unknown.

    `question`: needed to judge conclusions. `answers`: the gold answers, for "So the answer is".
    """
    if re.search(r"\bunknown\b", sentence):
        return "unsure"
    verdicts = [value_of(r.subject, r.relation, entities) == r.value for r in read_facts(sentence)]
    for pattern, decide in CONCLUSIONS.items():
        if match := pattern.fullmatch(sentence):
            verdicts.append(decide(Conclusion(match.groupdict(), question, answers, entities)))
    if all(verdict is None for verdict in verdicts):
        return "unsure"
    return "true" if any(verdicts) else "false"


def judge_reference(statement: str, titles: Collection[str], entities: Entities) -> str:
    """Whether a statement is a fact and one of these pages states it: "true" or "false"; "unsure"
    if no fact can be read in it.
    """
    readings = read_facts(statement)
    if not readings:
        return "unsure"
    facts = [r for r in readings if value_of(r.subject, r.relation, entities) == r.value]
    return "true" if any(fact.subject in titles for fact in facts) else "false"


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
