"""Training the miniature models: attention, growing, the plan of a training, going on after a kill,
and what is written in the end.
"""

import json
import os
import random
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import combinations_with_replacement
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from transformers import T5ForConditionalGeneration
from transformers.models.t5.modeling_t5 import eager_attention_forward

from ircotlib.generation.greedy import padding_column
from ircotlib.laboratory.encyclopedia import make_world
from ircotlib.laboratory.names import is_held_out
from ircotlib.laboratory.questions import STYLES, make_riddles
from training import train
from training.attention import teaching_attention
from training.draws import Confusers, Plan, draw_conclusion, draw_example
from training.evaluate import draw_reading_test, reading_accuracy, writer
from training.grow import grow
from training.model import SIZES, make_model, make_tokenizer, order_numbers
from training.teach import Teacher, encode, total_loss
from training.train import Recipe, Training, draw_batch, draw_worlds, learn, make_optimizers

TOKENIZER = make_tokenizer()
WRITE = ["--steps", "6", "--peak", "0.003", "--seed", "5"]


@pytest.fixture(scope="module")
def world():
    return make_world(1_000_004, 300, "hotpotqa", held_out=False)


@pytest.fixture(scope="module")
def batch(world):
    """Chains and conclusions, with padding in prompts and targets."""
    rng, confusers = random.Random(1), Confusers(world)
    chains = [
        draw_example(world, "hotpotqa", confusers, rng, Plan(rng.choice((2, 5)), 0))
        for _ in range(6)
    ]
    return encode(
        [example for example in chains if example.target]
        + [draw_conclusion(world, rng, "hotpotqa") for _ in range(6)],
        TOKENIZER,
    )


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def start(size: str = "base", seed: int = 0) -> Training:
    model = make_model(size, len(TOKENIZER), seed)
    order_numbers(model, TOKENIZER)
    teacher = Teacher(model.config.d_model)
    return Training(model, teacher, make_optimizers(model, teacher, 3e-3))


def loss_and_gradients(implementation: str, batch) -> tuple[float, dict[str, torch.Tensor]]:
    """Of the training loss, the encoder's attention in one of its forms."""
    training = start()
    training.model.encoder.set_attn_implementation(implementation)
    if implementation == "eager":
        keep_weights(training.model.encoder)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss, _ = total_loss(training.model, training.teacher, batch)
    loss.backward()
    return loss.item(), {name: weight.grad for name, weight in training.model.named_parameters()}


def keep_weights(encoder) -> None:
    """Leave the attention weights where the losses look for them."""
    for block in encoder.block:
        attention = block.layer[0].SelfAttention
        attention.register_forward_hook(
            lambda module, _, output: setattr(module, "weights", output[-1])
        )


