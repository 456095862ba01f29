"""The papers' numbers: one tidy file, with a row for each number, as printed.

Units are the papers': percent or percentage points, except those in PLAIN. `deviation` is the
sample standard deviation over three demonstration sets, if the paper prints one. If IRCoT's reader
matters, `note` starts with its style, direct or cot.
"""

import csv
import re
from pathlib import Path

import pytest

PATH = Path(__file__).resolve().parents[2] / "data" / "reported.csv"
COLUMNS = ["paper", "source", "dataset", "model", "system", "metric", "value", "deviation", "note"]
# SearChain's order
EIGHT = ["hotpotqa", "musique", "2wikimultihopqa", "strategyqa", "zsre", "trex", "fever", "eli5"]
FOUR = ["hotpotqa", "2wikimultihopqa", "musique", "iirc"]  # IRCoT's order
PARTS = ["hotpotqa_bridge", "musique_2hop", "musique_3hop", "musique_4hop"]
OTHERS = ["naturalquestions", "webquestions", "triviaqa", "squad", "all", "unspecified"]
PERCENT = {
    *(
        "em",
        "f1",
        "cover_em",
        "cover_em_where_ir_helps",
        "rouge_l",
        "accuracy",
        "average",
        "misled_by_ir",
    ),
    *("knowledge_of_llm", "knowledge_corrected_by_ir", "knowledge_completed_by_ir"),
    *(
        "accuracy_where_llm_right",
        "accuracy_where_llm_wrong",
        "top1_where_llm_right",
        "top1_where_llm_wrong",
    ),
    *("recall_gain", "recall_gain_min", "recall_gain_max", "f1_gain", "f1_gain_max"),
    *("factual_error_reduction", "factual_error_reduction_max"),
}
PLAIN = {  # smallest and largest value to be expected
    "accuracy_where_parts_known": (0, 1),
    "amp": (0, 1),
    "skc": (0, 10),
    "reasoning_steps": (1, 10),
    "rounds": (1, 5),
    "words_in": (100, 2000),
    "words_out": (10, 500),
    "seconds": (1, 60),
    "demonstrations": (0, 16),
    "paragraphs": (100_000, 6_000_000),
}
TABLES = {("ircot", f"Table {n}") for n in (1, 3, 4, 6)} | {
    ("searchain", f"Table {n}") for n in (1, 2, "3(a)", "3(b)", 4, 5, 6, 7, 8, 9, 10, 11)
}
TEXTS = {("ircot", source) for source in ("Abstract", "§1 text", "§5 text", "App. A", "App. C")}


def read_rows():
    with PATH.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


ROWS = read_rows()


def reported(**wanted):
    """The rows whose columns equal `wanted`, in the order of the file."""
    return [row for row in ROWS if all(row[column] == value for column, value in wanted.items())]


def number(**wanted):
    [row] = reported(**wanted)
    return float(row["value"])


def test_columns_and_sources():
    assert list(ROWS[0]) == COLUMNS
    assert {(row["paper"], row["source"]) for row in ROWS} == TABLES | TEXTS
    assert (len(reported(paper="ircot")), len(reported(paper="searchain"))) == (132, 465)


def test_no_cell_is_untidy():
    for row in ROWS:
        assert None not in row and None not in row.values(), row
        assert all(value == value.strip() for value in row.values()), row
        assert row["dataset"] in {*EIGHT, *FOUR, *PARTS, *OTHERS} and row["system"], row
        assert row["model"] or row["metric"] == "paragraphs", row


def test_every_number_is_there_once():
    keys = [
        tuple(row[column] for column in COLUMNS if column not in ("value", "deviation"))
        for row in ROWS
    ]
    assert len(keys) == len(set(keys))


def test_values_are_in_range():
    for row in ROWS:
        low, high = (0, 100) if row["metric"] in PERCENT else PLAIN[row["metric"]]
        assert low <= float(row["value"]) <= high, row
        assert not row["deviation"] or 0 <= float(row["deviation"]) <= 3, row
        assert bool(row["deviation"]) == (
            row["paper"] == "ircot" and row["source"] in ("Table 4", "Table 6")
        ), row


