"""Data files damaged at random: read as they now are, or refused in one line, in little memory."""

import copy
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ircotlib.data import Question, read_jsonl, write_jsonl
from ircotlib.datasets import all_datasets
from ircotlib.datasets.articles import read_articles
from ircotlib.datasets.files import read_dataset
from ircotlib.datasets.kilt import PAGES, read_pages
from ircotlib.datasets.musique import read_paragraphs
from ircotlib.datasets.twowiki import read_contexts
from ircotlib.errors import DataError
from ircotlib.prompting.demonstrations import read_demonstrations

QUICK = settings(max_examples=150, deadline=None, derandomize=True)
LONG = "a coaster that was made in a small town and is still there for all to see today"
CONTEXT = [["Park", ["Gravity is a ride.", " It is by Mack. "]], ["Mack", ["Mack is German."]]]
HOTPOT = {"_id": "5a", "question": "Where was Gravity made?", "answer": "Germany"}
HOTPOT |= {"type": "bridge", "supporting_facts": [["Mack", 0], ["Park", 1]], "context": CONTEXT}
WIKI = HOTPOT | {"type": "compositional", "answer_id": "Q183"}
NAMES = {"Q_id": "Q183", "aliases": ["FRG"], "demonyms": ["German"]}
ENTRIES = [{"title": "Yale", "paragraph_text": "Yale is old.", "is_supporting": False}]
ENTRIES += [{"title": "David", "paragraph_text": "He is at Yale.", "is_supporting": True}]
MUSIQUE = {"id": "2hop__1_2", "question": "Where is its author?", "answer": "Yale"}
MUSIQUE |= {"answer_aliases": ["Yale University"], "answerable": True, "paragraphs": ENTRIES}
ANSWERS = [{"type": "span", "answer_spans": [{"text": "1829"}, {"text": "1830"}]}]
ANSWERS += [{"type": "value", "answer_value": "5", "answer_unit": "km"}, {"type": "none"}]
PARTS = {"context": [{"passage": "main", "text": "x"}, {"passage": "Mack", "text": "made in"}]}
ASKED = [{"qid": f"q{n}", "question": "When?", "answer": a} | PARTS for n, a in enumerate(ANSWERS)]
ARTICLES = {"mack": f"<p>{LONG}</p>", "park": LONG}
EVIDENCE = [[[["A-1"], "operation"], ["no_evidence"]], [[["B-2"]]]]
STRATEGY = {"qid": "s", "question": "Is it so?", "answer": True, "evidence": EVIDENCE}
PARAGRAPH = {"title": "A", "para_index": 1, "content": "Text."}
TRAIN, PARAGRAPHS = "strategyqa_train", {"A-1": PARAGRAPH}
PAGE = {"_id": "1", "wikipedia_title": "A", "text": ["A", "b"]}
SLOT = {"id": "1", "input": "Emma [SEP] author", "output": [{"answer": "Austen"}, {"meta": 1}]}
CLAIM = {"id": 7, "label": "SUPPORTS", "claim": "Emma is a novel."}
KILT_CLAIM = {"id": "7", "input": "Emma is a novel.", "output": [{"answer": "SUPPORTS"}]}
WHY = {"id": "e", "input": "Why?", "output": [{"answer": "So."}]}
OWN = {"id": "1", "question": "Who?", "answers": ["Ann", "A."], "kind": "2hop"}
OWN |= {"paragraphs": [{"title": "A", "text": "It is Ann.", "is_supporting": True}]}
LINES = "id_aliases.json", PAGES  # files of JSON lines
IIRC = [{"title": "Ivana", "text": "She studied.", "questions": ASKED}]
FACTS = ['son("Ann", "Ben").', 'job("Ann", "clerk").']
ANN = {"title": "Ann", "article": "# Ann\n\nThe son of Ann is Ben.", "facts": FACTS}
QUERY = {"query": ["son(Y_4, Y_2)", 'job(Y_4, "clerk")'], "answer": "Y_2"}
SON = {"question": "Who is a clerk's son?", "answer": ["Ben"], "difficulty": 2, "prolog": QUERY}
WHY_ALONE = {"question": "Why?", "answer": "So."}
# the files of each data set, those that are damaged in turn
FILES = {
    "hotpotqa": {"hotpot_dev_distractor_v1.json": [HOTPOT, HOTPOT | {"_id": "5b"}]},
    "2wikimultihopqa": {"dev.json": [WIKI], "id_aliases.json": [NAMES]},
    "musique": {"musique_ans_v1.0_dev.jsonl": [MUSIQUE, MUSIQUE | {"id": "2hop__3"}]},
    "iirc": {"dev.json": IIRC, "context_articles.json": ARTICLES},
    "strategyqa": {f"{TRAIN}.json": [STRATEGY], f"{TRAIN}_paragraphs.json": PARAGRAPHS},
    "strategyqa sample": {"dev_229.json": [STRATEGY], "dev_paragraphs.jsonl": [PARAGRAPH]},
    "zsre": {"structured_zeroshot-dev-kilt.jsonl": [SLOT], PAGES: [PAGE]},
    "trex": {"trex-dev-kilt.jsonl": [SLOT], PAGES: [PAGE]},
    "fever": {"fever-dev-kilt.jsonl": [KILT_CLAIM], PAGES: [PAGE]},
    "fever sample": {"dev_300.jsonl": [CLAIM], PAGES: [PAGE]},
    "eli5": {"eli5-dev-kilt.jsonl": [WHY], PAGES: [PAGE]},
    "eli5 sample": {"alce_200.json": [WHY_ALONE], PAGES: [PAGE]},
    "phantomwiki": {"questions.json": [SON], "articles.json": [ANN]},
    "own": {"questions.jsonl": [OWN]},
}
PLACES = [(name, file) for name, files in FILES.items() for file in files]
# what is read bit by bit, for the full corpora
STREAMS: dict[str, tuple[Callable, str, object]] = {
    "2wikimultihopqa": (read_contexts, "train.json", [WIKI, {"context": CONTEXT}]),
    "musique": (read_paragraphs, "train.jsonl", [MUSIQUE]),
    "iirc": (read_articles, "context_articles.json", ARTICLES),
    "kilt": (read_pages, PAGES, [PAGE]),
}


