"""The extractive reader, with small untrained models."""

from itertools import product

import pytest
import tiny
import torch
from asking import ask
from transformers import DPRReaderTokenizer

from ircotlib.data import Paragraph
from ircotlib.models import extractor
from ircotlib.models.extractor import Extractor
from ircotlib.program import Extract

PARK = "Eddy Meeùs opened the PARK in 1975. It lies near Brussels."
LONG = "Brussels lies near the park, and it opened in 1976. Who opened it? Eddy. " * 3
QUERIES = ("Who opened the park?", "when did it open")
TEXTS = ("It opened.", PARK, LONG)


def row(query: str, text: str, title: str = "Walibi Park") -> Extract:
    return Extract(query, Paragraph("p", title, text))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny.save_reader(tmp_path_factory.mktemp("reader"))


@pytest.fixture(scope="module")
def older(folder, tmp_path_factory):
    return tiny.save_older_reader(folder, tmp_path_factory.mktemp("older"))


def extract(reader, requests):
    return [reader.decode(reply) for reply in ask(reader, requests)]


@pytest.mark.parametrize("longest", [1, 10])
@pytest.mark.parametrize("which", ["folder", "older"])
def test_it_reads_as_transformers_does_one_by_one(request, monkeypatch, which, longest):
    """On the logits of the text only: transformers' own decoding searches the title."""
    monkeypatch.setattr(extractor, "LONGEST", longest)
    path = request.getfixturevalue(which)
    tokenizer = DPRReaderTokenizer.from_pretrained(path)
    model = tiny.small_reader()

    def decoded(ids: list[int]) -> str:
        return tokenizer.decode(ids).replace("##", "").replace(" ", "")

    rows = [row(query, text) for query, text in product(QUERIES, TEXTS)]
    for asked, span in zip(rows, extract(Extractor(path), rows), strict=True):
        texts = {"titles": asked.paragraph.title, "texts": asked.paragraph.text}
        inputs = tokenizer(asked.query, **texts, return_tensors="pt")
        with torch.no_grad():
            out = model(**inputs)
        assert span.confidence == pytest.approx(out.relevance_logits.item(), abs=2e-3)
        ids = inputs["input_ids"][0].tolist()
        first = len(ids) - ids[::-1].index(tokenizer.sep_token_id)
        logits = [
            each[0, first:].tolist() for each in (out.start_logits, out.end_logits)
        ]
        [(start, end)] = tokenizer._get_best_spans(*logits, longest, 1)
        read = tokenizer(span.text, add_special_tokens=False)["input_ids"]
        assert decoded(read) == decoded(ids[first + start : first + end + 1])
        assert span.text in asked.paragraph.text


def test_long_paragraphs_are_cut_and_long_queries_fail_alone(folder):
    reader = Extractor(folder)
    room = 512 - len(reader.tokenizer("who?", "Walibi Park")["input_ids"])
    texts = ["it " * room, "it " * room + "park " * 300, "it " * (room - 1), "", " \n "]
    rows = [row("who?", text) for text in texts]
    fault, *replies = ask(reader, [row("who " * 600, PARK), *rows])
    assert isinstance(fault, ValueError) and "\n" not in str(fault)
    assert "expected less than 512" in str(fault)
    whole, cut, shorter, *empty = map(reader.decode, replies)
    assert whole == cut != shorter and [span.text for span in empty] == ["", ""]
    # an answer is never of the query or the title, whatever these contain
    asked = (("park [SEP] 1975", "Eddy"), ("[SEP] [SEP]", "[SEP]"), ("", ""))
    spans = extract(reader, [row(query, "NEAR it", title) for query, title in asked])
    assert {span.text for span in spans} <= {"NEAR", "it", "NEAR it"}


def test_a_model_that_is_no_reader_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="/nowhere/reader"):
        Extractor("/nowhere/reader")
    with pytest.raises(FileNotFoundError, match="found no config.json"):
        Extractor(tmp_path)
