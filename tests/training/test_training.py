"""Training the miniature models: attention, growing, the plan of a training, resuming after a kill,
and the files that it writes.
"""

import json
import os
import random
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from itertools import combinations_with_replacement
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from transformers import T5ForConditionalGeneration
from transformers.models.t5.modeling_t5 import eager_attention_forward

from ircot_laboratory.questions.questions import DATASETS, make_riddles
from ircot_laboratory.world.encyclopedia import make_world
from ircot_laboratory.world.names import is_held_out
from ircotlib.files.paths import MODELS
from ircotlib.generation.local import LocalModel
from ircotlib.program import Generate
from ircotlib.prompting.prompt import FLAN_T5, GPT3
from training.checkpoint import Training
from training.t5 import __main__ as train
from training.t5 import learn as learning
from training.t5 import recipe
from training.t5.attention import padding_column, teaching_attention
from training.t5.causal import make_causal_model
from training.t5.causal_encode import encode_causal
from training.t5.draws import Plan, draw_conclusion, draw_example
from training.t5.encode import encode
from training.t5.evaluate import draw_reading_test, reading_accuracy, writer
from training.t5.grow import grow
from training.t5.learn import learn, make_optimizers, start_training
from training.t5.model import make_model, make_tokenizer, order_numbers
from training.t5.recipe import SIZES, Recipe, draw_batch, draw_worlds
from training.t5.teach import Teacher, total_loss

TOKENIZER = make_tokenizer()
WRITE = ["--steps", "6", "--peak", "0.003", "--seed", "5"]
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
def world():
    return make_world(1_000_004, 300, "hotpotqa", held_out=False)


@pytest.fixture(scope="module")
def batch(world):
    """Chains and conclusions, with padding in prompts and targets."""
    rng = random.Random(1)
    chains = [draw_example(world, "hotpotqa", rng, Plan(rng.choice((2, 5)), 0)) for _ in range(6)]
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
    """The training loss and its gradients, with one of the encoder's forms of attention."""
    training = start()
    training.t5.model.encoder.set_attn_implementation(implementation)
    if implementation == "eager":
        keep_weights(training.t5.model.encoder)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss, _ = total_loss(training.t5.model, training.teacher, batch)
    loss.backward()
    return loss.item(), {name: weight.grad for name, weight in training.t5.model.named_parameters()}


def keep_weights(encoder) -> None:
    """Keep the attention weights where the losses read them."""
    for block in encoder.block:
        attention = block.layer[0].SelfAttention
        attention.register_forward_hook(
            lambda module, _, output: setattr(module, "weights", output[-1])
        )


def error(found: torch.Tensor, expected: torch.Tensor) -> float:
    """The error relative to the norm of the expected tensor."""
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
    """A folder with a model of every size, whose layer norms differ as they do after training."""
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
    grow(small_models / "base", training.t5.model)
    weights, width = dict(training.t5.model.named_parameters()), SIZES["base"]["d_model"]
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
        ValueError,
        match=r"found 4 layers and (\d+) words, expected 4 layers and (?!\1)\d+ words, those",
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
    easy, one_dataset, late = (
        round(1000 * share) for share in (recipe.EASY, recipe.ONE_DATASET, recipe.LATE)
    )
    plans = {
        step: [scratch.plan(step, rng) for _ in range(100)]
        for step in (easy - 1, easy, one_dataset - 1, one_dataset, late)
    }
    assert {plan.paragraphs for plan in plans[easy - 1]} == {2, 3}
    shown = {step: {plan.demonstrations for plan in drawn} for step, drawn in plans.items()}
    assert shown == {
        easy - 1: {0},
        easy: {0},
        one_dataset - 1: {0},
        one_dataset: {0, 1},
        late: {0, 1, 2, 3},
    }
    most = [max(plan.paragraphs for plan in drawn) for drawn in plans.values()]
    assert most == sorted(most) and most[-1] == 14
    assert (plans[one_dataset][0].begun, plans[late][0].begun) == (0.37, 0.7)
    assert (scratch.datasets(one_dataset - 1), scratch.datasets(one_dataset)) == (
        ["hotpotqa"],
        [*DATASETS, "musique"],
    )


