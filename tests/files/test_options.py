"""Wrong options of the trainings and benchmarks: one line and status 2, before any work. Those of
`ircotlib` are in test_command_lines. Changes of parameters.
"""

import json
import runpy
import shlex
import sys
import time

import pytest

from ircotlib.errors import Unavailable, UserError
from ircotlib.files.options import TEXTS, parse_change, parse_changes, say_error
from ircotlib.files.paths import ROOT
from ircotlib.parameters import Parameters, read_parameters

BENCHES = ("systems", "workers", "plan", "real_anchor")  # with changes of parameters
SERVED = ["--model", "m", "--server", "http://127.0.0.1:1"]
OUT = ["--out", "TMP/out"]
# program, arguments, words of the error: at least one of each kind of option
WRONG = [
    ("training.t5", [], "--out"),
    ("training.t5", ["--out", "TMP/file"], "--out: found 'TMP/file'"),
    ("training.t5", [*OUT, "--steps", "1e3"], "--steps: found '1e3'"),
    ("training.t5", [*OUT, "--seed", "-1"], "--seed: found '-1'"),
    ("training.t5", [*OUT, "--peak", "nan"], "--peak: found 'nan'"),
    ("training.t5", [*OUT, "--start", "TMP"], "found no TMP/config.json"),
    ("training.reader", [*OUT, "--steps", "0"], "--steps: found '0'"),
    ("training.agent", [*OUT, "--peak", "0"], "--peak: found '0'"),
    ("training.agent.evaluate", ["TMP"], "found no config.json in TMP"),
    ("training.agent.evaluate", ["TMP", "--closed", "-1"], "--closed: found '-1'"),
    ("training.agent.probes", ["TMP", "--questions", "0"], "--questions: found '0'"),
    ("bench.abilities", [], "required: step"),
    ("bench.abilities", ["predict", "--set", "k"], "found --set 'k'"),
    ("bench.growth", ["--writer", "x"], "invalid choice: 'x'"),
    ("bench.batching", ["--questions", "3"], "--questions"),
    ("bench.reading", ["x"], "x"),
    ("bench.retrieval", ["--sizes", "0"], "--sizes: found '0'"),
    ("bench.dense", ["TMP"], "TMP: found vectors of 0 paragraphs"),
    ("bench.dense", ["TMP/none"], "found no folder TMP/none"),
    ("bench.measure_retrieval", [], "required: step"),
    ("bench.systems", ["--profile", "x"], "the profile 'x'"),
    *((f"bench.{name}", ["--set", "k"], "found --set 'k'") for name in BENCHES),
    ("bench.systems", ["--set", "agent=TMP"], "model: found no config.json in TMP"),
    ("bench.real_anchor", ["--profile", "x"], "the profile 'x'"),
    ("bench.server", ["--model", "m", "--server", "x"], "the address 'x'"),
    ("bench.soak", ["--minutes", "0"], "--minutes: found '0'"),
    ("bench.workers", ["--questions", "0"], "--questions: found '0'"),
    ("bench.plan", ["--only", "98_nothing"], "98_nothing, expected a notebook"),
    ("bench.parse_rates", [*SERVED, "--data", "TMP/x"], "data_dir: found no folder TMP/x"),
]


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
@pytest.mark.parametrize(
    ("program", "arguments", "words"), WRONG, ids=[f"{name} {' '.join(a)}" for name, a, _ in WRONG]
)
def test_wrong_options_are_one_line(program, arguments, words, tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch")
    (tmp_path / "file").write_text("x")
    given = [argument.replace("TMP", str(tmp_path)) for argument in arguments]
    monkeypatch.setattr(sys, "argv", [program, *given])
    started = time.monotonic()
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(program, run_name="__main__")
    error = capsys.readouterr().err.replace(str(tmp_path), "TMP")
    assert (ended.value.code, error.count("\n")) == (2, 1)
    assert error.startswith("error: ") and words in error
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert time.monotonic() - started < 60


def test_every_program_with_options_is_tried():
    programs = {program for program, *_ in WRONG}
    for path in [*(ROOT / "training").rglob("*.py"), *(ROOT / "bench").rglob("*.py")]:
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if "new_parser(" in path.read_text(encoding="utf-8"):
            assert module.removesuffix(".__main__") in programs


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(28, "No space left\non device"), "OSError: [Errno 28] No space left on device"),
        (Unavailable("no\nserver"), "no server"),
        (ValueError("found 1"), "found 1"),
        ("found 2", "found 2"),
    ],
)
def test_an_error_is_one_line_with_its_kind_if_that_is_pythons(capsys, error, line):
    assert say_error(error, 1) == 1
    assert capsys.readouterr().err == f"error: {line}\n"


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("test=40", ("test", 40)),
        ("oner_k=[5, 7]", ("oner_k", [5, 7])),
        ("model=google/flan-t5-base", ("model", "google/flan-t5-base")),
        ("server=http://127.0.0.1:8000", ("server", "http://127.0.0.1:8000")),
        ("corpus=full", ("corpus", "full")),  # no path, though there is a folder of that name
        ("data_dir=full", ("data_dir", "FOLDER/full")),
        ("data_dir=FOLDER/full/..", ("data_dir", "FOLDER")),
        ("model=ROOT/data", ("model", "data")),
        ("data_dir='FOLDER/full'", ("data_dir", "FOLDER/full")),
        ("corpus='full'", ("corpus", "full")),
        ('dtype="float16"  # half', ("dtype", "float16")),
    ],
)
def test_changes_are_yaml_or_texts_and_only_places_are_paths(tmp_path, monkeypatch, text, change):
    (tmp_path / "full").mkdir()
    monkeypatch.chdir(tmp_path)
    name, value = parse_change(text.replace("FOLDER", str(tmp_path)).replace("ROOT", str(ROOT)))
    changed = value.replace(str(tmp_path), "FOLDER") if isinstance(value, str) else value
    assert (name, changed) == change


