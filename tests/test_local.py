"""Local models: the texts of `model.generate`, whatever the batch, and no row computed after its
stop. The models are tiny and random.
"""

import hashlib
import json
import random
import shutil
from itertools import product
from pathlib import Path

import huggingface_hub.constants
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

from ircotlib.calls import Calls
from ircotlib.generation.local import STOP_CHARACTERS, load
from ircotlib.program import LINE, SENTENCE, Generate
from ircotlib.scheduler import run
from ircotlib.text import first_sentence, sentence_end

SYLLABLES = ["ka", "lo", "mi", "ra", "ten", "su", "vor", "del", "in", "os"]
STOPS = [SENTENCE, LINE, None]
LIMIT = 128


def made_up_words(count=300):
    """Words of which many end a sentence, or seem to, or end a line."""
    rng, words = random.Random(1), {}
    while len(words) < count:
        word = "".join(rng.choices(SYLLABLES, k=rng.randint(1, 3)))
        words[
            rng.choice(
                [
                    word,
                    word.capitalize(),
                    f"{word}.",
                    f"{word}?",
                    f"{word}!",
                    f"{word},",
                    f"{word}\n",
                    "Dr.",
                    "U.S.",
                ]
            )
        ] = None
    return list(words)


def word_tokenizer():
    words = ["<pad>", "</s>", "<unk>", *made_up_words()]
    tokenizer = Tokenizer(
        models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )


def byte_tokenizer():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = (
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        decoders.ByteLevel(),
    )
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=500, special_tokens=["<end>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([" ".join(made_up_words())], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>")


def t5(vocabulary):
    sizes = {
        "d_model": 32,
        "d_kv": 8,
        "d_ff": 64,
        "num_layers": 2,
        "num_decoder_layers": 2,
        "num_heads": 2,
        "initializer_factor": 4.0,
    }
    model = T5ForConditionalGeneration(
        T5Config(
            vocab_size=vocabulary, decoder_start_token_id=0, tie_word_embeddings=False, **sizes
        )
    )
    for stack in (model.encoder, model.decoder):
        torch.nn.init.normal_(
            stack.block[0].layer[0].SelfAttention.relative_attention_bias.weight, std=3
        )
    return model


def gpt2(vocabulary):
    sizes = {
        "n_embd": 32,
        "n_layer": 2,
        "n_head": 2,
        "n_positions": LIMIT,
        "initializer_range": 0.5,
    }
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=vocabulary,
            bos_token_id=0,
            eos_token_id=0,
            tie_word_embeddings=False,
            **sizes,
        )
    )


def llama(vocabulary):
    sizes = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    }
    ends = {"bos_token_id": 1, "eos_token_id": [1, 7]}
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary,
            max_position_embeddings=LIMIT,
            initializer_range=0.3,
            **ends,
            **sizes,
        )
    )


# how much likelier the end is made, so that some texts have one
ENDS = {"t5": 3.0, "gpt2": 1.5, "llama": 1.5}
KINDS = {
    "t5": (t5, word_tokenizer),
    "gpt2": (gpt2, byte_tokenizer),
    "llama": (llama, word_tokenizer),
}


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """A folder for each kind of model, as save_pretrained writes it."""
    made = {}
    for kind, (make, make_tokenizer) in KINDS.items():
        torch.manual_seed(3)
        made[kind], tokenizer = tmp_path_factory.mktemp(kind), make_tokenizer()
        model = make(len(tokenizer))
        with torch.no_grad():
            model.lm_head.weight[tokenizer.eos_token_id] *= ENDS[kind]
        model.save_pretrained(made[kind])
        tokenizer.save_pretrained(made[kind])
    return made


@pytest.fixture(params=KINDS)
def folder(request, folders):
    return folders[request.param]


def prompts(count=16, longest=25):
    rng = random.Random(3)
    words = [word.strip() for word in made_up_words()]
    return [" ".join(rng.choices(words, k=rng.randint(1, longest))) for _ in range(count)]


def generated(local, prompt, max_tokens):
    """The tokens of transformers' own greedy decoding."""
    batch = local.tokenizer(prompt, return_tensors="pt")
    inputs = {
        "input_ids": batch.input_ids,
        "attention_mask": batch.attention_mask,
        "pad_token_id": 0,
    }
    written = local.model.generate(**inputs, max_new_tokens=max_tokens, do_sample=False)[0].tolist()
    return written[1:] if local.config.is_encoder_decoder else written[batch.input_ids.shape[1] :]


def cut(text, stop):
    return {SENTENCE: first_sentence(text), LINE: text.split("\n")[0], None: text}[stop].strip()


def shortest(local, tokens, stop):
    """How many of the tokens have to be written before it is known that the text has stopped."""
    for count in range(1, len(tokens)):
        text = local.tokenizer.decode(tokens[:count], skip_special_tokens=True)
        if (stop == LINE and "\n" in text) or (
            stop == SENTENCE and sentence_end(text, complete=False) is not None
        ):
            return count
    return len(tokens)


