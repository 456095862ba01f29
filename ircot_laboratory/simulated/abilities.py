"""What a simulated reader knows, misreads and makes up. Every error is drawn from the seed and what
it is about, not from what was drawn before, so that all systems meet the same errors.
"""

import random
from hashlib import blake2b
from math import inf

from ircot_laboratory.judge.reading import value_of
from ircot_laboratory.simulated.dials import Dials
from ircot_laboratory.teachers.library import Library, value_in
from ircot_laboratory.world.encyclopedia import draw_value
from ircot_laboratory.world.records import Fact, Passage
from ircot_laboratory.world.relations import RELATIONS

PERSONS = {"man": "person"}  # kinds of values that are alike


def draw(*names: object) -> float:
    """A number from 0 to 1 that depends on nothing but these names."""
    digest = blake2b("\n".join(map(str, names)).encode(), digest_size=7).digest()
    return int.from_bytes(digest) / 2**56


class Abilities:
    """The abilities of a reader of one library, for a Mind. `dials` may be changed between two
    replies, with the `stage` whose they are, "" for all; `sample`: the number of the text that is
    being sampled. `decided`: for each dial of a stage, between which numbers all that was drawn has
    put it: with another value above the first and up to the second, nothing would have been
    different.
    """

    def __init__(self, library: Library, dials: Dials, seed: int, decided: dict | None = None):
        self.library, self.world = library, library.world
        self.dials, self.seed, self.sample, self.stage = dials, seed, 0, ""
        self.decided = {} if decided is None else decided

    def decides(self, dial: str, drawn: float) -> bool:
        """Whether a drawn number is below a dial."""
        low, high = self.decided.get((self.stage, dial), (-inf, inf))
        is_below = drawn < getattr(self.dials, dial)
        bounds = (max(low, drawn), high) if is_below else (low, min(high, drawn))
        self.decided[self.stage, dial] = bounds
        return is_below

    def happens(self, dial: str, *names: object) -> bool:
        """Whether what a dial is about happens with what has these names."""
        return self.decides(dial, draw(self.seed, dial, *names))

    def knows(self, fact: Fact) -> str | None:
        """The value of a fact, if it is one that the reader knows by heart; otherwise None."""
        is_known = self.happens("knows", *fact)
        return value_of(*fact, self.world.entities) if is_known else None

    def reads(self, passage: Passage, fact: Fact) -> str | None:
        """The value that the reader finds for a fact in a passage, or None."""
        if passage.title != fact.subject:
            other = value_in(passage, Fact(passage.title, fact.relation))
            is_taken = other and self.happens("distracted", *fact, passage.title)
            return other if is_taken else None
        form = (self.stage,) if self.happens("varies", *fact) else ()
        read = self._read(passage, fact, "misreads", *form)
        right = value_in(passage, fact)
        if read != right and self.happens("confirms", *fact) and self.knows(fact) == right:
            return right
        return read

    def extracts(self, passage: Passage, fact: Fact) -> str | None:
        """The same for the extractive reader."""
        reader = () if self.happens("coincide", *fact) else ("extractor",)
        return self._read(passage, fact, "extractor_misreads", *reader)

    def _read(self, passage: Passage, fact: Fact, dial: str, *reader: str) -> str | None:
        value, names = value_in(passage, fact), (self.seed, *reader, "misreads", *fact)
        is_misread = value and self.decides(dial, draw(*names))
        return self._misread(passage, fact, names) if is_misread else value

    def _misread(self, passage: Passage, fact: Fact, names: tuple) -> str:
        """A wrong value for a fact that a passage states: another one of the same kind in the
        passage or, if it has none, one that another page may state. `names`: of the draw.
        """
        rng, relation = random.Random(f"{names}"), self.world.relation(*fact)
        values = {span.relation: passage.text[span.start : span.end] for span in passage.spans}
        right = values.pop(fact.relation)
        kinds = {name: self.world.relation(fact.subject, name).value for name in values}
        alike = [v for name, v in values.items() if _kind(kinds[name]) == _kind(relation.value)]
        if others := [value for value in alike if value != right]:
            return rng.choice(others)
        value = right
        while value == right:
            value = draw_value(relation, fact.subject, self.library.by_kind, rng)
        return value

    def invents(self, fact: Fact) -> random.Random | None:
        """The source of a made-up value for a fact, None if the reader says that it is unknown."""
        if self.happens("makes_up", *fact):
            return random.Random(f"{self.seed} {fact} {self.sample}")
        return None

    def mistake(self, question: str, facts: list[Fact], dial: str) -> dict[int, str]:
        """The steps of a question that the reader misunderstands, with the relation that it asks
        for: of the same kind of value, if the subject can have one. `dial`: misplans or wanders,
        which have the same errors as far as they are as frequent.
        """
        mistaken = {}
        for n, (subject, relation) in enumerate(facts):
            if self.decides(dial, draw(self.seed, "misunderstands", question, n)):
                right = self.world.relation(subject, relation)
                others = [r for r in RELATIONS[self.world.entities[subject].kind] if r != right]
                alike = [r for r in others if _kind(r.value) == _kind(right.value)] or others
                chosen = alike[int(draw(self.seed, "asks", question, n) * len(alike))]
                mistaken[n] = chosen.name
        return mistaken


def _kind(value: str) -> str:
    return PERSONS.get(value, value)
