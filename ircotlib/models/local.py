"""Local transformers models as a backend of Generate, by greedy decoding (IRCoT §4.1),
and Sample. torch and transformers are imported only when a reply must be computed.
"""

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import inf
from pathlib import Path

from tokenizers import Tokenizer

from ircotlib.errors import UserError
from ircotlib.files import need
from ircotlib.models import folders, replies
from ircotlib.models.choices import split_thoughts
from ircotlib.models.prefixes import Prefixes, name_blocks
from ircotlib.models.replies import Request, count_rows
from ircotlib.program import Generate, Sample
from ircotlib.text import cut, stop_end

# of a model's own generation_config
FOLLOWED = re.compile(
    "_|output_|use_cache|.*version|(?:bos|eos|pad|decoder_start)_token_id"
)
# raised when a change here, in decode.py or of sentence_end makes a model reply
# differently; the second is for models whose sentences end only when the next token is
# known
DECODER_VERSION, LOOKING_AHEAD = 3, 4


class Tokens:
    """The tokenizer of a model's folder. `count`: the length of a text, without special
    tokens.
    """

    def __init__(self, folder: Path):
        path = folder / "tokenizer.json"
        with folders.naming_file(path, "a tokenizer"):
            self._all = Tokenizer.from_file(str(path))
        # text in a prompt is never a special token
        self._all.encode_special_tokens = True
        self._all.no_truncation()
        self._all.no_padding()
        added = self._all.get_added_tokens_decoder().items()
        self._special = {id: token.content for id, token in added if token.special}
        # pieces of prompts are counted again and again
        self.count = lru_cache(1 << 16)(
            lambda text: len(self.encode(text, special=False))
        )

    @cached_property
    def by_word(self) -> bool:
        """Whether no word can be written directly after a full stop, as in
        "Amazon.com".
        """
        return (
            "n.com" not in self.decode(self.encode("Amazon.com", special=False)).lower()
        )

    def encode(self, text: str, special: bool = True) -> list[int]:
        """The token ids of a text; `special`: with those that the tokenizer adds to a
        prompt. A special token's name in it, such as "</s>", is text like all other.
        """
        ids = self._all.encode(text, add_special_tokens=special).ids
        added = self._all.encode("", add_special_tokens=special).ids
        if sum(id in self._special for id in ids) > len(added):
            # a vocabulary such as T5's has the name as a word, too: its first letter is
            # read alone
            names = [name for name in self._special.values() if name in text]
            inside = [
                rf"(?<={re.escape(name[0])})(?={re.escape(name[1:])})" for name in names
            ]
            if len(parts := re.split("|".join(inside), text) if names else ()) > 1:
                options = {"is_pretokenized": True, "add_special_tokens": special}
                return self._all.encode(parts, **options).ids
        return ids

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without special ones."""
        return self._all.decode(tokens, skip_special_tokens=True)


@dataclass(eq=False, kw_only=True)
class LocalModel:
    """A T5 or a causal model on this machine; one that thinks before it writes needs a
    server.

    `name`: as for `find_folder`. `device`: None is the GPU if there is one.
    `batch_tokens`, `batch_rows`: the size of a batch, in prompt tokens, padding
    included, and in prompts; the defaults suit small models on a CPU. `kept_tokens`:
    the size of a causal model's prefix cache, with the memory of a batch of as many
    tokens. The fingerprint is of files and dtype.
    """

    answers = Generate, Sample
    decode = staticmethod(replies.read_reply)
    name: str = field(kw_only=False)
    device: str | None = None
    dtype: str = "float32"
    batch_tokens: int = 32_768
    batch_rows: int = 128
    kept_tokens: int = 32_768

    def __post_init__(self):
        self.name = str(self.name)
        self.folder = folders.find_folder(self.name)
        self.is_encoder_decoder = folders.is_encoder_decoder(self.folder)
        self.parameters = folders.count_parameters(self.folder)
        self.prefixes = Prefixes(0 if self.is_encoder_decoder else self.kept_tokens)
        config = (
            {}
            if self.is_encoder_decoder
            else folders.read_json(self.folder, folders.CONFIG)
        )
        # tokens that it reads and writes in total; a T5 has no limit
        self.limit = (
            config.get("max_position_embeddings") or config.get("n_positions") or inf
        )
        own = folders.read_json(self.folder, "generation_config.json")
        self.ignored = {n: v for n, v in own.items() if v and not FOLLOWED.match(n)}
        self.tokens = Tokens(self.folder)
        self.count_tokens = self.tokens.count
        version = DECODER_VERSION if self.tokens.by_word else LOOKING_AHEAD
        self.fingerprint = folders.hash_files(self.folder, version, self.dtype)
        # prompts that wait are asked for often
        self._encode = lru_cache(1024)(self._read)

    @cached_property
    def model(self):
        """The model itself, read at the first request that is not in the call cache."""
        need("torch", "local")
        from ircotlib.models.weights import read_model

        return read_model(self.folder, self.is_encoder_decoder, self.device, self.dtype)

    def take(self, requests: Sequence[Request]) -> list[int]:
        """The indices of the next batch: of the prompts with the fewest tokens to read."""
        # zeros for a prompt with a fault, which `answer` then reports
        unread, whole = [], []
        for request in requests:
            try:
                tokens, blocks = self._encode(request.prompt)
            except ValueError:
                tokens, blocks = [], []
            whole.append(len(tokens))
            unread.append(len(tokens) - self.prefixes.known(tokens, blocks))
        counts = [max(1, count_rows(request)) for request in requests]
        order = sorted(
            range(len(requests)), key=lambda index: (unread[index], whole[index])
        )
        return replies.cut_batches(
            whole, self.batch_rows, self.batch_tokens, counts, order
        )[0]

    def answer(
        self, requests: Sequence[Request]
    ) -> Iterator[tuple[int, str | ValueError]]:
        """Yield the index of each request of a batch (`take`), all of one class, and
        its reply as soon as that is complete.

        A reply is JSON (`write_reply`). A sample depends only on its request and its
        number; its log-probability is that at temperature 1, of all tokens computed for
        it. A request that cannot be answered gets a ValueError instead.
        """
        model = self.model  # before any other import of torch
        from ircotlib.models.decode import Draws, decode, most_probable

        faults = {index: self._fault(request) for index, request in enumerate(requests)}
        yield from ((index, fault) for index, fault in faults.items() if fault)
        if not (sound := [index for index, fault in faults.items() if not fault]):
            return
        prompts = [self._encode(requests[index].prompt)[0] for index in sound]
        # of each row, one for every text: the position of its request among the sound
        # ones
        sources = [
            at
            for at, index in enumerate(sound)
            for _ in range(count_rows(requests[index]))
        ]
        sampled = isinstance(requests[0], Sample)
        draws = Draws([requests[index] for index in sound]) if sampled else None
        last = model.generation_config.eos_token_id
        last = last if isinstance(last, list) else [last]

        def ends(row: int, written: list[int]) -> bool:
            request = requests[sound[sources[row]]]
            if written[-1] in last or len(written) >= request.max_tokens:
                return True
            if request.stop is None:
                return False
            text, by_word = self.tokens.decode(written), self.tokens.by_word
            return (
                stop_end(text, request.stop, complete=False, by_word=by_word)
                is not None
            )

        texts = decode(
            model, prompts, ends, draws or most_probable, sources, self.prefixes
        )
        rows: list[dict[int, tuple | None]] = [{} for _ in sound]  # of each request
        for row, tokens in texts:
            at = sources[row]
            request = requests[sound[at]]
            mean = draws and tokens and draws.log_probabilities[row] / len(tokens)
            text = tokens and cut(self.tokens.decode(tokens), request.stop)
            rows[at][row] = tokens and (text, mean, len(tokens))
            if len(rows[at]) == count_rows(request):
                ordered = [text for _, text in sorted(rows[at].items())]
                yield sound[at], self._reply(request, len(prompts[at]), ordered)

    def _reply(
        self, request: Request, prompt_tokens: int, rows: list
    ) -> str | ValueError:
        if None in rows:
            found = (
                f"found numbers too large for {self.dtype} after {prompt_tokens} tokens"
            )
            return UserError(f"{self.name}: {found}; set dtype to bfloat16 or float32")
        texts = [split_thoughts(text) for text, *_ in rows]
        if any(thoughts or text is None for thoughts, text in texts):
            return UserError(
                f"{self.name}: wrote thoughts, {rows[0][0][:80]!r}; set server for it"
            )
        rows = [
            (text, *rest) for (_, text), (_, *rest) in zip(texts, rows, strict=True)
        ]
        return replies.write_reply(request, prompt_tokens, rows)

    def _read(self, prompt: str | tuple) -> tuple[Sequence[int], list[bytes]]:
        """The tokens of a prompt, and the names of its blocks in the prefix cache."""
        if not isinstance(prompt, str):
            raise UserError(
                f"found a chat of {len(prompt)} messages, expected a text; set server"
            )
        tokens = array("i", self.tokens.encode(prompt))  # 4 bytes each
        return tokens, name_blocks(tokens) if self.prefixes.limit else []

    def _fault(self, request: Request) -> ValueError | None:
        """The reason why this request cannot be answered; None if it can."""
        try:
            replies.check(request)
            tokens = self._encode(request.prompt)[0]
            if not tokens:
                raise UserError("found a prompt without a token, expected at least one")
            if len(tokens) > (most := self.limit - request.max_tokens):
                expected = (
                    f"expected at most {most}, which {self.name} reads before a reply"
                )
                raise UserError(
                    f"found a prompt of {len(tokens)} tokens, {expected}; pack fewer"
                )
        except ValueError as fault:
            return fault
