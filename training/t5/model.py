"""The shipped T5s, initialised so that they can learn to copy, and their tokenizer."""

import torch
from tokenizers import Regex, Tokenizer, decoders, normalizers, processors
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import Punctuation, Sequence, WhitespaceSplit
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

from training.t5.recipe import SIZES
from training.words import list_words

HEAD_WIDTH = 32
SHORTER = {  # phrases of the prompt format that are one token each
    "Wikipedia Title:": " ¶ ",
    "Answer the following question by reasoning step-by-step.": " reason ",
    "Answer the following question.": " direct ",
}


def make_tokenizer(ends: bool = True) -> PreTrainedTokenizerFast:
    """Make the tokenizer: one token for each word or punctuation mark, two tokens of
    two digits for a year, <unk> for an unknown word.

    `ends`: put </s> after every text, as T5 expects it.
    """
    vocabulary = ["<pad>", "</s>", "<unk>", *list_words()]
    numbered = {word: number for number, word in enumerate(vocabulary)}
    model = WordPiece(numbered, unk_token="<unk>", continuing_subword_prefix="##")
    tokenizer = Tokenizer(model)
    shorter = [normalizers.Replace(phrase, token) for phrase, token in SHORTER.items()]
    lines = normalizers.Replace(Regex(r"\n\s*"), " | ")
    tokenizer.normalizer = normalizers.Sequence([*shorter, lines])
    tokenizer.pre_tokenizer = Sequence([WhitespaceSplit(), Punctuation()])
    by_word = [(" :", ":"), (" '", "'"), (Regex("^ s$"), "s")]
    words = decoders.WordPiece(prefix="##", cleanup=True)
    joined = [decoders.Fuse(), decoders.Replace(" - ", "-")]
    replaced = [decoders.Replace(*pair) for pair in by_word]
    tokenizer.decoder = decoders.Sequence([words, *replaced, *joined])
    if ends:
        ending = processors.TemplateProcessing("$A </s>", special_tokens=[("</s>", 1)])
        tokenizer.post_processor = ending
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def make_t5(size: str, vocabulary: int, seed: int) -> T5ForConditionalGeneration:
    """Make an untrained T5 of one of SIZES. Its heads are initialised to attend to
    words that resemble the query, and to the words just before it.
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
    for module in model.modules():
        if type(module).__name__ == "T5Attention":
            _initialise_attention(module)
    return model


@torch.no_grad()
def _initialise_attention(attention: torch.nn.Module) -> None:
    """Mimetic (Trockman and Kolter 2023); some heads begin as "previous word"."""
    width = attention.k.weight.shape[1]
    attention.k.weight.normal_(std=width**-0.5)
    attention.q.weight.copy_(attention.k.weight * HEAD_WIDTH**-0.5)
    attention.o.weight.copy_(0.7 * attention.v.weight.T)
    if attention.has_relative_attention_bias:
        attention.relative_attention_bias.weight.zero_()
        for head in range(attention.n_heads):
            attention.relative_attention_bias.weight[head + 1, head] = 4.0
