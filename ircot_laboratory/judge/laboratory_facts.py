"""Judges chains about the laboratory, where every fact is known (IRCoT §5, Figure 7,
where people judge). A fact that no page states is false.
"""

import re
from collections.abc import Sequence

from ircot_laboratory.judge.conclusions import CONCLUSIONS, Conclusion
from ircot_laboratory.judge.reading import Entities, is_true, read_facts
from ircot_laboratory.world.records import World
from ircotlib.data import Question


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


class LaboratoryFacts:
    """The facts of a data set of a laboratory, as the workbench asks them."""

    def __init__(self, world: World):
        self.entities = world.entities

    def judge(self, sentence: str, question: Question) -> str:
        return judge(sentence, question.text, question.answers, self.entities)
