"""Questions of the laboratory as records in KILT's format: zsRE, T-REx, FEVER and ELI5; and the
knowledge source that they share.
"""

from collections.abc import Iterator

from ircot_laboratory.official.contexts import aliases
from ircot_laboratory.official.iirc import links
from ircot_laboratory.questions.contexts import gold_passages
from ircot_laboratory.world.records import Passage, Riddle, World
from ircotlib.datasets.pooled import digest

FIRST = 1  # the number of the paragraph with a page's text; number 0 is its title


def number_pages(world: World) -> dict[str, str]:
    """The number of each page, by title, in place of Wikipedia's page ids."""
    return {title: str(number) for number, title in enumerate(world.pages, start=1)}


def kilt_record(world: World, riddle: Riddle, seed: int, numbers: dict[str, str]) -> dict:
    """A question in the format of KILT's files (Petroni et al. 2021): an output for each form of
    the answer, the first with the places of all gold paragraphs.
    """
    provenance = [_locate(passage, numbers) for passage in gold_passages(world, riddle)]
    answers = [riddle.answer, *aliases(world, riddle.answer)]
    outputs = [{"answer": answers[0], "provenance": provenance}]
    return {
        "id": digest(f"{riddle.dataset} {seed} {riddle.text}", 24),
        "input": riddle.input,
        "output": outputs + [{"answer": other} for other in answers[1:]],
        "meta": _meta(world, riddle),
    }


def _locate(passage: Passage, numbers: dict[str, str]) -> dict:
    page = {"wikipedia_id": numbers[passage.title], "title": passage.title, "section": ""}
    start = {"start_paragraph_id": FIRST, "start_character": 0}
    end = {"end_paragraph_id": FIRST, "end_character": len(passage.text)}
    return page | start | end | {"bleu_score": 1.0}


def _meta(world: World, riddle: Riddle) -> dict:
    """For slots, the subject, the value and, in zsRE, questions that ask for it."""
    if riddle.dataset not in ("zsre", "trex"):
        return {}
    subject = riddle.facts[0].subject
    about = {"sub_surface": [subject], "obj_surface": [riddle.answer]}
    about["subj_aliases"] = list(aliases(world, subject))
    if riddle.dataset == "zsre":
        *bridges, last = riddle.facts
        x = subject
        for fact in bridges:
            x = world.relation(*fact).phrase.format(x=x)
        questions = world.relation(*last).questions
        about["template_questions"] = [question.format(x=x) for question in questions]
    return about


def kilt_pages(world: World, numbers: dict[str, str]) -> Iterator[dict]:
    """The lines of KILT's knowledge source."""
    for title, [passage] in world.pages.items():
        number = numbers[title]
        yield {
            "_id": number,
            "wikipedia_id": number,
            "wikipedia_title": title,
            "text": [f"{title}\n", f"{passage.text}\n"],
            "anchors": [_anchor(*link) for link in links(world, passage)],
            "categories": "",
        }


def _anchor(start: int, end: int, target: str) -> dict:
    mention = {"text": target, "href": target.replace(" ", "%20")}
    return mention | {"paragraph_id": FIRST, "start": start, "end": end}
