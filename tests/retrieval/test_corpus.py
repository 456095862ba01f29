"""A corpus on disk: what comes back, how fast it opens, and what is refused."""

import random
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from corpora import flip, run_and_kill

from ircotlib.data import Paragraph, read_jsonl
from ircotlib.files.paths import ROOT
from ircotlib.retrieval.corpus import Corpus, fingerprint_of, open_corpus, write_corpus

FILES = {"paragraphs.jsonl", "offsets.npy", "ids.npy", "corpus.json", "corpus.lock"}

PARAGRAPHS = [
    Paragraph("a", "Café", "Line one\nline two \u2028 and \x85 more"),
    Paragraph("b", "", "空の題名"),
    Paragraph("c", 'Quoted "title"', ""),
    Paragraph("a ", "Café", "\U0001f469\u200d\U0001f467"),
]
SAME = fingerprint_of(PARAGRAPHS)


def numbered(count: int, text: str = "words") -> list[Paragraph]:
    return [Paragraph(f"p{n}", f"Title {n % 7}", f"{text} {n}") for n in range(count)]


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_paragraphs_come_back_as_they_were_written(tmp_path):
    corpus = write_corpus(tmp_path, iter(PARAGRAPHS))
    assert len(corpus) == 4 and list(corpus) == PARAGRAPHS
    assert [corpus[position] for position in range(4)] == PARAGRAPHS
    assert list(read_jsonl(tmp_path / "paragraphs.jsonl")) == list(map(asdict, PARAGRAPHS))
    assert corpus[np.int64(2)] == PARAGRAPHS[2]
    assert list(corpus.between(1, 3)) == PARAGRAPHS[1:3] and list(corpus.between(2, 2)) == []
    for position in (-1, 4, 10**9):
        with pytest.raises(IndexError, match=f"position {position} in a corpus of 4 paragraphs"):
            corpus[position]
    # positions are found by id
    corpus = write_corpus(tmp_path, numbered(500))
    assert [corpus.find(f"p{number}") for number in range(500)] == list(corpus)
    with pytest.raises(KeyError, match="no paragraph has the id 'p500'"):
        corpus.find("p500")


def test_the_fingerprint_is_of_the_content_and_its_order(tmp_path):
    first = write_corpus(tmp_path / "a", PARAGRAPHS).fingerprint
    assert write_corpus(tmp_path / "b", PARAGRAPHS).fingerprint == first
    changed = [Paragraph("a", "Café", "Line one"), *PARAGRAPHS[1:]]
    others = PARAGRAPHS[::-1], changed, PARAGRAPHS[:3]
    written = [write_corpus(tmp_path, other).fingerprint for other in others]
    assert len({first, *written}) == 4
    assert [fingerprint_of(other) for other in (PARAGRAPHS, *others)] == [first, *written]


def test_equal_ids_and_errors_while_reading_leave_the_old_corpus(tmp_path):
    def broken():
        yield Paragraph("x", "X", "x")
        raise OSError("the raw file ends here")

    with pytest.raises(FileNotFoundError, match=r"corpus\.json not found.*write_corpus"):
        Corpus(tmp_path)
    write_corpus(tmp_path, PARAGRAPHS)
    with pytest.raises(ValueError, match="no paragraphs to write"):
        write_corpus(tmp_path, [])
    with pytest.raises(ValueError, match="two paragraphs have the id 'p3': positions 3 and 9"):
        write_corpus(tmp_path, [*numbered(9), Paragraph("p3", "Other", "text")])
    with pytest.raises(OSError, match="the raw file ends here"):
        write_corpus(tmp_path, broken())
    assert list(Corpus(tmp_path)) == PARAGRAPHS
    assert names_in(tmp_path) == FILES


@pytest.mark.parametrize("name", ["paragraphs.jsonl", "offsets.npy", "ids.npy", "corpus.json"])
def test_a_damaged_corpus_is_an_error(tmp_path, name):
    """Any flipped bit is noticed, in one line, and mended by writing again."""
    write_corpus(tmp_path, PARAGRAPHS)
    whole = (tmp_path / name).read_bytes()
    for bit in random.Random(name).sample(range(8 * len(whole)), 60):
        flip(tmp_path / name, bit)
        with pytest.raises((ValueError, FileNotFoundError)) as error:
            Corpus(tmp_path)
        assert str(error.value).startswith(f"{tmp_path / name}") and "\n" not in str(error.value)
        assert list(write_corpus(tmp_path, PARAGRAPHS)) == PARAGRAPHS
        assert (tmp_path / name).read_bytes() == whole


def test_of_a_huge_corpus_sizes_alone_are_compared_and_that_is_said(tmp_path, capsys, monkeypatch):
    write_corpus(tmp_path, PARAGRAPHS)
    monkeypatch.setattr("ircotlib.files.checksums.MOST", 100)
    flip(tmp_path / "paragraphs.jsonl", 70)
    assert len(Corpus(tmp_path)) == 4
    assert f"{tmp_path}: checksums of 0.0 GB are not compared" in capsys.readouterr().err
    with (tmp_path / "paragraphs.jsonl").open("ab") as file:
        file.write(b"{}\n")
    with pytest.raises(ValueError, match="paragraphs.jsonl: found 235 bytes, expected 232 bytes"):
        Corpus(tmp_path)


