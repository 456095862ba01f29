"""Faults of the machine: full disks, too little memory. Also: all that is shown is plain text."""

import errno

import pandas as pd
import pytest
from ircotlib.command.kernels import LITTLE_MEMORY, LITTLE_SPACE, _advice

from ircotlib.command import figures
from ircotlib.engine.cache import Calls
from ircotlib.errors import Unavailable
from ircotlib.files.paths import write_folder, write_whole
from ircotlib.results import cases
from ircotlib.results.figures.panels import subplots
from ircotlib.retrieval.elastic_load import index_name

EVIL = "<img src=x onerror=alert(1)> $\\href{javascript:a(1)}{x}$ **b** [a](javascript:b)\n\n# h"


def test_a_folder_that_cannot_be_finished_leaves_nothing_and_the_old_one_stays(tmp_path):
    folder = tmp_path / "corpus"
    with write_folder(folder, "about.json", "corpus") as partial:
        (partial / "about.json").write_text("old")
    with pytest.raises(OSError), write_folder(folder, "about.json", "corpus") as partial:
        (partial / "about.json").write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]
    assert (folder / "about.json").read_text() == "old"


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path):
    write_whole(tmp_path / "run.json", "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(tmp_path / "run.json", "new" * 100_000 + "\ud800")
    assert (tmp_path / "run.json").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_a_kept_notebook_survives_an_executed_one_that_is_damaged(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "NOTEBOOKS", tmp_path)
    (tmp_path / "00_a.ipynb").write_text("kept")
    (tmp_path / "executed.ipynb").write_text('{"cells": [')
    with pytest.raises(ValueError):
        figures.save_executed("00_a", tmp_path / "executed.ipynb")
    assert (tmp_path / "00_a.ipynb").read_text() == "kept"


def test_a_call_cache_on_a_full_disk_keeps_what_it_has(tmp_path):
    with Calls(tmp_path / "calls.sqlite") as calls:
        calls.put_many({"0" * 32: "kept"})
        calls._connection.execute("PRAGMA max_page_count=8")
        with pytest.raises(Unavailable, match="database or disk is full.*free some space"):
            calls.put_many({f"{n:032x}": "x" * 5000 for n in range(1, 20)})
    with Calls(tmp_path / "calls.sqlite") as calls:
        assert len(calls) == 1 and calls.get_many(["0" * 32]) == {"0" * 32: "kept"}


def test_what_the_machine_lacks_is_told_with_what_to_do():
    memory = ["MemoryError: ", "RuntimeError: DefaultCPUAllocator: can't allocate memory"]
    memory += ["OutOfMemoryError: CUDA out of memory. Tried"]
    disk = ["[Errno 28] No space left on device", "OperationalError: database or disk is full"]
    assert {*map(_advice, memory)} == {LITTLE_MEMORY} and {*map(_advice, disk)} == {LITTLE_SPACE}
    assert _advice("ValueError: found 5") == ""


def test_the_name_of_an_index_is_safe_for_any_folder_and_different_for_each():
    folders = ["A b", "x*,y", "-wild-*", "_all", "..", ".", "a/b", "日本", "x" * 300, "#a", "a\\b"]
    folders += ["", "raw-a", "RAW-a", "raw a", "raw*a", "raw,a", "x" * 101, "x" * 102]
    names = [index_name(folder) for folder in folders]
    assert len({*names}) == len(folders) and names == [index_name(folder) for folder in folders]
    for name in names:
        assert name.startswith("ircot-") and len(name.encode()) <= 255
        assert not set(name) - set("abcdefghijklmnopqrstuvwxyz0123456789-_.")
    assert index_name("laboratory-musique") == "ircot-laboratory-musique"


def test_formulas_in_tables_and_figures_and_markup_in_ids_are_text(tmp_path):
    shown = pd.DataFrame({"title": [EVIL]})._repr_html_()
    assert '<table border="1" class="dataframe tex2jax_ignore mathjax_ignore">' in shown
    assert "<img" not in shown
    row = dict.fromkeys(cases.COLUMNS, "") | {"id": "a`\n\n<img>", "dataset": "musique"}
    text = cases.cases_as_markdown(pd.DataFrame([row | {"recall": 0.0, "score": 0.0}]))
    assert text.splitlines()[2].startswith("`a <img>` · ")
    figure, axis = subplots()
    axis.set_title("model $x^{ of $")
    figure.savefig(tmp_path / "a.png")
