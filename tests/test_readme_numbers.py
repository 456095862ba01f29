"""Every number quoted in README and docs is that of a figure, a benchmark, or the record of a
training.
"""

import csv
import json
import re
from collections import Counter
from itertools import permutations, product
from pathlib import Path

import pandas
import yaml

from bench.dense import TOKENS, WIDTH
from ircotlib.files.paths import FIGURES, MODELS, PROFILES, ROOT
from ircotlib.results.figures.points import BACKENDS
from ircotlib.results.head_to_head import average

PAGES = {
    path.name: path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
NAMES = {
    "hotpotqa": "HotpotQA",
    "2wikimultihopqa": "2WikiMultihopQA",
    "musique": "MuSiQue",
    "iirc": "IIRC",
}
THREE = ["hotpotqa", "2wikimultihopqa", "musique"]  # IIRC is not in the paper's Figures 5, 6, 8, 9
COSTS = {  # columns of the table of retrieval, and what they show
    "build, CPU-s": "build, CPU",
    "its peak memory, MB": "build, peak memory",
    "index on disk, MB": "index on disk",
    "queries a CPU-s, one at a time": "one at a time, CPU",
    "in batches of 64": "batches of 64, CPU",
}
PAPERS = ("Flan-T5-XXL", "GPT3")  # as the tables have them
VERDICTS = ("holds", "does not hold", "cannot tell")
NUMBER = re.compile(r"(?<![\w.])[+-]?\d[\d,]*(?:\.\d+)?(?![\w,])")


def block(name: str) -> str:
    """The text between the marker comments of a name, which occur on exactly one page."""
    [(page, text)] = [one for one in PAGES.items() if f"<!-- {name} -->" in one[1]]
    text = text.split(f"<!-- {name} -->")[1].split(f"<!-- /{name} -->")[0]
    assert "…" not in text, f"the block {name!r} of {page} is not filled in"
    return text


def quoted(name: str) -> list[float]:
    """The numbers in a block, in their order, without those in table heads."""
    return [float(number.replace(",", "")) for number in NUMBER.findall(below_head(name))]


def below_head(name: str) -> str:
    """A block without the head of its table."""
    return re.sub(r"^\|.*\n\|---.*\n", "", block(name).lstrip("\n"))


def labels(name: str) -> list[str]:
    """The first column of a block's table, without its head."""
    return re.findall(r"^\| ([^|]+?) \|", below_head(name), re.MULTILINE)


def read(name: str, profile: str | None = "mini") -> list[dict]:
    with (FIGURES / f"{name}.csv").open() as file:
        return [row for row in csv.DictReader(file) if profile is None or row["profile"] == profile]


def find(rows: list[dict], *values: str) -> dict:
    """The only row that has all these values, in any column."""
    [row] = [row for row in rows if set(values) <= set(row.values())]
    return row


def interval(row: dict) -> list[float]:
    return [round(float(row[name]), 1) for name in ("mean", "low", "high")]


def verdicts(rows: list[dict], claim: str) -> list[int]:
    """How often a claim holds, does not hold, and cannot be decided; empty if it is not made."""
    found = Counter(row["verdict"] for row in rows if row["claim"] == claim)
    assert set(found) <= set(VERDICTS)
    return [found[verdict] for verdict in VERDICTS] if found else []


def points(row: dict) -> float:
    return round(float(row["mean"]), 1)


def reported(rows: list[dict], *values: str) -> float:
    return float(find(rows, *values)["reported"])


def gain(rows: list[dict], dataset: str) -> float:
    oner, ircot = (float(find(rows, dataset, system)["mean"]) for system in ("OneR", "IRCoT"))
    return round(ircot - oner, 1)


def test_the_head_to_head_is_that_of_its_figure():
    means = average(pandas.read_csv(FIGURES / "head_to_head.csv"))
    papers = means["system"].isin(["IRCoT QA", "SearChain"])
    shown = means[means["on_front"] | papers].sort_values("tokens")
    shown = shown[shown["mean"] > 70].drop_duplicates(["mean", "tokens"], keep="last")
    assert labels("head") == list(shown["system"])
    rows = shown.assign(mean=shown["mean"].round(1), tokens=shown["tokens"].round())
    rows = rows.assign(reported=rows["reported"].round(1))[["mean", "tokens", "reported"]]
    assert quoted("head") == [x for row in rows.to_numpy() for x in row if x == x]
    counts = pandas.read_csv(FIGURES / "searchain_claims.csv")["verdict"].value_counts()
    assert quoted("searchain") == [counts.get(verdict, 0) for verdict in VERDICTS]


def test_the_head_to_head_with_a_dense_retriever_is_that_of_its_figure():
    table = pandas.read_csv(FIGURES / "head_to_head_dense.csv")
    kept = pandas.read_csv(FIGURES / "head_to_head.csv")
    sparse, dense = (one.reset_index(drop=True) for _, one in table.groupby("retriever"))
    pandas.testing.assert_frame_equal(*(one.drop(columns="seconds") for one in (sparse, kept)))
    means = [average(one).set_index("system")["mean"] for one in (dense, sparse)]
    said = re.findall(r"(\w[\w -]+?)\s(\d+\.\d)\s\((?:with BM25 )?(\d+\.\d)\)", block("retrievers"))
    assert len(said) == 6
    for system, *numbers in said:
        assert [float(one) for one in numbers] == [round(one[system], 1) for one in means]


def test_recall_is_that_of_figure_3():
    ours, papers, expected = read("ircot_fig03_recall"), read("ircot_fig03_recall", "paper"), []
    for d in NAMES:
        expected += [x for system in ("OneR", "IRCoT") for x in interval(find(ours, d, system))]
        expected += [gain(ours, d), *(reported(papers, d, model) for model in PAPERS)]
    assert quoted("recall") == expected and labels("recall") == list(NAMES.values())


def test_f1_is_that_of_figure_4():
    ours, papers, expected = read("ircot_fig04_f1"), read("ircot_fig04_f1", "paper"), []
    systems = list(dict.fromkeys(row["system"] for row in ours))
    assert re.findall(r"\b(?:\w+ QA(?: w/o reader)?)", block("f1")) == systems
    for d in NAMES:
        for system in systems:
            expected += interval(find(ours, d, system))
            expected += [
                float(row["reported"])
                for model in PAPERS
                for row in papers
                if (row["dataset"], row["system"], row["model"]) == (d, system, model)
            ]
    assert quoted("f1") == expected and labels("f1") == list(NAMES.values())


def test_the_setting_is_that_of_the_figures():
    dev = yaml.safe_load((PROFILES / "mini.yaml").read_text())["dev"]
    for row in read("ircot_fig03_recall") + read("ircot_fig04_f1"):
        assert quoted("setting") == [int(row["n"]), dev]
        assert block("setting").startswith(f"{Path(row['model']).name}, ")


def test_claims_are_the_verdicts_of_the_table_of_claims():
    rows = read("ircot_claims", None)
    where = [
        ("§5, Figure 3", "§5, Figure 4", "§5, App. E", "App. F, Table 6"),
        ("App. E, Table 4: the other reader", "App. E, Table 4"),
        ("§5, Figure 8", "§5, Figure 9"),
        ("§5, Figure 9: 3B against a 58 times larger GPT3",),
        ("§5, Figure 5", "§5, Figure 6"),
    ]
    tables = [[row for row in rows if row["source"] in sources] for sources in where]
    assert sum(map(len, tables)) == len(rows) and quoted("tested") == [len(rows)]
    claims = labels("verdicts")
    assert claims == list(dict.fromkeys(row["claim"] for row in rows))
    expected = [
        [" / ".join(map(str, verdicts(table, claim))) or "–" for table in tables]
        for claim in claims
    ]
    lines = [f"| {claim} | {' | '.join(cells)} |" for claim, cells in zip(claims, expected)]
    assert below_head("verdicts").splitlines() == lines
    [pair] = {row["model"] for row in tables[3]}
    names = " against ".join(Path(model).name for model in pair.split(" against "))
    assert f"| {names} |" in block("verdicts").splitlines()[1]
    said = ("IRCoT > OneR", "IRCoT QA > OneR QA", "OneR QA > NoR QA")
    counts = [verdicts(tables[0], claim) for claim in said]
    assert not any(against for _, against, _ in counts), "the README says nothing of these"
    assert quoted("claims") == [x for holds, _, _ in counts for x in (holds, len(NAMES))]
    assert "](figures/ircot_claims.md)" in PAGES["README.md"]


def is_causal(model: str) -> bool:
    """Whether a shipped model is a decoder only, not a T5."""
    return not json.loads((MODELS / Path(model).name / "config.json").read_text()).get(
        "is_encoder_decoder"
    )


def in_order(parameters: dict[str, float]) -> list[str]:
    """The T5s by size, then the causal models."""
    return sorted(parameters, key=lambda model: (is_causal(model), parameters[model]))


def test_scale_is_that_of_figures_8_and_9():
    recall, f1 = read("ircot_fig08_scale_recall"), read("ircot_fig09_scale_f1")
    models = in_order({row["model"]: float(row["parameters"]) for row in recall})
    assert f"→ IRCoT, % | {' | '.join(Path(model).name for model in models)} |\n" in block("scale")
    kinds = ((recall, "OneR", "IRCoT"), (f1, "OneR QA", "IRCoT QA"))
    rows = [
        (table, d, m, s)
        for d in THREE
        for table, *systems in kinds
        for m in models
        for s in systems
    ]
    assert quoted("scale") == [round(float(find(table, *key)["mean"]), 1) for table, *key in rows]
    assert labels("scale") == [
        f"{NAMES[d]}, {metric}" for d in THREE for metric in ("recall", "F1")
    ]


def legs(about: dict) -> list[dict]:
    """A training and the earlier ones that it starts from."""
    return [about] + (legs(about["start"]) if about.get("start") else [])


def minutes(about: dict) -> str:
    """The minutes of all legs, by device. The first record lacks it: that was one core."""
    seconds = Counter()
    for leg in legs(about):
        cores = "one core" if leg.get("threads", 1) == 1 else "two cores"
        seconds["a GPU" if leg.get("device") == "cuda" else cores] += leg["seconds"]
    order = sorted(seconds, key=["one core", "two cores", "a GPU"].index)
    return ", ".join(f"{round(seconds[where] / 60):,} on {where}" for where in order)


def test_models_are_the_shipped_ones():
    about = {
        path.parent.name: json.loads(path.read_text()) for path in MODELS.glob("*/training.json")
    }
    readers = {path.parent.name for path in MODELS.glob("*/reading.json")}
    assert set(about) | readers == {path.name for path in MODELS.iterdir()}, (
        "a shipped model without the record of its training"
    )
    about = {
        name: about[name] for name in in_order({name: a["parameters"] for name, a in about.items()})
    }
    steps = {
        name: sum(leg.get("steps_taken", leg["steps"]) for leg in legs(a))
        for name, a in about.items()
    }
    starts = {name: a.get("start") for name, a in about.items()}
    rows = []
    for name, a in about.items():
        [start] = [other for other in about if about[other] == starts[name]] or [
            "an earlier model, not shipped" if starts[name] else "scratch"
        ]
        rows.append(
            f"| {name} | {a['parameters'] / 1e6:.2f} | {start} | {steps[name]:,} | {minutes(a)} |"
        )
    assert below_head("models").splitlines() == rows
    smallest, *larger = [name for name in about if not is_causal(name)]
    grown = [name for name in about if starts[name] and not is_causal(name)]
    assert grown == larger and min(steps[name] for name in larger) > steps[smallest], (
        "docs/models.md says otherwise"
    )
    drawn = {
        Path(row["model"]).name: float(row["parameters"])
        for row in read("ircot_fig08_scale_recall")
    }
    assert drawn == {name: round(about[name]["parameters"] / 1e6, 2) for name in drawn}


def test_demonstrations_of_another_data_set_are_those_of_figures_5_and_6():
    recall, f1, expected = read("ircot_fig05_ood_recall"), read("ircot_fig06_ood_f1"), []

    def value(table, dataset, shown, system):
        key = (dataset, shown, system)
        [row] = [
            row for row in table if (row["dataset"], row["demonstrations"], row["system"]) == key
        ]
        return float(row["mean"])

    kinds = ((recall, "OneR", "IRCoT"), (f1, "OneR QA", "IRCoT QA"))
    for dataset, shown in product(THREE, THREE):
        for table, *systems in kinds:
            expected += [round(value(table, dataset, shown, system), 1) for system in systems]
    assert quoted("ood") == expected and labels("ood") == [NAMES[d] for d in THREE]
    heads = re.findall(r"of (\w+) \|", block("ood").splitlines()[1])
    assert heads == [NAMES[d] for d in THREE]
    means = [
        sum(value(f1, *pair, "IRCoT QA") for pair in pairs) / len(pairs)
        for pairs in (list(permutations(THREE, 2)), [(d, d) for d in THREE])
    ]
    assert quoted("ood means") == [round(mean, 1) for mean in means]


def test_one_retrieval_is_that_of_the_tables():
    real, here = read("sample_oner_recall", None), read("mini_oner_recall", None)
    expected = []
    for dataset in THREE:
        rows = [row for row in real if row["dataset"] == dataset]
        expected += [
            int(rows[0]["n"]),
            int(rows[0]["paragraphs"]),
            *(round(float(row["recall"]), 1) for row in rows),
        ]
    assert quoted("oner") == expected and labels("oner") == [NAMES[d] for d in THREE]
    assert re.findall(r"K = (\d+)", block("oner")) == list(dict.fromkeys(row["k"] for row in real))
    last = [
        row
        for rows in (here, real)
        for d in THREE
        for row in rows
        if (row["dataset"], row["k"]) == (d, "15")
    ]
    assert quoted("gap") == [round(float(row["recall"]), 1) for row in last]


def test_recall_by_retriever_is_that_of_the_table():
    rows, shown = read("sample_oner_recall_by_retriever", None), ("5", "9", "15")
    retrievers = list(dict.fromkeys(row["retriever"] for row in rows))
    value = {(r["dataset"], r["retriever"], r["k"]): float(r["recall"]) for r in rows}
    expected = [
        f"| {NAMES[d]} | "
        + " | ".join(" / ".join(f"{value[d, r, k]:.1f}" for k in shown) for r in retrievers)
        + " |"
        for d in dict.fromkeys(row["dataset"] for row in rows)
    ]
    head = f"| recall, %, at K = {' / '.join(shown)} | {' | '.join(retrievers)} |"
    assert block("by retriever").splitlines()[1] == head
    assert below_head("by retriever").splitlines() == expected


def test_dense_retrieval_is_that_of_the_benchmark():
    value = {
        (int(row["paragraphs"]), row["measure"]): float(row["value"])
        for row in read("bench_dense", None)
    }
    sizes = sorted(size for size, measure in value if measure == "on disk")
    heads = block("dense").splitlines()[1].strip("| ").split(" | ")[1:]
    measures = [re.sub(r" \([^)]*\)", "", head) for head in heads]
    shown = [[value.get((size, one)) for one in measures] for size in sizes]
    cells = [["–" if x is None else f"{x:,.3g}" for x in row] for row in shown]
    rows = [f"| {size:,} | {' | '.join(row)} |" for size, row in zip(sizes, cells, strict=True)]
    assert below_head("dense").splitlines() == rows
    said = ["queries with the same 15 as with float32", "largest change of a score by float16"]
    said += ["colbert, on disk", "colbert, 4 at a time"]
    same, change, size, speed = (value[10_000, measure] for measure in said)
    expected = [round(same), round(change, 5), WIDTH, TOKENS, 10_000, round(size), round(speed)]
    assert quoted("float16") == expected


def test_speed_is_that_of_the_benchmark():
    full, one = (
        find(read("bench_batching", None), way) for way in ("full batches", "one at a time")
    )
    values = full["times as fast"], full["questions per second"], one["questions per second"]
    assert quoted("speed") == [round(float(value), 1) for value in values]


def test_reading_is_that_of_the_benchmark():
    rows = [row for row in read("bench_batching", None) if row["model"] == "mini-causal"]
    programs = ("IRCoT QA", "a growing transcript")
    ways = ("what a batch shares read once", "nothing read twice")
    expected = [find(rows, program, way)["times as fast"] for program in programs for way in ways]
    assert quoted("reading") == [round(float(value), 1) for value in expected]


def test_retrieval_is_that_of_the_benchmark():
    value = {
        (row["backend"], int(row["paragraphs"]), row["measure"]): float(row["value"])
        for row in read("retrieval_scale", None)
    }

    def cell(size, measure):
        found = (value.get((backend, size, measure)) for backend in BACKENDS)
        return " / ".join(
            "–" if x is None else f"{x:,.0f}" if x >= 10 else f"{x:.1f}" for x in found
        )

    sizes = sorted({size for _, size, _ in value})
    rows = [
        [f"{size:,} paragraphs", *(cell(size, measure) for measure in COSTS.values())]
        for size in sizes
    ]
    assert block("retrieval").splitlines()[1] == f"| {' / '.join(BACKENDS)} | {' | '.join(COSTS)} |"
    assert below_head("retrieval").splitlines() == [f"| {' | '.join(row)} |" for row in rows]
    size = max(size for backend, size, _ in value if backend == "Elasticsearch")
    ours, theirs = (
        [value[backend, size, measure] for measure in ("batches of 64, CPU", "index on disk")]
        for backend in list(BACKENDS)[:2]
    )
    assert quoted("retrieval claims") == [
        size,
        round(ours[0] / theirs[0], 1),
        round(100 * ours[1] / theirs[1]),
    ]


def test_the_extractive_reader_is_as_measured():
    rows = read("reader_confidence", None)
    answers = find(rows, "gold", "answer found")
    expected = [answers["value"]]
    for pairs in ("gold and others", "BM25's first"):
        expected += [find(rows, pairs, "area under the curve")["value"]]
        expected += [find(rows, pairs, "F1", "1.5")["value"]]
    shown = [float(line.split("|")[2]) for line in below_head("reader").strip().splitlines()]
    assert shown == [float(value) for value in expected]
    assert f"of {int(answers['n']):,} queries" in block("reader")


def test_parse_rates_of_a_small_real_model():
    rows = [row for row in read("bench_parse_rates", None) if row["dataset"] == "hotpotqa"]
    names = ("questions", "parsed", "said to be unparsed", "unsolved", "answered")
    assert labels("parse_rates") == [row["system"] for row in rows]
    assert quoted("parse_rates") == [int(row[name]) for row in rows for name in names]
    assert len(rows) == 23 and all(row["silent"] == "0" for row in read("bench_parse_rates", None))
