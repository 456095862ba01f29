"""Full corpora from the official downloads, tested with small files in the same formats."""

import bz2
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import tarfile
from contextlib import contextmanager
from dataclasses import replace
from secrets import token_hex

import pytest

from ircotlib.data import Paragraph
from ircotlib.datasets import abstracts, all_datasets, full
from ircotlib.datasets.abstracts import ARCHIVE, FOLDER
from ircotlib.datasets.files import read_dataset
from ircotlib.datasets.full import COUNTS, find_ids, make_full_corpus
from ircotlib.datasets.hotpotqa import find_gold_ids, read_hotpotqa
from ircotlib.datasets.musique import read_musique
from ircotlib.datasets.pooled import make_paragraph, pool
from ircotlib.datasets.twowiki import read_2wikimultihopqa
from ircotlib.files import progress
from ircotlib.files.paths import ROOT
from ircotlib.retrieval.corpus import Corpus

FULL = {d.name: d.full_corpus for d in all_datasets().values() if d.full_corpus}


def abstract(number, title, sentences):
    """One line of HotpotQA's abstracts, with fields of the official files that are not read."""
    url = f"https://en.wikipedia.org/wiki?curid={number}"
    linked = [f'<a href="{title}">{sentence}</a>' for sentence in sentences]
    read = {"title": title, "text": sentences}
    return {"id": str(number), "url": url, "text_with_links": linked} | read


def shard(*records):
    return bz2.compress("".join(json.dumps(record) + "\n" for record in records).encode())


TEXTS = [("Anarchism", ["Anarchism is a philosophy.", " It rejects hierarchy. "])]
TEXTS += [("Of Mice &amp; Men (band)", ["They are a band."]), ("Łódź", ["Łódź is in Poland…"])]
TEXTS += [("Nothing", []), ("Blank", [" "])]
TEXTS += [("Anarchism", [TEXTS[0][1][0] + " It rejects hierarchy."]), ("Anarchism", ["Other."])]
LINES = [abstract(number, *pair) for number, pair in enumerate(TEXTS, start=12)]
SHARDS = {"AA/wiki_00": LINES[:2], "AA/wiki_01": LINES[2:5], "AA/wiki_02": LINES[5:]}
SHARDS = {name: shard(*lines) for name, lines in SHARDS.items()}
TEXTS = [(title, "".join(sentences).strip()) for title, sentences in TEXTS]


def many_shards(count=103):
    """Shards with one abstract each: a folder of 100, and part of a second folder."""
    names = [f"{'AA' if n < 100 else 'AB'}/wiki_{n % 100:02}" for n in range(count)]
    lines = [abstract(n, f"Page {n}", [f"Text {n}."]) for n in range(count)]
    return dict(zip(names, map(shard, lines), strict=True))


def write_archive(folder, shards):
    """Write the official archive of these shards: all folders, then their files, unordered."""
    names = random.Random(3).sample([*shards], len(shards))
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / ARCHIVE, "w:bz2", compresslevel=1) as tar:
        for name in [FOLDER, *dict.fromkeys(f"{FOLDER}/{name[:2]}" for name in names)]:
            member = tarfile.TarInfo(name)
            member.type = tarfile.DIRTYPE
            tar.addfile(member)
        for name in names:
            member = tarfile.TarInfo(f"{FOLDER}/{name}.bz2")
            member.size = len(shards[name])
            tar.addfile(member, io.BytesIO(shards[name]))
    return folder / ARCHIVE


def write_folder(folder, shards):
    for name, content in shards.items():
        path = folder / f"{name}.bz2"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def make(name, data_dir, folder, count):
    """Make a full corpus that has another number of paragraphs than the paper's."""
    (data_dir / COUNTS).write_text(f"corpus,paragraphs\n{name},{count}\n")
    return make_full_corpus(FULL[name], data_dir, folder)


def pairs(paragraphs):
    return [(paragraph.title, paragraph.text) for paragraph in paragraphs]


def read(dataset, folder):
    """The paragraphs of a full corpus, whatever the paper's count of them."""
    corpus, made = replace(FULL[dataset], count=None), folder / "made" / token_hex(4)
    return list(make_full_corpus(corpus, folder, made))


