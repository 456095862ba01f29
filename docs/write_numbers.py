"""Writes the numbers in README, docs and notebooks from figures/*.csv and the records of the
trainings: python -m docs.write_numbers

They are between marker comments such as <!-- recall -->. Tables that grow are written whole. In
others and in sentences only the numbers are, in their order, but not those in heads of tables.
"""

from itertools import product
from pathlib import Path

import pandas as pd

from bench.dense import TOKENS, WIDTH
from docs.abilities import abilities
from docs.anchor import anchor
from docs.claims import claims
from docs.gold import gold
from docs.pages import FOUR, PAGES, THREE, as_table, read, write_page
from docs.taught import agent, models, trainings
from ircot_laboratory.simulated.dials import explain_dials
from ircotlib.datasets import find_dataset
from ircotlib.parameters import read_parameters
from ircotlib.results.conclusions import conclude_means, conclude_settings
from ircotlib.results.figures.palette import BACKENDS
from ircotlib.results.head_to_head import average
from ircotlib.results.real_outputs import conclude_outputs

PAIRS = ("OneR", "IRCoT"), ("OneR QA", "IRCoT QA")  # recall and F1
COSTS = ("build, CPU", "build, peak memory", "index on disk")
COSTS += ("one at a time, CPU", "batches of 64, CPU")


def head_to_head() -> dict:
    means = read("head_to_head_means").query("retriever == 'BM25'")
    texts = read("head_to_head").query("dataset == 'eli5'").set_index("system")["mean"]
    named = means["on_front"] | means["system"].isin(["IRCoT QA", "SearChain"])
    best = means[named & (means["mean"] > 70)].sort_values("tokens")
    best = best.drop_duplicates(["mean", "tokens"], keep="last").round({"reported": 1})
    text, rows = "{:+.1f} ({:+.1f} to {:+.1f})".format, []
    for x in best.itertuples():
        right = f"{x.mean:.1f} ({x.low:.1f} to {x.high:.1f})"
        less = text(x.difference, x.difference_low, x.difference_high)
        row = [x.system, right, less, f"{texts[x.system]:.1f}", f"{x.tokens:.0f}", f"{x.reported}"]
        rows.append([cell if "nan" not in cell else "–" for cell in row])
    head = ["", "right, %", "minus SearChain", "ELI5", "tokens a question", "right in the paper, %"]
    dense = average(read("head_to_head_dense")).round({"mean": 1})
    mean = dense.set_index(["system", "retriever"])["mean"]
    systems = "SearChain", "IRCoT QA", "Self-Ask", "DecomP", "DSP", "ReAct"
    return {
        "head": as_table(head, rows),
        "front": conclude_means(means).replace("\n\n", " "),
        "equal tools": f"\n{conclude_settings(read('head_to_head_equal'))}\n",
        "retrievers": [x for s in systems for x in mean[s].sort_index(key=lambda r: r == "BM25")],
    }


def main_results() -> dict:
    model = read_parameters("mini").model
    recall, f1 = read("ircot_fig03_recall"), read("ircot_fig04_f1")
    recall, f1 = (table[table["model"] == model] for table in (recall, f1))
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
    [n], dev = f1["n"].unique(), read_parameters("mini").dev
    setting = f"{Path(model).name}, {n:.0f} test questions each, tuned on {dev} others"
    ood = read("ircot_fig06_ood_f1").query("model == @model and dataset != demonstrations")
    ood = ood[ood["demonstrations"].isin(THREE)]
    shown = pd.concat([f1, ood.assign(dataset="other")]).groupby(["dataset", "system"])
    shown = shown["demonstrations_shown"].agg(["min", "max"]).round(1)
    texts = [" to ".join(dict.fromkeys(map(str, ends))) for ends in shown.to_numpy()]
    shown = pd.Series(texts, shown.index).unstack()[f1["system"].unique()]
    titles = {name: f"{find_dataset(name).title}" for name in FOUR}
    titles["other"] = "demonstrations of another data set (Figures 5, 6)"
    shown = shown.loc[[*titles]].rename(titles).reset_index()
    return {
        "setting": setting,
        "recall": gains,
        "f1": answers,
        "window": [read_parameters("mini").context_tokens],
        "shown": as_table(["", *f1["system"].unique()], shown.to_numpy()),
    }


def other_settings() -> dict:
    sizes = pd.concat([read("ircot_fig08_scale_recall"), read("ircot_fig09_scale_f1")])
    sizes = sizes.set_index(["dataset", "model", "system"])["mean"]
    ood = pd.concat([read("ircot_fig05_ood_recall"), read("ircot_fig06_ood_f1")])
    ood = ood[ood["model"] == read_parameters("mini").model]
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
        "growth": grown(),
    }


def grown() -> str:
    """The table of what a question costs outside the model (bench/growth.py)."""
    rows = []
    kinds = ["writer", "system", "batch", "prompt_tokens"]
    for (writer, system, batch, tokens), of_one in read("bench_growth").groupby(kinds, sort=False):
        fewest, most = of_one.iloc[0], of_one.iloc[-1]
        row = [writer, system, batch, f"{tokens:,}", f"{fewest['ms_a_question']:.2f}"]
        row += [f"{most['ms_a_question']:.2f}", f"{most['questions']:,}"]
        kb, passes = (most[name] for name in ("kb_a_question", "ms_of_passes"))
        row += ["" if pd.isna(kb) else f"{kb:.1f}", "" if pd.isna(passes) else f"{passes:.1f}"]
        rows.append(row)
    head = ["texts by", "system", "batch", "tokens of a prompt", "ms, 100 questions", "ms, most"]
    return as_table([*head, "most", "KB, most", "ms of passes, most"], rows)


def dials() -> dict:
    rows = [(f"`{x.dial}`", f"{x.default:g}", x.meaning, x.example) for x in explain_dials()]
    return {"dials": as_table(["dial", "default", "meaning", "example"], rows)}


def real_outputs() -> dict:
    claims, misled = read("real_outputs_claims"), read("real_outputs_misled")
    text = conclude_outputs(claims, misled)
    gains = claims[claims["claim"] == "IRCoT QA > OneR QA"]["laboratory"]
    briefly = text.split("\n\n")[0].removeprefix("**Holds:** ").rstrip(".")
    ends = [f"{end:.1f}" for end in (gains.min(), gains.max())]
    return {"real outputs": f"\n{text}\n", "real briefly": briefly, "real laboratory": ends}


def numbers() -> dict[str, str | list]:
    """All blocks by name: the text of a table, or the numbers of a sentence."""
    parts = head_to_head, main_results, claims, other_settings, anchor, models, agent, vectors, bm25
    parts += benchmarks, dials, abilities, real_outputs, gold
    return {name: text for write in parts for name, text in write().items()}


def main() -> None:
    blocks = numbers()
    for path in PAGES:
        path.write_text(write_page(path, blocks), encoding="utf-8")


if __name__ == "__main__":
    main()
