"""TREC's run and qrels files, which trec_eval and ir_measures read."""

import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

from ircotlib.data import Question


def run_lines(collected: Mapping[str, Iterable[str]], tag: str) -> Iterator[str]:
    """Lines of a run: question, "Q0", paragraph, rank, score, tag. `collected`: ids of paragraphs
    by question, in the order in which the system collected them, which is all that the score says.
    A question without any has no line.
    """
    for id, paragraphs in collected.items():
        distinct = list(dict.fromkeys(paragraphs))
        for rank, paragraph in enumerate(distinct, start=1):
            score = len(distinct) - rank + 1
            yield f"{_word(id)} Q0 {_word(paragraph)} {rank} {score} {_word(tag)}\n"


def qrels_lines(questions: Iterable[Question]) -> Iterator[str]:
    """Lines of qrels: question, 0, gold paragraph, 1. A question without gold has no line, so that
    it counts in no mean, as in our recall.
    """
    for question in questions:
        for id in question.gold:
            yield f"{_word(question.id)} 0 {_word(id)} 1\n"


def _word(id: str) -> str:
    """An id without white space, which ends a column; "%20" for a space, as in addresses."""
    return re.sub(r"[\s%]", lambda match: quote(match[0]), id)
