"""SearChain's tables with our numbers next to the paper's, one row per number, from the runs of all
systems (head_to_head).
"""

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from ircotlib.data import read_jsonl
from ircotlib.datasets import all_datasets, find_dataset
from ircotlib.metrics import cover_em
from ircotlib.parameters import Parameters
from ircotlib.results import measures
from ircotlib.results.analysis import find_runs, read_reported
from ircotlib.results.citations import accuracy_of_marks, judge_reference, read_references
from ircotlib.results.head_to_head import EXPERIMENT, average, measures_of, of_first_measure
from ircotlib.results.tables_ircot import as_markdown, our_names
from ircotlib.running.experiment import replay
from ircotlib.running.folder import read_about
from ircotlib.running.laboratory import find_facts
from ircotlib.running.setup import COVER_EM, Bench, open_dataset
from ircotlib.systems import System

KEYS = ["dataset", "system", "metric"]
COLUMNS = [*KEYS, "model", "paper", "ours", "difference", "n"]
ALONE = "Direct Prompting"  # how Table 7 asks questions whose parts are known (ours)
KNEW = "CoT"  # its right answers count as what the model knows (Tables 3b, 7, 8; ours)
SHOWN = "OneR QA"  # the same with the passages that the question retrieves (Table 8; ours)
ALPHAS = (0.30, 0.35, 0.40, 0.45, 0.50)  # of Table 10
WITHOUT, WHOLE = "SearChain w/o IR", "SearChain"
Run = Mapping[tuple[str, str], pd.DataFrame]  # by data set and system


def read_all_runs(p: Parameters) -> dict[tuple[str, str], pd.DataFrame]:
    """The test runs of 13_head_to_head by data set and system, from `measures.read_run`."""
    return {place: measures.read_run(folder) for place, folder in find_places(p).items()}


def find_places(p: Parameters) -> dict:
    """The folders of the test runs of 13_head_to_head by data set and system."""
    folders = ((read_about(folder), folder) for folder in find_runs(p, EXPERIMENT))
    return {(about["dataset"], about["system"]): folder for about, folder in folders}


def beside(ours: Iterable[Mapping], *sources: str) -> pd.DataFrame:
    """The paper's numbers in its order, with ours and the difference, followed by those of ours
    that the paper does not have. `sources`: the paper's tables. `ours`: rows with dataset, system,
    metric, ours and perhaps n.
    """
    papers = pd.concat([read_reported("searchain", source=source) for source in sources])
    papers = papers[[*KEYS, "model", "value"]].rename(columns={"value": "paper"})
    papers = papers.assign(place=range(len(papers)), name=papers["system"].replace(our_names()))
    mine = pd.DataFrame(list(ours), columns=[*KEYS, "ours", "n"]).rename(columns={"system": "name"})
    table = papers.merge(mine, on=["dataset", "name", "metric"], how="outer")
    table = table.sort_values("place", kind="stable", ignore_index=True)
    table["system"] = table["system"].fillna(table["name"])
    table = table.assign(difference=table["ours"] - table["paper"])
    return table[COLUMNS].round(3).astype({"n": "Int64"})


def _rows(dataset: str, system: str, found: Mapping, n: int | None = None) -> list[dict]:
    named = {"dataset": dataset, "system": system, "n": n}
    return [named | {"metric": metric, "ours": value} for metric, value in found.items()]


def table_1(table: pd.DataFrame) -> pd.DataFrame:
    """Every system on every data set; `table`: from head_to_head.compare_all."""
    first = of_first_measure(table)
    return beside(first.rename(columns={"mean": "ours"}).to_dict("records"), "Table 1")


def table_2(runs: Run) -> pd.DataFrame:
    """Where the knowledge of SearChain's nodes comes from."""
    found = []
    for dataset in _printed("Table 2", runs):
        run = runs[dataset, WHOLE]
        found += _rows(dataset, WHOLE, measures.knowledge_sources(run), len(run))
    return beside(found, "Table 2")


