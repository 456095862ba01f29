"""The prefix cache of a causal model, so that no beginning of a prompt is read twice."""

import hashlib
from array import array
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence

BLOCK = 16  # tokens
# The overhead of reading prompts apart, in tokens that could be read in the same time:
PASS = 256  # for one more pass of the model
JOIN = 1 / 8  # for each token of a batch that is then joined from several caches


class Prefixes:
    """The prefix cache: for each block of 16 tokens, identified by its tokens and all before them,
    the model's states, a tensor (tokens x features). Prompts that begin alike share blocks.

    `limit`: how many tokens are kept at most, on the model's device. The least recently used blocks
    are dropped first, the last blocks of a prompt before its first ones.
    """

    def __init__(self, limit: int):
        self.limit = limit
        self.shapes: list[tuple[int, int]] = []  # heads, width: parts of the features
        self._blocks: OrderedDict[bytes, object] = OrderedDict()

    def __len__(self) -> int:
        """How many tokens are kept."""
        return BLOCK * len(self._blocks)

    def known(self, prompt: Sequence[int]) -> int:
        """How many tokens at the beginning of a prompt are in the cache; never all, since the last
        one must be read to get the logits after it.
        """
        names = _names(prompt)
        read = next((at for at, name in enumerate(names) if name not in self._blocks), len(names))
        return min(BLOCK * read, max(0, len(prompt) - 1))

    def find(self, prompt: Sequence[int], tokens: int) -> list:
        """The blocks with the first tokens of a prompt, which must all be known; the last block may
        hold more.
        """
        names = _names(prompt)[: -(-tokens // BLOCK)]
        self._use(names)
        return [self._blocks[name] for name in names]

    def keep(self, prompt: Sequence[int], states: Callable[[int, int], object]) -> None:
        """Keep the states of a prompt. `states(first, last)`: those of tokens `first` to
        `last` - 1.
        """
        names = _names(prompt)
        new = next((at for at, name in enumerate(names) if name not in self._blocks), None)
        if new is None or not self.limit:
            return
        made = states(BLOCK * new, BLOCK * len(names)).split(BLOCK)
        # copies: otherwise a block would keep the memory of all the others
        self._blocks |= {name: one.clone() for name, one in zip(names[new:], made, strict=True)}
        self._use(names)
        while len(self) > self.limit:
            self._blocks.popitem(last=False)

    def common(self, prompts: Sequence[Sequence[int]]) -> list[Sequence[int]]:
        """The beginnings that several of these prompts share, if reading them first saves time."""
        shared = zip(prompts, _shared([row[:-1] for row in prompts]), strict=True)
        new = [(row[:n], n - known) for row, n in shared if n > (known := self.known(row))]
        heads = _longest([head for head, _ in new])
        cost = PASS + sum(len(head) - self.known(head) for head in heads)
        pays = cost < sum(saved for _, saved in new)
        return heads if pays and sum(map(len, heads)) <= self.limit else []

    def groups(self, prompts: Sequence[Sequence[int]]) -> list[list[int]]:
        """The places of prompts in groups, each to be read in one pass. In a pass, as many tokens
        of each prompt are read as the one with the most left needs; prompts are in separate groups
        where this saves more than another pass costs.
        """
        cost = PASS + JOIN * sum(map(len, prompts))
        rest = [len(prompt) - self.known(prompt) for prompt in prompts]
        groups: list[list[int]] = [[]]
        for at in sorted(range(len(prompts)), key=rest.__getitem__):
            last = groups[-1]
            if self.limit and last and len(last) * (rest[at] - rest[last[-1]]) > cost:
                groups.append([])
            groups[-1].append(at)
        return groups

    def _use(self, names: Sequence[bytes]) -> None:
        for name in reversed(names):
            self._blocks.move_to_end(name)


def _names(tokens: Sequence[int]) -> list[bytes]:
    """The names of the full blocks of a text: a hash of all tokens up to the end of each block."""
    content, names = hashlib.blake2b(digest_size=16), []
    words = array("I", tokens)
    for end in range(BLOCK, len(tokens) + 1, BLOCK):
        content.update(words[end - BLOCK : end].tobytes())
        names.append(content.digest())
    return names


def _shared(texts: Sequence[Sequence[int]]) -> list[int]:
    """How many tokens at the beginning of each text another text shares, in full blocks."""
    names = [_names(text) for text in texts]
    asked = Counter(name for row in names for name in row)
    return [BLOCK * sum(asked[name] > 1 for name in row) for row in names]


def _longest(heads: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """The texts, each once, that are not the beginning of another one."""
    named = {names[-1]: head for head in heads if (names := _names(head))}
    inner = {name for head in named.values() for name in _names(head)[:-1]}
    return [head for name, head in named.items() if name not in inner]
