"""Training the T5s and the causal model: attention, growing, the plan of a training, resuming after
a kill, and the files that it writes.
"""

import json
import random
import sys
from dataclasses import replace
from functools import partial
from itertools import combinations_with_replacement

import pytest

torch = pytest.importorskip("torch")

from transformers import AutoTokenizer, GPTNeoXForCausalLM, T5ForConditionalGeneration

from ircot_laboratory.questions.questions import DATASETS
from ircot_laboratory.world.encyclopedia import make_world
from ircot_laboratory.world.names import is_held_out
from ircotlib.files.paths import MODELS
from ircotlib.generation.local import LocalModel
from ircotlib.program import Generate
from ircotlib.prompting.prompt import FLAN_T5, GPT3
from training import loop
from training.loop import Training
from training.t5 import __main__ as command
from training.t5 import draw_examples as draws
from training.t5 import learn as learning
from training.t5 import recipe
from training.t5.causal_model import make_causal_model
from training.t5.draw_examples import Plan, draw_conclusion, draw_prompt_example
from training.t5.encode import encode
from training.t5.evaluate import draw_reading_test, reading_accuracy, writer
from training.t5.grow import grow
from training.t5.learn import learn_t5, make_parts, start_t5
from training.t5.model import make_t5, make_tokenizer
from training.t5.recipe import SIZES, T5Recipe
from training.t5.teach import t5_losses
from training.words import order_numbers
from training.worlds import draw_worlds

TOKENIZER = make_tokenizer()
WRITE = ["--steps", "4", "--peak", "0.003", "--seed", "5"]
FILES = "config.json generation_config.json model.safetensors tokenizer.json".split()
FILES += "tokenizer_config.json training.json training.jsonl".split()
PARTS = "writing looking carrying asking belonging about stated decided comparing".split()


@pytest.fixture(scope="module")
def batch():
    """Chains and conclusions, with padding in prompts and targets."""
    world, rng = make_world(1_000_004, 300, "hotpotqa", held_out=False), random.Random(1)
    plans = [Plan(rng.choice((2, 5)), 0) for _ in range(6)]
    chains = [draw_prompt_example(world, "hotpotqa", rng, plan) for plan in plans]
    conclusions = [draw_conclusion(world, rng, "hotpotqa") for _ in range(6)]
    return encode([*(chain for chain in chains if chain.target), *conclusions], TOKENIZER)


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def start(size: str = "base") -> Training:
    model = make_t5(size, len(TOKENIZER), 0)
    order_numbers(model, TOKENIZER)
    return Training(*make_parts(model, 3e-3))


def error(found: torch.Tensor, expected: torch.Tensor) -> float:
    """The error relative to the norm of the expected tensor."""
    return ((found.float() - expected.float()).norm() / expected.float().norm()).item()


def inputs(batch, rows: int = 99) -> dict[str, torch.Tensor]:
    names = ("input_ids", "attention_mask", "decoder_input_ids")
    return {name: batch[name][:rows] for name in names}


# Attention


def test_a_training_step_is_that_of_the_usual_attention(batch):
    results = {}
    for implementation in ("teaching", "eager"):
        training = start()
        encoder = training.model.encoder
        encoder.set_attn_implementation(implementation)
        for block in encoder.block if implementation == "eager" else ():
            block.layer[0].SelfAttention.register_forward_hook(  # for the losses to read
                lambda module, _, output: setattr(module, "weights", output[-1])
            )
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = sum(t5_losses(training.model, training.teacher, batch).values())
        loss.backward()
        gradients = {name: weight.grad for name, weight in encoder.named_parameters()}
        results[implementation] = loss.item(), gradients
    (loss, gradients), (usual_loss, usual) = results.values()
    assert loss == pytest.approx(usual_loss, rel=0.005)
    attention = [name for name in usual if "SelfAttention" in name]
    assert len({name.split(".")[-2] for name in attention}) == 5
    assert all(error(gradients[name], usual[name]) < 0.1 for name in attention)


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
    model = T5ForConditionalGeneration.from_pretrained(small_models / small)
    grown = make_t5(large, len(TOKENIZER), 1)
    grow(small_models / small, grown)
    grown.encoder.set_attn_implementation("eager")
    with torch.inference_mode():
        found, expected = (one(**inputs(batch, 3)).logits for one in (grown, model))
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_a_grown_model_uses_its_new_dimensions_after_a_few_steps(small_models, batch):
    training = start("large")
    grow(small_models / "base", training.model)
    weights, width = dict(training.model.named_parameters()), SIZES["base"]["d_model"]
    writing = [w for name, w in weights.items() if name.endswith((".o.weight", ".wo.weight"))]
    new = [weights["shared.weight"][:, width:], *(weight[width:] for weight in writing)]
    assert not any(part.any() for part in new)
    losses = [learn_t5(training, batch, 1e-3)["writing"] for _ in range(4)]
    assert all(part.any(0).float().mean() > 0.9 for part in new) and losses[-1] < losses[0]


