"""Tables: texts are read as they are, and what is wrong is one line with file, line and column."""

import numpy as np
import pandas as pd
import pytest

from ircotlib.errors import DataError
from ircotlib.tables import Number, read_table, write_table

TEXTS = ["NA", "nan", "null", "None", "", "a\nb", "a\r\nb", '"', ",", ";", "=1+1", " x "]
TEXTS += ["030", "1e3", "True", "é\u2028", "-", "#"]
PRICES = "model,input,output\nm,0.15,0.60\nn,1,2\n"


def test_texts_are_read_as_they_were_written(tmp_path):
    table = pd.DataFrame({"id": TEXTS, "kind": TEXTS[::-1], "x": np.arange(len(TEXTS)) / 7})
    table.loc[3, "x"] = np.nan
    write_table(tmp_path / "t.csv", table)
    rows = read_table(tmp_path / "t.csv", {"id": None, "x": Number(0, 3, empty=np.nan)}, ["id"])
    assert pd.DataFrame(rows).equals(table)
    write_table(tmp_path / "t.csv", pd.DataFrame({"id": ["x\ud800"]}, dtype=object))
    assert read_table(tmp_path / "t.csv", {"id": None}) == [{"id": "x\\ud800"}]


WRONG = [  # what is done to the table of prices, and what the error says
    (PRICES.replace("input", "in"), ":2: found no column input"),
    (PRICES.replace(",", ";"), ":2: found no column input, model"),
    (PRICES.replace(",0.60", ""), ":2: found more or fewer cells than columns"),
    (PRICES.replace("0.15", "0,15"), ":2: found more or fewer cells than columns"),
    (PRICES.replace("0.15", '"0,15"'), ":2, column input: could not convert"),
    (PRICES.replace("0.15", ""), ":2, column input: could not convert"),
    (PRICES.replace("1,2", "-1,2"), ":3, column input: found -1, expected from 0 to"),
    (PRICES.replace("0.15", "nan"), ":2, column input: found nan"),
    (PRICES.replace("0.15", "1e999"), ":2, column input: found 1e999"),
    (PRICES.replace("n,", "m,"), ":3: found m again, expected it once"),
    (PRICES.replace("0.15", '"0.15'), "unexpected end of data"),
    (PRICES.replace("m", "é").encode("latin-1"), "'utf-8' codec can't decode"),
]


@pytest.mark.parametrize(("content", "message"), WRONG)
def test_a_table_that_is_wrong_is_one_line(tmp_path, content, message):
    path = tmp_path / "prices.csv"
    path.write_bytes(b"\xef\xbb\xbf" + PRICES.encode())  # as spreadsheets write it
    columns = {"model": None, "input": Number(0)}
    assert [row["input"] for row in read_table(path, columns, ["model"])] == [0.15, 1]
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=f"^{path}.*{message}[^\n]*$"):
        read_table(path, columns, ["model"])