def test_abstracts_come_from_the_archive_and_from_the_folder_alike(tmp_path):
    folder = tmp_path / "archive" / "hotpotqa"
    archive = write_archive(folder, SHARDS)
    write_folder(tmp_path / "folder" / FOLDER, SHARDS)
    write_folder(tmp_path / "renamed" / "hotpotqa" / "wikpedia-paragraphs", SHARDS)
    paragraphs = read("hotpotqa", tmp_path / "archive")
    assert pairs(paragraphs) == TEXTS
    for name in ("folder", "renamed"):
        assert read("hotpotqa", tmp_path / name) == paragraphs
    assert [path.name for path in folder.iterdir() if path.is_dir()] == [FOLDER]
    archive.unlink()  # unpacked: no longer needed
    assert read("hotpotqa", tmp_path / "archive") == paragraphs


def test_ids_are_those_of_contexts_and_a_repeated_one_is_numbered(tmp_path):
    write_folder(tmp_path / FOLDER, SHARDS)
    ids = [paragraph.id for paragraph in read("hotpotqa", tmp_path)]
    expected = [make_paragraph(*pair).id for pair in TEXTS]
    assert expected[0] == expected[5] == "anarchism-88ad2b88"
    assert ids == [*expected[:5], "anarchism-88ad2b88-2", expected[6]]


def test_a_missing_shard_is_named(tmp_path):
    folder = tmp_path / FOLDER
    folder.mkdir()
    with pytest.raises(ValueError, match="expected AA/wiki_00.bz2 after 0 shards, found no shards"):
        read("hotpotqa", tmp_path)
    names = [*many_shards()]
    for number in (101, 99, 7):  # each before the last
        write_folder(folder, many_shards())
        (folder / f"{names[number]}.bz2").unlink()
        message = f"{names[number]}.bz2 after {number} shards, found {names[number + 1]}.bz2"
        with pytest.raises(ValueError, match=message):
            read("hotpotqa", tmp_path)


@pytest.mark.parametrize("kept", [0, 3, 0.2, 0.5, 0.9, 0.999, -1])
def test_an_archive_cut_off_is_named_and_the_whole_one_goes_on_from_there(tmp_path, kept):
    archive = write_archive(tmp_path, many_shards())
    whole = archive.read_bytes()
    archive.write_bytes(whole[: int(kept * len(whole)) if 0 < kept < 1 else kept])
    message = re.escape(f"{archive}, after member ") + ".*cut off, damaged.*01edf64cd120ec"
    with pytest.raises(ValueError, match=message):
        read("hotpotqa", tmp_path)
    assert not (tmp_path / FOLDER).exists()
    archive.write_bytes(whole)  # its shards are read in the order of their names
    assert pairs(read("hotpotqa", tmp_path)) == [(f"Page {n}", f"Text {n}.") for n in range(103)]


def test_a_damaged_archive_and_another_archive_are_named(tmp_path):
    archive = write_archive(tmp_path, many_shards())
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 255
    archive.write_bytes(content)
    with pytest.raises(ValueError, match=f"{archive}.*damaged or another archive"):
        read("hotpotqa", tmp_path)
    for name in ("../../outside.bz2", f"{FOLDER}/AA/wiki_00.json", "wiki_00.bz2", None):
        with tarfile.open(archive, "w:bz2") as tar:
            tar.addfile(tarfile.TarInfo(name)) if name else None
        message = f"members {FOLDER}/AA/wiki_00.bz2 and so on, found {re.escape(name or 'none')}"
        with pytest.raises(ValueError, match=message.replace("found ", "found '?")):
            read("hotpotqa", tmp_path)


GOOD = abstract(1, "Good", ["Good."])
GOOD_LINE = json.dumps(GOOD).encode() + b"\n"
BROKEN_SHARDS = [
    (shard(GOOD, GOOD)[:-20], "cut off or damaged after line 0"),
    (b"", "cut off or damaged after line 0"),
    (bz2.compress(GOOD_LINE + b'{"id": "2", "ti'), "line 2: expected one JSON object"),
    (bz2.compress(GOOD_LINE + b'{"title": "\xff"}\n'), "(line 1, byte 11: 0xff is not UTF-8)"),
    (shard(GOOD, {"id": "2", "title": "x"}), "line 2, field 'text': expected this field"),
    (shard(GOOD | {"text": [["Heading"]]}), "line 1, field 'text[0]': expected a text"),
]


