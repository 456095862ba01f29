"""The words that models of the laboratory need, and how embeddings of numbers begin."""

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
    "She her Her He him His It it Its the The a A What Who is yes no Q 's ¶ |"
    " reason direct : , . ? ! ' -"
)


def list_words() -> list[str]:
    """All words of the encyclopedia, its questions and chains, in a fixed order."""
    texts = " ".join([*_page_texts(), *_question_texts(), FUNCTION_WORDS])
    words = split_words(texts)
    parts = [word for first, last in names.PARTS.values() for word in [*first, *last]]
    lists = [word for values in names.LISTS.values() for word in values]
    digits = [str(digit) for digit in range(10)]
    for prefix in ("", "##"):  # a year is two tokens
        digits += [f"{prefix}{number:02d}" for number in range(100)]
    return list(dict.fromkeys(words + parts + lists + digits))


def split_words(template: str) -> list[str]:
    """The words and punctuation marks of a text, without the fields of templates."""
    return re.findall(r"\w+|[^\w\s]", re.sub(r"\{\w+\}", " ", template))


def _page_texts() -> Iterator[str]:
    for kind in relations.KINDS.values():
        yield f"{kind.intro} {kind.noun} The {kind.noun} {' '.join(kind.categories)}"
    for relation in chain(*relations.RELATIONS.values()):
        yield relation.phrase
        yield relation.thought
        yield from relation.questions
        yield from relation.wordings


def _question_texts() -> Iterator[str]:
    for by_relation in wording.COMPARISONS.values():
        yield from chain(*by_relation.values())
    yield from (*wording.BRIDGE, *wording.INFERENCE, *wording.AGE, *wording.COUNT)
    yield from (wording.NOBODY, wording.SAME_QUESTION, *wording.SAME_THOUGHTS.values())
    yield from (wording.ANSWER, read_template("ircot", "titles").wording)
    for table in (relations.MAKERS, wording.RELATIVES, wording.EVENTS):
        yield from table.values()
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
    line = torch.arange(100)[:, None] / 50 - 1
    features = torch.cat([line, angles.cos(), angles.sin()], 1)
    directions = torch.linalg.qr(torch.randn(width, features.shape[1]))[0].T
    numbers = 2 * features @ directions
    for prefix in ("", "##"):
        ids = tokenizer.convert_tokens_to_ids([f"{prefix}{n:02d}" for n in range(100)])
        embedding[ids] = 0.5 * embedding[ids] + numbers
