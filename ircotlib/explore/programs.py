"""Tries a program that was written in a cell: its score, and the last prompt it wrote."""

from collections.abc import Callable, Sequence
from statistics import fmean

from ircotlib.data import Question
from ircotlib.datasets import score
from ircotlib.experiment.runs import answer_all
from ircotlib.experiment.setup import Setup
from ircotlib.program import Generate, Program, Sample
from ircotlib.systems import System


def try_program(
    setup: Setup, program: Callable[[Question], Program], questions: Sequence[Question]
) -> float:
    """Run a program on questions; print the last prompt of the first one, without demonstrations,
    and what the model wrote; return the mean score in percent, by the data set's first measure.
    """
    system = System(program.__name__, program)
    outcomes = answer_all(setup, system, questions)
    steps = outcomes[questions[0].id].trace
    for step in [step for step in steps if isinstance(step.request, Generate | Sample)][-1:]:
        print(str(step.request.prompt).rpartition("\n\n\n")[2])
        texts = [step.reply] if isinstance(step.reply, str) else [each.text for each in step.reply]
        print(*(f"    → {text}" for text in texts), sep="\n")
    measure = system.measure(setup.dataset)
    results = [(question, outcomes[question.id].result) for question in questions]
    mean = 100 * fmean(score(*each, setup.scored_as)[measure] for each in results)
    print(f"\n{program.__name__}: {measure} {mean:.1f}%, {len(questions)} questions")
    return mean
