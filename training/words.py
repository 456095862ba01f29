"""The words that models of the laboratory need, and how the embeddings of numbers
begin.
"""

import re
from collections.abc import Iterator
from itertools import chain

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from ircot_laboratory.questions import wording
from ircot_laboratory.world import names, relations
from ircotlib.prompting.prompt import read_template

# how often the numbers 0 to 99 go around each circle
CIRCLES = (1, 2, 5, 10, 20, 30, 40)
FUNCTION_WORDS = (
    "She her Her He him His It it Its the The a A What Who is yes no Q 's ¶ | reason direct"
    " : , . ? ! ' -"
)


def list_words() -> list[str]:
    """All words that the encyclopedia, its questions and its chains can have, in a
    fixed order.
    """
    texts = re.sub(
        r"\{\w+\}", " ", " ".join([*_page_texts(), *_question_texts(), FUNCTION_WORDS])
    )
    words = re.findall(r"\w+|[^\w\s]", texts)
    parts = [word for first, last in names.PARTS.values() for word in [*first, *last]]
    lists = [word for values in names.LISTS.values() for word in values]
    two_digits = [f"{n:02d}" for n in range(100)]
    digits = [
        *map(str, range(10)),
        *two_digits,
        *(f"##{number}" for number in two_digits),
    ]
    return list(dict.fromkeys(words + parts + lists + digits))


def _page_texts() -> Iterator[str]:
    for kind in relations.KINDS.values():
        yield f"{kind.intro} {kind.noun} The {kind.noun} {' '.join(kind.categories)}"
    for relation in chain(*relations.RELATIONS.values()):
        parts = (
            relation.phrase,
            relation.thought,
            *relation.questions,
            *relation.wordings,
        )
        yield " ".join(parts)


def _question_texts() -> Iterator[str]:
    for by_relation in wording.COMPARISONS.values():
        yield from map(" ".join, by_relation.values())
    yield from map(
        " ".join, (wording.BRIDGE, wording.INFERENCE, wording.AGE, wording.COUNT)
    )
    yield from (wording.NOBODY, wording.SAME_QUESTION, *wording.SAME_THOUGHTS.values())
    yield from (wording.ANSWER, read_template("ircot", "titles").wording)
    yield from (
        *relations.MAKERS.values(),
        *wording.RELATIVES.values(),
        *wording.EVENTS.values(),
    )
    yield from chain(*wording.WHEN.values())


@torch.no_grad()
def order_numbers(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, first: int = 0
) -> None:
    """Initialise the embeddings of the two-digit tokens, from dimension `first` on, so
    that near numbers are similar, and so are equal differences.

    The numbers lie on a line and on circles, where a difference of years is an angle;
    subtraction can be learned from these.
    """
    embedding = model.get_input_embeddings().weight[:, first:]
    width = embedding.shape[1]
    angles = 2 * torch.pi * torch.arange(100)[:, None] / 100 * torch.tensor(CIRCLES)
    features = torch.cat(
        [torch.arange(100)[:, None] / 50 - 1, angles.cos(), angles.sin()], 1
    )
    directions = torch.linalg.qr(torch.randn(width, features.shape[1]))[0].T
    numbers = 2 * features @ directions
    for prefix in ("", "##"):
        ids = tokenizer.convert_tokens_to_ids([f"{prefix}{n:02d}" for n in range(100)])
        embedding[ids] = 0.5 * embedding[ids] + numbers
