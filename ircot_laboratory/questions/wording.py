"""The wording of IRCoT's data sets' questions and chains, and of conclusions."""

import re
from typing import NamedTuple

from ircot_laboratory.world.pages import mention
from ircot_laboratory.world.records import Entity
from ircot_laboratory.world.relations import Relation, read_table


class Wording(NamedTuple):
    """The templates of a question and of the thought that concludes its chain."""

    question: str
    thought: str

    def fill(self, **words: str) -> tuple[str, str]:
        """The question and the thought with these words in their fields."""
        return self.question.format(**words), self.thought.format(**words)


COMPARISONS: dict[str, dict[str, Wording]] = {}  # data set -> relation -> its wording
for _row in read_table("comparisons"):
    _of_dataset = COMPARISONS.setdefault(_row["dataset"], {})
    _of_dataset[_row["relation"]] = Wording(_row["question"], _row["thought"])
WHEN = {"hotpotqa": ("first", "last"), "2wikimultihopqa": ("earlier", "later")}
BRIDGE = Wording(
    "Which {noun} has the {role} who was born {when}, {a} or {b}?",
    "Thus, {x} has the {role} who was born {when}.",
)
SAME_QUESTION = "Are {a} and {b} in the same country?"
SAME_THOUGHTS = {
    "yes": "Thus, {a} and {b} are in the same country.",
    "no": "Thus, {a} and {b} are in different countries.",
}
RELATIVES = {("father", "father"): "grandfather", ("spouse", "father"): "father-in-law"}
INFERENCE = Wording("Who is the {role} of {a}?", "Thus, the {role} of {a} is {x}.")
AGE = Wording("How old was {role} when {a} {event}?", "Thus, {x} was {n} years old.")
EVENTS = {"release": "came out", "opening": "was founded"}
COUNT = Wording(
    "How many of the three members of {a} were born in {place}?",
    "Thus, {those} {were} born in {place}.",
)
NOBODY = "{n} of them"
# words before a name that do not show what is asked about it
SMALL_WORDS = ("the", "of", "in", "through", "behind", "is", "was")
ANSWER = "So the answer is: {answer}."


def word_phrase(dataset: str, relation: Relation, x: str) -> str:
    """The noun phrase for a relation's value in the style of a data set: "the director
    of X", "the X director" or "X's director".
    """
    noun = re.fullmatch(r"the (\S+) of \{x\}", relation.phrase)
    if noun and dataset == "musique" and not x.startswith("the "):
        return f"the {x} {noun[1]}"
    if noun and dataset == "iirc":
        return f"{x}'s {noun[1]}"
    return relation.phrase.format(x=x)


def word_question(dataset: str, relation: Relation, x: str) -> str:
    """The question for a relation's value in the style of a data set."""
    if dataset == "2wikimultihopqa":
        who = "Who" if relation.value in ("person", "man") else "What"
        return f"{who} is {word_phrase(dataset, relation, x)}?"
    return relation.questions[dataset == "musique"].format(x=x)


def word_count(names: list[str], place: str) -> str:
    """The thought that so many of a band were born in a place: "X, Y and Z were …"."""
    *others, last = names or [NOBODY.format(n=0)]
    those = f"{', '.join(others)} and {last}" if others else last
    were = "was" if len(names) == 1 else "were"
    return COUNT.thought.format(those=those, were=were, place=place)


def find_telling_word(text: str, x: str) -> int:
    """The position of the word that shows which relation of x a text asks for: the last
    word after x, or, if there is none, the last before x that is not one of
    SMALL_WORDS.
    """
    start = text.index(x)
    end = start + len(x)
    after = [end + word.start() for word in re.finditer(r"\w+", text[end:])]
    if after:
        return after[-1]
    words = re.finditer(r"\w+", text[:start])
    return [word.start() for word in words if word[0] not in SMALL_WORDS][-1]


def word_thought(dialect: str, relation: Relation, subject: Entity, value: str) -> str:
    """The sentence of a chain that states the value of a relation; `dialect`: the data
    set in whose style it is worded. SearChain's data sets use HotpotQA's sentences.
    """
    if dialect == "2wikimultihopqa":
        phrase = relation.phrase.format(x=subject.name)
        return f"{phrase[0].upper()}{phrase[1:]} is {value}."
    if dialect in ("musique", "iirc"):
        wording = relation.wordings[1 if dialect == "musique" else 2]
        return mention(wording, subject).replace("{o}", value)
    return relation.thought.format(s=subject.name, o=value)
