"""A corpus on disk: what comes back, and what is refused."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from corpora import run_and_kill

from ircotlib.data import Paragraph
from ircotlib.errors import DataError
from ircotlib.retrieval.corpus import FILE, Corpus, write_corpus

PARAGRAPHS = [
    Paragraph("a", "Café", "Line one\nline two \u2028 and \x85 more"),
    Paragraph("b", "", "空の題名"),
    Paragraph("c", 'Quoted "title"', ""),
    Paragraph("a ", "Café", "\U0001f469\u200d\U0001f467 and \x00"),
]


def test_paragraphs_come_back_as_they_were_written(tmp_path):
    corpus = write_corpus(tmp_path, iter(PARAGRAPHS))
    assert len(corpus) == 4 and list(corpus) == PARAGRAPHS
    assert [corpus[position] for position in range(4)] == PARAGRAPHS
    assert [corpus.find(paragraph.id) for paragraph in PARAGRAPHS] == PARAGRAPHS
    for missing in (lambda: corpus[4], lambda: corpus[-1], lambda: corpus.find("d")):
        with pytest.raises(KeyError, match="no paragraph has the"):
            missing()


def test_the_same_corpus_is_left_as_it_is_and_another_replaces_it(tmp_path):
    """A process that is reading the old corpus can continue to read it."""
    corpus = write_corpus(tmp_path, PARAGRAPHS)
    before = (tmp_path / FILE).stat()
    assert write_corpus(tmp_path, iter(PARAGRAPHS)).fingerprint == corpus.fingerprint
    assert (tmp_path / FILE).stat() == before
    other = write_corpus(tmp_path, PARAGRAPHS[::-1])
    assert list(other) == PARAGRAPHS[::-1] and other.fingerprint != corpus.fingerprint
    assert list(corpus) == PARAGRAPHS


def test_threads_that_read_at_once_get_the_paragraphs_that_they_ask_for(tmp_path):
    """Without turns, those that share a connection mix up rows (Python 3.12)."""
    paragraphs = [Paragraph(f"p{n}", f"Title {n}", f"Text {n}.") for n in range(12_000)]
    corpus = write_corpus(tmp_path, paragraphs)
    together = threading.Barrier(8)

    def read(thread: int) -> list:
        numbers = random.Random(thread).choices(range(12_000), k=2_500)
        together.wait()
        if thread == 7:
            return [] if list(corpus) == paragraphs else ["all"]
        return [
            n
            for n in numbers
            if paragraphs[n] != (corpus.find(f"p{n}") if n % 2 else corpus[n])
        ]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(read, range(8))) == [[]] * 8
    assert list(map(corpus.find, ("p0", "p11999"))) == [paragraphs[0], paragraphs[-1]]


WRITE_AND_HANG = """
from ircotlib.data import Paragraph
write_corpus(sys.argv[1], hang(Paragraph(f"p{n}", "", "") for n in range(400)))
"""


def test_errors_and_kills_leave_the_old_corpus(tmp_path):
    def broken():
        yield Paragraph("x", "X", "x")
        raise OSError("the raw file ends here")

    with pytest.raises(FileNotFoundError, match=r"corpus\.sqlite not found"):
        Corpus(tmp_path)
    write_corpus(tmp_path, PARAGRAPHS)
    twice = [*PARAGRAPHS, Paragraph("a", "Other", "text")]
    for wrong, message in (([], "no paragraphs"), (twice, "two paragraphs .* 'a'; d")):
        with pytest.raises(DataError, match=f"{tmp_path}: found {message}"):
            write_corpus(tmp_path, wrong)
    with pytest.raises(OSError, match="the raw file ends here"):
        write_corpus(tmp_path, broken())
    run_and_kill(WRITE_AND_HANG, tmp_path)
    assert list(Corpus(tmp_path)) == PARAGRAPHS


@pytest.mark.parametrize("content", [b"", b"?" * 9999, b"SQLite format 3\0"])
def test_a_damaged_corpus_is_named_and_made_again(tmp_path, content):
    write_corpus(tmp_path, PARAGRAPHS)
    (tmp_path / FILE).write_bytes(content)
    named = rf"^{tmp_path / FILE}: [^\n]*delete it: it is made again$"
    with pytest.raises(DataError, match=named):
        Corpus(tmp_path)
    assert list(write_corpus(tmp_path, PARAGRAPHS)) == PARAGRAPHS
