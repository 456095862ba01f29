"""A corpus on disk: what comes back, how fast it opens, and what is refused."""

import json
import time
from itertools import islice

import numpy as np
import pytest

from ircotlib.data import Paragraph, read_jsonl
from ircotlib.retrieval.corpus import Corpus, write_corpus

PARAGRAPHS = [
    Paragraph("a", "Café", "Line one\nline two \u2028 and \x85 more"),
    Paragraph("b", "", "空の題名"),
    Paragraph("c", 'Quoted "title"', ""),
    Paragraph("a ", "Café", "\U0001f469\u200d\U0001f467"),
]


def numbered(count: int, text: str = "words") -> list[Paragraph]:
    return [
        Paragraph(f"p{number}", f"Title {number % 7}", f"{text} {number}")
        for number in range(count)
    ]


def test_paragraphs_come_back_as_they_were_written(tmp_path):
    corpus = write_corpus(tmp_path, iter(PARAGRAPHS))
    assert len(corpus) == 4
    assert [corpus[position] for position in range(4)] == PARAGRAPHS
    assert list(corpus) == PARAGRAPHS
    assert list(read_jsonl(tmp_path / "paragraphs.jsonl", Paragraph)) == PARAGRAPHS
    assert corpus[np.int64(2)] == PARAGRAPHS[2]


def test_positions_are_found_by_id(tmp_path):
    corpus = write_corpus(tmp_path, numbered(500))
    assert [corpus.position_of(f"p{number}") for number in range(500)] == list(range(500))
    with pytest.raises(KeyError, match="no paragraph has the id 'p500'"):
        corpus.position_of("p500")


@pytest.mark.parametrize("position", [-1, 4, 10**9])
def test_a_position_outside_is_an_error(tmp_path, position):
    corpus = write_corpus(tmp_path, PARAGRAPHS)
    with pytest.raises(IndexError, match=f"position {position} in a corpus of 4 paragraphs"):
        corpus[position]


def test_the_fingerprint_is_of_the_content_and_its_order(tmp_path):
    def fingerprint(name, paragraphs):
        return write_corpus(tmp_path / name, paragraphs).fingerprint

    first = fingerprint("one", PARAGRAPHS)
    assert fingerprint("two", PARAGRAPHS) == first == Corpus(tmp_path / "one").fingerprint
    changed = [Paragraph("a", "Café", "Line one"), *PARAGRAPHS[1:]]
    assert (
        len(
            {
                first,
                fingerprint("three", PARAGRAPHS[::-1]),
                fingerprint("four", changed),
                fingerprint("five", PARAGRAPHS[:3]),
            }
        )
        == 4
    )


def test_equal_ids_are_an_error_that_names_them_and_leave_the_old_corpus(tmp_path):
    write_corpus(tmp_path, PARAGRAPHS)
    with pytest.raises(ValueError, match="two paragraphs have the id 'p3': positions 3 and 9"):
        write_corpus(tmp_path, [*numbered(9), Paragraph("p3", "Other", "text")])
    assert list(Corpus(tmp_path)) == PARAGRAPHS
    assert not list(tmp_path.glob("*.partial"))


def test_an_empty_corpus_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="no paragraphs to write"):
        write_corpus(tmp_path, [])
    with pytest.raises(FileNotFoundError, match=r"corpus\.json not found.*write_corpus"):
        Corpus(tmp_path)


def test_an_error_while_reading_paragraphs_leaves_the_old_corpus(tmp_path):
    def broken():
        yield Paragraph("x", "X", "x")
        raise OSError("the raw file ends here")

    write_corpus(tmp_path, PARAGRAPHS)
    with pytest.raises(OSError, match="the raw file ends here"):
        write_corpus(tmp_path, broken())
    assert list(Corpus(tmp_path)) == PARAGRAPHS


def test_a_damaged_corpus_is_an_error(tmp_path):
    write_corpus(tmp_path, PARAGRAPHS)
    lines = tmp_path / "paragraphs.jsonl"
    lines.write_bytes(lines.read_bytes()[:-20])
    with pytest.raises(ValueError, match="write the corpus again"):
        Corpus(tmp_path)


def test_a_large_corpus_opens_and_reads_at_once(tmp_path):
    write_corpus(tmp_path, numbered(50_000, "twenty more words " * 10))
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        corpus = Corpus(tmp_path)
        assert corpus[49_999].id == "p49999"
        assert corpus.position_of("p25000") == 25_000
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.02  # reading all lines takes longer


def test_real_paragraphs(tmp_path, shared):
    questions = json.loads(
        (shared / "2wikimultihopqa" / "dev_657.json").read_text(encoding="utf-8")
    )
    pairs = dict.fromkeys(
        (title, " ".join(lines)) for question in questions for title, lines in question["context"]
    )
    corpus = write_corpus(
        tmp_path, (Paragraph(str(number), *pair) for number, pair in enumerate(pairs))
    )
    assert len(corpus) == 4311
    assert [corpus[position].title for position in (0, 9, 4310)] == [
        "Anthony Robinson (Unitarian)",
        "Charles James (footballer)",
        "Del Lord",
    ]
    assert list(islice(corpus, 3)) == [corpus[position] for position in range(3)]
