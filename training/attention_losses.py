"""The losses that the T5s and the causal models share."""

import torch
from torch import nn


def looking_loss(weights: list[torch.Tensor]) -> torch.Tensor:
    """Supervised attention: the mean of -log of the attention weights at the right positions."""
    return -sum((weight.float() + 1e-6).log().mean() for weight in weights) / len(weights)


def naming_loss(
    words: nn.Linear, relation: nn.Linear, states, subjects, relations, embedding
) -> torch.Tensor:
    """Mean loss of naming subjects [n, 2] and relations [n] from states [n, width]; `words` and
    `relation`: the teacher's heads.
    """
    named = words(states).view(len(states), 2, -1) @ embedding.T
    loss = nn.functional.cross_entropy(named.flatten(0, 1).float(), subjects.flatten())
    return loss + 0.3 * nn.functional.cross_entropy(relation(states).float(), relations)
