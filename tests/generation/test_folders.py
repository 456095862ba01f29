"""The folders of models: found, hashed, read without their weights, and damaged."""

import hashlib
import json
import os
import shutil

import huggingface_hub.constants
import pytest
import torch
from asking import ask, ask_one
from safetensors.torch import load_file, save_file
from tiny import KINDS, change, copy, prompts, spell, unigram_tokenizer
from tokenizers import Tokenizer
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from ircotlib.files.models import hash_files
from ircotlib.files.paths import MODELS
from ircotlib.generation.config import is_encoder_decoder
from ircotlib.generation.local import LocalModel
from ircotlib.generation.tokens import Tokens
from ircotlib.program import SENTENCE, Generate

SHIPPED = sorted(path.parent for path in MODELS.glob("*/training.json"))
TEXTS = [
    "Wikipedia Title: Silent Harbor\nSilent Harbor is a film.\n\nQ: Who?\nA:",
    "  ka lo.  Mi\n",
]
TEXTS += ["Ögedei–Khan’s “…” 1987-2003, 3.5% 𝔘\u200b\t…", ""]


def test_the_fingerprint_is_the_content(folders, tmp_path):
    other = copy(folders["t5"], tmp_path)
    (other / "README.md").write_text("notes")
    fingerprint = LocalModel(folders["t5"]).fingerprint
    assert LocalModel(other, batch_tokens=10, batch_rows=2).fingerprint == fingerprint
    different = {fingerprint, LocalModel(other, dtype="bfloat16").fingerprint}
    for name in ("config.json", "tokenizer.json", "generation_config.json", "model.safetensors"):
        content = (other / name).read_bytes()
        json_or_weights = b"\n" + content if name.endswith("json") else content[:-1] + b"1"
        (other / name).write_bytes(json_or_weights)
        different.add(LocalModel(other).fingerprint)
    assert len(different) == 6


def test_a_name_on_the_hub_that_was_downloaded_before(folders, tmp_path, monkeypatch):
    """The layout of the hub's cache: files by their hash, linked into a commit's snapshot."""
    base = tmp_path / "models--lab--tiny-t5"
    snapshot, blobs = base / "snapshots" / ("c" * 40), base / "blobs"
    for path in (snapshot, blobs, base / "refs"):
        path.mkdir(parents=True)
    (base / "refs" / "main").write_text("c" * 40)
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


NEEDED = "*.safetensors", "config.json", "tokenizer*", "tokenizer.json", "tokenizer_config.json"


@pytest.mark.parametrize("absent", NEEDED)
def test_a_folder_that_lacks_something(folders, tmp_path, absent):
    expected = r"config.json, tokenizer_config.json, \*.safetensors, a vocabulary"
    with pytest.raises(FileNotFoundError, match=rf"found \[.*\], expected {expected}"):
        LocalModel(copy(folders["t5"], tmp_path, [absent]))


def check_tokens(tokens, theirs):
    for text in TEXTS + prompts(4):
        ids = theirs(text, split_special_tokens=True).input_ids
        bare = theirs(text, add_special_tokens=False, split_special_tokens=True).input_ids
        assert tokens.encode(text) == ids and tokens.encode(text, special=False) == bare
        assert tokens.decode(ids) == theirs.decode(ids, skip_special_tokens=True)


@pytest.mark.parametrize("name", [*(path.name for path in SHIPPED), *KINDS])
def test_a_folder_says_what_transformers_says(folders, name):
    folder, by_word = folders.get(name, MODELS / name), name != "gpt2"
    local = LocalModel(folder)
    assert local.tokens._plain is not None and local.tokens.by_word == by_word
    check_tokens(local.tokens, AutoTokenizer.from_pretrained(folder))
    assert local.parameters == local.model.num_parameters()
    assert local.is_encoder_decoder == local.model.config.is_encoder_decoder
    # so that what was computed once stays valid
    assert local.fingerprint == hash_files(folder, 3 if by_word else 4, "float32")


