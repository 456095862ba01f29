"""The documents of the embedded index are the same, in the same order, however many processes make
them.
"""

import json
import random
from pathlib import Path

import pytest
from asking import ask

from ircotlib.data import Paragraph
from ircotlib.files.checksums import take_sums, write_about
from ircotlib.program import Retrieve
from ircotlib.retrieval import analyzer, bm25, documents
from ircotlib.retrieval.analyzer import analyze
from ircotlib.retrieval.bm25 import BM25, build_index
from ircotlib.retrieval.corpus import Corpus, write_corpus
from ircotlib.retrieval.documents import count_processes, make_documents

ODD = (
    'a\t "quote" \\',
    "two\nlines\r\n",
    "\u2028 and \x85",
    "narrow\u202fspace",
    "\U00010428\U0001f469\u200d\U0001f467",
    "DJマックス",
    "",
)


@pytest.fixture
def corpus(tmp_path) -> Corpus:
    """Paragraphs of 300 characters, more than fit into a pipe, some of them odd."""
    chance = random.Random(3)
    words = [
        f"{start}{end}"
        for start in "bcdfghjklm"
        for end in ("anos", "oring", "ulo's", "Agi", "ete")
    ]
    texts = [" ".join(chance.choices(words, k=60)) for _ in range(1500)] + list(ODD)
    chance.shuffle(texts)
    return write_corpus(
        tmp_path / "corpus",
        (Paragraph(str(number), text[:9], text) for number, text in enumerate(texts)),
    )


def test_a_document_is_terms_titles_and_the_position(corpus):
    for position, document in enumerate(make_documents(corpus)):
        found, paragraph = json.loads(document), corpus[position]
        assert [found[field].split(" ")[1:] for field in ("title", "text")] == [
            analyze(paragraph.title),
            analyze(paragraph.text),
        ]
        assert [found["whole_title"], found["lower_title"], found["position"]] == [
            paragraph.title,
            paragraph.title.lower(),
            position,
        ]


@pytest.mark.parametrize("processes", [1, 3])
def test_processes_make_the_documents_of_one(corpus, processes):
    assert [line.rstrip("\n") for line in make_documents(corpus, processes)] == list(
        make_documents(corpus)
    )


def test_an_index_made_by_processes_finds_the_same(corpus, tmp_path, monkeypatch):
    build_index(corpus, tmp_path / "one")
    monkeypatch.setattr(bm25, "count_processes", lambda corpus: 4)  # and 2 writing threads
    build_index(corpus, tmp_path / "four")
    requests = [Retrieve(paragraph.text[:80], 15) for paragraph in list(corpus)[::50]]
    assert ask(BM25(corpus, tmp_path / "four"), requests) == ask(
        BM25(corpus, tmp_path / "one"), requests
    )


def test_a_process_that_breaks_off_is_an_error_and_leaves_no_index(corpus, tmp_path, monkeypatch):
    path = corpus.folder / "paragraphs.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1000] = b"x" * (len(lines[1000]) - 1) + b"\n"
    path.write_bytes(b"".join(lines))
    sums = take_sums(corpus.folder, corpus.about["files"])  # so that it is found while it is read
    write_about(corpus.folder / "corpus.json", corpus.about | {"files": sums})
    monkeypatch.setattr(bm25, "count_processes", lambda corpus: 2)
    with pytest.raises(
        ChildProcessError,
        match=f"stopped at paragraph 1000 with status 1, expected {len(corpus)} paragraphs",
    ):
        build_index(Corpus(corpus.folder), tmp_path / "index")
    assert not (tmp_path / "index").exists()


def test_who_stops_reading_ends_the_processes(corpus):
    made = make_documents(corpus, 2)
    first = next(made)
    made.close()  # waits for them
    assert json.loads(first)["position"] == 0


def test_small_corpora_are_left_to_one_process(corpus, monkeypatch):
    monkeypatch.setattr(documents.os, "sched_getaffinity", lambda process: range(8), raising=False)
    assert count_processes(corpus) == 0
    monkeypatch.setattr(documents, "LARGE", len(corpus))
    assert count_processes(corpus) == 4
    monkeypatch.setattr(documents.os, "sched_getaffinity", lambda process: range(2))
    assert count_processes(corpus) == 0


def test_paragraphs_between_positions(corpus):
    assert list(corpus.between(1400, len(corpus))) == [
        corpus[position] for position in range(1400, len(corpus))
    ]
    assert list(corpus.between(7, 7)) == []


def test_chunks_that_were_forgotten_have_the_same_terms(monkeypatch):
    texts = [
        Path(__file__).read_text(encoding="utf-8")[start : start + 400]
        for start in range(0, 2000, 100)
    ]
    expected = [analyze(text) for text in texts]
    monkeypatch.setattr(analyzer, "CHUNKS", analyzer.Chunks())
    monkeypatch.setattr(analyzer, "MOST", 10)
    assert [analyze(text) for text in texts] == expected
    assert 0 < len(analyzer.CHUNKS) <= 10
    assert 0 < len(analyzer.CHUNKS.older) <= 10
