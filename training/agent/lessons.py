"""What the agent knows by heart, and lessons in it: lists of facts without pages."""

import random
from collections import Counter
from collections.abc import Mapping
from functools import cache

from ircot_laboratory.make import make_dataset
from ircot_laboratory.questions.wording import word_thought
from ircot_laboratory.world.encyclopedia import make_popular
from ircot_laboratory.world.records import Entity, Fact, World
from training.agent.transcripts import DecidedFact, Transcript, WrittenSpan
from training.teachers.mind import PLAIN

# entities of the default laboratory that are known: those that most pages name
FAMOUS = 300
FACTS = 12  # in a lesson
# how a fact is asked for; the value and a full stop follow
FORMS = ("{question} ", "{n}. {sentence}", "{sentence}")
SEPARATORS = ("\n", "\n", " ")  # of the facts of a lesson, for each form


@cache
def famous_world() -> World:
    """The default laboratory's world, none of whose pages is shown in training."""
    return make_dataset("hotpotqa").world


@cache
def known_facts() -> dict[Fact, str]:
    """What the agent knows by heart: of popular entities, and of the FAMOUS ones."""
    entities = famous_world().entities
    named = Counter(v for entity in entities.values() for v in entity.facts.values())
    often = sorted(entities.keys() & named, key=lambda name: (-named[name], name))
    known = {name: entities[name] for name in often[:FAMOUS]} | make_popular()
    return facts_of(known)


def facts_of(entities: Mapping[str, Entity]) -> dict[Fact, str]:
    """The facts of entities with their values, in order."""
    return {
        Fact(name, relation): value
        for name, entity in entities.items()
        for relation, value in entity.facts.items()
    }


def draw_lesson(rng: random.Random) -> Transcript:
    """Draw a list of known facts in one form; only their values are to be written."""
    form = rng.randrange(len(FORMS))
    lesson = Transcript("")
    for n, fact in enumerate(rng.sample(list(known_facts()), FACTS), start=1):
        value = known_facts()[fact]
        lesson.text += SEPARATORS[form] if lesson.text else ""
        lesson.text += _lead(FORMS[form], n, fact, value)
        start = len(lesson.text.rstrip())
        lesson.decided.append(DecidedFact(len(lesson.text), fact))
        lesson.text += f"{value}."
        span = WrittenSpan("lesson", start, len(lesson.text) - 1, ends=False)
        lesson.spans.append(span)
    return lesson


def _lead(form: str, n: int, fact: Fact, value: str) -> str:
    """The text of a fact up to its value."""
    world = famous_world()
    relation = world.relation(*fact)
    sentence = word_thought(PLAIN, relation, world.entities[fact.subject], value)
    before = sentence.removesuffix(f"{value}.")
    question = relation.questions[0].format(x=fact.subject)
    return form.format(n=n, question=question, sentence=before)
