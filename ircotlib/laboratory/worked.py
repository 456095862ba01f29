"""The worked example of a question: its sub-questions in order, their facts and answers, what
follows from them, and the final sentence. Each system's demonstrations and gold replies follow.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ircotlib.laboratory.records import Fact, Riddle, World
from ircotlib.laboratory.wording import ANSWER, word_thought


class Step(NamedTuple):
    """One sub-question, worded in full: what earlier steps found is filled in.

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

    `conclusion`: the sentences that follow from those of the steps, none where the last step's
    answer is the answer. `final`: the sentence that gives the answer.
    """

    question: str
    answer: str
    steps: tuple[Step, ...]
    conclusion: tuple[str, ...]
    final: str


def work_out(world: World, riddle: Riddle, dialect: str = "hotpotqa") -> WorkedExample:
    """The worked example of a question, all facts stated that it needs, those of IIRC's main
    passage too; `dialect`: the data set whose chains the sentences are worded like.
    """
    steps = []
    for fact in riddle.facts:
        steps.append(_take_step(world, fact, steps, dialect))
    conclusion = [thought.text for thought in riddle.thoughts if thought.fact is None]
    final = ANSWER.format(answer=riddle.answer)
    if final in conclusion:
        conclusion.remove(final)
    else:  # a long answer is its own final content
        final = riddle.answer
    return WorkedExample(riddle.text, riddle.answer, tuple(steps), tuple(conclusion), final)


def refer_back(step: Step) -> str:
    """The question of a step before earlier ones are answered: "#1" is what the first one finds (as
    in MuSiQue).
    """
    if not step.after:
        return step.question
    return step.question.replace(step.fact.subject, f"#{step.after[-1] + 1}")


def _take_step(world: World, fact: Fact, earlier: Sequence[Step], dialect: str) -> Step:
    relation, subject, value = world.relation(*fact), fact.subject, world.value(*fact)
    sentence = word_thought(dialect, relation, world.entities[subject], value)
    after = tuple(n for n, step in enumerate(earlier) if step.answer == subject)
    return Step(relation.questions[0].format(x=subject), value, fact, sentence, after)
