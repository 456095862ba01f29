"""However many processes make the documents of the embedded index, they are the same."""

import os
import random
import subprocess
import sys
import time
from multiprocessing import active_children
from pathlib import Path

import psutil
import pytest
from asking import ask

from ircotlib.data import Paragraph
from ircotlib.files.paths import ROOT
from ircotlib.program import Retrieve
from ircotlib.retrieval import analyzer, bm25, documents
from ircotlib.retrieval.analyzer import analyze
from ircotlib.retrieval.bm25 import BM25, build_index
from ircotlib.retrieval.corpus import Corpus, write_corpus
from ircotlib.retrieval.documents import count_processes, make_documents

ODD = ('a\t "quote" \\', "two\nlines\r\n", "\u2028 and \x85", "narrow\u202fspace", "DJマックス", "")


@pytest.fixture
def corpus(tmp_path) -> Corpus:
    """Paragraphs of 300 characters, some of them odd."""
    chance = random.Random(3)
    words = [start + end for start in "bcdfghjklm" for end in ("anos", "oring", "ulo's", "Agi")]
    texts = [" ".join(chance.choices(words, k=60)) for _ in range(1500)] + list(ODD)
    chance.shuffle(texts)
    paragraphs = (Paragraph(str(number), text[:9], text) for number, text in enumerate(texts))
    return write_corpus(tmp_path / "corpus", paragraphs)


def test_a_document_is_terms_titles_and_the_position(corpus):
    for position, fields in enumerate(make_documents(corpus)):
        paragraph = corpus[position]
        for field, text in (("title", paragraph.title), ("text", paragraph.text)):
            assert fields[field].split(" ")[1:] == analyze(text)
        titles = paragraph.title, paragraph.title.lower()
        assert (fields["whole_title"], fields["lower_title"]) == titles
        assert fields["position"] == position


def test_an_index_made_by_processes_finds_the_same(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "TURN", 100)
    assert list(make_documents(corpus, 3)) == list(make_documents(corpus))
    build_index(corpus, tmp_path / "one")
    monkeypatch.setattr(bm25, "count_processes", lambda corpus: 4)  # and 2 writing threads
    build_index(corpus, tmp_path / "four")
    requests = [Retrieve(paragraph.text[:80], 15) for paragraph in list(corpus)[::50]]
    one, four = (BM25(corpus, tmp_path / name) for name in ("one", "four"))
    assert ask(four, requests) == ask(one, requests)


def test_a_killed_process_is_an_error_and_leaves_no_index(corpus, tmp_path, monkeypatch):
    def kill_others(positions):
        yield from positions[:40]
        for process in active_children():
            process.kill()
        yield from positions[40:]

    monkeypatch.setattr(documents, "TURN", 8)
    monkeypatch.setattr(bm25, "count_processes", lambda corpus: 2)
    with pytest.raises(ChildProcessError, match="was killed; free some memory"):
        build_index(corpus, tmp_path / "index", kill_others)
    assert not (tmp_path / "index").exists()


START_AND_HANG = """
import sys, time
from multiprocessing import active_children
from ircotlib.retrieval import documents
from ircotlib.retrieval.corpus import Corpus
documents.TURN = 8
made = documents.make_documents(Corpus(sys.argv[1]), 2)
next(made)
print(*(process.pid for process in active_children()), flush=True)
time.sleep(60)
"""


def test_processes_end_with_who_started_them(corpus):
    def is_alive(number: int) -> bool:
        return psutil.pid_exists(number) and psutil.Process(number).status() != "zombie"

    made = make_documents(corpus, 2)
    next(made)
    made.close()  # waits for them
    assert active_children() == []
    command = [sys.executable, "-c", START_AND_HANG, str(corpus.folder)]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as parent:
        numbers = [int(number) for number in parent.stdout.readline().split()]
        assert len(numbers) == 2 and all(map(is_alive, numbers))
        parent.kill()
    end = time.monotonic() + 30
    while any(map(is_alive, numbers)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(map(is_alive, numbers))


def test_small_corpora_are_left_to_one_process(corpus, monkeypatch):
    monkeypatch.setattr(documents, "count_cores", lambda: 8)
    assert count_processes(corpus) == 0
    monkeypatch.setattr(documents, "LARGE", len(corpus))
    assert count_processes(corpus) == 4
    monkeypatch.setattr(documents, "count_cores", lambda: 2)
    assert count_processes(corpus) == 0


def test_chunks_that_were_forgotten_have_the_same_terms(monkeypatch):
    source = Path(__file__).read_text(encoding="utf-8")
    texts = [source[start : start + 400] for start in range(0, 2000, 100)]
    expected = [analyze(text) for text in texts]
    monkeypatch.setattr(analyzer, "CHUNKS", analyzer.Chunks())
    monkeypatch.setattr(analyzer, "MOST", 10)
    assert [analyze(text) for text in texts] == expected
    assert 0 < len(analyzer.CHUNKS) <= 10 and 0 < len(analyzer.CHUNKS.older) <= 10
