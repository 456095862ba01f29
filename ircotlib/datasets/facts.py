"""What is known of a data set's facts: it judges what systems write and says why answers are wrong.
The laboratory's facts are known. Those of real data are not: people judge there.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ircotlib.data import Paragraph, Question


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a system did for a question, as far as causes of errors depend on it. `steps`: what it
    wrote, by lines or sentences, without those that only give an answer. `text`: all that it wrote,
    and its answer. `parsed`: whether an answer could be read from its text.
    """

    steps: tuple[str, ...] = ()
    text: str = ""
    queries: tuple[str, ...] = ()
    paragraphs: tuple[Paragraph, ...] = ()
    parsed: bool = True


class Evidence(NamedTuple):
    """Why an answer is wrong: whether steps with all that is needed were `written`; if not, whether
    the first thing missing was `asked` for in a step, `searched` for in a query, and `retrieved`.
    """

    written: bool
    asked: bool
    searched: bool
    retrieved: bool


class Facts(Protocol):
    """Knows the facts of one data set."""

    def judge(self, sentence: str, question: Question) -> str:
        """Whether a sentence of a chain is "true", "false" or "unsure" (IRCoT §5, Figure 7)."""

    def judge_reference(self, statement: str, titles: Collection[str]) -> str:
        """Whether one of these pages states what a statement says (SearChain Table 5, AMP)."""

    def weigh(self, attempt: Attempt, question: Question) -> Evidence:
        """The evidence on why the answer of an attempt is wrong."""
