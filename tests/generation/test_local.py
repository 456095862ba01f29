"""Local models write the same texts as `model.generate`, whatever the batch, and compute no row
after its stop. The models are tiny and random.
"""

import hashlib
import itertools
import json
import random
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path
from threading import Event

import huggingface_hub.constants
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

from ircotlib.files.paths import MODELS
from ircotlib.generation.batches import count_cores, side_by_side
from ircotlib.generation.folder import hash_files, is_encoder_decoder
from ircotlib.generation.local import open_model
from ircotlib.generation.tokens import Tokens
from ircotlib.program import LINE, SENTENCE, SENTENCE_OF_LINE, Generate, Message, Retrieve
from ircotlib.running.cache import Calls
from ircotlib.running.scheduler import run
from ircotlib.text import STOP_CHARACTERS, first_sentence, sentence_end

SYLLABLES = ["ka", "lo", "mi", "ra", "ten", "su", "vor", "del", "in", "os"]
STOPS = [SENTENCE, SENTENCE_OF_LINE, LINE, (".", "ka"), None]
LIMIT = 128
SHIPPED = sorted(path.parent for path in MODELS.glob("*/training.json"))


def made_up_words(count=300):
    """Random words, many of which end a sentence, seem to end one, or end a line."""
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
    """A folder for each kind of model, written by save_pretrained."""
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


def answers(local, requests):
    """The replies in the order of the requests, each yielded exactly once."""
    replies = dict(found := list(local.answer(requests)))
    assert len(found) == len(replies) == len(requests)
    return [replies[place] for place in range(len(requests))]


@pytest.fixture(scope="session")
def generated(folders):
    """The tokens of transformers' own greedy decoding, by kind of model and prompt."""
    written = {}
    for kind, folder in folders.items():
        local = open_model(folder)
        for prompt in prompts():
            batch = local.tokenizer(prompt, return_tensors="pt")
            inputs = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask}
            tokens = local.model.generate(
                **inputs, pad_token_id=0, max_new_tokens=30, do_sample=False
            )[0].tolist()
            start = 1 if local.is_encoder_decoder else batch.input_ids.shape[1]
            written[folder, prompt] = tokens[start:]
    return written


def cut(text, stop):
    if isinstance(stop, tuple):
        return min((text.split(mark)[0] for mark in stop), key=len).strip()
    line = text.split("\n")[0]
    cuts = {SENTENCE: first_sentence(text), SENTENCE_OF_LINE: first_sentence(line), LINE: line}
    return cuts.get(stop, text).strip()


def shortest(local, tokens, stop):
    """The number of tokens after which it is certain that the text has stopped."""
    by_word = "Amazon.com" not in local.tokenizer.decode(local.tokenizer("Amazon.com").input_ids)
    for count in range(1, len(tokens)):
        text = local.tokenizer.decode(tokens[:count], skip_special_tokens=True)
        if (
            (stop in (LINE, SENTENCE_OF_LINE) and "\n" in text)
            or (
                stop in (SENTENCE, SENTENCE_OF_LINE)
                and sentence_end(text, False, by_word) is not None
            )
            or (isinstance(stop, tuple) and any(mark in text for mark in stop))
        ):
            return count
    return len(tokens)


@pytest.mark.parametrize("stop", STOPS)
def test_the_texts_are_those_of_generate_cut_at_the_stop(folder, generated, stop):
    local = open_model(folder)
    replies = [
        json.loads(reply)
        for reply in answers(local, [Generate(prompt, stop, 30) for prompt in prompts()])
    ]
    for prompt, reply in zip(prompts(), replies, strict=True):
        tokens = generated[folder, prompt]
        assert reply["text"] == cut(local.tokenizer.decode(tokens, skip_special_tokens=True), stop)
        assert reply["tokens"] == shortest(local, tokens, stop)
        assert reply["prompt_tokens"] == len(local.tokenizer(prompt).input_ids)
    # the random model does say different things,
    assert len({reply["text"] for reply in replies}) > 8
    assert len({reply["tokens"] for reply in replies}) > 3  # and stops at different places