def test_a_grown_model_begins_with_what_comes_last():
    rng, grown = random.Random(0), Recipe(1000, 0, 1e-3, grown=True)
    assert grown.datasets(0) == [*DATASETS, "musique"] and {
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
    first = worlds["hotpotqa"]
    assert set(worlds) == set(DATASETS)
    assert all(world.entities == first.entities for world in worlds.values())
    assert draw_worlds(step + 299, 0)["iirc"] == worlds["iirc"]
    assert draw_worlds(step + 300, 0)["iirc"].entities != first.entities
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


# the losses of the first steps with seed 0, as in the training of the shipped models
LOSSES = {
    False: {
        0: {
            "writing": 6.9654,
            "looking": 5.6069,
            "carrying": 2.3741,
            "asking": 5.6353,
            "belonging": 3.856,
            "about": 4.037,
            "stated": 6.7664,
            "decided": 19.828,
        },
        1: {
            "writing": 6.9868,
            "looking": 6.1153,
            "carrying": 2.3903,
            "asking": 6.6319,
            "belonging": 3.8587,
            "about": 3.4279,
            "stated": 6.9977,
            "decided": 19.936,
        },
        2: {
            "writing": 7.0963,
            "looking": 3.5721,
            "carrying": 2.4272,
            "belonging": 3.0629,
            "about": 2.6938,
            "stated": 7.8063,
            "comparing": 11.277,
        },
    },
    True: {
        0: {"writing": 7.2849, "looking": 5.9511, "stated": 68.216, "decided": 33.699},
        1: {"writing": 7.3058, "looking": 6.0604, "stated": 59.36, "decided": 27.189},
        2: {"writing": 7.3725, "looking": 4.5189, "stated": 64.798, "comparing": 9.9731},
    },
}


@pytest.mark.parametrize("causal", [False, True], ids=["t5", "causal"])
def test_a_seed_gives_the_batches_and_losses_that_it_gave(causal, monkeypatch):
    monkeypatch.setattr(recipe, "PROMPT_TOKENS", 600)
    plan, worlds = Recipe(1000, 0, 1e-3, grown=True, causal=causal), draw_worlds(0, 0)
    training = start_training("causal" if causal else "base", plan)
    write_batch = encode_causal if causal else encode
    for step, expected in LOSSES[causal].items():
        batch = write_batch(draw_batch(step, plan, worlds), TOKENIZER)
        found = learn(training, batch, plan.learning_rate(step))
        assert found == pytest.approx(expected, rel=1e-2)


def test_learning_lowers_every_part_of_the_loss(batch):
    training = start()
    parts = [learn(training, batch, 3e-3) for _ in range(6)]
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
        id(weight) for name, weight in training.t5.model.named_parameters() if name.endswith(layers)
    }
    weights = [
        id(weight) for weight in (*training.t5.model.parameters(), *training.teacher.parameters())
    ]
    assert sorted(muon + adamw) == sorted(weights)


TRAIN = """
import os, signal, sys, torch
from training import checkpoint
from training.t5 import learn
from training.t5 import recipe
from training.t5 import __main__ as train
from functools import partial
checkpoint.SECONDS, learn.EVALUATE_EVERY, recipe.PROMPT_TOKENS = -1, 4, 300
learn.writer = partial(learn.writer, longest=9)
measure, few = learn.reading_accuracy, dict(paragraphs=2, questions=5, seed=1, size=300)
learn.reading_accuracy = lambda write, style, **_: measure(write, **few, style=style)
save, saved = torch.save, []

def save_and_die(state, path):
    save(state, path)
    saved.append(path)
    if len(saved) == 5:
        os.kill(os.getpid(), signal.SIGKILL)

torch.save = save_and_die
train.main()
"""


def train_few(patch: pytest.MonkeyPatch, folder, *arguments: str) -> list[str]:
    """Run the command with small batches and evaluations; return the prompts of the evaluations."""
    asked = []

    def measure(write, style, **_):
        def writes(prompts):
            asked.extend(prompts)
            return write(prompts)

        return reading_accuracy(writes, paragraphs=2, questions=5, seed=1, size=300, style=style)

    patch.setattr(torch.cuda, "is_available", lambda: False)
    patch.setattr(learning, "reading_accuracy", measure)
    patch.setattr(learning, "writer", partial(writer, longest=9))
    patch.setattr(learning, "EVALUATE_EVERY", 4)
    patch.setattr(recipe, "PROMPT_TOKENS", 300)
    patch.setattr(sys, "argv", ["train", "--out", str(folder), *WRITE, *arguments])
    train.main()
    return asked


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A tiny training that was killed in its fifth step, with a partial checkpoint, and resumed;
    and the same training without interruption.
    """
    folder = tmp_path_factory.mktemp("trained")
    command = [sys.executable, "-c", TRAIN, "--out", str(folder / "killed"), *WRITE]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    killed = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    left = sorted(path.name for path in (folder / "killed").iterdir())
    reached = torch.load(folder / "killed" / "checkpoint.pt", weights_only=True)["step"]
    with pytest.MonkeyPatch.context() as patch:
        for name in ("killed", "whole"):
            train_few(patch, folder / name)
    return folder, left, reached


@pytest.fixture(scope="module")
def causal(tmp_path_factory):
    """A tiny training of a causal model, and the prompts of its evaluations."""
    folder = tmp_path_factory.mktemp("trained") / "causal"
    with pytest.MonkeyPatch.context() as patch:
        return folder, train_few(patch, folder, "--size", "causal")


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
        kinds = {kind for kinds in DATASETS.values() for kind in kinds}
        assert all(
            {"seconds", "writing", "first", "answer", "whole", *kinds} <= set(row)
            and 0 <= row["answer"] <= 1
            for row in rows
        )


def test_a_causal_training_tells_the_same_and_is_measured_on_prompts_of_its_style(causal):
    folder, asked = causal
    about = json.loads((folder / "training.json").read_text())
    expected = {"size": "causal", "steps": 6, "seed": 5, "peak": 0.003, "grown": False}
    expected |= {"causal": True, "start": None, "device": "cpu"}
    assert about | expected == about
    assert about["parameters"] == make_causal_model(len(TOKENIZER), 0).num_parameters()
    rows = [json.loads(line) for line in (folder / "training.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [4, 6]
    assert all({"seconds", "writing", "looking", "first", "whole"} <= set(row) for row in rows)
    tests = [
        test
        for dataset in DATASETS
        for test in draw_reading_test(make_world(1, 300, dataset), dataset, 2, 5, 1, GPT3)
    ]
    assert asked == 2 * [example.prompt for _, example in tests]
    assert not any("Answer the following" in prompt for prompt in asked)
    other = draw_reading_test(make_world(1, 300, "hotpotqa"), "hotpotqa", 2, 5, 1)[0][1].prompt
    assert other.replace(f"Q: {FLAN_T5.chain_of_thought}\n", "Q: ") == asked[0]


LOAD = """
import json, sys
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer
asked, told = sys.argv[1], []
for kind, folder in zip((AutoModelForSeq2SeqLM, AutoModelForCausalLM), sys.argv[2:]):
    model, tokenizer = kind.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    dtype, prompt = str(model.dtype), tokenizer(asked, return_tensors="pt")
    written = model.float().generate(**prompt, max_new_tokens=9, do_sample=False)
    start = 1 if model.config.is_encoder_decoder else prompt.input_ids.shape[1]
    told.append({
        "kind": type(model).__name__,
        "dtype": dtype,
        "attention": model.config._attn_implementation,
        "words": len(tokenizer) == model.config.vocab_size,
        "text": tokenizer.decode(written[0, start:], skip_special_tokens=True).strip(),
    })
