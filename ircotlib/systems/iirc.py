"""What IIRC asks of every system: its main passage, and the pages within which is retrieved (IRCoT
App. B).
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from ircotlib.data import Paragraph, Question
from ircotlib.program import LINE, Generate, NearestTitle, Program
from ircotlib.systems.readers import WritePrompt

ASK_FOR_TITLES = "The question is: '{question}'. Generate titles of {n} Wikipedia pages that have relevant information to answer this question."


def main_passage(question: Question) -> tuple[Paragraph, ...]:
    """The paragraphs that a system has before it retrieves: the question's main passage, if it has
    one (IRCoT App. B).
    """
    return () if question.passage is None else (question.passage,)


def beside_passage(
    question: Question, found: Sequence[Paragraph], max_paragraphs: int = 15
) -> tuple[Paragraph, ...]:
    """What was found, after the main passage, which counts towards the 15 paragraphs (IRCoT App.
    B); without one, all that was found.
    """
    return (
        tuple(found)
        if question.passage is None
        else (question.passage, *found[: max_paragraphs - 1])
    )


def find_pages(
    question: Question, prompt: WritePrompt, *, n: int = 3, max_tokens: int = 200
) -> Program:
    """Write titles of n pages from main passage and question, and return the nearest titles of the
    corpus (IRCoT App. B).

    Returns None, that is the whole corpus, when no title was written or none has a word in common
    with a title of the corpus. Differs from the released program: it finds nothing then; the paper
    is silent.
    """
    asked = replace(question, text=ASK_FOR_TITLES.format(question=question.text, n=n))
    pages = []
    for title in read_titles(
        (yield Generate(prompt(asked, main_passage(question)), stop=LINE, max_tokens=max_tokens))
    ):
        pages += yield NearestTitle(title)
    return tuple(dict.fromkeys(pages)) or None


def within_pages(
    question: Question,
    prompt: WritePrompt,
    system: Callable[..., Program],
    *,
    max_tokens: int = 200,
) -> Program:
    """Play `system(question, titles=...)`, whose retrieval is limited to the pages that the model
    names first (IRCoT App. B).
    """
    titles = yield from find_pages(question, prompt, max_tokens=max_tokens)
    return (yield from system(question, titles=titles))


def read_titles(text: str) -> list[str]:
    """The titles that a model wrote: a JSON list of texts, else what commas part, without quotes
    and brackets (released program).
    """
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, list) or not all(isinstance(title, str) for title in found):
        found = text.translate(str.maketrans("", "", '"[]')).split(",")
    return [title.strip() for title in found if title.strip()]