def test_the_batch_changes_nothing(folder):
    requests = [
        Generate(prompt, STOPS[number % len(STOPS)], 20 + number % 7)
        for number, prompt in enumerate(prompts())
    ]
    local = open_model(folder)
    alone = {request: answers(local, [request])[0] for request in requests}
    shuffled = random.Random(5).sample(requests, len(requests))
    assert answers(local, shuffled) == [alone[request] for request in shuffled]
    small = open_model(folder, batch_tokens=100, batch_rows=5)
    assert answers(small, shuffled) == [alone[request] for request in shuffled]


@pytest.mark.parametrize("stop", STOPS)
def test_no_row_is_computed_after_its_stop(folder, stop):
    local, rows = open_model(folder, batch_rows=10), []
    local.threads = 1
    local.model.register_forward_hook(
        lambda module, inputs, output: rows.append(len(output.logits))
    )
    replies = answers(local, [Generate(prompt, stop, 30) for prompt in prompts()])
    assert sum(rows) == sum(json.loads(reply)["tokens"] for reply in replies)
    assert len(rows) < sum(rows) / 2  # and they were computed side by side


def test_no_sentence_ends_without_a_stop_character():
    """Therefore a text without one need not be checked."""
    for characters in product('aB .!?…\n"', repeat=5):
        text = "".join(characters)
        assert sentence_end(text, complete=False) is None or STOP_CHARACTERS & set(text)


def test_max_tokens_is_kept_row_by_row(folder):
    replies = answers(
        open_model(folder),
        [Generate(prompt, None, number + 1) for number, prompt in enumerate(prompts(10))],
    )
    assert all(json.loads(reply)["tokens"] <= number + 1 for number, reply in enumerate(replies))
    assert json.loads(replies[0])["tokens"] == 1


