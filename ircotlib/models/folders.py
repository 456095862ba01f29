"""The folders of models, for all that read one: found, downloaded, checked and hashed without torch
and transformers."""

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ircotlib.errors import DataError
from ircotlib.files import resolve
from ircotlib.text import plain

CONFIG, TOKENIZER = "config.json", "tokenizer_config.json"
VOCABULARIES = ("tokenizer.json", "*.model", "vocab*")
TEXT_FILES = (CONFIG, "generation_config.json", "tokenizer*", "special_tokens_map.json",
              "added_tokens.json", "chat_template*", "vocab*", "merges.txt", "*.model")  # fmt: skip
WEIGHT_FILES = ("*.safetensors", "*.safetensors.index.json")
OLDER = (*WEIGHT_FILES, "pytorch_model.bin")  # of encoders on the hub that predate safetensors
OTHER_PROGRAMS = ("onnx", "openvino")  # folders on the hub with the same model for these
REMEDY = "write or download the folder again"
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
PANIC = "PanicException"  # raised by pyo3, which does not export it: no subclass of Exception

# what a model is: how the class that config.json names ends -> its kind
T5, CAUSAL = "an encoder-decoder language model", "a causal language model"
READER, CROSS_ENCODER, ENCODER = "a DPR reader", "a cross-encoder", "an encoder"
KINDS = {"DPRReader": READER, "ForConditionalGeneration": T5, "ForCausalLM": CAUSAL}
KINDS |= {"LMHeadModel": CAUSAL, "ForSequenceClassification": CROSS_ENCODER}
KINDS |= {"ForMaskedLM": ENCODER, "Model": ENCODER, "ColBERT": ENCODER}


def find_folder(
    name: str | Path, *, weights=WEIGHT_FILES, texts=TEXT_FILES, needed=(CONFIG,)
) -> Path:
    """The folder of this name, also relative to the repository, or the folder into which the model
    of this name is downloaded from the Hugging Face hub. `weights`, `texts`: patterns of the names
    of its files. `needed`: files that must be there in addition to weights and a vocabulary.
    """
    folder = Path(resolve(str(name)))
    if not folder.is_dir():
        folder = _download(str(name), [*texts, *weights])
    wanted = [[each] for each in needed]
    wanted.append([pattern for pattern in weights if not pattern.endswith(".json")])
    # only the tokenizer that splits a text into bytes has no vocabulary
    if "ByT5" not in str(read_json(folder, TOKENIZER).get("tokenizer_class")):
        wanted.append(VOCABULARIES)
    for patterns in wanted:
        if not list_files(folder, *patterns):
            remedy = "write the folder with save_pretrained, of the model and of the tokenizer"
            raise FileNotFoundError(f"{folder}: found no {' or '.join(patterns)}; {remedy}")
    return folder


def find_config(name: str) -> Path | None:
    """The folder of a model's config.json, which is all that is downloaded of one on the Hugging
    Face hub; None if it cannot be had.
    """
    from huggingface_hub import hf_hub_download

    folder = Path(resolve(name))
    if folder.is_dir():
        return folder
    try:
        return Path(hf_hub_download(name, CONFIG)).parent
    except (OSError, ValueError):
        return None


def find_kind(folder: Path) -> str:
    """Which of KINDS the model in a folder is; "" if its files do not say. Any model that
    sentence-transformers wrote as one is an encoder, or else a cross-encoder.
    """
    library = read_json(folder, "config_sentence_transformers.json").get("model_type")
    if library or (folder / "modules.json").is_file():
        return CROSS_ENCODER if library == "CrossEncoder" else ENCODER
    names = read_json(folder, CONFIG).get("architectures") or [""]
    return next((kind for end, kind in KINDS.items() if str(names[0]).endswith(end)), "")


def check_kind(folder: Path, *expected: str) -> None:
    """Raise DataError if the model in a folder is of another kind than those expected."""
    if (kind := find_kind(folder)) and kind not in expected:
        raise DataError(f"{folder}: found {kind}, expected {' or '.join(expected)}")


def is_hub_name(name: str) -> bool:
    """Whether this is the form of a name on the Hugging Face hub, and no such folder exists."""
    return bool(HUB_NAME.fullmatch(name)) and not Path(resolve(name)).is_dir()


def _download(name: str, patterns: list[str]) -> Path:
    from huggingface_hub import snapshot_download

    others = [f"{folder}/*" for folder in OTHER_PROGRAMS]
    try:
        return Path(snapshot_download(name, allow_patterns=patterns, ignore_patterns=others))
    except (OSError, ValueError) as error:
        reason = f"found no folder {name!r}, and the Hugging Face hub gave no model"
        raise FileNotFoundError(f"{reason} ({plain(str(error))})") from error


def list_files(folder: Path, *patterns: str) -> list[Path]:
    """The files whose names match one of the patterns, sorted by name."""
    paths = {path for pattern in patterns for path in folder.glob(pattern)}
    return sorted(path for path in paths if path.is_file())


def hash_files(folder: Path, version: int, dtype: str, weights=WEIGHT_FILES) -> str:
    """A hash of all files that affect what the model writes, the decoder's version and dtype."""
    content = hashlib.blake2b(f"{version} {dtype}".encode(), digest_size=16)
    for path in list_files(folder, *TEXT_FILES, *weights):
        content.update(f"\n{path.name} {hash_file(path)}".encode())
    return content.hexdigest()


def hash_file(path: Path) -> str:
    """The SHA-256 of a file. One from the hub has it as its name, which saves reading gigabytes."""
    blob = path.resolve()
    if blob.parent.name == "blobs" and len(blob.name) == 64:
        return blob.name
    with blob.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_json(folder: Path, name: str) -> dict:
    """The object in a JSON file of the folder; {} without the file. Raises DataError."""
    if not (path := folder / name).is_file():
        return {}
    with naming_file(path, "a JSON object"):
        return dict(json.loads(path.read_bytes()))


def read_shapes(path: Path) -> dict[str, list[int]]:
    """The shapes of the tensors in a safetensors file, by name. Raises DataError."""
    from safetensors import safe_open

    with naming_file(path, "safetensors"):
        with safe_open(path, framework="numpy") as tensors:
            return {name: tensors.get_slice(name).get_shape() for name in tensors.keys()}


@contextmanager
def naming_file(path: Path, content: str) -> Iterator[None]:
    """Raise the errors of a library, which have any class and many lines, as a DataError of one
    line that names the file; also the panics of one written in Rust. Lack of memory is raised as
    it is.
    """
    try:
        yield
    except BaseException as error:
        if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
            raise
        if not isinstance(error, Exception) and type(error).__name__ != PANIC:
            raise
        found = f"found {content} that cannot be read ({plain(str(error))})"
        raise DataError(f"{path}: {found}; {REMEDY}") from error
