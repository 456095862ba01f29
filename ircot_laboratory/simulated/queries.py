"""Queries about single facts, in the laboratory's wordings."""

from functools import cache, lru_cache

from ircot_laboratory.judge.reading import compile_template, value_of
from ircot_laboratory.questions.wording import ANSWER, word_thought
from ircot_laboratory.teachers.mind import PLAIN
from ircot_laboratory.world.records import Fact, Riddle, Thought, World
from ircot_laboratory.world.relations import RELATIONS


@lru_cache(maxsize=100_000)
def read_question(query: str) -> tuple[Fact, ...]:
    """The facts that a query may ask for, in the laboratory's wording of questions."""
    matches = ((name, pattern.fullmatch(query)) for name, pattern in _question_patterns())
    return tuple(Fact(match["x"], name) for name, match in matches if match)


@cache
def _question_patterns() -> tuple:
    relations = {r.name: r for relations in RELATIONS.values() for r in relations}
    wordings = ((r.name, wording) for r in relations.values() for wording in r.questions)
    return tuple((name, compile_template(wording)) for name, wording in wordings)


def pose(world: World, dataset: str, query: str) -> Riddle | None:
    """A query as a question of a data set; None if it asks for no fact of the world."""
    for fact in read_question(query):
        if answer := value_of(*fact, world.entities):
            relation, subject = world.relation(*fact), world.entities[fact.subject]
            thoughts = Thought(word_thought(PLAIN, relation, subject, answer), fact)
            final = Thought(ANSWER.format(answer=answer))
            return Riddle(dataset, "", query, answer, (thoughts, final))
    return None
