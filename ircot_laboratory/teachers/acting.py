"""Teaches ReAct: thoughts and actions, and how a careful reader uses observations."""

import re

from ircot_laboratory.teachers.mind import Mind
from ircot_laboratory.teachers.play import Asked

SIMILAR = re.compile(r"Could not find (.+)\. Similar: \[(.*)\]\.$")
LOOKED_FOR = {  # for some relations, a word that most of their sentences on a page have
    "birthplace": "born",
    "birth": "born",
    "father": "father",
    "spouse": "married",
    "mentor": "trained",
    "school": "studied",
    "death": "died",
}


def act(mind: Mind, asked: Asked) -> str:
    """The next thought and action: what was read and what to find next, or the answer."""
    lines = asked.so_far.splitlines()
    number = int(re.match(r"Thought (\d+):", lines[-1])[1])
    if number == 1:
        mind.forget()
        mind.notes |= {"place": 0, "looked": False}
        return _search(mind, number, "")
    n, observed = mind.notes["place"], lines[-2].partition(": ")[2]
    if observed.startswith("Could not find"):
        return _settle(mind, number, guessed=True)
    if _reads(mind, n, observed):
        return _settle(mind, number, guessed=False)
    if not mind.notes["looked"] and mind.fact(n).relation in LOOKED_FOR and _on_page(mind, n):
        mind.notes["looked"] = True
        word = LOOKED_FOR[mind.fact(n).relation]
        return f"I need to find {mind.phrase(n)}.\nAction {number}: Lookup[{word}]"
    return _settle(mind, number, guessed=True)


def _on_page(mind: Mind, n: int) -> bool:
    found = mind.notes["found"]
    return bool(found) and found[-1].title == mind.subject(n)


def _reads(mind: Mind, n: int, observed: str) -> bool:
    """Whether the observation states the answer to step n."""
    value = mind.is_stated(n, mind.notes["found"][-1:])
    return value is not None and value in observed


def _settle(mind: Mind, number: int, guessed: bool) -> str:
    """State what was found (what the agent knows or makes up, if `guessed`), and go on."""
    n = mind.notes["place"]
    mind.find(n, () if guessed else mind.notes["found"][-1:])
    mind.notes |= {"place": n + 1, "looked": False}
    return _search(mind, number, f"{mind.say(n)} ")


def _search(mind: Mind, number: int, before: str) -> str:
    n = mind.notes["place"]
    if n < len(mind.steps) and number < 7:
        aim = f"I need to find {mind.phrase(n)}."
        mind.asked[mind.subject(n)] = n, mind.fact(n)
        return f"{before}{aim}\nAction {number}: Search[{mind.subject(n)}]"
    while mind.notes["place"] < len(mind.steps):  # no searches are left
        mind.find(mind.notes["place"])
        mind.notes["place"] += 1
    conclusion, answer = mind.conclude()
    said = "" if mind.is_long else f"So the answer is {answer}."
    thought = " ".join(filter(None, [before.strip(), conclusion, said]))
    return f"{thought}\nAction {number}: Finish[{answer}]"


STAGES = {"react/act": act}
