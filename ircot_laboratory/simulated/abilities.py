"""What a simulated reader knows, misreads and makes up. Every error is drawn from the seed and what
it is about, not from what was drawn before, so that all systems meet the same errors.
"""

import random
from functools import lru_cache
from hashlib import blake2b

from ircot_laboratory.judge.reading import value_of
from ircot_laboratory.simulated.dials import Dials
from ircot_laboratory.teachers.mind import value_in
from ircot_laboratory.world.records import Fact, Passage, World
from ircot_laboratory.world.relations import RELATIONS


@lru_cache(maxsize=1_000_000)
def draw(*names: object) -> float:
    """A number from 0 to 1 that depends on nothing but these names."""
    digest = blake2b("\n".join(map(str, names)).encode(), digest_size=7).digest()
    return int.from_bytes(digest) / 2**56


class Abilities:
    """The abilities of a reader in one world, for a Mind. `dials` may be changed between two
    replies; `sample`: the number of the text that is being sampled.
    """

    def __init__(self, world: World, dials: Dials, seed: int):
        self.world, self.dials, self.seed, self.sample = world, dials, seed, 0

    def knows(self, fact: Fact) -> str | None:
        """The value of a fact, if it is one that the reader knows by heart; otherwise None."""
        if draw(self.seed, "knows", *fact) < self.dials.knows:
            return value_of(*fact, self.world.entities)
        return None

    def reads(self, passage: Passage, fact: Fact) -> str | None:
        """The value that the reader finds for a fact in a passage, or None."""
        value = value_in(passage, fact)
        misreads = draw(self.seed, "misreads", *fact) < self.dials.misreads
        return misread_value(self.world, passage, fact, self.seed) if value and misreads else value

    def extracts(self, passage: Passage, fact: Fact) -> str | None:
        """The same for the extractive reader."""
        coincides = draw(self.seed, "coincide", *fact) < self.dials.coincide
        reader = () if coincides else ("extractor",)
        value = value_in(passage, fact)
        misreads = draw(self.seed, *reader, "misreads", *fact) < self.dials.extractor_misreads
        if value and misreads:
            return misread_value(self.world, passage, fact, self.seed, *reader)
        return value

    def obeys(self, fact: Fact) -> bool:
        """Whether the reader believes a passage against its memory of a fact."""
        return draw(self.seed, "obeys", *fact) < self.dials.obeys

    def invents(self, fact: Fact) -> random.Random | None:
        """The source of a made-up value for a fact, None if the reader says that it is unknown."""
        if draw(self.seed, "makes up", *fact) < self.dials.makes_up:
            return random.Random(f"{self.seed} {fact} {self.sample}")
        return None

    def mistake(self, question: str, facts: list[Fact]) -> dict[int, str]:
        """The steps of a question that the reader misunderstands, with the relation that it asks
        for: of the same kind of value, if the subject can have one.
        """
        mistaken = {}
        for n, (subject, relation) in enumerate(facts):
            if draw(self.seed, "decomposes", question, n) < self.dials.decomposes:
                others = [r for r in RELATIONS[self.world.entities[subject].kind]]
                [right] = [r for r in others if r.name == relation]
                others.remove(right)
                alike = [r for r in others if r.value == right.value] or others
                chosen = alike[int(draw(self.seed, "asks", question, n) * len(alike))]
                mistaken[n] = chosen.name
        return mistaken


def misread_value(world: World, passage: Passage, fact: Fact, *names: object) -> str | None:
    """Another value of a passage that states a fact, of the same kind if it has one; None if it has
    no other. `names`: of the draw that chooses it.
    """
    values = {span.relation: passage.text[span.start : span.end] for span in passage.spans}
    kinds = {name: world.relation(fact.subject, name).value for name in values}
    right, kind = values.pop(fact.relation), kinds[fact.relation]
    others = {name: value for name, value in values.items() if value != right}
    choices = [value for name, value in others.items() if kinds[name] == kind] or [*others.values()]
    return choices[int(draw("value", *names, *fact) * len(choices))] if choices else None