def table_3(runs: Run) -> pd.DataFrame:
    """What retrieval gains where it gives feedback (a), and how often it misleads (b)."""
    found = []
    for dataset in _printed("Table 3(a)", runs, WITHOUT, KNEW):
        alone, whole = runs[dataset, WITHOUT], runs[dataset, WHOLE]
        effect = measures.positive_effect(alone, whole)
        names = {"cover_em": "without_ir", "cover_em_where_ir_helps": "without_ir_where_ir_helps"}
        found += _rows(dataset, WITHOUT, {to: effect[of] for to, of in names.items()}, len(whole))
        with_ir = {"cover_em_where_ir_helps": effect["with_ir_where_ir_helps"]}
        found += _rows(dataset, WHOLE, with_ir, len(whole))
        knew = runs[dataset, KNEW]
        for system in misleading(runs, dataset):
            share = measures.misled_by_ir(knew, runs[dataset, system])
            found += _rows(dataset, system, {"misled_by_ir": share}, int(knew["right"].sum()))
    return beside(found, "Table 3(a)", "Table 3(b)")


def misleading(runs: Run, dataset: str) -> list[str]:
    """Our names of the systems of Table 3(b) that were run on a data set."""
    names = read_reported("searchain", source="Table 3(b)")["system"].replace(our_names())
    return [name for name in dict.fromkeys(names) if (dataset, name) in runs]


def _printed(source: str, runs: Run, *systems: str) -> list[str]:
    """The data sets of a table of the paper on which SearChain and these systems were run."""
    datasets = dict.fromkeys(read_reported("searchain", source=source)["dataset"])
    return [one for one in datasets if {(one, name) for name in (WHOLE, *systems)} <= set(runs)]


def table_4(runs: Run) -> pd.DataFrame:
    """Reasoning steps by number of hops, and accuracy, without retrieval on MuSiQue."""
    found = []
    names = read_reported("searchain", source="Table 4")["system"].replace(our_names())
    for system in dict.fromkeys(names):
        if ("musique", system) in runs:
            run = runs["musique", system]
            hops = run["kind"].str.extract(r"^(\d)hop")[0].astype(float)
            for count, steps in measures.steps_by_hops(run).items():
                n = int((hops == count).sum())
                found += _rows(f"musique_{count}hop", system, {"reasoning_steps": steps}, n)
            found += _rows("musique", system, {"accuracy": 100 * run["score"].mean()}, len(run))
    return beside(found, "Table 4")


def table_5(runs: Run, p: Parameters) -> pd.DataFrame:
    """References: how many items of knowledge are marked (SKC), and, where the facts are known, the
    share of marks in the right place (AMP) by a judge that knows them, on the data sets of Table 2
    (ours).
    """
    datasets = _printed("Table 2", runs)
    marked = pd.concat([runs[dataset, WHOLE] for dataset in datasets])
    found = _rows("unspecified", WHOLE, {"skc": measures.references_marked(marked)}, len(marked))
    facts = {dataset: find_facts(p, dataset) for dataset in datasets}
    if all(facts.values()):
        p = p.change(datasets=datasets, judged=len(marked))
        items = [one for one in read_references(p, EXPERIMENT) if one.system == WHOLE]
        said = {
            (item.id, n): judge_reference(item, n, facts[item.dataset])
            for item in items
            for n in range(item.facts)
        }
        amp = accuracy_of_marks(items, {"judge": said})
        share = (amp["AMP"] * amp["marks"]).sum() / max(1, amp["marks"].sum())
        found += _rows("unspecified", WHOLE, {"amp": share}, int(amp["marks"].sum()))
    return beside(found, "Table 5")


def table_6(p: Parameters, table: pd.DataFrame, datasets: Sequence[str]) -> pd.DataFrame:
    """Words, rounds of retrieval and seconds per question, and the mean of Table 1. Words and
    rounds are means over `datasets`, from replayed runs; seconds are from bench/systems.py.
    """
    means, places = average(table).set_index("system"), find_places(p)
    names, found = read_reported("searchain", source="Table 6")["system"].replace(our_names()), []
    for system in dict.fromkeys(names):
        if system in means.index:
            of_each = [measures.efficiency(replay(places[name, system])) for name in datasets]
            words = pd.DataFrame(of_each).mean()[["words_in", "words_out", "rounds"]]
            told = words.to_dict() | {"seconds": means.at[system, "seconds"]}
            found += _rows("unspecified", system, told)
            found += _rows("all", system, {"average": means.at[system, "mean"]})
    return beside(found, "Table 6")