def error(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Relative to the size of what is expected."""
    return ((found.float() - expected.float()).norm() / expected.float().norm()).item()


# Attention


def attend(forward, seed: int, padded: bool):
    """States, weights and gradients of an attention over three rows, of which two may be padded."""
    torch.manual_seed(seed)
    query, key, value = (torch.randn(3, 2, 20, 32, requires_grad=True) for _ in range(3))
    bias = torch.randn(1, 2, 20, 20, requires_grad=True)
    there = (
        torch.arange(20) < torch.tensor([[20], [13], [7]])
        if padded
        else torch.ones(3, 20, dtype=torch.bool)
    )
    states, weights = forward(query * 32**-0.5, key, value, bias, there.long())
    wanted = torch.randn_like(states), torch.randn_like(weights.float())
    seen = there[:, :, None, None]
    (
        (states * wanted[0] * seen).sum()
        + (weights.float() * wanted[1] * seen.transpose(1, 2)).sum()
    ).backward()
    return [
        states * seen,
        weights * seen.transpose(1, 2),
        query.grad,
        key.grad,
        value.grad,
        bias.grad,
    ]


def teaching(query, key, value, bias, there):
    return teaching_attention(
        SimpleNamespace(),
        query,
        key,
        value,
        padding_column(attention_mask=there),
        position_bias=bias,
    )


def eager(query, key, value, bias, there):
    mask = torch.zeros(there.shape).masked_fill(there == 0, torch.finfo(torch.float32).min)[
        :, None, None, :
    ]
    return eager_attention_forward(
        SimpleNamespace(training=False), query, key, value, mask, scaling=1.0, position_bias=bias
    )


@pytest.mark.parametrize("padded", [False, True])
def test_attention_for_training_is_the_usual_one(padded):
    found, expected = attend(teaching, 0, padded), attend(eager, 0, padded)
    assert found[0].dtype == torch.float32 and found[1].dtype == torch.bfloat16
    assert [error(*pair) < 0.02 for pair in zip(found, expected, strict=True)] == [True] * 6
    assert (
        not found[1][1, :, :, 13:].any() and not found[1][2, :, :, 7:].any()
        if padded
        else found[1][1, :, :, 13:].any()
    )


def test_a_training_step_is_that_of_the_usual_attention(batch):
    (loss, gradients), (usual_loss, usual) = (
        loss_and_gradients("teaching", batch),
        loss_and_gradients("eager", batch),
    )
    assert loss == pytest.approx(usual_loss, rel=0.005)
    attention = [name for name in usual if "SelfAttention" in name and name.startswith("encoder")]
    assert {name.split(".")[-2] for name in attention} == {
        "q",
        "k",
        "v",
        "o",
        "relative_attention_bias",
    }
    assert {
        name: error(gradients[name], usual[name])
        for name in attention
        if error(gradients[name], usual[name]) > 0.1
    } == {}


def test_attention_for_training_also_evaluates_in_single_precision(batch):
    model = start().model
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "decoder_input_ids")}
    with torch.inference_mode():
        found = model(**inputs).logits
        model.encoder.set_attn_implementation("eager")
        expected = model(**inputs).logits
    assert found.dtype == torch.float32
    assert error(found, expected) < 0.05


# Growing


@pytest.fixture(scope="module")
def small_models(tmp_path_factory):
    """A folder with a model of every size, its layer norms unlike each other as after training."""
    folder = tmp_path_factory.mktemp("small")
    for size in SIZES:
        model = start(size).model
        for name, weight in model.named_parameters():
            if "layer_norm" in name:
                weight.data.uniform_(0.5, 1.5)
        model.save_pretrained(folder / size)
    return folder


@pytest.mark.parametrize(("small", "large"), list(combinations_with_replacement(SIZES, 2)))
def test_a_grown_model_writes_what_the_small_one_writes(small_models, batch, small, large):
    grown, model = (
        make_model(large, len(TOKENIZER), 1),
        T5ForConditionalGeneration.from_pretrained(small_models / small),
    )
    grow(small_models / small, grown)
    grown.encoder.set_attn_implementation("eager")
    inputs = {
        name: batch[name][:3] for name in ("input_ids", "attention_mask", "decoder_input_ids")
    }
    with torch.inference_mode():
        torch.testing.assert_close(
            grown(**inputs).logits, model(**inputs).logits, atol=1e-4, rtol=1e-4
        )


def test_a_grown_model_uses_its_new_dimensions_after_a_few_steps(small_models, batch):
    training = start("large")
    grow(small_models / "base", training.model)
    weights, width = dict(training.model.named_parameters()), SIZES["base"]["d_model"]
    new = [
        weights["shared.weight"][:, width:],
        *(
            weight[width:]
            for name, weight in weights.items()
            if name.endswith((".o.weight", ".wo.weight"))
        ),
    ]
    assert not any(part.any() for part in new)
    losses = [learn(training, batch, 1e-3)["writing"] for _ in range(4)]
    assert all(part.any(0).float().mean() > 0.9 for part in new) and losses[-1] < losses[0]


def test_what_cannot_grow_is_refused(small_models):
    with pytest.raises(
        ValueError, match="found 4 layers and .* words, expected those of the model to grow"
    ):
        grow(small_models / "base", make_model("base", len(TOKENIZER) + 1, 0))
    deeper = start().model.config
    deeper.num_layers = 5
    with pytest.raises(ValueError, match="found 4 layers"):
        grow(small_models / "base", T5ForConditionalGeneration(deeper))


# The plan


def test_the_learning_rate_rises_stays_and_falls():
    recipe = Recipe(steps=10_000, seed=0, peak=1e-3)
    rates = {step: recipe.learning_rate(step) for step in (0, 99, 199, 6000, 8000, 9999)}
    assert rates == pytest.approx(
        {0: 5e-6, 99: 5e-4, 199: 1e-3, 6000: 1e-3, 8000: 5.1e-4, 9999: 2e-5}, rel=0.02
    )


def test_from_scratch_few_paragraphs_come_first_and_demonstrations_last():
    rng, scratch = random.Random(0), Recipe(1000, 0, 1e-3)
    easy, one_style, late = (
        round(1000 * share) for share in (train.EASY, train.ONE_STYLE, train.LATE)
    )
    plans = {
        step: [scratch.plan(step, rng) for _ in range(100)]
        for step in (easy - 1, easy, one_style - 1, one_style, late)
    }
    assert {plan.paragraphs for plan in plans[easy - 1]} == {2, 3}
    shown = {step: {plan.demonstrations for plan in drawn} for step, drawn in plans.items()}
    assert shown == {
        easy - 1: {0},
        easy: {0},
        one_style - 1: {0},
        one_style: {0, 1},
        late: {0, 1, 2, 3},
    }
    most = [max(plan.paragraphs for plan in drawn) for drawn in plans.values()]
    assert most == sorted(most) and most[-1] == 14
    assert (plans[one_style][0].begun, plans[late][0].begun) == (0.37, 0.7)
    assert (scratch.styles(one_style - 1), scratch.styles(one_style)) == (
        ["hotpotqa"],
        [*STYLES, "musique"],
    )


def test_a_grown_model_begins_with_what_comes_last():
    rng, grown = random.Random(0), Recipe(1000, 0, 1e-3, grown=True)
    assert grown.styles(0) == [*STYLES, "musique"] and {
        grown.plan(0, rng).begun for _ in range(40)
    } == {0.7}
    plans = [grown.plan(0, rng) for _ in range(200)]
    assert {plan.demonstrations for plan in plans} == {0, 1, 2, 3} and max(
        plan.paragraphs for plan in plans
    ) == 14


def test_every_fourth_step_is_of_conclusions_and_later_every_third():
    recipe = Recipe(1000, 0, 1e-3)
    assert [step for step in range(12) if recipe.is_conclusion(step)] == [3, 7, 11]
    assert [step for step in range(600, 612) if recipe.is_conclusion(step)] == [602, 605, 608, 611]


# the second has too few names of bands, and takes some more
@pytest.mark.parametrize("step", [0, 3600])
def test_training_worlds_are_drawn_again_as_they_were_and_hold_no_held_out_name(step):
    worlds = draw_worlds(step, 0)
    first = worlds["hotpotqa"][0]
    assert set(worlds) == set(STYLES) and all(
        world.entities == first.entities for world, _ in worlds.values()
    )
    assert draw_worlds(step + 299, 0)["iirc"][0] == worlds["iirc"][0]
    assert draw_worlds(step + 300, 0)["iirc"][0].entities != first.entities
    assert not any(map(is_held_out, first.entities))


def test_the_examples_of_a_step_are_the_same_every_time():
    worlds, recipe = draw_worlds(0, 0), Recipe(1000, 0, 1e-3)
    for step in (0, 3, 700):
        examples = draw_batch(step, recipe, worlds)
        assert examples == draw_batch(step, recipe, worlds) and all(
            example.target for example in examples
        )
        assert examples != draw_batch(step, replace(recipe, seed=1), worlds)


# Training


def test_learning_lowers_every_part_of_the_loss(batch):
    training = start()
    parts = [learn(training, batch, 3e-3) for _ in range(12)]
    assert set(parts[0]) == {
        "writing",
        "looking",
        "carrying",
        "asking",
        "belonging",
        "about",
        "stated",
        "decided",
        "comparing",
    }
    assert all(parts[-1][name] < parts[0][name] for name in parts[0])


def test_muon_moves_the_matrices_of_the_layers_and_adamw_all_the_rest():
    training = start()
    muon, adamw = (
        [id(weight) for weight in optimizer.param_groups[0]["params"]]
        for optimizer in training.optimizers
    )
    layers = tuple(f".{layer}.weight" for layer in ("q", "k", "v", "o", "wi", "wo"))
    assert set(muon) == {
        id(weight) for name, weight in training.model.named_parameters() if name.endswith(layers)
    }
    weights = [
        id(weight) for weight in (*training.model.parameters(), *training.teacher.parameters())
    ]
    assert sorted(muon + adamw) == sorted(weights)


TRAIN = """
import os, signal, sys, torch
from training import train
train.CHECKPOINT_SECONDS, train.EVALUATE_EVERY, train.PROMPT_TOKENS = -1, 4, 300
measure = train.reading_accuracy
train.reading_accuracy = lambda write, **_: measure(write, paragraphs=2, questions=5, seed=1, size=300)
save, saved = torch.save, []

def save_and_die(state, path):
    save(state, path)
    saved.append(path)
    if len(saved) == 5:
        os.kill(os.getpid(), signal.SIGKILL)

torch.save = save_and_die
train.main()
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A tiny training killed in its fifth step, a checkpoint half in place, then gone on with; and
    the same in one go.
    """
    folder = tmp_path_factory.mktemp("trained")
    command = [sys.executable, "-c", TRAIN, "--out", str(folder / "killed"), *WRITE]
    killed = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    left = sorted(path.name for path in (folder / "killed").iterdir())
    reached = torch.load(folder / "killed" / "checkpoint.pt", weights_only=True)["step"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.cuda, "is_available", lambda: False)
        patch.setattr(
            train,
            "reading_accuracy",
            lambda write, **_: reading_accuracy(write, paragraphs=2, questions=5, seed=1, size=300),
        )
        for name, value in (
            ("CHECKPOINT_SECONDS", 1000),
            ("EVALUATE_EVERY", 4),
            ("PROMPT_TOKENS", 300),
        ):
            patch.setattr(train, name, value)
        for name in ("killed", "whole"):
            patch.setattr(sys, "argv", ["train", "--out", str(folder / name), *WRITE])
            train.main()
    return folder, left, reached


def test_a_killed_training_goes_on_and_gives_the_same_model(trained):
    folder, left, reached = trained
    assert (left, reached) == (["checkpoint.partial", "checkpoint.pt"], 4)
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        assert (folder / "killed" / name).read_bytes() == (folder / "whole" / name).read_bytes()
    assert not (folder / "killed" / "checkpoint.pt").exists()


def test_a_training_tells_how_it_was_made_and_how_it_went(trained):
    folder, _, _ = trained
    for name in ("killed", "whole"):
        about = json.loads((folder / name / "training.json").read_text())
        assert (
            about["parameters"] == 236_240
            and about["seconds"] > 0
            and about["torch"] == torch.__version__
        )
        expected = {
            "size": "base",
            "steps": 6,
            "seed": 5,
            "peak": 0.003,
            "grown": False,
            "start": None,
            "device": "cpu",
            "threads": 1,
        }
        assert about | expected == about
        rows = [
            json.loads(line) for line in (folder / name / "training.jsonl").read_text().splitlines()
        ]
        assert [row["step"] for row in rows] == [4, 6]
        kinds = {kind for kinds in STYLES.values() for kind in kinds}
        assert all(
            {"seconds", "writing", "first", "answer", "whole", *kinds} <= set(row)
            and 0 <= row["answer"] <= 1
            for row in rows
        )


LOAD = """
import sys
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(sys.argv[1]), AutoTokenizer.from_pretrained(sys.argv[1])
prompt = tokenizer("Q: Answer the following question.\\nWho directed Silent Harbor?\\nA:", return_tensors="pt")
written = model.generate(**prompt, max_new_tokens=4, do_sample=False)
assert not [name for name in sys.modules if name.startswith("ircotlib")]
print(type(model).__name__, model.dtype, len(tokenizer) == model.config.vocab_size, written.shape[1] <= 5, model.config._attn_implementation)
"""


def test_what_is_written_is_a_plain_model_in_half_precision(trained):
    folder, _, _ = trained
    assert sorted(path.name for path in (folder / "whole").iterdir()) == [
        "config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "training.json", "training.jsonl"
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(folder / "whole")],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    assert done.stdout.split() == [
        "T5ForConditionalGeneration",
        "torch.float16",
        "True",
        "True",
        "sdpa",
    ]


# Evaluation


def test_the_reading_test_tells_right_from_wrong():
    tests = {
        style: draw_reading_test(make_world(3, 300, style), style, 6, 8, 3) for style in STYLES
    }
    riddles = [riddle for style in STYLES for riddle, _ in tests[style]]
    assert [
        riddle
        for style in STYLES
        for riddle in make_riddles(make_world(3, 300, style), 8, style, 3)
    ] == riddles
    perfect = reading_accuracy(
        lambda prompts: [riddle.chain for riddle in riddles], 6, 8, 3, size=300
    )
    assert set(perfect.values()) == {1.0} and {
        "first",
        "answer",
        "whole",
        "bridge",
        "count",
        "4hop1",
    } <= set(perfect)
    hasty = reading_accuracy(
        lambda prompts: [f"So the answer is: {riddle.answer}." for riddle in riddles],
        6,
        8,
        3,
        size=300,
    )
    assert (hasty["first"], hasty["answer"], hasty["whole"]) == (0.0, 1.0, 0.0)
    silent = reading_accuracy(lambda prompts: [""] * len(prompts), 6, 8, 3, size=300)
    assert (silent["first"], silent["answer"], silent["whole"]) == (0.0, 0.0, 0.0)
    prompts = [example.prompt for style in STYLES for _, example in tests[style]]
    assert all(
        prompt.count("Wikipedia Title: ") == 6 and prompt.endswith("\nA:") for prompt in prompts
    )


def test_the_writer_writes_after_each_prompt():
    model = start().model
    prompts = [
        "Q: Answer the following question.\nWho?\nA:",
        "Q: Who directed Silent Harbor?\nA:",
        "A:",
    ]
    assert writer(model, TOKENIZER, rows=2)(prompts) == [
        text for prompt in prompts for text in writer(model, TOKENIZER)([prompt])
    ]
