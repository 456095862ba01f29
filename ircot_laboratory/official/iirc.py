"""The files of IIRC, as far as they are read."""

from collections import defaultdict
from collections.abc import Iterable

from ircot_laboratory.official.contexts import find_sentence
from ircot_laboratory.world.records import Fact, Passage, Riddle, World

UNITS = {"age": "years", "count": ""}


def iirc_records(world: World, riddles: Iterable[Riddle]) -> list[dict]:
    """IIRC's main passages, each with its questions (Ferguson et al. 2020)."""
    by_main = defaultdict(list)
    for number, riddle in enumerate(riddles):
        main = world.passage(*riddle.main)
        by_main[main].append(_question(world, riddle, main, f"q_{number}"))
    return [
        {"title": main.title, "text": main.text, "questions": questions}
        for main, questions in by_main.items()
    ]


def _question(world: World, riddle: Riddle, main: Passage, id: str) -> dict:
    answer: dict[str, object]
    if riddle.kind in UNITS:
        unit = UNITS[riddle.kind]
        answer = {"type": "value", "answer_value": riddle.answer, "answer_unit": unit}
    else:
        answer = {"type": "span", "answer_spans": [{"text": riddle.answer}]}
    context = [_sentence(world, fact, main) for fact in riddle.facts]
    return {"qid": id, "question": riddle.text, "answer": answer, "context": context}


def _sentence(world: World, fact: Fact, main: Passage) -> dict:
    passage = world.passage(*fact)
    name = "main" if passage == main else passage.title.lower()
    _, sentence = find_sentence(passage, fact.relation)
    return {"text": sentence[0].strip(), "passage": name}


def iirc_articles(world: World) -> dict[str, str]:
    """IIRC's context_articles.json: every page by its title in lower case, one
    paragraph per line, with links to the pages it mentions.
    """
    return {
        title.lower(): "\n".join(_with_links(world, passage) for passage in page)
        for title, page in world.pages.items()
    }


def _with_links(world: World, passage: Passage) -> str:
    """The text of a paragraph with its links as HTML."""
    text = passage.text
    for span in sorted(passage.spans, key=lambda span: span.start, reverse=True):
        target = text[span.start : span.end]
        if target in world.entities:
            link = f'<a href="{target.replace(" ", "%20")}">{target}</a>'
            text = f"{text[: span.start]}{link}{text[span.end :]}"
    return text