def test_a_t5_encoder_reads_padded_prompts_as_transformers_does(folders):
    ours = open_model(folders["t5"]).model.encoder
    theirs = T5ForConditionalGeneration.from_pretrained(folders["t5"]).eval().encoder
    assert (ours.config._attn_implementation, theirs.config._attn_implementation) == (
        "row_by_row",
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
    local = open_model(folder, dtype=dtype)
    replies = [
        json.loads(reply)
        for reply in answers(local, [Generate(prompt, SENTENCE, 10) for prompt in prompts(8)])
    ]
    assert local.model.dtype == getattr(torch, dtype)
    assert all(1 <= reply["tokens"] <= 10 for reply in replies)


def test_batches_are_the_shortest_prompts_that_fit(folders):
    local = open_model(folders["t5"], batch_tokens=40, batch_rows=3)
    local.threads = 1
    lengths = [9, 4, 50, 4, 11, 4]
    requests = [Generate(" ".join(["ka"] * (length - 1))) for length in lengths]
    assert [local.count_tokens(request.prompt) + 1 for request in requests] == lengths
    assert local.take(requests) == [1, 3, 5]  # three rows
    assert local.take(requests[:3] + requests[4:5]) == [1, 0, 3]  # 3 x 11 tokens
    assert local.take(requests[:1] + requests[2:3] + requests[4:5]) == [0, 2]
    assert local.take(requests[2:3]) == [0]  # longer than a batch: alone


def test_each_core_answers_a_batch_of_a_small_model(folders):
    local = open_model(folders["t5"], batch_rows=3)
    assert local.threads == count_cores()
    requests = [Generate(" ".join(["ka"] * length)) for length in (3, 1, 4, 1, 5, 9, 2)]
    local.threads = 2
    assert local.take(requests) == [1, 3, 6, 0, 2, 4]
    assert local.take(requests[:3]) == [1, 0, 2]  # a batch of two, one of one
    together = answers(local, requests)
    local.threads = 1
    assert answers(local, requests) == together


def test_work_side_by_side_is_yielded_as_it_comes_and_fails_as_it_would_alone():
    gate = Event()

    def first():
        yield "a"
        gate.wait(10)
        yield "c"

    def second():
        yield "b"
        gate.set()

    assert sorted(found := list(side_by_side([first(), second()], 2))) == ["a", "b", "c"]
    assert found[-1] == "c"

    def broken():
        yield "d"
        raise ValueError("torn")

    with pytest.raises(ValueError, match="torn"):
        list(side_by_side([broken(), iter("ef")], 2))
    endless = side_by_side([itertools.count(), itertools.count()], 2)
    assert next(endless) == 0
    endless.close()  # ends the threads; otherwise this test would hang


def test_tokens_are_counted_without_special_ones(folders):
    local = open_model(folders["t5"])
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

    first, second = open_model(folders["t5"], batch_rows=8), open_model(folders["t5"], batch_rows=8)
    (results, counts), (again, recounts) = play(first), play(second)
    assert again == results
    assert counts["computed"] == 32 and counts["batches"] <= 5  # 4 full ones and a smaller one
    assert recounts["computed"] == 0 and recounts["tokens"] == counts["tokens"] > 0
    assert "model" in vars(first) and "model" not in vars(second)


def test_the_fingerprint_is_the_content(folders, tmp_path):
    copy = Path(shutil.copytree(folders["t5"], tmp_path / "elsewhere"))
    (copy / "README.md").write_text("notes")
    (copy / "losses.json").write_text("[3.5]")
    fingerprint = open_model(folders["t5"]).fingerprint
    assert open_model(copy, batch_tokens=10, batch_rows=2).fingerprint == fingerprint
    different = {fingerprint, open_model(copy, dtype="bfloat16").fingerprint}
    for name in ("model.safetensors", "config.json", "tokenizer.json", "generation_config.json"):
        content = (copy / name).read_bytes()
        (copy / name).write_bytes(
            content[:-2] + b"\n" + content[-2:]
            if name.endswith("json")
            else content[:-1] + bytes([content[-1] ^ 1])
        )
        different.add(open_model(copy).fingerprint)
        (copy / name).write_bytes(content)
    assert len(different) == 6
    assert open_model(copy).fingerprint == fingerprint


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
    local = open_model("lab/tiny-t5")
    assert local.name == "lab/tiny-t5"
    assert local.fingerprint == open_model(folders["t5"]).fingerprint
    request = Generate("ka lo", SENTENCE, 10)
    assert answers(local, [request]) == answers(open_model(folders["t5"]), [request])


def test_a_model_that_is_not_there(folders, tmp_path, monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    for name in ("lab/no-such-model", "./models/typo", str(tmp_path / "absent")):
        with pytest.raises(
            FileNotFoundError,
            match="found no folder .*Give a folder written by save_pretrained, or a name on",
        ):
            open_model(name)
    with pytest.raises(
        ValueError, match="found dtype 'int8', expected one of float32, bfloat16, float16"
    ):
        open_model(folders["t5"], dtype="int8")


@pytest.mark.parametrize(
    "left_out",
    [
        "*.safetensors",
        "config.json",
        "tokenizer*",
        "tokenizer.json",
        "tokenizer_config.json",
    ],
)
def test_a_folder_that_lacks_something(folders, tmp_path, left_out):
    expected = r"config.json, tokenizer_config.json, \*.safetensors, a vocabulary"
    copy = shutil.copytree(
        folders["t5"], tmp_path / "copy", ignore=shutil.ignore_patterns(left_out)
    )
    with pytest.raises(
        FileNotFoundError, match=rf"found \[.*\], expected {expected}.*; write the folder with"
    ):
        open_model(copy)


def test_nothing_heavy_is_imported_before_a_reply_must_be_computed():
    script = """
import sys
from ircotlib.generation.local import open_model
for folder in sys.argv[1:]:
    model = open_model(folder)
    assert model.count_tokens("Who is the director of Silent Harbor?") == 8
    assert len(model.fingerprint) == 32 and model.parameters > 1000
    assert model.is_encoder_decoder == ("causal" not in folder and "agent" not in folder)
heavy = {"torch", "transformers", "huggingface_hub", "numpy"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", script, *map(str, SHIPPED)], check=True, timeout=60)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_prompt_longer_than_a_causal_model_can_read_costs_only_itself(folders, kind):
    local = open_model(folders[kind], batch_rows=1)
    prompt = " ".join(["ka"] * 60)
    room = LIMIT - len(local.tokenizer(prompt).input_ids)
    fits, too_long = Generate(prompt, None, room), Generate(prompt, None, room + 1)
    replies = answers(local, [too_long, fits, too_long, Generate("ka", None, 3)])
    assert [type(reply) for reply in replies] == [ValueError, str, ValueError, str]
    assert replies[1::2] == answers(local, [fits, Generate("ka", None, 3)])
    found = f"found a prompt of {LIMIT - room} and max_tokens {room + 1}"
    message = f"reads at most {LIMIT - room - 1} tokens before its reply, {found}; pack .* ka'"
    with pytest.raises(ValueError, match=message):
        raise replies[0]


def test_a_t5_has_no_limit(folders):
    request = Generate(" ".join(["ka"] * 1200), None, 2)
    assert json.loads(answers(open_model(folders["t5"]), [request])[0])["prompt_tokens"] == 1201


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            Generate("ka", "word", 5),
            "found stop 'word', expected 'sentence', 'line', 'sentence of line', a tuple of",
        ),
        (Generate("ka", (), 5), "found stop ()"),
        (Generate("ka", (".", ""), 5), "found stop ('.', '')"),
        (Generate("ka", None, 0), "found max_tokens 0, expected at least 1"),
        (Generate("", None, 5), "found a prompt without a token"),
        (Generate((Message("user", "ka"),)), "found a prompt of 1 messages, but the tokenizer has"),
    ],
)
def test_requests_that_make_no_sense_cost_only_themselves(folders, request_, message):
    local = open_model(folders["gpt2"])
    assert local.take([request_, Generate("ka")]) in ([0, 1], [1, 0])
    fault, reply = answers(local, [request_, Generate("ka", None, 5)])
    assert isinstance(fault, ValueError) and message in str(fault)
    assert json.loads(reply)["tokens"] <= 5


def test_another_request_is_an_error(folders):
    with pytest.raises(TypeError, match="found a Retrieve, expected a Generate"):
        answers(open_model(folders["t5"]), [Retrieve("ka", 3)])


def test_a_reply_is_given_when_its_row_ends(folder):
    """It does not wait for the end of the whole batch."""
    local, passes = open_model(folder), []
    local.threads = 1
    local.model.register_forward_hook(lambda *_: passes.append(1))
    requests = [Generate(prompt, None, tokens) for prompt, tokens in zip(prompts(3), (9, 2, 30))]
    replies = local.answer(requests)
    assert not passes
    given = [(place, len(passes)) for place, reply in replies]
    lengths = [json.loads(reply)["tokens"] for reply in answers(local, requests)]
    assert given == sorted(((at, n) for at, n in enumerate(lengths)), key=lambda pair: pair[1])
    assert len(set(lengths)) > 1


# Models whose weights spell out a text: each token depends only on its position


def spell(folder, tokenizer, text, prompt="Q"):
    """Save a GPT-2 that writes `text` after a prompt as long as `prompt`, then its end."""
    start, tokens = len(tokenizer(prompt).input_ids), [*tokenizer(text).input_ids, 0]
    sizes = {"n_embd": LIMIT, "n_positions": LIMIT, "n_head": 2, "n_layer": 1}
    ends = {"bos_token_id": 0, "eos_token_id": 0, "tie_word_embeddings": False}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **sizes, **ends))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if ".attn." in name or ".mlp." in name or "wte" in name or "lm_head" in name:
                weight.zero_()
        model.transformer.wpe.weight.copy_(torch.eye(LIMIT))
        for place, token in enumerate(tokens):
            model.lm_head.weight[token, start + place - 1] = 1
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return open_model(folder)


def train_tokenizer(model, trainer, pre_tokenizer, decoder):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizer, decoder
    words = "Amazon.com was founded in 1994. It is his. He fired the .30 carbine. It is 'his...'"
    tokenizer.train_from_iterator([words, " ".join(made_up_words())], trainer)
    return tokenizer


def sentencepiece_tokenizer(model, trainer):
    """A tokenizer like those of T5 (unigrams) and of the first Llamas (byte pairs)."""
    metaspace = {"replacement": "▁", "prepend_scheme": "first"}
    special = {"special_tokens": ["</s>", "<unk>"], "show_progress": False, "vocab_size": 400}
    tokenizer = train_tokenizer(
        model,
        trainer(**special, **({"unk_token": "<unk>"} if model.__class__ is models.Unigram else {})),
        pre_tokenizers.Metaspace(**metaspace, split=False),
        decoders.Metaspace(**metaspace),
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", unk_token="<unk>")


PARTS = {
    "bytes": byte_tokenizer,
    "unigrams": lambda: sentencepiece_tokenizer(models.Unigram(), trainers.UnigramTrainer),
    "pairs": lambda: sentencepiece_tokenizer(models.BPE(), trainers.BpeTrainer),
}


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize(
    ("kept", "rest"),
    [
        ("Amazon.com was founded in 1994.", " It is his."),
        ("He fired the .30 carbine.", " He is his."),
        ("It is 'his.'", " He is."),
        ("It is his...", " He is."),
        ("It is his.", ""),
    ],
)
def test_a_sentence_ends_only_where_white_space_follows(tmp_path, kind, kept, rest):
    local = spell(tmp_path, PARTS[kind](), kept + rest)
    assert not local.tokens.by_word
    reply = json.loads(answers(local, [Generate("Q", SENTENCE, 100)])[0])
    assert reply["text"] == kept
    tokens = [*local.tokenizer(kept + rest).input_ids, local.tokenizer.eos_token_id]
    assert reply["tokens"] == shortest(local, tokens, SENTENCE)
    # what follows the stop was looked at
    seen = local.tokenizer.decode(tokens[: reply["tokens"]], skip_special_tokens=True)
    assert seen.startswith(f"{kept} "[: len(kept + rest)])


def test_a_stop_of_which_each_token_is_a_part(tmp_path):
    """The three bytes of "…" are tokens of their own, none of them a character."""
    local = spell(tmp_path, byte_tokenizer(), "It is… his. He")
    assert len(local.tokenizer("…").input_ids) == 3
    reply = json.loads(answers(local, [Generate("Q", SENTENCE, 100)])[0])
    assert reply["text"] == "It is… his."
    local = spell(tmp_path, byte_tokenizer(), "It is… He is his")
    reply = json.loads(answers(local, [Generate("Q", SENTENCE, 100)])[0])
    assert reply["text"] == "It is…"


@pytest.mark.parametrize(
    ("stop", "kept"),
    [
        (("\nQ:",), "So.\n\nThe end"),
        (("\nQ:", "\n\n"), "So."),
        (("end\nQ", "d"), "So.\n\nThe en"),  # "d" is whole before "end\nQ" is
        (("end",), "So.\n\nThe"),
        (("absent",), "So.\n\nThe end\nQ: Who"),
        (LINE, "So."),
    ],
)
def test_texts_as_stops(tmp_path, stop, kept):
    local = spell(tmp_path, byte_tokenizer(), "So.\n\nThe end\nQ: Who")
    reply = json.loads(answers(local, [Generate("Q", stop, 100)])[0])
    assert reply["text"] == kept
    written = local.tokenizer.decode(local.tokenizer("So.\n\nThe end\nQ: Who").input_ids)
    assert (reply["tokens"] <= len(local.tokenizer(written).input_ids)) == ("absent" not in stop)


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize("stop", [("is ",), ("his.",), (". ", "absent"), ("d", "ed in"), ("i",)])
def test_a_row_ends_with_the_token_that_completes_a_text(tmp_path, kind, stop):
    """Even a space, which a token's own text need not show."""
    text = "It is his. He was founded in 1994."
    local = spell(tmp_path, PARTS[kind](), text)
    tokens = local.tokenizer(text).input_ids
    reply = json.loads(answers(local, [Generate("Q", stop, 100)])[0])
    assert reply["tokens"] == shortest(local, tokens, stop) < len(tokens)
    assert reply["text"] == cut(text, stop)


TEMPLATE = (
    "{% for message in messages %}{% if message['role'] == 'system' %}"
    "{{ raise_exception('no system message') }}{% endif %}"
    "<{{ message['role'] }}>{{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def test_messages_are_written_as_the_chat_template_wants_them(tmp_path):
    messages = (Message("user", "Who?"), Message("assistant", "He."), Message("user", "Why?"))
    tokenizer, text = byte_tokenizer(), "<user>Who?\n<assistant>He.\n<user>Why?\n<assistant>"
    tokenizer.chat_template = TEMPLATE
    local = spell(tmp_path, tokenizer, "So.", prompt=text)
    asked = [messages, text, (Message("system", "Be brief."), *messages)]
    reply, as_text, fault = answers(local, [Generate(prompt, None, 20) for prompt in asked])
    assert json.loads(reply)["text"] == "So." and reply == as_text
    assert json.loads(reply)["prompt_tokens"] == len(local.tokenizer(text).input_ids)
    assert "found messages of system, user, assistant, user, which the chat" in str(fault)
    fingerprint = local.fingerprint
    template = tmp_path / "chat_template.jinja"
    template.write_text(template.read_text().replace("<assistant>", "<model>"))
    assert open_model(tmp_path).fingerprint != fingerprint


# What a folder says without its weights


TEXTS = [
    "Wikipedia Title: Silent Harbor\nSilent Harbor is a drama film.\n\nQ: Who?\nA:",
    "  ka lo.  Mi\n",
    "</s> <pad>x<unk></s>",
    "Ögedei–Khan’s “…” 1987-2003, 3.5% 𝔘\u200b\t…",
    "",
]


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_shipped_models_say_what_transformers_says(folder):
    local, theirs = open_model(folder), AutoTokenizer.from_pretrained(folder)
    assert local.tokens._plain is not None
    check_tokens(local.tokens, theirs)
    assert local.parameters == local.model.num_parameters()
    assert local.is_encoder_decoder == local.model.config.is_encoder_decoder
    # so that what was computed once stays valid
    assert local.tokens.by_word and local.fingerprint == hash_files(folder, 1, "float32")


def check_tokens(tokens, theirs):
    for text in TEXTS + prompts(4):
        assert tokens.encode(text) == theirs(text).input_ids
        assert (
            tokens.encode(text, special=False)
            == theirs(text, add_special_tokens=False)["input_ids"]
        )
        assert tokens.decode(tokens.encode(text)) == theirs.decode(
            theirs(text).input_ids, skip_special_tokens=True
        )


def test_other_models_say_what_transformers_says(folder):
    local = open_model(folder)
    assert local.tokens._plain is not None
    check_tokens(local.tokens, local.tokenizer)
    assert local.parameters == local.model.num_parameters()
    assert local.is_encoder_decoder == local.model.config.is_encoder_decoder
    by_word = not folder.name.startswith("gpt2")
    assert local.tokens.by_word == by_word
    assert local.fingerprint == hash_files(folder, 1 if by_word else 2, "float32")


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("llama", "add_bos_token", True),
        ("llama", "bos_token", "<s>"),
        ("llama", "extra_special_tokens", ["ka lo"]),
        ("llama", "clean_up_tokenization_spaces", True),
        ("gpt2", "tokenizer_class", "GPT2Tokenizer"),
    ],
)
def test_a_tokenizer_that_another_file_changes_is_read_by_transformers(
    folders, tmp_path, kind, name, value
):
    copy = Path(shutil.copytree(folders[kind], tmp_path / "copy"))
    about = json.loads((copy / "tokenizer_config.json").read_text())
    (copy / "tokenizer_config.json").write_text(json.dumps(about | {name: value}))
    tokens = Tokens(copy)
    assert tokens._plain is None
    check_tokens(tokens, AutoTokenizer.from_pretrained(copy))


def test_truncation_and_padding_kept_in_tokenizer_json_change_nothing(folders, tmp_path):
    copy = Path(shutil.copytree(folders["llama"], tmp_path / "copy"))
    tokenizer = Tokenizer.from_file(str(copy / "tokenizer.json"))
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=10)
    tokenizer.save(str(copy / "tokenizer.json"))
    assert Tokens(copy).encode(TEXTS[0]) == Tokens(folders["llama"]).encode(TEXTS[0])
    check_tokens(Tokens(copy), AutoTokenizer.from_pretrained(copy))


