"""Fetching official files from a server on loopback that truncates, lies, stalls or has none."""

import hashlib
import io
import shutil
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from ircotlib.__main__ import main
from ircotlib.command import fetch
from ircotlib.datasets import all_datasets
from ircotlib.datasets.files import read_dataset
from ircotlib.files import download as download_module
from ircotlib.files.download import download, unpack
from ircotlib.parameters import read_parameters

DATA = bytes(range(256)) * 40_000  # ten megabytes
SHA = f"sha256:{hashlib.sha256(DATA).hexdigest()}"


@pytest.fixture
def publisher(monkeypatch):
    """A server; `cuts`: bytes after which transfers break off; `asked`: ranges asked for."""
    monkeypatch.setattr(download_module, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(download_module, "TIMEOUT", 1.0)
    about = SimpleNamespace(files={}, cuts=[], asked=[], status=200, ranges=True)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked = self.headers.get("Range", "")
            about.asked.append(asked)
            if about.status != 200 or self.path not in about.files:
                return self.send_error(about.status if about.status != 200 else 404)
            whole = about.files[self.path]
            start = int(asked[len("bytes=") : -1]) if asked and about.ranges else 0
            if start and start >= len(whole):
                return self.send_error(416)
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(whole) - start))
            self.end_headers()
            cut = about.cuts.pop(0) if about.cuts else len(whole)
            self.wfile.write(whole[start : start + cut])

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        server.handle_error = lambda *_: None  # a client went away before the end
        about.url = f"http://127.0.0.1:{server.server_port}"
        yield about
        server.shutdown()


RESUMED = {
    "cut twice": ([4_000_000, 1_234_567], b"", ["", "bytes=4000000-", "bytes=5234567-"]),
    "killed": ([], DATA[:7_000_000], ["bytes=7000000-"]),
    "without ranges": ([5_000], b"", ["", "bytes=5000-"]),
    "too long": ([], DATA + b"more", ["bytes=10240004-", ""]),
}


@pytest.mark.parametrize("fault", RESUMED)
def test_a_transfer_that_broke_off_is_resumed_and_checked(publisher, tmp_path, fault):
    publisher.cuts, partial, asked = RESUMED[fault]
    publisher.files["/a.json"], publisher.ranges = DATA, fault != "without ranges"
    if partial:
        (tmp_path / "a.json.partial").write_bytes(partial)
    for _ in range(2):  # what is there is not asked for
        download(f"{publisher.url}/a.json", tmp_path / "a.json", len(DATA), SHA)
        assert (tmp_path / "a.json").read_bytes() == DATA and publisher.asked == asked
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_server_that_always_cuts_is_one_line_and_keeps_what_came(publisher, tmp_path):
    publisher.files["/a.json"], publisher.cuts = DATA, [10] * 9
    with pytest.raises(ConnectionError, match="after 50 of 10,240,000 bytes"):
        download(f"{publisher.url}/a.json", tmp_path / "a.json")
    assert (tmp_path / "a.json.partial").read_bytes() == DATA[:50]
    assert not (tmp_path / "a.json").exists()


def test_only_some_statuses_are_tried_again_and_no_network_is_one_line(publisher, tmp_path):
    with pytest.raises(ConnectionError, match="http://127.0.0.1:9/a does not answer"):
        download("http://127.0.0.1:9/a", tmp_path / "a")
    for publisher.status, error, tries in ((404, ValueError, 1), (503, ConnectionError, 6)):
        with pytest.raises(error, match=f"status {publisher.status}"):
            download(f"{publisher.url}/a.json", tmp_path / "a.json")
        assert len(publisher.asked) == tries and not list(tmp_path.iterdir())


def test_another_size_or_checksum_is_refused_before_it_is_taken(publisher, tmp_path):
    publisher.files["/a.json"] = b"<html>please log in</html>"
    with pytest.raises(ValueError, match="26 bytes, expected 5,000"):
        download(f"{publisher.url}/a.json", tmp_path / "a.json", 5_000)
    with pytest.raises(ValueError, match="sha256"):
        download(f"{publisher.url}/a.json", tmp_path / "a.json", 0, SHA)
    assert not (tmp_path / "a.json").exists() and not (tmp_path / "a.json.partial").exists()


