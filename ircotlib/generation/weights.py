"""The weights of a model, read whole or refused."""

from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM
from transformers.utils import logging

# attention of the encoder: registered under its name by decode.py
import ircotlib.generation.decode  # noqa: F401

# parameters; below, a second thread gains a fifth on an idle machine and loses a half on a busy one
SMALL = 10_000_000


def read_model(folder: Path, encoder_decoder: bool, device: str | None, dtype: str):
    """The model of a folder, ready to write; `device` None: the GPU if there is one.

    Raises ValueError when weights are missing, superfluous or of another shape.
    """
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    model = _read_whole(folder, encoder_decoder, getattr(torch, dtype)).to(device).eval()
    if device == "cpu" and model.num_parameters() < SMALL:
        torch.set_num_threads(1)
    if model.config.model_type == "t5":
        model.get_encoder().set_attn_implementation("padding_column")
    return model


def _read_whole(folder: Path, encoder_decoder: bool, dtype: torch.dtype):
    kind = AutoModelForSeq2SeqLM if encoder_decoder else AutoModelForCausalLM
    verbosity = logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()  # what is wrong with the weights is said below
    try:
        model, info = kind.from_pretrained(
            folder,
            dtype=dtype,
            use_safetensors=True,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
    finally:
        logging.set_verbosity(verbosity)
    _check(folder, info)
    return model


def _check(folder: Path, info: dict) -> None:
    """Refuse weights that do not fit; tied ones that are not written twice do."""
    misfits = [f"missing: {name}" for name in sorted(info["missing_keys"])]
    misfits += [f"unexpected: {name}" for name in sorted(info["unexpected_keys"])]
    misfits += [
        f"of another shape: {name} {list(found)}, not {list(expected)}"
        for name, found, expected in sorted(info["mismatched_keys"])
    ]
    if misfits:
        raise ValueError(
            f"{folder}: found weights that do not fit config.json ({'; '.join(misfits[:3])}; "
            f"{len(misfits)} in all), expected all and only those of the model; write or download "
            "the folder again"
        )
