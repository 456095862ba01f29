"""A corpus pooled from the contexts of questions, and the questions to tune and to test on (IRCoT
App. A, §4).
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b

from ircotlib.data import Paragraph, Question


def digest(text: str, digits: int) -> str:
    """The first hexadecimal digits of a hash that is the same on every machine and in every run."""
    return blake2b(text.encode(), digest_size=16).hexdigest()[:digits]


def make_id(title: str, text: str) -> str:
    """The id of a paragraph: its title, for the eye, and 8 hexadecimal digits from title and text,
    so that equal content has an equal id.
    """
    slug = re.sub(r"\W+", "-", title.lower()).strip("-")
    content = f"{title}\n{text}"
    return f"{slug}-{digest(content, 8)}"


@lru_cache(maxsize=5000)  # contexts share paragraphs
def make_paragraph(title: str, text: str) -> Paragraph:
    """A paragraph of a context, with the id that its content gives it."""
    return Paragraph(make_id(title, text), title, text)


def pool(contexts: Iterable[Sequence[Paragraph]]) -> list[Paragraph]:
    """All paragraphs of the contexts, each title and text once, in the order they are first seen
    (IRCoT App. A).

    Differs from the paper: it pools the contexts of training, development and test set; this pools
    those it is given.
    """
    corpus = {}
    for context in contexts:
        for paragraph in context:
            corpus.setdefault((paragraph.title, paragraph.text), paragraph)
    return list(corpus.values())


def sample_dev_test(
    questions: Iterable[Question], dev: int = 100, test: int = 500, seed: int = 0
) -> tuple[list[Question], list[Question]]:
    """Questions to tune on and others to test on, drawn at random (IRCoT §4: 100 and 500 of the
    development set).

    The draw is by a hash of seed and question id, so it does not depend on the order of the file.
    From fewer than dev + test questions, a fifth (at most `dev`) is for tuning and the rest (at
    most `test`) for testing.
    """
    drawn = sorted(
        questions, key=lambda question: (digest(f"{seed} {question.id}", 32), question.id)
    )
    size = dev if len(drawn) >= dev + test else min(dev, len(drawn) // 5)
    return drawn[:size], drawn[size : size + test]
