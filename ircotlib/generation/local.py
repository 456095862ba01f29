"""Local transformers models as a backend of Generate, by greedy decoding (IRCoT §4.1), and Sample.
torch and transformers are imported only when a reply must be computed.
"""

import hashlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

from ircotlib.errors import UserError
from ircotlib.files import models
from ircotlib.files.extras import need
from ircotlib.files.processes import count_cores
from ircotlib.generation import replies
from ircotlib.generation.batches import cut_batches, side_by_side
from ircotlib.generation.config import count_parameters, is_encoder_decoder, read_config
from ircotlib.generation.endings import Endings
from ircotlib.generation.prefixes import Prefixes, name_blocks
from ircotlib.generation.replies import Request, count_rows
from ircotlib.generation.thoughts import THINKING_TOKENS
from ircotlib.generation.tokens import Tokens
from ircotlib.program import Generate, Sample

# raised when a change here, in decode.py, in sampling.py or of sentence_end makes the same model
# reply differently; the second is for models whose sentences end only when the next token is known
DECODER_VERSION, LOOKING_AHEAD = 3, 4
DTYPES = ("float32", "bfloat16", "float16")


@dataclass(slots=True)
class Waiting:
    """A waiting prompt: its tokens, and the names of their blocks in the prefix cache, once they
    were asked for.
    """

    tokens: array  # 4 bytes each: all that wait are kept
    blocks: list[bytes] | None = None


