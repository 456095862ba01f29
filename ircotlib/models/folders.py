"""Models' folders: found, downloaded, hashed and described without torch."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path

from ircotlib.errors import DataError
from ircotlib.files import resolve
from ircotlib.text import plain

CONFIG = "config.json"
ADAPTER = "adapter_config.json"  # ignored, or not, as the package peft is there
TEXT_FILES = (
    CONFIG, ADAPTER, "generation_config.json", "tokenizer*", "special_tokens_map.json",
    "added_tokens.json", "chat_template*", "vocab*", "merges.txt", "*.model",
)  # fmt: skip
WEIGHT_FILES = ("*.safetensors", "*.safetensors.index.json")
REMEDY = "write or download the folder again"
# parameters; in smaller models, a second core makes a batch a fifth faster on an idle
# machine, and halves its speed on a busy one
SMALL = 10_000_000


def find_folder(
    name: str | Path, *, weights=WEIGHT_FILES, texts=TEXT_FILES, here: bool = False
) -> Path:
    """The folder of this name, or that into which the Hugging Face hub's model of this
    name is downloaded; `here`: was downloaded. `weights`, `texts`: patterns of its
    files. Raises FileNotFoundError, and DataError for an adapter.
    """
    folder = Path(resolve(str(name)))
    if not folder.is_dir():
        from huggingface_hub import snapshot_download

        try:
            path = snapshot_download(
                str(name),
                local_files_only=here,
                allow_patterns=[*texts, *weights],
            )
        except (OSError, ValueError) as error:
            raise FileNotFoundError(
                f"found no folder {str(name)!r}, and the Hugging Face hub gave no model"
                f" ({plain(str(error))})"
            ) from error
        folder = Path(path)
    if (folder / ADAPTER).is_file():
        raise DataError(f"{folder}: found an adapter; merge the adapter into the model")
    if not (folder / CONFIG).is_file():
        raise FileNotFoundError(
            f"{folder}: found no {CONFIG}; write the folder with save_pretrained, of"
            " the model and of the tokenizer"
        )
    return folder


def find_config(name: str) -> Path | None:
    """The folder of a config.json, all that is downloaded; None: there is none."""
    try:
        return find_folder(name, weights=(), texts=(CONFIG,))
    except FileNotFoundError:
        return None


def is_encoder_decoder(folder: Path) -> bool:
    """Whether a model reads its prompt with an encoder, as T5 does."""
    return read_json(folder, CONFIG).get("is_encoder_decoder", False)


def count_parameters(folder: Path) -> int:
    """The number of parameters, from the headers of the weight files."""
    from safetensors import safe_open

    count = 0
    for path in list_files(folder, "*.safetensors"):
        with naming_file(path, "safetensors"), safe_open(path, "numpy") as tensors:
            for name in tensors.keys():
                count += prod(tensors.get_slice(name).get_shape())
    return count


def list_files(folder: Path, *patterns: str) -> list[Path]:
    """The files whose names match one of the patterns, sorted by name."""
    paths = {path for pattern in patterns for path in folder.glob(pattern)}
    return sorted(path for path in paths if path.is_file())


def hash_files(folder: Path, version: int, dtype: str, weights=WEIGHT_FILES) -> str:
    """A hash of what decides a model's text: files, the decoder's version and dtype."""
    content = hashlib.blake2b(f"{version} {dtype}".encode(), digest_size=16)
    for path in list_files(folder, *TEXT_FILES, *weights):
        content.update(f"\n{path.name} {hash_file(path)}".encode())
    return content.hexdigest()


def hash_file(path: Path) -> str:
    """The SHA-256 of a file."""
    blob = path.resolve()
    # one from the hub has it as its name, which saves reading gigabytes
    if blob.parent.name == "blobs" and len(blob.name) == 64:
        return blob.name
    with blob.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_json(folder: Path, name: str) -> dict:
    """The object in a JSON file of a folder; {} without it. Raises DataError."""
    path = folder / name
    if not path.is_file():
        return {}
    with naming_file(path, "a JSON object"):
        return dict(json.loads(path.read_bytes()))


@contextmanager
def naming_file(path: Path, content: str) -> Iterator[None]:
    """Raise a library's error as a DataError that names the file."""
    try:
        yield
    except Exception as error:
        # lack of memory is no fault of the file
        if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
            raise
        raise DataError(
            f"{path}: cannot be read as {content} ({plain(str(error))}); {REMEDY}"
        ) from error
