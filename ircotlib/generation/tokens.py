"""A model's tokenizer; transformers is imported only if tokenizer.json alone does not define it."""

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from tokenizers import Tokenizer

from ircotlib.errors import DataError
from ircotlib.files.extras import need
from ircotlib.files.models import CONFIG, TOKENIZER, list_files, naming_file, read_json
from ircotlib.generation.config import PLAIN
from ircotlib.program import Message

CLASSES = ("PreTrainedTokenizerFast", "TokenizersBackend")  # one class under its two names
SPECIAL = ("bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token")
HARMLESS = {"backend", "chat_template", "is_local", "local_files_only", "model_max_length",
            "padding_side", "tokenizer_class"}  # fmt: skip


class Tokens:
    """The tokenizer of a model's folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._plain = _read_plain(folder)

    @cached_property
    def tokenizer(self):
        """The tokenizer as transformers reads it, read when first used."""
        need("transformers", "local")
        from transformers import AutoTokenizer

        with naming_file(self.folder, "a tokenizer"):
            tokenizer = AutoTokenizer.from_pretrained(self.folder)
            tokenizer("a")  # missing parts cause an error only now
        return tokenizer

    @cached_property
    def by_word(self) -> bool:
        """Whether no word can be written directly after a full stop, as in "Amazon.com"."""
        return "n.com" not in self.decode(self.encode("Amazon.com", special=False)).lower()

    @cached_property
    def _special(self) -> dict[int, str]:
        """The names of the special tokens."""
        plain = self._plain and self._plain.get_added_tokens_decoder()
        added = (plain or self.tokenizer.added_tokens_decoder).items()
        return {id: token.content for id, token in added if token.special}

    def encode(self, text: str, special: bool = True) -> list[int]:
        """The token ids of a text; `special`: with those that the tokenizer adds to a prompt. A
        special token's name in it, such as "</s>", is text like all other.
        """
        ids, added = self._read([text], special), self._read([""], special)
        if sum(id in self._special for id in ids) > len(added):
            # a vocabulary such as T5's has the name as a word, too: its first letter is read alone
            names = [name for name in self._special.values() if name in text]
            inside = [rf"(?<={re.escape(name[0])})(?={re.escape(name[1:])})" for name in names]
            ids = self._read(re.split("|".join(inside), text), special) if names else ids
        return ids

    def _read(self, parts: list[str], special: bool) -> list[int]:
        text, split = (parts, True) if len(parts) > 1 else (parts[0], False)
        if self._plain is not None:
            return self._plain.encode(text, is_pretokenized=split, add_special_tokens=special).ids
        options = {"is_split_into_words": split, "split_special_tokens": True, "verbose": False}
        return self.tokenizer(text, add_special_tokens=special, **options).input_ids

    def encode_prompt(self, prompt: str | tuple[Message, ...]) -> list[int]:
        """The token ids of a prompt; messages are written with the tokenizer's chat template.
        Raises DataError for messages if there is none, or it refuses them.
        """
        if isinstance(prompt, str):
            return self.encode(prompt)
        if self.tokenizer.chat_template is None:
            reason = f"{self.folder.name}: found {len(prompt)} messages and no chat template"
            raise DataError(f"{reason}, expected one text as the prompt, or another model")
        from jinja2 import TemplateError

        chat = [{"role": message.role, "content": message.text} for message in prompt]
        options = {"add_generation_prompt": True, "return_dict": False}
        try:  # special tokens are those of the template, not of the messages
            return self.tokenizer.apply_chat_template(chat, sanitize_control_tokens=True, **options)
        except TemplateError as error:
            roles = ", ".join(message.role for message in prompt)
            reason = f"{self.folder.name}: found messages of {roles} ({error})"
            raise DataError(f"{reason}, expected some that the chat template accepts") from error

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without special ones."""
        return (self._plain or self.tokenizer).decode(tokens, skip_special_tokens=True)

    def unknown_words(self, text: str) -> list[str]:
        """The words of a text for which the tokenizer has no tokens."""
        if self._plain is not None:
            token = read_json(self.folder, TOKENIZER).get("unk_token")
            unknown = self._plain.token_to_id(token or "")
        else:
            unknown = self.tokenizer.unk_token_id
        words = [word for word in text.split() if unknown in self.encode(word, special=False)]
        return list(dict.fromkeys(word.strip(",.?!:;") for word in words))


def _read_plain(folder: Path) -> Tokenizer | None:
    """The tokenizer of tokenizer.json, if no other file changes it; else None."""
    about = read_json(folder, TOKENIZER)
    if (
        about.get("tokenizer_class") not in CLASSES
        or read_json(folder, CONFIG).get("model_type") not in PLAIN
        or set(about) - HARMLESS - set(SPECIAL)
        or list_files(folder, "special_tokens_map.json", "added_tokens.json")
        or not list_files(folder, "tokenizer.json")
    ):
        return None
    with naming_file(folder / "tokenizer.json", "a tokenizer"):
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.encode("a")  # missing parts cause an error only now
    added = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    if not {str(about[name]) for name in SPECIAL if about.get(name)} <= added:
        return None
    tokenizer.encode_special_tokens = True  # text in a prompt is never a special token
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
