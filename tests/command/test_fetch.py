"""Fetching official files from a server on loopback that cuts off, lies or has none."""

import hashlib
import io
import re
import tarfile
import time
import zipfile
from types import SimpleNamespace

import pytest
from werkzeug import Response
from werkzeug.exceptions import RequestedRangeNotSatisfiable

from ircotlib.__main__ import main
from ircotlib.command import fetch
from ircotlib.command.fetch import download, unpack
from ircotlib.datasets import all_datasets
from ircotlib.errors import DataError, Unavailable
from ircotlib.parameters import read_parameters

DATA = bytes(range(256)) * 4_000  # a megabyte
SHA = f"sha256:{hashlib.sha256(DATA).hexdigest()}"


@pytest.fixture
def publisher(httpserver):
    """A server; `cut`: bytes after which the next transfer breaks off; `whole`: it
    sends files only as a whole.
    """
    state = SimpleNamespace(files={}, cut=None, ranges=[], whole=False)
    state.url = httpserver.url_for("").rstrip("/")

    def reply(request) -> Response:
        state.ranges.append(request.headers.get("Range", ""))
        content = state.files.get(request.full_path.rstrip("?"))
        if content is None:
            return Response(status=404)
        response = Response(content[: state.cut])
        if state.cut:
            response.content_length = len(content)
            state.cut = None
        elif not state.whole:
            try:
                response.make_conditional(request, True, len(content))
            except RequestedRangeNotSatisfiable as error:
                return error.get_response()
        return response

    httpserver.expect_request(re.compile(".*")).respond_with_handler(reply)
    return state


