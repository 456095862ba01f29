"""How the four data-set styles word their questions and their chains; the templates of what follows
from facts.
"""

import re

from ircotlib.laboratory.encyclopedia import Entity, mention
from ircotlib.laboratory.relations import Relation

COMPARISONS = {
    "hotpotqa": {
        "birth": ("Who was born {when}, {a} or {b}?", "Thus, {x} was born {when}."),
        "release": ("Which {noun} came out {when}, {a} or {b}?", "Thus, {x} came out {when}."),
        "opening": (
            "Which {noun} was founded {when}, {a} or {b}?",
            "Thus, {x} was founded {when}.",
        ),
    },
    "2wikimultihopqa": {
        "birth": (
            "Which person has the {when} date of birth, {a} or {b}?",
            "Thus, {x} has the {when} date of birth.",
        ),
        "release": (
            "Which {noun} has the {when} release date, {a} or {b}?",
            "Thus, {x} has the {when} release date.",
        ),
        "opening": (
            "Which {noun} has the {when} opening date, {a} or {b}?",
            "Thus, {x} has the {when} opening date.",
        ),
    },
}
WHEN = {"hotpotqa": ("first", "last"), "2wikimultihopqa": ("earlier", "later")}
BRIDGE = (
    "Which {noun} has the {role} who was born {when}, {a} or {b}?",
    "Thus, {x} has the {role} who was born {when}.",
)
SAME_QUESTION = "Are {a} and {b} in the same country?"
SAME_THOUGHTS = {
    "yes": "Thus, {a} and {b} are in the same country.",
    "no": "Thus, {a} and {b} are in different countries.",
}
RELATIVES = {("father", "father"): "grandfather", ("spouse", "father"): "father-in-law"}
INFERENCE = ("Who is the {role} of {a}?", "Thus, the {role} of {a} is {x}.")
AGE = ("How old was {role} when {a} {event}?", "Thus, {x} was {n} years old.")
EVENTS = {"release": "came out", "opening": "was founded"}
COUNT = (
    "How many of the three members of {a} were born in {place}?",
    "Thus, {those} {were} born in {place}.",
    "{n} of them",
)
# before a name; they do not tell what is asked of it
SMALL_WORDS = ("the", "of", "in", "through", "behind", "is", "was")
ANSWER = "So the answer is: {answer}."


def describe(style: str, relation: Relation, x: str) -> str:
    """The noun phrase for a relation's value in a style's questions: "the director of X", "the X
    director", "X's director".
    """
    noun = re.fullmatch(r"the (\S+) of \{x\}", relation.phrase)
    if noun and style == "musique" and not x.startswith("the "):
        return f"the {x} {noun[1]}"
    if noun and style == "iirc":
        return f"{x}'s {noun[1]}"
    return relation.phrase.format(x=x)


def list_names(names: list[str]) -> str:
    """ "X", "X and Y" or "X, Y and Z"; nothing for no names."""
    return " and ".join([", ".join(names[:-1]), *names[-1:]] if len(names) > 1 else names)


def ask(style: str, relation: Relation, x: str) -> str:
    """The question for a relation's value in a style."""
    if style == "2wikimultihopqa":
        return f"{'Who' if relation.value in ('person', 'man') else 'What'} is {describe(style, relation, x)}?"
    return relation.questions[style == "musique"].format(x=x)


def find_telling_word(text: str, x: str) -> int:
    """Where the word stands that tells which relation of x a text asks for: the last one after x,
    or the last before it that is not a small one.
    """
    start = text.index(x)
    end = start + len(x)
    after = [end + word.start() for word in re.finditer(r"\w+", text[end:])]
    before = [
        word.start() for word in re.finditer(r"\w+", text[:start]) if word[0] not in SMALL_WORDS
    ]
    return (after or before)[-1]


def word_thought(dialect: str, relation: Relation, subject: Entity, value: str) -> str:
    """The sentence of a chain that states the value of a relation, in the dialect of a style's
    chains.
    """
    if dialect == "2wikimultihopqa":
        phrase = relation.phrase.format(x=subject.name)
        return f"{phrase[0].upper()}{phrase[1:]} is {value}."
    if dialect == "hotpotqa":
        return relation.thought.format(s=subject.name, o=value)
    wording = relation.wordings[1 if dialect == "musique" else 2]
    return mention(wording, subject).replace("{o}", value)
