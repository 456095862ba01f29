"""The call cache: keys by content, first reply wins, several processes."""

import hashlib
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from ircotlib.engine.cache import Calls
from ircotlib.errors import DataError
from ircotlib.program import LINE, SENTENCE, Generate, Retrieve, key


def test_a_key_is_the_content_of_the_call_without_defaults():
    same = Generate("a", stop=SENTENCE, max_tokens=5)
    assert key(Generate("a", SENTENCE, 5), "model") == key(same, "model")
    calls = [
        *(Generate("a"), Generate("b"), Generate("a", LINE), Generate("a", SENTENCE)),
        *(Generate("a", max_tokens=5), Retrieve("a", 2), Retrieve("a", 3)),
        *(Retrieve("a", 2, allowed) for allowed in ((), ("b", "c"), ("b,c",))),
        Retrieve("a", 2, distinct=True),
        Retrieve("é\ud800 \n", 2),  # a lone surrogate is also a string
    ]
    assert key(Retrieve("a", 2, None, distinct=False), "model") == key(
        calls[5], "model"
    )
    assert key(Generate("a", None, 200), "model") == key(calls[0], "model")
    keys = {key(call, "model") for call in calls} | {key(calls[0], "other model")}
    assert len(keys) == len(calls) + 1


def test_a_key_never_changes():
    """Keys outlive programs: this one was computed by hand from the definition."""
    canonical = '["Generate","f",{"prompt":"\\u00e9","stop":"line"}]'
    digest = hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()
    assert key(Generate("é", LINE), "f") == digest


def test_replies_are_kept_and_the_first_one_wins(tmp_path):
    path = tmp_path / "new folder" / "calls.sqlite"
    with Calls(path) as calls:
        assert calls.put_many({"a": "1", "b": "é\n"}) == {"a": "1", "b": "é\n"}
        assert calls.put_many({"b": "2", "c": "3"}) == {"b": "é\n", "c": "3"}
    with Calls(path) as calls:
        assert len(calls) == 3
        assert calls.get_many(["c", "a", "b", "d"]) == {"a": "1", "b": "é\n", "c": "3"}
        assert calls.get_many([]) == {}


WRITER = """
import sys
from ircotlib.engine.cache import Calls
path, name = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
with Calls(path) as calls:
    for start in range(0, 400, 10):
        calls.put_many({f"{number:04d}": name for number in range(start, start + 10)})
"""


def test_processes_that_open_and_write_at_once(tmp_path):
    path = tmp_path / "calls.sqlite"
    command = [sys.executable, "-c", WRITER, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    writers = [subprocess.Popen([*command, name], **pipes) for name in "abc"]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    assert [writer.communicate()[0] for writer in writers] == ["", "", ""]
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    with Calls(path) as calls:
        stored = calls.get_many(f"{number:04d}" for number in range(400))
    assert len(stored) == 400
    # a batch is one transaction: never half of one writer's
    for start in range(0, 400, 10):
        batch = range(start, start + 10)
        assert len({stored[f"{number:04d}"] for number in batch}) == 1


def test_threads_share_a_cache_as_those_of_widgets_do(tmp_path):
    with Calls(tmp_path / "calls.sqlite") as calls, ThreadPoolExecutor(4) as threads:
        batches = [{f"{n}-{i}": f"reply {i}" for i in range(20)} for n in range(40)]
        assert list(threads.map(calls.put_many, batches)) == batches
        assert list(threads.map(calls.get_many, batches)) == batches
        assert len(calls) == 800


REPLIES = {f"{number:04d}": "a reply" * 9 for number in range(300)}


def test_the_files_of_a_cache_that_is_open_are_a_whole_copy(tmp_path):
    with Calls(tmp_path / "calls.sqlite") as calls:
        calls.put_many(REPLIES)
        (tmp_path / "copy").mkdir()
        for path in tmp_path.glob("calls.sqlite*"):
            shutil.copy(path, tmp_path / "copy")
        with closing(sqlite3.connect(tmp_path / "calls.sqlite")) as connection:
            connection.execute(f"VACUUM INTO '{tmp_path}/vacuumed'")  # docs/runs.md
        for name in ("copy/calls.sqlite", "vacuumed"):
            with Calls(tmp_path / name) as copy:
                assert copy.get_many(REPLIES) == REPLIES


def check_named(path):
    named = f"^{path}: [^\n]*: make room, .* or delete it: it is made again$"
    with pytest.raises(DataError, match=named), Calls(path) as calls:
        calls.get_many(REPLIES)


GARBAGE = b"?" * 9999
DAMAGES = [(0, GARBAGE), (5000, b"")]


@pytest.mark.parametrize(("kept", "then"), DAMAGES)
def test_a_damaged_cache_is_named_in_one_line(tmp_path, kept, then):
    path = tmp_path / "calls.sqlite"
    with Calls(path) as calls:
        calls.put_many(REPLIES)
    path.write_bytes(path.read_bytes()[:kept] + then)
    check_named(path)


def test_an_empty_file_is_a_new_cache_and_a_full_disk_is_named(tmp_path):
    path = tmp_path / "calls.sqlite"
    path.touch()
    with Calls(path) as calls:
        calls.put_many({"a": "1"})
        calls._file.execute("PRAGMA max_page_count = 3")
        with pytest.raises(DataError, match=f"{path}: database or disk is full: make"):
            calls.put_many(REPLIES)
        assert calls.get_many(["a", *REPLIES]) == {"a": "1"}


def test_a_cache_that_another_process_holds_is_not_to_be_deleted(tmp_path):
    path = tmp_path / "calls.sqlite"
    with Calls(path) as calls, Calls(path) as other:
        other._file.execute("BEGIN IMMEDIATE")
        calls._file.execute("PRAGMA busy_timeout = 0")
        with pytest.raises(DataError, match=f"^{path}: database is locked$"):
            calls.put_many({"a": "1"})