def test_a_transfer_that_broke_off_is_resumed_and_checked(publisher, tmp_path):
    publisher.files["/a.json"] = DATA
    publisher.cut = 400_000
    with pytest.raises(Unavailable, match="continues where it stopped"):
        download(f"{publisher.url}/a.json", tmp_path / "a.json", SHA)
    assert not (tmp_path / "a.json").exists()
    download(f"{publisher.url}/a.json", tmp_path / "a.json", SHA)
    assert (tmp_path / "a.json").read_bytes() == DATA
    assert publisher.ranges == ["", "bytes=400000-"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    publisher.files["/b.json"] = b"<html>please log in</html>"
    wrong = "found sha256 .*, expected .*; delete .*b.json.partial"
    with pytest.raises(DataError, match=wrong):
        download(f"{publisher.url}/b.json", tmp_path / "b.json", SHA)
    assert not (tmp_path / "b.json").exists()


# what there is of a file, and how many requests it takes to get it whole, from a server
# with ranges and from one without
PARTS = [
    (DATA, 1, 1),  # whole, but for its name
    (DATA + b"12", 2, 2),  # too long
    (b"", 1, 1),
    (DATA[:5000], 1, 2),
]


@pytest.mark.parametrize("checksum", ["", SHA])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("part", PARTS, ids=["whole", "long", "empty", "half"])
def test_a_part_is_continued_taken_or_begun_anew(
    publisher, tmp_path, part, whole, checksum
):
    there, *requests = part
    publisher.files["/a.json"] = DATA
    publisher.whole = whole
    (tmp_path / "a.json.partial").write_bytes(there)
    download(f"{publisher.url}/a.json", tmp_path / "a.json", checksum)
    assert (tmp_path / "a.json").read_bytes() == DATA
    assert len(publisher.ranges) == requests[whole]
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize("number", [202, 301, 302, 304])
def test_a_page_in_place_of_a_file_is_not_kept(httpserver, tmp_path, number):
    page = Response("moved" * (number != 304), number)
    httpserver.expect_request("/a.json").respond_with_response(page)
    with pytest.raises(Unavailable, match=f"a.json: .*; HTTP {number}: get .* by hand"):
        download(httpserver.url_for("/a.json"), tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_not_there_and_no_network_are_said_at_once(publisher, tmp_path):
    (tmp_path / "a.json.partial").write_bytes(b"half")
    started = time.monotonic()
    for server, says in (
        (publisher.url, "22; HTTP 404: get the file by hand"),
        ("http://127.0.0.1:9", "7; the same command continues"),
        ("http://nowhere.invalid", "6; the same command continues"),
    ):
        ended = f"^{server}/a.json: curl ended with status {says}"
        with pytest.raises(Unavailable, match=ended):
            download(f"{server}/a.json", tmp_path / "a.json")
    assert time.monotonic() - started < 10
    assert len(publisher.ranges) == 1
    assert (tmp_path / "a.json.partial").read_bytes() == b"half"


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
    refused = "escape" if pack is tarred else "has 0 files 'dev.json'"
    for content, message in (
        (pack({"dev.json": DATA})[:3000], "delete it, and get it again"),
        (pack({"x": b""}), "has 0 files 'dev.json', not one"),
        (pack({"../../escape": b"no"}), refused),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=f"{name}: .*{message}"):
            unpack(tmp_path / name, ["dev.json"], tmp_path)
        assert not (tmp_path.parents[1] / "escape").exists()


DEEPER = {"ids/dev.json": b"[2]", "__MACOSX/ids/dev.json": b"other"}
LESS_DEEP = {"ids/dev.json": b"[2]", "__MACOSX/dev.json": b"other"}


@pytest.mark.parametrize("files", [DEEPER, dict(reversed(DEEPER.items())), LESS_DEEP])
def test_of_two_files_of_one_name_the_nearest_leaves_an_archive(files, tmp_path):
    (tmp_path / "a.zip").write_bytes(zipped(files))
    unpack(tmp_path / "a.zip", ["dev.json"], tmp_path)
    assert (tmp_path / "dev.json").read_bytes() == b"[2]"
    (tmp_path / "a.zip").write_bytes(zipped({"b/dev.json": b"", "a/dev.json": b""}))
    two = "a.zip: has 2 files 'dev.json', not .* by hand"
    with pytest.raises(DataError, match=two):
        unpack(tmp_path / "a.zip", ["dev.json"], tmp_path)


TABLE = "folder,corpus,files,address,bytes,checksum,page\n"


@pytest.fixture
def command(publisher, tmp_path, monkeypatch):
    """Runs the command with a table of this publisher's files."""

    def run(rows: str, *arguments: str) -> int:
        table.write_text(TABLE + rows.replace("URL", publisher.url))
        data_dir = f"--set=data_dir={tmp_path / 'raw'}"
        return main(["fetch", data_dir, "--set=demonstrations=prompts/own", *arguments])

    table = tmp_path / "table.csv"
    read = fetch.read_downloads
    monkeypatch.setattr(fetch, "read_downloads", lambda: read(table))
    return run


def test_the_command_gets_what_has_an_address(command, publisher, tmp_path, capsys):
    rows = (
        "hotpotqa,,hotpot_dev_distractor_v1.json,URL/hotpot_dev_distractor_v1.json,3,,p\n"
        "2wikimultihopqa,,dev.json,URL/ids.zip?dl=1,,,p\n"
        "musique,,musique_ans_v1.0_dev.jsonl,,,,https://page\n"
    )
    archive = zipped({"ids/dev.json": b"[2]", "ids/other.json": b"[]"})
    publisher.files["/hotpot_dev_distractor_v1.json"] = b"[1]"
    publisher.files["/ids.zip?dl=1"] = archive
    by_hand = "musique_ans_v1.0_dev.jsonl (size unknown) by hand: https://page"
    raw = tmp_path / "raw"
    assert command(rows, "--list") == 0
    assert by_hand in capsys.readouterr().out and not raw.exists()
    assert command(rows) == 1
    printed = capsys.readouterr()
    assert by_hand in printed.out
    assert "error: get the files of musique by hand, then ask again" in printed.err
    made = {path.name: path.read_bytes() for path in raw.rglob("*.*")}
    assert made == {"hotpot_dev_distractor_v1.json": b"[1]", "dev.json": b"[2]"}
    requests = len(publisher.ranges)
    (raw / "musique_ans_v1.0_dev.jsonl").write_text("{}")
    assert command(rows) == 0 and len(publisher.ranges) == requests
    assert "has all files that sample needs" in capsys.readouterr().out


def test_the_table_names_the_files_that_the_data_sets_read():
    table = fetch.read_downloads()
    named = {name for row in table for name in row.files.split()}
    for dataset in all_datasets().values():
        corpus = dataset.full_corpus
        assert dataset.name == "own" or dataset.files[0] in named
        assert corpus is None or set(corpus.files) <= named, dataset.name
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
def test_a_profile_needs_its_data_sets_and_corpora(tmp_path, names, corpus, folders):
    changes = {"data_dir": str(tmp_path), "datasets": names.split(), "corpus": corpus}
    rows = fetch.missing(read_parameters("sample", changes), fetch.read_downloads())
    assert [f"{row.folder} {row.corpus}".strip() for row in rows] == folders