def times_of(folder: Path) -> dict[str, tuple]:
    stats = {path.name: path.stat() for path in folder.iterdir() if path.name != "corpus.lock"}
    return {name: (stat.st_mtime_ns, stat.st_ino) for name, stat in stats.items()}


def test_the_same_corpus_is_left_as_it_is(tmp_path):
    before = times_of(write_corpus(tmp_path, PARAGRAPHS).folder)
    assert list(write_corpus(tmp_path, iter(PARAGRAPHS))) == PARAGRAPHS
    assert times_of(tmp_path) == before
    for other in (PARAGRAPHS[::-1], PARAGRAPHS[:3], [*PARAGRAPHS, Paragraph("x", "X", "x")]):
        assert list(write_corpus(tmp_path, other)) == other
        assert not before.items() & times_of(tmp_path).items()
    assert names_in(tmp_path) == FILES


def test_the_same_corpus_is_opened_without_writing_it_and_another_replaces_it(tmp_path):
    def never():
        raise AssertionError("the paragraphs were read")

    first = open_corpus(tmp_path, SAME, lambda: iter(PARAGRAPHS))
    before = times_of(tmp_path)
    assert list(open_corpus(tmp_path, SAME, never)) == list(first) == PARAGRAPHS
    assert times_of(tmp_path) == before
    other = open_corpus(tmp_path, fingerprint_of(PARAGRAPHS[:3]), lambda: PARAGRAPHS[:3])
    assert list(other) == PARAGRAPHS[:3]


@pytest.mark.parametrize("name", ["paragraphs.jsonl", "offsets.npy", "ids.npy", "corpus.json"])
@pytest.mark.parametrize("kept", [0, 20, None])
def test_a_damaged_corpus_of_the_same_origin_is_written_again(tmp_path, name, kept):
    path = open_corpus(tmp_path, SAME, lambda: PARAGRAPHS).folder / name
    path.unlink() if kept is None else path.write_bytes(path.read_bytes()[:kept])
    assert list(open_corpus(tmp_path, SAME, lambda: PARAGRAPHS)) == PARAGRAPHS


OPEN_OFTEN = """
import sys
from ircotlib.data import Paragraph
from ircotlib.retrieval.corpus import fingerprint_of, open_corpus, write_corpus

print("ready", flush=True)
sys.stdin.readline()
folder, who = sys.argv[1:]
for turn in range(12):
    size = {"write": 400, "change": 300 + len(who) + 10 * turn, "open": 400}[who.split("-")[0]]
    made = [Paragraph(f"p{n}", f"Title {n % 7}", f"{'words ' * 20}{n}") for n in range(size)]
    if who == "open":
        corpus = open_corpus(folder, fingerprint_of(made), lambda: made)
    else:
        corpus = write_corpus(folder, iter(made))
    assert [corpus[n] for n in range(len(corpus))] == made, (len(corpus), size)
    assert corpus.find("p123") == corpus[123]
"""


@pytest.mark.parametrize("workers", ["write write", "open open", "change-1 change-22 write"])
def test_processes_that_open_at_once_all_have_their_corpus(tmp_path, workers):
    """Each process opens a corpus twelve times, with the same or with changing paragraphs."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE) | {"cwd": ROOT}
    command = [sys.executable, "-c", OPEN_OFTEN, str(tmp_path)]
    running = [subprocess.Popen([*command, who], text=True, **pipes) for who in workers.split()]
    assert [process.stdout.readline() for process in running] == ["ready\n"] * len(running)
    for process in running:
        process.stdin.write("go\n")
        process.stdin.flush()
    ended = [(process.communicate()[1], process.returncode) for process in running]
    assert ended == [("", 0)] * len(running)
    assert names_in(tmp_path) == FILES


WRITE_AND_HANG = """
from ircotlib.data import Paragraph
from ircotlib.retrieval.corpus import write_corpus
paragraphs = (Paragraph(f"p{number}", "Title", "text " * 100) for number in range(400))
write_corpus(sys.argv[1], hang(paragraphs, 200))
"""


def test_a_killed_writing_leaves_the_old_corpus_and_the_next_one_clears_up(tmp_path):
    write_corpus(tmp_path, PARAGRAPHS)
    run_and_kill(WRITE_AND_HANG, tmp_path)
    assert list(Corpus(tmp_path)) == PARAGRAPHS
    assert names_in(tmp_path) > FILES
    assert list(write_corpus(tmp_path, numbered(9))) == numbered(9)
    assert names_in(tmp_path) == FILES


def test_a_large_corpus_opens_and_reads_at_once(tmp_path):
    write_corpus(tmp_path, numbered(50_000, "twenty more words " * 10))
    times = [time.perf_counter()]
    for _ in range(3):
        corpus = Corpus(tmp_path)
        assert corpus[49_999].id == "p49999" and corpus.find("p25000") == corpus[25_000]
        times.append(time.perf_counter())
    assert len(list(corpus)) == 50_000
    *opening, reading = np.diff([*times, time.perf_counter()])
    assert min(opening) < reading / 3  # although checksums are compared
