"""Questions that ask for several sentences, as in ELI5: the answer is the whole chain."""

from ircot_laboratory.questions.draw import Draw
from ircot_laboratory.world.records import Fact, Riddle, Thought
from ircot_laboratory.world.tables import read_table

EXPLANATIONS = read_table("explanations")
MEETING, MEETING_THOUGHT = "How could {a} and {b} have met?", "So {a} and {b} could have met there."


def draw_explanation(draw: Draw) -> Riddle | None:
    """Why something is so in a city ("why"), or how a work, a company or a band came to be
    ("origin"); a row of explanations.csv names the facts.
    """
    rows = [row for row in EXPLANATIONS if row["kind"] == draw.kind]
    a = draw.start({kind for row in rows for kind in row["of"].split()})
    kind = draw.world.entities[a].kind
    row = draw.rng.choice([row for row in rows if kind in row["of"].split()])
    facts = [_follow(draw, a, path.split(".")) for path in row["facts"].split()]
    if None in facts:
        return None
    words = {"a": a, "x": draw.world.value(*facts[-1])}
    return _explain(draw, row["question"].format(**words), facts, row["conclusion"].format(**words))


def _follow(draw: Draw, subject: str, path: list[str]) -> Fact | None:
    """The fact at the end of a path of relations; None if a page on the way does not state it."""
    *bridges, last = path
    for relation in bridges:
        subject = draw.facts(subject).get(relation) if subject else None
    return Fact(subject, last) if subject and last in draw.facts(subject) else None


def draw_meeting(draw: Draw) -> Riddle | None:
    """How two persons could have met: they went to the same school."""
    a = draw.start(("person",))
    others, _ = draw.same_and_others("school", a)
    if not others:
        return None
    words = {"a": a, "b": draw.rng.choice(others)}
    facts = [Fact(words["a"], "school"), Fact(words["b"], "school")]
    return _explain(draw, MEETING.format(**words), facts, MEETING_THOUGHT.format(**words))


def _explain(draw: Draw, text: str, facts: list[Fact], thus: str) -> Riddle:
    thoughts = [draw.state(fact) for fact in facts] + [Thought(thus)] * bool(thus)
    answer = " ".join(thought.text for thought in thoughts)
    return Riddle(draw.dataset, draw.kind, text, answer, tuple(thoughts), input=text)
