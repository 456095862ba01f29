"""Fetching official files from a server on loopback that cuts off, lies or has none."""

import hashlib
import io
import re
import tarfile
import zipfile
from types import SimpleNamespace

import pytest
from werkzeug import Response

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
    """A server of `files`; `cut`: bytes after which the next transfer breaks off."""
    state = SimpleNamespace(files={}, cut=None, ranges=[], status=200)
    state.url = httpserver.url_for("").rstrip("/")

    def reply(request) -> Response:
        state.ranges.append(request.headers.get("Range", ""))
        content = state.files.get(request.full_path.rstrip("?"))
        if content is None:
            return Response(status=404)
        response = Response(content[: state.cut], state.status)
        if state.cut:
            response.content_length = len(content)
            state.cut = None
            return response
        return response.make_conditional(request, True, len(content))

    httpserver.expect_request(re.compile(".*")).respond_with_handler(reply)
    return state


def test_a_transfer_that_broke_off_is_resumed_and_checked(publisher, tmp_path):
    path, address = tmp_path / "a.json", f"{publisher.url}/a.json"
    with pytest.raises(Unavailable, match="a.json: .* delete .*a.json.partial"):
        download(address, path, SHA)  # which is not there yet
    publisher.files["/a.json"] = DATA
    publisher.cut = 400_000
    with pytest.raises(Unavailable, match="continues where it stopped"):
        download(address, path, SHA)
    assert not path.exists()
    download(address, path, SHA)
    assert path.read_bytes() == DATA
    assert publisher.ranges == ["", "", "bytes=400000-"]
    assert [*tmp_path.iterdir()] == [path]
    publisher.files["/b.json"] = b"<html>please log in</html>"
    with pytest.raises(DataError, match="b.json.partial: found another sha256 than"):
        download(f"{publisher.url}/b.json", tmp_path / "b.json", SHA)
    publisher.status = 202  # a page that says to wait
    with pytest.raises(Unavailable, match="delete .*c.json.partial"):
        publisher.files["/c.json"] = b"soon"
        download(f"{publisher.url}/c.json", tmp_path / "c.json")
    assert not [*tmp_path.glob("[bc].json")]


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
        (pack({"dev.json": DATA})[:3000], "delete it"),
        (pack({"a/dev.json": b"", "b/dev.json": b""}), "has 2 files 'dev.json'"),
        (pack({"../../escape": b"no"}), refused),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=f"{name}: .*{message}"):
            unpack(tmp_path / name, ["dev.json"], tmp_path)
        assert not (tmp_path.parents[1] / "escape").exists()


ROWS = """\
folder,corpus,files,address,bytes,checksum,page
hotpotqa,,hotpot_dev_distractor_v1.json,URL/hotpot_dev_distractor_v1.json,3,,p
2wikimultihopqa,,dev.json,URL/ids.zip?dl=1,,,p
musique,,musique_ans_v1.0_dev.jsonl,,,,https://page
"""


def test_the_command_gets_what_has_an_address(publisher, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(fetch, "TABLE", tmp_path / "table.csv")
    fetch.TABLE.write_text(ROWS.replace("URL", publisher.url))
    archive = zipped({"ids/dev.json": b"[2]", "ids/other.json": b"[]"})
    publisher.files["/hotpot_dev_distractor_v1.json"] = b"[1]"
    publisher.files["/ids.zip?dl=1"] = archive
    raw = tmp_path / "raw"
    command = ["fetch", f"--set=data_dir={raw}"]
    assert main([*command, "--list"]) == 0 and not raw.exists()
    by_hand = (
        f"v1.0_dev.jsonl (size unknown), into {raw}/musique: by hand: https://page"
    )
    assert by_hand in capsys.readouterr().out
    assert main(command) == 1
    printed = capsys.readouterr()
    assert by_hand in printed.out and "error: get the files" in printed.err
    made = {path.name: path.read_bytes() for path in raw.rglob("*.*")}
    assert made == {"hotpot_dev_distractor_v1.json": b"[1]", "dev.json": b"[2]"}
    requests = len(publisher.ranges)
    (raw / "musique_ans_v1.0_dev.jsonl").write_text("{}")
    assert main(command) == 0 and len(publisher.ranges) == requests
    assert "has all files that sample needs" in capsys.readouterr().out


NEEDED = [
    ("hotpotqa fever", "full", ["hotpotqa", "hotpotqa full", "fever", "kilt full"]),
    ("fever strategyqa", "pooled", ["strategyqa", "fever", "kilt full"]),
    ("strategyqa own", "pooled", ["strategyqa"]),
    ("musique iirc", "full", ["musique", "musique full", "iirc", "iirc"]),
    ("2wikimultihopqa", "full", ["2wikimultihopqa"]),
    ("zsre trex eli5", "full", ["zsre", "trex", "eli5", "kilt full"]),
]


@pytest.mark.parametrize(("names", "corpus", "folders"), NEEDED)
def test_a_profile_needs_its_data_sets_and_corpora(tmp_path, names, corpus, folders):
    changes = {"data_dir": str(tmp_path), "datasets": names.split(), "corpus": corpus}
    rows = [*fetch.missing(read_parameters("sample", changes))]
    assert [f"{row.folder} {row.corpus}".strip() for row in rows] == folders
    files = {file for row in rows for file in row.files.split()}
    for name in set(names.split()) - {"own"}:
        dataset = all_datasets()[name]
        read = [dataset.files[0]]
        if corpus == "full":
            read += dataset.full_corpus.files
        assert files >= {*read}
