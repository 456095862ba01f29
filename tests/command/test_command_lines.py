"""Wrong command lines and surroundings: one line, before any notebook starts (docs/faults.md)."""

import io
import shlex
import socket
import sys
import time
from importlib.metadata import version
from unittest import mock

import pytest
from ircotlib.experiment.plans import read_comparisons

from ircot_laboratory.make import make_laboratory
from ircotlib.__main__ import COMMANDS, main, read_argument
from ircotlib.command import figures
from ircotlib.errors import DataError, NothingToRun, Unavailable, UserError
from ircotlib.experiment import checks
from ircotlib.files import extras
from ircotlib.parameters import read_parameters


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Run a command line up to the first notebook; return its status and its stderr."""
    started = []
    monkeypatch.setattr(figures, "run_notebooks", lambda names, *_: started.extend(names) or [])
    monkeypatch.setattr(checks, "DATA", tmp_path / "data")
    monkeypatch.setattr(figures, "DATA", tmp_path / "data")
    monkeypatch.setenv("IRCOT_BATCH", "")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")

    def run(*arguments: str) -> tuple[int, str]:
        try:
            status = main([argument.replace("TMP", str(tmp_path)) for argument in arguments])
        except SystemExit as ended:
            status = ended.code
        error = capsys.readouterr().err.replace(str(tmp_path), "TMP")
        return (0, f"started {', '.join(started)}") if started else (status, error)

    return run


@pytest.fixture
def figures_of(command):
    """Run `ircotlib figures` with changes of parameters."""
    return lambda *changes: command("figures", *(f"--set={change}" for change in changes))


@pytest.fixture
def listening():
    """The address of a server on this machine that accepts connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


# a command line, and words of its error: the parameter, and what was found or looked for
WRONG = """
figure | 'figure', expected one of figures, plan, ask
figures --jobs 0 | --jobs: found '0'
figures --seed 1 | --seed
figures --jobs 100000000000000000000 | found '100000000000000000000', expected a whole number from 1
figures --jobs 1025 | found '1025', expected a whole number from 1 to 1024
plan --questions 100000000000000000000 | found '100000000000000000000', expected a whole number
plan --workers 0 | found '0', expected a whole number from 1 to 1024
figures --set timeout=1e308 | timeout: found 1e+308
figures --only 98_nothing | 98_nothing, expected a notebook or a figure: 00_programs
figures --profile ../../escape | the profile '../../escape'
figures --save --set test=4 | --save
figures --set seed | found --set 'seed'
figures --set seed=x | seed: found 'x'
figures --set test=2024-99-99 | --set 'test=2024-99-99': found no YAML
figures --set 'dtype=!!python/object/apply:os.system [id]' | --set 'dtype=!!python
figures --set 'model=!!python/object/apply:os.system [id]' | model: found no folder !!python
figures --set question= | --set 'question=': found no question
ask Who? --set 'question= ' | --set 'question= ': found no question
figures --set profile=../../../c/escape | the parameter 'profile'
figures --set server=http://u:p@h | server: found an address with a user or a password
figures --set server=https://h/v1?key=s | server: found the address 'https://h/v1' with a query
figures --set retriever=http://host | retriever: found the address 'http://host'
figures --set data_dir=/nonexistent | data_dir: found no folder /nonexistent
figures --set data_dir=TMP/empty | no questions of hotpotqa: looked for hotpot_dev_
figures --set data_dir=TMP/empty --set datasets=[eli5] --set corpus=full | no questions of eli5
figures --set corpus=full | corpus: found full and no data_dir
figures --set demonstrations=TMP/empty | NoR QA on musique: no prompt file TMP/empty/musique/
figures --set model=no/such/model | model: found no folder no/such/model
figures --set model=TMP/empty | model: found no config.json in TMP/empty
figures --set models=[/nonexistent] | models: found no folder /nonexistent
figures --set agent=/nonexistent | agent: found no folder /nonexistent
figures --set extractor=/nonexistent | extractor: found no folder /nonexistent
figures --set duplicates=/nonexistent | duplicates: found no folder /nonexistent
figures --set retriever=dense:/nonexistent | retriever: found no folder /nonexistent
figures --set second_model=/nonexistent | second_model: found no folder /nonexistent
figures --set extractor=data/models/mini-base | mini-base: found an encoder-decoder language model
figures --set duplicates=data/models/mini-base | mini-base: found an encoder-decoder language model
figures --set model=data/models/mini-reader | mini-reader: found a DPR reader
figures --set second_model=data/models/mini-reader | mini-reader: found a DPR reader
figures --set agent=data/models/mini-reader | mini-reader: found a DPR reader
figures --set retriever=hybrid:data/models/mini-base | expected an encoder
figures --set models=[data/models/agent] --set context_tokens=5000 | context_tokens: found a window
figures --only 04_ircot --set dev=0 | dev: found 0, and
figures --only 13_head_to_head --set agent= --set head_to_head=[own] | and no own in the laboratory
figures --only 04_ircot --set systems=[OneR] --set datasets=[fever] | fever have no gold paragraphs
figures --set chat=true | found chat and no server
figures --set batch=true | found batch and no server
plan --questions 0 | --questions: found '0'
plan --only 98_nothing | 98_nothing, expected a notebook or a figure: 00_programs
plan --set model=TMP/empty | model: found no config.json in TMP/empty
ask | question
ask '-30-' | found -30-, expected one question in quotes; put -- before
ask '--30--' | found --30--, expected one question in quotes; put -- before
ask Who? --sytem X | found --sytem X
ask 'Beyonc\udce9?' | found the argument b'Beyonc\\xe9?', expected UTF-8
figures --only '\udcff' | found the argument b'\\xff', expected UTF-8
ask Who? --system SearChains | the system 'SearChains'
ask Who? --set model=TMP/empty | no config.json in TMP/empty
ask ' ' | found no question
systems x | unrecognized
fetch --profile maxi | the profile 'maxi'
fetch --profile mini | the profile mini
fetch --set data_dir=TMP/file | data_dir: found TMP/file, expected a folder
fetch --set datasets=[own] --set data_dir=TMP/empty | no questions of own
calls | merge|export|recover
calls recover | file
calls recover TMP/none | TMP/none: found no such file
laboratory | a folder or --prompts
laboratory /proc/lab | /proc: cannot be written to
laboratory TMP/file | 'TMP/file', expected a folder
laboratory TMP/a --size 60 | for 60 pages, expected at most 120
laboratory TMP | TMP holds files that are no laboratory
"""
LINES = [line.split(" | ") for line in WRONG.strip().splitlines()]


