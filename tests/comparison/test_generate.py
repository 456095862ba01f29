"""Texts, the encoder of a T5 and the cache of a causal model beside those of transformers."""

import random

import pytest
import tiny
import torch
from tiny import cut, prompts, read, shortest
from torch.nn.functional import pad
from transformers import T5ForConditionalGeneration
from transformers.cache_utils import DynamicLayer

from ircotlib.generation.batches import close_up
from ircotlib.generation.growing import GrowingLayer, OwnLayer
from ircotlib.generation.local import LocalModel
from ircotlib.program import LINE, SENTENCE, SENTENCE_OF_LINE, Generate

STOPS = [SENTENCE, SENTENCE_OF_LINE, LINE, (".", "ka"), None]


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    return tiny.save_each(tmp_path_factory)


@pytest.fixture(params=tiny.KINDS)
def folder(request, folders):
    return folders[request.param]


@pytest.fixture(scope="session")
def generated(folders):
    """The tokens of transformers' own greedy decoding, by kind of model and prompt."""
    written = {}
    for folder in folders.values():
        local = LocalModel(folder)
        vars(local.model).pop("forward", None)  # ours, if it is a small Llama
        for prompt in prompts():
            inputs = local.tokenizer(prompt, return_tensors="pt", return_token_type_ids=False)
            options = {"pad_token_id": 0, "max_new_tokens": 30, "do_sample": False}
            [tokens] = local.model.generate(**inputs, **options).tolist()
            start = 1 if local.is_encoder_decoder else inputs.input_ids.shape[1]
            written[folder, prompt] = tokens[start:]
    return written


@pytest.mark.parametrize("stop", STOPS)
def test_the_texts_are_those_of_generate_cut_at_the_stop(folder, generated, stop):
    local = LocalModel(folder)
    replies = read(local, [Generate(prompt, stop, 30) for prompt in prompts()])
    for prompt, reply in zip(prompts(), replies, strict=True):
        tokens = generated[folder, prompt]
        assert reply["text"] == cut(local.tokenizer.decode(tokens, skip_special_tokens=True), stop)
        assert reply["tokens"] == shortest(local, tokens, stop)
        assert reply["prompt_tokens"] == len(local.tokenizer(prompt).input_ids)
    # the random model does say different things, and stops at different places
    assert len({reply["text"] for reply in replies}) > 8
    assert len({reply["tokens"] for reply in replies}) > 3


def test_a_t5_encoder_reads_padded_prompts_as_transformers_does(folders):
    ours = LocalModel(folders["t5"]).model.encoder
    theirs = T5ForConditionalGeneration.from_pretrained(folders["t5"]).eval().encoder
    assert ours.config._attn_implementation == "row_by_row" != theirs.config._attn_implementation
    ids = torch.randint(3, 300, (5, 40), generator=torch.Generator().manual_seed(0))
    mask = (torch.arange(40) < torch.tensor([[40], [39], [20], [3], [1]])).long()
    for padded in (mask, torch.ones_like(mask)):
        inputs = {"input_ids": ids, "attention_mask": padded}
        with torch.inference_mode():
            states, expected = ours(**inputs)[0][padded == 1], theirs(**inputs)[0][padded == 1]
        torch.testing.assert_close(states, expected, rtol=1e-4, atol=1e-4)


def test_a_cache_with_room_keeps_the_rows_that_a_plain_one_keeps():
    drawn, read = random.Random(0), []
    growing, plain = GrowingLayer(rows=9, columns=70), DynamicLayer()
    for row, rows, columns in ((0, 4, 70), (4, 5, 62)):  # two parts, each read in two steps
        states = torch.rand(2, rows, 2, columns, 4)
        part = OwnLayer(growing, slice(row, row + rows), 70 - columns)
        part.update(*states[:, :, :, :30])
        assert all(map(torch.equal, part.update(*states[:, :, :, 30:]), states))
        read.append(pad(states, (0, 0, 70 - columns, 0)))
    plain.update(*torch.cat(read, 1))
    for step in range(80):
        rows = len(plain.keys)
        new = torch.rand(2, rows, 2, 1, 4)
        for layer in (plain, growing):
            layer.update(new[0], new[1])
        assert torch.equal(growing.keys, plain.keys) and torch.equal(growing.values, plain.values)
        if step % 10 == 3:  # some rows end; or, as for samples, rows are drawn anew
            kept = close_up([drawn.random() < 0.8 for _ in range(rows)]) or [0]
            chosen = torch.tensor(kept if step != 43 else drawn.choices(range(rows), k=9))
            plain.batch_select_indices(chosen)
            growing.batch_select_indices(chosen)
