"""Grows a trained model into a wider one that writes the same, to be trained further."""

from pathlib import Path

import torch
from transformers import T5ForConditionalGeneration

# what is added to the residual stream; all else reads from it
WRITES = (".o.weight", ".wo.weight", "shared.weight")


@torch.no_grad()
def grow(start: Path, model: T5ForConditionalGeneration) -> int:
    """Put the weights of the model in `start` into a model of the same depth, at least as wide, so
    that both write the same; return its width.

    New dimensions of the residual stream are read, as initialised, but hold nothing yet; new heads
    and units read it, but write nothing yet. The layer norms are scaled for the mean over more
    dimensions. Raises ValueError where depth or vocabulary differ.
    """
    small = T5ForConditionalGeneration.from_pretrained(start).float()
    found, expected = (
        f"{config.num_layers} layers and {config.vocab_size} words"
        for config in (small.config, model.config)
    )
    if found != expected:
        raise ValueError(f"{start}: found {found}, expected {expected}, those of the model to grow")
    widening = small.config.d_model / model.config.d_model
    old, new = small.state_dict(), dict(model.named_parameters())
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
    return small.config.d_model
