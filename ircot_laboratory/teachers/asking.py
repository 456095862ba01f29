"""Teaches stages that ask sub-questions as they go: Self-Ask, DecomP, ToolFormer."""

import json
import re

from ircot_laboratory.teachers.closed import write_whole
from ircot_laboratory.teachers.mind import Mind
from ircot_laboratory.teachers.play import Asked

FOLLOW_UP, ANSWERED, FINAL = "Follow up:", "Intermediate answer:", "So the final answer is:"


def ask(mind: Mind, asked: Asked) -> str:
    """Continue the text with follow-up questions and the agent's own answers. Where retrieval is to
    answer instead, the program stops the text before the answer.
    """
    so_far = asked.so_far
    place = so_far.count(FOLLOW_UP)
    if not so_far:
        mind.forget()
    for n, said in enumerate(re.findall(rf"{ANSWERED} (.+)\.$", so_far, re.MULTILINE)):
        mind.accept(n, said)
    if so_far.endswith(FINAL):
        return _final(mind)
    lines = []
    if so_far.endswith(ANSWERED):
        mind.find(place - 1)
        lines.append(f"{mind.values[place - 1]}.")
    lines += [] if so_far else ["Yes."]
    for n in range(place, len(mind.steps)):
        lines.append(f"{FOLLOW_UP} {mind.ask(n)}")
        mind.find(n)
        lines.append(f"{ANSWERED} {mind.values[n]}.")
    lines.append(f"{FINAL} {_final(mind)}")
    text = "\n".join(lines)
    return text if not so_far or so_far.endswith(ANSWERED) else f"\n{text}"


def _final(mind: Mind) -> str:
    answer = mind.conclude()[1]
    return answer if mind.is_long else f"{answer}."


def read(mind: Mind, asked: Asked) -> str:
    """The answer to a sub-question if paragraphs state it, otherwise "unknown"."""
    n = mind.asked[asked.question.text][0]
    if not mind.is_stated(n, asked.paragraphs):
        return "unknown"
    mind.find(n, asked.paragraphs)
    return mind.values[n]


def decompose(mind: Mind, asked: Asked) -> str:
    """The next call: a sub-question for retrieval and reading; after the last one, the question
    itself, to be read for in the pages found; finally the end.
    """
    place = asked.so_far.count("\nA:")
    answers = re.findall(r'"answer": \["(.*)"\]', asked.so_far)
    if place == 0:
        mind.forget()
    for n, answer in enumerate(answers[: len(mind.steps)]):
        mind.accept(n, answer)
    if place < len(mind.steps):
        return f"(select) [retrieve_odqa] {mind.ask(place)}"
    alone = len(mind.steps) == 1 and mind.steps[0].answer == mind.riddle.answer
    if place > len(mind.steps) or alone:
        return "[EOQ]"
    found = re.findall(r'"titles": (\[.*?\])', asked.so_far)
    titles = [_choose_title(mind, n, json.loads(of)) for n, of in enumerate(found)]
    listed = json.dumps([*filter(None, dict.fromkeys(titles))])
    return f"(select) [multihop_titleqa] Titles: {listed}. Question: {mind.riddle.text}"


def _choose_title(mind: Mind, n: int, titles: list[str]) -> str:
    """The page of the step's subject if it was found, otherwise the first page found, or ""."""
    return mind.subject(n) if mind.subject(n) in titles else next(iter(titles), "")


def read_one(mind: Mind, asked: Asked) -> str:
    """A sentence from the paragraphs, and the answer that it states."""
    n = mind.asked[asked.question.text][0]
    mind.find(n, asked.paragraphs)
    return f"{mind.say(n)} So the answer is: {mind.values[n]}."


def read_several(mind: Mind, asked: Asked) -> str:
    """A chain from the paragraphs of all chosen titles, and its answer."""
    mind.forget()
    return write_whole(mind, asked.paragraphs, "So the answer is:")


def write_with_tool(mind: Mind, asked: Asked) -> str:
    """A call of the search for the first step; after its result, a chain and its answer."""
    if not asked.so_far:
        mind.forget()
        return f"[WikiSearch({mind.ask(0)})→"
    mind.forget()
    return write_whole(mind, mind.notes["found"])


STAGES = {
    "self_ask/ask": ask,
    "self_ask/read": read,
    "decomp/decompose": decompose,
    "decomp/singlehop": read_one,
    "decomp/multihop": read_several,
    "toolformer/write": write_with_tool,
}
