"""Models on this machine write what transformers does, whatever the batch."""

import itertools
import json
import random
import re
from math import nan

import pytest
import torch
from asking import ask, ask_one, read
from tiny import LIMIT, prompts
from transformers import AutoTokenizer, T5ForConditionalGeneration

from ircotlib.errors import UserError
from ircotlib.models.local import LocalModel
from ircotlib.program import LINE, SENTENCE, SENTENCE_OF_LINE, Generate, Message, Sample
from ircotlib.text import cut, stop_end

STOPS = [SENTENCE, SENTENCE_OF_LINE, LINE, (".", "ka"), None]


@pytest.fixture(scope="module")
def generated(folders):
    """The tokens of transformers' own greedy decoding, by kind of model and prompt."""
    written = {}
    for folder in folders.values():
        local, tokenizer = LocalModel(folder), AutoTokenizer.from_pretrained(folder)
        for prompt in prompts():
            inputs = tokenizer(prompt, return_tensors="pt", return_token_type_ids=False)
            options = {"pad_token_id": 0, "max_new_tokens": 30, "do_sample": False}
            [tokens] = local.model.generate(**inputs, **options).tolist()
            start = 1 if local.is_encoder_decoder else inputs.input_ids.shape[1]
            written[folder, prompt] = tokens[start:]
    return written


def shortest(local, tokens, stop) -> int:
    """The number of tokens after which it is certain that the text has stopped."""
    for count in range(1, len(tokens)):
        text, by_word = local.tokens.decode(tokens[:count]), local.tokens.by_word
        if stop and stop_end(text, stop, complete=False, by_word=by_word) is not None:
            return count
    return len(tokens)


@pytest.mark.parametrize("stop", STOPS)
def test_the_texts_are_those_of_generate_cut_at_the_stop(folder, generated, stop):
    """And no row is computed after its stop; those of a batch side by side."""
    local, rows = LocalModel(folder), []
    local.model.register_forward_hook(lambda *given: rows.append(len(given[-1].logits)))
    replies = read(local, [Generate(prompt, stop, 30) for prompt in prompts()])
    for prompt, reply in zip(prompts(), replies, strict=True):
        tokens = generated[folder, prompt]
        assert reply["text"] == cut(local.tokens.decode(tokens), stop)
        assert reply["tokens"] == shortest(local, tokens, stop)
        assert reply["prompt_tokens"] == len(local.tokens.encode(prompt))
    # the random model does say different things, and stops at different places
    assert min(len({r[name] for r in replies}) for name in ("text", "tokens")) > 3
    assert sum(rows) == sum(reply["tokens"] for reply in replies)
    assert len(rows) < sum(rows) / 2


def test_the_batch_changes_nothing_and_a_reply_comes_when_its_row_ends(folder):
    lengths, stops = (itertools.cycle(each) for each in (range(20, 27), STOPS))
    requests = [*map(Generate, prompts(), stops, lengths)]
    local = LocalModel(folder)
    alone = {request: ask_one(local, request) for request in requests}
    shuffled = random.Random(5).sample(requests, len(requests))
    for model in (local, LocalModel(folder, batch_tokens=100, batch_rows=5)):
        assert ask(model, shuffled) == [alone[request] for request in shuffled]
    lengths = [json.loads(reply)["tokens"] for _, reply in local.answer(requests)]
    assert lengths == sorted(lengths) and len({*lengths}) > 3


def test_a_t5_encoder_reads_padded_prompts_as_transformers_does(folders):
    ours = LocalModel(folders["t5"]).model.encoder
    theirs = T5ForConditionalGeneration.from_pretrained(folders["t5"]).eval().encoder
    names = [model.config._attn_implementation for model in (ours, theirs)]
    assert names[0] == "row_by_row" != names[1]
    ids = torch.randint(3, 300, (5, 40), generator=torch.Generator().manual_seed(0))
    mask = (torch.arange(40) < torch.tensor([[40], [39], [20], [3], [1]])).long()
    for padded in (mask, torch.ones_like(mask)):
        inputs = {"input_ids": ids, "attention_mask": padded}
        with torch.inference_mode():
            states, expected = (m(**inputs)[0][padded == 1] for m in (ours, theirs))
        torch.testing.assert_close(states, expected, rtol=1e-4, atol=1e-4)


def test_numbers_too_large_for_the_dtype_are_no_reply(folders):
    small, large = (
        LocalModel(folders["llama"], dtype=name) for name in ("bfloat16", "float16")
    )
    assert small.model.dtype == torch.bfloat16
    for local in (small, large):
        for name, weight in local.model.named_parameters():
            if "mlp.down_proj" in name:
                weight.data = weight.sign() * 60_000
    first, second, *_ = prompts()
    for request in (Generate(first, None, 5), Sample(second, 3, 1.0, None, 5)):
        assert isinstance(ask_one(small, request), str)
        error = ask_one(large, request)
        assert isinstance(error, UserError)
        assert re.search(r"too large for float16 after \d+ tokens.*float32", str(error))


def test_batches_are_the_shortest_prompts_that_fit(folders):
    local = LocalModel(folders["t5"], batch_tokens=40, batch_rows=3)
    lengths = [9, 4, 50, 4, 11, 4]
    requests = [Generate(" ".join(["ka"] * (length - 1))) for length in lengths]
    assert local.take(requests) == [1, 3, 5]  # three rows
    assert local.take(requests[:3] + requests[4:5]) == [1, 0, 3]  # 3 x 11 tokens
    assert local.take(requests[2:3]) == [0]  # longer than a batch: alone
    samples = [Sample("ka", 2), Sample("ka ka", 1), Sample("ka ka", 1)]
    assert local.take(samples) == [0, 1]
    request = Generate(" ".join(["ka"] * 1200), None, 2)  # a T5 has no limit
    assert read(local, [request])[0]["prompt_tokens"] == 1201


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_prompt_longer_than_a_causal_model_can_read_fails_alone(folders, kind):
    local = LocalModel(folders[kind], batch_rows=1)
    prompt = " ".join(["ka"] * 60)
    room = LIMIT - len(local.tokens.encode(prompt))
    fits, too_long = Generate(prompt, None, room), Generate(prompt, None, room + 1)
    replies = ask(local, [too_long, fits, too_long, Generate("ka", None, 3)])
    assert [type(reply) for reply in replies] == [UserError, str, UserError, str]
    assert f"at most {LIMIT - room - 1}, which" in str(replies[0])


WRITES, DRAWS = Generate("ka", None, 5), Sample("ka", 2, 1.0, None, 5)
NONSENSE = [
    (Generate("ka", (".", ""), 5), WRITES, "stop ('.', '')"),
    (Generate((Message("user", "ka"),)), WRITES, "found a chat, expected a text"),
    (Sample("ka", 1, nan), DRAWS, "temperature nan"),
]


@pytest.mark.parametrize(("asked", "other", "named"), NONSENSE)
def test_requests_that_make_no_sense_fail_alone(folders, asked, other, named):
    local = LocalModel(folders["gpt2"])
    assert sorted(local.take([asked, other])) == [0, 1]
    fault, reply = ask(local, [asked, other])
    assert isinstance(fault, ValueError) and "\n" not in str(fault)
    assert named in str(fault)
    assert json.loads(reply)["tokens"] <= 10
