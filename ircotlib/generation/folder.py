"""The folder of a model, and what is known about the model without its weights and torch."""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from math import inf, prod
from pathlib import Path

from ircotlib.data import decode_text, excerpt
from ircotlib.files.checksums import PANIC
from ircotlib.files.paths import resolve

CONFIG, TOKENIZER = "config.json", "tokenizer_config.json"
OBJECTS = (CONFIG, TOKENIZER, "generation_config.json", "special_tokens_map.json")
VOCABULARIES = ("tokenizer.json", "*.model", "vocab*")
TEXT_FILES = (CONFIG, "generation_config.json", "tokenizer*", "special_tokens_map.json",
              "added_tokens.json", "chat_template*", "vocab*", "merges.txt", "*.model")  # fmt: skip
WEIGHT_FILES = ("*.safetensors", "*.safetensors.index.json")
OLDER = (*WEIGHT_FILES, "pytorch_model.bin")  # of encoders on the hub that predate safetensors
# model types for which transformers uses tokenizer.json and "is_encoder_decoder" unchanged
PLAIN = ("gpt2", "gpt_neox", "llama", "t5")
AGAIN = "write or download the folder again"
POINTER = b"version https://git-lfs"
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
BUFFERS = re.compile(r"\.(attn|attention)\.(masked_)?bias$|inv_freq$")  # not parameters


def find_folder(
    name: str,
    revision: str | None = None,
    weights: Sequence[str] = WEIGHT_FILES,
    needed: Sequence[str] = (CONFIG,),
) -> Path:
    """The folder of this name, or the folder into which the model of this name is downloaded from
    the Hugging Face hub. `weights`: possible names of its weight files. `needed`: the files that
    must be there in addition to weights and a vocabulary.

    Raises FileNotFoundError if there is no such model or one of these files is missing, and
    ValueError if one of them is cut off or damaged, as far as can be seen without torch.
    """
    folder = Path(name) if Path(name).is_dir() else _download(name, revision, weights)
    named = [one for one in weights if not one.endswith(".json")]
    expected = {name: (name,) for name in needed} | {" or ".join(named): named}
    # only the tokenizer that splits a text into bytes has no vocabulary
    if "ByT5" not in str(read_json(folder, TOKENIZER).get("tokenizer_class")):
        expected["a vocabulary (tokenizer.json, *.model or vocab*)"] = VOCABULARIES
    if not all(any(files(folder, *patterns)) for patterns in expected.values()):
        raise FileNotFoundError(
            f"{folder}: found {[path.name for path in files(folder, '*')][:20]}, expected "
            f"{', '.join(expected)}; write the folder with save_pretrained, of the model and of "
            "the tokenizer"
        )
    for name in OBJECTS:
        read_json(folder, name)
    for path in files(folder, "*.safetensors"):
        _read_header(path)
    return folder


def is_hub_name(name: str) -> bool:
    """Whether this is the form of a name on the Hugging Face hub, and no such folder exists."""
    return bool(HUB_NAME.fullmatch(name)) and not Path(resolve(name)).is_dir()


def read_json(folder: Path, name: str) -> dict:
    """The object in a JSON file of the folder; {} if there is no such file. Raises ValueError, in
    one line, if it is damaged.
    """
    if not (path := folder / name).is_file():
        return {}
    try:
        found = json.loads(decode_text(path.read_bytes()))
    except (ValueError, RecursionError) as error:
        reason = f"found no JSON ({error})"
        raise ValueError(f"{path}: {reason}, expected a JSON object; {AGAIN}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path}: found {excerpt(found)}, expected a JSON object; {AGAIN}")
    return found


@contextmanager
def told(path: Path, what: str) -> Iterator[None]:
    """Raise errors of transformers, or of a library that it uses, as a ValueError of one line that
    names the file: they may have any class and many lines, and do not name it. Lack of memory is
    raised as it is.
    """
    try:
        yield
    except BaseException as error:
        if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
            raise
        if not isinstance(error, Exception) and type(error).__name__ != PANIC:
            raise
        found = f"{path}: found {what} that cannot be read ({' '.join(str(error).split()):.200})"
        raise ValueError(f"{found}, expected one that transformers reads; {AGAIN}") from error


