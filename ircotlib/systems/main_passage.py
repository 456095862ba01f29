"""What IIRC requires of every system: a main passage, and named pages (IRCoT App. B)."""

import json
from collections.abc import Callable
from dataclasses import replace

from ircotlib.data import Question
from ircotlib.program import LINE, Generate, NearestTitle, Program, Retrieve
from ircotlib.systems import WritePrompt


def with_main_passage(
    question: Question,
    program: Program,
    ask_for_titles: Callable[[], WritePrompt],
    *,
    max_paragraphs: int = 15,  # IRCoT §3.1, footnote 5
    max_tokens: int = 200,  # released program
) -> Program:
    """Run any program on a question that has a main passage (IRCoT App. B): before its first
    retrieval the model names pages, and all retrievals are within these. The main passage comes
    first in every reply, counts towards `max_paragraphs`, and is among the prediction's paragraphs.
    `ask_for_titles()`: makes the prompt writer; only called if the program retrieves.
    """
    reply = None
    titles = ()  # not asked for yet; None: the whole corpus
    while True:
        try:
            request = program.send(reply)
        except StopIteration as end:
            read = end.value.paragraphs
            first = () if question.passage in read else (question.passage,)  # App. B, i
            return replace(end.value, paragraphs=(*first, *read))
        if not isinstance(request, Retrieve):
            reply = yield request
            continue
        if titles == ():  # before the first retrieval, whatever the system (App. B, ii)
            titles = yield from find_pages(question, ask_for_titles(), max_tokens=max_tokens)
        paragraphs = yield replace(request, titles=titles)  # only within these pages (App. B, ii)
        # always part of the input, whatever was retrieved (App. B, i)
        reply = (question.passage, *paragraphs)[:max_paragraphs]


def find_pages(
    question: Question, prompt: WritePrompt, *, n: int = 3, max_tokens: int = 200
) -> Program:  # 3: App. B; 200: released program
    """Let the model name n pages from the main passage and the question, and return the nearest
    titles of the corpus (IRCoT App. B); None, for the whole corpus, if there are none. Differs from
    the released program, which then retrieves nothing; the paper does not say.
    """
    pages = []
    written = yield Generate(prompt(question, n=n), stop=LINE, max_tokens=max_tokens)  # App. B
    for title in read_titles(written):
        pages += yield NearestTitle(title)  # found by BM25 (App. B, ii)
    return tuple(dict.fromkeys(pages)) or None


def read_titles(text: str) -> list[str]:
    """The titles in a JSON list, else between commas, without quotes (released program)."""
    try:
        titles = json.loads(text)  # the form that App. B prints: ["<Title-1>", ...]
    except (ValueError, RecursionError):
        titles = None
    if not isinstance(titles, list) or not all(isinstance(title, str) for title in titles):
        titles = text.translate(str.maketrans("", "", '"[]')).split(",")  # released program
    return [title.strip() for title in titles if title.strip()]
