"""What IIRC asks of every system: its main passage, and retrieval within pages that the model names
first (IRCoT App. B).
"""

import json
from collections.abc import Callable
from dataclasses import replace

from ircotlib.data import Prediction, Question
from ircotlib.program import LINE, Generate, NearestTitle, Program, Retrieve
from ircotlib.systems.readers import WritePrompt


def with_main_passage(
    question: Question,
    program: Program,
    ask_for_titles: Callable[[], WritePrompt],
    *,
    max_paragraphs: int = 15,
    max_tokens: int = 200,
) -> Program:
    """Play any program on a question that has a main passage (IRCoT App. B).

    Before its first retrieval the model names pages; it then retrieves within these. The main
    passage is the first of all paragraphs it finds, and counts towards the 15.
    `ask_for_titles()`: the prompt writer, opened only when a program retrieves.
    """
    reply, titles = None, ()
    while True:
        try:
            request = program.send(reply)
        except StopIteration as end:
            return _with_passage(question, end.value)
        if not isinstance(request, Retrieve):
            reply = yield request
            continue
        if titles == ():
            titles = yield from find_pages(question, ask_for_titles(), max_tokens=max_tokens)
        found = yield replace(request, titles=titles)
        reply = (question.passage, *found)[:max_paragraphs]


def _with_passage(question: Question, prediction: Prediction) -> Prediction:
    """The prediction with the main passage among its paragraphs, though nothing was retrieved."""
    if question.passage in prediction.paragraphs:
        return prediction
    return replace(prediction, paragraphs=(question.passage, *prediction.paragraphs))


def find_pages(
    question: Question, prompt: WritePrompt, *, n: int = 3, max_tokens: int = 200
) -> Program:
    """Write titles of n pages from main passage and question, and return the nearest titles of the
    corpus (IRCoT App. B).

    Returns None, that is the whole corpus, when no title was written or none has a word in common
    with a title of the corpus.
    Differs from the released program: it finds nothing then; the paper is silent.
    """
    pages = []
    written = yield Generate(prompt(question, n=n), stop=LINE, max_tokens=max_tokens)
    for title in read_titles(written):
        pages += yield NearestTitle(title)
    return tuple(dict.fromkeys(pages)) or None


def read_titles(text: str) -> list[str]:
    """The titles that a model wrote: a JSON list of texts, else what commas part, without quotes
    and brackets (released program).
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(title, str) for title in found):
        found = text.translate(str.maketrans("", "", '"[]')).split(",")
    return [title.strip() for title in found if title.strip()]
