"""Local transformers models as a backend of Generate, by greedy decoding (IRCoT §4.1), and Sample.

torch and transformers are imported only when a reply must be computed.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from math import inf
from pathlib import Path

from ircotlib.files.paths import resolve
from ircotlib.generation.batches import count_cores, cut_batches, side_by_side
from ircotlib.generation.folder import (
    CONFIG,
    TOKENIZER,
    count_parameters,
    find_folder,
    hash_files,
    is_encoder_decoder,
    read_limit,
    read_vocabulary,
)
from ircotlib.generation.prefixes import Prefixes
from ircotlib.generation.replies import (
    Asked,
    Written,
    check,
    check_prompt,
    count_rows,
    read_reply,
    write_reply,
)
from ircotlib.generation.tokens import Tokens
from ircotlib.program import LINE, Generate, Sample, Sampled, Stop
from ircotlib.text import SENTENCES, STOP_CHARACTERS, cut, stop_end

# raised when a change here, in decode.py, in draws.py or of sentence_end makes the same model reply
# differently; the second is for models whose sentences end only when the next token is known
DECODER_VERSION, LOOKING_AHEAD = 1, 2
DTYPES = ("float32", "bfloat16", "float16")


def open_model(
    name_or_path: str | Path,
    *,
    device: str | None = None,
    dtype: str = "float32",
    batch_tokens: int = 32_768,
    batch_rows: int = 128,
    kept_tokens: int = 32_768,
    revision: str | None = None,
) -> "LocalModel":
    """Open a T5 or a causal model: a folder written by save_pretrained (also relative to the
    repository), or a name on the Hugging Face hub (downloaded once).

    `device`: None is the GPU if there is one. `dtype`: float32, bfloat16 or float16. `revision`:
    branch, tag or commit on the hub. `batch_tokens`, `batch_rows`: the size of a batch, in prompt
    tokens, padding included, and in prompts; a longer prompt is read alone. The defaults suit small
    models on a CPU. On a GPU, raise both until it is busy, and lower `batch_tokens` if its memory
    runs out. With a small T5 on a CPU, each core answers its own batch. `kept_tokens`: the size of
    a causal model's prefix cache; it takes as much memory as a batch of that many tokens. The
    weights are read at the first request that is not in the call cache. Raises FileNotFoundError if
    there is no such model, and ValueError for an unknown dtype or damaged files.
    """
    if dtype not in DTYPES:
        raise ValueError(f"found dtype {dtype!r}, expected one of {', '.join(DTYPES)}")
    needed = CONFIG, TOKENIZER  # without the second, transformers guesses the tokenizer's class
    folder = find_folder(resolve(str(name_or_path)), revision, needed=needed)
    sizes = batch_tokens, batch_rows, kept_tokens
    return LocalModel(str(name_or_path), folder, device, dtype, *sizes)


class LocalModel:
    """A model on this machine that answers Generate and Sample; `open_model` makes it.

    `name`: as given to `open_model`. `device`, `batch_tokens`, `batch_rows` and `kept_tokens` are
    not part of the fingerprint.
    """

    answers = Generate, Sample

    def __init__(
        self,
        name: str,
        folder: Path,
        device: str | None,
        dtype: str,
        batch_tokens: int,
        batch_rows: int,
        kept_tokens: int,
    ):
        self.name, self.folder, self.device, self.dtype = name, folder, device, dtype
        self.batch_tokens, self.batch_rows = batch_tokens, batch_rows
        self.prefixes = Prefixes(kept_tokens)
        self.is_encoder_decoder = is_encoder_decoder(folder)
        self.tokens = Tokens(folder)
        version = DECODER_VERSION if self.tokens.by_word else LOOKING_AHEAD
        self.fingerprint = hash_files(folder, version, dtype)
        self._counted: dict[bytes, int] = {}  # the lengths of texts, by their hashes
        self._prompts: dict[object, list[int]] = {}  # the tokens of waiting prompts
        # any token may begin with a space, which its text alone need not have
        self._shown = cache(lambda token: frozenset(self.tokens.decode([token]) + " "))

    @cached_property
    def model(self):
        """The model itself, read when first used. Raises ValueError if its weights do not fit."""
        from ircotlib.generation.causal import can_reuse
        from ircotlib.generation.weights import read_model

        model = read_model(self.folder, self.is_encoder_decoder, self.device, self.dtype)
        if not can_reuse(model):
            self.prefixes.limit = 0
        return model

    @cached_property
    def parameters(self) -> int:
        """The number of parameters, counted without reading the weights."""
        return count_parameters(self.folder)

    @cached_property
    def limit(self) -> int | None:
        """The maximum number of tokens that it reads and writes in total; None: no limit (T5)."""
        return read_limit(self.folder)

    @property
    def tokenizer(self):
        """The tokenizer as transformers reads it."""
        return self.tokens.tokenizer

    def count_tokens(self, text: str) -> int:
        """The length of a text in tokens, without the special tokens that the tokenizer adds to a
        prompt.
        """
        content = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
        if content not in self._counted:
            self._counted[content] = len(self.tokens.encode(text, special=False))
        return self._counted[content]

    @cached_property
    def threads(self) -> int:
        """How many batches are answered in parallel: one per core for a small T5 on a CPU, where a
        single batch gains nothing from a second core and batches share no prefix cache.
        """
        from ircotlib.generation.weights import is_small

        return count_cores() if self.is_encoder_decoder and is_small(self.model) else 1

    def take(self, requests: Sequence[Asked]) -> list[int]:
        """The places of the next batches, one batch per thread: the prompts with the fewest tokens
        to read.
        """
        return [place for batch in self._cut(requests)[: self.threads] for place in batch]

    def answer(self, requests: Sequence[Asked]) -> Iterator[tuple[int, str | ValueError]]:
        """Yield the place of each request and its reply as soon as that is complete; all requests
        are of one class.

        A reply is JSON: text, prompt_tokens and tokens (all that were computed, including those
        that ended the text). For a Sample, samples take the place of text: pairs of a text and the
        mean log-probability at temperature 1 of all tokens computed for it. A sample depends only
        on its request and its number. More requests than fit into a batch are answered batch by
        batch. A request that cannot be answered gets a ValueError instead of a reply: its prompt is
        too long for the model, or consists of messages and there is no chat template, or its stop,
        max_tokens, n or temperature makes no sense.
        """
        self.limit  # noqa: B018  an unreadable configuration is raised, as it is no request's fault
        faults = {place: self._fault(request) for place, request in enumerate(requests)}
        yield from ((place, fault) for place, fault in faults.items() if fault)
        waiting = [place for place, fault in faults.items() if not fault]
        while waiting:
            batches = self._cut([requests[place] for place in waiting])[: self.threads]
            batches = [{waiting[at]: requests[waiting[at]] for at in batch} for batch in batches]
            yield from side_by_side(map(self._answer_batch, batches), self.threads)
            waiting = [place for place in waiting if not any(place in batch for batch in batches)]

    def _cut(self, requests: Sequence[Asked]) -> list[list[int]]:
        """The places of requests in batches, those with the fewest tokens to read first. A prompt
        with n samples counts as n rows, and no batch is larger than one thread's share of them.
        """
        lengths = [self._lengths(request) for request in requests]
        counts = [max(1, count_rows(request)) for request in requests]
        rows = min(self.batch_rows, -(-sum(counts) // self.threads))
        order = sorted(range(len(requests)), key=lengths.__getitem__)
        return cut_batches([whole for _, whole in lengths], rows, self.batch_tokens, counts, order)

    def decode(self, reply: str) -> str | tuple[Sampled, ...]:
        """The text of a reply, stripped; for a Sample, its samples in order."""
        return read_reply(reply)

    def _answer_batch(self, batch: dict[int, Asked]) -> Iterator[tuple[int, str]]:
        """Yield the place and the reply of each request in a batch."""
        from ircotlib.generation.decode import decode, most_probable
        from ircotlib.generation.draws import draws_of

        at, requests = list(batch), list(batch.values())
        prompts = [self._encoded(request) for request in requests]
        for request in requests:
            self._prompts.pop(request.prompt, None)
        places = [place for place, one in enumerate(requests) for _ in range(count_rows(one))]
        rows, ended = [requests[place] for place in places], [[] for _ in requests]
        draws = draws_of(requests) if isinstance(requests[0], Sample) else None
        choose = draws or most_probable
        how = self._ends(rows), choose, places, self.prefixes
        for row, tokens in decode(self.model, prompts, *how):
            place, text = places[row], cut(self.tokens.decode(tokens), rows[row].stop)
            mean = draws and draws.log_probabilities[row] / len(tokens)
            ended[place].append((row, Written(text, mean, len(tokens))))
            if len(ended[place]) == count_rows(rows[row]):
                written = [one for _, one in sorted(ended[place])]
                yield at[place], write_reply(rows[row], len(prompts[place]), written)

    def _ends(self, requests: Sequence[Asked]) -> Callable[[int, list[int]], bool]:
        """Whether a row has ended, asked once after each of its tokens."""
        begun, last = set(), {request.stop: _last_characters(request.stop) for request in requests}

        def ends(row: int, written: list[int]) -> bool:
            request = requests[row]
            if written[-1] in self._end_tokens or len(written) >= request.max_tokens:
                return True
            # the text is decoded only after a token that may complete a stop
            if row not in begun and last[request.stop].isdisjoint(self._shown(written[-1])):
                return False
            if request.stop in SENTENCES:  # whose end a later token may decide
                begun.add(row)
            return self._stops(written, request.stop)

        return ends

    def _stops(self, written: list[int], stop: str | tuple[str, ...]) -> bool:
        text = self.tokens.decode(written)
        return stop_end(text, stop, complete=False, by_word=self.tokens.by_word) is not None

    @cached_property
    def _end_tokens(self) -> frozenset[int]:
        end = self.model.generation_config.eos_token_id
        end = self.tokenizer.eos_token_id if end is None else end
        return frozenset(end if isinstance(end, list) else [end])

    def _encoded(self, request: Asked) -> list[int]:
        if request.prompt not in self._prompts:
            self._prompts[request.prompt] = self.tokens.encode_prompt(request.prompt)
        return self._prompts[request.prompt]

    def _lengths(self, request: Asked) -> tuple[int, int]:
        """The number of tokens of a prompt that must still be read, and of all its tokens; zeros if
        the prompt has a fault, which `answer` then reports.
        """
        try:
            prompt = self._encoded(request)
        except ValueError:
            return 0, 0
        return len(prompt) - self.prefixes.known(prompt), len(prompt)

    def _fault(self, request: Asked) -> ValueError | None:
        """The reason why this request cannot be answered, if there is one."""
        try:
            self._check(request)
        except ValueError as fault:
            self._prompts.pop(request.prompt, None)
            return fault

    def _check(self, request: Asked) -> None:
        check(request)
        written = 0 if self.is_encoder_decoder else request.max_tokens
        most = inf if self.limit is None else self.limit - written
        known = read_vocabulary(self.folder)
        check_prompt(self.name, request, self._encoded(request), known, most)


def _last_characters(stop: Stop) -> frozenset[str]:
    """Characters of which the token that completes a stop has one; the replacement character stands
    for a part of any other.
    """
    marks = STOP_CHARACTERS if stop in SENTENCES else "\n" if stop == LINE else stop or ()
    return frozenset(mark[-1] for mark in marks) | {"\ufffd"}
