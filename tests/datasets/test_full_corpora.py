"""Full corpora from the official downloads, tested with small files in the same
formats.
"""

import bz2
import io
import json
import random
import re
import tarfile
from dataclasses import replace

import pytest

from ircotlib.data import Paragraph
from ircotlib.datasets import all_datasets, files, make_paragraph
from ircotlib.datasets.files import make_full_corpus, read_dataset, read_full_corpus
from ircotlib.datasets.hotpotqa import (
    ABSTRACTS,
    ARCHIVE,
    FOLDER,
    find_gold_ids,
    read_hotpotqa,
)
from ircotlib.errors import DataError

FULL = {d.name: d.full_corpus for d in all_datasets().values() if d.full_corpus}
TEXTS = [("Anarchism", ["Anarchism is a philosophy.", " It rejects hierarchy. "])]
TEXTS += [
    ("Of Mice &amp; Men (band)", ["They are a band."]),
    ("Łódź", ["Łódź is in Poland…"]),
]
TEXTS += [("Nothing", []), ("Blank", [" "])]
TEXTS += [
    ("Anarchism", [TEXTS[0][1][0] + " It rejects hierarchy."]),
    ("Anarchism", ["Other."]),
]
SHARDS = {"AA/wiki_01": TEXTS[:2], "AA/wiki_00": TEXTS[2:5], "AB/wiki_02": TEXTS[5:]}


def shard(texts):
    rows = (
        {"id": "1", "title": title, "text": text, "url": "x"} for title, text in texts
    )
    return bz2.compress("".join(json.dumps(row) + "\n" for row in rows).encode())


def write_archive(folder, shards):
    """Write HotpotQA's official archive of these shards, in this order, after their
    folder.
    """
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
    assert pairs(paragraphs) == [
        (title, "".join(text).strip()) for title, text in TEXTS
    ]
    # ids are those of contexts, and a repeated one is numbered
    expected = [make_paragraph(*pair).id for pair in pairs(paragraphs)]
    assert expected[0] == expected[5] == "anarchism-88ad2b88"
    ids = [*expected[:5], "anarchism-88ad2b88-2", expected[6]]
    assert [paragraph.id for paragraph in paragraphs] == ids


@pytest.mark.parametrize("kept", [0, 3, 0.5, 0.999])
def test_an_archive_cut_off_is_named(tmp_path, kept):
    # does not compress, so that the archive has several blocks
    noise = random.Random(5)
    texts = {
        f"AA/wiki_{n:02}": [(f"{n}", [noise.randbytes(9_000).hex()])] for n in range(40)
    }
    archive = write_archive(tmp_path, texts)
    whole = archive.read_bytes()
    archive.write_bytes(whole[: int(kept * len(whole)) if kept < 1 else kept])
    with pytest.raises(DataError, match=f"^{archive}[^\n]*: get the file again[^\n]*$"):
        list(read_full_corpus(ABSTRACTS, tmp_path))


GOOD = json.dumps({"title": "Good", "text": ["Good."]}).encode() + b"\n"
BROKEN_SHARDS = [
    (b"no bz2", "1.bz2:0: Invalid data stream"),
    (bz2.compress(GOOD + b'{"id": "2", "ti'), "1.bz2:2: Unterminated string"),
    (
        shard([("x", [["Heading"]])]),
        "1.bz2:1, field text.0: Input should be a valid string",
    ),
]


@pytest.mark.parametrize(("content", "message"), BROKEN_SHARDS)
def test_a_damaged_shard_is_named_with_its_line(tmp_path, content, message):
    archive = write_archive(tmp_path, SHARDS | {"AA/wiki_01": content})
    with pytest.raises(DataError, match=f"^{archive}, .*{re.escape(message)}"):
        list(read_full_corpus(ABSTRACTS, tmp_path))


def musique(*texts):
    return [
        {
            "paragraphs": [
                {"title": title, "paragraph_text": text} for title, text in texts
            ]
        }
    ]


YALE, OLD_YALE, ZOO = (
    ("Yale", "In New Haven."),
    ("Yale", "In New Haven. "),
    ("Zoo", "A zoo."),
)
MUSIQUE = {
    "ans_v1.0_dev": musique(OLD_YALE, ("Łódź", "In Poland…")),
    "ans_v1.0_test": musique(YALE, ("Yale", "By a lake.")),
    "ans_v1.0_train": musique(ZOO, YALE),
    "full_v1.0_dev": musique(("Ark", "A boat."), ZOO),
    "full_v1.0_test": musique(ZOO),
    "full_v1.0_train": musique(("Pond", "A pond.")),
}
MUSIQUE_TEXTS = [YALE, ("Łódź", "In Poland…"), ("Yale", "By a lake."), ZOO]
MUSIQUE_TEXTS += [("Ark", "A boat."), ("Pond", "A pond.")]


def test_a_corpus_is_made_once_and_its_count_compared_with_the_papers(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(files, "DATA", tmp_path)
    (tmp_path / "musique").mkdir()
    for name, rows in MUSIQUE.items():
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"musique/musique_{name}.jsonl").write_text(text)
    with pytest.warns(UserWarning, match="found 6 paragraphs, the paper 139,416"):
        corpus = make_full_corpus(FULL["musique"], tmp_path)
    assert pairs(corpus) == MUSIQUE_TEXTS
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
    assert counts == {
        corpus.name: corpus.count for corpus in FULL.values() if corpus.count
    }


def test_ids_are_found_by_title(tmp_path):
    titles = ["Rock &amp; Roll", "Łódź", "R&B", "Łódź", "R&amp;B", "łódź"]
    corpus = [
        Paragraph(str(number), title, "")
        for number, title in enumerate(titles, start=1)
    ]
    expected = {"Łódź": "2", "Rock & Roll": "1", "R&amp;B": "5", "R&B": "3"}
    expected |= {"Ło\u0301dz\u0301": "2"}
    facts = [[title, 0] for title in (*expected, "Nowhere", "Łódź")]
    row = {"_id": "1", "question": "?", "answer": "!", "type": "bridge", "context": []}
    (tmp_path / "dev.json").write_text(json.dumps([row | {"supporting_facts": facts}]))
    assert find_gold_ids(tmp_path / "dev.json", corpus) == expected


def test_real_abstracts_give_the_gold_of_the_distractor_setting(shared, tmp_path):
    path = shared / "hotpotqa" / "dev_distractor_498.json"
    questions, pooled = read_dataset("hotpotqa", shared)
    contexts = [
        record["context"] for record in json.loads(path.read_text(encoding="utf-8"))
    ]
    distinct = {
        (entry[0], *entry[1]): entry for context in contexts for entry in context
    }
    write_archive(tmp_path, {"AA/wiki_00": [*distinct.values()]})
    corpus = list(read_full_corpus(ABSTRACTS, tmp_path))
    assert corpus == pooled
    again = [asked for asked, _ in read_hotpotqa(path, find_gold_ids(path, corpus))]
    assert [asked.gold for asked in again] == [asked.gold for asked in questions]
