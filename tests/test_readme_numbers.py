"""The numbers in README, docs and notebooks are those that docs/write_numbers.py writes."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from docs.claims import count, count_fixed, differently, named_comparisons, summary
from docs.pages import BLOCK, OTHERS, PAGES, fill, write_page
from docs.write_numbers import numbers, read, trainings
from ircotlib.files.paths import MODELS
from ircotlib.results.figures.palette import BACKENDS

CELLS = [
    cell
    for path in PAGES
    if path.suffix == ".ipynb"
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
]
MARKED = [c for c in CELLS if c["cell_type"] == "markdown" and "<!--" in "".join(c["source"])]
TEXTS = [path.read_text(encoding="utf-8") for path in PAGES if path.suffix == ".md"]
TEXT = "\n".join([*TEXTS, *("".join(cell["source"]) for cell in MARKED)])
BLOCKS = {match[2]: match[3] for match in BLOCK.finditer(TEXT)}
THREE = ["HotpotQA", "2WikiMultihopQA", "MuSiQue"]


@pytest.fixture(scope="module")
def written():
    return numbers()


def test_they_are_up_to_date(written):
    for path in PAGES:
        text, now = path.read_text(encoding="utf-8"), write_page(path, written)
        assert now == text, f"{path.name} is old: run python -m docs.write_numbers"


def test_every_block_is_on_a_page_and_no_other_marker_is(written):
    markers = re.findall(r"<!-- (\w[\w ]*) -->", TEXT)
    assert sorted(markers) == sorted(match[2] for match in BLOCK.finditer(TEXT))
    assert set(markers) == {*written, *OTHERS}


def test_no_line_begins_with_a_comment_and_text_that_markdown_would_leave_as_it_is():
    assert not re.findall(r"^<!-- .* -->.+$", TEXT, re.MULTILINE)


def test_numbers_that_a_notebook_has_in_its_text_are_shown_for_mini_only():
    assert not [cell["source"] for cell in MARKED if "mini" not in cell["metadata"].get("tags", ())]


def test_the_text_of_a_notebook_is_filled_and_nothing_else(tmp_path):
    sources = {"markdown": ["**On `mini`**\n", "<!-- a -->1.5\n", "of 2<!-- /a -->é"]}
    sources["code"] = ["# <!-- a -->1 of 2<!-- /a -->\n", "x = 3"]
    cells = [{"cell_type": kind, "source": source} for kind, source in sources.items()]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": cells, "nbformat": 4}), encoding="utf-8")
    text = write_page(path, {"a": [7, "8"]})
    new = json.loads(text)
    assert new["cells"][0].pop("source") == ["**On `mini`**\n", "<!-- a -->7\n", "of 8<!-- /a -->é"]
    assert new["cells"][1] == cells[1] and new["nbformat"] == 4 and "é" in text
    with pytest.raises(ValueError, match="'a'"):
        write_page(path, {"a": [7]})


def test_a_page_is_filled_and_what_does_not_fit_is_refused():
    page = "<!-- a -->**1.5**, of BM25's 1,200, -3.4, and 5.<!-- /a -->"
    page += "<!-- b -->\n| K = 5 |\n|---|\n| x 1 |\n<!-- /b -->"
    filled = fill(page, {"a": ["2", 3, "+6.7", "8,000"], "b": [4]})
    for old, new in (("1.5", "2"), ("1,200", "3"), ("-3.4", "+6.7"), ("5.<", "8,000.<")):
        page = page.replace(old, new)
    assert filled == page.replace("x 1", "x 4")
    for blocks in ({"b": [4]}, {"a": [1], "b": [4]}):
        with pytest.raises(ValueError, match="'a'"):
            fill(page, blocks)


def test_rows_of_tables_are_named_in_the_order_of_their_numbers():
    rows = dict.fromkeys(("recall", "f1"), [*THREE, "IIRC"])
    rows["scale"] = [f"{name}, {metric}" for name in THREE for metric in ("recall", "F1")]
    for block, labels in (rows | dict.fromkeys(("ood", "oner", "by retriever"), THREE)).items():
        assert re.findall(r"^\| ([^|]+) \|", BLOCKS[block], re.MULTILINE)[1:] == labels, block


def test_columns_of_tables_are_named_in_the_order_of_their_numbers():
    def head(block):
        return re.sub(r" \([^)]*\)", "", BLOCKS[block].splitlines()[1])[2:-2].split(" | ")

    systems = [column for column in head("f1")[1:] if column != "paper"]
    assert systems == list(read("ircot_fig04_f1")["system"].unique())
    assert head("scale")[1:] == [name for name in trainings() if name != "agent"]
    assert [name.split("of ")[1] for name in head("ood")[1:]] == THREE
    retrievers = read("sample_oner_recall_by_retriever")["retriever"].unique()
    assert head("by retriever")[1:] == list(retrievers)
    ks = read("sample_oner_recall")["k"].unique()
    assert head("oner")[3:] == [f"K = {k}" for k in ks]
    dense = read("bench_dense").query("paragraphs == 1_000_000")
    assert head("dense")[1:] == list(dense["measure"])
    assert head("retrieval")[0] == " / ".join(BACKENDS)


def test_what_sentences_say_of_claims_is_so():
    named = named_comparisons()
    assert all(len(rows) and rows["dataset"].is_unique for rows in named)
    assert count(pd.concat(named))[1] == 0, "nothing is said of comparisons that do not hold"
    for paper in ("ircot", "searchain"):
        assert "against" not in set(read(f"{paper}_claims")["leans"]), "it is called mixed"
    rates = read("bench_parse_rates")
    assert set(rates["silent"]) == {0} and rates["system"].nunique() == 23


def test_claims_are_counted_in_one_unit():
    verdicts = ["holds"] * 2 + ["does not hold"] + ["cannot tell"] * 3 + ["not tested"]
    notes = ["cannot fail here: by selection", None, None, "cannot fail here", None, None, None]
    table = pd.DataFrame({"verdict": verdicts, "note": notes, "p": [0, 0.04, 0, 1, 0.9, 0.8, None]})
    table["leans"] = [None] * 3 + ["for", "mixed", "mixed", None]
    assert summary(table) == [2, 7, 1, 3, 1, 2] and count(table) == [2, 1, 3, 1]
    assert count_fixed(table) == 1
    assert differently(table) == 1  # p = 0.04, alone in its section, is 0.16 among the six


def test_what_sentences_say_of_models_is_so():
    records, folders = trainings(), {path.name for path in MODELS.iterdir()}
    readers = {path.parent.name for path in MODELS.glob("*/reading.json")}
    assert {*records} | readers == folders, "a shipped model without the record of its training"
    smallest, *larger = [name for name in records if name not in ("mini-causal", "agent")]
    assert [name for name in records if records[name].get("start")] == larger
    assert not records[smallest].get("start"), "docs/models.md says otherwise"
    sizes = read("ircot_fig08_scale_recall").set_index("model")["parameters"]
    for model, millions in sizes.items():
        assert millions == round(records[Path(model).name]["parameters"] / 1e6, 2)


def test_the_comparison_of_retrievers_has_the_same_numbers_with_bm25():
    table = read("head_to_head_dense").drop(columns="seconds")  # none: BM25's runs were replayed
    sparse = table[table["retriever"] == "BM25"].reset_index(drop=True)
    pd.testing.assert_frame_equal(sparse, read("head_to_head")[table.columns])
