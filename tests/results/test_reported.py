"""The papers' numbers: one tidy file, with a row for each number, as printed.

Units are the papers': percent or percentage points, except those in PLAIN. `deviation`
is the sample standard deviation over three demonstration sets, if the paper prints one.
If IRCoT's reader matters, `note` starts with its style, direct or cot.
"""

import csv
import re

import pytest

from ircotlib.files import REPORTED

COLUMNS = [
    *("paper", "source", "dataset", "model", "system", "metric"),
    *("value", "deviation", "note"),
]
EIGHT = [  # SearChain's order
    *("hotpotqa", "musique", "2wikimultihopqa", "strategyqa"),
    *("zsre", "trex", "fever", "eli5"),
]
FOUR = ["hotpotqa", "2wikimultihopqa", "musique", "iirc"]  # IRCoT's order
PLAIN = {  # no percentages: smallest and largest value to be expected
    "accuracy_where_parts_known": (0, 1), "skc": (0, 10),
    "reasoning_steps": (1, 10), "rounds": (1, 5), "seconds": (1, 60),
    "words_in": (100, 2000), "words_out": (10, 500), "demonstrations": (0, 16),
    "paragraphs": (100_000, 6_000_000),
}  # fmt: skip
TABLES = {"ircot": {1, 3, 4, 6}, "searchain": {*range(1, 12)}}
with REPORTED.open(newline="", encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file))


def reported(**wanted):
    """The rows whose columns equal `wanted`, in the order of the file."""
    return [row for row in ROWS if row | wanted == row]


def test_every_number_is_there_once_tidy_and_in_range():
    assert list(ROWS[0]) == COLUMNS
    for paper, tables in TABLES.items():
        numbers = [
            re.match(r"Table (\d+)", row["source"]) for row in reported(paper=paper)
        ]
        assert {int(number[1]) for number in numbers if number} == tables
    for row in ROWS:
        assert row["paper"] in (*TABLES, "reliopt") and row["system"], row
        assert all(value == value.strip() for value in row.values()), row
        assert row["model"] or row["metric"] == "paragraphs", row
        low, high = PLAIN.get(row["metric"], (0, 100))
        assert low <= float(row["value"]) <= high, row
        assert not row["deviation"] or 0 <= float(row["deviation"]) <= 3, row
        repeated = row["paper"] == "ircot" and row["source"] in ("Table 4", "Table 6")
        assert bool(row["deviation"]) == repeated, row
    named = [name for name in COLUMNS if name not in ("value", "deviation")]
    keys = [tuple(row[name] for name in named) for row in ROWS]
    assert len(keys) == len(set(keys))


def test_tables_agree_where_they_print_the_same_number():
    for row in reported(paper="ircot", source="Table 6", system="IRCoT QA"):
        same = row | {"source": "Table 4"}
        assert reported(**same) == [same]
    for row in reported(paper="ircot", source="Table 1"):
        assert reported(**row | {"source": "Table 3"}), row
    for row in reported(paper="searchain", source="Table 6", metric="average"):
        cells = reported(paper="searchain", source="Table 1", system=row["system"])
        mean = sum(float(cell["value"]) for cell in cells) / 8
        assert len(cells) == 8 and mean == pytest.approx(float(row["value"]), abs=0.01)


@pytest.fixture(scope="module")
def papers(shared):
    """The text of each paper, without thousands separators; skipped if missing."""
    folder = shared.parent / "papers"
    if not folder.is_dir():
        pytest.skip(f"needs the papers' texts in {folder}")
    names = ("ircot", "searchain")
    texts = {name: (folder / f"{name}.txt").read_text("utf-8") for name in names}
    thousands = re.compile(r"(?<=\d),(?=\d{3})")
    return {name: thousands.sub("", text) for name, text in texts.items()}


def test_every_number_is_printed_in_its_paper(papers):
    number = re.compile(r"\d+(?:\.\d+)?")
    printed = {name: set(number.findall(text)) for name, text in papers.items()}
    numbers = [(row, row[column]) for row in ROWS for column in ("value", "deviation")]
    numbers = [(row, n) for row, n in numbers if n and row["paper"] in printed]
    assert [row for row, n in numbers if n not in printed[row["paper"]]] == []


def test_rows_of_the_large_tables_are_printed_like_this(papers):
    for source in ("Table 1", "Table 9"):
        rows = reported(paper="searchain", source=source)
        for start in range(0, len(rows), 8):
            row = rows[start : start + 8]
            name = re.sub("SearChain (w/o [VC])", r"- \1", row[0]["system"])
            line = "\t".join([name, *(cell["value"] for cell in row)])
            assert line in papers["searchain"]
            assert [cell["dataset"] for cell in row] == EIGHT
    for system in ("NoR QA", "OneR QA", "IRCoT QA"):
        for style, printed in (("direct", "Direct"), ("cot", "CoT")):
            row = reported(paper="ircot", source="Table 4", system=system, note=style)
            cells = [f"{cell['value']}± {cell['deviation']}" for cell in row]
            assert " ".join([printed, *cells]) in papers["ircot"]
            assert [cell["dataset"] for cell in row] == FOUR * 2
            assert [cell["model"] for cell in row] == ["Flan-T5-XXL"] * 4 + ["GPT3"] * 4