@pytest.mark.parametrize("stop", STOPS)
def test_the_texts_are_those_of_generate_cut_at_the_stop(folder, stop):
    local = load(folder)
    replies = [
        json.loads(reply)
        for reply in local.answer([Generate(prompt, stop, 30) for prompt in prompts()])
    ]
    for prompt, reply in zip(prompts(), replies, strict=True):
        tokens = generated(local, prompt, 30)
        assert reply["text"] == cut(local.tokenizer.decode(tokens, skip_special_tokens=True), stop)
        assert reply["tokens"] == shortest(local, tokens, stop)
        assert reply["prompt_tokens"] == len(local.tokenizer(prompt).input_ids)
    # the random model does say different things,
    assert len({reply["text"] for reply in replies}) > 8
    assert len({reply["tokens"] for reply in replies}) > 3  # and stops at different places


def test_the_batch_changes_nothing(folder):
    requests = [
        Generate(prompt, STOPS[number % 3], 20 + number % 7)
        for number, prompt in enumerate(prompts())
    ]
    local = load(folder)
    alone = {request: local.answer([request])[0] for request in requests}
    shuffled = random.Random(5).sample(requests, len(requests))
    assert local.answer(shuffled) == [alone[request] for request in shuffled]
    assert load(folder, batch_tokens=100, batch_rows=5).answer(shuffled) == [
        alone[request] for request in shuffled
    ]


@pytest.mark.parametrize("stop", STOPS)
def test_no_row_is_computed_after_its_stop(folder, stop):
    local, rows = load(folder, batch_rows=10), []
    local.model.register_forward_hook(
        lambda module, inputs, output: rows.append(len(output.logits))
    )
    replies = local.answer([Generate(prompt, stop, 30) for prompt in prompts()])
    assert sum(rows) == sum(json.loads(reply)["tokens"] for reply in replies)
    assert len(rows) < sum(rows) / 2  # and they were computed side by side


def test_no_sentence_ends_without_a_stop_character():
    """So a text without one need not be looked at."""
    for characters in product('aB .!?…\n"', repeat=5):
        text = "".join(characters)
        assert sentence_end(text, complete=False) is None or STOP_CHARACTERS & set(text)


def test_max_tokens_is_kept_row_by_row(folder):
    replies = load(folder).answer(
        [Generate(prompt, None, number + 1) for number, prompt in enumerate(prompts(10))]
    )
    assert all(json.loads(reply)["tokens"] <= number + 1 for number, reply in enumerate(replies))
    assert json.loads(replies[0])["tokens"] == 1


def test_a_t5_encoder_reads_padded_prompts_as_transformers_does(folders):
    ours = load(folders["t5"]).model.encoder
    theirs = T5ForConditionalGeneration.from_pretrained(folders["t5"]).eval().encoder
    assert (ours.config._attn_implementation, theirs.config._attn_implementation) == (
        "padding_column",
        "sdpa",
    )
    ids = torch.randint(3, 300, (5, 40), generator=torch.Generator().manual_seed(0))
    mask = (torch.arange(40) < torch.tensor([[40], [39], [20], [3], [1]])).long()
    with torch.inference_mode():
        for padded in (mask, torch.ones_like(mask)):
            found, expected = (
                stack(input_ids=ids, attention_mask=padded).last_hidden_state[padded == 1]
                for stack in (ours, theirs)
            )
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
        unmasked = theirs(input_ids=ids).last_hidden_state[mask == 1]
        assert (
            unmasked - ours(input_ids=ids, attention_mask=mask).last_hidden_state[mask == 1]
        ).abs().max() > 0.1


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_other_dtypes(folder, dtype):
    local = load(folder, dtype=dtype)
    replies = [
        json.loads(reply)
        for reply in local.answer([Generate(prompt, SENTENCE, 10) for prompt in prompts(8)])
    ]
    assert local.model.dtype == getattr(torch, dtype)
    assert all(1 <= reply["tokens"] <= 10 for reply in replies)


def test_batches_are_the_shortest_prompts_that_fit(folders):
    local = load(folders["t5"], batch_tokens=40, batch_rows=3)
    lengths = [9, 4, 50, 4, 11, 4]
    requests = [Generate(" ".join(["ka"] * (length - 1))) for length in lengths]
    assert [local.count_tokens(request.prompt) + 1 for request in requests] == lengths
    assert local.take(requests) == [1, 3, 5]  # three rows
    assert local.take(requests[:3] + requests[4:5]) == [1, 0, 3]  # 3 x 11 tokens
    assert local.take(requests[:1] + requests[2:3] + requests[4:5]) == [0, 2]
    assert local.take(requests[2:3]) == [0]  # longer than a batch: alone