@pytest.mark.parametrize(
    ("paper", "source", "dataset", "model", "system", "metric", "note", "value"),
    [
        ("ircot", "Table 4", "hotpotqa", "Flan-T5-XXL", "IRCoT QA", "f1", "direct", 59.1),
        ("ircot", "Table 4", "2wikimultihopqa", "GPT3", "OneR QA", "f1", "cot", 54.8),
        ("ircot", "Table 4", "musique", "Flan-T5-XXL", "NoR QA", "f1", "cot", 10.3),
        ("ircot", "Table 4", "iirc", "GPT3", "NoR QA", "f1", "cot", 52.1),
        ("ircot", "Table 6", "2wikimultihopqa", "GPT3", "IRCoT QA w/o reader", "f1", "", 70.4),
        (
            "ircot",
            "Table 1",
            "hotpotqa_bridge",
            "GPT3",
            "DecomP (2022)",
            "f1",
            "code-davinci-002",
            50.0,
        ),
        ("ircot", "Table 1", "musique_2hop", "text-davinci-002", "SelfAsk", "em", "", 15.2),
        ("ircot", "Table 3", "musique", "GPT3", "IRCoT QA", "em", "cot", 26.5),
        (
            "ircot",
            "§5 text",
            "musique",
            "Flan-T5-XXL",
            "IRCoT",
            "recall_gain",
            "over OneR; Figure 3",
            3.5,
        ),
        ("ircot", "§5 text", "iirc", "GPT3", "IRCoT", "recall_gain", "over OneR; Figure 3", 21.2),
        (
            "ircot",
            "App. A",
            "hotpotqa",
            "",
            "corpus",
            "paragraphs",
            "size of the retrieval corpus",
            5_233_329,
        ),
        ("searchain", "Table 1", "hotpotqa", "gpt-3.5-turbo", "SearChain", "cover_em", "", 56.91),
        (
            "searchain",
            "Table 1",
            "eli5",
            "gpt-3.5-turbo",
            "SearChain w/o Verification",
            "rouge_l",
            "",
            22.98,
        ),
        (
            "searchain",
            "Table 3(b)",
            "2wikimultihopqa",
            "gpt-3.5-turbo",
            "SearChain",
            "misled_by_ir",
            None,
            12.71,
        ),
        ("searchain", "Table 6", "unspecified", "gpt-3.5-turbo", "DSP", "words_in", "", 1759),
        ("searchain", "Table 9", "strategyqa", "Vicuna-13B", "DSP", "cover_em", "", 62.01),
    ],
)
def test_single_numbers(paper, source, dataset, model, system, metric, note, value):
    wanted = {
        "paper": paper,
        "source": source,
        "dataset": dataset,
        "model": model,
        "system": system,
        "metric": metric,
    }
    assert number(**wanted, **({} if note is None else {"note": note})) == value


@pytest.mark.parametrize(("model", "style"), [("Flan-T5-XXL", "direct"), ("GPT3", "cot")])
def test_gains_of_the_text_follow_from_table_4(model, style):
    gains = reported(paper="ircot", source="§5 text", model=model, metric="f1_gain")
    assert [row["dataset"] for row in gains] == FOUR[: len(gains)] and len(gains) >= 3
    for row in gains:
        wanted = {
            "paper": "ircot",
            "source": "Table 4",
            "dataset": row["dataset"],
            "model": model,
            "note": style,
        }
        assert number(**wanted, system="IRCoT QA") - number(
            **wanted, system="OneR QA"
        ) == pytest.approx(float(row["value"]), abs=0.01)


def test_tables_agree_where_they_print_the_same_number():
    for row in reported(paper="ircot", source="Table 6", system="IRCoT QA"):
        same = {**row, "source": "Table 4"}
        assert reported(**same) == [same]
    for row in reported(paper="ircot", source="Table 1"):
        assert reported(**{**row, "source": "Table 3"}), row
    for row in reported(paper="searchain", source="Table 6", metric="average"):
        columns = [
            float(cell["value"])
            for cell in reported(paper="searchain", source="Table 1", system=row["system"])
        ]
        assert len(columns) == 8 and sum(columns) / 8 == pytest.approx(
            float(row["value"]), abs=0.01
        )


@pytest.fixture(scope="module")
def papers(shared):
    """The text of each paper, without thousands separators; skipped if the papers are missing."""
    folder = shared.parent / "papers"
    if not folder.is_dir():
        pytest.skip(f"needs the papers' texts in {folder}")
    return {
        name: re.sub(r"(?<=\d),(?=\d{3})", "", (folder / f"{name}.txt").read_text(encoding="utf-8"))
        for name in ("ircot", "searchain")
    }


def test_every_number_is_printed_in_its_paper(papers):
    printed = {name: set(re.findall(r"\d+(?:\.\d+)?", text)) for name, text in papers.items()}
    missing = [
        row
        for row in ROWS
        for value in (row["value"], row["deviation"])
        if value and value not in printed[row["paper"]]
    ]
    assert missing == []


def test_rows_of_the_large_tables_are_printed_like_this(papers):
    for source in ("Table 1", "Table 9"):
        rows = reported(paper="searchain", source=source)
        for start in range(0, len(rows), 8):
            name = (
                rows[start]["system"]
                .replace("SearChain w/o V", "- w/o V")
                .replace("SearChain w/o C", "- w/o C")
            )
            assert (
                "\t".join([name, *(row["value"] for row in rows[start : start + 8])])
                in papers["searchain"]
            )
            assert [row["dataset"] for row in rows[start : start + 8]] == EIGHT
    for system in ("NoR QA", "OneR QA", "IRCoT QA"):
        for style, printed in (("direct", "Direct"), ("cot", "CoT")):
            rows = reported(paper="ircot", source="Table 4", system=system, note=style)
            assert (
                " ".join([printed, *(f"{row['value']}± {row['deviation']}" for row in rows)])
                in papers["ircot"]
            )
            assert [row["dataset"] for row in rows] == FOUR * 2 and [
                row["model"] for row in rows
            ] == ["Flan-T5-XXL"] * 4 + ["GPT3"] * 4