ODD = ["Which song is # 1 in 1999?", "a #b", "Kill Bill: Volume 1?", "key: value", "|", "> a", "*a"]
ODD += ["&a", "[1", "{a", "!!python/object/apply:os.system [id]", "@a", "%a", "`a`", "- a", "? a"]
ODD += ["~", "null", "true", "1.5", "030", "2024-99-99", "'a", '"a" or "b"?', "'a' # 'b'", "a\tb"]
ODD += ["誰? 😀", "a\\b", "", "a, b", "x" * 5000, "\x07"]


def test_the_parameters_that_are_texts_are_known():
    fields = Parameters.model_fields.items()
    texts = {name for name, field in fields if field.annotation is str and name != "profile"}
    assert texts == TEXTS


@pytest.mark.parametrize("name", ["question", "retriever", "data_dir", "second_model"])
@pytest.mark.parametrize("odd", [text for text in ODD if text])
def test_a_text_is_as_it_is_or_quoted(name, odd):
    for given in (odd, json.dumps(odd, ensure_ascii=False), f"""'{odd.replace("'", "''")}'"""):
        assert odd.endswith(("\t", "\x07")) or parse_change(f"{name}={given}") == (name, odd)


@pytest.mark.parametrize("odd", [text for text in ODD if text])
def test_the_command_that_an_error_shows_has_the_same_texts(odd):
    p = read_parameters("mini", {"question": odd, "agent": odd})
    [_, _, *options] = shlex.split(p.command_line())
    assert read_parameters("mini", parse_changes(options[1::2])) == p


@pytest.mark.parametrize("given", ["", " ", "''", '""', '" "'])
def test_an_empty_question_among_changes_is_refused(given):
    with pytest.raises(UserError, match="--set .*: found no question, expected one"):
        parse_change(f"question={given}")
    assert parse_change("agent=") == ("agent", "")
