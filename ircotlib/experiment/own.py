"""A setup of functions: your own retriever and model, without a data set."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from ircotlib.data import Paragraph, Question
from ircotlib.datasets import find_dataset
from ircotlib.engine.cache import Calls
from ircotlib.experiment.setup import Setup, open_duplicates
from ircotlib.models.own import OwnModel
from ircotlib.parameters import Parameters
from ircotlib.program import Extract, Extracted
from ircotlib.retrieval.own import OwnRetriever


class OwnExtractor:
    """Answers Extract with a function."""

    answers = Extract
    fingerprint = None
    decode = staticmethod(Extracted.read)

    def __init__(self, extract: Callable[[str, Paragraph], tuple[str, float]]):
        self.extract = extract

    def answer(
        self, requests: Sequence[Extract]
    ) -> Iterator[tuple[int, str | Exception]]:
        for index, request in enumerate(requests):
            text, confidence = self.extract(request.query, request.paragraph)
            yield index, json.dumps({"text": text, "confidence": confidence})


def setup_of_functions(
    p: Parameters,
    retrieve: Callable[[str, int], Iterable[Paragraph]],
    generate: Callable[[str], str],
    extract: Callable[[str, Paragraph], tuple[str, float]] | None = None,
    *,
    count_tokens: Callable[[str], int] | None = None,
    dataset: str = "musique",
    questions: Sequence[Question] = (),
) -> Setup:
    """A setup whose requests functions answer, for `answer` and `answer_all`; nothing
    is cached.

    `retrieve(query, k)`: paragraphs, best first. `generate(prompt)`: a text, which is
    cut at the stop; n samples are n of its texts. `extract(query, paragraph)`, for
    SearChain: the answer or "", and the confidence (§4.1: 1.5). `dataset`: whose
    demonstrations are shown. `questions`: all that will be asked, for systems that
    choose examples among them (Auto-CoT).
    """
    writing: dict[str, Any] = {
        "write": lambda prompt, max_tokens: generate(prompt),
        "draw": lambda prompt, n, *_: [generate(prompt) for _ in range(n)],
    }
    if count_tokens is not None:
        writing["count_tokens"] = count_tokens
    return Setup(
        p,
        find_dataset(dataset),
        "functions",
        test=questions,
        retriever=OwnRetriever(SimpleNamespace(search=retrieve)),
        calls=Calls(),
        model=OwnModel(SimpleNamespace(**writing)),
        extractor=None if extract is None else OwnExtractor(extract),
        duplicates=None if extract is None else open_duplicates(p.duplicates),
    )
