"""Local transformers models as a backend of Generate, by greedy decoding (IRCoT §4.1),
and Sample. torch and transformers are imported only when a reply must be computed.
"""

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import inf
from pathlib import Path

from tokenizers import Tokenizer

from ircotlib.backends import Replies
from ircotlib.errors import DataError, UserError
from ircotlib.files import need
from ircotlib.models import batches, folders
from ircotlib.models.batches import Request, count_rows
from ircotlib.models.prefixes import Prefixes, name_blocks
from ircotlib.models.thoughts import split_thoughts
from ircotlib.program import Generate, Message, Sample
from ircotlib.text import cut, stop_end

# in a model's own generation_config
FOLLOWED = re.compile("_|output_|use_cache|.*version|(bos|eos|pad|decoder_start)_token")
# raised when a change here, in decode.py or of sentence_end changes replies; the second
# is of models whose sentences end only when the next token is known
DECODER_VERSION, LOOKING_AHEAD = 3, 4
Prompt = str | tuple[Message, ...]
Encoded = tuple[Sequence[int], list[bytes]]  # tokens, and the names of their blocks


class Tokens:
    """A folder's tokenizer. `count`: the length of a text, without special tokens."""

    def __init__(self, folder: Path):
        path = folder / "tokenizer.json"
        if not path.is_file():
            remedy = "save the tokenizer with AutoTokenizer's save_pretrained"
            raise DataError(f"{path}: found no fast tokenizer; {remedy}")
        with folders.naming_file(path, "a tokenizer"):
            self._all = Tokenizer.from_file(str(path))
        # text in a prompt is never a special token
        self._all.encode_special_tokens = True
        self._all.no_truncation()
        self._all.no_padding()
        added = self._all.get_added_tokens_decoder().values()
        self._special = [token.content for token in added if token.special]
        # pieces of prompts are counted again and again
        self.count = lru_cache(1 << 16)(lambda text: len(self.encode(text, False)))

    @cached_property
    def by_word(self) -> bool:
        """Whether no word can follow a full stop directly, as in "Amazon.com"."""
        text = self.decode(self.encode("Amazon.com", special=False))
        return "n.com" not in text.lower()

    def encode(self, text: str, special: bool = True) -> list[int]:
        """The token ids of a text; `special`: with those that the tokenizer adds to a
        prompt. A special token's name in it, such as "</s>", is text like all other.
        """
        names = [name for name in self._special if name in text]
        if not names:
            return self._all.encode(text, add_special_tokens=special).ids
        # a vocabulary such as T5's has the name as a word, too: its first letter is
        # read alone
        pairs = [(re.escape(name[0]), re.escape(name[1:])) for name in names]
        inside = "|".join(rf"(?<={first})(?={others})" for first, others in pairs)
        options = {"is_pretokenized": True, "add_special_tokens": special}
        return self._all.encode(re.split(inside, text), **options).ids

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without special ones."""
        return self._all.decode(tokens, skip_special_tokens=True)


@dataclass(eq=False, kw_only=True)
class LocalModel:
    """A T5 or a causal model on this machine, on its GPU if there is one; one that
    thinks needs a server.

    `name`: as for `find_folder`. `batch_tokens`, `batch_rows`: the size of a batch, in
    prompt tokens, padding included, and in prompts; the defaults suit small models on a
    CPU. `kept_tokens`: the size of a causal model's prefix cache, with the memory of a
    batch of as many tokens. The fingerprint is of files and dtype.
    """

    answers = Generate, Sample
    decode = staticmethod(batches.read_reply)
    name: str = field(kw_only=False)
    dtype: str = "float32"
    batch_tokens: int = 32_768
    batch_rows: int = 128
    kept_tokens: int = 32_768

    def __post_init__(self) -> None:
        self.name = str(self.name)
        self.folder = folders.find_folder(self.name)
        self.is_encoder_decoder = folders.is_encoder_decoder(self.folder)
        self.parameters = folders.count_parameters(self.folder)
        self.prefixes = Prefixes(0 if self.is_encoder_decoder else self.kept_tokens)
        # tokens that it reads and writes in total; a T5 has no limit
        self.limit = inf
        if not self.is_encoder_decoder:
            config = folders.read_json(self.folder, folders.CONFIG)
            limits = config.get("max_position_embeddings"), config.get("n_positions")
            self.limit = next(filter(None, limits), inf)
        own = folders.read_json(self.folder, "generation_config.json")
        self.ignored = {n: v for n, v in own.items() if v and not FOLLOWED.match(n)}
        self.tokens = Tokens(self.folder)
        self.count_tokens = self.tokens.count
        version = DECODER_VERSION if self.tokens.by_word else LOOKING_AHEAD
        self.fingerprint = folders.hash_files(self.folder, version, self.dtype)
        self._waiting: dict[Prompt, Encoded] = {}  # prompts that are not answered yet

    @cached_property
    def model(self):
        """The model itself, read at the first request that is not in the call cache."""
        need("torch", "local")
        from ircotlib.models.weights import read_model

        return read_model(self.folder, self.is_encoder_decoder, self.dtype)

    def take(self, requests: Sequence[Request]) -> list[int]:
        """The indices of the next batch: of the prompts with the least to read."""
        unread = []
        whole = []
        for request in requests:
            tokens, blocks = self._encode(request.prompt)
            whole.append(len(tokens))
            unread.append(len(tokens) - self.prefixes.known(tokens, blocks))
        counts = [count_rows(request) for request in requests]
        order = sorted(range(len(requests)), key=lambda at: (unread[at], whole[at]))
        size = {"rows": self.batch_rows, "tokens": self.batch_tokens}
        return batches.cut_batches(whole, **size, counts=counts, order=order)[0]

    def answer(self, requests: Sequence[Request]) -> Replies:
        """As a Backend. A sample depends only on its request and its number; its
        log-probability is that at temperature 1, of all tokens computed for it.
        """
        model = self.model  # before any other import of torch
        from ircotlib.models.decode import Draws, decode, most_probable

        indices: list[int] = []  # of the requests that can be answered
        prompts: list[Sequence[int]] = []  # their tokens
        for index, request in enumerate(requests):
            try:
                prompts.append(self._check(request))
                indices.append(index)
            except ValueError as fault:
                yield index, fault
            self._waiting.pop(request.prompt, None)
        asked = [requests[index] for index in indices]
        # of each row, one for every text: the place of its request
        sources = [at for at, each in enumerate(asked) for _ in range(count_rows(each))]
        samples = [request for request in asked if isinstance(request, Sample)]
        draws = Draws(samples) if samples else None
        logs = draws.log_probabilities if draws else None

        def ends(row: int, tokens: list[int]) -> bool:
            return self._ends(asked[sources[row]], tokens)

        choose = draws or most_probable
        texts: list[dict[int, list[int] | None]] = [{} for _ in asked]  # by row
        for row, tokens in decode(model, prompts, ends, choose, sources, self.prefixes):
            at = sources[row]
            texts[at][row] = tokens
            if len(texts[at]) == count_rows(asked[at]):
                reply = self._reply(asked[at], len(prompts[at]), texts[at], logs)
                yield indices[at], reply

    def _check(self, request: Request) -> Sequence[int]:
        """The tokens of a prompt. Raises ValueError if it cannot be answered."""
        batches.check(request)
        if not isinstance(request.prompt, str):
            raise UserError("found a chat, expected a text as the prompt; set server")
        tokens, _ = self._encode(request.prompt)
        most = self.limit - request.max_tokens
        if len(tokens) > most:
            raise UserError(
                f"found a prompt of {len(tokens)} tokens, expected at most {most},"
                f" which {self.name} reads before a reply; pack fewer"
            )
        return tokens

    def _encode(self, prompt: Prompt) -> Encoded:
        """A prompt's tokens and blocks, kept while it waits, for many batches."""
        if prompt not in self._waiting:
            tokens = array("i", self.tokens.encode(str(prompt)))  # 4 bytes each
            blocks = name_blocks(tokens) if self.prefixes.limit else []
            self._waiting[prompt] = tokens, blocks
        return self._waiting[prompt]

    def _ends(self, request: Request, tokens: list[int]) -> bool:
        """Whether a text is complete after these tokens."""
        last = self.model.generation_config.eos_token_id  # or several
        is_last = tokens[-1] in last if isinstance(last, list) else tokens[-1] == last
        if is_last or len(tokens) >= request.max_tokens:
            return True
        if request.stop is None:  # saves the decoding
            return False
        text, by_word = self.tokens.decode(tokens), self.tokens.by_word
        end = stop_end(text, request.stop, complete=False, by_word=by_word)
        return end is not None

    def _reply(
        self,
        request: Request,
        prompt_tokens: int,
        rows: dict[int, list[int] | None],
        logs: Sequence[float] | None,
    ) -> str | ValueError:
        """The reply with the tokens of its rows, and the rows' log-probabilities."""
        texts = []
        for row, tokens in sorted(rows.items()):
            if tokens is None:
                return UserError(
                    f"{self.name}: found numbers too large for {self.dtype} after"
                    f" {prompt_tokens} tokens; set dtype to bfloat16 or float32"
                )
            written = cut(self.tokens.decode(tokens), request.stop)
            thoughts, text = split_thoughts(written)
            if thoughts or text is None:
                return UserError(
                    f"{self.name}: wrote thoughts, {written[:80]!r}; set server for it"
                )
            mean = logs[row] / len(tokens) if logs else None
            texts.append((text, mean, len(tokens)))
        return batches.write_reply(request, prompt_tokens, texts)