@pytest.mark.parametrize("name", ["mini-base", "mini-causal", "unigrams", *KINDS])
def test_the_names_of_special_tokens_are_text_in_a_prompt(folders, tmp_path, name):
    if name == "unigrams":  # as T5's, whose vocabulary has the names as words
        plain = spell(tmp_path / name, unigram_tokenizer(), "So.").tokens
    else:
        plain = LocalModel(folders.get(name, MODELS / name)).tokens
    theirs = AutoTokenizer.from_pretrained(plain.folder)
    special = [token for token in theirs.added_tokens_decoder.values() if token.special]
    read = copy(plain.folder, tmp_path)
    change(read / "tokenizer_config.json", clean_up_tokenization_spaces=True)
    assert special and Tokens(read)._plain is None  # read by transformers
    for token in special:
        if token.content == theirs.unk_token:  # what unknown letters become
            continue
        text = f"Q: Who wrote{token.content} {token.content}ka lo. {token.content}\nA:"
        ordinary = text.replace(token.content, "ka")
        added = plain.encode(ordinary).count(theirs.convert_tokens_to_ids(token.content))
        for tokens in (plain, Tokens(read)):
            ids = tokens.encode(text)
            assert ids.count(theirs.convert_tokens_to_ids(token.content)) == added
            assert name != "gpt2" or tokens.decode(ids) == text
            assert tokens.encode(ordinary) == theirs(ordinary).input_ids


CHANGED = [("llama", "add_bos_token", True), ("llama", "bos_token", "<s>")]
CHANGED += [("llama", "extra_special_tokens", ["ka lo"])]
CHANGED += [("llama", "clean_up_tokenization_spaces", True)]
CHANGED += [("gpt2", "tokenizer_class", "GPT2Tokenizer")]
CHANGED += [("gpt2", "bos_token", {"__type": "AddedToken", "content": "<|endoftext|>"})]


@pytest.mark.parametrize(("kind", "name", "value"), CHANGED)
def test_a_tokenizer_that_is_changed_is_read_by_transformers(folders, tmp_path, kind, name, value):
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


@pytest.mark.parametrize("kind", ["t5", "llama", "bart", "opt"])
def test_which_models_read_with_an_encoder(tmp_path, kind):
    reads = kind in ("t5", "bart")
    for set_in_file, expected in (({}, reads), ({"is_encoder_decoder": not reads}, not reads)):
        (tmp_path / "config.json").write_text(json.dumps({"model_type": kind} | set_in_file))
        assert is_encoder_decoder(tmp_path) == expected


REQUEST = Generate("Q: Who?\nA:", SENTENCE, 5)


def with_weights(target, **changes):
    """A shipped model with tensors replaced, added, or left out (None)."""
    folder = copy(MODELS / "mini-base", target)
    tensors = load_file(folder / "model.safetensors") | changes
    tensors = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    return LocalModel(folder)


NORM, LAST = "encoder.final_layer_norm.weight", "decoder.final_layer_norm.weight"
SEVERAL = {NORM: None, LAST: torch.ones(7), "b": torch.ones(1), "a": torch.ones(1)}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({NORM: None}, f"missing: {NORM}; 1 in all"),
        ({"shared.weight": None}, "missing: .*; . in all"),
        ({NORM: torch.ones(7)}, rf"{NORM} \[7\], not \[48\]; 1 in all"),
        ({"extra": torch.ones(7)}, "unexpected: extra; 1 in all"),
        (SEVERAL, f"missing: {NORM}; unexpected: a; unexpected: b; 4 in all"),
        ({NORM: torch.full((48,), float("nan"))}, rf"NaN \({NORM}; 1 in all"),
    ],
)
def test_weights_that_do_not_fit_are_refused(tmp_path, changes, named):
    with pytest.raises(ValueError, match=named):
        ask_one(with_weights(tmp_path, **changes), REQUEST)