@pytest.mark.parametrize(("line", "words"), LINES, ids=[line for line, _ in LINES])
def test_a_wrong_command_line_is_one_line_before_any_work(command, tmp_path, line, words):
    status, error = command(*shlex.split(line))
    assert (status, error.count("\n")) == (2, 1) and words in error
    assert error.startswith("error: ") and not (tmp_path / "data").exists()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_names_it_and_shows_an_example(command, capsys, name):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert ended.value.code == 0 and lines[0].startswith(f"usage: ircotlib {name} ")
    assert any(line.startswith(f"ircotlib {name}") for line in lines)
    assert main(["--help"]) == main([]) == 0
    assert f"\nircotlib {name} " in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"ircotlib {version('ircotlib')}\n"


def test_a_corpus_whose_files_are_not_there_is_told_before_it_is_read(figures_of, tmp_path):
    (tmp_path / "empty/hotpot_dev_distractor_v1.json").write_text("[]")
    changes = (
        "data_dir=TMP/empty",
        "datasets=[hotpotqa]",
        "corpus=full",
        "head_to_head=[hotpotqa]",
    )
    status, error = figures_of(*changes)
    assert status == 2 and "no full corpus of hotpotqa: looked for enwiki-20171001" in error
    archive = "enwiki-20171001-pages-meta-current-withlinks-abstracts.tar.bz2"
    (tmp_path / "empty" / archive).write_bytes(b"")
    assert figures_of(*changes)[1].startswith("started")


RIGHT = """test=100000000000000000000000
demonstrations='' distractors=[]
distractors=[] scale_distractors=[] ood_distractors=[] demonstrations=/nonexistent
server=http://127.0.0.1:1 model=gpt-x head_to_head=[musique]
seed=x seed=1"""


@pytest.mark.parametrize("changes", RIGHT.splitlines())
def test_what_is_right_starts(figures_of, changes):
    assert figures_of(*changes.split())[1].startswith("started 00_programs, ")


@pytest.mark.parametrize("text", ["Who?", "Beyoncé", "-30-", "日本 → 9"])
def test_an_argument_that_the_terminal_could_not_read_is_read_as_utf_8(text):
    in_c_locale = text.encode().decode("ascii", "surrogateescape")
    assert read_argument(in_c_locale) == read_argument(text) == text


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_terminal_of_another_encoding_is_shown_all(monkeypatch, encoding):
    shown = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr("sys.stdout", shown)
    monkeypatch.setitem(sys.modules, "some", mock.Mock(main=lambda _: print("“é” → end") or 0))
    monkeypatch.setitem(COMMANDS, "some", "some")
    assert main(["some"]) == 0
    shown.flush()
    text = shown.buffer.getvalue().decode(encoding).encode().decode("unicode_escape", "replace")
    assert text.endswith("end\n") and (encoding != "ascii" or text == "“é” → end\n")


def test_more_questions_than_the_laboratory_has_are_told(capsys, tmp_path):
    make_laboratory(tmp_path / "lab", 5, 100, 10)
    for changes, told in (
        ({"test": 99999}, "test: found 99999 and dev=30: a data set of the laboratory has 600"),
        ({"head_to_head_test": 600}, "head_to_head_test: found 600 and dev=30"),
        ({"data_dir": str(tmp_path / "lab"), "test": 80, "dev": 3}, "test: found 80 and dev=3"),
        ({"test": 570}, ""),
        ({"test": None}, ""),
    ):
        checks.check_places(read_parameters("mini", changes), ("data",))
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == bool(told) and "".join(lines).startswith(told)


