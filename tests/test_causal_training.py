"""A causal model trained by the command: what it tells about itself, and that it is a plain model."""

import json
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from ircotlib.generation.local import load
from ircotlib.laboratory.encyclopedia import make_world
from ircotlib.laboratory.questions import STYLES
from ircotlib.program import Generate
from ircotlib.prompts import FLAN_T5, GPT3
from training import train
from training.causal import make_causal_model
from training.evaluate import draw_reading_test, reading_accuracy
from training.model import make_tokenizer

TOKENIZER = make_tokenizer()
PROMPTS = [
    "Q: Who?\nA:",
    "Q: Who directed Silent Harbor?\nA: Silent Harbor was directed by",
    "Q: Who is the director of Silent Harbor?\nA:",
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A tiny training, and the prompts of its measurements."""
    folder, asked = tmp_path_factory.mktemp("trained") / "causal", []

    def measure(write, form, **_):
        def writes(prompts):
            asked.extend(prompts)
            return write(prompts)

        return reading_accuracy(writes, paragraphs=2, questions=5, seed=1, size=300, form=form)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.cuda, "is_available", lambda: False)
        patch.setattr(train, "reading_accuracy", measure)
        for name, value in (("EVALUATE_EVERY", 4), ("PROMPT_TOKENS", 300)):
            patch.setattr(train, name, value)
        patch.setattr(
            sys,
            "argv",
            [
                "train",
                "--size",
                "causal",
                "--steps",
                "6",
                "--peak",
                "0.003",
                "--seed",
                "5",
                "--out",
                str(folder),
            ],
        )
        train.main()
    return folder, asked


def test_a_training_tells_how_it_was_made_and_how_it_went(trained):
    folder, asked = trained
    about = json.loads((folder / "training.json").read_text())
    expected = {
        "size": "causal",
        "steps": 6,
        "seed": 5,
        "peak": 0.003,
        "grown": False,
        "causal": True,
        "start": None,
        "device": "cpu",
    }
    assert (
        about | expected == about
        and about["parameters"] == make_causal_model(len(TOKENIZER), 0).num_parameters()
    )
    rows = [json.loads(line) for line in (folder / "training.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [4, 6] and all(
        {"seconds", "writing", "looking", "first", "whole"} <= set(row) for row in rows
    )
    tests = [
        test
        for style in STYLES
        for test in draw_reading_test(make_world(1, 300, style), style, 2, 5, 1, GPT3)
    ]
    assert asked == 2 * [example.prompt for _, example in tests] and not any(
        "Answer the following" in prompt for prompt in asked
    )
    other = draw_reading_test(make_world(1, 300, "hotpotqa"), "hotpotqa", 2, 5, 1)[0][1].prompt
    assert other.replace(f"Q: {FLAN_T5.chain_of_thought}\n", "Q: ") == asked[0]


LOAD = """
import sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
model, tokenizer = AutoModelForCausalLM.from_pretrained(sys.argv[1]), AutoTokenizer.from_pretrained(sys.argv[1])
written = model.float().generate(**tokenizer(sys.argv[2], return_tensors="pt"), max_new_tokens=9, do_sample=False)
assert not [name for name in sys.modules if name.startswith("ircotlib")]
print(type(model).__name__, model.config._attn_implementation, len(tokenizer) == model.config.vocab_size)
print(tokenizer.decode(written[0, len(tokenizer(sys.argv[2]).input_ids) :], skip_special_tokens=True).strip())
"""


def test_what_is_written_is_a_plain_model_that_this_program_answers_with(trained):
    folder, _ = trained
    assert sorted(path.name for path in folder.iterdir()) == [
        "config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "training.json", "training.jsonl"
    ]  # fmt: skip
    assert json.loads((folder / "config.json").read_text())["dtype"] == "float16"
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(folder), PROMPTS[1]],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    kind, text = done.stdout.split("\n")[:2]
    assert kind.split() == ["GPTNeoXForCausalLM", "sdpa", "True"]
    model = load(folder, device="cpu")
    replies = [
        model.decode(reply)
        for reply in model.answer([Generate(prompt, max_tokens=9) for prompt in PROMPTS])
    ]
    assert replies[1] == text and text
    assert model.count_tokens(PROMPTS[0]) == len(model.tokenizer(PROMPTS[0]).input_ids) == 7


def test_a_causal_model_does_not_grow(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        sys,
        "argv",
        ["train", "--size", "causal", "--start", str(tmp_path), "--out", str(tmp_path / "out")],
    )
    with pytest.raises(SystemExit):
        train.main()
    assert "leave out --start" in capsys.readouterr().err and not (tmp_path / "out").exists()