@pytest.mark.parametrize(("content", "message"), BROKEN_SHARDS)
def test_a_damaged_shard_is_named_with_its_line(tmp_path, content, message):
    folder = write_folder(tmp_path / FOLDER, SHARDS | {"AA/wiki_01": content})
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        read("hotpotqa", tmp_path)
    assert str(error.value).startswith(str(folder / "AA" / "wiki_01.bz2"))


def question(id, *context):
    fields = {"type": "compositional", "question": f"{id}?", "entity_ids": "Q1_Q2"}
    return {"_id": id, "context": context} | fields


def wiki_answer(id, *context):
    facts = {"answer": "x", "supporting_facts": [[context[0][0], 0]], "answer_id": None}
    return question(id, *context) | facts


MACK, PARK = ["Mack Rides", ["It is German.", "It is old. "]], ["Park", []]
LODZ = ["Łódź", ["Łódź lies in Poland…"]]
OLD_MACK = ["Mack Rides", ["It is German."]]
WIKI = {
    "dev.json": [wiki_answer("d1", MACK, LODZ), wiki_answer("d2", LODZ, PARK, MACK)],
    "test.json": [question("t1", PARK, OLD_MACK)],
    "train.json": [wiki_answer("r1", OLD_MACK, ["Zoo", ["A zoo."]]), wiki_answer("r2", MACK)],
}
WIKI_TEXTS = [("Mack Rides", "It is German. It is old."), ("Łódź", "Łódź lies in Poland…")]
WIKI_TEXTS += [("Park", ""), ("Mack Rides", "It is German."), ("Zoo", "A zoo.")]


def write_json(folder, files, indent=None):
    folder.mkdir(parents=True, exist_ok=True)
    for name, records in files.items():
        text = json.dumps(records, ensure_ascii=False, indent=indent)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_contexts_of_2wikimultihopqa_each_once(tmp_path):
    folder = write_json(tmp_path / "2wikimultihopqa", WIKI, indent=4)
    paragraphs = read("2wikimultihopqa", tmp_path)
    assert pairs(paragraphs) == WIKI_TEXTS
    examples = read_2wikimultihopqa(folder / "dev.json")
    assert paragraphs[:3] == pool(context for _, context in examples)


def test_a_json_list_is_read_bit_by_bit(tmp_path):
    path = write_json(tmp_path, WIKI) / "dev.json"
    texts = [f"Łódź, {number}. {'x' * 200}" for number in range(2000)]
    records = [wiki_answer(f"q{n}", ["Łódź", [text]]) for n, text in enumerate(texts)]
    path.write_text(json.dumps(records, ensure_ascii=False)[:-9], encoding="utf-8")
    paragraphs = FULL["2wikimultihopqa"].read(path)
    assert [next(paragraphs).text for _ in range(1000)] == texts[:1000]
    with pytest.raises(ValueError, match=rf"{path}: cut off or damaged after record 1999 \("):
        list(paragraphs)


RECORD = json.dumps(question("d1", PARK))
BROKEN_LISTS = [
    ("", "expected one JSON list of questions, found b''"),
    (f"{RECORD}\n{RECORD}", "expected one JSON list of questions, found b'"),
    (f"[{RECORD}", "cut off or damaged after record 1 ("),
    (f"[{RECORD}, {RECORD[:30]}", "cut off or damaged after record 1 ("),
    (f"[{RECORD}] [{RECORD}]", "cut off or damaged after record 1 ("),
    (f"[{RECORD}]".replace("d1?", "\xe9").encode("latin-1"), "damaged after record 0 ("),
]


@pytest.mark.parametrize(("content", "message"), BROKEN_LISTS)
def test_a_damaged_json_list_is_named_with_its_record(tmp_path, content, message):
    path = write_json(tmp_path, WIKI) / "dev.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        read("2wikimultihopqa", tmp_path)
    assert str(error.value).startswith(str(path))