def test_tokens_are_counted_without_special_ones(folders):
    local = load(folders["t5"])
    assert local.count_tokens("ka lo") == 2 and local.count_tokens("") == 0
    assert len(local.tokenizer("ka lo").input_ids) == 3


def test_a_replayed_run_does_not_read_the_weights(folders, tmp_path):
    def two_thoughts(prompt):
        thought = yield Generate(prompt, SENTENCE, 10)
        return thought, (yield Generate(f"{prompt} {thought}", SENTENCE, 10))

    def play(local):
        with Calls(tmp_path / "calls.sqlite") as calls:
            outcomes, counts = run(
                {prompt: two_thoughts(prompt) for prompt in prompts()}, [local], calls
            )
        return [outcome.result for outcome in outcomes.values()], counts["Generate"]

    first, second = load(folders["t5"], batch_rows=8), load(folders["t5"], batch_rows=8)
    (results, counts), (again, recounts) = play(first), play(second)
    assert again == results
    assert counts["computed"] == 32 and counts["batches"] <= 5  # 4 full ones, but for the last
    assert recounts["computed"] == 0 and recounts["tokens"] == counts["tokens"] > 0
    assert "model" in vars(first) and "model" not in vars(second)


def test_the_fingerprint_is_the_content(folders, tmp_path):
    copy = Path(shutil.copytree(folders["t5"], tmp_path / "elsewhere"))
    (copy / "README.md").write_text("notes")
    (copy / "losses.json").write_text("[3.5]")
    fingerprint = load(folders["t5"]).fingerprint
    assert load(copy, batch_tokens=10, batch_rows=2).fingerprint == fingerprint
    different = {fingerprint, load(copy, dtype="bfloat16").fingerprint}
    for name in ("model.safetensors", "config.json", "tokenizer.json", "generation_config.json"):
        content = (copy / name).read_bytes()
        (copy / name).write_bytes(
            content[:-2] + b"\n" + content[-2:]
            if name.endswith("json")
            else content[:-1] + bytes([content[-1] ^ 1])
        )
        different.add(load(copy).fingerprint)
        (copy / name).write_bytes(content)
    assert len(different) == 6
    assert load(copy).fingerprint == fingerprint


def test_a_name_on_the_hub_that_was_downloaded_before(folders, tmp_path, monkeypatch):
    """The layout of the hub's cache: weights under their SHA-256, linked into a snapshot of the
    commit.
    """
    commit, base = "c" * 40, tmp_path / "models--lab--tiny-t5"
    snapshot, blobs = base / "snapshots" / commit, base / "blobs"
    for path in (snapshot, blobs, base / "refs"):
        path.mkdir(parents=True)
    (base / "refs" / "main").write_text(commit)
    for path in folders["t5"].iterdir():
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        blob = blobs / (digest if path.suffix == ".safetensors" else digest[:40])
        shutil.copy(path, blob)
        (snapshot / path.name).symlink_to(blob)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    local = load("lab/tiny-t5")
    assert local.name == "lab/tiny-t5"
    assert local.fingerprint == load(folders["t5"]).fingerprint
    request = Generate("ka lo", SENTENCE, 10)
    assert local.answer([request]) == load(folders["t5"]).answer([request])


def test_a_model_that_is_not_there(folders, tmp_path, monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    for name in ("lab/no-such-model", "./models/typo", str(tmp_path / "absent")):
        with pytest.raises(
            FileNotFoundError,
            match="found no folder .*Give a folder written by save_pretrained, or a name on the hub",
        ):
            load(name)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(
        FileNotFoundError,
        match=r"expected config.json and \*.safetensors, found \['config.json'\]; write the folder with",
    ):
        load(tmp_path)
    with pytest.raises(
        ValueError, match="found dtype 'int8', expected one of float32, bfloat16, float16"
    ):
        load(folders["t5"], dtype="int8")


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_prompt_longer_than_a_causal_model_can_read(folders, kind):
    local = load(folders[kind])
    prompt = " ".join(["ka"] * 60)
    room = LIMIT - len(local.tokenizer(prompt).input_ids)
    local.answer([Generate(prompt, None, room)])
    message = f"reads at most {LIMIT} tokens, found a prompt of {LIMIT - room} and max_tokens {room + 1}; pack .* ka'"
    with pytest.raises(ValueError, match=message):
        local.answer([Generate(prompt, None, room + 1)])


def test_a_t5_has_no_limit(folders):
    assert (
        json.loads(load(folders["t5"]).answer([Generate(" ".join(["ka"] * 1200), None, 2)])[0])[
            "prompt_tokens"
        ]
        == 1201
    )


def test_requests_that_make_no_sense(folders):
    for request in (Generate("ka", "word", 5), Generate("ka", None, 0)):
        with pytest.raises(
            ValueError,
            match="found stop .* and max_tokens .*, expected stop 'sentence', 'line' or None and at least 1",
        ):
            load(folders["t5"]).answer([request])
