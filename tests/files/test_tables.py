"""Tables: texts are read as they are, and what is wrong is one line with file, row and column."""

import numpy as np
import pandas as pd
import pytest

from ircotlib.data import DataError
from ircotlib.files.paths import DOWNLOADS
from ircotlib.files.tables import Number, read_table, write_table
from ircotlib.generation import budget
from ircotlib.results import reported

TEXTS = ["NA", "nan", "null", "None", "", "a\rb", "a\nb", "a\r\nb", '"', ",", ";", "=1+1", " x "]
TEXTS += ["030", "1e3", "True", "é\u2028", "-", "#"]
PRICES = "model,input,output,date,source\nm,0.15,0.60,2026-04,s\nn,1,2,2026-04,s\n"


def test_texts_are_read_as_they_were_written(tmp_path):
    table = pd.DataFrame({"id": TEXTS, "kind": TEXTS[::-1], "x": np.arange(len(TEXTS)) / 7})
    table.loc[3, "x"] = np.nan
    write_table(tmp_path / "t.csv", table)
    rows = read_table(tmp_path / "t.csv", {"id": None, "x": Number(0, 3, empty=np.nan)}, ["id"])
    assert pd.DataFrame(rows).equals(table)
    write_table(tmp_path / "t.csv", pd.DataFrame({"id": ["x\ud800"]}, dtype=object))
    assert read_table(tmp_path / "t.csv", {"id": None}) == [{"id": "x\\ud800"}]


WRONG = {  # what is done to the table of prices, and what the error says
    "other columns": (lambda t: t.replace("input", "in"), "row 1: .*model,in,output"),
    "a column twice": (lambda t: t.replace("date", "input"), "row 1"),
    "semicolons": (lambda t: t.replace(",", ";"), "row 1: .*model;input.*separated by commas"),
    "nothing": (lambda t: "", "row 1: found the columns ''"),
    "a short row": (
        lambda t: t.replace(",2026-04,s\nn", "\nn"),
        "row 2: found 3 cells",
    ),
    "a decimal comma": (lambda t: t.replace("0.15", "0,15"), "row 2: found 6 cells"),
    "a quoted one": (lambda t: t.replace("0.15", '"0,15"'), "row 2, column 'input': found '0,15'"),
    "a sign": (lambda t: t.replace("0.15", "$0.15"), r"column 'input': found '\$0.15', expected a"),
    "no number": (lambda t: t.replace("0.15", ""), "column 'input': found '', expected a number"),
    "a negative one": (lambda t: t.replace("1,2", "-1,2"), "row 3, .*'-1', expected .* from 0;"),
    "no finite one": (lambda t: t.replace("0.15", "nan"), "column 'input': found 'nan'"),
    "one too large": (lambda t: t.replace("0.15", "1e999"), "column 'input': found '1e999'"),
    "a model twice": (lambda t: t.replace("n,", "m,"), "row 3, column 'model': .*as in row 2"),
    "an open quote": (lambda t: t.replace("0.15", '"0.15'), "found no table"),
    "swapped prices": (lambda t: t.replace("0.15,0.60", "0.60,0.15"), "model 'm': found 0.6 for"),
    "swapped columns": (lambda t: t.replace("input,output,date", "date,input,output"), "row 2"),
}


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_prices_that_are_wrong_are_one_line(tmp_path, monkeypatch, change, message):
    path = tmp_path / "prices.csv"
    monkeypatch.setattr(budget, "PRICES", path)
    path.write_text("\ufeff" + PRICES, newline="")  # with a byte order mark, as spreadsheets write
    assert budget.find_price("m").input == 0.15 and budget.find_price("x") is None
    path.write_text(change(PRICES), newline="")
    with pytest.raises(DataError, match=f"^{path}.*{message}") as error:
        budget.find_price("n")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [None, b"\xff", "é".encode("latin-1"), PRICES.encode("utf-16")])
def test_what_is_no_table_is_one_line(tmp_path, content):
    if content is not None:
        (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DataError, match="t.csv: found no table .*, expected .* model, separated"):
        read_table(tmp_path / "t.csv", {"model": None})


def test_the_papers_numbers_are_checked(tmp_path, monkeypatch):
    names, first, *rest = reported.REPORTED.read_text().splitlines(keepends=True)
    monkeypatch.setattr(reported, "REPORTED", tmp_path / "reported.csv")
    for lines, message in (
        ([names, first.replace(",21,", ",x,"), *rest], "row 2, column 'value': found 'x'"),
        ([names, first, first, *rest], "row 3, column 'paper': .* as in row 2"),
    ):
        reported.REPORTED.write_text("".join(lines))
        with pytest.raises(DataError, match=message):
            reported.read_reported()


def test_downloads_have_numbers_of_bytes():
    rows = read_table(DOWNLOADS, {"bytes": Number(0, kind=int, empty=0)})
    assert {type(row["bytes"]) for row in rows} == {int}
