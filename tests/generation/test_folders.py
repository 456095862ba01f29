"""The folders of models: where they are found, and what they say without their weights."""

import hashlib
import json
import shutil

import huggingface_hub.constants
import pytest
from asking import ask_one
from tiny import change, copy, prompts
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from ircotlib.files.models import hash_files
from ircotlib.files.paths import MODELS
from ircotlib.generation.config import is_encoder_decoder
from ircotlib.generation.local import LocalModel
from ircotlib.generation.tokens import Tokens
from ircotlib.program import SENTENCE, Generate

SHIPPED = sorted(path.parent for path in MODELS.glob("*/training.json"))
TEXTS = [
    "Wikipedia Title: Silent Harbor\nSilent Harbor is a drama film.\n\nQ: Who?\nA:",
    "  ka lo.  Mi\n",
    "</s> <pad>x<unk></s>",
    "Ögedei–Khan’s “…” 1987-2003, 3.5% 𝔘\u200b\t…",
    "",
]


def test_the_fingerprint_is_the_content(folders, tmp_path):
    other = copy(folders["t5"], tmp_path)
    (other / "README.md").write_text("notes")
    (other / "losses.json").write_text("[3.5]")
    fingerprint = LocalModel(folders["t5"]).fingerprint
    assert LocalModel(other, batch_tokens=10, batch_rows=2).fingerprint == fingerprint
    different = {fingerprint, LocalModel(other, dtype="bfloat16").fingerprint}
    for name in ("model.safetensors", "config.json", "tokenizer.json", "generation_config.json"):
        content = (other / name).read_bytes()
        changed = content[:-1] + bytes([content[-1] ^ 1])
        changed = content.rstrip() + b"\n\n" if name.endswith("json") else changed
        (other / name).write_bytes(changed)
        different.add(LocalModel(other).fingerprint)
        (other / name).write_bytes(content)
    assert len(different) == 6
    assert LocalModel(other).fingerprint == fingerprint


def test_a_name_on_the_hub_that_was_downloaded_before(folders, tmp_path, monkeypatch):
    """The layout of the hub's cache: weights under their SHA-256, linked into a snapshot of the
    commit.
    """
    commit, base = "c" * 40, tmp_path / "models--lab--tiny-t5"
    snapshot, blobs = base / "snapshots" / commit, base / "blobs"
    for path in (snapshot, blobs, base / "refs"):
        path.mkdir(parents=True)
    (base / "refs" / "main").write_text(commit)
    for path in folders["t5"].iterdir():
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        blob = blobs / (digest if path.suffix == ".safetensors" else digest[:40])
        shutil.copy(path, blob)
        (snapshot / path.name).symlink_to(blob)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    local, same = LocalModel("lab/tiny-t5"), LocalModel(folders["t5"])
    assert local.name == "lab/tiny-t5" and local.fingerprint == same.fingerprint
    request = Generate("ka lo", SENTENCE, 10)
    assert ask_one(local, request) == ask_one(same, request)


def test_a_model_that_is_not_there(folders, tmp_path, monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    for name in ("lab/no-such-model", "./models/typo", str(tmp_path / "absent")):
        with pytest.raises(FileNotFoundError, match=name):
            LocalModel(name)
    with pytest.raises(ValueError, match="int8"):
        LocalModel(folders["t5"], dtype="int8")


@pytest.mark.parametrize(
    "absent",
    ["*.safetensors", "config.json", "tokenizer*", "tokenizer.json", "tokenizer_config.json"],
)
def test_a_folder_that_lacks_something(folders, tmp_path, absent):
    expected = r"config.json, tokenizer_config.json, \*.safetensors, a vocabulary"
    with pytest.raises(FileNotFoundError, match=rf"found \[.*\], expected {expected}"):
        LocalModel(copy(folders["t5"], tmp_path, [absent]))


# What a folder says without its weights


def check_as_transformers_says(local):
    assert local.tokens._plain is not None
    check_tokens(local.tokens, AutoTokenizer.from_pretrained(local.folder))
    assert local.parameters == local.model.num_parameters()
    assert local.is_encoder_decoder == local.model.config.is_encoder_decoder


def check_tokens(tokens, theirs):
    for text in TEXTS + prompts(4):
        ids = theirs(text).input_ids
        bare = theirs(text, add_special_tokens=False)["input_ids"]
        assert tokens.encode(text) == ids and tokens.encode(text, special=False) == bare
        assert tokens.decode(ids) == theirs.decode(ids, skip_special_tokens=True)


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_shipped_models_say_what_transformers_says(folder):
    local = LocalModel(folder)
    check_as_transformers_says(local)
    # so that what was computed once stays valid
    assert local.tokens.by_word and local.fingerprint == hash_files(folder, 1, "float32")


def test_other_models_say_what_transformers_says(folder):
    local, by_word = LocalModel(folder), not folder.name.startswith("gpt2")
    check_as_transformers_says(local)
    assert local.tokens.by_word == by_word
    assert local.fingerprint == hash_files(folder, 1 if by_word else 2, "float32")


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("llama", "add_bos_token", True),
        ("llama", "bos_token", "<s>"),
        ("llama", "extra_special_tokens", ["ka lo"]),
        ("llama", "clean_up_tokenization_spaces", True),
        ("gpt2", "tokenizer_class", "GPT2Tokenizer"),
    ],
)
def test_a_tokenizer_that_another_file_changes_is_read_by_transformers(
    folders, tmp_path, kind, name, value
):
    other = copy(folders[kind], tmp_path)
    change(other / "tokenizer_config.json", **{name: value})
    tokens = Tokens(other)
    assert tokens._plain is None
    check_tokens(tokens, AutoTokenizer.from_pretrained(other))


def test_truncation_and_padding_kept_in_tokenizer_json_change_nothing(folders, tmp_path):
    other = copy(folders["llama"], tmp_path)
    tokenizer = Tokenizer.from_file(str(other / "tokenizer.json"))
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=10)
    tokenizer.save(str(other / "tokenizer.json"))
    assert Tokens(other).encode(TEXTS[0]) == Tokens(folders["llama"]).encode(TEXTS[0])
    check_tokens(Tokens(other), AutoTokenizer.from_pretrained(other))


@pytest.mark.parametrize(
    ("config", "reads"),
    [
        ({"model_type": "t5"}, True),
        ({"model_type": "llama"}, False),
        ({"model_type": "bart"}, True),
        ({"model_type": "opt"}, False),
        ({"model_type": "t5", "is_encoder_decoder": False}, False),
    ],
)
def test_which_models_read_with_an_encoder(tmp_path, config, reads):
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert is_encoder_decoder(tmp_path) == reads