@pytest.mark.parametrize(
    ("entry", "field"),
    [(["T", "text"], "[1]"), (["T", [1]], "[1][0]"), (["T"], "[1]"), (["T", [], 3], ""), ("T", "")],
)
def test_a_context_out_of_format_is_named(tmp_path, entry, field):
    write_json(tmp_path, WIKI | {"test.json": [question("t1", PARK), question("t2", MACK, entry)]})
    message = f"test.json, record 2, field 'context[1]{field}': expected "
    with pytest.raises(ValueError, match=re.escape(message)):
        read("2wikimultihopqa", tmp_path)


def musique(id, *texts, **fields):
    entries = [{"title": title, "paragraph_text": text} for title, text in texts]
    return {"id": id, "question": "?", "paragraphs": entries} | fields


def musique_answer(id, *texts, answerable=True):
    record = musique(id, *texts, answer="x", answer_aliases=[], answerable=answerable)
    entries = [entry | {"is_supporting": answerable} for entry in record["paragraphs"]]
    return record | {"paragraphs": entries}


YALE, OLD_YALE, ZOO = ("Yale", "In New Haven."), ("Yale", "In New Haven. "), ("Zoo", "A zoo.")
MUSIQUE = {
    "ans_v1.0_dev": [musique_answer("2hop__1_2", OLD_YALE, ("Łódź", "In Poland…"))],
    "ans_v1.0_test": [musique("2hop__3_4", YALE, ("Yale", "By a lake."))],
    "ans_v1.0_train": [musique_answer("2hop__5_6", ZOO, YALE)],
    "full_v1.0_dev": [musique_answer("2hop__1_2", ("Ark", "A boat."), ZOO, answerable=False)],
    "full_v1.0_test": [musique("2hop__3_4", ZOO)],
    "full_v1.0_train": [musique_answer("2hop__5_6", ("Pond", "A pond."))],
}
MUSIQUE_TEXTS = [YALE, ("Łódź", "In Poland…"), ("Yale", "By a lake."), ZOO]
MUSIQUE_TEXTS += [("Ark", "A boat."), ("Pond", "A pond.")]