def test_what_cannot_grow_is_refused(small_models):
    with pytest.raises(ValueError, match=r"found 4 layers and (\d+) words.*and (?!\1)\d+ words"):
        grow(small_models / "base", make_t5("base", len(TOKENIZER) + 1, 0))
    deeper = start().model.config
    deeper.num_layers = 5
    with pytest.raises(ValueError, match="found 4 layers"):
        grow(small_models / "base", T5ForConditionalGeneration(deeper))


# The plan


def test_from_scratch_few_paragraphs_come_first_and_demonstrations_last():
    rng, scratch = random.Random(0), T5Recipe(1000, 0, 1e-3)
    shares = recipe.EASY, recipe.ONE_DATASET, recipe.LATE
    easy, one_dataset, late = (round(1000 * share) for share in shares)
    steps = (easy - 1, easy, one_dataset - 1, one_dataset, late)
    plans = [[scratch.plan(step, rng) for _ in range(100)] for step in steps]
    assert {plan.paragraphs for plan in plans[0]} == {2, 3}
    demonstrations = [{plan.demonstrations for plan in drawn} for drawn in plans]
    assert demonstrations == [{0}, {0}, {0}, {0, 1}, {0, 1, 2, 3}]
    most = [max(plan.paragraphs for plan in drawn) for drawn in plans]
    assert most == sorted(most) and most[-1] == 14
    assert (plans[3][0].begun, plans[4][0].begun) == (0.37, 0.7)
    assert scratch.datasets(one_dataset - 1) == ["hotpotqa"]
    grown = replace(scratch, grown=True)
    assert scratch.datasets(one_dataset) == grown.datasets(0) == [*DATASETS, "musique"]
    plans = [grown.plan(0, rng) for _ in range(200)]
    assert {(plan.demonstrations, plan.begun) for plan in plans} == {(n, 0.7) for n in range(4)}


def test_the_rate_rises_stays_and_falls_and_conclusions_become_more_frequent():
    expected = {0: 5e-6, 99: 5e-4, 199: 1e-3, 6000: 1e-3, 8000: 5.1e-4, 9999: 2e-5}
    rates = {step: T5Recipe(10_000, 0, 1e-3).rate(step) for step in expected}
    assert rates == pytest.approx(expected, rel=0.02)
    scratch = T5Recipe(1000, 0, 1e-3)
    assert [step for step in range(12) if scratch.is_conclusion(step)] == [3, 7, 11]
    assert [step for step in range(600, 609) if scratch.is_conclusion(step)] == [602, 605, 608]


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


# Training


# of the first step with seed 0: another value means that models, examples or losses have changed
@pytest.mark.parametrize(("size", "expected"), [("base", 55.07), ("causal", 100.26)])
def test_a_seed_gives_the_loss_that_it_gave(size, expected, monkeypatch):
    monkeypatch.setattr(draws, "PROMPT_TOKENS", 600)
    plan = T5Recipe(1000, 0, 1e-3, grown=True, causal=size == "causal")
    first = next(learning.take_t5_steps(start_t5(size, plan), plan))
    assert sum(first.values()) == pytest.approx(expected, rel=1e-2)


