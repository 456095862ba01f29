"""The prefix cache of a causal model, so that no beginning of a prompt is read twice.

Without it, IRCoT takes 1.5 times as long (bench/batching.py).
"""

import hashlib
from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # seconds, and not needed for replies that are in the call cache
    from torch import Tensor

BLOCK = 16  # tokens


class Prefixes:
    """The prefix cache: for each block of 16 tokens, identified by its tokens and all
    before them, the model's states, (tokens, features). Prompts that begin alike share
    blocks.

    `limit`: in tokens, on the model's device. The least recently used blocks are
    dropped first, the last blocks of a prompt before its first ones.
    """

    def __init__(self, limit: int):
        self.limit = limit
        self.shapes: list[tuple[int, int]] = []  # heads, width: parts of the features
        self._blocks: OrderedDict[bytes, Tensor] = OrderedDict()

    def __len__(self) -> int:
        """How many tokens are kept."""
        return BLOCK * len(self._blocks)

    def known(self, prompt: Sequence[int], names: Sequence[bytes] | None = None) -> int:
        """How many of a prompt's first tokens are in the cache; never all, since the
        last one must be read. `names`: of its blocks, if they are known already.
        """
        names = name_blocks(prompt) if names is None else names
        return min(BLOCK * self._count_known(names), max(0, len(prompt) - 1))

    def find(self, prompt: Sequence[int], tokens: int) -> "list[Tensor]":
        """The blocks with a prompt's first tokens; the last block may hold more."""
        count = -(-tokens // BLOCK)  # rounded up: part of a block needs it whole
        names = name_blocks(prompt)[:count]
        self._use(names)
        return [self._blocks[name] for name in names]

    def keep(
        self, prompt: Sequence[int], states: "Callable[[int, int], Tensor]"
    ) -> None:
        """Keep a prompt's states; `states(first, last)`: of tokens before `last`."""
        names = name_blocks(prompt)
        known = self._count_known(names)
        if known == len(names) or not self.limit:
            return
        new = states(BLOCK * known, BLOCK * len(names))
        for name, block in zip(names[known:], new.split(BLOCK), strict=True):
            # a copy: a part of `new` would keep the memory of all of it
            self._blocks[name] = block.clone()
        self._use(names)
        while len(self) > self.limit:
            self._blocks.popitem(last=False)

    def _count_known(self, names: Sequence[bytes]) -> int:
        # none is kept without those before it, which are dropped later
        return bisect_left(names, True, key=lambda name: name not in self._blocks)

    def _use(self, names: Sequence[bytes]) -> None:
        for name in reversed(names):  # the first block last, so that it is dropped last
            self._blocks.move_to_end(name)


def name_blocks(tokens: Sequence[int]) -> list[bytes]:
    """The names of a text's full blocks: each a hash of all tokens up to its end."""
    content = hashlib.blake2b(digest_size=16)
    names = []
    words = array("I", tokens)  # 4 bytes a token
    for end in range(BLOCK, len(tokens) + 1, BLOCK):
        content.update(words[end - BLOCK : end].tobytes())  # after the blocks before
        names.append(content.digest())
    return names
