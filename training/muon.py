"""Muon (Jordan et al. 2024) in single precision. The version of torch computes in half precision,
which is slow on many processors.
"""

from collections import defaultdict
from collections.abc import Iterable

import torch

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of the iteration that makes a matrix orthogonal
ROUNDS = 5
SIZE = 0.2  # root mean square of an update's numbers: AdamW's, so that both share a learning rate


class Muon(torch.optim.Optimizer):
    """Updates matrices by their orthogonalised momentum; those of the same shape together."""

    def __init__(self, weights: Iterable[torch.Tensor], lr: float, momentum: float = 0.95):
        super().__init__(list(weights), {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure=None) -> None:
        """Update every matrix that has a gradient once."""
        for group in self.param_groups:
            by_shape = defaultdict(list)
            for weight in group["params"]:
                if weight.grad is not None:
                    by_shape[weight.shape].append(weight)
            for shape, weights in by_shape.items():
                updates = orthogonalise(self._momenta(weights, group["momentum"]))
                size = SIZE * max(shape) ** 0.5 * group["lr"]
                torch._foreach_add_(weights, list(updates.unbind()), alpha=-size)

    def _momenta(self, weights: list[torch.Tensor], momentum: float) -> torch.Tensor:
        """Nesterov's momenta: gradients mixed with the updated averages; [n, rows, columns]."""
        momenta = []
        for weight in weights:
            state = self.state[weight]
            if "momentum" not in state:
                state["momentum"] = torch.zeros_like(weight)
            state["momentum"].lerp_(weight.grad, 1 - momentum)
            momenta.append(weight.grad.lerp(state["momentum"], momentum))
        return torch.stack(momenta)


def orthogonalise(matrices: torch.Tensor) -> torch.Tensor:
    """The nearest matrices [n, rows, columns] whose rows or columns are about orthonormal."""
    a, b, c = COEFFICIENTS
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.mT if tall else matrices
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(ROUNDS):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x.mT if tall else x
