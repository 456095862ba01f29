"""The numbers in README, docs and notebooks are those that docs/write_numbers.py writes."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from docs.claims import count_decided, differently, list_verdicts, named_comparisons
from docs.pages import BLOCK, PAGES, fill, write_page
from docs.taught import AGENTS, trainings
from docs.write_numbers import numbers, read
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
    assert set(markers) == set(written)


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
    verdicts = set(pd.concat(named)["verdict"])
    assert "does not hold" not in verdicts, "nothing is said of comparisons that do not hold"
    rates = read("bench_parse_rates")
    assert set(rates["silent"]) == {0} and rates["system"].nunique() == 23


def test_claims_and_comparisons_are_counted_alike_for_both_papers(written):
    for paper, name in (("ircot", ""), ("searchain", "searchain ")):
        claims, comparisons = read(f"{paper}_claims"), read(f"{paper}_comparisons")
        hold = (claims["verdict"] == "holds").sum()
        assert written[paper].startswith(f"{len(claims)} claims, {hold} hold")
        hold = (comparisons["verdict"] == "holds").sum()
        assert written[f"{name}comparisons"].startswith(f"{hold} of {len(comparisons)} ")
        assert written[f"{name}tested"].startswith(f"{len(comparisons)} comparisons, {hold} hold")
        assert written[f"{name}verdicts"].count("\n") == len(claims) + 3
    table = pd.DataFrame({"verdict": ["holds", "cannot tell", "not counted"]})
    assert count_decided(table) == "1 of 3 comparisons hold, none is refuted"
    refuted = table.replace("cannot tell", "does not hold")
    assert count_decided(refuted).endswith("hold, 1 is refuted")


def test_a_verdict_is_listed_with_both_ps_and_what_would_decide_it():
    counts = dict.fromkeys(["holds", "does not hold", "not tested", "not counted"], 0)
    row = {"claim": "A > B", "section": "§5", "source": "Figure 1", "cannot tell": 2, **counts}
    row |= {"p": 0.01, "p_section": 0.0001, "p_holm": 0.06, "verdict": "cannot tell"}
    row |= {"leans": "mixed", "needed": "90 to refute", "detectable": 12.34, "note": None}
    none = dict.fromkeys(["p", "p_section", "p_holm", "leans", "needed", "detectable"])
    fixed = row | none | {"verdict": "not counted", "note": "cannot fail: so chosen"}
    table = pd.DataFrame([row, fixed])
    [*_, first, second] = list_verdicts(table).strip().splitlines()
    assert first == (
        "| A > B | §5, Figure 1 | 0 / 0 / 2 / 0 / 0 | < 0.001 / 0.060 | cannot tell, mixed | "
        "90 to refute | 12.3 | – |"
    )
    assert second.endswith("| – | not counted | – | – | cannot fail: so chosen |")
    assert differently(table) == 1  # by its section it would hold


def test_what_sentences_say_of_models_is_so():
    records, folders = trainings(), {path.name for path in MODELS.iterdir()}
    readers = {path.parent.name for path in MODELS.glob("*/reading.json")}
    earlier = {AGENTS[1], *(f"{AGENTS[0]}-{percent}" for percent in (20, 35, 55))}
    assert {*records} | readers | earlier == folders, "a model without the record of its training"
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