assert not [name for name in sys.modules if name.startswith(("ircotlib", "training"))]
print(json.dumps(told))
"""


def test_what_is_written_are_plain_models_in_half_precision_that_answer(trained, causal):
    folders = [trained[0] / "whole", causal[0]]
    for folder in folders:
        assert sorted(path.name for path in folder.iterdir()) == FILES
        assert json.loads((folder / "config.json").read_text())["dtype"] == "float16"
    asked = "Q: Who directed Silent Harbor?\nA: Silent Harbor was directed by"
    command = [sys.executable, "-c", LOAD, asked, *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folders[0])
    kinds = ["T5ForConditionalGeneration", "GPTNeoXForCausalLM"]
    for folder, kind, told in zip(folders, kinds, json.loads(done.stdout), strict=True):
        model, text = LocalModel(folder, device="cpu"), told.pop("text")
        plain = {"kind": kind, "dtype": "torch.float16", "attention": "sdpa", "words": True}
        assert told == plain
        prompts = ["Q: Who?\nA:", asked, "Q: Who is the director of Silent Harbor?\nA:"]
        requests = [Generate(prompt, max_tokens=9) for prompt in prompts]
        replies = [model.decode(reply) for _, reply in sorted(model.answer(requests))]
        assert replies[1] == text and (text or folder == folders[0])
        # what a causal model continues does not end
        tokens = model.tokenizer(prompts[0]).input_ids
        assert (tokens[-1] == model.tokenizer.eos_token_id) == (folder == folders[0])


# The command


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--start", "/nonexistent"], "found no /nonexistent/config.json, expected --start to be"),
        (["--size", "causal", "--start", "x"], "trained from scratch: leave out --start"),
        (["--start", str(MODELS / "mini-large")], "found a t5, 64 wide in --start"),
        (["--start", str(MODELS / "mini-causal")], "found a gpt_neox in --start"),
    ],
)
def test_wrong_options_are_refused_in_one_line_before_any_work(
    arguments, message, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(sys, "argv", ["train", "--out", str(tmp_path / "out"), *arguments])
    with pytest.raises(SystemExit):
        train.main()
    [line] = [line for line in capsys.readouterr().err.splitlines() if "error: " in line]
    assert message in line and not (tmp_path / "out").exists()


# Evaluation


def test_the_reading_test_tells_right_from_wrong():
    tests = {
        dataset: draw_reading_test(make_world(3, 300, dataset), dataset, 6, 8, 3)
        for dataset in DATASETS
    }
    riddles = [riddle for dataset in DATASETS for riddle, _ in tests[dataset]]
    assert [
        riddle
        for dataset in DATASETS
        for riddle in make_riddles(make_world(3, 300, dataset), 8, dataset, 3)
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
    prompts = [example.prompt for dataset in DATASETS for _, example in tests[dataset]]
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
    write = writer(model, TOKENIZER, longest=30)
    alone = [text for prompt in prompts for text in write([prompt])]
    assert writer(model, TOKENIZER, rows=2, longest=30)(prompts) == alone
    assert [len(TOKENIZER(text)["input_ids"]) <= 31 for text in alone] == [True] * 3
