"""The simulated extractive reader, a backend of Extract (SearChain §3.2)."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache

from ircot_laboratory.judge.reading import compile_template
from ircot_laboratory.make import Made
from ircot_laboratory.simulated.abilities import Abilities, draw
from ircot_laboratory.simulated.dials import Dials
from ircot_laboratory.simulated.reader import meet
from ircot_laboratory.world.records import Fact
from ircot_laboratory.world.relations import RELATIONS
from ircotlib.program import Extract, Extracted

SURE, UNSURE = 8.0, -4.0  # its confidence, a logit as the shipped reader's


class SimulatedExtractor:
    """Finds the value of the fact that a query asks for in a paragraph, with the abilities of
    `dials`; unsure if the paragraph does not state it. `dataset`: that of the questions.
    """

    answers = Extract
    fingerprint = None

    def __init__(self, dials: Dials, find_dataset: Callable[[str], Made], dataset: str, seed=0):
        self.dials, self.seed = dials, seed
        self._open = cache(lambda: meet(find_dataset, dataset).library)
        self._able = cache(lambda: Abilities(self._open(), dials, seed))

    def answer(self, requests: Sequence[Extract]) -> Iterator[tuple[int, str]]:
        """Yield the index of each request and its reply, as Extractor does."""
        for index, request in enumerate(requests):
            text, confidence = self._extract(request)
            yield index, json.dumps({"text": text, "confidence": confidence}, ensure_ascii=False)

    def decode(self, reply: str) -> Extracted:
        """The answer and its confidence."""
        return Extracted(**json.loads(reply))

    def _extract(self, request: Extract) -> tuple[str, float]:
        passage, facts = self._open().passage(request.paragraph), read_question(request.query)
        for fact in facts:
            if value := self._able().extracts(passage, fact):
                return value, SURE
        names = self.seed, "extractor", request.query, passage.title
        other = passage.spans[int(draw(*names) * len(passage.spans))]
        is_misled = draw(*names, "is misled") < self.dials.extractor_misreads
        return passage.text[other.start : other.end], SURE if is_misled else UNSURE


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