def test_a_disk_that_is_too_small_is_told_before_the_first_byte(publisher, tmp_path, monkeypatch):
    publisher.files["/a.json"] = DATA
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(download_module.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(OSError, match="10,240,000 .* 1,000"):
        download(f"{publisher.url}/a.json", tmp_path / "a.json")


def zipped(files: dict) -> bytes:
    with zipfile.ZipFile(out := io.BytesIO(), "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def tarred(files: dict) -> bytes:
    with tarfile.open(fileobj=(out := io.BytesIO()), mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_only_the_named_files_leave_an_archive_and_none_leaves_its_folder(pack, tmp_path):
    files = {"x/dev.json": b"[1]", "../../escape": b"no", "x/._dev.json": b"", "train.json": b"[]"}
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.zip").write_bytes(pack(files))
    made = unpack(tmp_path / "in/a.zip", ["dev.json"], tmp_path / "in")
    assert [path.read_bytes() for path in made] == [b"[1]"]
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["dev.json"]


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_a_damaged_archive_or_one_without_the_files_is_one_line(pack, tmp_path):
    (tmp_path / "a").write_bytes(pack({"dev.json": DATA})[:3000])
    with pytest.raises(ValueError, match="a: damaged"):
        unpack(tmp_path / "a", ["dev.json"], tmp_path)
    (tmp_path / "a").write_bytes(pack({"x": b""}))
    with pytest.raises(ValueError, match="a: found no dev.json"):
        unpack(tmp_path / "a", ["dev.json"], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


TABLE = "folder,corpus,files,address,bytes,checksum,page,program\n"


@pytest.fixture
def command(publisher, tmp_path, monkeypatch):
    """Runs the command with a table of this publisher's files."""

    def run(rows: str, *arguments: str) -> int:
        (tmp_path / "table.csv").write_text(TABLE + rows.replace("URL", publisher.url))
        monkeypatch.setattr(fetch, "read_downloads", lambda: read(tmp_path / "table.csv"))
        changes = [f"--set=data_dir={tmp_path / 'raw'}", "--set=demonstrations=prompts/own"]
        return main(["fetch", *changes, *arguments])

    read = fetch.read_downloads
    (tmp_path / "raw").mkdir()
    return run


def test_the_command_gets_what_has_an_address(command, publisher, tmp_path, capsys):
    rows = "hotpotqa,,hotpot_dev_distractor_v1.json,URL/hotpot_dev_distractor_v1.json,3,,p,\n"
    rows += "2wikimultihopqa,,dev.json,URL/ids.zip?dl=1,,,p,\n"
    rows += "musique,,musique_ans_v1.0_dev.jsonl,,,,https://page,\n"
    publisher.files["/hotpot_dev_distractor_v1.json"] = b"[1]"
    publisher.files["/ids.zip?dl=1"] = zipped({"ids/dev.json": b"[2]", "ids/other.json": b"[]"})
    for listing in (["--list"], []):
        assert command(rows, *listing) == 1
        told = capsys.readouterr()
        assert "by hand: musique: musique_ans_v1.0_dev.jsonl" in told.out
        assert "error: found no address of the files of musique: get them by hand" in told.err
        assert told.err.count("\n") == 1
        assert not listing or not list((tmp_path / "raw").iterdir())
    made = {path.name: path.read_bytes() for path in (tmp_path / "raw").rglob("*.json")}
    assert made == {"hotpot_dev_distractor_v1.json": b"[1]", "dev.json": b"[2]"}
    asked = len(publisher.asked)
    (tmp_path / "raw" / "musique_ans_v1.0_dev.jsonl").write_text("{}")
    assert command(rows) == 0 and len(publisher.asked) == asked
    assert "has all files that sample needs" in capsys.readouterr().out


def test_a_file_that_the_publisher_has_no_more_is_one_line_with_its_page(command, capsys):
    assert command("hotpotqa,,a,URL/a,,,the page,\n") == 1
    error = capsys.readouterr().err
    assert "status 404" in error and "the page" in error and error.count("\n") == 1


# a stub with a generator's options: it writes two files into the folder that it is given, and fails
# for seed 2
WRITER = """#!/bin/sh
test "$1 $3" = "--seed --output-dir" || exit 3
test "$2" = 1 || { echo trace >&2; echo "no Prolog" >&2; exit 1; }
echo [1] > "$4/questions.json"; echo [2] > "$4/articles.json"
"""
WORLD = "phantomwiki,,questions.json articles.json,,,,https://page (install it),"


def test_a_program_that_is_installed_writes_the_files(command, tmp_path, monkeypatch, capsys):
    chosen = "--set=datasets=[phantomwiki]"
    assert command(f"{WORLD}write-a-world --seed 1 --output-dir\n", chosen) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("by hand: phantomwiki: questions.json, articles.json")
    assert "https://page (install it)" in printed and printed.count("\n") == 1
    (tmp_path / "write-a-world").write_text(WRITER)
    (tmp_path / "write-a-world").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert command(f"{WORLD}write-a-world --seed 1 --output-dir\n", chosen, "--list") == 0
    assert not [*(tmp_path / "raw").iterdir()]
    assert command(f"{WORLD}write-a-world --seed 2 --output-dir\n", chosen) == 1
    error = capsys.readouterr().err
    assert "status 1 of write-a-world (no Prolog)" in error and error.count("\n") == 1
    assert command(f"{WORLD}write-a-world --seed 1 --output-dir\n", chosen) == 0
    assert (tmp_path / "raw/phantomwiki/articles.json").read_text() == "[2]\n"
    capsys.readouterr()
    assert command(f"{WORLD}write-a-world --seed 1 --output-dir\n", chosen) == 0
    assert "has all files that sample needs" in capsys.readouterr().out


@pytest.mark.skipif(not shutil.which("pw-generate"), reason="needs pw-generate of phantom-wiki")
def test_the_package_of_phantomwiki_writes_what_is_read(tmp_path):
    [row] = [row for row in fetch.read_downloads() if row.folder == "phantomwiki"]
    questions, articles = fetch.fetch(row, tmp_path)
    assert questions == tmp_path / "phantomwiki/questions.json" and articles.is_file()
    questions, paragraphs = read_dataset("phantomwiki", tmp_path)
    assert len(questions) == 140 and len([*paragraphs]) == 503


def test_the_table_names_the_files_that_the_data_sets_read():
    table, sets = fetch.read_downloads(), all_datasets()
    named = {name for row in table for name in row.files}
    for name in set(sets) - {"own"}:
        assert sets[name].files[0] in named
        assert set(sets[name].full_corpus.files if sets[name].full_corpus else ()) <= named, name
    for row in table:
        assert row.page.startswith("https://") and row.bytes >= 0
        kind, _, digits = row.checksum.partition(":")
        assert len(digits) == {"": 0, "md5": 32, "sha256": 64}[kind]
        assert row.address.startswith("https://") or row.checksum or not row.address


NEEDED = [
    ("hotpotqa fever", "full", ["hotpotqa", "hotpotqa full", "fever", "kilt full"]),
    ("fever strategyqa", "pooled", ["strategyqa", "fever", "kilt full"]),
    ("strategyqa own", "pooled", ["strategyqa"]),
    ("phantomwiki musique", "full", ["musique", "musique full", "phantomwiki"]),
]


@pytest.mark.parametrize(("names", "corpus", "folders"), NEEDED)
def test_what_a_profile_needs_follows_data_sets_and_corpus(tmp_path, names, corpus, folders):
    changes = {"data_dir": str(tmp_path), "datasets": names.split(), "corpus": corpus}
    rows = fetch.missing(read_parameters("sample", changes), fetch.read_downloads())
    assert [f"{row.folder} {row.corpus}".strip() for row in rows] == folders
