"""The folder of a model, and what can be said of it without its weights and without torch."""

import hashlib
import json
import re
from collections.abc import Sequence
from math import prod
from pathlib import Path

from ircotlib.paths import resolve

CONFIG = "config.json"
VOCABULARIES = ("tokenizer.json", "*.model", "vocab*")
TEXT_FILES = (CONFIG, "generation_config.json", "tokenizer*", "special_tokens_map.json",
              "added_tokens.json", "chat_template*", "vocab*", "merges.txt", "*.model")  # fmt: skip
WEIGHT_FILES = ("*.safetensors", "*.safetensors.index.json")
OLDER = (*WEIGHT_FILES, "pytorch_model.bin")  # of encoders that the hub has from before safetensors
# model types of which transformers takes tokenizer.json and "is_encoder_decoder" as they are
PLAIN = ("gpt2", "gpt_neox", "llama", "t5")
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
BUFFERS = re.compile(r"\.(attn|attention)\.(masked_)?bias$|inv_freq$")  # no parameters


def find_folder(
    name: str, revision: str | None = None, weights: Sequence[str] = WEIGHT_FILES
) -> Path:
    """The folder of this name, or the one into which the model of this name on the Hugging Face hub
    is downloaded; `weights`: the names that its weights may have.

    Raises FileNotFoundError when there is none, or when configuration, vocabulary or weights are
    not in it.
    """
    folder = Path(name) if Path(name).is_dir() else _download(name, revision, weights)
    named = [one for one in weights if not one.endswith(".json")]
    expected = {CONFIG: (CONFIG,), " or ".join(named): named}
    # the one tokenizer without a vocabulary is that of bytes
    if "ByT5" not in str(read_json(folder, "tokenizer_config.json").get("tokenizer_class")):
        expected["a vocabulary (tokenizer.json, *.model or vocab*)"] = VOCABULARIES
    if not all(any(files(folder, *patterns)) for patterns in expected.values()):
        raise FileNotFoundError(
            f"{folder}: found {[path.name for path in files(folder, '*')][:20]}, expected "
            f"{', '.join(expected)}; write the folder with save_pretrained, of the model and of "
            "the tokenizer"
        )
    return folder


def is_hub_name(name: str) -> bool:
    """Whether this can only be a name on the Hugging Face hub: there is no such folder."""
    return bool(HUB_NAME.fullmatch(name)) and not Path(resolve(name)).is_dir()


def read_json(folder: Path, name: str) -> dict:
    """The content of a JSON file of the folder; nothing when the file is not there."""
    path = folder / name
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def files(folder: Path, *patterns: str) -> list[Path]:
    """The files whose names match one of the patterns, in order of their names."""
    return sorted({path for pattern in patterns for path in folder.glob(pattern)})


def hash_files(
    folder: Path, version: int, dtype: str, weights: Sequence[str] = WEIGHT_FILES
) -> str:
    """A hash of the files that decide what the model writes, read whole, of the decoder's version
    and of the dtype.
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
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(folder).is_encoder_decoder


def count_parameters(folder: Path) -> int:
    """The number of parameters, from the headers of the weights; tied ones count once."""
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
    """The shapes of the tensors in a safetensors file, by name."""
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return {name: about["shape"] for name, about in header.items() if name != "__metadata__"}


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
    """The SHA-256 of a file; what came from the hub has it as its name, which saves reading
    gigabytes.
    """
    if path.parent.name == "blobs" and len(path.name) == 64:
        return path.name
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_limit(folder: Path) -> int | None:
    """How many tokens a causal model reads and writes together; None: positions are relative, as in
    a T5, without a limit.
    """
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(folder).get_text_config()
    return getattr(config, "max_position_embeddings", None)