@pytest.mark.parametrize(
    ("config", "reads"),
    [
        ({"model_type": "t5"}, True),
        ({"model_type": "llama"}, False),
        ({"model_type": "bart"}, True),
        ({"model_type": "opt"}, False),
        ({"model_type": "t5", "is_encoder_decoder": False}, False),
    ],
)
def test_which_models_read_with_an_encoder(tmp_path, config, reads):
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert is_encoder_decoder(tmp_path) == reads


# Weights that do not fit


def damaged(folder, **changes):
    """A copy of a shipped model with tensors replaced, added, or left out (None)."""
    shutil.copytree(MODELS / "mini-base", folder)
    tensors = load_file(folder / "model.safetensors") | changes
    tensors = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    return open_model(folder)


NORM = "encoder.final_layer_norm.weight"
LAST = "decoder.final_layer_norm.weight"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({NORM: None}, f"missing: {NORM}; 1 in all"),
        ({"shared.weight": None}, "missing: .*; . in all"),
        ({NORM: torch.ones(7)}, rf"of another shape: {NORM} \[7\], not \[48\]; 1 in all"),
        ({"extra": torch.ones(7)}, "unexpected: extra; 1 in all"),
        (
            {NORM: None, LAST: torch.ones(7), "b": torch.ones(1), "a": torch.ones(1)},
            f"missing: {NORM}; unexpected: a; unexpected: b; 4 in all",
        ),
    ],
)
def test_weights_that_do_not_fit_are_refused(tmp_path, changes, message):
    local = damaged(tmp_path / "copy", **changes)
    with pytest.raises(ValueError, match=rf"found weights that do not fit .*{message}"):
        list(local.answer([Generate("Q: Who?\nA:", SENTENCE, 5)]))


