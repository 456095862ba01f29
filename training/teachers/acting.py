"""Teaches ReAct: thoughts and actions, and how a careful reader uses observations."""

import re

from training.teachers.mind import Mind, Situation

LAST = 7  # the number of the last thought, which must answer
LOOKED_FOR = {  # for some relations, a word that most of their sentences on a page have
    "birthplace": "born",
    "birth": "born",
    "father": "father",
    "spouse": "married",
    "mentor": "trained",
    "school": "studied",
    "death": "died",
}


def react_act(mind: Mind, situation: Situation) -> str:
    """The next thought and action: what was read and what to find next, or the answer.
    An action that could not be read is written again, alone if the thought stands.
    """
    lines, notes = situation.so_far.splitlines(), mind.notes
    if action := re.fullmatch(r"Action (\d+):", lines[-1]):
        return notes["written"].partition(f"\nAction {action[1]}: ")[2]
    number = int(re.match(r"Thought (\d+):", lines[-1])[1])
    if number > 1 and lines[-2].partition(": ")[2].startswith("Invalid action"):
        again = f"Action {number}:"
        notes["written"] = re.sub(r"\bAction \d+:", again, notes["written"])
    else:
        notes["written"] = _think_and_act(mind, lines, number)
    return notes["written"]


def _think_and_act(mind: Mind, lines: list[str], number: int) -> str:
    notes = mind.notes
    if number == 1:
        mind.forget()
        notes |= {"step": 0, "looked up": False}
        return _search(mind, number, "")
    n = notes["step"]
    observation = lines[-2].partition(": ")[2]
    page = mind.retrieved[-1:]
    if not observation.startswith("Could not find"):
        if page and mind.shown(observation, mind.fact(n), page[0]):
            return _settle(mind, number, page)
        word = LOOKED_FOR.get(mind.fact(n).relation)
        on_page = bool(page) and page[0].title == mind.subject(n)
        if word and on_page and not notes["looked up"]:
            notes["looked up"] = True
            return f"I need to find {mind.phrase(n)}.\nAction {number}: Lookup[{word}]"
    return _settle(mind, number, ())


def _settle(mind: Mind, number: int, page) -> str:
    """State what the page says (what is known or made up, without one); go on."""
    n = mind.notes["step"]
    mind.settle(n, page)
    mind.notes |= {"step": n + 1, "looked up": False}
    return _search(mind, number, f"{mind.say(n)} ")


def _search(mind: Mind, number: int, before: str) -> str:
    n = mind.notes["step"]
    if n < len(mind.steps) and number < LAST:
        aim = f"I need to find {mind.phrase(n)}."
        mind.worded[mind.subject(n)] = n, mind.fact(n)
        return f"{before}{aim}\nAction {number}: Search[{mind.subject(n)}]"
    for later in range(n, len(mind.steps)):  # no searches are left
        mind.settle(later)
    mind.notes["step"] = len(mind.steps)
    conclusion, answer = mind.conclude()
    ending = "" if mind.is_long else f"So the answer is {answer}."
    thought = " ".join(filter(None, [before.strip(), conclusion, ending]))
    return f"{thought}\nAction {number}: Finish[{answer}]"
