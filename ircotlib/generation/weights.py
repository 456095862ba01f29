"""Reads the weights of a model, and refuses any that do not fit it."""

import re
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM
from transformers.utils import logging

from ircotlib.errors import DataError
from ircotlib.files.models import REMEDY, naming_file
from ircotlib.generation import decode
from ircotlib.generation.config import SMALL
from ircotlib.generation.llama import Joined, can_join


def read_model(folder: Path, encoder_decoder: bool, device: str | None, dtype: str):
    """The model in a folder, ready to use, as read_weights reads it."""
    kind = AutoModelForSeq2SeqLM if encoder_decoder else AutoModelForCausalLM
    model = read_weights(kind, folder, device, getattr(torch, dtype))
    if model.config.model_type == "t5":
        model.get_encoder().set_attn_implementation("row_by_row")
        if is_small(model):  # the bias of a large one would fill the memory
            decode.keep_bias(model.get_encoder().block[0].layer[0].SelfAttention)
    if can_join(model) and is_small(model):
        model.forward = Joined(model)
    return model


def read_weights(kind: type, folder: Path, device: str | None, dtype: torch.dtype, unused="$^"):
    """Read a model of a transformers class onto its device (None: the GPU if there is one). A small
    model on the CPU limits torch to one thread.

    Raises DataError if weights are missing, superfluous, of another shape, infinite or NaN.
    Superfluous weights whose names match the pattern `unused` are ignored.
    """
    options = {"dtype": dtype, "use_safetensors": any(folder.glob("*.safetensors"))}
    options |= {"ignore_mismatched_sizes": True, "output_loading_info": True}
    verbosity = logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()  # what is wrong with the weights is said below
    try:
        with naming_file(folder, "a model"):
            model, info = kind.from_pretrained(folder, **options)
    finally:
        logging.set_verbosity(verbosity)
    if misfits := _list_misfits(info, unused):
        reason = f"{'; '.join(misfits[:3])}; {len(misfits)} in all"
        expected = "expected exactly the weights of config.json"
        raise DataError(f"{folder}: found {reason}, {expected}; {REMEDY}")
    # with such weights, a model replies "" to every prompt
    wrong = [name for name, weight in model.named_parameters() if not weight.isfinite().all()]
    if wrong:
        reason = f"found weights that are infinite or NaN ({wrong[0]}; {len(wrong)} in all)"
        raise DataError(f"{folder}: {reason}, expected finite numbers; {REMEDY}")
    model = model.to(device or ("cuda" if torch.cuda.is_available() else "cpu")).eval()
    if is_small(model):
        torch.set_num_threads(1)
    return model


def is_small(model) -> bool:
    """Whether a model is on the CPU and too small for a second core to speed up a batch."""
    return model.device.type == "cpu" and model.num_parameters() < SMALL


def _list_misfits(info: dict, unused: str) -> list[str]:
    """Weights that do not fit, from transformers' report."""
    misfits = [f"missing: {name}" for name in sorted(info["missing_keys"])]
    superfluous = [name for name in sorted(info["unexpected_keys"]) if not re.search(unused, name)]
    misfits += [f"unexpected: {name}" for name in superfluous]
    for name, stored, expected in sorted(info["mismatched_keys"]):
        misfits.append(f"of another shape: {name} {list(stored)}, not {list(expected)}")
    return misfits
