"""Reads the weights of a model, and refuses any that do not fit it."""

import re
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM
from transformers.utils import logging

from ircotlib.errors import DataError, UserError
from ircotlib.models.causal import can_reuse
from ircotlib.models.config import SMALL
from ircotlib.models.decode import bias_from_distances
from ircotlib.models.folders import REMEDY, naming_file
from ircotlib.models.llama import Joined, can_join


def read_model(folder: Path, encoder_decoder: bool, device: str | None, dtype: str):
    """The model in a folder, ready to use. Raises UserError for a kind that cannot be batched."""
    kind = AutoModelForSeq2SeqLM if encoder_decoder else AutoModelForCausalLM
    model = read_weights(kind, folder, device, getattr(torch, dtype))
    if model.generation_config.eos_token_id is None:
        expected = "expected the token that ends a text in generation_config.json or config.json"
        raise UserError(f"{folder}: found no eos_token_id, {expected}")
    if not encoder_decoder and not can_reuse(model):
        found = "found a model with recurrent states, a sliding window or growing positions"
        raise UserError(f"{folder}: {found}, expected one like Llama; set server for all others")
    if model.config.model_type == "t5":
        model.get_encoder().set_attn_implementation("row_by_row")
        bias_from_distances(model.get_encoder().block[0].layer[0].SelfAttention)
    if can_join(model) and is_small(model):
        model.forward = Joined(model)
    return model


def read_weights(kind: type, folder: Path, device: str | None, dtype: torch.dtype, unused="$^"):
    """A model of a transformers class on its device (None: the GPU if there is one). Raises
    DataError if weights are missing, of another shape, or superfluous, but for those whose names
    match `unused`: transformers would go on with random ones.
    """
    options = {"dtype": dtype, "use_safetensors": any(folder.glob("*.safetensors"))}
    options |= {"ignore_mismatched_sizes": True, "output_loading_info": True}
    logging.disable_progress_bar()
    logging.set_verbosity_error()  # what is wrong with the weights is said below
    with naming_file(folder, "a model"):
        model, info = kind.from_pretrained(folder, **options)
    superfluous = {name for name in info["unexpected_keys"] if not re.search(unused, name)}
    odd = {"missing": info["missing_keys"], "superfluous": superfluous}
    odd["of another shape"] = {name for name, *_ in info["mismatched_keys"]}
    if found := [f"{sorted(names)[0]} {how}" for how, names in odd.items() if names]:
        expected = "expected exactly the weights of config.json"
        raise DataError(f"{folder}: found {', '.join(found)}, {expected}; {REMEDY}")
    model = model.to(device or ("cuda" if torch.cuda.is_available() else "cpu")).eval()
    if is_small(model):
        torch.set_num_threads(1)
    return model


def is_small(model) -> bool:
    """Whether a model is on the CPU and too small for a second core to speed up a batch."""
    return model.device.type == "cpu" and model.num_parameters() < SMALL
