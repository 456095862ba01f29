"""The worked example of a question: its sub-questions in order, their facts and answers, the
conclusion and the final sentence. Each system's demonstrations and gold replies are made from it.
"""

from typing import NamedTuple

from ircot_laboratory.questions.wording import ANSWER, word_thought
from ircot_laboratory.world.records import Fact, Riddle, World


class WorkedStep(NamedTuple):
    """One sub-question, worded in full, with the answers of earlier steps filled in.

    `sentence`: the question and its answer as a statement. `after`: the numbers, from 0, of the
    earlier steps whose answers are in the question.
    """

    question: str
    answer: str
    fact: Fact
    sentence: str
    after: tuple[int, ...]


class WorkedExample(NamedTuple):
    """A question with its steps.

    `conclusion`: the sentences that follow from the steps; none if the answer is that of the last
    step. `final`: the sentence that gives the answer; for a long answer, the answer itself.
    """

    question: str
    answer: str
    steps: tuple[WorkedStep, ...]
    conclusion: tuple[str, ...]
    final: str


def work_out(world: World, riddle: Riddle, dialect: str = "hotpotqa") -> WorkedExample:
    """The worked example of a question. It states all facts needed, including those of IIRC's main
    passage. `dialect`: the data set in whose style the sentences are worded.
    """
    steps: list[WorkedStep] = []
    for fact in riddle.facts:
        relation, subject, value = world.relation(*fact), fact.subject, world.value(*fact)
        question = relation.questions[0].format(x=subject)
        sentence = word_thought(dialect, relation, world.entities[subject], value)
        after = tuple(n for n, step in enumerate(steps) if step.answer == subject)
        steps.append(WorkedStep(question, value, fact, sentence, after))
    conclusion = [thought.text for thought in riddle.thoughts if thought.fact is None]
    final = ANSWER.format(answer=riddle.answer)
    if final in conclusion:
        conclusion.remove(final)
    else:  # a long answer is itself the final text
        final = riddle.answer
    return WorkedExample(riddle.text, riddle.answer, tuple(steps), tuple(conclusion), final)