def test_an_elasticsearch_that_is_away_is_one_line(command, figures_of, listening):
    away, started = "http://127.0.0.1:1", time.monotonic()
    for retriever in (f"retriever={away}", f"retrievers=[embedded, {away}]"):
        status, error = figures_of(retriever)
        assert (status, error.count("\n")) == (1, 1)
        assert f"no Elasticsearch answers at {away} (Connection refused)" in error
    assert time.monotonic() - started < 10
    assert figures_of(f"retriever={away},{listening}")[1].startswith("started")


def test_a_model_server_that_is_away_is_told_once(capsys, monkeypatch, listening):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    p = read_parameters("mini", {"model": "x", "server": f"http://127.0.0.1:1,{listening}"})
    checks.check_places(p)
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("http://127.0.0.1:1/v1 does not answer (Connection refused)")
    checks.check_places(p, ("data", "models"))
    monkeypatch.setenv("https_proxy", listening)  # only the proxy can find out
    checks.check_places(p.change(server="http://no.such.host"))
    assert capsys.readouterr().err == ""


def test_a_model_of_the_hub_is_looked_for_only_by_notebooks_that_ask_it(command, monkeypatch):
    names = []

    def model_info(hub, name, timeout):
        names.append(name)
        raise OSError("no answer")

    monkeypatch.setattr("huggingface_hub.HfApi.model_info", model_info)
    models = ("--set", "models=[a/b]", "--set", "model=c/d")
    status, error = command("figures", "--only", "04_ircot", *models)
    assert (status, error.count("\n")) == (1, 1) and "model: found no folder 'c/d'" in error
    assert "(no answer)" in error
    # without an agent its notebooks need the model
    assert command("figures", "--only", "12_baselines", *models, "--set", "agent=''")[0] == 1
    assert command("figures", "--only", "12_baselines", *models)[1] == "started 12_baselines"
    assert names == ["c/d", "c/d"]


def test_the_hub_that_does_not_answer_is_one_line(monkeypatch):
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    started = time.monotonic()
    with pytest.raises(Unavailable, match="model: found no folder 'no-such-owner/no-such-model'"):
        checks.check_model("model", "no-such-owner/no-such-model", (), hub=True)
    assert time.monotonic() - started < 60


@pytest.mark.parametrize("name", ["DATA", "FIGURES"])
def test_a_file_in_the_place_of_a_folder_is_one_line(figures_of, monkeypatch, tmp_path, name):
    monkeypatch.setattr(checks, name, tmp_path / "file")
    status, error = figures_of()
    assert (status, error.count("\n")) == (2, 1)
    assert "TMP/file: cannot be written to" in error and f"IRCOT_{name}" in error


def test_a_client_that_is_not_installed_is_told(figures_of, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: name == "papermill" or None)
    changes = {"server": "server=http://127.0.0.1:1", "dense": "retrievers=[embedded, dense:x]"}
    changes["elasticsearch"] = "retriever=http://127.0.0.1:9200"
    for extra, change in changes.items():
        status, error = figures_of(change)
        assert (status, error.count("\n")) == (1, 1) and f'pip install "ircotlib[{extra}]"' in error


@pytest.mark.parametrize("content", [b"a: [", b"\xff\xfe", b"", b"- a", b"seed: 1"])
def test_a_damaged_profile_is_one_line(command, monkeypatch, tmp_path, content):
    monkeypatch.setattr("ircotlib.parameters.PROFILES", tmp_path)
    (tmp_path / "mine.yaml").write_bytes(content)
    status, error = command("figures", "--profile", "mine")
    assert (status, error.count("\n")) == (2, 1) and "TMP/mine.yaml: found no" in error


def test_the_exit_status_tells_what_is_wrong_from_what_failed(command, monkeypatch):
    for kind in (UserError, DataError, Unavailable, OSError, RuntimeError):
        fails = mock.Mock(side_effect=kind("x"))
        monkeypatch.setattr("ircotlib.command.systems.main", fails)
        assert command("systems")[0] == (2 if kind is UserError else 1)


def test_what_has_nothing_to_run_is_left_out_and_told(command, capsys):
    only = ("--only", "06_scale", "--only", "04_ircot")
    assert command("figures", *only, "--set", "datasets=[iirc]") == (0, "started 04_ircot")
    assert read_comparisons("15_abilities", "mini", {}) == []
    with pytest.raises(NothingToRun, match="no laboratory, expected one: the simulated reader"):
        read_comparisons("15_abilities", "mini", {"data_dir": "/tmp"})
    own = {"model": "simulated", "datasets": ["own"], "data_dir": "/tmp"}
    with pytest.raises(NothingToRun, match="no other data than a laboratory's"):
        read_comparisons("10_your_own", "mini", own)
