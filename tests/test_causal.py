"""The miniature causal model: how it begins, what its batches say, its attention and losses, its training by the command, and its writing."""

import json
import random
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from ircotlib.generation.local import load
from ircotlib.program import Generate
from ircotlib.prompts import FLAN_T5, GPT3
from ircotlib.world import causal, train
from ircotlib.world.causal import CausalTeacher, encode_causal, make_causal_model, weights_at
from ircotlib.world.draws import Confusers, Plan, draw_conclusion, draw_example
from ircotlib.world.encyclopedia import make_world
from ircotlib.world.evaluate import draw_reading_test, reading_accuracy, writer
from ircotlib.world.examples import EARLIER, LATER
from ircotlib.world.model import make_tokenizer, order_numbers
from ircotlib.world.questions import STYLES
from ircotlib.world.relations import RELATION_NAMES
from ircotlib.world.train import Recipe, Training, draw_batch, draw_worlds, learn

TOKENIZER = make_tokenizer()
PROMPTS = ["Q: Who?\nA:", "Q: Who directed Silent Harbor?\nA: Silent Harbor was directed by", "Q: Who is the director of Silent Harbor?\nA:"]


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def worlds():
    return {style: make_world(1_000_004, 300, style, held_out=False) for style in STYLES}


@pytest.fixture(scope="module")
def examples(worlds):
    """Chains and conclusions of all styles, some with a demonstration, in the form of GPT-3's prompts."""
    rng, drawn = random.Random(1), []
    for style, world in worlds.items():
        drawn += [draw_example(world, style, Confusers(world), rng, Plan(3, n == 0, form=GPT3)) for n in range(4)]
    drawn += [draw_conclusion(worlds[style], rng, style, GPT3) for style in train.CONCLUDED for _ in range(4)]
    return [example for example in drawn if example.target]


@pytest.fixture(scope="module")
def batch(examples):
    return encode_causal(examples, TOKENIZER)


@pytest.fixture(scope="module")
def few(examples):
    """The short ones."""
    return encode_causal(sorted(examples, key=lambda example: len(example.prompt))[:16:2], TOKENIZER)


def start(seed: int = 0) -> Training:
    model = make_causal_model(len(TOKENIZER), seed)
    order_numbers(model, TOKENIZER)
    teacher = CausalTeacher(model.config.hidden_size)
    return Training(model, teacher, torch.optim.AdamW([*model.parameters(), *teacher.parameters()], lr=3e-3))


def words(ids: list[int]) -> str:
    return TOKENIZER.decode(ids)


# How it begins


