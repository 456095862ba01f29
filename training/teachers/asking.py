"""Teaches stages that ask sub-questions as they go: Self-Ask, DecomP, ToolFormer."""

import json
import re

from training.teachers.closed import write_chain_and_answer
from training.teachers.mind import Mind, Situation

FOLLOW_UP = "Follow up:"
ANSWERED = "Intermediate answer:"
FINAL = "So the final answer is:"


def self_ask_ask(mind: Mind, situation: Situation) -> str:
    """Continue the text with follow-up questions and the reader's own answers. Where
    retrieval is to answer instead, the program stops the text before the answer.
    """
    so_far = situation.so_far
    asked = so_far.count(FOLLOW_UP)
    if not so_far:
        mind.forget()
    answers = re.findall(rf"{ANSWERED} (.+)\.$", so_far, re.MULTILINE)
    for n, answer in enumerate(answers):
        mind.accept(n, answer)
    if so_far.endswith(FINAL):
        return _final(mind)
    lines = [] if so_far else ["Yes."]
    if so_far.endswith(ANSWERED):
        mind.settle(asked - 1)
        lines.append(f"{mind.values[asked - 1]}.")
    for n in range(asked, len(mind.steps)):
        lines.append(f"{FOLLOW_UP} {mind.ask(n)}")
        mind.settle(n)
        lines.append(f"{ANSWERED} {mind.values[n]}.")
    lines.append(f"{FINAL} {_final(mind)}")
    text = "\n".join(lines)
    return text if not so_far or so_far.endswith(ANSWERED) else f"\n{text}"


def _final(mind: Mind) -> str:
    answer = mind.conclude()[1]
    return answer if mind.is_long else f"{answer}."


def self_ask_read(mind: Mind, situation: Situation) -> str:
    """The answer to a sub-question if paragraphs state it, otherwise "unknown"."""
    n = mind.worded[situation.question.text][0]
    if not mind.stated_value(n, situation.paragraphs):
        return "unknown"
    mind.settle(n, situation.paragraphs)
    return mind.values[n]


def decomp_decompose(mind: Mind, situation: Situation) -> str:
    """The next call: a sub-question, then the question itself, then the end."""
    asked = situation.so_far.count("\nA:")
    answers = re.findall(r'"answer": \["(.*)"\]', situation.so_far)
    if asked == 0:
        mind.forget()
    for n, answer in enumerate(answers[: len(mind.steps)]):
        mind.accept(n, answer)
    if asked < len(mind.steps):
        return f"(select) [retrieve_odqa] {mind.ask(asked)}"
    alone = len(mind.steps) == 1 and mind.steps[0].answer == mind.riddle.answer
    if asked > len(mind.steps) or alone:
        return "[EOQ]"
    chosen: list[str] = []
    for n, found in enumerate(re.findall(r'"titles": (\[.*?\])', situation.so_far)):
        titles = json.loads(found)
        own = [title for title in titles if title == mind.subject(n)]
        chosen += (own or titles)[:1]  # the page of the step's subject, else the first
    listed = json.dumps([*filter(None, dict.fromkeys(chosen))])
    return f"(select) [multihop_titleqa] Titles: {listed}. Question: {mind.riddle.text}"


def decomp_singlehop(mind: Mind, situation: Situation) -> str:
    """The answer from the paragraphs, as the list that the program reads."""
    n = mind.worded[situation.question.text][0]
    mind.settle(n, situation.paragraphs)
    return json.dumps([mind.values[n]], ensure_ascii=False)


def decomp_multihop(mind: Mind, situation: Situation) -> str:
    """A chain from the paragraphs of all chosen titles, and its answer."""
    return write_chain_and_answer(mind, situation.paragraphs, "So the answer is:")


def toolformer_write(mind: Mind, situation: Situation) -> str:
    """A call of the search for the first step; then a chain and its answer."""
    if not situation.so_far:
        return f"[WikiSearch({mind.ask(0)})→"
    return write_chain_and_answer(mind, mind.retrieved)
