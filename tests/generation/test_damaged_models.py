"""Models whose weights do not fit, and files that are cut off or damaged."""

import json

import pytest
import torch
from asking import ask, ask_one
from safetensors.torch import load_file, save_file
from tiny import change, copy
from transformers import AutoModelForSeq2SeqLM

from ircotlib.files.paths import MODELS
from ircotlib.generation.local import LocalModel
from ircotlib.program import SENTENCE, Generate

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
        ({NORM: torch.full((48,), float("inf"))}, rf"infinite .*\({NORM}; 1 in all"),
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


# Files that are cut off or damaged


def empty_vocabulary(path):
    change(path, model=json.loads(path.read_text())["model"] | {"vocab": {}})


def halve(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n"
OTHER_CLASS, NO_TYPE = {"tokenizer_class": "T5Tokenizer"}, {"model_type": None}
TEXT_FOR_NUMBER = {"num_layers": "x", "num_hidden_layers": "x"}
DAMAGE = [  # the damaged file, what it has instead, and what the error names besides
    *(("tokenizer.json", content, "") for content in (b"", b"{}", b"\xff", b"[" * 9999)),
    ("tokenizer.json", halve, ""),
    ("tokenizer.json", empty_vocabulary, ""),
    ("tokenizer_config.json", OTHER_CLASS, None),
    ("tokenizer_config.json", halve, ""),
    ("tokenizer_config.json", b"[]", "found []"),
    ("config.json", halve, "JSON"),
    ("config.json", b'{"\xe9": 1}', "line 1, byte 2: 0xe9"),
    ("config.json", b"[" * 9999, "JSON"),
    ("config.json", {"model_type": "nosuch"}, "a configuration"),
    ("config.json", NO_TYPE, "a configuration"),
    ("config.json", TEXT_FOR_NUMBER, "a configuration"),
    ("generation_config.json", halve, "JSON"),
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
    message = str(error.value)
    # None: the error can name only the folder
    assert message.startswith(str(folder if named is None else folder / name))
    assert (named or "") in message and "\n" not in message and len(message) < 600
