"""The dials of the simulated reader."""

from dataclasses import dataclass, field, fields
from typing import NamedTuple

from ircot_laboratory.teachers.library import TAUGHT


def _dial(default: float, meaning: str, example: str) -> float:
    return field(default=default, metadata={"meaning": meaning, "example": example})


@dataclass(frozen=True)
class Dials:
    """The abilities of a simulated reader, and what is assumed of it, each a share from 0 to 1. By
    default it reads without error and knows nothing.
    """

    # what it knows and reads
    knows: float = _dial(
        0.0,
        "Share of all facts that the reader knows by heart.",
        "0.3: it knows where Ada Moss was born, but for 7 of 10 others it does not.",
    )
    misreads: float = _dial(
        0.0,
        "Share of the facts stated in passages that it gets wrong: it takes another value of the "
        "same kind, one of the passage if it has any.",
        "0.1: it takes Ada Moss's place of death for her birthplace whenever it reads that page.",
    )
    confirms: float = _dial(
        0.0,
        "Share of the facts known by heart that it does not misread, since the page confirms them.",
        "1: it knows where Ada Moss was born, and so finds it on her page.",
    )
    varies: float = _dial(
        0.0,
        "Share of the facts whose misreading is drawn for each form of prompt, so that another "
        "stage may read them right; the others are misread for ever.",
        "1: it misreads Ada Moss's birthplace in a chain of thought, not when asked for it alone.",
    )
    distracted: float = _dial(
        0.0,
        "Share of the passages about something else from which it takes the value of a fact, if "
        "they state one of the same relation.",
        "0.1: it takes Ben Moss's birthplace for Ada's if his page is shown before hers.",
    )
    obeys: float = _dial(
        TAUGHT["obeys"],
        "Share of the facts for which it believes a passage, or feedback, against its memory.",
        "0: it knows that Ada Moss was born in Lindton, and no passage changes its mind.",
    )
    makes_up: float = _dial(
        0.0,
        "Share of the facts that it makes up if it neither knows nor reads them; of the others it "
        'says "unknown".',
        "1: it gives Ada Moss an invented mentor; 0: it says that her mentor is unknown.",
    )
    # what it plans and asks
    misplans: float = _dial(
        0.0,
        "Share of a question's steps in which it asks for something else about the same subject, "
        "in systems that plan or write all steps at once.",
        "0.1: it plans to ask who Ada Moss married where the question needs her father.",
    )
    wanders: float = _dial(
        0.0,
        "The same in systems that decide on each step after the last one.",
        "0.1: with Ada Moss found, it asks who she married where the question needs her father.",
    )
    asks_known: float = _dial(
        TAUGHT["asks_known"],
        "Share of the facts that DSP asks for though it knows them; the other systems ask for all.",
        "0: it does not search for Ada Moss's birthplace, which it knows.",
    )
    # how it follows the systems' forms
    breaks_form: float = _dial(
        0.0,
        "Share of its replies that lack the words by which a program recognises their parts.",
        '0.05: "Lindton." in place of "So the answer is: Lindton."',
    )
    rereads: float = _dial(
        TAUGHT["rereads"],
        "Share of the facts that it reads again in the passage if SearChain's feedback offers an "
        "answer; the others it takes from the feedback.",
        "0: it believes the extractive reader about Ada Moss's birthplace, and does not look.",
    )
    proposes_wrong: float = _dial(
        TAUGHT["proposes_wrong"],
        "Share of Tree-of-Thought's thoughts beside the right one that have a wrong value.",
        "0: all thoughts that it proposes for a step say the same.",
    )
    misvotes: float = _dial(
        TAUGHT["misvotes"],
        "Share of Tree-of-Thought's choices in which its votes go to the choice after the best.",
        "0.1: it takes the thought with Ada Moss's place of death for the better one.",
    )
    # the extractive reader
    extractor_misreads: float = _dial(
        0.0,
        "The same as misreads for the extractive reader.",
        "0.1: the extractor is sure that Ada Moss's place of death is her birthplace.",
    )
    extractor_invents: float = _dial(
        0.0,
        "Share of the paragraphs without the value asked for in which it is sure of another.",
        "0.1: asked for Ada Moss's birthplace, it is sure of a place on Ben Moss's page.",
    )
    coincide: float = _dial(
        0.0,
        "Share of the facts that the extractive reader misreads as the model does; if one of them "
        "misreads less often, it errs only where the other does.",
        "1: both take the same wrong city, and neither corrects the other; 0: they err apart.",
    )


class Explained(NamedTuple):
    """A dial in words."""

    dial: str
    default: float
    meaning: str
    example: str


def explain_dials() -> list[Explained]:
    """Each dial with its default, one sentence and one example."""
    return [Explained(dial.name, dial.default, **dial.metadata) for dial in fields(Dials)]
