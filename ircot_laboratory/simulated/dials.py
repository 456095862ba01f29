"""The dials of the simulated reader."""

from dataclasses import dataclass, field, fields
from typing import NamedTuple


def _dial(default: float, meaning: str, example: str) -> float:
    return field(default=default, metadata={"meaning": meaning, "example": example})


@dataclass(frozen=True)
class Dials:
    """The abilities of a simulated reader, each a share from 0 to 1. By default it reads without
    error and knows nothing.
    """

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
    decomposes: float = _dial(
        0.0,
        "Share of a question's steps in which it asks for something else about the same subject.",
        "0.1: it asks who Ada Moss married where the question needs her father.",
    )
    makes_up: float = _dial(
        0.0,
        "Share of the facts that it makes up if it neither knows nor reads them; of the others it "
        'says "unknown".',
        "1: it gives Ada Moss an invented mentor; 0: it says that her mentor is unknown.",
    )
    obeys: float = _dial(
        1.0,
        "Share of the facts for which it believes a passage, or feedback, against its memory.",
        "0: it knows that Ada Moss was born in Lindton, and no passage changes its mind.",
    )
    breaks_form: float = _dial(
        0.0,
        "Share of its replies that lack the words by which a program recognises their parts.",
        '0.05: "Lindton." in place of "So the answer is: Lindton."',
    )
    extractor_misreads: float = _dial(
        0.0,
        "The same as misreads for the extractive reader; as often, it is also sure of a value "
        "where the passage has none.",
        "0.1: the extractor is sure that Ada Moss's place of death is her birthplace.",
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
