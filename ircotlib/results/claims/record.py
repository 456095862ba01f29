"""What a claim of a paper is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """A claim of a paper: in each pair, and wherever they were compared, the first side has higher
    values than the second.
    """

    section: str  # of the paper; its claims are corrected together
    source: str  # where in the section
    claim: str
    pairs: Sequence[tuple[str, str]]  # the sides are mostly systems
    values: str = "scores"  # the name of the values it is about (`evidence`)
    comparison: str = "{} > {}"  # how one pair is worded
    paired: bool = True  # both sides have values of the same questions
    margin: float = 0.0  # by which the first side may be lower: the claim is "hardly lower"
    # Which rows of data/reported.csv have the paper's values; None: the paper prints none.
    printed: Mapping[str, str] | None = None
    side: str = "name"  # the column of these rows that has the sides
    of_each: str = "model"  # the column whose values have a difference each
    base: float | None = None  # the value of a side that is not among them: 0 if they are gains
    readers: Mapping[str, str] | None = None  # by model, the reader that these rows must have
    lower: bool = False  # of the printed values the lower is the better
    scale: Callable[[float], float] = float  # makes printed values comparable with ours
    wording: str = "{:+.2f}"  # of the paper's difference


def over(better: str, *worse: str) -> list[tuple[str, str]]:
    """The pairs of a side with each of the sides it is better than."""
    return [(better, other) for other in worse]