def encode(file: str, content: object) -> bytes:
    """A file's content in its official format: JSON lines, a list or an object."""
    if file.endswith(".jsonl") or file in LINES:
        return "".join(f"{json.dumps(row)}\n" for row in content).encode()
    return json.dumps(content).encode()


def strings_in(content: bytes) -> set[str]:
    """All texts in a JSON file, or in one of JSON lines, however deep."""
    text, strings = content.decode("utf-8-sig"), set()

    def collect(pairs: list) -> None:
        strings.update(value.strip() for _, value in pairs if isinstance(value, str))
        lists = (value for _, value in pairs if isinstance(value, list))
        strings.update(value.strip() for row in lists for value in row if isinstance(value, str))

    try:
        json.loads(text, object_pairs_hook=collect)
    except ValueError:
        for line in filter(str.strip, text.split("\n")):
            json.loads(line, object_pairs_hook=collect)
    return strings


def read(name: str, folder: Path) -> list[Question]:
    """Read the questions of a data set and, if it is pooled, its corpus."""
    questions, paragraphs = read_dataset(name.split()[0], folder)
    list(paragraphs)
    return questions


def check_message(error: ValueError, path: Path) -> None:
    assert isinstance(error, DataError), repr(error)
    assert str(error).startswith(str(path)) and str(error).isprintable(), str(error)
    assert len(str(error).replace(str(path), "")) < 600, str(error)


