"""The numbers in README and docs are those that docs/write_numbers.py writes."""

import re
from pathlib import Path

import pandas as pd
import pytest

from docs.pages import BLOCK, OTHERS, PAGES, fill
from docs.write_numbers import count, named_comparisons, numbers, read, trainings
from ircotlib.files.paths import MODELS
from ircotlib.results.figures.points import BACKENDS

TEXTS = {path.name: path.read_text(encoding="utf-8") for path in PAGES}
BLOCKS = {match[2]: match[3] for text in TEXTS.values() for match in BLOCK.finditer(text)}
THREE = ["HotpotQA", "2WikiMultihopQA", "MuSiQue"]


@pytest.fixture(scope="module")
def written():
    return numbers()


def test_they_are_up_to_date(written):
    for page, text in TEXTS.items():
        assert fill(text, written) == text, f"{page} is old: run python -m docs.write_numbers"


def test_every_block_is_on_a_page_and_no_other_marker_is(written):
    markers = re.findall(r"<!-- (\w[\w ]*) -->", "".join(TEXTS.values()))
    assert sorted(markers) == sorted([*written, *OTHERS]) == sorted(BLOCKS)


def test_a_page_is_filled_and_what_does_not_fit_is_refused():
    page = "<!-- a -->**1.5** of BM25's 1,200<!-- /a -->"
    page += "<!-- b -->\n| K = 5 |\n|---|\n| x 1 |\n<!-- /b -->"
    filled = fill(page, {"a": ["2", 3], "b": [4]})
    assert filled == page.replace("1.5", "2").replace("1,200", "3").replace("x 1", "x 4")
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
    assert count(pd.concat(named))[1] == 0, "the README says nothing of claims that do not hold"
    rates = read("bench_parse_rates")
    assert set(rates["silent"]) == {0} and rates["system"].nunique() == 23


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
