"""Teaches SearChain: chains of queries, and how a careful reader uses feedback."""

import re

from ircot_laboratory.teachers.mind import Mind
from ircot_laboratory.teachers.play import Asked

PAIR = re.compile(r"^\[Query (\d+)\]: (.+)\n\[Answer \1\]: (.+)$", re.MULTILINE)


def chain(mind: Mind, asked: Asked) -> str:
    """A whole chain; after feedback, its rest, beginning with the query that the feedback was
    about; after tracing, the final content.
    """
    told = mind.notes["told_last"] if asked.so_far else None
    if told is None:
        mind.forget()
        return "\n" + _go_on(mind, 0, [])
    if told.stage == "tracing":
        return "\n\n" + _trace(mind, str(told.fields["pairs"]))
    return "\n\n" + _change(mind, told)


def without_ir(mind: Mind, asked: Asked) -> str:
    """A whole chain in which the agent gives all answers itself."""
    mind.forget()
    return "\n" + _go_on(mind, 0, [], may_give_up=False)


def _change(mind: Mind, told: Asked) -> str:
    """Repeat the query with the answer that the passage states, then go on. If the passage states
    none, the agent keeps its own answer, or takes the one in the feedback if it had none.
    """
    query, found = str(told.fields["query"]), str(told.fields["found"])
    n = mind.asked[query][0]
    for later in [one for one in mind.values if one > n]:
        del mind.values[later]
    passage = mind.notes["found"]
    if mind.is_stated(n, passage) or n not in mind.values:
        known = mind.is_stated(n, passage)
        if known or not found:
            mind.find(n, passage)
        else:
            mind.accept(n, found)
    return _go_on(mind, n + 1, [_pair(mind, n)])


def _pair(mind: Mind, n: int) -> str:
    return f"[Query {n + 1}]: {mind.ask(n)}\n[Answer {n + 1}]: {mind.values[n]}."


def _go_on(mind: Mind, first: int, lines: list[str], may_give_up: bool = True) -> str:
    for n in range(first, len(mind.steps)):
        if may_give_up and not mind.find(n, guess=False) and mind.gives_up(n):
            return "\n".join([*lines, f"[Unsolved Query]: {mind.ask(n)}"])
        if n not in mind.values:
            mind.find(n)
        lines.append(_pair(mind, n))
    marks = range(1, len(mind.steps) + 1)
    said = [_marked(mind.say(n), mark) for n, mark in enumerate(marks)]
    return "\n".join([*lines, _final(mind, said)])


def _marked(sentence: str, mark: int) -> str:
    return f"{sentence.removesuffix('.')} [{mark}]."


def _final(mind: Mind, said: list[str]) -> str:
    conclusion, answer = mind.conclude()
    parts = [*said, *([conclusion] if conclusion else [])]
    parts += [] if mind.is_long else [f"So the final answer is {answer}."]
    return f"[Final Content]: {' '.join(parts)}"


def _trace(mind: Mind, pairs: str) -> str:
    """The final content from the query-answer pairs, with their marks."""
    marks = {}
    for mark, query, answer in PAIR.findall(pairs):
        n, fact = mind.asked[query]
        if fact == mind.fact(n):
            mind.accept(n, answer.removesuffix("."))
            marks[n] = int(mark)
    said = []
    for n in range(len(mind.steps)):
        if n not in mind.values:
            mind.find(n)
        said.append(_marked(mind.say(n), marks[n]) if n in marks else mind.say(n))
    return _final(mind, said)


STAGES = {"searchain/chain": chain, "searchain/without_ir": without_ir}