def check(name: str, file: str, content: bytes, folder: Path) -> bool:
    """Read a data set with a damaged file; return whether the file was accepted."""
    for other, rows in FILES[name].items():
        (folder / other).write_bytes(content if other == file else encode(other, rows))
    try:
        questions = read(name, folder)
    except ValueError as error:
        check_message(error, folder)
        return False
    if file == next(iter(FILES[name])) and name != "iirc":
        strings = strings_in(content) | {"Yes", "No"}
        given = {"2wikimultihopqa": slice(1)}.get(name, slice(None))  # aliases: in another file
        assert all({a.strip() for a in q.answers[given]} <= strings for q in questions)
    write_jsonl(folder / "written.jsonl", questions)
    written = [row["text"] for row in read_jsonl(folder / "written.jsonl")]
    assert written == [question.text for question in questions]
    return True


TEXTS = st.text(alphabet=st.characters(), max_size=4) | st.sampled_from(
    ["", " ", "\ud800", "x\udfff", "\ufeff", "a\nb", "\x00", "[", "main", "Park", "span", "none"]
)
NUMBERS = st.sampled_from([0, -1, 2**64, 10**4000, 0.5, float("nan"), float("inf")])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)


def places_in(value: object, at: tuple = ()) -> Iterator[tuple]:
    """The places of all values in a JSON value, each as its keys and indices."""
    inner = enumerate(value) if isinstance(value, list) else ()
    for key, one in value.items() if isinstance(value, dict) else inner:
        yield (*at, key)
        yield from places_in(one, (*at, key))


def change(value: object, at: tuple, new: object, how: str) -> object:
    """A copy of a JSON value with one value added, replaced or removed at a place."""
    changed = inner = copy.deepcopy(value)
    for key in at[:-1]:
        inner = inner[key]
    if how == "leave out":
        del inner[at[-1]]
    elif how == "add" and isinstance(inner, list):
        inner.insert(at[-1], new)
    else:
        inner[f"{at[-1]}+" if how == "add" else at[-1]] = new
    return changed


@QUICK
@given(st.data())
def test_a_record_that_is_not_as_expected_is_read_as_it_is_or_refused(tmp_path_factory, data):
    name, file = data.draw(st.sampled_from(PLACES))
    content = FILES[name][file]
    for _ in range(data.draw(st.integers(1, 2))):
        at = data.draw(st.sampled_from([*places_in(content)] or [()]))
        how = data.draw(st.sampled_from(["replace", "replace", "leave out", "add"]))
        if at:
            content = change(content, at, data.draw(VALUES), how)
    check(name, file, encode(file, content), tmp_path_factory.mktemp("data"))


def harm(data, content: bytes, parts: list[bytes]) -> bytes:
    """A content of which up to three pieces are replaced by other bytes, such as these parts."""
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(content)))
        new = data.draw(st.binary(max_size=3) | st.sampled_from(parts))
        content = content[:start] + new + content[start + data.draw(st.integers(0, 4)) :]
    return content


@QUICK
@given(st.data())
def test_bytes_that_are_damaged_are_read_as_they_are_or_refused(tmp_path_factory, data):
    name, file = data.draw(st.sampled_from(PLACES))
    content = harm(data, encode(file, FILES[name][file]), [b'"', b"[", b"\\ud800", b"9"])
    check(name, file, content, tmp_path_factory.mktemp("data"))


@QUICK
@given(st.data())
def test_what_is_read_as_a_stream_is_read_or_refused(tmp_path_factory, data):
    name, path = data.draw(st.sampled_from([*STREAMS])), tmp_path_factory.mktemp("data")
    stream, file, content = STREAMS[name]
    at = data.draw(st.sampled_from([*places_in(content)]))
    content = change(content, at, data.draw(VALUES), data.draw(st.sampled_from(["replace", "add"])))
    damaged = bytearray(encode(file, content))
    if data.draw(st.booleans()):
        damaged[data.draw(st.integers(0, len(damaged))) :] = data.draw(st.binary(max_size=3))
    (path / file).write_bytes(damaged)
    try:
        for paragraph in stream(path / file):
            paragraph.text.encode()
    except ValueError as error:
        check_message(error, path / file)


