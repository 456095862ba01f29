"""A model's tokenizer, as tokenizer.json defines it: transformers need not be imported."""

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path

from tokenizers import Tokenizer

from ircotlib.models.folders import naming_file


class Tokens:
    """The tokenizer of a model's folder. `count`: the length of a text, without special tokens."""

    def __init__(self, folder: Path):
        path = folder / "tokenizer.json"
        with naming_file(path, "a tokenizer"):
            self._all = Tokenizer.from_file(str(path))
            self._all.encode("a")  # missing parts cause an error only now
        self._all.encode_special_tokens = True  # text in a prompt is never a special token
        self._all.no_truncation()
        self._all.no_padding()
        added = self._all.get_added_tokens_decoder().items()
        self._special = {id: token.content for id, token in added if token.special}
        # pieces of prompts are counted again and again
        self.count = lru_cache(1 << 16)(lambda text: len(self.encode(text, special=False)))

    @cached_property
    def by_word(self) -> bool:
        """Whether no word can be written directly after a full stop, as in "Amazon.com"."""
        return "n.com" not in self.decode(self.encode("Amazon.com", special=False)).lower()

    def encode(self, text: str, special: bool = True) -> list[int]:
        """The token ids of a text; `special`: with those that the tokenizer adds to a prompt. A
        special token's name in it, such as "</s>", is text like all other.
        """
        ids = self._all.encode(text, add_special_tokens=special).ids
        added = self._all.encode("", add_special_tokens=special).ids
        if sum(id in self._special for id in ids) > len(added):
            # a vocabulary such as T5's has the name as a word, too: its first letter is read alone
            names = [name for name in self._special.values() if name in text]
            inside = [rf"(?<={re.escape(name[0])})(?={re.escape(name[1:])})" for name in names]
            if len(parts := re.split("|".join(inside), text) if names else ()) > 1:
                options = {"is_pretokenized": True, "add_special_tokens": special}
                return self._all.encode(parts, **options).ids
        return ids

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without special ones."""
        return self._all.decode(tokens, skip_special_tokens=True)
