"""Samples the next token of each row of a batch at a temperature."""

import hashlib
from collections.abc import Sequence

import torch

from ircotlib.program import Sample, key


class Draws:
    """Samples from softmax(logits / temperature), as `decode` chooses, in n rows of each request.

    Each row has its own random numbers, made on the CPU from its request and its number: a draw
    does not depend on the other rows, nor on the device, except for the rounding of logits. That
    rarely changes a draw: each token's logit gets its own random number (the Gumbel-max trick), and
    the token with the largest sum is chosen. `log_probabilities`: for each row, the sum over the
    tokens drawn so far, at temperature 1.
    """

    def __init__(self, requests: Sequence[Sample]):
        self.temperatures, self._random = [], []
        for request in requests:
            for number in range(request.n):
                name = f"{key(request, '')} {number}"
                seed = hashlib.blake2b(name.encode(), digest_size=4).digest()
                self._random.append(torch.Generator().manual_seed(int.from_bytes(seed, "little")))
                self.temperatures.append(request.temperature)
        self.log_probabilities = [0.0] * len(self._random)

    def __call__(self, rows: Sequence[int], logits: torch.Tensor) -> list[int]:
        """The next token of each row; logits: rows x vocabulary."""
        logs = logits.cpu().double().log_softmax(-1)
        made = [torch.rand(logs[0].shape, generator=self._random[row], dtype=logs.dtype)
                for row in rows]  # fmt: skip
        gumbel = -(-torch.stack(made).log()).log()
        temperatures = logs.new_tensor([self.temperatures[row] for row in rows])[:, None]
        # the largest is subtracted first, so that the sum stays finite at any low temperature
        raised = (logs - logs.amax(-1, keepdim=True)) / temperatures + gumbel
        tokens = raised.argmax(-1, keepdim=True)
        for row, log in zip(rows, logs.gather(-1, tokens)[:, 0].tolist(), strict=True):
            self.log_probabilities[row] += log
        return tokens[:, 0].tolist()
