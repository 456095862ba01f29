"""Local transformers models as a backend of Generate, decoding greedily (IRCoT §4.1)."""

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from pathlib import Path

import torch
from huggingface_hub import snapshot_download
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer
from transformers.utils.logging import disable_progress_bar

from ircotlib.generation.greedy import decode_greedily
from ircotlib.paths import resolve
from ircotlib.program import LINE, SENTENCE, Generate
from ircotlib.text import first_sentence, sentence_end

# raised when the same model would give another reply: by a change here, in greedy.py or of
# sentence_end
DECODER_VERSION = 1
TEXT_FILES = ("config.json", "generation_config.json", "tokenizer*", "special_tokens_map.json", "added_tokens.json", "vocab*", "merges.txt",
              "*.model")  # fmt: skip
WEIGHT_FILES = ("*.safetensors", "*.safetensors.index.json")
DTYPES = ("float32", "bfloat16", "float16")
# parameters; below, a second thread gains a fifth on an idle machine and loses a half on a busy one
SMALL = 10_000_000
STOP_CHARACTERS = frozenset("\n.!?…")  # no sentence or line ends before one of them


def load(
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
    memory runs out. The weights are read when the first request comes that is not in the cache.
    Raises FileNotFoundError when there is no such model.
    """
    if dtype not in DTYPES:
        raise ValueError(f"found dtype {dtype!r}, expected one of {', '.join(DTYPES)}")
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    return LocalModel(
        str(name_or_path),
        _model_folder(resolve(str(name_or_path)), revision),
        device,
        dtype,
        batch_tokens,
        batch_rows,
    )


class LocalModel:
    """A model on this machine that answers Generate requests; `load` makes it.

    `name`: as it was given to `load`. `device`, `batch_tokens` and `batch_rows` are not part of the
    fingerprint.
    """

    answers = Generate

    def __init__(
        self, name: str, folder: Path, device: str, dtype: str, batch_tokens: int, batch_rows: int
    ):
        self.name, self.folder, self.device, self.dtype = name, folder, device, dtype
        self.batch_tokens, self.batch_rows = batch_tokens, batch_rows
        self.config = AutoConfig.from_pretrained(folder)
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.fingerprint = _fingerprint(folder, dtype)
        self._prompts: dict[str, torch.Tensor] = {}  # the tokens of prompts that wait
        self._may_stop = cache(
            lambda token: not STOP_CHARACTERS.isdisjoint(self.tokenizer.decode([token]))
        )

    @cached_property
    def model(self):
        """The model itself, read when first used."""
        kind = AutoModelForSeq2SeqLM if self.config.is_encoder_decoder else AutoModelForCausalLM
        disable_progress_bar()
        model = (
            kind.from_pretrained(
                self.folder, dtype=getattr(torch, self.dtype), use_safetensors=True
            )
            .to(self.device)
            .eval()
        )
        if self.device == "cpu" and model.num_parameters() < SMALL:
            torch.set_num_threads(1)
        if self.config.model_type == "t5":
            model.get_encoder().set_attn_implementation("padding_column")
        return model

    @cached_property
    def _end_tokens(self) -> frozenset[int]:
        end = self.model.generation_config.eos_token_id
        end = self.tokenizer.eos_token_id if end is None else end
        return frozenset(end if isinstance(end, list) else [end])

    def count_tokens(self, text: str) -> int:
        """The length of a text in tokens, without those that the tokenizer puts before or after a
        prompt.
        """
        return len(self.tokenizer(text, add_special_tokens=False, verbose=False).input_ids)

    def take(self, requests: Sequence[Generate]) -> list[int]:
        """The places of the next batch: the shortest prompts, as many as `batch_rows` and
        `batch_tokens` allow, at least one.
        """
        lengths = [len(self._tokens(request.prompt)) for request in requests]
        taken: list[int] = []
        for place in sorted(range(len(requests)), key=lengths.__getitem__)[: self.batch_rows]:
            if taken and (len(taken) + 1) * lengths[place] > self.batch_tokens:
                break
            taken.append(place)
        return taken

    def answer(self, requests: Sequence[Generate]) -> list[str]:
        """The reply to each request, as JSON: text, prompt_tokens, tokens (all that were computed,
        the one that ended it included).

        More requests than one batch are answered batch by batch. Raises ValueError for a prompt
        longer than the model can read.
        """
        replies, waiting = [""] * len(requests), list(range(len(requests)))
        while waiting:
            batch = [waiting[place] for place in self.take([requests[index] for index in waiting])]
            for index, reply in zip(
                batch, self._answer_batch([requests[index] for index in batch]), strict=True
            ):
                replies[index] = reply
            waiting = sorted(set(waiting) - set(batch))
        return replies

    def decode(self, reply: str) -> str:
        """The text of a reply, stripped."""
        return json.loads(reply)["text"]

    def _answer_batch(self, requests: Sequence[Generate]) -> list[str]:
        prompts = [self._tokens(request.prompt) for request in requests]
        for request, prompt in zip(requests, prompts, strict=True):
            self._check(request, len(prompt))
        written = decode_greedily(self.model, prompts, self._ends(requests))
        for request in requests:
            self._prompts.pop(request.prompt, None)
        return [self._reply(*parts) for parts in zip(requests, prompts, written, strict=True)]

    def _reply(self, request: Generate, prompt: torch.Tensor, written: list[int]) -> str:
        text = self._text(written)
        if request.stop == SENTENCE:
            text = first_sentence(text)
        elif request.stop == LINE:
            text = text.partition("\n")[0]
        return json.dumps(
            {"text": text.strip(), "prompt_tokens": len(prompt), "tokens": len(written)},
            ensure_ascii=False,
        )

    def _ends(self, requests: Sequence[Generate]) -> Callable[[int, list[int]], bool]:
        """Whether a row has ended, asked once after each of its tokens; text is looked at only once
        it holds a stop character.
        """
        may_have_stopped = set()

        def ends(row: int, written: list[int]) -> bool:
            request = requests[row]
            if written[-1] in self._end_tokens or len(written) >= request.max_tokens:
                return True
            if request.stop is not None and self._may_stop(written[-1]):
                may_have_stopped.add(row)
            return row in may_have_stopped and self._has_stopped(request.stop, written)

        return ends

    def _has_stopped(self, stop: str, written: list[int]) -> bool:
        text = self._text(written)
        return "\n" in text if stop == LINE else sentence_end(text, complete=False) is not None

    def _text(self, written: list[int]) -> str:
        return self.tokenizer.decode(written, skip_special_tokens=True)

    def _tokens(self, prompt: str) -> torch.Tensor:
        if prompt not in self._prompts:
            self._prompts[prompt] = torch.tensor(self.tokenizer(prompt, verbose=False).input_ids)
        return self._prompts[prompt]

    def _check(self, request: Generate, length: int) -> None:
        """Positions in a T5 are relative, without a limit; in a causal model the prompt shares its
        limit with what is written.
        """
        if request.stop not in (None, SENTENCE, LINE) or request.max_tokens < 1:
            found = f"stop {request.stop!r} and max_tokens {request.max_tokens}"
            raise ValueError(
                f"found {found}, expected stop {SENTENCE!r}, {LINE!r} or None and at least 1 token"
            )
        limit = getattr(self.config.get_text_config(), "max_position_embeddings", None)
        written = 0 if self.config.is_encoder_decoder else request.max_tokens
        if limit is not None and length + written > limit:
            raise ValueError(
                f"{self.name} reads at most {limit} tokens, found a prompt of {length} and max_tokens {request.max_tokens}; "
                f"pack the prompt into fewer tokens or take another model. The prompt ends: {request.prompt[-200:]!r}"
            )


def _model_folder(name: str, revision: str | None) -> Path:
    folder = Path(name)
    if not folder.is_dir():
        try:
            folder = Path(
                snapshot_download(
                    name, revision=revision, allow_patterns=[*TEXT_FILES, *WEIGHT_FILES]
                )
            )
        except (OSError, ValueError) as error:
            raise FileNotFoundError(
                f"found no folder {name!r}, and the Hugging Face hub gave no model of that name ({error}). Give a folder written by "
                "save_pretrained, or a name on the hub with a network connection for the first use"
            ) from error
    if not (folder / "config.json").is_file() or not any(folder.glob("*.safetensors")):
        raise FileNotFoundError(
            f"{folder}: expected config.json and *.safetensors, found {sorted(path.name for path in folder.iterdir())[:20]}; "
            "write the folder with save_pretrained (of the model, and of the tokenizer)"
        )
    return folder


def _fingerprint(folder: Path, dtype: str) -> str:
    """A hash of the files that decide what the model writes, read whole, and of the dtype."""
    content = hashlib.blake2b(f"{DECODER_VERSION} {dtype}".encode(), digest_size=16)
    for path in sorted(
        {path for pattern in (*TEXT_FILES, *WEIGHT_FILES) for path in folder.glob(pattern)}
    ):
        content.update(f"\n{path.name} {_sha256(path.resolve())}".encode())
    return content.hexdigest()


def _sha256(path: Path) -> str:
    """The SHA-256 of a file; what came from the hub has it as its name, which saves reading
    gigabytes.
    """
    if path.parent.name == "blobs" and len(path.name) == 64:
        return path.name
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
