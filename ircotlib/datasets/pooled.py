"""Pools a corpus from contexts, and samples questions to tune and test on (IRCoT App. A, §4)."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b

from ircotlib.data import Paragraph, Question


def digest(text: str, digits: int) -> str:
    """The first hexadecimal digits of a hash, the same on every machine and in every run."""
    return blake2b(text.encode(), digest_size=16).hexdigest()[:digits]


def make_id(title: str, text: str) -> str:
    """The id of a paragraph: its title, for readability, and 8 digits of a hash of its content."""
    slug = re.sub(r"\W+", "-", title.lower()).strip("-")
    content = f"{title}\n{text}"
    return f"{slug}-{digest(content, 8)}"


@lru_cache(maxsize=5000)  # contexts share paragraphs
def make_paragraph(title: str, text: str) -> Paragraph:
    """A paragraph of a context, with an id made from its content."""
    return Paragraph(make_id(title, text), title, text)


def pool(contexts: Iterable[Sequence[Paragraph]]) -> list[Paragraph]:
    """The paragraphs of all contexts, each title and text once, in the order of their first
    occurrence (IRCoT App. A). Differs from the paper: that also pools those of other splits.
    """
    corpus = {}
    for paragraph in (paragraph for context in contexts for paragraph in context):
        corpus.setdefault((paragraph.title, paragraph.text), paragraph)
    return list(corpus.values())


def sample_dev_test(
    questions: Iterable[Question], dev: int = 100, test: int = 500, seed: int = 0
) -> tuple[list[Question], list[Question]]:
    """Sample questions to tune on and others to test on by a hash of seed and id (IRCoT §4: 100 and
    500). Of fewer, a fifth (at most `dev`) is for tuning and the rest (at most `test`) for testing.
    """
    drawn = sorted(questions, key=lambda asked: (digest(f"{seed} {asked.id}", 32), asked.id))
    size = dev if len(drawn) >= dev + test else min(dev, len(drawn) // 5)
    return drawn[:size], drawn[size : size + test]
