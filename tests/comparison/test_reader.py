"""The extractive reader beside the DPR reader of transformers."""

from itertools import product

import pytest
import torch
from asking import ask
from tiny import bert_vocabulary, save_older_reader, save_reader, small_reader
from transformers import DPRReaderTokenizer

from ircotlib.data import Paragraph
from ircotlib.extraction.extractor import Extractor
from ircotlib.program import Extract

QUERIES = ("Who opened the park?", "when did it open")
TEXTS = (
    "It opened.",
    "Eddy Meeùs opened the PARK in 1975. It lies near Brussels.",
    "Brussels lies near the park, and it opened in 1976. Who opened it? Eddy. " * 3,
)
PAIRS = [*product(QUERIES, TEXTS)]


@pytest.mark.parametrize("longest", [1, 3, 10])
@pytest.mark.parametrize("older", [False, True])
def test_it_reads_as_transformers_does_one_by_one(tmp_path, older, longest):
    """On the logits of the text only: transformers' `decode_best_spans` searches the title too."""
    path = save_reader(tmp_path / "reader")
    if older:
        path = save_older_reader(path, tmp_path / "older")
    tokenizer = DPRReaderTokenizer.from_pretrained(path)
    model = small_reader(len(bert_vocabulary()))
    reader = Extractor(path, longest=longest)
    rows = [Extract(query, Paragraph("p", "Walibi Park", text)) for query, text in PAIRS]
    for asked, span in zip(rows, map(reader.decode, ask(reader, rows)), strict=True):
        texts = {"titles": asked.paragraph.title, "texts": asked.paragraph.text}
        inputs = tokenizer(asked.query, **texts, return_tensors="pt")
        with torch.no_grad():
            out = model(**inputs)
        assert span.confidence == pytest.approx(out.relevance_logits.item(), abs=2e-3)
        ids = inputs["input_ids"][0].tolist()
        first = 1 + max(at for at, token in enumerate(ids) if token == tokenizer.sep_token_id)
        logits = out.start_logits[0, first:].tolist(), out.end_logits[0, first:].tolist()
        [(start, end)] = tokenizer._get_best_spans(*logits, longest, 1)
        expected = tokenizer.decode(ids[first + start : first + end + 1]).replace("##", "")
        plain = tokenizer.decode(tokenizer(span.text, add_special_tokens=False)["input_ids"])
        assert plain.replace("##", "").replace(" ", "") == expected.replace(" ", "")
