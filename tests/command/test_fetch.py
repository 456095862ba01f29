"""Fetching official files from a server on loopback that cuts off, lies or has none."""

import hashlib
import io
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from ircotlib.__main__ import main
from ircotlib.command import fetch
from ircotlib.command.fetch import download, unpack
from ircotlib.datasets import all_datasets
from ircotlib.errors import DataError, Unavailable
from ircotlib.parameters import read_parameters

DATA = bytes(range(256)) * 4_000  # a megabyte
SHA = f"sha256:{hashlib.sha256(DATA).hexdigest()}"


@pytest.fixture
def publisher():
    """A server; `cut`: bytes after which the next transfer breaks off; `asked`: ranges."""
    about = SimpleNamespace(files={}, cut=None, asked=[])

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked = self.headers.get("Range", "")
            about.asked.append(asked)
            if self.path not in about.files:
                return self.send_error(404)
            whole = about.files[self.path]
            start = int(asked[len("bytes=") : -1]) if asked else 0
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(whole) - start))
            if start:
                size = len(whole)
                self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
            self.end_headers()
            cut, about.cut = about.cut, None
            self.wfile.write(
                whole[start:] if cut is None else whole[start : start + cut]
            )

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        about.url = f"http://127.0.0.1:{server.server_port}"
        yield about
        server.shutdown()


def test_a_transfer_that_broke_off_is_resumed_and_checked(publisher, tmp_path):
    publisher.files["/a.json"], publisher.cut = DATA, 400_000
    with pytest.raises(Unavailable, match="continues where it stopped"):
        download(f"{publisher.url}/a.json", tmp_path / "a.json", SHA)
    assert not (tmp_path / "a.json").exists()
    download(f"{publisher.url}/a.json", tmp_path / "a.json", SHA)
    assert (tmp_path / "a.json").read_bytes() == DATA
    assert publisher.asked == ["", "bytes=400000-"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    publisher.files["/b.json"] = b"<html>please log in</html>"
    with pytest.raises(
        DataError, match="found sha256 .*, expected .*; delete .*b.json.partial"
    ):
        download(f"{publisher.url}/b.json", tmp_path / "b.json", SHA)
    assert not (tmp_path / "b.json").exists()


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


@pytest.mark.parametrize(("pack", "name"), [(zipped, "a.zip"), (tarred, "a.tgz")])
def test_only_the_named_files_leave_an_archive(pack, name, tmp_path):
    files = {"x/dev.json": b"[1]", "x/._dev.json": b"", "train.json": b"[]"}
    (tmp_path / name).write_bytes(pack(files))
    unpack(tmp_path / name, ["dev.json"], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["dev.json"]
    for content, message in (
        (pack({"dev.json": DATA})[:3000], "delete it, and get it again"),
        (pack({"x": b""}), "lacks dev.json"),
        (
            pack({"../../escape": b"no"}),
            "escape" if pack is tarred else "lacks dev.json",
        ),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=f"{name}: .*{message}"):
            unpack(tmp_path / name, ["dev.json"], tmp_path)
        assert not (tmp_path.parents[1] / "escape").exists()


TABLE = "folder,corpus,files,address,bytes,checksum,page\n"


@pytest.fixture
def command(publisher, tmp_path, monkeypatch):
    """Runs the command with a table of this publisher's files."""

    def run(rows: str, *arguments: str) -> int:
        (tmp_path / "table.csv").write_text(TABLE + rows.replace("URL", publisher.url))
        monkeypatch.setattr(
            fetch, "read_downloads", lambda: read(tmp_path / "table.csv")
        )
        changes = [
            f"--set=data_dir={tmp_path / 'raw'}",
            "--set=demonstrations=prompts/own",
        ]
        return main(["fetch", *changes, *arguments])

    read = fetch.read_downloads
    return run


def test_the_command_gets_what_has_an_address(command, publisher, tmp_path, capsys):
    rows = "hotpotqa,,hotpot_dev_distractor_v1.json,URL/hotpot_dev_distractor_v1.json,3,,p\n"
    rows += "2wikimultihopqa,,dev.json,URL/ids.zip?dl=1,,,p\n"
    rows += "musique,,musique_ans_v1.0_dev.jsonl,,,,https://page\n"
    publisher.files["/hotpot_dev_distractor_v1.json"] = b"[1]"
    publisher.files["/ids.zip?dl=1"] = zipped(
        {"ids/dev.json": b"[2]", "ids/other.json": b"[]"}
    )
    for listing in (["--list"], []):
        assert command(rows, *listing) == 1
        said = capsys.readouterr()
        assert (
            "musique_ans_v1.0_dev.jsonl (size unknown) by hand: https://page"
            in said.out
        )
        assert "error: get the files of musique by hand, then ask again" in said.err
        assert not listing or not (tmp_path / "raw").exists()
    made = {path.name: path.read_bytes() for path in (tmp_path / "raw").rglob("*.*")}
    assert made == {"hotpot_dev_distractor_v1.json": b"[1]", "dev.json": b"[2]"}
    asked = len(publisher.asked)
    (tmp_path / "raw" / "musique_ans_v1.0_dev.jsonl").write_text("{}")
    assert command(rows) == 0 and len(publisher.asked) == asked
    assert "has all files that sample needs" in capsys.readouterr().out


def test_the_table_names_the_files_that_the_data_sets_read():
    table, sets = fetch.read_downloads(), all_datasets()
    named = {name for row in table for name in row.files.split()}
    for name in set(sets) - {"own"}:
        assert sets[name].files[0] in named
        assert (
            set(sets[name].full_corpus.files if sets[name].full_corpus else ()) <= named
        ), name
    for row in table:
        assert row.page.startswith("https://") and (not row.bytes or int(row.bytes) > 0)
        kind, _, digits = row.checksum.partition(":")
        assert len(digits) == {"": 0, "md5": 32, "sha256": 64}[kind]
        assert row.address.startswith("https://") or row.checksum or not row.address


NEEDED = [
    ("hotpotqa fever", "full", ["hotpotqa", "hotpotqa full", "fever", "kilt full"]),
    ("fever strategyqa", "pooled", ["strategyqa", "fever", "kilt full"]),
    ("strategyqa own", "pooled", ["strategyqa"]),
    ("musique", "full", ["musique", "musique full"]),
]


@pytest.mark.parametrize(("names", "corpus", "folders"), NEEDED)
def test_what_a_profile_needs_follows_data_sets_and_corpus(
    tmp_path, names, corpus, folders
):
    changes = {"data_dir": str(tmp_path), "datasets": names.split(), "corpus": corpus}
    rows = fetch.missing(read_parameters("sample", changes), fetch.read_downloads())
    assert [f"{row.folder} {row.corpus}".strip() for row in rows] == folders
