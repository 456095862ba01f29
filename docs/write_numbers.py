"""Writes the numbers in README, docs and notebooks from figures/*.csv and the records of the
trainings: python -m docs.write_numbers

They are between marker comments such as <!-- recall -->. Tables that grow are written whole. In
others and in sentences only the numbers are, in their order, but not those in heads of tables.
"""

import json
from collections import Counter
from itertools import product
from pathlib import Path

import pandas as pd

from bench.dense import TOKENS, WIDTH
from docs.abilities import abilities
from docs.anchor import anchor
from docs.pages import PAGES, THREE, as_table, read, write_page
from ircot_laboratory.simulated.dials import explain_dials
from ircotlib.files.paths import MODELS
from ircotlib.parameters import read_parameters
from ircotlib.results.figures.points import BACKENDS
from ircotlib.results.head_to_head import average

FOUR = (*THREE, "iirc")  # which is not in IRCoT's Figures 5, 6, 8 and 9
PAIRS = ("OneR", "IRCoT"), ("OneR QA", "IRCoT QA")  # recall and F1
VERDICTS = ("holds", "does not hold", "cannot tell")
NAMED = (  # comparisons that the README counts: on how many data sets they hold
    ("Figure 3", "IRCoT > OneR"),
    ("Figure 4", "IRCoT QA > OneR QA"),
    ("OneR QA answers better than NoR QA", "OneR QA > NoR QA"),
)
COSTS = ("build, CPU", "build, peak memory", "index on disk")
COSTS += ("one at a time, CPU", "batches of 64, CPU")


def count(table: pd.DataFrame) -> list[int]:
    """How often claims hold, do not hold, and cannot be decided."""
    return [int((table["verdict"] == verdict).sum()) for verdict in VERDICTS]


def head_to_head() -> dict:
    means = average(read("head_to_head")).round({"mean": 1, "reported": 1, "tokens": 0})
    named = means["on_front"] | means["system"].isin(["IRCoT QA", "SearChain"])
    best = means[named & (means["mean"] > 70)].sort_values("tokens")
    best = best.drop_duplicates(["mean", "tokens"], keep="last").astype({"tokens": int})
    rows = best[["system", "mean", "tokens", "reported"]].astype(object).fillna("–")
    head = ["", "answers right, %", "tokens a question", "right in the paper, %, gpt-3.5-turbo"]
    dense = average(read("head_to_head_dense")).round({"mean": 1})
    mean = dense.set_index(["system", "retriever"])["mean"]
    systems = "SearChain", "IRCoT QA", "Self-Ask", "DecomP", "DSP", "ReAct"
    return {
        "head": as_table(head, rows.to_numpy()),
        "searchain": count(read("searchain_claims")),
        "retrievers": [x for s in systems for x in mean[s].sort_index(key=lambda r: r == "BM25")],
    }


def main_results() -> dict:
    recall, f1 = read("ircot_fig03_recall"), read("ircot_fig04_f1")
    ours = {(row.dataset, row.system): row for row in pd.concat([recall, f1]).itertuples()}
    papers = pd.concat([read(f"ircot_{name}", "paper") for name in ("fig03_recall", "fig04_f1")])
    papers = papers.groupby(["dataset", "system", "metric"])["reported"].agg(list)

    def interval(*key: str) -> list[str]:
        return [f"{x:.1f}" for x in (ours[key].mean, ours[key].low, ours[key].high)]

    gains, answers = [], []
    for d in FOUR:
        gain = ours[d, "IRCoT"].mean - ours[d, "OneR"].mean
        gains += [*interval(d, "OneR"), *interval(d, "IRCoT")]
        gains += [f"{x:+.1f}" for x in (gain, *papers[d, "IRCoT", "recall_gain"])]
        for system in f1["system"].unique():
            answers += [*interval(d, system), *papers.get((d, system, "f1"), [])]
    [model], [n], dev = f1["model"].unique(), f1["n"].unique(), read_parameters("mini").dev
    setting = f"{Path(model).name}, {n:.0f} test questions each, tuned on {dev} others"
    return {"setting": setting, "recall": gains, "f1": answers}