def test_tied_weights_that_are_written_twice_or_not_at_all_fit(tmp_path):
    shared = load_file(MODELS / "mini-base" / "model.safetensors")["shared.weight"]
    tied = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")
    other = with_weights(tmp_path, **{name: shared.clone() for name in tied})
    shipped = LocalModel(MODELS / "mini-base")
    assert ask_one(other, REQUEST) == ask_one(shipped, REQUEST)
    whole = AutoModelForSeq2SeqLM.from_pretrained(MODELS / "mini-base").num_parameters()
    assert other.parameters == shipped.parameters == whole


def test_a_token_that_the_model_does_not_know_costs_only_its_request(folders, tmp_path):
    other = copy(folders["llama"], tmp_path)
    words = json.loads((other / "tokenizer.json").read_text())["model"]
    words["vocab"]["another"] = 99_999
    change(other / "tokenizer.json", model=words)
    known, unknown = Generate("ka lo", None, 3), Generate("ka another", None, 3)
    reply, fault = ask(LocalModel(other), [known, unknown])
    assert reply == ask_one(LocalModel(folders["llama"]), known)
    assert isinstance(fault, ValueError) and "99999" in str(fault)


def empty_vocabulary(path):
    change(path, model=json.loads(path.read_text())["model"] | {"vocab": {}})


def halve(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n"
DAMAGE = [  # the damaged file, what it has instead, what the error names (None: only the folder)
    *(("tokenizer.json", content, "") for content in (b"", b"{}", b"\xff", b"[" * 9999)),
    ("tokenizer.json", halve, ""),
    ("tokenizer.json", empty_vocabulary, ""),
    ("tokenizer_config.json", {"tokenizer_class": "T5Tokenizer"}, None),
    ("tokenizer_config.json", halve, ""),
    ("tokenizer_config.json", b"[]", "found []"),
    ("config.json", halve, "JSON"),
    ("config.json", b'{"\xe9": 1}', "line 1, byte 2: 0xe9"),
    ("config.json", {"model_type": "nosuch"}, "a configuration"),
    ("config.json", {"model_type": None}, "a configuration"),
    ("config.json", {"num_layers": "x", "num_hidden_layers": "x"}, "a configuration"),
    *(("model.safetensors", content, "safetensors") for content in (b"", halve, b"x" * 99)),
    ("model.safetensors", POINTER, "a pointer of git-lfs"),
]


@pytest.mark.parametrize("model", ["mini-base", "mini-causal"])
@pytest.mark.parametrize(("name", "damage", "named"), DAMAGE)
def test_a_file_that_is_damaged_is_named_in_one_line(tmp_path, name, damage, named, model):
    folder = copy(MODELS / model, tmp_path)
    if isinstance(damage, bytes):
        (folder / name).write_bytes(damage)
    elif isinstance(damage, dict):
        change(folder / name, **damage)
    else:
        damage(folder / name)
    with pytest.raises(ValueError) as error:
        ask_one(LocalModel(folder), REQUEST)
    message, path = str(error.value), folder if named is None else folder / name
    assert message.startswith(str(path)) and (named or "") in message
    assert "\n" not in message and len(message) < 600


def test_a_pipe_is_no_file_and_layers_without_weights_are_refused(tmp_path):
    deep, piped = tmp_path / "deep", tmp_path / "piped"
    for folder in (deep, piped):
        shutil.copytree(MODELS / "mini-base", folder)
    config = json.loads((deep / "config.json").read_text()) | {"num_layers": 10**9}
    (deep / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="more layers than the"):
        LocalModel(deep)
    (piped / "model.safetensors").unlink()
    os.mkfifo(piped / "model.safetensors")
    with pytest.raises(FileNotFoundError, match=r"expected config.json, .*safetensors"):
        LocalModel(piped)
