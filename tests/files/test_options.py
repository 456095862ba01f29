"""Wrong options of every program with options: one line and status 2, before any work."""

import runpy
import sys
import time

import pytest

from ircotlib.__main__ import COMMANDS as MODULES
from ircotlib.files.paths import ROOT

COUNT, NUMBER = "expected a whole number, 1 or more", "expected a whole number, 0 or more"
COMMANDS = {module: f"ircotlib {name}" for name, module in MODULES.items()}
SERVED = ["--model", "m", "--server", "http://127.0.0.1:1"]
OUT = ["--out", "TMP/out"]
# program, arguments, what is said of them
WRONG = [
    ("ircotlib figures", ["--jobs", "0"], f"argument --jobs: found '0', {COUNT}"),
    ("ircotlib fetch", ["--profile", "x"], "found the profile 'x', expected one of mini"),
    ("ircotlib recover", [], "the following arguments are required: file"),
    ("ircotlib recover", ["TMP/none"], "TMP/none: found no such file, expected a call"),
    ("ircotlib recover", ["TMP"], "TMP: found no such file, expected a call cache"),
    ("ircotlib laboratory", [], "give either a folder or --prompts"),
    ("ircotlib laboratory", ["TMP/a", "--prompts"], "give either a folder or --prompts"),
    ("ircotlib laboratory", ["TMP/file"], "found 'TMP/file', expected a folder, or nothing"),
    ("ircotlib laboratory", ["TMP/a", "--questions", "0"], f"--questions: found '0', {COUNT}"),
    ("ircotlib laboratory", ["TMP/a", "--size", "-5"], f"--size: found '-5', {COUNT}"),
    ("ircotlib laboratory", ["TMP/a", "--size", "60"], "for 60 pages, expected at most 120:"),
    ("ircotlib laboratory", ["TMP/a", "--seed", "x"], "--seed: invalid int value: 'x'"),
    ("ircotlib laboratory", ["TMP/a", "--quest", "9"], "unrecognized arguments: --quest 9"),
    ("ircotlib laboratory", ["TMP"], "TMP holds files that are no laboratory"),
    ("training.t5", [], "the following arguments are required: --out"),
    ("training.t5", ["--out", "TMP/file"], "--out: found 'TMP/file', expected a folder"),
    ("training.t5", [*OUT, "--steps", "0"], f"argument --steps: found '0', {COUNT}"),
    ("training.t5", [*OUT, "--steps", "1e3"], f"argument --steps: found '1e3', {COUNT}"),
    ("training.t5", [*OUT, "--seed", "-1"], f"argument --seed: found '-1', {NUMBER}"),
    ("training.t5", [*OUT, "--peak", "nan"], "--peak: found 'nan', expected a learning rate"),
    ("training.t5", [*OUT, "--size", "huge"], "argument --size: invalid choice: 'huge'"),
    ("training.t5", [*OUT, "--start", "TMP"], "found no TMP/config.json, expected --start to"),
    ("training.reader", [*OUT, "--steps", "0"], f"argument --steps: found '0', {COUNT}"),
    ("training.reader", ["--out", "TMP/file"], "--out: found 'TMP/file', expected a folder"),
    ("training.agent", [*OUT, "--steps", "x"], f"argument --steps: found 'x', {COUNT}"),
    ("training.agent", [*OUT, "--peak", "0"], "argument --peak: found '0', expected a learning"),
    ("training.agent", ["--out", "TMP/file"], "--out: found 'TMP/file', expected a folder"),
    ("training.agent.evaluate", ["TMP"], "found no config.json in TMP, expected the folder of a"),
    ("training.agent.evaluate", ["TMP", "--closed", "-1"], f"--closed: found '-1', {NUMBER}"),
    ("bench.batching", ["--questions", "3"], "unrecognized arguments: --questions 3"),
    ("bench.reading", ["x"], "unrecognized arguments: x"),
    ("bench.retrieval", ["--sizes", "0"], f"argument --sizes: found '0', {COUNT}"),
    ("bench.retrieval", ["--sizes"], "argument --sizes: expected at least one argument"),
    ("bench.dense", ["TMP"], "TMP: found vectors of 0 paragraphs, expected some"),
    ("bench.dense", ["TMP", "--late", "-3"], f"argument --late: found '-3', {COUNT}"),
    ("bench.systems", ["--questions", "0"], f"argument --questions: found '0', {COUNT}"),
    ("bench.systems", ["--profile", "x"], "found the profile 'x', expected one of mini"),
    ("bench.systems", ["--set", "seed=x"], "seed: found 'x', expected a whole number"),
    ("bench.systems", ["--set", "agent=TMP"], "model: found no config.json in TMP, expected"),
    ("bench.server", [], "the following arguments are required: --model, --server"),
    ("bench.server", [*SERVED, "--in-flight", "0"], f"--in-flight: found '0', {COUNT}"),
    ("bench.server", ["--model", "m", "--server", "x"], "found the address 'x', expected http://"),
    ("bench.parse_rates", SERVED, "the following arguments are required: --data"),
    ("bench.parse_rates", [*SERVED, "--data", "TMP/x"], "data_dir: found no folder TMP/x"),
    ("bench.parse_rates", [*SERVED, "--data", "TMP"], "no questions of hotpotqa: looked for"),
    ("bench.parse_rates", [*SERVED, "--data", "TMP", "--questions", "x"], f"found 'x', {COUNT}"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
@pytest.mark.parametrize(
    ("program", "arguments", "message"),
    WRONG,
    ids=[f"{one[0]} {' '.join(one[1])}" for one in WRONG],
)
def test_wrong_options_are_one_line(program, arguments, message, tmp_path, monkeypatch, capsys):
    if program.startswith(("training", "bench")):
        pytest.importorskip("torch")
    (tmp_path / "file").write_text("x")
    given = [one.replace("TMP", str(tmp_path)) for one in arguments]
    module, *command = program.split()
    monkeypatch.setattr(sys, "argv", [module, *command, *given])
    started = time.monotonic()
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(module, run_name="__main__")
    said = capsys.readouterr().err.replace(str(tmp_path), "TMP")
    assert (ended.value.code, said.count("\n")) == (2, 1)
    assert said.startswith("error: ") and message in said
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".lock"] == ["file"]
    assert time.monotonic() - started < 60


def test_every_program_with_options_is_tried():
    programs = {program for program, *_ in WRONG}
    for folder in ("ircotlib", "ircot_laboratory", "training", "bench", "docker"):
        for path in (ROOT / folder).rglob("*.py"):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            module = module.removesuffix(".__main__")
            module = COMMANDS.get(module, module)
            text = path.read_text()
            assert "ArgumentParser(" not in text or module == "ircotlib.files.options"
            assert "new_parser(__doc__)" not in text or module in programs
