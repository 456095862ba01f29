"""Local transformers models as a backend of Generate, decoding greedily (IRCoT §4.1).

torch and transformers are imported when a reply must be computed, not before.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path

from ircotlib.generation.batches import count_cores, cut_batches, side_by_side
from ircotlib.generation.folder import (
    count_parameters,
    find_folder,
    hash_files,
    is_encoder_decoder,
)
from ircotlib.generation.tokens import Tokens
from ircotlib.paths import resolve
from ircotlib.program import Generate
from ircotlib.text import STOP_CHARACTERS, check_stop, cut, stop_end

# raised when the same model would give another reply: by a change here, in greedy.py or of
# sentence_end; the second is that of models that look at what follows a full stop
DECODER_VERSION, LOOKING_AHEAD = 1, 2
DTYPES = ("float32", "bfloat16", "float16")
# no text has stopped before one of them is written; the last one stands for part of a character
WATCHED = STOP_CHARACTERS | {"\ufffd"}


def open_model(
    name_or_path: str | Path,
    *,
    device: str | None = None,
    dtype: str = "float32",
    batch_tokens: int = 32_768,
    batch_rows: int = 32,
    revision: str | None = None,
) -> "LocalModel":
    """Open a T5 or a causal model: a folder written by save_pretrained (also relative to
    the repository), or a name on the Hugging Face hub (downloaded once).

    `device`: None is the GPU if there is one. `dtype`: float32, bfloat16 or float16. `revision`:
    branch, tag or commit on the hub. `batch_tokens`, `batch_rows`: at most so many prompt tokens,
    padding included, and prompts are read at once; a longer prompt is read alone. The defaults suit
    small models on a CPU; on a GPU raise both until it is busy, and lower `batch_tokens` if its
    memory runs out. A small model on a CPU answers a batch on each core. The weights are read when
    the first request comes that is not in the cache. Raises FileNotFoundError when there is no such
    model.
    """
    if dtype not in DTYPES:
        raise ValueError(f"found dtype {dtype!r}, expected one of {', '.join(DTYPES)}")
    folder = find_folder(resolve(str(name_or_path)), revision)
    return LocalModel(str(name_or_path), folder, device, dtype, batch_tokens, batch_rows)


class LocalModel:
    """A model on this machine that answers Generate requests; `open_model` makes it.

    `name`: as it was given to `open_model`. `device`, `batch_tokens` and `batch_rows` are not part
    of the fingerprint.
    """

    answers = Generate

    def __init__(
        self,
        name: str,
        folder: Path,
        device: str | None,
        dtype: str,
        batch_tokens: int,
        batch_rows: int,
    ):
        self.name, self.folder, self.device, self.dtype = name, folder, device, dtype
        self.batch_tokens, self.batch_rows = batch_tokens, batch_rows
        self.is_encoder_decoder = is_encoder_decoder(folder)
        self.tokens = Tokens(folder)
        version = DECODER_VERSION if self.tokens.by_word else LOOKING_AHEAD
        self.fingerprint = hash_files(folder, version, dtype)
        self._counted: dict[bytes, int] = {}  # the lengths of texts, by their hashes
        self._prompts: dict[object, list[int]] = {}  # the tokens of prompts that wait
        self._may_stop = cache(lambda token: not WATCHED.isdisjoint(self.tokens.decode([token])))

    @cached_property
    def model(self):
        """The model itself, read when first used. Raises ValueError when its weights do not fit."""
        from ircotlib.generation.weights import read_model

        return read_model(self.folder, self.is_encoder_decoder, self.device, self.dtype)

    @cached_property
    def parameters(self) -> int:
        """The number of parameters, counted without reading the weights."""
        return count_parameters(self.folder)

    @property
    def tokenizer(self):
        """The tokenizer as transformers reads it."""
        return self.tokens.tokenizer

    def count_tokens(self, text: str) -> int:
        """The length of a text in tokens, without those that the tokenizer puts before or after a
        prompt.
        """
        content = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
        if content not in self._counted:
            self._counted[content] = len(self.tokens.encode(text, special=False))
        return self._counted[content]

    @cached_property
    def threads(self) -> int:
        """How many batches are answered side by side: one for each core where a single batch gains
        nothing from a second core.
        """
        from ircotlib.generation.weights import is_small

        return count_cores() if is_small(self.model) else 1

    def take(self, requests: Sequence[Generate]) -> list[int]:
        """The places of the next batches, one for each thread: the shortest prompts."""
        return [place for batch in self._cut(requests)[: self.threads] for place in batch]

    def answer(self, requests: Sequence[Generate]) -> Iterator[tuple[int, str | ValueError]]:
        """Yield the place of each request and its reply as soon as that has ended.

        A reply is JSON: text, prompt_tokens, tokens (all that were computed, the ones that ended it
        included). More requests than one batch are answered batch by batch. In place of a reply, a
        request that cannot be answered has a ValueError: its prompt is longer than the model can
        read, or consists of messages and there is no chat template, or its stop makes no sense.
        """
        faults = {place: self._fault(request) for place, request in enumerate(requests)}
        yield from ((place, fault) for place, fault in faults.items() if fault)
        sound = [place for place, fault in faults.items() if not fault]
        batches = self._cut([requests[place] for place in sound])
        batches = [{sound[at]: requests[sound[at]] for at in batch} for batch in batches]
        yield from side_by_side(map(self._answer_batch, batches), self.threads)

    def _cut(self, requests: Sequence[Generate]) -> list[list[int]]:
        """The places of requests in batches; no more to a batch than there are to a thread."""
        rows = min(self.batch_rows, -(-len(requests) // self.threads))
        return cut_batches([self._length(request) for request in requests], rows, self.batch_tokens)

    def decode(self, reply: str) -> str:
        """The text of a reply, stripped."""
        return json.loads(reply)["text"]

    def _answer_batch(self, batch: dict[int, Generate]) -> Iterator[tuple[int, str]]:
        """The replies to one batch, by place."""
        from ircotlib.generation.greedy import decode_greedily

        places, requests = list(batch), list(batch.values())
        prompts = [self._encoded(request) for request in requests]
        for request in requests:
            self._prompts.pop(request.prompt, None)
        for row, written in decode_greedily(self.model, prompts, self._ends(requests)):
            reply = {
                "text": cut(self.tokens.decode(written), requests[row].stop),
                "prompt_tokens": len(prompts[row]),
                "tokens": len(written),
            }
            yield places[row], json.dumps(reply, ensure_ascii=False)

    def _ends(self, requests: Sequence[Generate]) -> Callable[[int, list[int]], bool]:
        """Whether a row has ended, asked once after each of its tokens."""
        looked_at = set()

        def ends(row: int, written: list[int]) -> bool:
            request = requests[row]
            if written[-1] in self._end_tokens or len(written) >= request.max_tokens:
                return True
            # the text is put together only once it may hold a stop
            if isinstance(request.stop, tuple) or (request.stop and self._may_stop(written[-1])):
                looked_at.add(row)
            return row in looked_at and self._stops(written, request.stop)

        return ends

    def _stops(self, written: list[int], stop: str | tuple[str, ...]) -> bool:
        text = self.tokens.decode(written)
        return stop_end(text, stop, complete=False, by_word=self.tokens.by_word) is not None

    @cached_property
    def _end_tokens(self) -> frozenset[int]:
        end = self.model.generation_config.eos_token_id
        end = self.tokenizer.eos_token_id if end is None else end
        return frozenset(end if isinstance(end, list) else [end])

    def _encoded(self, request: Generate) -> list[int]:
        if request.prompt not in self._prompts:
            self._prompts[request.prompt] = self.tokens.encode_prompt(request.prompt)
        return self._prompts[request.prompt]

    def _length(self, request: Generate) -> int:
        """The tokens of a prompt; 0 when it has a fault, which `answer` then says."""
        try:
            return len(self._encoded(request))
        except ValueError:
            return 0

    def _fault(self, request: Generate) -> ValueError | None:
        """What keeps this request from being answered."""
        try:
            self._check(request)
        except ValueError as fault:
            self._prompts.pop(request.prompt, None)
            return fault

    def _check(self, request: Generate) -> None:
        if not isinstance(request, Generate):
            raise TypeError(f"found a {type(request).__name__}, expected a Generate")
        check_stop(request.stop)
        if request.max_tokens < 1:
            raise ValueError(f"found max_tokens {request.max_tokens}, expected at least 1")
        length = len(self._encoded(request))
        written = 0 if self.is_encoder_decoder else request.max_tokens
        if length == 0:
            raise ValueError("found a prompt without a token, expected at least one")
        if self._limit is not None and length + written > self._limit:
            raise ValueError(
                f"{self.name} reads at most {self._limit} tokens, found a prompt of {length} and "
                f"max_tokens {request.max_tokens}; pack the prompt into fewer tokens or take "
                f"another model. The prompt ends: {str(request.prompt)[-200:]!r}"
            )

    @cached_property
    def _limit(self) -> int | None:
        """Positions in a T5 are relative, without a limit; in a causal model the prompt shares its
        limit with what is written.
        """
        from transformers import AutoConfig

        config = AutoConfig.from_pretrained(self.folder).get_text_config()
        return getattr(config, "max_position_embeddings", None)
