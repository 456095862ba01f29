"""The shipped models answer from the paragraphs about a world that they never saw."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    PreTrainedModel,
)

from ircot_laboratory.questions.questions import make_riddles
from ircot_laboratory.world.encyclopedia import make_world
from ircotlib.files import MODELS
from ircotlib.models.local import LocalModel
from ircotlib.program import LINE, Generate
from ircotlib.prompting.prompt import FLAN_T5, GPT3
from training.t5.evaluate import reading_accuracy
from training.t5.model import make_tokenizer
from training.t5.recipe import SIZES

# the least share of right answers about a held-out world
BOUNDS = {
    "mini-base": 0.2,
    "mini-large": 0.55,
    "mini-xl": 0.65,
    "mini-xxl": 0.85,
    "mini-causal": 0.55,
}
MOST_BYTES = 26_000_000  # of all models together
FOLDERS = sorted(path.parent for path in MODELS.glob("mini-*/training.json"))
STYLES = GPT3, FLAN_T5  # how the others and the T5s are prompted
T5S = [f for f in FOLDERS if AutoConfig.from_pretrained(f).is_encoder_decoder]

each_model = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def open_plain(folder: Path) -> PreTrainedModel:
    kind = AutoModelForSeq2SeqLM if folder in T5S else AutoModelForCausalLM
    return kind.from_pretrained(folder)


def test_the_models_are_those_with_a_bound_and_small():
    assert {folder.name for folder in FOLDERS} == set(BOUNDS)
    files = [path for path in MODELS.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES
    endings = {".csv", ".json", ".jsonl", ".safetensors"}
    assert {path.suffix for path in files} <= endings


@each_model
def test_a_model_is_a_plain_one_with_a_record_of_its_training(folder):
    model = open_plain(folder)
    config, size = model.config, folder.name.removeprefix("mini-")
    kind = "T5ForConditionalGeneration" if folder in T5S else "GPTNeoXForCausalLM"
    assert config.architectures == [kind] and (size == "causal") == (folder not in T5S)
    assert SIZES.get(size, {}).items() <= config.to_dict().items()
    record = json.loads((folder / "training.json").read_text())
    assert record["size"] == size and record["parameters"] == model.num_parameters()
    assert record["steps"] > 0 and record["seconds"] > 0
    assert isinstance(record["seed"], int)
    lines = (folder / "training.jsonl").read_text().splitlines()
    first, last = json.loads(lines[0]), json.loads(lines[-1])
    assert last["step"] == record["steps"]
    assert len(lines) == 1 or last["writing"] < first["writing"]


@each_model
def test_the_tokenizer_is_that_of_the_encyclopedia_and_gives_every_chain_back(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert tokenizer.get_vocab() == make_tokenizer().get_vocab()
    assert len(tokenizer) == open_plain(folder).config.vocab_size
    assert (tokenizer.eos_token_id in tokenizer("Q")["input_ids"]) == (folder in T5S)
    for riddle in make_riddles(make_world(13, 600, "iirc"), 40, "iirc", 13):
        ids = tokenizer(riddle.chain)["input_ids"]
        assert tokenizer.decode(ids, skip_special_tokens=True) == riddle.chain


@each_model
def test_answers_about_a_world_never_seen(folder):
    """Whose names, but for popular ones, no training text has: none is memorised."""
    model = LocalModel(folder)

    def write(prompts):
        requests = [Generate(prompt, LINE, 120) for prompt in prompts]
        return [model.decode(reply) for _, reply in sorted(model.answer(requests))]

    accuracy = reading_accuracy(write, 8, 11, 600, STYLES[folder in T5S])
    assert accuracy["answer"] >= BOUNDS[folder.name], accuracy
