"""The call cache: keys by content, first reply wins, several processes, foreign files refused."""

import hashlib
import os
import random
import re
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer

import pytest
from ircotlib.engine.recover import recover

from ircotlib.engine.cache import OWNER, SCHEMA, Calls
from ircotlib.errors import Unavailable, UserError
from ircotlib.program import LINE, SENTENCE, Generate, Retrieve, deepen, key


def test_a_field_with_its_default_value_is_not_in_the_key():
    """So a field that is added later forgets no reply that was paid for."""
    assert key(Retrieve("q", 3, None, distinct=False), "f") == key(Retrieve("q", 3), "f")
    assert key(Retrieve("q", 3, distinct=True), "f") != key(Retrieve("q", 3), "f")
    assert key(Generate("p", None, 200), "f") == key(Generate("p"), "f")


def test_a_key_is_the_content_of_the_call():
    same = Generate("a", stop=SENTENCE, max_tokens=5)
    assert key(Generate("a", SENTENCE, 5), "model") == key(same, "model")
    calls = [Generate("a"), Generate("b"), Generate("a", LINE), Generate("a", SENTENCE)]
    calls += [Generate("a", max_tokens=5), Retrieve("a", 2), Retrieve("a", 3), Retrieve("a", 2, ())]
    calls += [Retrieve("a", 2, ("b", "c")), Retrieve("a", 2, ("b,c",))]
    calls += [Retrieve("é\ud800 \n", 2)]  # a lone surrogate is also a string
    different = {key(call, "model") for call in calls} | {key(Generate("a"), "other model")}
    assert len(different) == len(calls) + 1


def test_a_key_never_changes():
    """Keys outlive programs: this one was computed by hand from the definition."""
    canonical = '["Generate","f",{"prompt":"\\u00e9","stop":"line"}]'
    digest = hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()
    assert key(Generate("é", LINE), "f") == digest


def test_a_retrieval_is_remembered_as_one_of_more_paragraphs():
    asked = Retrieve("q", 2, ("a",), distinct=True)
    assert deepen(asked, 15) == Retrieve("q", 15, ("a",), distinct=True)
    for same in (Retrieve("q", 15), Retrieve("q", 40), Retrieve("q", 0), Generate("p")):
        assert deepen(same, 15) is same and deepen(same, 0) is same


@pytest.mark.parametrize("path", [None, ":memory:"])
def test_in_memory(path):
    with Calls(path) as calls:
        calls.put_many({"a": "1"})
        assert calls.get_many(["a", "b"]) == {"a": "1"}
    with Calls(path) as calls:
        assert calls.get_many(["a"]) == {}


def test_replies_are_kept_and_the_first_one_wins(tmp_path):
    path = tmp_path / "new folder" / "calls.sqlite"
    with Calls(path) as calls:
        assert calls.put_many({"a": "1", "b": "é\n"}) == {"a": "1", "b": "é\n"}
        assert calls.put_many({"b": "2", "c": "3"}) == {"b": "é\n", "c": "3"}
    with Calls(path) as calls:
        assert len(calls) == 3
        assert calls.get_many(["c", "a", "b", "d"]) == {"a": "1", "b": "é\n", "c": "3"}
        assert calls.get_many([]) == {}


def test_many_keys_in_one_query():
    with Calls() as calls:
        stored = {f"{number:032x}": str(number) for number in range(40_000)}
        assert calls.put_many(stored) == stored


def test_what_another_connection_committed_is_seen_at_once(tmp_path):
    with Calls(tmp_path / "calls.sqlite") as one, Calls(tmp_path / "calls.sqlite") as two:
        one.put_many({"a": "1"})
        assert two.put_many({"a": "2"}) == {"a": "1"}


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
    writers = [
        subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in "abc"
    ]
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
    for start in range(0, 400, 10):  # a batch is one transaction: never half of one writer's
        assert len({stored[f"{number:04d}"] for number in range(start, start + 10)}) == 1


def test_a_new_file_that_another_process_is_making_is_waited_for(tmp_path):
    other = sqlite3.connect(
        tmp_path / "calls.sqlite", isolation_level=None, check_same_thread=False
    )
    other.execute("BEGIN IMMEDIATE")
    release = Timer(0.2, other.close)
    release.start()
    with Calls(tmp_path / "calls.sqlite") as calls:
        assert calls.put_many({"a": "1"}) == {"a": "1"}
    release.join()


