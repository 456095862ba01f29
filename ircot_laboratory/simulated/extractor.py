"""The simulated extractive reader, a backend of Extract (SearChain §3.2)."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from ircot_laboratory.make import Made
from ircot_laboratory.simulated.abilities import Abilities, draw
from ircot_laboratory.simulated.dials import Dials
from ircot_laboratory.simulated.queries import read_question
from ircot_laboratory.simulated.reader import meet
from ircotlib.program import Extract, Extracted

SURE, UNSURE = 8.0, -4.0  # its confidence, a logit as the shipped reader's


class SimulatedExtractor:
    """Finds the value of the fact that a query asks for in a paragraph, with the abilities of
    `dials`; unsure if the paragraph does not state it. `dataset`: that of the questions.
    `decided`: see Abilities.
    """

    answers = Extract
    decode = staticmethod(Extracted.read)
    fingerprint = None

    def __init__(self, dials: Dials, find_dataset: Callable[[str], Made], dataset: str, seed=0):
        self.seed, self.decided = seed, {}
        self._open = cache(lambda: meet(find_dataset, dataset).library)
        self._able = cache(lambda: Abilities(self._open(), dials, seed, self.decided))

    def answer(self, requests: Sequence[Extract]) -> Iterator[tuple[int, str]]:
        """Yield the index of each request and its reply, as Extractor does."""
        for index, request in enumerate(requests):
            yield index, json.dumps(self.reply(request)._asdict(), ensure_ascii=False)

    def reply(self, request: Extract) -> Extracted:
        """The reply to a request, as `decode` reads it in what `answer` yields."""
        passage, facts = self._open().passage(request.paragraph), read_question(request.query)
        for fact in facts:
            if value := self._able().extracts(passage, fact):
                return Extracted(value, SURE)
        names = self.seed, "extractor", request.query, passage.title
        other = passage.spans[int(draw(*names) * len(passage.spans))]
        is_misled = self._able().decides("extractor_invents", draw(*names, "is misled"))
        return Extracted(passage.text[other.start : other.end], SURE if is_misled else UNSURE)
