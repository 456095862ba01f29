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
    where = [_place(passage, numbers) for passage in gold_passages(world, riddle)]
    answers = [riddle.answer, *aliases(world, riddle.answer)]
    outputs = [{"answer": answers[0], "provenance": where}]
    return {
        "id": digest(f"{riddle.dataset} {seed} {riddle.text}", 24),
        "input": riddle.input,
        "output": outputs + [{"answer": other} for other in answers[1:]],
        "meta": _tell_more(world, riddle),
    }


def _place(passage: Passage, numbers: dict[str, str]) -> dict:
    return {
        "wikipedia_id": numbers[passage.title],
        "title": passage.title,
        "section": "",
        "start_paragraph_id": FIRST,
        "start_character": 0,
        "end_paragraph_id": FIRST,
        "end_character": len(passage.text),
        "bleu_score": 1.0,
    }


def _tell_more(world: World, riddle: Riddle) -> dict:
    """For slots, the subject, the value and, in zsRE, questions that ask for it."""
    if riddle.dataset not in ("zsre", "trex"):
        return {}
    subject = riddle.facts[0].subject
    about = {"sub_surface": [subject], "obj_surface": [riddle.answer]}
    about["subj_aliases"] = list(aliases(world, subject))
    if riddle.dataset == "zsre":
        about["template_questions"] = _template_questions(world, riddle)
    return about


def _template_questions(world: World, riddle: Riddle) -> list[str]:
    *bridges, last = riddle.facts
    x = bridges[0].subject if bridges else last.subject
    for fact in bridges:
        x = world.relation(*fact).phrase.format(x=x)
    return [question.format(x=x) for question in world.relation(*last).questions]


def kilt_pages(world: World, numbers: dict[str, str]) -> Iterator[dict]:
    """The lines of KILT's knowledge source."""
    for title, [passage] in world.pages.items():
        yield {
            "_id": numbers[title],
            "wikipedia_id": numbers[title],
            "wikipedia_title": title,
            "text": [f"{title}\n", f"{passage.text}\n"],
            "anchors": [
                {
                    "text": link.target,
                    "href": link.target.replace(" ", "%20"),
                    "paragraph_id": FIRST,
                    "start": link.start,
                    "end": link.end,
                }
                for link in links(world, passage)
            ],
            "categories": "",
        }