def test_a_file_that_stays_locked_is_an_error(tmp_path):
    other = sqlite3.connect(tmp_path / "calls.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="cannot be opened, .*database is locked.*close other"):
        Calls(tmp_path / "calls.sqlite", timeout=0.1)
    other.close()


def test_a_file_that_cannot_be_opened_is_an_error_of_one_line(tmp_path):
    for path in (tmp_path, Path("/proc/calls.sqlite")):
        with pytest.raises(
            Unavailable, match="cannot be opened, .*make the file, -wal and"
        ) as error:
            Calls(path)
        assert str(error.value).startswith(f"{path}: ") and "\n" not in str(error.value)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("mode", [0o755, 0o777], ids=["folder closed", "folder open"])
def test_the_file_of_another_user_is_one_line_and_stays_as_it_is(mode):
    with TemporaryDirectory() as folder:
        path = Path(folder, "calls.sqlite")
        with Calls(path) as calls:
            calls.put_many({"a": "1"})
        os.chmod(folder, mode)
        reader, writer = os.pipe()
        if not (child := os.fork()):
            try:
                os.setuid(65534)
                Calls(path)
            except BaseException as error:
                os.write(writer, f"{type(error).__name__} {error}".encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        os.close(writer)
        with open(reader) as text:
            assert re.fullmatch(f"Unavailable {path}: .*readonly.* writable to you.*", text.read())
        with Calls(path) as calls:
            assert calls.get_many(["a"]) == {"a": "1"}


def test_a_file_of_0_bytes_is_told_unless_it_was_just_made(tmp_path, capsys):
    path = tmp_path / "calls.sqlite"
    for age, lines in ((0, 0), (120, 1)):
        path.write_bytes(b"")
        os.utime(path, (time.time() - age, time.time() - age))
        Calls(path).close()
        assert capsys.readouterr().err.count(f"{path}: found 0 bytes, a new call cache") == lines


def test_a_batch_that_fails_leaves_nothing(tmp_path):
    with Calls(tmp_path / "calls.sqlite") as calls:
        with pytest.raises(sqlite3.IntegrityError):
            calls.put_many({"a": "1", "b": None})
        assert len(calls) == 0
        calls.put_many({"a": "1"})
        assert len(calls) == 1


def test_a_file_that_is_no_database_is_refused_and_left(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n" * 100)
    with pytest.raises(ValueError, match=r"notes\.txt: found a file .* not a SQLite database"):
        Calls(path)
    assert path.read_text() == "my notes\n" * 100
    assert sorted(tmp_path.iterdir()) == [path]


def _database(path, statement, owner, schema):
    connection = sqlite3.connect(path)
    marks = f"PRAGMA application_id={owner}; PRAGMA user_version={schema}"
    connection.executescript(f"{statement}; {marks}")
    connection.close()
    return path.read_bytes()


def test_a_database_of_another_program_is_refused_and_left(tmp_path):
    path = tmp_path / "places.sqlite"
    content = _database(path, "CREATE TABLE places (url)", 0, 0)
    with pytest.raises(ValueError, match=r"found a SQLite database of another program"):
        Calls(path)
    assert path.read_bytes() == content


def test_another_schema_version_is_refused_and_left(tmp_path):
    path = tmp_path / "calls.sqlite"
    content = _database(path, "CREATE TABLE calls (key, reply, cost)", OWNER, SCHEMA + 1)
    with pytest.raises(ValueError, match=f"schema version {SCHEMA + 1}, .* version {SCHEMA}"):
        Calls(path)
    assert path.read_bytes() == content


def test_threads_share_a_cache_as_those_of_widgets_do(tmp_path):
    with Calls(tmp_path / "calls.sqlite") as calls, ThreadPoolExecutor(4) as threads:
        batches = [{f"{n}-{i}": f"reply {i}" for i in range(20)} for n in range(40)]
        assert list(threads.map(calls.put_many, batches)) == batches
        assert list(threads.map(calls.get_many, batches)) == batches
        assert len(calls) == 800


REPLIES = {
    hashlib.md5(str(n).encode()).hexdigest(): f'{{"text": "{f"é {n} " * 20}"}}' for n in range(400)
}


def damage(path, content: bytes, chance: random.Random, bits: int = 3) -> None:
    """Write a file with some bits flipped, and delete all other files in its folder."""
    damaged = bytearray(content)
    for _ in range(bits):
        damaged[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    for other in path.parent.iterdir():
        other.unlink()
    path.write_bytes(damaged)


def test_flipped_bits_change_no_reply(tmp_path, capsys):
    """Damaged replies are asked for again, or the file is refused in one line; no more happens."""
    path, chance, outcomes = tmp_path / "calls.sqlite", random.Random(4), Counter()
    with Calls(path) as calls:
        calls.put_many(REPLIES)
    whole = path.read_bytes()
    for _ in range(120):
        damage(path, whole, chance)
        try:
            with Calls(path) as calls:
                found = calls.get_many(REPLIES)
                said = capsys.readouterr().err
                assert found.items() <= REPLIES.items()
                assert calls.put_many(REPLIES) == REPLIES == calls.get_many(REPLIES)
        except ValueError as error:
            outcomes["refused"] += 1
            assert str(error).startswith(f"{path}: found ") and "\n" not in str(error)
        else:
            outcomes["asked again" if said else "harmless"] += 1
            # of a damaged key nobody knows
            assert not said or "damaged replies, which are asked for again" in said
            assert not said or found != REPLIES
    assert outcomes["asked again"] > 60 and outcomes["refused"] > 3


@pytest.mark.parametrize("kept", [100, 4096, 5000, 0.5, -5000])
def test_a_file_that_is_cut_off_is_refused_with_what_to_do(tmp_path, kept):
    path = tmp_path / "calls.sqlite"
    with Calls(path) as calls:
        calls.put_many(REPLIES)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole)) if 0 < kept < 1 else kept])
    with pytest.raises(ValueError, match="call cache; run ircotlib calls recover") as error:
        Calls(path)
    assert str(error.value).startswith(f"{path}: found damage (")


