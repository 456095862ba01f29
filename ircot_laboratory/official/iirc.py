"""Questions of the laboratory as records in the official raw formats of IIRC."""

from collections.abc import Iterable
from typing import NamedTuple

from ircot_laboratory.official.contexts import find_sentence
from ircot_laboratory.questions.contexts import gold_passages
from ircot_laboratory.world.records import Fact, Passage, Riddle, World

UNITS = {"age": "years", "count": ""}


class Link(NamedTuple):
    """A mention of another page in a paragraph: text[start:end] is its title."""

    start: int
    end: int
    target: str


def iirc_records(world: World, riddles: Iterable[Riddle]) -> list[dict]:
    """IIRC's main passages, each with its questions (Ferguson et al. 2020); positions are given in
    the main passage or in a page's plain text.
    """
    by_main = {}
    for number, riddle in enumerate(riddles):
        of_main = by_main.setdefault(world.passage(*riddle.main), [])
        of_main.append(_question(world, riddle, f"q_{number}"))
    return [
        {
            "pid": f"p_{number}",
            "title": main.title,
            "text": main.text,
            "links": [
                {"target": link.target, "indices": [link.start, link.end]}
                for link in links(world, main)
            ],
            "questions": questions,
        }
        for number, (main, questions) in enumerate(by_main.items())
    ]


def links(world: World, passage: Passage) -> list[Link]:
    """The mentions of other pages in a paragraph."""
    named = (
        Link(span.start, span.end, passage.text[span.start : span.end]) for span in passage.spans
    )
    return [link for link in named if link.target in world.entities]


def _question(world: World, riddle: Riddle, id: str) -> dict:
    main = world.passage(*riddle.main)
    needed = (passage.title for passage in gold_passages(world, riddle) if passage != main)
    return {
        "qid": id,
        "question": riddle.text,
        "answer": _answer(world, riddle, main),
        "context": [_sentence(world, fact, main) for fact in riddle.facts],
        "question_links": list(dict.fromkeys(needed)),
    }


def _answer(world: World, riddle: Riddle, main: Passage) -> dict:
    if riddle.kind in UNITS:
        return {"type": "value", "answer_value": riddle.answer, "answer_unit": UNITS[riddle.kind]}
    last = riddle.facts[-1]
    passage = world.passage(*last)
    name, offset = _locate(world, passage, main)
    span = passage.span(last.relation)
    start, end = offset + span.start, offset + span.end
    answer = {"text": riddle.answer, "passage": name, "start": start, "end": end}
    return {"type": "span", "answer_spans": [answer]}


def _sentence(world: World, fact: Fact, main: Passage) -> dict:
    passage = world.passage(*fact)
    name, offset = _locate(world, passage, main)
    _, match = find_sentence(passage, fact.relation)
    text = match[0].strip()
    end = offset + match.end()
    return {"text": text, "passage": name, "indices": [end - len(text), end]}


def _locate(world: World, passage: Passage, main: Passage) -> tuple[str, int]:
    """IIRC's name for the text that contains a paragraph, and where the paragraph begins in it."""
    if passage == main:
        return "main", 0
    page = world.pages[passage.title]
    return passage.title.lower(), sum(len(other.text) + 1 for other in page[: page.index(passage)])


def iirc_articles(world: World) -> dict[str, str]:
    """IIRC's context_articles.json: every page by its title in lower case, one paragraph per line,
    with links to the pages it mentions.
    """
    return {
        title.lower(): "\n".join(with_links(world, passage) for passage in page)
        for title, page in world.pages.items()
    }


def with_links(world: World, passage: Passage) -> str:
    """The text of a paragraph with its links as HTML."""
    text = passage.text
    for start, end, target in sorted(links(world, passage), reverse=True):
        link = f'<a href="{target.replace(" ", "%20")}">{target}</a>'
        text = f"{text[:start]}{link}{text[end:]}"
    return text