@dataclass(eq=False, kw_only=True)
class LocalModel:
    """A T5 or a causal model on this machine, a backend of Generate and Sample.

    `name`: a folder written by save_pretrained (also relative to the repository), or a name on the
    Hugging Face hub (downloaded once). `dtype`: one of DTYPES. `device`: None is the GPU if there
    is one. `batch_tokens`, `batch_rows`: the size of a batch, in prompt tokens, padding included,
    and in prompts; a longer prompt is read alone. The defaults suit small models on a CPU. On a
    GPU, raise both until it is busy, and lower `batch_tokens` if its memory runs out.
    `kept_tokens`: the size of a causal model's prefix cache; it takes as much memory as a batch of
    that many tokens. `thinking_tokens`: for the thoughts of a model that thinks, beyond max_tokens.

    The fingerprint depends on the files and the dtype only. The weights are read at the first
    request that is not in the call cache. Raises FileNotFoundError if there is no such model, and
    ValueError for an unknown dtype or damaged files.
    """

    answers = Generate, Sample
    decode = staticmethod(replies.read_reply)
    name: str = field(kw_only=False)
    device: str | None = None
    dtype: str = "float32"
    batch_tokens: int = 32_768
    batch_rows: int = 128
    kept_tokens: int = 32_768
    thinking_tokens: int = THINKING_TOKENS

    def __post_init__(self):
        self.name = str(self.name)
        if self.dtype not in DTYPES:
            raise UserError(f"found dtype {self.dtype!r}, expected one of {', '.join(DTYPES)}")
        # without the second, transformers guesses the tokenizer's class
        needed = models.CONFIG, models.TOKENIZER
        self.folder = models.find_folder(self.name, needed=needed)
        models.check_kind(self.folder, models.T5, models.CAUSAL)
        self.prefixes = Prefixes(self.kept_tokens)
        self.is_encoder_decoder = is_encoder_decoder(self.folder)
        self.tokens = Tokens(self.folder)
        version = DECODER_VERSION if self.tokens.by_word else LOOKING_AHEAD
        self.fingerprint = models.hash_files(self.folder, version, self.dtype)
        self._vocabulary = models.read_json(self.folder, models.CONFIG).get("vocab_size", inf)
        self._lengths: dict[bytes, int] = {}  # in tokens, of texts, by their hashes
        self._waiting: dict[object, Waiting] = {}  # by prompt

    @cached_property
    def model(self):
        """The model itself, read when first used. Raises UserError if its weights do not fit, and
        Unavailable without the extra `local`.
        """
        need("torch", "local")
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
        config = read_config(self.folder).get_text_config()
        return getattr(config, "max_position_embeddings", None)

    @property
    def tokenizer(self):
        """The tokenizer as transformers reads it."""
        return self.tokens.tokenizer

    def count_tokens(self, text: str) -> int:
        """The length of a text in tokens, without special tokens."""
        content = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
        if content not in self._lengths:
            self._lengths[content] = len(self.tokens.encode(text, special=False))
        return self._lengths[content]

    @cached_property
    def threads(self) -> int:
        """How many batches are answered in parallel: one per core for a small T5 on a CPU, where a
        second core speeds up no single batch, and no prefix cache is shared.
        """
        model = self.model  # before any other import of torch
        from ircotlib.generation.weights import is_small

        return count_cores() if self.is_encoder_decoder and is_small(model) else 1

    def take(self, requests: Sequence[Request]) -> list[int]:
        """The indices of the next batches, one per thread, of the prompts with least to read."""
        return [index for batch in self._cut(requests)[: self.threads] for index in batch]

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, str | ValueError]]:
        """Yield the index of each request and its reply as soon as that is complete; all requests
        are of one class.

        A reply is JSON (`write_reply`). A sample depends only on its request and its number; its
        log-probability is that at temperature 1, of all tokens computed for it after its thoughts.
        A request that cannot be answered gets a ValueError instead: its prompt is too long, or
        consists of messages and there is no chat template, its stop, max_tokens, n or temperature
        makes no sense, the model only thinks, or its numbers are too large for its dtype.
        """
        self.limit  # noqa: B018  an unreadable configuration is raised, as it is no request's fault
        faults = {index: self._fault(request) for index, request in enumerate(requests)}
        yield from ((index, fault) for index, fault in faults.items() if fault)
        waiting = [index for index, fault in faults.items() if not fault]
        while waiting:
            batches = self._cut([requests[index] for index in waiting])[: self.threads]
            batches = [{waiting[at]: requests[waiting[at]] for at in batch} for batch in batches]
            yield from side_by_side(map(self._answer_batch, batches), self.threads)
            waiting = [index for index in waiting if not any(index in batch for batch in batches)]

    def _cut(self, requests: Sequence[Request]) -> list[list[int]]:
        """The indices of requests in batches, those with the fewest tokens to read first. A prompt
        with n samples counts as n rows, and no batch is larger than one thread's share of them.
        """
        unread, whole = [], []  # zeros for a prompt with a fault, which `answer` then reports
        for request in requests:
            try:
                prompt = self._encode(request)
            except ValueError:
                prompt = []
            whole.append(len(prompt))
            unread.append(len(prompt) - self._known(request.prompt))
        counts = [max(1, count_rows(request)) for request in requests]
        rows = min(self.batch_rows, -(-sum(counts) // self.threads))
        order = sorted(range(len(requests)), key=lambda index: (unread[index], whole[index]))
        return cut_batches(whole, rows, self.batch_tokens, counts, order)

    def _answer_batch(self, batch: dict[int, Request]) -> Iterator[tuple[int, str | ValueError]]:
        model = self.model  # before any other import of torch
        from ircotlib.generation.decode import decode, most_probable
        from ircotlib.generation.sampling import Draws

        indices, requests = list(batch), list(batch.values())
        prompts = [list(self._encode(request)) for request in requests]
        for request in requests:
            self._waiting.pop(request.prompt, None)
        # of each row, one for every text: the position of its request
        sources = [at for at, request in enumerate(requests) for _ in range(count_rows(request))]
        draws = Draws(requests) if isinstance(requests[0], Sample) else None
        ends = self._ends([(requests[at], prompts[at]) for at in sources], draws)
        texts = decode(model, prompts, ends, draws or most_probable, sources, self.prefixes)
        written: list[dict[int, tuple | None]] = [{} for _ in requests]  # by row
        for row, tokens in texts:
            at = sources[row]
            written[at][row] = tokens and ends.read(row, tokens)
            if len(written[at]) == count_rows(requests[at]):
                rows = [text for _, text in sorted(written[at].items())]
                yield indices[at], self._reply(requests[at], len(prompts[at]), rows)

    def _reply(self, request: Request, prompt_tokens: int, texts: list) -> str | ValueError:
        if None in texts:
            reason = f"{self.name}: found numbers too large for {self.dtype} after a prompt"
            advice = "set another dtype, such as bfloat16 or float32"
            return UserError(f"{reason} of {prompt_tokens} tokens; {advice}")
        if any(text is not None for text, *_ in texts):
            return replies.write_reply(request, prompt_tokens, texts)
        found = f"{self.name}: found {texts[0][2]} tokens of thoughts, expected a text after them"
        remedy = "set thinking_tokens to more, and context_tokens to less if its window is full"
        return UserError(f"{found}; {remedy}")

    def _ends(self, rows: Sequence[tuple[Request, list[int]]], draws=None) -> Endings:
        """Where the texts of rows, which are requests and their prompts, end."""
        last = self.model.generation_config.eos_token_id
        last = self.tokenizer.eos_token_id if last is None else last
        last = last if isinstance(last, list) else [last]
        limit = inf if self.is_encoder_decoder else self.limit or inf
        return Endings(self.tokens, rows, last, self.thinking_tokens, limit, draws)

    def _encode(self, request: Request) -> Sequence[int]:
        if request.prompt not in self._waiting:
            tokens = array("i", self.tokens.encode_prompt(request.prompt))
            self._waiting[request.prompt] = Waiting(tokens)
        return self._waiting[request.prompt].tokens

    def _known(self, prompt: object) -> int:
        """How many of a prompt's first tokens are in the prefix cache; 0 for one with a fault."""
        waiting = self._waiting.get(prompt)
        if waiting is None or self.is_encoder_decoder or not self.prefixes.limit:
            return 0
        waiting.blocks = name_blocks(waiting.tokens) if waiting.blocks is None else waiting.blocks
        return self.prefixes.known(waiting.tokens, waiting.blocks)

    def _fault(self, request: Request) -> ValueError | None:
        """The reason why this request cannot be answered; None if it can."""
        try:
            replies.check(request)
            tokens, written = self._encode(request), request.max_tokens
            if not tokens:
                raise UserError("found a prompt without a token, expected at least one")
            if (largest := max(tokens)) >= self._vocabulary:
                reason = f"{self.name}: found the token {largest}, expected one below"
                raise UserError(f"{reason} {self._vocabulary}: is the tokenizer of another model?")
            most = (self.limit or inf) - (0 if self.is_encoder_decoder else written)
            if len(tokens) > most:
                reason = f"found a prompt of {len(tokens)} tokens with max_tokens {written}"
                expected = f"expected at most {most} tokens, which {self.name} reads before a reply"
                end = f"pack fewer; the prompt ends: {str(request.prompt)[-200:]!r}"
                raise UserError(f"{reason}, {expected}; {end}")
        except ValueError as fault:
            self._waiting.pop(request.prompt, None)
            return fault
