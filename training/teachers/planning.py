"""Teaches stages that plan first: Least-to-Most, Plan-and-Solve."""

from collections.abc import Sequence

from training.teachers.closed import answer_alone, give_answer, write_chain
from training.teachers.mind import Mind, Reply, Situation


def nested_subject(mind: Mind, n: int) -> str:
    """The subject of a step in terms of the question: "the home of X"."""
    step = mind.steps[n]
    return nested_phrase(mind, step.after[-1]) if step.after else step.fact.subject


def nested_phrase(mind: Mind, n: int) -> str:
    """What a step asks for in terms of the question: "the mayor of the home of X"."""
    return mind.relation(n).phrase.format(x=nested_subject(mind, n))


def nested_question(mind: Mind, n: int) -> str:
    """The sub-question of a step in terms of the question."""
    return mind.relation(n).questions[0].format(x=nested_subject(mind, n))


def least_to_most_decompose(mind: Mind, situation: Situation) -> str:
    """A list of sub-questions, without the last step if that is the question itself."""
    count = len(mind.steps)
    ends = mind.steps[-1].answer == mind.riddle.answer and not mind.worked.conclusion
    if count > 1 and ends:
        count -= 1
    return _number([nested_question(mind, n) for n in range(count)])


def least_to_most_solve(mind: Mind, situation: Situation) -> Reply | str:
    """The answer to the last sub-question, or to the question itself."""
    so_far, whole = situation.so_far, mind.riddle.text
    n = so_far.count("\nA:")
    if n == 0:
        mind.forget()
    # answers that it did not write
    for step, text in enumerate(so_far.split("\nQ: ")[:-1]):
        if step not in mind.values:
            given = text.rpartition("A: ")[2]
            mind.accept(step, given) if given else mind.settle(step)
    if so_far.endswith(f"{whole}\nA: ") or situation.question.text == whole:
        mind.settle_all(first=n)
        return answer_alone(mind)
    mind.settle(n)
    return mind.values[n]


def plan_and_solve_solve(mind: Mind, situation: Situation) -> str:
    """A plan, its solution from memory, and the answer."""
    plan = [f"Find {nested_phrase(mind, n)}." for n in range(len(mind.steps))]
    plan += ["Compare them."] if len(mind.riddle.compared) > 1 else []
    return f"Plan:\n{_number(plan)}\nSolution:\n{_solve(mind, ())}"


def plan_and_solve_read(mind: Mind, situation: Situation) -> str:
    """The solution of a plan from the paragraphs found for it, and the answer."""
    return "\n" + _solve(mind, situation.paragraphs)


def _solve(mind: Mind, paragraphs: Sequence) -> str:
    return f"{_number(write_chain(mind, paragraphs))}\n{give_answer(mind)}"


def _number(lines: list[str]) -> str:
    return "\n".join(f"{n}. {line}" for n, line in enumerate(lines, start=1))
