"""The shipped T5s, initialised so that they can learn to copy, and their word-level tokenizer."""

import re
from collections.abc import Iterator
from itertools import chain

import torch
from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import WordPiece
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

import training.t5.attention  # noqa: F401 (the encoder asks for it by name)
from ircot_laboratory.questions import wording
from ircot_laboratory.world import names, relations
from ircotlib.prompting.prompt import read_template
from training.t5.recipe import SIZES

HEAD_WIDTH = 32
CIRCLES = (1, 2, 5, 10, 20, 30, 40)  # how often the numbers 0 to 99 go around each circle
FUNCTION_WORDS = (
    "She her Her He him His It it Its the The a A What Who is yes no Q 's ¶ | reason direct"
    " : , . ? ! ' -"
)

_SHORTER = {  # phrases of the prompt format that are one token each
    "Wikipedia Title:": " ¶ ",
    "Answer the following question by reasoning step-by-step.": " reason ",
    "Answer the following question.": " direct ",
}


def make_tokenizer(ends: bool = True) -> PreTrainedTokenizerFast:
    """Make the tokenizer: one token for each word or punctuation mark, two tokens of two digits for
    a year, <unk> for an unknown word.

    `ends`: put </s> after every text, as T5 expects it.
    """
    vocabulary = ["<pad>", "</s>", "<unk>", *list_words()]
    tokenizer = Tokenizer(
        WordPiece(
            {word: i for i, word in enumerate(vocabulary)},
            unk_token="<unk>",
            continuing_subword_prefix="##",
        )
    )
    shorter = [normalizers.Replace(phrase, token) for phrase, token in _SHORTER.items()]
    tokenizer.normalizer = normalizers.Sequence(
        [*shorter, normalizers.Replace(Regex(r"\n\s*"), " | ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()]
    )
    word_by_word = [
        decoders.Replace(" :", ":"),
        decoders.Replace(" '", "'"),
        decoders.Replace(Regex("^ s$"), "s"),
    ]
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.WordPiece(prefix="##", cleanup=True),
            *word_by_word,
            decoders.Fuse(),
            decoders.Replace(" - ", "-"),
        ]
    )
    if ends:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="$A </s>", special_tokens=[("</s>", 1)]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )


def list_words() -> list[str]:
    """All words that the encyclopedia, its questions and its chains can have, in a fixed order."""
    texts = re.sub(r"\{\w+\}", " ", " ".join([*_page_texts(), *_question_texts(), FUNCTION_WORDS]))
    words = re.findall(r"\w+|[^\w\s]", texts)
    parts = [word for first, last in names.PARTS.values() for word in [*first, *last]]
    lists = [word for values in names.LISTS.values() for word in values]
    two_digits = [f"{n:02d}" for n in range(100)]
    digits = [*map(str, range(10)), *two_digits, *(f"##{number}" for number in two_digits)]
    return list(dict.fromkeys(words + parts + lists + digits))


def _page_texts() -> Iterator[str]:
    for kind in relations.KINDS.values():
        yield f"{kind.intro} {kind.noun} The {kind.noun} {' '.join(kind.categories)}"
    for of_kind in relations.RELATIONS.values():
        for one in of_kind:
            yield " ".join([one.phrase, one.thought, *one.questions, *one.wordings])


def _question_texts() -> Iterator[str]:
    for by_relation in wording.COMPARISONS.values():
        yield from map(" ".join, by_relation.values())
    yield from map(" ".join, (wording.BRIDGE, wording.INFERENCE, wording.AGE, wording.COUNT))
    yield from (wording.NOBODY, wording.SAME_QUESTION, *wording.SAME_THOUGHTS.values())
    yield from (
        wording.ANSWER,
        read_template("ircot", "titles").wording,
        *relations.MAKERS.values(),
    )
    yield from (*wording.RELATIVES.values(), *wording.EVENTS.values())
    yield from chain(*wording.WHEN.values())


def make_model(size: str, vocabulary: int, seed: int) -> T5ForConditionalGeneration:
    """Make an untrained T5 of one of SIZES. Its heads are initialised to attend to words that
    resemble the query, and to the words just before it.
    """
    torch.manual_seed(seed)
    config = T5Config(
        vocab_size=vocabulary,
        d_kv=HEAD_WIDTH,
        dropout_rate=0.0,
        feed_forward_proj="relu",
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
        **SIZES[size],
    )
    config._attn_implementation = "eager"  # training reads the attention weights
    model = T5ForConditionalGeneration(config)
    model.encoder.set_attn_implementation("teaching")
    for module in model.modules():
        if type(module).__name__ == "T5Attention":
            _initialise_attention(module)
    return model


@torch.no_grad()
def order_numbers(
    model: T5ForConditionalGeneration, tokenizer: PreTrainedTokenizerFast, first: int = 0
) -> None:
    """Initialise the embeddings of the two-digit tokens, from dimension `first` on, so that near
    numbers are similar, and so are equal differences.

    The numbers lie on a line and on circles, where a difference of years is an angle; subtraction
    can be learned from these.
    """
    embedding = model.get_input_embeddings().weight[:, first:]
    width = embedding.shape[1]
    angles = 2 * torch.pi * torch.arange(100)[:, None] / 100 * torch.tensor(CIRCLES)
    features = torch.cat([torch.arange(100)[:, None] / 50 - 1, angles.cos(), angles.sin()], 1)
    directions = torch.linalg.qr(torch.randn(width, features.shape[1]))[0].T
    numbers = 2 * features @ directions
    for prefix in ("", "##"):
        ids = tokenizer.convert_tokens_to_ids([f"{prefix}{n:02d}" for n in range(100)])
        embedding[ids] = 0.5 * embedding[ids] + numbers


@torch.no_grad()
def _initialise_attention(attention: torch.nn.Module) -> None:
    """Mimetic initialisation (Trockman and Kolter 2023), with heads that begin as "previous word",
    "second previous word", and so on.
    """
    width = attention.k.weight.shape[1]
    attention.k.weight.normal_(std=width**-0.5)
    attention.q.weight.copy_(attention.k.weight * HEAD_WIDTH**-0.5)
    attention.o.weight.copy_(0.7 * attention.v.weight.T)
    if attention.has_relative_attention_bias:
        attention.relative_attention_bias.weight.zero_()
        for head in range(attention.n_heads):
            attention.relative_attention_bias.weight[head + 1, head] = 4.0
