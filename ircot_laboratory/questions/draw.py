"""The tools with which every kind of question is drawn."""

import random
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ircot_laboratory.questions.wording import ANSWER, word_thought
from ircot_laboratory.world.encyclopedia import make_popular
from ircot_laboratory.world.records import Fact, Riddle, Thought, World
from ircot_laboratory.world.relations import KINDS

POPULAR_SHARE = 0.1  # how often a question starts from a popular entity


class Selection(Sequence):
    """The items at the places in some lists, but for those in others, which are among
    them; each list in order, and no place in two. Nothing is copied, so that a draw
    from it takes as long in a world of any size.
    """

    def __init__(
        self,
        items: Sequence[str],
        places: Sequence[Sequence[int]],
        without: Sequence[Sequence[int]] = (),
    ):
        self.items = items
        self.places = places
        self.without = without

    def __len__(self) -> int:
        return sum(map(len, self.places)) - sum(map(len, self.without))

    def __getitem__(self, n: int) -> str:
        # the first place up to which there are n + 1
        everywhere = range(len(self.items))
        return self.items[bisect_left(everywhere, n + 1, key=self._count_up_to)]

    def _count_up_to(self, place: int) -> int:
        more = sum(bisect_right(places, place) for places in self.places)
        return more - sum(bisect_right(places, place) for places in self.without)


@dataclass(frozen=True, slots=True)
class Draw:
    """Draws one question of a kind, worded as in a data set. `dialect`: the data set in
    whose style the chain is worded.
    """

    world: World
    rng: random.Random
    dataset: str
    kind: str
    dialect: str

    def start(self, kinds: Iterable[str] = KINDS) -> str:
        """Draw the entity to start from: of these kinds, sometimes a popular one."""
        popular = self.rng.random() < POPULAR_SHARE
        names = list(make_popular()) if popular else self.world.names
        while True:
            name = self.rng.choice(names)
            if self.world.entities[name].kind in kinds:
                return name

    def facts(self, name: str) -> dict[str, str]:
        """The facts of an entity, with their values."""
        return self.world.entities[name].facts

    def same_and_others(
        self, relation: str, name: str
    ) -> tuple[Sequence[str], Sequence[str]]:
        """The other entities for which a relation has the same value as for this one,
        and those for which it has another; none if it is not stated of this one.
        """
        stated = self.world.stated[relation]
        if name not in stated.places:
            return (), ()
        place = stated.places[name]
        same = stated.by_value[stated.values[place]]
        everywhere = range(len(stated.subjects))
        return (
            Selection(stated.subjects, [same], without=[[place]]),
            Selection(stated.subjects, [everywhere], without=[same]),
        )

    def noun(self, name: str) -> str:
        """The noun for an entity's kind."""
        return KINDS[self.world.entities[name].kind].noun

    def state(self, fact: Fact) -> Thought:
        """The sentence of the chain that states a fact."""
        relation = self.world.relation(*fact)
        subject = self.world.entities[fact.subject]
        value = self.world.value(*fact)
        return Thought(word_thought(self.dialect, relation, subject, value), fact)

    def riddle(
        self, text: str, answer: str, facts: Iterable[Fact], thus: str = "", **more
    ) -> Riddle:
        """The question, its chain: these facts, the conclusion `thus`, the answer."""
        thoughts = [self.state(fact) for fact in facts]
        thoughts += [Thought(thus)] if thus else []
        thoughts.append(Thought(ANSWER.format(answer=answer)))
        return Riddle(self.dataset, self.kind, text, answer, tuple(thoughts), **more)
