"""The worked example of a question: its sub-questions in order, their facts and
answers, and the conclusion. Each system's demonstrations and gold replies are made from
it.
"""

from typing import NamedTuple

from ircot_laboratory.questions.wording import ANSWER, word_thought
from ircot_laboratory.world.records import Fact, Riddle, World


class WorkedStep(NamedTuple):
    """One sub-question, worded in full, with the answers of earlier steps filled in.

    `sentence`: the question and its answer as a statement. `after`: the numbers, from
    0, of the earlier steps whose answers are in the question.
    """

    question: str
    answer: str
    fact: Fact
    sentence: str
    after: tuple[int, ...]


class WorkedExample(NamedTuple):
    """The steps of a question, and its answer.

    `conclusion`: the sentences that follow from the steps; none if the answer is that
    of the last step.
    """

    answer: str
    steps: tuple[WorkedStep, ...]
    conclusion: tuple[str, ...]


def work_out(world: World, riddle: Riddle, dialect: str = "hotpotqa") -> WorkedExample:
    """The worked example of a question. It states all facts needed, including those of
    IIRC's main passage. `dialect`: the data set in whose style the sentences are
    worded.
    """
    steps: list[WorkedStep] = []
    for fact in riddle.facts:
        relation = world.relation(*fact)
        subject = fact.subject
        value = world.value(*fact)
        question = relation.questions[0].format(x=subject)
        sentence = word_thought(dialect, relation, world.entities[subject], value)
        after = tuple(n for n, step in enumerate(steps) if step.answer == subject)
        steps.append(WorkedStep(question, value, fact, sentence, after))
    final = ANSWER.format(answer=riddle.answer)  # not after a long answer
    thus = tuple(t.text for t in riddle.thoughts if t.fact is None and t.text != final)
    return WorkedExample(riddle.answer, tuple(steps), thus)