def files(folder: Path, *patterns: str) -> list[Path]:
    """The files whose names match one of the patterns, sorted by name."""
    return sorted({path for pattern in patterns for path in folder.glob(pattern)})


def hash_files(
    folder: Path, version: int, dtype: str, weights: Sequence[str] = WEIGHT_FILES
) -> str:
    """A hash of all files that affect what the model writes, of the decoder's version and of the
    dtype.
    """
    content = hashlib.blake2b(f"{version} {dtype}".encode(), digest_size=16)
    for path in files(folder, *TEXT_FILES, *weights):
        content.update(f"\n{path.name} {_sha256(path.resolve())}".encode())
    return content.hexdigest()


def is_encoder_decoder(folder: Path) -> bool:
    """Whether a model reads its prompt with an encoder, as T5 does."""
    config = read_json(folder, CONFIG)
    if "is_encoder_decoder" in config:
        return config["is_encoder_decoder"]
    if config.get("model_type") in PLAIN:
        return config["model_type"] == "t5"
    return _read_config(folder).is_encoder_decoder


def count_parameters(folder: Path) -> int:
    """The number of parameters, from the headers of the weight files; tied ones count once."""
    shapes = {}
    for path in files(folder, "*.safetensors"):
        shapes |= _read_header(path)
    tied = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"}
    tied = tied if "shared.weight" in shapes else set()
    if read_json(folder, CONFIG).get("tie_word_embeddings"):
        tied |= {"lm_head.weight", "embed_out.weight"}
    return sum(
        prod(shape)
        for name, shape in shapes.items()
        if name not in tied and not BUFFERS.search(name)
    )


def _read_header(path: Path) -> dict[str, list[int]]:
    """The shapes of the tensors in a safetensors file, by name. Raises ValueError, in one line, if
    the file is cut off or damaged.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        length = int.from_bytes(start, "little")
        content = file.read(length) if length < size else start + file.read(len(POINTER))
    try:
        header = json.loads(content)
        tensors = {name: about for name, about in header.items() if name != "__metadata__"}
        expected = 8 + length + max(about["data_offsets"][1] for about in tensors.values())
        shapes = {name: about["shape"] for name, about in tensors.items()}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        found = "a pointer of git-lfs" if content.startswith(POINTER) else "no header"
        raise ValueError(f"{path}: found {found}, expected safetensors; {AGAIN}") from None
    if size != expected:
        raise ValueError(f"{path}: found {size:,} bytes, expected {expected:,}; {AGAIN}")
    return shapes


def _download(name: str, revision: str | None, weights: Sequence[str]) -> Path:
    from huggingface_hub import snapshot_download

    patterns = [*TEXT_FILES, *weights]
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=patterns))
    except (OSError, ValueError) as error:
        raise FileNotFoundError(
            f"found no folder {name!r}, and the Hugging Face hub gave no model of that name "
            f"({error}). Give a folder written by save_pretrained, or a name on the hub with a "
            "network connection for the first use"
        ) from error


def _sha256(path: Path) -> str:
    """The SHA-256 of a file. A file from the hub has it as its name, which saves reading
    gigabytes.
    """
    if path.parent.name == "blobs" and len(path.name) == 64:
        return path.name
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_limit(folder: Path) -> int | None:
    """The maximum number of tokens that a causal model reads and writes in total; None: no limit,
    as in a T5, whose positions are relative.
    """
    return getattr(_read_config(folder).get_text_config(), "max_position_embeddings", None)


@cache
def read_vocabulary(folder: Path) -> float:
    """The size of a model's vocabulary according to config.json; infinite if it does not say."""
    return read_json(folder, CONFIG).get("vocab_size", inf)


def _read_config(folder: Path):
    """The configuration as transformers reads it."""
    from transformers import AutoConfig

    with told(folder / CONFIG, "a configuration"):
        return AutoConfig.from_pretrained(folder)
