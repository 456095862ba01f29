"""A setup of functions: the systems with your own retriever and model, and no data set."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from ircotlib.data import Paragraph
from ircotlib.datasets import find_dataset
from ircotlib.engine.cache import Calls
from ircotlib.errors import UserError
from ircotlib.experiment.setup import Setup, open_duplicates
from ircotlib.models.replies import read_reply, write_reply
from ircotlib.parameters import Parameters
from ircotlib.program import Extract, Extracted, Generate, Request, Retrieve, Sample
from ircotlib.text import cut


@dataclass
class Function:
    """A backend whose requests a function answers: `reply(request)` is a JSON string. What it
    replies may change: nothing is cached. `count_tokens`: of a model.
    """

    answers: type | tuple[type, ...]
    reply: Callable[[Request], str]
    decode: Callable[[str], object]
    count_tokens: Callable[[str], int] = len
    fingerprint = None

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, str]]:
        """Yield the index of each request and its reply."""
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
    """A setup whose requests functions answer, to be used with `answer` and `answer_all`. Nothing
    is cached, and no data are read.

    `retrieve(query, k)`: the best paragraphs for a query, best first. `generate(prompt)`: what a
    model writes after a prompt; it is cut where the system would stop it, and called n times where
    a system samples n texts. `extract(query, paragraph)`: the answer in a paragraph, or "", and the
    confidence, which SearChain compares with 1.5 (§4.1); needed for SearChain. `count_tokens`: the
    length of a text, about four characters a token if left out; prompts are cut to the
    parameters' `context_tokens` by it. `dataset`: whose demonstrations and examples are shown.
    """

    def find(request: Retrieve) -> str:
        found = [*retrieve(request.query, request.k)][: request.k]
        if others := [each for each in found if not isinstance(each, Paragraph)]:
            raise UserError(f"retrieve: found {others[0]!r}, expected a Paragraph")
        return json.dumps([asdict(paragraph) for paragraph in found])

    def write(request: Generate | Sample) -> str:
        texts = []
        for _ in range(request.n if isinstance(request, Sample) else 1):
            if not isinstance(text := generate(request.prompt), str):
                raise UserError(f"generate: found {text!r}, expected a text")
            text = cut(text, request.stop)
            texts.append((text, None, count_tokens(text)))
        return write_reply(request, count_tokens(request.prompt), texts)

    def read(request: Extract) -> str:
        text, confidence = extract(request.query, request.paragraph)
        return json.dumps({"text": text, "confidence": confidence})

    def read_paragraphs(reply: str) -> tuple[Paragraph, ...]:
        return tuple(Paragraph(**fields) for fields in json.loads(reply))

    retriever = Function(Retrieve, find, read_paragraphs)
    model = Function((Generate, Sample), write, read_reply, count_tokens)
    readers = {}
    if extract is not None:
        readers = {"extractor": Function(Extract, read, Extracted.read)}
        readers |= {"duplicates": open_duplicates(p.duplicates)}
    of = p, find_dataset(dataset), "functions"
    return Setup(*of, retriever=retriever, calls=Calls(), model=model, **readers)
