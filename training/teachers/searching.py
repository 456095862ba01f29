"""Teaches SearChain: chains of queries, and how a careful reader uses feedback."""

import re
from collections.abc import Sequence

from training.teachers.mind import PERSONS, Mind, Situation

PAIR = re.compile(r"^\[Query (\d+)\]: (.+)\n\[Answer \1\]: (.+)$", re.MULTILINE)


def searchain_chain(mind: Mind, situation: Situation) -> str:
    """A chain; after feedback, its rest from there; after tracing, the content."""
    if not situation.so_far:
        mind.forget()
        return "\n" + _write_rest(mind, 0, [])
    feedback = mind.feedback
    if feedback.stage == "tracing":
        return "\n\n" + _trace(mind, feedback.fields["pairs"])
    # Repeat the query with the answer that the passage states, if it reads that again,
    # then go on. If not, or if it states none, the reader takes the answer in the
    # feedback, or keeps its own.
    n, _ = mind.worded[feedback.fields["query"]]
    answer = feedback.fields["found"]
    mind.forget(n + 1)
    if mind.stated_value(n, mind.retrieved) or (n not in mind.values and not answer):
        mind.settle(n, mind.retrieved)
    elif n not in mind.values:
        mind.accept(n, answer)
    return "\n\n" + _write_rest(mind, n + 1, [_pair(mind, n)])


def searchain_without_retrieval(mind: Mind, situation: Situation) -> str:
    """A whole chain in which the reader gives all answers itself."""
    mind.forget()
    return "\n" + _write_rest(mind, 0, [], may_give_up=False)


def _write_rest(
    mind: Mind, first: int, lines: list[str], may_give_up: bool = True
) -> str:
    """The chain from a step on, below `lines`, to an unsolved query or the content."""
    for n in range(first, len(mind.steps)):
        known = not may_give_up or mind.settle(n, guess=False)
        # it says so only about persons
        if not known and mind.subject(n).split()[0] in PERSONS:
            return "\n".join([*lines, f"[Unsolved Query]: {mind.ask(n)}"])
        if n not in mind.values:
            mind.settle(n)
        lines.append(_pair(mind, n))
    sentences = [_mark(text, n) for n, text in enumerate(mind.say_all(), start=1)]
    return "\n".join([*lines, _final_content(mind, sentences)])


def _pair(mind: Mind, n: int) -> str:
    return f"[Query {n + 1}]: {mind.ask(n)}\n[Answer {n + 1}]: {mind.values[n]}."


def _mark(sentence: str, mark: int) -> str:
    return f"{sentence.removesuffix('.')} [{mark}]."


def _final_content(mind: Mind, sentences: Sequence[str]) -> str:
    conclusion, answer = mind.conclude()
    ending = "" if mind.is_long else f"So the final answer is {answer}."
    content = " ".join(filter(None, [*sentences, conclusion, ending]))
    return f"[Final Content]: {content}"


def _trace(mind: Mind, pairs: str) -> str:
    """The final content from the query-answer pairs, with their marks."""
    marks = {}
    for mark, query, answer in PAIR.findall(pairs):
        n, fact = mind.worded[query]
        if fact == mind.fact(n):
            answer = answer.removesuffix(".")
            if answer != mind.values.get(n):
                mind.forget(n)  # and what followed from it
            mind.accept(n, answer)
            marks[n] = int(mark)
    sentences = []
    for n in range(len(mind.steps)):
        if n not in mind.values:
            mind.settle(n)
        sentences.append(_mark(mind.say(n), marks[n]) if n in marks else mind.say(n))
    return _final_content(mind, sentences)