PROMPT = '# METADATA: {"qid": "x1"}\nWikipedia Title: A\ntext\n\nQ: who?\nA: he\n\n\n'
PROMPT += '# METADATA: {"qid": "x2"}\nQ: when?\nA: now'


@QUICK
@given(st.data())
def test_prompt_files_are_read_or_refused(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("prompts") / "own.txt"
    path.write_bytes(harm(data, PROMPT.encode(), [b"\n", b"Q: ", b"\\ud800", b"{"]))
    try:
        demonstrations = read_demonstrations(path)
    except ValueError as error:
        check_message(error, path)
    else:
        text = path.read_text(encoding="utf-8-sig")
        assert all(d.question.strip() and d.question in text for d in demonstrations)
        assert all(d.answer.strip() and d.answer in text for d in demonstrations)


@pytest.mark.parametrize(("name", "file"), PLACES)
def test_a_byte_order_mark_and_blank_lines_at_the_end_change_nothing(tmp_path, name, file):
    good = encode(file, FILES[name][file])
    assert check(name, file, b"\xef\xbb\xbf" + good.replace(b"\n", b"\r\n") + b"\n", tmp_path)


@pytest.mark.parametrize(("name", "file"), PLACES)
def test_another_encoding_is_named(tmp_path, name, file):
    text = json.dumps(FILES[name][file], ensure_ascii=False).replace("a", "ä")
    for encoding in ("latin-1", "utf-16", "utf-32"):
        assert not check(name, file, text.encode(encoding), tmp_path)


@pytest.mark.parametrize(("name", "file"), PLACES)
def test_files_of_another_kind_are_refused(tmp_path, name, file):
    for content in (b"", b"5", b"[]", b"{}", b"null", b'"text"', bytes(range(256))):
        accepted = check(name, file, content, tmp_path)
        assert accepted == (file == "id_aliases.json" and not content)  # no aliases are known


DEEP = """
import psutil, resource, sys
from test_damaged_data import FILES, PLACES, STREAMS, Path, encode, read
from ircotlib.errors import DataError
folder, depth = Path(sys.argv[1]), 1_000_000
most = psutil.Process().memory_info().vms + (300 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
deep = ['"z": ' + "[" * depth, '"z": ' + '{"a":' * depth, '"z": ' + "[" * depth + "]" * depth + ","]
deep.append('"z": ' + "9" * 5000 + ",")
def refused(file, content, action):
    first = content.index(b"{") + 1
    for inner in deep:
        (folder / file).write_bytes(content[:first] + inner.encode() + content[first:])
        try:
            action()
        except ValueError as error:
            assert isinstance(error, DataError) and str(folder) in str(error), repr(error)
            assert str(error).isprintable(), str(error)
            continue
        raise AssertionError((file, inner[:20]))
for name, file in PLACES:
    folder = Path(sys.argv[1]) / name
    folder.mkdir(exist_ok=True)
    for other, rows in FILES[name].items():
        (folder / other).write_bytes(encode(other, rows))
    refused(file, encode(file, FILES[name][file]), lambda: read(name, folder))
for stream, file, content in STREAMS.values():
    refused(file, encode(file, content), lambda: list(stream(folder / file)))
"""


def test_deep_nesting_and_long_numbers_take_no_memory(tmp_path):
    """Nested a million levels deep, or with integers of 5,000 digits: less than 300 MB."""
    command, tests = [sys.executable, "-c", DEEP, str(tmp_path)], Path(__file__).parent
    assert {name.split()[0] for name in FILES} == {*all_datasets()}
    done = subprocess.run(command, cwd=tests, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_half_of_a_surrogate_pair_is_written_as_its_escape(tmp_path):
    rows = [{"answer": "x\ud800y"}, {"answer": "\U0001f600"}]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    assert list(read_jsonl(tmp_path / "rows.jsonl")) == rows
    assert re.findall(rb"\\ud800|\xf0\x9f\x98\x80", (tmp_path / "rows.jsonl").read_bytes())
