"""Training the T5s and the causal model: growing, resuming, the files written."""

import random
import sys
from functools import cache, partial

import pytest

torch = pytest.importorskip("torch")

from transformers import AutoTokenizer, GPTNeoXForCausalLM, T5ForConditionalGeneration

from ircot_laboratory.world.encyclopedia import make_world
from ircotlib.models.local import LocalModel
from ircotlib.program import Generate
from training import loop
from training.loop import Training
from training.t5 import __main__ as command
from training.t5 import draw_examples as draws
from training.t5 import learn as learning
from training.t5.draw_examples import Plan, draw_conclusion, draw_prompt_example
from training.t5.encode import encode
from training.t5.evaluate import writer
from training.t5.grow import grow
from training.t5.learn import make_parts, start_t5
from training.t5.model import make_t5, make_tokenizer
from training.t5.recipe import T5Recipe
from training.words import order_numbers

TOKENIZER = make_tokenizer()
WORLDS = cache(learning.draw_worlds)
WRITE = ["--steps", "3", "--peak", "0.003", "--seed", "5"]
FILES = [
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "training.json",
    "training.jsonl",
]


@pytest.fixture(scope="module")
def batch():
    """Chains and conclusions, with padding in prompts and targets."""
    world, rng = make_world(1_000_004, 300, held_out=False), random.Random(1)
    plans = [Plan(rng.choice((2, 5)), 0) for _ in range(6)]
    chains = [draw_prompt_example(world, "hotpotqa", rng, plan) for plan in plans]
    conclusions = [draw_conclusion(world, rng, "hotpotqa") for _ in range(6)]
    return encode([e for e in chains + conclusions if e.target], TOKENIZER)


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def start() -> Training:
    model = make_t5("base", len(TOKENIZER), 0)
    order_numbers(model, TOKENIZER)
    return Training(*make_parts(model, 3e-3))


@pytest.mark.parametrize("large", ["base", "xl"])
def test_a_grown_model_writes_what_the_small_one_writes(tmp_path, batch, large):
    model = start().model
    for name, weight in model.named_parameters():
        if "layer_norm" in name:  # they differ after training
            weight.data.uniform_(0.5, 1.5)
    model.save_pretrained(tmp_path)
    model = T5ForConditionalGeneration.from_pretrained(tmp_path)
    grown = make_t5(large, len(TOKENIZER), 1)
    grow(tmp_path, grown)
    names = ("input_ids", "attention_mask", "decoder_input_ids")
    inputs = {name: batch[name][:3] for name in names}
    with torch.inference_mode():
        found, expected = (one(**inputs).logits for one in (grown, model))
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


# of the first step with seed 0: another value means that models, examples or losses
# have changed
@pytest.mark.parametrize(("size", "expected"), [("base", 55.07), ("causal", 100.26)])
def test_a_seed_gives_the_loss_that_it_gave(size, expected, monkeypatch):
    monkeypatch.setattr(draws, "PROMPT_TOKENS", 600)
    monkeypatch.setattr(learning, "draw_worlds", WORLDS)
    plan = T5Recipe(1000, 0, 1e-3, grown=True, causal=size == "causal")
    first = next(learning.take_t5_steps(start_t5(size, plan), plan))
    assert sum(first.values()) == pytest.approx(expected, rel=1e-2)


def train_few(patch: pytest.MonkeyPatch, folder, *arguments: str) -> None:
    """Run the command with small batches and evaluations."""
    patch.setattr(torch.cuda, "is_available", lambda: False)
    measure = lambda write, **_: {"texts": write(["Q: Who?"])}  # noqa: E731
    patch.setattr(learning, "reading_accuracy", measure)
    patch.setattr(learning, "draw_worlds", WORLDS)
    patch.setattr(learning, "writer", partial(writer, longest=9))
    patch.setattr(learning, "EVALUATE_EVERY", 2)
    patch.setattr(draws, "PROMPT_TOKENS", 300)
    patch.setattr(sys, "argv", ["train", "--out", str(folder), *WRITE, *arguments])
    command.main()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Tiny trainings: `killed` in its third step, with a partial checkpoint, and
    resumed; `whole`, the same without interruption; `causal`. Their folder, and what
    the kill left.
    """
    folder, save, saved = tmp_path_factory.mktemp("trained"), torch.save, []

    def save_and_die(state, path):
        save(state, path)
        saved.append(path)
        if len(saved) == 4:
            raise RuntimeError("killed")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "SECONDS", -1)
        patch.setattr(torch, "save", save_and_die)
        with pytest.raises(RuntimeError, match="killed"):
            train_few(patch, folder / "killed")
    left = sorted(path.name for path in (folder / "killed").iterdir())
    reached = torch.load(folder / "killed" / "checkpoint.pt", weights_only=True)["step"]
    with pytest.MonkeyPatch.context() as patch:
        train_few(patch, folder / "killed")
        train_few(patch, folder / "whole")
        train_few(patch, folder / "causal", "--size", "causal")
    return folder, (left, reached)


def test_a_killed_training_continues_and_gives_the_same_model(trained):
    folder, left = trained
    assert left == (["checkpoint.partial", "checkpoint.pt"], 2)
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        killed, whole = (folder / one / name for one in ("killed", "whole"))
        assert killed.read_bytes() == whole.read_bytes()
    assert not (folder / "killed" / "checkpoint.pt").exists()


@pytest.mark.parametrize(
    ("name", "kind"),
    [("whole", T5ForConditionalGeneration), ("causal", GPTNeoXForCausalLM)],
)
def test_what_is_written_are_plain_models_in_half_precision_that_answer(
    trained, name, kind
):
    folder, is_causal = trained[0] / name, name == "causal"
    assert sorted(path.name for path in folder.iterdir()) == FILES
    model = kind.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert (model.dtype, model.config._attn_implementation) == (torch.float16, "sdpa")
    assert model.config.architectures == [kind.__name__]
    assert len(tokenizer) == model.config.vocab_size
    asked = "Q: Who directed Silent Harbor?\nA: Silent Harbor was directed by"
    ids = tokenizer(asked, return_tensors="pt")
    written = model.float().generate(**ids, max_new_tokens=9, do_sample=False)[0]
    written = written[ids.input_ids.shape[1] if is_causal else 1 :]
    text = tokenizer.decode(written, skip_special_tokens=True).strip()
    requests = [Generate(prompt, max_tokens=9) for prompt in ("Q: Who?\nA:", asked)]
    local = LocalModel(folder)
    replies = [local.decode(reply) for _, reply in sorted(local.answer(requests))]
    assert replies[1] == text and (text or not is_causal)
    # what a causal model continues does not end
    assert (tokenizer(asked).input_ids[-1] == tokenizer.eos_token_id) != is_causal
