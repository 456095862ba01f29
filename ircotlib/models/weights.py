"""Reads the weights of a model; and what makes small models faster on a CPU than
transformers does: one thread, the attention of T5's encoder.

Shapes: B rows, T columns of the prompts, H heads of width D.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import torch
import transformers
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM
from transformers.utils import logging

from ircotlib.errors import DataError, UserError
from ircotlib.models.causal import can_reuse
from ircotlib.models.folders import REMEDY, SMALL, naming_file


def read_model(folder: Path, encoder_decoder: bool, dtype: str):
    """The model in a folder. Raises UserError for a kind that cannot be batched."""
    kind = AutoModelForSeq2SeqLM if encoder_decoder else AutoModelForCausalLM
    model = read_weights(kind, folder, getattr(torch, dtype))
    if not encoder_decoder and not can_reuse(model):
        raise UserError(
            f"{folder}: found a model with recurrent states, a sliding window or"
            " length-dependent positions, expected one like Llama; set server for"
            " all others"
        )
    if model.config.model_type == "t5":
        model.get_encoder().set_attn_implementation("row_by_row")
    return model


def read_weights(kind, folder: Path, dtype: torch.dtype):
    """A model of a transformers class, on the GPU if there is one. Raises DataError if
    weights are missing: transformers would draw random ones.
    """
    logging.disable_progress_bar()
    logging.set_verbosity_error()  # the error below says what is wrong with the weights
    with naming_file(folder, "a model"):
        model, info = kind.from_pretrained(
            folder, dtype=dtype, output_loading_info=True
        )
    if info["missing_keys"]:
        name = min(info["missing_keys"])
        raise DataError(f"{folder}: found {name} missing in the weights; {REMEDY}")
    return model.to("cuda" if torch.cuda.is_available() else "cpu").eval()


def is_small(model) -> bool:
    """Whether a model is on the CPU, and a second core would not speed up a batch."""
    return model.device.type == "cpu" and model.num_parameters() < SMALL


@contextmanager
def one_thread(only: bool) -> Iterator[None]:
    """Compute with one thread, if `only`, and then again with those of the process."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if only else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def row_by_row_attention(
    module, query, key, value, lengths, *, scaling=None, position_bias=None, **_
) -> tuple[Tensor, None]:
    """Attention of a T5 encoder, (B, T, H, D), row by row and without padding: without
    it, a small T5 takes 2.0 times as long. "sdpa" adds bias and mask in every layer, in
    a matrix (B, H, T, T); the bias alone is one, (1, H, T, T). `lengths`: of rows.
    """
    attend = partial(scaled_dot_product_attention, scale=scaling)
    states = query.new_zeros(query.transpose(1, 2).shape)  # B, T, H, D; padding stays 0
    for row, length in enumerate(lengths.tolist()):
        # 1, H, length, D: a row without its padding
        own = slice(row, row + 1), slice(None), slice(length)
        bias = position_bias[:, :, :length, :length]  # 1, H, length, length
        attended = attend(query[own], key[own], value[own], attn_mask=bias)
        states[row, :length] = attended[0].transpose(0, 1)  # length, H, D
    return states, None


def row_lengths(*, attention_mask: Tensor, **_) -> Tensor:
    """The tokens of each row, (B), by a mask (1: a token)."""
    return attention_mask.sum(-1)


transformers.AttentionInterface.register("row_by_row", row_by_row_attention)
transformers.AttentionMaskInterface.register("row_by_row", row_lengths)