def write_musique(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, records in files.items():
        lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        (folder / f"musique_{name}.jsonl").write_text(lines, encoding="utf-8")


def test_paragraphs_of_musique_each_once_from_both_variants(tmp_path):
    write_musique(tmp_path / "musique", MUSIQUE)
    paragraphs = read("musique", tmp_path)
    assert pairs(paragraphs) == MUSIQUE_TEXTS
    [(asked, context)] = read_musique(tmp_path / "musique" / "musique_ans_v1.0_dev.jsonl")
    assert paragraphs[:2] == list(context) and asked.gold == (paragraphs[0].id, paragraphs[1].id)


def test_a_damaged_line_of_musique_is_named(tmp_path):
    write_musique(tmp_path, MUSIQUE)
    path = tmp_path / "musique_full_v1.0_dev.jsonl"
    path.write_text(path.read_text() + "\n" + path.read_text()[:-9])
    with pytest.raises(ValueError, match=f"{path}, line 3: expected one JSON object, found "):
        read("musique", tmp_path)
    write_musique(tmp_path, {"full_v1.0_dev": [musique("2hop__1_2", (None, "No title."))]})
    place = re.escape("line 1, field 'paragraphs[0].title'")
    with pytest.raises(ValueError, match=f"{path}, {place}: expected a text, found None"):
        read("musique", tmp_path)


def test_pages_of_iirc(tmp_path):
    lines = [f"This is line {n} of a page and it has more than ten words." for n in range(30)]
    articles = {"łódź": "\n".join(["Short line.", *lines]), "zoo": f"<p>{lines[0]}</p>"}
    write_json(tmp_path / "iirc", {"context_articles.json": articles})
    expected = [*(("łódź", line) for line in lines), ("zoo", lines[0])]
    corpus = make("iirc", tmp_path, tmp_path / "corpus", 31)
    assert list(corpus) == read("iirc", tmp_path) and sorted(pairs(corpus)) == sorted(expected)


@pytest.mark.parametrize("dataset", FULL)
def test_missing_files_are_told_with_names_places_and_source(tmp_path, dataset):
    corpus = FULL[dataset]
    with pytest.raises(FileNotFoundError) as error:
        read(dataset, tmp_path)
    for words in (*corpus.files, str(tmp_path / corpus.name), corpus.source, "https://"):
        assert words in str(error.value)
    # only what is missing is asked for
    write_musique(tmp_path, {name: MUSIQUE[name] for name in [*MUSIQUE][:4]})
    missing = "musique_full_v1.0_test.jsonl, musique_full_v1.0_train.jsonl"
    with pytest.raises(FileNotFoundError, match=f"looked for {missing} in"):
        read("musique", tmp_path)


def test_a_corpus_is_made_once_and_then_opened(tmp_path, capsys):
    write_musique(tmp_path, MUSIQUE)
    folder = tmp_path / "corpora" / "musique-full"
    corpus = make("musique", tmp_path, folder, 6)
    assert pairs(corpus) == MUSIQUE_TEXTS and list(corpus) == read("musique", tmp_path)
    names = {path.name for path in folder.parent.iterdir()}
    assert names == {"musique-full", "musique-full.lock"}
    newer = tmp_path / "musique_full_v1.0_dev.jsonl"
    os.utime(newer, ns=(2 * newer.stat().st_mtime_ns,) * 2)
    capsys.readouterr()
    assert make_full_corpus(FULL["musique"], tmp_path, folder).fingerprint == corpus.fingerprint
    told = f"{newer} is newer than what was made of it: to make the corpus of it again, delete"
    assert capsys.readouterr().err == f"{told} {folder}\n"
    for path in tmp_path.glob("musique_*"):
        path.unlink()
    assert make_full_corpus(FULL["musique"], tmp_path, folder).fingerprint == corpus.fingerprint
    assert capsys.readouterr().err == ""


def test_another_corpus_in_the_folder_is_refused_and_stays(tmp_path):
    write_musique(tmp_path, MUSIQUE)
    write_json(tmp_path, WIKI)
    corpus = make("musique", tmp_path, tmp_path / "corpus", 6)
    with pytest.raises(ValueError, match="2wikimultihopqa'.* or no corpus, found {.*'musique'"):
        make("2wikimultihopqa", tmp_path, corpus.folder, 5)
    (corpus.folder / "full.json").unlink()  # as write_corpus makes one of pooled contexts
    with pytest.raises(ValueError, match="musique'.* or no corpus, found no whole full"):
        make("musique", tmp_path, corpus.folder, 6)
    assert len(Corpus(corpus.folder)) == 6


def test_an_accepted_corpus_does_not_pass_for_the_papers(tmp_path):
    write_musique(tmp_path, MUSIQUE)
    made = make("musique", tmp_path, tmp_path / "corpus", 6)
    assert make("musique", tmp_path, made.folder, 6).fingerprint == made.fingerprint
    (tmp_path / COUNTS).unlink()
    with pytest.raises(ValueError, match="corpus {'dataset': 'musique'} or no corpus, found .* 6}"):
        make_full_corpus(FULL["musique"], tmp_path, made.folder)


def test_the_counts_are_those_of_the_paper(shared):
    paper = shared.parent / "papers" / "ircot.txt"
    if not paper.is_file():
        pytest.skip(f"needs the paper's text in {paper}")
    sentence = r"corpus sizes for the datasets: (.*?\)), and (IIRC \([\d,]+\))"
    note = re.search(sentence, paper.read_text(encoding="utf-8"))
    numbers = re.findall(r"(\w+) \(([\d,]+)\)", " ".join(note.groups()))
    counts = {name.lower(): int(count.replace(",", "")) for name, count in numbers}
    assert counts == {corpus.name: corpus.count for corpus in FULL.values() if corpus.count}


def test_a_count_far_from_the_papers_is_an_error_that_keeps_what_was_read(tmp_path):
    write_musique(tmp_path, MUSIQUE)
    parts, folder = tmp_path / "corpus.parts", tmp_path / "corpus"
    message = rf"musique: found 6 paragraphs, expected 139,416 .*musique,6 in .*{COUNTS}.*{parts}"
    with pytest.raises(ValueError, match=message):
        make_full_corpus(FULL["musique"], tmp_path, folder)
    assert len(list(parts.iterdir())) == 6 and not folder.exists()
    for path in tmp_path.glob("musique_*"):
        path.write_bytes(b"?" * path.stat().st_size)  # of the same size: not read again
    assert pairs(make("musique", tmp_path, folder, 6)) == MUSIQUE_TEXTS


@pytest.mark.parametrize("expected", [102, 103, 104])
def test_a_count_near_the_papers_is_a_warning(tmp_path, recwarn, expected):
    write_folder(tmp_path / FOLDER, many_shards())
    assert len(make("hotpotqa", tmp_path, tmp_path / "corpus", expected)) == 103
    warned = [warning for warning in recwarn if warning.category is UserWarning]
    assert len(warned) == (expected != 103)


def test_changed_files_are_read_again(tmp_path):
    write_json(tmp_path, WIKI)
    with pytest.raises(ValueError, match="found 5 paragraphs"):
        make_full_corpus(FULL["2wikimultihopqa"], tmp_path, tmp_path / "corpus")
    write_json(tmp_path, {"dev.json": [wiki_answer("d1", LODZ)]})
    corpus = make("2wikimultihopqa", tmp_path, tmp_path / "corpus", 5)
    assert pairs(corpus) == [WIKI_TEXTS[number] for number in (1, 2, 3, 4, 0)]


def test_progress_is_shown_stage_by_stage(tmp_path, monkeypatch):
    stages = []

    @contextmanager
    def record(label, total):
        stages.append((label, total, shown := []))
        yield lambda done, total: shown.append(done)

    more = {"AB/wiki_03": shard(*(abstract(n, f"More {n}", ["."]) for n in range(2500)))}
    size = write_archive(tmp_path, many_shards() | more).stat().st_size
    for module in (abstracts, full, progress):
        monkeypatch.setattr(module, "show_progress", record)
    make("hotpotqa", tmp_path, tmp_path / "corpus", 2603)
    unpacking, reading, writing = stages
    assert unpacking == (f"unpacking {ARCHIVE}", size, sorted(unpacking[2]))
    assert unpacking[2][-1] == size
    assert reading == ("reading hotpotqa", 2603, [100, 1000, 2000, 2603])
    assert writing == ("corpus of hotpotqa", 2603, [1000, 2000, 2603])


MAKE_AND_HANG = """
import sys, time
from contextlib import contextmanager
from ircotlib.datasets import abstracts, full
from ircotlib.files import progress

@contextmanager
def hang(label, total):
    def show(done, total):
        if label.startswith(sys.argv[3]) and done >= int(sys.argv[4]):
            print("there", flush=True)
            time.sleep(60)
    yield show

abstracts.show_progress = full.show_progress = progress.show_progress = hang
full.make_full_corpus(abstracts.ABSTRACTS, sys.argv[1], sys.argv[2])
"""


def make_and_kill(data_dir, folder, label, done):
    """Begin a corpus in another process, and kill it when it has reached this point of a stage."""
    (data_dir / COUNTS).write_text("corpus,paragraphs\nhotpotqa,103\n")
    command = [sys.executable, "-c", MAKE_AND_HANG, str(data_dir), str(folder), label, str(done)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout.readline() == "there\n"
        os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not (folder / "corpus.json").exists()


def spoil(folder):
    """Make shards unreadable without changing their sizes."""
    for path in folder.glob("*.bz2"):
        path.write_bytes(b"?" * path.stat().st_size)


@pytest.mark.parametrize(("stage", "spoiled"), [("reading", ("AA",)), ("corpus", ("AA", "AB"))])
def test_what_was_killed_goes_on_after_the_last_whole_part(tmp_path, stage, spoiled):
    """Killed while reading the last part; or while writing, when no part must be read again."""
    folder = write_folder(tmp_path / FOLDER, many_shards())
    whole = make("hotpotqa", tmp_path, tmp_path / "whole", 103)
    make_and_kill(tmp_path, tmp_path / "corpus", stage, 103)
    for name in spoiled:
        spoil(folder / name)  # read before
    again = make("hotpotqa", tmp_path, tmp_path / "corpus", 103)
    assert again.fingerprint == whole.fingerprint
    names = [{path.name for path in made.folder.iterdir()} for made in (again, whole)]
    assert names[0] == names[1] and not (tmp_path / "corpus.parts").exists()


def test_an_unpacking_that_was_killed_is_done_again(tmp_path):
    noise = random.Random(5)  # does not compress, so that the archive is of several blocks
    texts = {name: abstract(1, name, [noise.randbytes(2_000).hex()]) for name in many_shards()}
    archive = write_archive(tmp_path, {name: shard(text) for name, text in texts.items()})
    make_and_kill(tmp_path, tmp_path / "corpus", "unpacking", archive.stat().st_size)
    partial = tmp_path / f"{FOLDER}.partial"
    kept = sorted(partial.glob("*/*.bz2"))
    assert 1 < len(kept) < 103 and not (tmp_path / FOLDER).exists()
    kept[1].write_bytes(kept[1].read_bytes()[:-7])  # as a kill in the middle of a shard leaves it
    corpus = make("hotpotqa", tmp_path, tmp_path / "corpus", 103)
    assert [paragraph.title for paragraph in corpus] == [*texts]
    assert not partial.exists()


def test_ids_are_found_by_title():
    titles = ["Rock &amp; Roll", "Łódź", "R&B", "Łódź", "R&amp;B", "łódź"]
    corpus = (Paragraph(str(number), title, "") for number, title in enumerate(titles, start=1))
    expected = {"Łódź": "2", "Rock & Roll": "1", "R&amp;B": "5", "R&B": "3"}
    expected |= {"Ło\u0301dz\u0301": "2"}
    assert find_ids(corpus, [*expected, "Nowhere", "Łódź"]) == expected


def test_gold_of_a_fullwiki_file_comes_from_the_corpus(tmp_path):
    write_folder(tmp_path / FOLDER, SHARDS)
    corpus = make("hotpotqa", tmp_path, tmp_path / "corpus", 7)
    facts = [["Of Mice & Men (band)", 0], ["Anarchism", 1]]
    record = question("q1", MACK) | {"answer": "x", "type": "bridge", "supporting_facts": facts}
    path = write_json(tmp_path, {"fullwiki.json": [record]}) / "fullwiki.json"
    [(asked, _)] = read_hotpotqa(path, find_gold_ids(path, corpus))
    assert [corpus.find(id) for id in asked.gold] == [corpus[1], corpus[0]]
    write_json(tmp_path, {"fullwiki.json": [record | {"supporting_facts": [["Nowhere", 0]]}]})
    with pytest.raises(ValueError, match="record 1, field 'supporting_facts': .*found 'Nowhere'"):
        read_hotpotqa(path, find_gold_ids(path, corpus))


def test_real_contexts_give_the_records_of_the_pooled_corpora(shared, tmp_path):
    _, pooled = read_dataset("2wikimultihopqa", shared)
    write_json(tmp_path, {"test.json": [], "train.json": []})
    (tmp_path / "dev.json").write_bytes((shared / "2wikimultihopqa" / "dev_657.json").read_bytes())
    assert read("2wikimultihopqa", tmp_path) == pooled
    _, pooled = read_dataset("musique", shared)
    write_musique(tmp_path, dict.fromkeys(MUSIQUE, []))
    path = tmp_path / "musique_ans_v1.0_dev.jsonl"
    path.write_bytes((shared / "musique" / "dev_210.jsonl").read_bytes())
    assert read("musique", tmp_path) == pooled


def test_real_abstracts_give_the_gold_of_the_distractor_setting(shared, tmp_path):
    path = shared / "hotpotqa" / "dev_distractor_498.json"
    questions, pooled = read_dataset("hotpotqa", shared)
    contexts = [record["context"] for record in json.loads(path.read_text(encoding="utf-8"))]
    distinct = {(entry[0], *entry[1]): entry for context in contexts for entry in context}
    records = [{"title": title, "text": text} for title, text in distinct.values()]
    shards = {f"AA/wiki_{number:02}": shard(*records[number::10]) for number in range(10)}
    write_folder(tmp_path / FOLDER, shards)
    corpus = make("hotpotqa", tmp_path, tmp_path / "corpus", len(pooled))
    assert {paragraph.id for paragraph in corpus} == {paragraph.id for paragraph in pooled}
    again = [asked for asked, _ in read_hotpotqa(path, find_gold_ids(path, corpus))]
    assert [asked.gold for asked in again] == [asked.gold for asked in questions]
