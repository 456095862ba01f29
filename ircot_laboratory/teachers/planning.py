"""Teaches stages that plan first: Least-to-Most, Plan-and-Solve."""

from ircot_laboratory.teachers.closed import give, give_alone, write_chain
from ircot_laboratory.teachers.mind import Mind
from ircot_laboratory.teachers.play import Asked, Reply


def nested(mind: Mind, n: int) -> str:
    """The noun phrase of a step in terms of the question: "the mayor of the home of X"."""
    step = mind.steps[n]
    x = nested(mind, step.after[-1]) if step.after else step.fact.subject
    return mind.relation(n).phrase.format(x=x)


def sub_question(mind: Mind, n: int) -> str:
    """The sub-question of a step in terms of the question."""
    step = mind.steps[n]
    x = nested(mind, step.after[-1]) if step.after else step.fact.subject
    return mind.relation(n).questions[0].format(x=x)


def decompose(mind: Mind, asked: Asked) -> str:
    """A list of sub-questions, without the last step if that is the question itself."""
    count = len(mind.steps)
    if count > 1 and mind.steps[-1].answer == mind.riddle.answer and not mind.worked.conclusion:
        count -= 1
    questions = [sub_question(mind, n) for n in range(count)]
    return "\n".join(f"{n}. {question}" for n, question in enumerate(questions, start=1))


def solve(mind: Mind, asked: Asked) -> Reply | str:
    """The answer to the last sub-question, or to the question itself."""
    place = asked.so_far.count("\nA:")
    if place == 0:
        mind.forget()
    if asked.so_far.endswith(f"{mind.riddle.text}\nA: ") or asked.question.text == mind.riddle.text:
        mind.find_all(first=place)
        return give_alone(mind)
    mind.find(place)
    return mind.values[place]


def plan(mind: Mind, asked: Asked) -> str:
    """A plan, its solution from memory, and the answer."""
    steps = [f"Find {nested(mind, n)}." for n in range(len(mind.steps))]
    steps += ["Compare them."] if len(mind.riddle.compared) > 1 else []
    mind.forget()
    return f"Plan:\n{_number(steps)}\nSolution:\n{_solution(mind, ())}"


def solve_from_paragraphs(mind: Mind, asked: Asked) -> str:
    """The solution of a plan from the paragraphs found for it, and the answer."""
    mind.forget()
    return "\n" + _solution(mind, asked.paragraphs)


def _solution(mind: Mind, paragraphs) -> str:
    said = write_chain(mind, paragraphs)
    return f"{_number(said)}\n{give(mind)}"


def _number(lines: list[str]) -> str:
    return "\n".join(f"{n}. {line}" for n, line in enumerate(lines, start=1))


STAGES = {
    "least_to_most/decompose": decompose,
    "least_to_most/solve": solve,
    "plan_and_solve/solve": plan,
    "plan_and_solve/read": solve_from_paragraphs,
}