def test_the_first_heads_begin_with_the_words_before():
    model = make_causal_model(len(TOKENIZER), 0)
    model.set_attn_implementation("eager")
    ids = torch.randint(3, len(TOKENIZER), (1, 600), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        layers = model(ids, output_attentions=True).attentions
    for number, weights in enumerate(layers):
        back = torch.stack([weights[0].diagonal(-n, 1, 2)[:, 20:].mean(1) for n in range(1, 9)], 1)  # heads x words back
        if number < causal.NEAR:
            assert back.argmax(1).tolist() == [0, 1, 2, 3] and back.max(1).values.min() > 0.2
        else:
            assert back.max() < 0.1


def test_heads_begin_with_words_that_are_the_same():
    model = make_causal_model(len(TOKENIZER), 0)
    model.set_attn_implementation("eager")
    ids = torch.randperm(len(TOKENIZER) - 3, generator=torch.Generator().manual_seed(0))[:200] + 3
    with torch.inference_mode():
        weights = model(torch.cat([ids, ids])[None], output_attentions=True).attentions[causal.NEAR][0]
    seen = weights[:, 200:, :200].diagonal(0, 1, 2).mean(1)
    assert (seen > 20 * weights[:, 200:, :200].mean((1, 2))).all()


# What a batch says


def test_what_is_written_is_the_target_after_its_prompt(examples, batch):
    for row, example in enumerate(examples):
        of_row = [(at, token) for r, at, token in batch["written"].tolist() if r == row]
        first, last = of_row[0][0], of_row[-1][0]
        assert [at for at, _ in of_row] == list(range(first, last + 1))
        assert words([token for _, token in of_row]) == TOKENIZER.decode(TOKENIZER(example.target[example.silent :])["input_ids"][: last - first + 1])
        assert (of_row[-1][1] == TOKENIZER.eos_token_id) == example.complete
        ids = batch["input_ids"][row].tolist()
        prompt = TOKENIZER(example.prompt)["input_ids"][:-1]
        assert ids[: len(prompt)] == prompt and TOKENIZER.eos_token_id not in ids
        assert all(ids[at + 1] == token for at, token in of_row if token != TOKENIZER.eos_token_id)
        assert not any(ids[last + 1 if example.complete else last + 2 :])
    assert batch["input_ids"].shape[1] % 32 == 0


def test_a_copied_word_stands_at_its_source_or_in_the_sentence_that_ends_there(batch):
    ids, after = batch["input_ids"].tolist(), 0
    for row, at, source in batch["sources"].tolist():
        assert source <= at
        seen, copy = (TOKENIZER.convert_ids_to_tokens(token) for token in (ids[row][source], ids[row][at + 1]))
        if seen == ".":
            assert ids[row][at + 1] in ids[row][max(0, source - 20) : source]
            after += 1
        else:
            assert seen == copy or (seen.startswith("##") and copy.isdigit())  # a number of years is read off the later year
    assert 0 < after < len(batch["sources"]) / 4


def test_each_fact_is_stated_where_value_and_relation_have_been_read(worlds, batch):
    entities, ids, ends = worlds["hotpotqa"].entities, batch["input_ids"].tolist(), 0
    for row, at, first, last, relation, value in batch["stated"].tolist():
        subject = next(e for name, e in entities.items() if name.split()[0] == words([first]) and name.split()[-1] == words([last]))
        told = TOKENIZER(subject.facts[RELATION_NAMES[relation]])["input_ids"][:-1]
        assert value in told
        if ids[row][at] != value:
            assert words([ids[row][at]]) == "." and value in ids[row][max(0, at - 20) : at - 2]
            ends += 1
    assert 0.2 < ends / len(batch["stated"]) < 0.5


def test_what_is_decided_is_written_next(worlds, batch):
    entities, ids = worlds["hotpotqa"].entities, batch["input_ids"].tolist()
    for row, at, first, last, relation in batch["decided"].tolist():
        subject = next(e for name, e in entities.items() if name.split()[0] == words([first]) and name.split()[-1] == words([last]))
        values = [TOKENIZER(name)["input_ids"][0] for name in (subject.name, subject.facts[RELATION_NAMES[relation]])]
        assert ids[row][at + 1] in values


def test_compared_years_look_back(batch):
    ids, outcomes = batch["input_ids"].tolist(), set()
    for row, at, other, outcome in batch["compared"].tolist():
        assert other < at
        if outcome in (EARLIER, LATER):
            year, other_year = (int(words(ids[row][place - 1 : place + 1])) for place in (at, other))
            assert outcome == (EARLIER if year < other_year else LATER)
            outcomes.add(outcome)
    assert outcomes == {EARLIER, LATER}


def test_prompts_are_gpt3s_and_only_demonstrations_ask_for_a_direct_answer(worlds):
    rng, confusers = random.Random(0), Confusers(worlds["musique"])
    drawn = {n: [draw_example(worlds["musique"], "musique", confusers, rng, Plan(2, n, form=GPT3)) for _ in range(40)] for n in (0, 1)}
    assert not any("Answer the following" in example.prompt for examples in drawn.values() for example in examples)
    direct = {n: [e for e in examples if e.target and not e.target.endswith(".")] for n, examples in drawn.items()}
    assert not direct[0] and direct[1] and not any("answer is" in example.prompt for example in direct[1])
    recipe = Recipe(1000, 0, 1e-3, causal=True)
    batches = [draw_batch(step, recipe, draw_worlds(0, 0)) for step in (0, 3)]
    assert not any("Answer the following" in example.prompt for examples in batches for example in examples)


# Attention and losses


def states_weights_and_gradients(implementation: str, batch) -> tuple[torch.Tensor, list[torch.Tensor], dict[str, torch.Tensor]]:
    """The last states, the weights of all layers at the sources, and the gradients of both."""
    training, (row, at, source) = start(), batch["sources"].T
    training.model.set_attn_implementation(implementation)
    out = training.model.gpt_neox(batch["input_ids"], output_attentions=implementation == "eager", use_cache=False)
    if implementation == "eager":
        weights = [layer[row, 1, at, source] for layer in out.attentions]
    else:
        weights = [weights_at(layer.attention, 1, row, at, source) for layer in training.model.gpt_neox.layers]
    (out.last_hidden_state[row, at].square().sum() - sum((weight + 1e-6).log().mean() for weight in weights)).backward()
    return out.last_hidden_state[row, at], weights, {name: weight.grad for name, weight in training.model.gpt_neox.named_parameters()}


def test_attention_for_training_is_the_usual_one(few):
    found, expected = (states_weights_and_gradients(implementation, few) for implementation in ("remembering", "eager"))
    torch.testing.assert_close(found[0], expected[0], atol=1e-4, rtol=1e-3)
    for weights, usual in zip(found[1], expected[1], strict=True):
        torch.testing.assert_close(weights, usual, atol=1e-5, rtol=1e-3)
    for name, gradient in found[2].items():
        assert (gradient - expected[2][name]).norm() < 1e-3 * expected[2][name].norm() + 1e-4, name


def test_what_comes_later_and_padding_change_nothing(few):
    model, (row, at, _) = start().model, few["written"].T
    longer = torch.cat([few["input_ids"], torch.randint(3, 99, (len(few["input_ids"]), 32))], 1)
    found = [model.gpt_neox(ids, use_cache=False).last_hidden_state[row, at] for ids in (few["input_ids"], longer)]
    torch.testing.assert_close(*found, atol=1e-4, rtol=1e-3)


def test_learning_lowers_every_part_of_the_loss(few):
    training = start()
    parts = [learn(training, few, 3e-3) for _ in range(8)]
    assert set(parts[0]) == {"writing", "looking", "stated", "decided", "comparing"}
    assert all(parts[-1][name] < 0.9 * parts[0][name] for name in parts[0])


# Training by the command, and writing


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
        patch.setattr(sys, "argv", ["train", "--size", "causal", "--steps", "6", "--peak", "0.003", "--seed", "5", "--out", str(folder)])
        train.main()
    return folder, asked


def test_a_training_tells_how_it_was_made_and_how_it_went(trained):
    folder, asked = trained
    about = json.loads((folder / "training.json").read_text())
    expected = {"size": "causal", "steps": 6, "seed": 5, "peak": 0.003, "grown": False, "causal": True, "start": None, "device": "cpu"}
    assert about | expected == about and about["parameters"] == make_causal_model(len(TOKENIZER), 0).num_parameters()
    rows = [json.loads(line) for line in (folder / "training.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [4, 6] and all({"seconds", "writing", "looking", "first", "whole"} <= set(row) for row in rows)
    tests = [test for style in STYLES for test in draw_reading_test(make_world(1, 300, style), style, 2, 5, 1, GPT3)]
    assert asked == 2 * [example.prompt for _, example in tests] and not any("Answer the following" in prompt for prompt in asked)
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
    done = subprocess.run([sys.executable, "-c", LOAD, str(folder), PROMPTS[1]], capture_output=True, text=True, check=True, cwd=folder)
    kind, text = done.stdout.split("\n")[:2]
    assert kind.split() == ["GPTNeoXForCausalLM", "sdpa", "True"]
    model = load(folder, device="cpu")
    replies = [model.decode(reply) for reply in model.answer([Generate(prompt, max_tokens=9) for prompt in PROMPTS])]
    assert replies[1] == text and text
    assert model.count_tokens(PROMPTS[0]) == len(model.tokenizer(PROMPTS[0]).input_ids) == 7


def test_a_batch_is_written_as_one_at_a_time(few):
    training = start()
    for _ in range(8):
        learn(training, few, 3e-3)
    tokenizer = make_tokenizer(ends=False)
    alone = [writer(training.model, tokenizer)([prompt])[0] for prompt in PROMPTS]
    assert writer(training.model, tokenizer)(PROMPTS) == alone == writer(training.model, tokenizer, rows=2)(PROMPTS)
    assert len(set(alone)) > 1 and all(alone)


def test_a_causal_model_does_not_grow(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train", "--size", "causal", "--start", str(tmp_path), "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit):
        train.main()
    assert "leave out --start" in capsys.readouterr().err and not (tmp_path / "out").exists()