def test_learning_lowers_every_part_of_the_loss(batch):
    training = start()
    parts = [learn_t5(training, batch, 3e-3) for _ in range(4)]
    assert set(parts[0]) == set(PARTS)
    assert all(parts[-1][name] < parts[0][name] for name in parts[0])


def test_muon_moves_the_matrices_of_the_layers_and_adamw_all_the_rest():
    training = start()
    muon, adamw = ([id(w) for w in o.param_groups[0]["params"]] for o in training.optimizers)
    layers = tuple(f".{layer}.weight" for layer in ("q", "k", "v", "o", "wi", "wo"))
    named = training.model.named_parameters()
    assert set(muon) == {id(weight) for name, weight in named if name.endswith(layers)}
    assert sorted(muon + adamw) == sorted(map(id, training.weights))


def train_few(patch: pytest.MonkeyPatch, folder, *arguments: str) -> list:
    """Run the command with small batches and evaluations; return the styles of the evaluations."""
    styles = []

    def measure(write, style, **_):
        styles.append(style)
        return reading_accuracy(write, paragraphs=2, questions=5, seed=1, size=300, style=style)

    patch.setattr(torch.cuda, "is_available", lambda: False)
    patch.setattr(learning, "reading_accuracy", measure)
    patch.setattr(learning, "writer", partial(writer, longest=9))
    patch.setattr(learning, "EVALUATE_EVERY", 2)
    patch.setattr(draws, "PROMPT_TOKENS", 300)
    patch.setattr(sys, "argv", ["train", "--out", str(folder), *WRITE, *arguments])
    command.main()
    return styles


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Tiny trainings: `killed` in its third step, with a partial checkpoint, and resumed; `whole`,
    the same without interruption; `causal`. Their folder, what the kill left, and the styles of
    the last one's evaluations.
    """
    folder, save, saved = tmp_path_factory.mktemp("trained"), torch.save, []

    def save_and_die(state, path):
        save(state, path)
        saved.append(path)
        if len(saved) == 4:
            raise RuntimeError("killed")

    with pytest.MonkeyPatch.context() as patch, pytest.raises(RuntimeError, match="killed"):
        patch.setattr(loop, "SECONDS", -1)
        patch.setattr(torch, "save", save_and_die)
        train_few(patch, folder / "killed")
    left = sorted(path.name for path in (folder / "killed").iterdir())
    reached = torch.load(folder / "killed" / "checkpoint.pt", weights_only=True)["step"]
    with pytest.MonkeyPatch.context() as patch:
        train_few(patch, folder / "killed")
        train_few(patch, folder / "whole")
        styles = train_few(patch, folder / "causal", "--size", "causal")
    return folder, (left, reached), styles


def test_a_killed_training_goes_on_and_gives_the_same_model(trained):
    folder, left, _ = trained
    assert left == (["checkpoint.partial", "checkpoint.pt"], 2)
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        assert (folder / "killed" / name).read_bytes() == (folder / "whole" / name).read_bytes()
    assert not (folder / "killed" / "checkpoint.pt").exists()


@pytest.mark.parametrize("name", ["killed", "whole", "causal"])
def test_a_training_tells_how_it_was_made_and_how_it_went(trained, name):
    folder, is_causal = trained[0] / name, name == "causal"
    about = json.loads((folder / "training.json").read_text())
    causal = make_causal_model(len(TOKENIZER), 0).num_parameters()
    expected = {"size": "causal" if is_causal else "base", "steps": 4, "seed": 5, "peak": 0.003}
    expected |= {"grown": False, "causal": is_causal, "start": None, "device": "cpu", "threads": 1}
    expected |= {"parameters": causal if is_causal else 236_240, "torch": torch.__version__}
    assert about | expected == about and isinstance(about["seconds"], int)
    rows = [json.loads(line) for line in (folder / "training.jsonl").read_text().splitlines()]
    kinds = {kind for kinds in DATASETS.values() for kind in kinds}
    fields = {"seconds", "writing", "looking", "first", "answer", "whole", *kinds}
    assert [row["step"] for row in rows] == [2, 4] and all(fields <= set(row) for row in rows)


def test_a_causal_model_is_measured_on_prompts_of_its_style(trained):
    assert trained[-1] == [GPT3, GPT3]
    world = make_world(1, 300, "hotpotqa")
    tests = [draw_reading_test(world, "hotpotqa", 2, 5, 1, style) for style in (FLAN_T5, GPT3)]
    for (_, usual), (_, causal) in zip(*tests, strict=True):
        stated = FLAN_T5.template("cot").instruction
        prompt = usual.prompt.replace(f"Q: {stated}\n", "Q: ")
        assert prompt == causal.prompt != usual.prompt


@pytest.mark.parametrize(
    ("name", "kind"), [("whole", T5ForConditionalGeneration), ("causal", GPTNeoXForCausalLM)]
)
def test_what_is_written_are_plain_models_in_half_precision_that_answer(trained, name, kind):
    folder, is_causal = trained[0] / name, name == "causal"
    assert sorted(path.name for path in folder.iterdir()) == FILES
    model, tokenizer = kind.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    assert (model.dtype, model.config._attn_implementation) == (torch.float16, "sdpa")
    assert model.config.architectures == [kind.__name__]
    assert len(tokenizer) == model.config.vocab_size
    asked = "Q: Who directed Silent Harbor?\nA: Silent Harbor was directed by"
    ids = tokenizer(asked, return_tensors="pt")
    written = model.float().generate(**ids, max_new_tokens=9, do_sample=False)[0]
    written = written[ids.input_ids.shape[1] if is_causal else 1 :]
    text = tokenizer.decode(written, skip_special_tokens=True).strip()
    requests = [Generate(prompt, max_tokens=9) for prompt in ("Q: Who?\nA:", asked)]
    local = LocalModel(folder, device="cpu")
    replies = [local.decode(reply) for _, reply in sorted(local.answer(requests))]
    assert replies[1] == text and (text or not is_causal)
    # what a causal model continues does not end
    assert (tokenizer(asked).input_ids[-1] == tokenizer.eos_token_id) != is_causal


# The command


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--start", "/nonexistent"], "found no /nonexistent/config.json"),
        (["--size", "causal", "--start", "x"], "leave out --start"),
        (["--start", str(MODELS / "mini-large")], "found a t5, 64 wide"),
        (["--start", str(MODELS / "mini-causal")], "found a gpt_neox"),
    ],
)
def test_wrong_options_are_refused_in_one_line_before_any_work(
    arguments, message, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(sys, "argv", ["train", "--out", str(tmp_path / "out"), *arguments])
    with pytest.raises(SystemExit):
        command.main()
    [line] = [line for line in capsys.readouterr().err.splitlines() if "error: " in line]
    assert message in line and not (tmp_path / "out").exists()


# Evaluation


def test_the_reading_test_tells_right_from_wrong():
    tests = []
    for dataset in DATASETS:
        tests += draw_reading_test(make_world(3, 300, dataset), dataset, 6, 8, 3)

    def measure(write):
        texts = [write(riddle) for riddle, _ in tests]
        return reading_accuracy(lambda prompts: texts, 6, 8, 3, size=300)

    perfect = measure(lambda riddle: riddle.chain)
    assert set(perfect.values()) == {1.0}
    assert {"first", "answer", "whole", "bridge", "count", "4hop1"} <= set(perfect)
    hasty = measure(lambda riddle: f"So the answer is: {riddle.answer}.")
    silent = measure(lambda riddle: "")
    for measured, expected in ((hasty, [0, 1, 0]), (silent, [0, 0, 0])):
        assert [measured[name] for name in ("first", "answer", "whole")] == expected
    for _, example in tests:
        assert example.prompt.count("Wikipedia Title: ") == 6 and example.prompt.endswith("\nA:")


def test_the_writer_writes_after_each_prompt():
    model = start().model
    direct = "Q: Answer the following question.\nWho?\nA:"
    prompts = [direct, "Q: Who directed Silent Harbor?\nA:", "A:"]
    write = writer(model, TOKENIZER, longest=30)
    alone = [text for prompt in prompts for text in write([prompt])]
    assert writer(model, TOKENIZER, rows=2, longest=30)(prompts) == alone
    assert all(len(TOKENIZER(text)["input_ids"]) <= 31 for text in alone)
