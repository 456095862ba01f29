"""Grows a trained model into a wider one with the same output, to be trained on."""

from pathlib import Path

import torch
from transformers import T5ForConditionalGeneration

# the weights that write to the residual stream; all others read from it
WRITES = (".o.weight", ".wo.weight", "shared.weight")


@torch.no_grad()
def grow(start: Path, model: T5ForConditionalGeneration) -> int:
    """Copy the weights of the model in the folder `start` into `model`, which has the
    same depth and at least the same width, so that both have the same output; return
    the width of the former.

    New dimensions of the residual stream are read by the initial weights, but are still
    zero; new heads and units read the stream, but write nothing yet. The layer norms
    are scaled, since their mean is over more dimensions. Raises ValueError if depth or
    vocabulary differ.
    """
    small = T5ForConditionalGeneration.from_pretrained(start).float()
    before, wanted = small.config, model.config
    if (before.num_layers, before.vocab_size) != (wanted.num_layers, wanted.vocab_size):
        raise ValueError(
            f"{start}: found {before.num_layers} layers and {before.vocab_size} words, "
            f"expected {wanted.num_layers} layers and {wanted.vocab_size} words, "
            "those of the model to grow"
        )
    widening = before.d_model / wanted.d_model
    old = small.state_dict()
    new = dict(model.named_parameters())
    for name, weight in new.items():
        if "layer_norm" in name:
            weight.fill_(old[name].mean() * widening**0.5)
            weight[: len(old[name])] = old[name] * widening**0.5
        else:
            if name.endswith(WRITES):
                weight.zero_()
            weight[tuple(slice(n) for n in old[name].shape)] = old[name]
    # T5 scales the tied output by the width
    new["decoder.final_layer_norm.weight"].mul_(widening**-0.5)
    return before.d_model
