"""A setup of functions: the systems with your own retriever and model, and no data set."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from ircotlib.data import Paragraph
from ircotlib.datasets import find_dataset
from ircotlib.engine.cache import Calls
from ircotlib.errors import UserError
from ircotlib.experiment.setup import Setup
from ircotlib.extraction.repeated_queries import open_duplicates
from ircotlib.generation.replies import read_reply, write_reply
from ircotlib.parameters import Parameters
from ircotlib.program import Extract, Extracted, Generate, Retrieve, Sample
from ircotlib.text import cut


def setup_of_functions(
    p: Parameters,
    retrieve: Callable[[str, int], Iterable[Paragraph]],
    generate: Callable[[str], str],
    extract: Callable[[str, Paragraph], tuple[str, float]] | None = None,
    *,
    count_tokens: Callable[[str], int] = lambda text: len(text) // 4 + 1,
    dataset: str = "musique",
) -> Setup:
    """A setup whose requests functions answer, to be used with `answer` and `answer_all`. Nothing
    is cached, and no data are read.

    `retrieve(query, k)`: the best paragraphs for a query, best first. `generate(prompt)`: what a
    model writes after a prompt; it is cut where the system would stop it, and called n times where
    a system samples n texts. `extract(query, paragraph)`: the answer in a paragraph, or "", and the
    confidence, which SearChain compares with 1.5 (§4.1); needed for SearChain. `count_tokens`: the
    length of a text, about four characters a token if left out; prompts are cut to the
    parameters' `context_tokens` by it. `dataset`: whose demonstrations and examples are shown.
    """
    writer = _Writer(generate, count_tokens)
    backends = {"model": writer, "retriever": _Retriever(retrieve)}
    if extract is not None:
        backends |= {"extractor": _Reader(extract), "duplicates": open_duplicates(p.duplicates)}
    return Setup(p, find_dataset(dataset), "functions", calls=Calls(), **backends)


@dataclass
class _Retriever:
    """Answers Retrieve."""

    retrieve: Callable[[str, int], Iterable[Paragraph]]
    answers = Retrieve
    fingerprint = None  # what a function replies may change: nothing is cached

    def answer(self, requests: Sequence[Retrieve]) -> Iterator[tuple[int, str]]:
        for index, request in enumerate(requests):
            found = [*self.retrieve(request.query, request.k)][: request.k]
            if others := [each for each in found if not isinstance(each, Paragraph)]:
                raise UserError(f"retrieve: found {others[0]!r}, expected a Paragraph")
            yield index, json.dumps([asdict(paragraph) for paragraph in found])

    def decode(self, reply: str) -> tuple[Paragraph, ...]:
        return tuple(Paragraph(**fields) for fields in json.loads(reply))


@dataclass
class _Writer:
    """Answers Generate and Sample."""

    generate: Callable[[str], str]
    count_tokens: Callable[[str], int]
    answers = Generate, Sample
    fingerprint = None
    decode = staticmethod(read_reply)

    def answer(self, requests: Sequence[Generate | Sample]) -> Iterator[tuple[int, str]]:
        for index, request in enumerate(requests):
            texts = []
            for _ in range(request.n if isinstance(request, Sample) else 1):
                text = self.generate(request.prompt)
                if not isinstance(text, str):
                    raise UserError(f"generate: found {text!r}, expected a text")
                text = cut(text, request.stop)
                texts.append((text, None, self.count_tokens(text)))
            yield index, write_reply(request, self.count_tokens(request.prompt), texts)


@dataclass
class _Reader:
    """Answers Extract."""

    extract: Callable[[str, Paragraph], tuple[str, float]]
    answers = Extract
    fingerprint = None
    decode = staticmethod(Extracted.read)

    def answer(self, requests: Sequence[Extract]) -> Iterator[tuple[int, str]]:
        for index, request in enumerate(requests):
            text, confidence = self.extract(request.query, request.paragraph)
            yield index, json.dumps({"text": text, "confidence": confidence})
