"""The folders of models: found, hashed, read without their weights, and damaged."""

import huggingface_hub.constants
import pytest
from asking import ask_one
from safetensors.torch import load_file, save_file
from tiny import KINDS, copy, prompts
from transformers import AutoTokenizer

from ircotlib.files import MODELS
from ircotlib.models.folders import hash_files
from ircotlib.models.local import LocalModel, Tokens
from ircotlib.program import SENTENCE, Generate

SHIPPED = ("mini-base", "mini-causal", "agent")
TEXTS = ["Wikipedia Title: Harbor\nIt is a film.\n\nQ: Who?\nA:", "  ka lo.  Mi\n", ""]
TEXTS += ["Ögedei–Khan’s “…” 1987-2003, 3.5% 𝔘\u200b\t…"]
REQUEST = Generate("Q: Who?\nA:", SENTENCE, 5)


def test_the_fingerprint_is_the_content(folders, tmp_path):
    other = copy(folders["t5"], tmp_path)
    (other / "README.md").write_text("notes")
    fingerprint = LocalModel(folders["t5"]).fingerprint
    assert LocalModel(other, batch_tokens=10, batch_rows=2).fingerprint == fingerprint
    different = {fingerprint, LocalModel(other, dtype="bfloat16").fingerprint}
    for name in ("config.json", "tokenizer.json", "generation_config.json"):
        (other / name).write_bytes(b"\n" + (other / name).read_bytes())
        different.add(LocalModel(other).fingerprint)
    weights = other / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"1")
    different.add(LocalModel(other).fingerprint)
    assert len(different) == 6


def test_a_missing_model_is_an_error(monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    for name in ("lab/no-such-model", "./models/typo"):
        with pytest.raises(FileNotFoundError, match=name):
            LocalModel(name)


@pytest.mark.parametrize("name", [*SHIPPED, *KINDS])
def test_a_folder_says_what_transformers_says(folders, name):
    folder, by_word = folders.get(name, MODELS / name), name != "gpt2"
    local, theirs = LocalModel(folder), AutoTokenizer.from_pretrained(folder)
    for text in TEXTS + prompts(4):
        plain = {"split_special_tokens": True}
        ids = theirs(text, **plain).input_ids
        bare = theirs(text, **plain, add_special_tokens=False).input_ids
        assert local.tokens.encode(text) == ids
        assert local.tokens.encode(text, special=False) == bare
        assert local.tokens.decode(ids) == theirs.decode(ids, skip_special_tokens=True)
        assert local.count_tokens(text) == len(bare)
    assert local.tokens.by_word == by_word
    assert local.parameters == local.model.num_parameters()
    assert local.is_encoder_decoder == local.model.config.is_encoder_decoder
    # so that what was computed once stays valid
    assert local.fingerprint == hash_files(folder, 3 if by_word else 4, "float32")


@pytest.mark.parametrize("name", ["mini-base", "mini-causal", "t5", "gpt2"])
def test_the_names_of_special_tokens_are_text_in_a_prompt(folders, name):
    folder = folders.get(name, MODELS / name)
    tokens, theirs = Tokens(folder), AutoTokenizer.from_pretrained(folder)
    special = [token for token in theirs.added_tokens_decoder.values() if token.special]
    for token in special:
        if token.content == theirs.unk_token:  # what unknown letters become
            continue
        text = f"Q: Who wrote{token.content} {token.content}ka lo. {token.content}\nA:"
        ids, number = tokens.encode(text), theirs.convert_tokens_to_ids(token.content)
        assert ids.count(number) == tokens.encode("ka").count(number)


NORM = "encoder.final_layer_norm.weight"


def test_a_missing_weight_is_refused(folders, tmp_path):
    folder = copy(folders["t5"], tmp_path)
    tensors = load_file(folder / "model.safetensors")
    del tensors[NORM]
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ValueError, match=f"found {NORM} missing in the weights"):
        ask_one(LocalModel(folder), REQUEST)


def test_adapters_are_refused(folders, tmp_path):
    folder = copy(folders["gpt2"], tmp_path)
    (folder / "adapter_config.json").write_text("{}")
    for _ in range(2):  # also without the model that it adapts
        with pytest.raises(ValueError, match="found an adapter; merge the adapter"):
            LocalModel(folder)
        (folder / "config.json").unlink(missing_ok=True)


def test_a_folder_without_a_fast_tokenizer_says_how_to_make_one(folders, tmp_path):
    folder = copy(folders["gpt2"], tmp_path)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ValueError, match="tokenizer.json: found no .*AutoTokenizer"):
        LocalModel(folder)


@pytest.mark.parametrize("name", ["tokenizer.json", "config.json", "model.safetensors"])
def test_a_file_that_is_cut_off_is_named_in_one_line(tmp_path, name):
    path = copy(MODELS / "mini-base", tmp_path) / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(ValueError) as error:
        ask_one(LocalModel(path.parent), REQUEST)
    assert str(error.value).startswith(f"{path}: ") and "\n" not in str(error.value)