def test_damage_that_is_found_later_is_told_too(tmp_path, monkeypatch):
    """In a file that is too large to be checked as a whole."""
    monkeypatch.setattr("ircotlib.engine.cache.CHECKED", 0)
    path = tmp_path / "calls.sqlite"
    with Calls(path) as calls:
        calls.put_many(REPLIES)
    path.write_bytes(path.read_bytes()[:8192] + b"\xff" * 20_000 + path.read_bytes()[28_192:])
    with Calls(path) as calls, pytest.raises(ValueError, match="run ircotlib calls recover"):
        calls.get_many(REPLIES)


def test_what_can_be_read_is_recovered_by_the_command(tmp_path):
    path = tmp_path / "calls.sqlite"
    with Calls(path) as calls:
        calls.put_many(REPLIES)
    whole = path.read_bytes()
    path.write_bytes(whole[:12_288] + b"\xff" * 4096 + whole[16_384:])
    damaged = path.read_bytes()
    command = [sys.executable, "-m", "ircotlib", "calls", "recover", str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with Calls(path) as calls:
        found = calls.get_many(REPLIES)
    assert found.items() <= REPLIES.items() and len(REPLIES) * 0.9 < len(found) < len(REPLIES)
    assert done.stdout == f"{path}: kept {len(found)} replies; the damaged file is {path}.damaged\n"
    assert (tmp_path / "calls.sqlite.damaged").read_bytes() == damaged
    assert {one.name for one in tmp_path.iterdir()} == {"calls.sqlite", "calls.sqlite.damaged"}
    again = subprocess.run(command, capture_output=True, text=True)
    assert again.returncode == 2 and "found an earlier damaged file; move it away" in again.stderr


def test_what_is_no_call_cache_is_not_recovered(tmp_path):
    (tmp_path / "README.md").write_text("my notes")
    _database(tmp_path / "places.sqlite", "CREATE TABLE calls (key, url)", 0, 0)
    Calls(tmp_path / "new.sqlite").close()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name in before:
        with pytest.raises(UserError, match=f"{name}: found no reply that can be read, expected"):
            recover(tmp_path / name)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