def test_tied_weights_that_are_written_twice_or_not_at_all_fit(tmp_path):
    shared = load_file(MODELS / "mini-base" / "model.safetensors")["shared.weight"]
    tied = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")
    copy = damaged(tmp_path / "copy", **{name: shared.clone() for name in tied})
    shipped, request = open_model(MODELS / "mini-base"), Generate("Q: Who?\nA:", SENTENCE, 5)
    assert answers(copy, [request]) == answers(shipped, [request])
    whole = AutoModelForSeq2SeqLM.from_pretrained(MODELS / "mini-base").num_parameters()
    assert copy.parameters == shipped.parameters == whole


# Files that are cut off or damaged


def change(name, **values):
    """Change fields of a JSON file in a folder; None removes a field."""

    def act(folder):
        content = json.loads((folder / name).read_text()) | values
        kept = {key: value for key, value in content.items() if value is not None}
        (folder / name).write_text(json.dumps(kept))

    return act


def write(name, content):
    return lambda folder: (folder / name).write_bytes(content)


def cut_off(name, share):
    def act(folder):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: int(share * len(content))])

    return act


def empty_vocabulary(folder):
    return json.loads((folder / "tokenizer.json").read_text())["model"] | {"vocab": {}}


DAMAGED = {  # what is done to the folder of a shipped model, and the file that the error names
    "tokenizer.json is empty": (write("tokenizer.json", b""), "tokenizer.json: found a tokenizer"),
    "tokenizer.json is {}": (write("tokenizer.json", b"{}"), "tokenizer.json: found a tokenizer"),
    "half a tokenizer.json": (cut_off("tokenizer.json", 0.5), "tokenizer.json: found a tokenizer"),
    "tokenizer.json is no text": (write("tokenizer.json", b"\xff"), "tokenizer.json: found a"),
    "an empty vocabulary": (
        lambda folder: change("tokenizer.json", model=empty_vocabulary(folder))(folder),
        "tokenizer.json: found a tokenizer that cannot be read",
    ),
    "tokenizer.json is deep": (write("tokenizer.json", b"[" * 9999), "tokenizer.json: found a"),
    "another tokenizer's class": (
        change("tokenizer_config.json", tokenizer_class="T5Tokenizer"),
        ": found a tokenizer that cannot be read",
    ),
    "half a tokenizer_config.json": (
        cut_off("tokenizer_config.json", 0.5),
        "tokenizer_config.json",
    ),
    "tokenizer_config.json is []": (
        write("tokenizer_config.json", b"[]"),
        "tokenizer_config.json: found [], expected a JSON object",
    ),
    "half a config.json": (cut_off("config.json", 0.5), "config.json: found no JSON (Unt"),
    "config.json is latin-1": (
        write("config.json", b'{"\xe9": 1}'),
        "config.json: found no JSON (line 1, byte 2: 0xe9 is",
    ),
    "config.json is deep": (write("config.json", b"[" * 9999), "config.json: found no JSON (max"),
    "an unknown model_type": (
        change("config.json", model_type="nosuch"),
        "config.json: found a configuration that cannot be read",
    ),
    "no model_type": (change("config.json", model_type=None), "config.json: found a configuration"),
    "a text for a number": (
        change("config.json", num_layers="x", num_hidden_layers="x"),
        "config.json: found a configuration that cannot be read",
    ),
    "half a generation_config.json": (
        cut_off("generation_config.json", 0.5),
        "generation_config.json: found no JSON (",
    ),
    "no weights in the file": (
        write("model.safetensors", b""),
        "model.safetensors: found no header",
    ),
    "half the weights": (cut_off("model.safetensors", 0.5), "bytes, expected"),
    "no header": (write("model.safetensors", b"x" * 99), "model.safetensors: found no header"),
    "a pointer": (
        write("model.safetensors", b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n"),
        "model.safetensors: found a pointer of git-lfs, expected safetensors",
    ),
}


@pytest.mark.parametrize("model", ["mini-base", "mini-causal"])
@pytest.mark.parametrize("how", DAMAGED)
def test_a_file_that_is_damaged_is_named_in_one_line(tmp_path, how, model):
    folder = Path(shutil.copytree(MODELS / model, tmp_path / "copy"))
    damage, found = DAMAGED[how]
    damage(folder)
    with pytest.raises(ValueError) as error:
        answers(open_model(folder), [Generate("Q: Who?\nA:", SENTENCE, 5)])
    message = str(error.value)
    assert message.startswith(str(folder)) and found in message and "\n" not in message
    assert message.endswith("; write or download the folder again") and len(message) < 600


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused(tmp_path, value):
    norm = load_file(MODELS / "mini-base" / "model.safetensors")[NORM]
    local = damaged(tmp_path / "copy", **{NORM: torch.full_like(norm, value)})
    with pytest.raises(ValueError, match=rf"infinite or NaN \({NORM}; 1 in all\)"):
        answers(local, [Generate("Q: Who?\nA:", SENTENCE, 5)])


def test_a_token_that_the_model_does_not_know_costs_only_its_request(folders, tmp_path):
    copy = Path(shutil.copytree(folders["llama"], tmp_path / "copy"))
    about = json.loads((copy / "tokenizer.json").read_text())
    about["model"]["vocab"]["another"] = 99_999
    (copy / "tokenizer.json").write_text(json.dumps(about))
    known, unknown = Generate("ka lo", None, 3), Generate("ka another", None, 3)
    reply, fault = answers(open_model(copy), [known, unknown])
    assert reply == answers(open_model(folders["llama"]), [known])[0]
    assert "found the token 99999 in a prompt, expected one below" in str(fault)
