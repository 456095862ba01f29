"""A setup of functions: the systems with your own retriever and model, and no data set."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from ircotlib.data import Paragraph
from ircotlib.datasets import find_dataset
from ircotlib.engine.cache import Calls
from ircotlib.experiment.setup import Setup, open_duplicates
from ircotlib.models.replies import count_rows, read_reply, write_reply
from ircotlib.parameters import Parameters
from ircotlib.program import Extract, Extracted, Generate, Request, Retrieve, Sample
from ircotlib.text import cut


@dataclass
class Function:
    """A backend whose requests a function answers in JSON; nothing is cached."""

    answers: type | tuple[type, ...]
    reply: Callable[[Request], str]
    decode: Callable[[str], object]
    count_tokens: Callable[[str], int] = len
    fingerprint = None

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, str]]:
        yield from enumerate(map(self.reply, requests))


def setup_of_functions(
    p: Parameters,
    retrieve: Callable[[str, int], Iterable[Paragraph]],
    generate: Callable[[str], str],
    extract: Callable[[str, Paragraph], tuple[str, float]] | None = None,
    *,
    count_tokens: Callable[[str], int] = lambda text: len(text) // 4 + 1,
    dataset: str = "musique",
) -> Setup:
    """A setup whose requests functions answer, for `answer` and `answer_all`; nothing
    is cached.

    `retrieve(query, k)`: paragraphs, best first. `generate(prompt)`: a text, which is
    cut at the stop. `extract(query, paragraph)`, for SearChain: the answer or "", and
    the confidence (§4.1: 1.5). `dataset`: whose demonstrations are shown.
    """

    def find(request: Retrieve) -> str:
        found = [*retrieve(request.query, request.k)][: request.k]
        return json.dumps([asdict(paragraph) for paragraph in found])

    def write(request: Generate | Sample) -> str:
        times = range(count_rows(request))
        texts = [cut(generate(request.prompt), request.stop) for _ in times]
        drawn = [(text, None, count_tokens(text)) for text in texts]
        return write_reply(request, count_tokens(request.prompt), drawn)

    def read(request: Extract) -> str:
        text, confidence = extract(request.query, request.paragraph)
        return json.dumps({"text": text, "confidence": confidence})

    retriever = Function(
        Retrieve,
        find,
        lambda reply: tuple(Paragraph(**fields) for fields in json.loads(reply)),
    )
    model = Function((Generate, Sample), write, read_reply, count_tokens)
    readers = {}
    if extract is not None:
        readers = {"extractor": Function(Extract, read, Extracted.read)}
        readers |= {"duplicates": open_duplicates(p.duplicates)}
    of = p, find_dataset(dataset), "functions"
    return Setup(*of, retriever=retriever, calls=Calls(), model=model, **readers)
