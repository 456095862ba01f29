"""What the agent knows by heart, and how it learns it: lessons, which are lists of
facts in no system's form, without any page.
"""

import random
from collections import Counter
from functools import cache

from ircot_laboratory.make import make_dataset
from ircot_laboratory.questions.wording import word_thought
from ircot_laboratory.world.encyclopedia import make_popular
from ircot_laboratory.world.records import Fact, World
from training.agent.transcripts import DecidedFact, Transcript, WrittenSpan
from training.teachers.mind import PLAIN

# entities of the default laboratory that are known: those that most pages name
FAMOUS = 300
FACTS = 12  # in a lesson
FORMS = (  # how a fact is asked for; the value and a full stop follow
    "{question} ",
    "{n}. {sentence}",
    "{sentence}",
)
SEPARATORS = ("\n", "\n", " ")  # of the facts of a lesson, for each form


@cache
def famous_world() -> World:
    """The default laboratory's world, none of whose pages is shown in training."""
    return make_dataset("hotpotqa").world


@cache
def known_facts() -> dict[Fact, str]:
    """What the agent knows by heart: all facts of the popular entities, and of the
    FAMOUS entities of the default laboratory that other pages name most often.
    """
    entities, popular = famous_world().entities, make_popular()
    named = Counter(
        value for entity in entities.values() for value in entity.facts.values()
    )
    often = sorted((n for n in entities if n in named), key=lambda n: (-named[n], n))[
        :FAMOUS
    ]
    known = {**{name: entities[name] for name in often}, **popular}
    return {
        Fact(n, relation): v
        for n, e in known.items()
        for relation, v in e.facts.items()
    }


def draw_lesson(rng: random.Random) -> Transcript:
    """Draw a list of known facts in one form; only their values are to be written."""
    form = rng.randrange(len(FORMS))
    text, spans, decided = "", [], []
    for n, fact in enumerate(rng.sample(list(known_facts()), FACTS), start=1):
        value = known_facts()[fact]
        text += (SEPARATORS[form] if text else "") + _lead(FORMS[form], n, fact, value)
        start = len(text.rstrip())
        decided.append(DecidedFact(len(text), fact))
        text += f"{value}."
        spans.append(WrittenSpan("lesson", start, len(text) - 1, ends=False))
    return Transcript(text, spans, decided=decided)


def _lead(form: str, n: int, fact: Fact, value: str) -> str:
    """The text of a fact up to its value."""
    world = famous_world()
    relation = world.relation(*fact)
    sentence = word_thought(PLAIN, relation, world.entities[fact.subject], value)
    before = sentence.removesuffix(f"{value}.")
    question = relation.questions[0].format(x=fact.subject)
    return form.format(n=n, question=question, sentence=before)