def named_comparisons() -> list[pd.DataFrame]:
    table = read("ircot_comparisons")
    where = [table["source"].eq(name) | table["claim"].eq(name) for name, _ in NAMED]
    texts = [table["comparison"].eq(text) for _, text in NAMED]
    return [table[rows & text] for rows, text in zip(where, texts, strict=True)]


def claims() -> dict:
    table, named = read("ircot_claims"), named_comparisons()
    counts = table[list(VERDICTS)].astype(str).agg(" / ".join, axis=1)
    needed = table["needed"].map(lambda n: "–" if pd.isna(n) else f"{n:,.0f}")
    rows = table[["claim", "section", "source"]].assign(n=counts, verdict=table["verdict"])
    head = ["claim", "section", "", "its comparisons", "verdict", "questions needed"]
    return {
        "claims": [n for rows in named for n in (count(rows)[0], len(rows))],
        "tested": [len(table), len(read("ircot_comparisons"))],
        "verdicts": as_table(head, rows.assign(needed=needed).to_numpy()),
    }


def other_settings() -> dict:
    sizes = pd.concat([read("ircot_fig08_scale_recall"), read("ircot_fig09_scale_f1")])
    sizes = sizes.set_index(["dataset", "model", "system"])["mean"]
    ood = pd.concat([read("ircot_fig05_ood_recall"), read("ircot_fig06_ood_f1")])
    ood = ood.set_index(["dataset", "demonstrations", "system"])["mean"]
    models = [f"data/models/{name}" for name in trainings() if name != "agent"]
    scale = [(d, m, s) for d, pair in product(THREE, PAIRS) for m, s in product(models, pair)]
    f1 = pd.Series({key: ood[*key, "IRCoT QA"] for key in product(THREE, THREE)})
    means = f1.groupby([d == other for d, other in f1.index]).mean()
    samples, one_step = read("sample_oner_recall"), []
    for _, rows in samples.groupby("dataset", sort=False):
        one_step += [rows["n"].iloc[0], f"{rows['paragraphs'].iloc[0]:,}"]
        one_step += [f"{recall:.1f}" for recall in rows["recall"]]
    retrievers = read("sample_oner_recall_by_retriever").query("k in (5, 9, 15)")
    retrievers = retrievers.sort_values("dataset", key=lambda d: d.map(THREE.index), kind="stable")
    last = pd.concat([read("mini_oner_recall"), samples]).query("k == 15")
    return {
        "scale": [f"{sizes[key]:.1f}" for key in scale],
        "ood": [f"{ood[*key, s]:.1f}" for key in f1.index for pair in PAIRS for s in pair],
        "ood means": [f"{mean:.1f}" for mean in means],
        "oner": one_step,
        "gap": [f"{recall:.1f}" for recall in last["recall"]],
        "by retriever": [f"{recall:.1f}" for recall in retrievers["recall"]],
    }


def trainings() -> dict[str, dict]:
    """The records of the shipped models: the T5s by size, then the causal ones."""
    records = {path.parent: json.loads(path.read_text()) for path in MODELS.glob("*/training.json")}
    causal = {f: "is_encoder_decoder" not in (f / "config.json").read_text() for f in records}
    order = sorted(records, key=lambda folder: (causal[folder], records[folder]["parameters"]))
    return {folder.name: records[folder] for folder in order}


def models() -> dict:
    rows = []
    for name, record in trainings().items():
        legs, seconds = [record], Counter()
        while legs[-1].get("start"):
            legs.append(legs[-1]["start"])
        for leg in legs:  # the first record lacks its device: that was one core
            cores = "one core" if leg.get("threads", 1) == 1 else "two cores"
            seconds["a GPU" if leg.get("device") == "cuda" else cores] += leg["seconds"]
        steps = sum(leg.get("steps_taken", leg["steps"]) for leg in legs)
        start = "an earlier model, not shipped" if len(legs) > 1 else "scratch"
        devices = sorted(seconds, key=["one core", "two cores", "a GPU"].index)
        minutes = ", ".join(f"{round(seconds[device] / 60):,} on {device}" for device in devices)
        rows.append([name, f"{record['parameters'] / 1e6:.2f}", start, f"{steps:,}", minutes])
    head = ["", "parameters, millions", "starts from", "steps in all", "minutes in all"]
    return {"models": as_table(head, rows)}


