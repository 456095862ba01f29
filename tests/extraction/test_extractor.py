"""The extractive reader, with small untrained DPR readers; shipped: test_training_reader.py."""

import json
import shutil

import pytest

torch = pytest.importorskip("torch")

from asking import ask, ask_one
from safetensors.torch import load_file, save_file
from tiny import copy, save_older_reader, save_reader

from ircotlib.data import Paragraph, Prediction
from ircotlib.engine.cache import Calls
from ircotlib.engine.scheduler import run
from ircotlib.experiment.runs import row_of
from ircotlib.experiment.setup import open_setup
from ircotlib.extraction.extractor import Extractor, best_span
from ircotlib.extraction.repeated_queries import open_duplicates
from ircotlib.generation.batches import cut_batches
from ircotlib.parameters import read_parameters
from ircotlib.program import Duplicate, Extract, Extracted, Outcome, Step

PARK = Paragraph("p", "Walibi Park", "Eddy Meeùs opened the PARK in 1975. It lies near Brussels.")
LONG = "Brussels lies near the park, and it opened in 1976. Who opened it? Eddy. " * 3
TEXTS = ("It opened.", PARK.text, LONG, "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_reader(tmp_path_factory.mktemp("reader"))


@pytest.fixture(scope="module")
def older_folder(folder, tmp_path_factory):
    return save_older_reader(folder, tmp_path_factory.mktemp("older"))


def requests(queries=("Who opened the park?", "when did it open")) -> list[Extract]:
    return [Extract(q, Paragraph("p", "Walibi Park", text)) for q in queries for text in TEXTS]


def extract(reader: Extractor, requests: list[Extract]) -> list[Extracted]:
    return [reader.decode(reply) for reply in ask(reader, requests)]


def check_near(spans: list[Extracted], expected: list[Extracted]) -> None:
    assert [span.text for span in spans] == [span.text for span in expected]
    logits = [span.confidence for span in expected]
    assert [span.confidence for span in spans] == pytest.approx(logits, abs=2e-3)


def test_an_answer_is_of_the_text_as_it_is_written_never_of_the_query_or_the_title(folder):
    """Not even if they contain the token that separates them from the text."""
    asked = (("park [SEP] 1975", "Eddy"), ("[SEP] [SEP]", "[SEP]"), ("", ""))
    rows = [Extract(query, Paragraph("p", title, "NEAR it")) for query, title in asked]
    assert {span.text for span in extract(Extractor(folder), rows)} <= {"NEAR", "it", "NEAR it"}


def test_without_text_there_is_no_answer_and_a_confidence(folder):
    blank = [Extract("who?", Paragraph("p", "Walibi", text)) for text in ("", " \n ", "\u200d")]
    spans = extract(Extractor(folder), blank)
    assert [span.text for span in spans] == ["", "", ""]
    assert spans[0].confidence == spans[1].confidence != 0.0


def test_the_best_span_is_the_first_of_the_highest_and_not_too_long():
    start, end = torch.tensor([1.0, 5.0, 0.0, 5.0]), torch.tensor([9.0, 0.0, 3.0, 0.5])
    assert best_span(start, end, 10) == (0, 0)
    assert best_span(start, torch.tensor([0.0, 0.0, 3.0, 3.0]), 10) == (1, 2)
    assert best_span(start, torch.tensor([0.0, 0.0, 3.0, 9.0]), 2) == (3, 3)
    assert best_span(torch.tensor([7.0, 0.0, 0.0]), torch.tensor([0.0, 0.0, 9.0]), 2) == (1, 2)
    assert best_span(torch.zeros(0), torch.zeros(0), 10) is None


def test_batches_read_as_one_by_one_do(folder):
    one_by_one = [extract(Extractor(folder), [asked])[0] for asked in requests()]
    for rows, tokens in ((64, 16_384), (3, 16_384), (64, 50)):
        reader = Extractor(folder, batch_rows=rows, batch_tokens=tokens)
        check_near(extract(reader, requests()), one_by_one)
    # a batch is of the shortest that fit
    assert Extractor(folder, batch_rows=3).take(requests()) == [7, 3, 4]
    assert cut_batches([9, 4, 5, 1], 4, 12) == [[3, 1], [2], [0]]
    assert cut_batches([90], 4, 12) == [[0]]


def test_a_paragraph_that_is_too_long_is_cut_at_its_end(folder):
    reader = Extractor(folder)
    room = 512 - len(reader.tokenizer("who?", "Walibi Park")["input_ids"])
    texts = ["it " * room, "it " * room + "park " * 300, "it " * (room - 1)]
    paragraphs = [Paragraph("p", "Walibi Park", text) for text in texts]
    whole, cut, shorter = extract(reader, [Extract("who?", each) for each in paragraphs])
    check_near([whole], [cut])
    assert cut.confidence != shorter.confidence


def test_a_query_that_is_too_long_costs_its_request_only(folder):
    long = Extract("who " * 600, PARK)
    fault, reply = ask(Extractor(folder), [long, Extract("who?", PARK)])
    assert isinstance(fault, ValueError) and "512" in str(fault) and "\n" not in str(fault)
    assert json.loads(reply)["text"] in PARK.text


def test_the_fingerprint_is_that_of_the_files_and_of_the_length(folder, older_folder, tmp_path):
    prints = {Extractor(path).fingerprint for path in (folder, older_folder)}
    prints |= {Extractor(folder, longest=5).fingerprint}
    assert len(prints) == 3 and Extractor(folder, batch_rows=1).fingerprint in prints
    copied = copy(older_folder, tmp_path)
    assert Extractor(copied).fingerprint in prints
    (copied / "pytorch_model.bin").write_bytes(b" ")
    assert Extractor(copied).fingerprint not in prints


def test_weights_that_do_not_fit_are_refused_in_a_line(folder, tmp_path):
    """Unlike those of BERT's pooler; tests/generation/test_folders.py has more of them."""
    copied = copy(folder, tmp_path)
    weights = load_file(folder / "model.safetensors") | {"more": torch.ones(1)}
    save_file(weights, copied / "model.safetensors", {"format": "pt"})
    with pytest.raises(ValueError, match="unexpected: more; 1 in all"):
        ask_one(Extractor(copied), Extract("who?", PARK))


def test_what_is_no_reader_is_refused(tmp_path, folder):
    with pytest.raises(ValueError, match="an encoder-decoder .* expected a DPR reader"):
        Extractor("data/models/mini-base")
    for name in ("/nowhere/reader", "data/models/no-reader"):
        with pytest.raises(FileNotFoundError, match=name):
            Extractor(name)
    shutil.copy(folder / "config.json", tmp_path)
    with pytest.raises(FileNotFoundError, match="safetensors or pytorch_model.bin, a vocabulary"):
        Extractor(tmp_path)
    with pytest.raises(ValueError, match="longest 0"):
        Extractor(folder, longest=0)


def test_a_kept_line_says_what_was_extracted_and_compared():
    asked = Duplicate("who opened it", ("who opened the park",))
    steps = Step(Extract("who?", PARK), Extracted("Eddy", 1.5), False), Step(asked, 0.25, True)
    extracted, compared = row_of("q", Outcome("q", Prediction(), steps))["trace"]
    assert extracted == {"extract": "who?", "from": "p", "text": "Eddy", "confidence": 1.5}
    earlier = ("who opened the park",)
    assert compared == {"duplicate": "who opened it", "of": earlier, "score": 0.25}


def test_a_bench_has_what_its_parameters_name_and_reads_it_when_asked(folder):
    # the paper's checkpoint is downloaded when first asked
    assert "folder" not in vars(Extractor(read_parameters("paper").extractor))
    plain = read_parameters("mini")
    assert plain.extractor == "data/models/mini-reader" and plain.duplicates == ""
    bench = open_setup(plain.change(extractor=str(folder)), "hotpotqa", "try")
    assert bench.extractor.folder == folder and bench.extractor in bench.backends
    assert "model" not in vars(bench.extractor) and bench.duplicates.answers is Duplicate
    none = open_setup(plain.change(extractor=""), "hotpotqa", "try")
    assert none.extractor is None and none.runs != bench.runs
    assert open_setup(plain, "hotpotqa", "try", with_model=False).duplicates is None


def test_all_replies_are_remembered_and_replayed_without_the_model(folder, tmp_path):
    def program():
        span = yield Extract("Who opened the park?", PARK)
        again = yield Duplicate("Who opened a park?", ("Who opened the park?",))
        return span, again, (yield Duplicate("When?", ("Who opened the park?",)))

    results = []
    for computed in ((1, 2), (0, 0)):
        reader = Extractor(folder)
        with Calls(tmp_path / "calls.sqlite") as calls:
            outcomes, counts = run({"q": program()}, [reader, open_duplicates()], calls)
        assert (counts["Extract"]["computed"], counts["Duplicate"]["computed"]) == computed
        assert ("model" in vars(reader)) == ("tokenizer" in vars(reader)) == (computed == (1, 2))
        results.append(outcomes["q"].result)
    assert results[0] == results[1] and results[0][1:] == (1.0, 0.0)