def table_7(whole: pd.DataFrame, asked: pd.DataFrame, names: Mapping) -> pd.DataFrame:
    """Accuracy, 0 to 1, on those of MuSiQue's questions whose parts the model all answers right.
    `whole`, `asked`: its results on questions and on parts; `names`: the parts' ids (`part_ids`).
    """
    found = []
    for row in measures.accuracy_where_parts_known(whole, asked, names).itertuples():
        told = {"accuracy_where_parts_known": row.mean}
        found += _rows(f"musique_{row.Index}hop", "LLM", told, row.size)
    return beside(found, "Table 7")


def table_8(runs: Run, p: Parameters) -> pd.DataFrame:
    """How retrieval helps and harms a model that knows the answer or does not. The best passage is
    right if it has a gold answer (ours). Only HotpotQA is also in the paper's table.
    """
    found = []
    for dataset in p.datasets:
        scores = find_dataset(dataset).scores
        named = COVER_EM in scores and "accuracy" not in scores  # an answer that pages can hold
        if not named or not {(dataset, KNEW), (dataset, SHOWN)} <= set(runs):
            continue
        alone, shown = runs[dataset, KNEW], runs[dataset, SHOWN]
        told = measures.conflict(alone, shown, _first_right(p, dataset))
        for name, side in (("right", alone["right"]), ("wrong", ~alone["right"])):
            top, accuracy = f"top1_where_llm_{name}", f"accuracy_where_llm_{name}"
            n = int(side.sum())
            found += _rows(dataset, "retriever", {top: told[top]}, n)
            found += _rows(dataset, "LLM", {accuracy: 100.0 * (name == "right")}, n)
            found += _rows(dataset, "LLM w/ IR", {accuracy: told[accuracy]}, n)
    return beside(found, "Table 8")


def _first_right(p: Parameters, dataset: str) -> dict[str, bool]:
    """Whether the best passage for each question contains one of its answers, by question id."""
    _, test, retriever = open_dataset(p, dataset)
    lines = read_jsonl(find_places(p)[dataset, SHOWN] / "predictions.jsonl")
    first = {line["id"]: line["paragraphs"][:1] for line in lines}
    text = {
        id: "".join(retriever.corpus.find(one).text for one in ids) for id, ids in first.items()
    }
    return {q.id: cover_em(text[q.id], q.answers) == 1 for q in test}


def table_9(second: pd.DataFrame) -> pd.DataFrame:
    """SearChain and DSP with another model; `second`: their runs, may be empty."""
    found = []
    groups = second.groupby(["dataset", "system"], sort=False) if len(second) else ()
    for (dataset, system), rows in groups:
        metric = measures_of(dataset)[0]
        found += _rows(dataset, system, {metric: 100 * rows[metric].mean()}, len(rows))
    return beside(found, "Table 9")


def table_10(runs: Mapping[float, Sequence[pd.DataFrame]]) -> pd.DataFrame:
    """SearChain on ELI5 by ROUGE threshold; `runs`: by threshold, empty if ELI5 was not run."""
    found = []
    for alpha, tables in runs.items():
        for rows in tables:
            means = {"rouge_l": 100 * rows["rouge_l"].mean()}
            found += _rows("eli5", f"{WHOLE} (alpha {alpha:.2f})", means, len(rows))
    return beside(found, "Table 10")


def table_11(benches: Sequence[Bench], systems: Sequence[System]) -> pd.DataFrame:
    """How many examples prompts show: those of the stage that shows most."""
    found = []
    for bench in benches:
        for system in systems:
            shown = [len(bench.prompt(one, system=system).demonstrations) for one in system.stages]
            found += _rows(bench.dataset, system.name, {"demonstrations": max(shown, default=0)})
    return beside(found, "Table 11")


def as_wide_markdown(table: pd.DataFrame) -> str:
    """Render a table that has one measure per data set as Markdown: one row per system, one column
    per data set, and in each cell our value and, in brackets, the paper's.
    """
    cells = table.assign(cell=[_cell(*pair) for pair in zip(table["ours"], table["paper"])])
    wide = cells.pivot_table("cell", "system", "dataset", "first", sort=False)
    titles = {name: record.title for name, record in all_datasets().items()}
    wide = wide[list(dict.fromkeys(table["dataset"]))].fillna("").rename(columns=titles)
    return as_markdown(wide.reset_index().rename_axis(columns=None))


def _cell(ours: float, paper: float) -> str:
    mine = "–" if pd.isna(ours) else f"{ours:.4g}"
    return mine if pd.isna(paper) else f"{mine} ({paper:.4g})"
