"""A setup of functions: your own retriever and model, without a data set."""

from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

from ircotlib.data import Paragraph, Question
from ircotlib.datasets import find_dataset
from ircotlib.engine.cache import Calls
from ircotlib.experiment.setup import Setup, find_extractor
from ircotlib.models.own import OwnModel
from ircotlib.parameters import Parameters
from ircotlib.retrieval.own import OwnRetriever


def setup_of_functions(
    p: Parameters,
    retrieve: Callable[[str, int], Iterable[Paragraph]],
    generate: Callable[[str], str],
    *,
    count_tokens: Callable[[str], int] | None = None,
    dataset: str = "musique",
    questions: Sequence[Question] = (),
) -> Setup:
    """A setup in which functions retrieve and write, for `answer` and `answer_all`; of
    what they reply, nothing is cached.

    `retrieve(query, k)`: paragraphs, best first. `generate(prompt)`: a text, which is
    cut at the stop; n samples are n of its texts. `dataset`: whose demonstrations are
    shown. `questions`: all that will be asked, for systems that choose examples among
    them (Auto-CoT).
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
        extractor=find_extractor(p),
    )