def vectors() -> dict:
    table = read("bench_dense")
    own = table[table["paragraphs"] == 10_000].set_index("measure")["value"]
    change = own["largest change of a score by float16"]
    colbert = [f"{own[name]:.0f}" for name in ("colbert, on disk", "colbert, 4 at a time")]
    same = f"{own['queries with the same 15 as with float32']:.0f}"
    dense = []
    for size, rows in table[~table["measure"].str.contains("colbert|float")].groupby("paragraphs"):
        dense += [f"{size:,}", *(f"{value:,.3g}" for value in rows["value"])]
    return {"dense": dense, "float16": [same, f"{change:.5f}", WIDTH, TOKENS, "10,000", *colbert]}


def bm25() -> dict:
    value = read("retrieval_scale").set_index(["paragraphs", "measure", "backend"])["value"]
    value = value.sort_index()
    table, [ours, theirs, *_] = [], BACKENDS
    for size in sorted({size for size, *_ in value.index}):
        keys = [(size, *pair) for pair in product(COSTS, BACKENDS)]
        cells = [value[key] for key in keys if key in value]
        table += [f"{size:,}", *(f"{x:,.0f}" if x >= 10 else f"{x:.1f}" for x in cells)]
    size = max(size for size, _, backend in value.index if backend == theirs)
    speed, disk = value[size, "batches of 64, CPU"], value[size, "index on disk"]
    ratios = f"{speed[ours] / speed[theirs]:.1f}", f"{100 * disk[ours] / disk[theirs]:.0f}"
    return {"retrieval": table, "retrieval claims": [f"{size:,}", *ratios]}


def benchmarks() -> dict:
    batches = read("bench_batching").set_index(["model", "program", "way"])
    times, a_second = batches["times as fast"], batches["questions per second"]
    full, single = (("mini-large", "IRCoT QA", way) for way in ("full batches", "one at a time"))
    programs = ["IRCoT QA", "a growing transcript"]
    ways = product(programs, ["what a batch shares read once", "nothing read twice"])
    judged = "threshold.isna() or threshold == 1.5 and measure == 'F1'"
    reader = read("reader_confidence").query(judged)
    [answers, roc, f1, first_roc, first_f1], [n, pairs, *_] = reader["value"], reader["n"]
    rates = read("bench_parse_rates").query("dataset == 'hotpotqa'")
    rates = rates.rename(columns={"said to be unparsed": "fault stated"})
    columns = ["system", "questions", "parsed", "fault stated", "unsolved", "answered"]
    one, two = read("bench_workers").head(2).to_dict("records")
    seconds = [f"{row['seconds']:.0f}" for row in (one, two)]
    return {
        "speed": [f"{x:.1f}" for x in (times[full], a_second[full], a_second[single])],
        "reading": [f"{times['mini-causal', *way]:.1f}" for way in ways],
        "reader": [f"{n:,}", answers, f"{pairs - n:,}", roc, 1.5, f1, first_roc, 1.5, first_f1],
        "parse_rates": as_table(columns, rates[columns].to_numpy()),
        "workers": [f"{one['requests']:,}", *seconds, f"{two['faster']:.1f}"],
    }


def dials() -> dict:
    rows = [(f"`{x.dial}`", f"{x.default:g}", x.meaning, x.example) for x in explain_dials()]
    return {"dials": as_table(["dial", "default", "meaning", "example"], rows)}


def numbers() -> dict[str, str | list]:
    """All blocks by name: the text of a table, or the numbers of a sentence."""
    parts = head_to_head, main_results, claims, other_settings, anchor, models, vectors, bm25
    parts += benchmarks, dials, abilities
    return {name: text for write in parts for name, text in write().items()}


def main() -> None:
    blocks = numbers()
    for path in PAGES:
        path.write_text(write_page(path, blocks), encoding="utf-8")


if __name__ == "__main__":
    main()
