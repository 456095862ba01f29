"""Full corpora from the official downloads: small files in the same formats."""

import bz2
import io
import json
import random
import re
import tarfile
from dataclasses import replace

import pytest
from corpora import titled

from ircotlib.datasets import all_datasets, files, make_paragraph
from ircotlib.datasets.files import make_full_corpus, read_full_corpus
from ircotlib.datasets.hotpotqa import (
    ABSTRACTS,
    ARCHIVE,
    FOLDER,
    find_gold_ids,
)
from ircotlib.errors import DataError

FULL = {d.name: d.full_corpus for d in all_datasets().values() if d.full_corpus}
TEXTS = [
    ("Anarchism", ["Anarchism is a philosophy.", " It rejects hierarchy. "]),
    ("Of Mice &amp; Men (band)", ["They are a band."]),
    ("Łódź", ["Łódź is in Poland…"]),
    ("Nothing", []),
    ("Blank", [" "]),
    ("Anarchism", ["Anarchism is a philosophy. It rejects hierarchy."]),
    ("Anarchism", ["Other."]),
]
SHARDS = {"AA/wiki_01": TEXTS[:2], "AA/wiki_00": TEXTS[2:5], "AB/wiki_02": TEXTS[5:]}


def shard(texts):
    rows = [{"id": "1", "title": title, "text": text} for title, text in texts]
    return bz2.compress("".join(json.dumps(row) + "\n" for row in rows).encode())


def write_archive(folder, shards):
    """Write HotpotQA's official archive: a folder, then these shards in this order."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / ARCHIVE, "w:bz2", compresslevel=1) as tar:
        member = tarfile.TarInfo(FOLDER)
        member.type = tarfile.DIRTYPE
        tar.addfile(member)
        for name, texts in shards.items():
            content = texts if isinstance(texts, bytes) else shard(texts)
            member = tarfile.TarInfo(f"{FOLDER}/{name}.bz2")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return folder / ARCHIVE


def pairs(paragraphs):
    return [(paragraph.title, paragraph.text) for paragraph in paragraphs]


def test_abstracts_are_those_of_the_archive_in_its_order(tmp_path):
    write_archive(tmp_path / "hotpotqa", SHARDS)
    paragraphs = list(read_full_corpus(ABSTRACTS, tmp_path))
    expected = [(title, "".join(text).strip()) for title, text in TEXTS]
    assert expected.pop(5) == expected[0]  # a repeated one is left out
    assert pairs(paragraphs) == expected
    ids = [make_paragraph(*pair).id for pair in expected]  # those of contexts
    assert [paragraph.id for paragraph in paragraphs] == ids


@pytest.mark.parametrize("kept", [0, 3, 0.5, 0.999])
def test_an_archive_cut_off_is_named(tmp_path, kept):
    # does not compress, so that the archive has several blocks
    noise = random.Random(5)
    texts = [[(str(n), [noise.randbytes(9_000).hex()])] for n in range(40)]
    shards = {f"AA/wiki_{n:02}": text for n, text in enumerate(texts)}
    archive = write_archive(tmp_path, shards)
    whole = archive.read_bytes()
    archive.write_bytes(whole[: int(kept * len(whole)) if kept < 1 else kept])
    with pytest.raises(DataError, match=f"^{archive}[^\n]*: get the file again[^\n]*$"):
        list(read_full_corpus(ABSTRACTS, tmp_path))


GOOD = json.dumps({"title": "Good", "text": ["Good."]}).encode() + b"\n"
BROKEN_SHARDS = [
    (b"no bz2", "1.bz2:0: Invalid data stream"),
    (bz2.compress(GOOD + b'{"id": "2", "ti'), "1.bz2:2: Unterminated string"),
    (shard([("x", [["Heading"]])]), "1.bz2:1, field text.0: Input should be a valid s"),
]


@pytest.mark.parametrize(("content", "message"), BROKEN_SHARDS)
def test_a_damaged_shard_is_named_with_its_line(tmp_path, content, message):
    archive = write_archive(tmp_path, SHARDS | {"AA/wiki_01": content})
    with pytest.raises(DataError, match=f"^{archive}, .*{re.escape(message)}"):
        list(read_full_corpus(ABSTRACTS, tmp_path))


YALE = ("Yale", "In New Haven.")
LODZ = ("Łódź", "In Poland…")
LAKE, ZOO, ARK, POND = (("Yale", f"By a {n}.") for n in ("lake", "zoo", "ark", "pond"))
MUSIQUE = {
    "ans_v1.0_dev": [("Yale", "In New Haven. "), LODZ],
    "ans_v1.0_test": [YALE, LAKE],
    "ans_v1.0_train": [ZOO, YALE],
    "full_v1.0_dev": [ARK, ZOO],
    "full_v1.0_test": [ZOO],
    "full_v1.0_train": [POND],
}


def test_a_corpus_is_made_once_and_its_count_compared(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "DATA", tmp_path)
    (tmp_path / "musique").mkdir()
    for name, pages in MUSIQUE.items():
        rows = [{"title": title, "paragraph_text": text} for title, text in pages]
        path = tmp_path / f"musique/musique_{name}.jsonl"
        path.write_text(json.dumps({"paragraphs": rows}) + "\n")
    with pytest.warns(UserWarning, match="found 6 paragraphs, the paper 139,416"):
        corpus = make_full_corpus(FULL["musique"], tmp_path)
    assert pairs(corpus) == [YALE, LODZ, LAKE, ZOO, ARK, POND]
    for path in (tmp_path / "musique").iterdir():
        path.unlink()
    # opened without its files, and without a warning
    exact = replace(FULL["musique"], count=6)
    assert list(make_full_corpus(exact, tmp_path)) == list(corpus)


def test_the_counts_are_those_of_the_paper(shared):
    paper = shared.parent / "papers" / "ircot.txt"
    if not paper.is_file():
        pytest.skip(f"needs the paper's text in {paper}")
    sentence = r"corpus sizes for the datasets: (.*?\)), and (IIRC \([\d,]+\))"
    note = re.search(sentence, paper.read_text(encoding="utf-8"))
    numbers = re.findall(r"(\w+) \(([\d,]+)\)", " ".join(note.groups()))
    counts = {name.lower(): int(count.replace(",", "")) for name, count in numbers}
    assert counts == {full.name: full.count for full in FULL.values() if full.count}


def test_ids_are_found_by_title(tmp_path):
    corpus = titled("łódź", "Rock &amp; Roll", "Łódź", "Łódź")
    expected = {"Łódź": "2", "Rock & Roll": "1", "Ło\u0301dz\u0301": "2"}
    facts = [[title, 0] for title in (*expected, "Nowhere", "Łódź")]
    row = {"_id": "1", "question": "?", "answer": "!", "type": "bridge", "context": []}
    path = tmp_path / "dev.json"
    path.write_text(json.dumps([row | {"supporting_facts": facts}]))
    assert find_gold_ids(path, corpus) == expected
