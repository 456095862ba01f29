"""The tables of SearChain's paper, with our numbers beside its own."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import pandas as pd

from ircotlib.annotate.references import judge_reference, read_references
from ircotlib.datasets import COVER_EM, find_dataset
from ircotlib.experiment.laboratory import find_facts
from ircotlib.experiment.runs import read_lines, replay
from ircotlib.experiment.setup import Setup, open_dataset
from ircotlib.metrics import cover_em
from ircotlib.parameters import Parameters
from ircotlib.results import searchain_measures as measures
from ircotlib.results.head_to_head import EXPERIMENT, average, measures_of, of_first_measure
from ircotlib.results.reported import KEYS, declare, means_of, read_reported, rows_of
from ircotlib.results.runs import find_test_runs
from ircotlib.results.searchain_measures import KNEW
from ircotlib.systems import System

DIRECT = "Direct Prompting"  # how Table 7 asks questions whose parts are known (ours)
ONE_RETRIEVAL = "OneR QA"  # like KNEW, with the passages of the question (Table 8; ours)
WITHOUT_RETRIEVAL, WITH_RETRIEVAL = "SearChain w/o IR", "SearChain"
# of Table 10, with the names of their systems
ALPHAS = {a: f"SearChain (alpha {a:.2f})" for a in (0.30, 0.35, 0.40, 0.45, 0.50)}
Runs = Mapping[tuple[str, str], pd.DataFrame]  # by data set and system


def run_with(runs: Runs, *systems: str) -> list[str]:
    """The data sets on which all these systems were run."""
    datasets = dict.fromkeys(dataset for dataset, _ in runs)
    return [name for name in datasets if all((name, system) in runs for system in systems)]


def datasets_of(source: str, runs: Runs, *systems: str) -> list[str]:
    """The data sets of a table of SearChain's paper on which these systems were run."""
    names = read_reported("searchain", source=source)["dataset"].unique()
    return [name for name in names if name in run_with(runs, *systems)]


def systems_of(source: str, runs: Runs, dataset: str) -> list[str]:
    """Our names of the systems of a table of SearChain's paper that were run on a data set."""
    names = read_reported("searchain", source=source)["name"].unique()
    return [name for name in names if (dataset, name) in runs]


@declare("Table 1")
def table_1(table: pd.DataFrame) -> Iterator[dict]:
    """Every system on every data set; `table`: from head_to_head.compare_all."""
    ours = of_first_measure(table).rename(columns={"mean": "ours"})
    yield from ours[[*KEYS, "ours", "n"]].to_dict("records")  # without intervals, as printed


@declare("Table 2")
def table_2(runs: Runs) -> Iterator[dict]:
    """Where the knowledge of SearChain's nodes comes from."""
    # on the four data sets of multi-hop questions (SearChain §4.3.1)
    for dataset in datasets_of("Table 2", runs, WITH_RETRIEVAL):
        run = runs[dataset, WITH_RETRIEVAL]
        yield from rows_of(dataset, WITH_RETRIEVAL, len(run), **measures.knowledge_sources(run))


@declare("Table 3(a)", "Table 3(b)")
def table_3(runs: Runs) -> Iterator[dict]:
    """What retrieval gains where it gives feedback (a), and how often it misleads (b)."""
    for dataset in datasets_of("Table 3(a)", runs, WITH_RETRIEVAL, WITHOUT_RETRIEVAL, KNEW):
        whole, alone = (runs[dataset, name] for name in (WITH_RETRIEVAL, WITHOUT_RETRIEVAL))
        # on S, all questions, and on S_IR, those that retrieval helps (SearChain §4.3.2)
        helped = measures.is_helped(whole)
        means = {"cover_em": alone["score"], "cover_em_where_ir_helps": alone["score"][helped]}
        yield from means_of(dataset, WITHOUT_RETRIEVAL, **means)
        means = {"cover_em_where_ir_helps": whole["score"][helped]}
        yield from means_of(dataset, WITH_RETRIEVAL, **means)
        knew = runs[dataset, KNEW]["right"]
        # of what the model answers right alone (SearChain §4.3.2); KNEW decides (ours)
        for system in systems_of("Table 3(b)", runs, dataset):
            wrong = ~runs[dataset, system]["right"][knew]
            yield from means_of(dataset, system, misled_by_ir=wrong)


@declare("Table 4")
def table_4(runs: Runs) -> Iterator[dict]:
    """Reasoning steps by number of hops, and accuracy, without retrieval on MuSiQue."""
    # MuSiQue, because its questions are the most complex (SearChain §4.3.3)
    for system in systems_of("Table 4", runs, "musique"):
        run = runs["musique", system]
        for hops, steps in measures.count_steps(run, system).groupby(measures.hops_of(run)):
            yield from rows_of(hops, system, len(steps), reasoning_steps=steps.mean())
        yield from means_of("musique", system, accuracy=run["score"])


@declare("Table 5")
def table_5(runs: Runs, p: Parameters) -> Iterator[dict]:
    """References: how many items of knowledge are marked (SKC), and the share of marks in the right
    place (AMP) by a judge that knows the facts, if known, on the data sets of Table 2 (ours).
    """
    if not (datasets := datasets_of("Table 2", runs, WITH_RETRIEVAL)):
        return
    marked = pd.concat([runs[dataset, WITH_RETRIEVAL] for dataset in datasets])
    skc = measures.references_marked(marked)
    yield from rows_of("unspecified", WITH_RETRIEVAL, len(marked), skc=skc)
    # three people judge AMP in SearChain §4.3.4; here who knows the facts
    facts = {dataset: find_facts(p, dataset) for dataset in datasets}
    if all(facts.values()):
        p = p.change(datasets=datasets, judged=len(marked))
        items = read_references(p, EXPERIMENT, [WITH_RETRIEVAL])
        marks = [(item, n) for item in items for n in range(item.facts)]
        right = [judge_reference(item, n, facts[item.dataset]) == "true" for item, n in marks]
        yield from means_of("unspecified", WITH_RETRIEVAL, 1, amp=pd.Series(right, dtype=float))


@declare("Table 6")
def table_6(p: Parameters, table: pd.DataFrame, datasets: Sequence[str]) -> Iterator[dict]:
    """Words, rounds of retrieval and seconds per question, and the mean of Table 1. Words and
    rounds are means over `datasets`, from replayed runs; seconds are from bench/systems.py.
    """
    folders = find_test_runs(p, EXPERIMENT)
    means = average(table).set_index("system")
    names = read_reported("searchain", source="Table 6")["name"].unique()
    for system in (name for name in names if name in means.index):
        words = [measures.efficiency(replay(folders[dataset, system])) for dataset in datasets]
        # #n, #m and #r of SearChain §4.3.5
        words = pd.DataFrame(words).mean()[["words_in", "words_out", "rounds"]]
        yield from rows_of("unspecified", system, **words, seconds=means.at[system, "seconds"])
        yield from rows_of("all", system, average=means.at[system, "mean"])


@declare("Table 7")
def table_7(whole: pd.DataFrame, forms: pd.DataFrame) -> Iterator[dict]:
    """Accuracy, 0 to 1, on those of MuSiQue's questions whose parts the model all answers right;
    `forms`: from `knowledge.compare_forms`, whose panel "b" has them.
    """
    known = forms[forms["panel"] == "b"].drop_duplicates("id")  # S_all (SearChain A.2.1)
    for hops, ids in known.groupby("hops")["id"]:
        accuracy = {"accuracy_where_parts_known": whole["score"][ids]}
        yield from means_of(f"musique_{hops}hop", "LLM", 1, **accuracy)


@declare("Table 8")
def table_8(runs: Runs, p: Parameters) -> Iterator[dict]:
    """How retrieval helps and harms a model that knows the answer or does not: how often the best
    passage has a gold answer (ours: the paper does not say how it judges that), and the accuracy.
    """
    for dataset in p.datasets:
        if holds_answers(dataset) and {(dataset, KNEW), (dataset, ONE_RETRIEVAL)} <= set(runs):
            right, right_with_ir = (runs[dataset, name]["right"] for name in (KNEW, ONE_RETRIEVAL))
            best = _judge_best_passages(p, dataset)
            # S_t and S_f: what the model alone answers right and wrong (SearChain A.2.2)
            for side, ids in (("right", right.index[right]), ("wrong", right.index[~right])):
                yield from means_of(dataset, "retriever", **{f"top1_where_llm_{side}": best[ids]})
                alone = {f"accuracy_where_llm_{side}": 100.0 * (side == "right")}
                yield from rows_of(dataset, "LLM", len(ids), **alone)
                with_ir = {f"accuracy_where_llm_{side}": right_with_ir[ids]}
                yield from means_of(dataset, "LLM w/ IR", **with_ir)


def holds_answers(dataset: str) -> bool:
    """Whether pages can hold its answers: they are named, not "yes" or whole texts."""
    scores = find_dataset(dataset).scores
    return COVER_EM in scores and "accuracy" not in scores


def _judge_best_passages(p: Parameters, dataset: str) -> pd.Series:
    """Whether the best passage for each question contains one of its answers, by question id."""
    _, test, retriever = open_dataset(p, dataset)
    folder = find_test_runs(p, EXPERIMENT)[dataset, ONE_RETRIEVAL]
    right = {}
    lines = read_lines(folder)
    for question in test:
        best = lines[question.id]["paragraphs"][:1]
        text = "".join(retriever.corpus.find(id).text for id in best)
        right[question.id] = cover_em(text, question.answers) == 1
    return pd.Series(right)


@declare("Table 9")
def table_9(second: pd.DataFrame) -> Iterator[dict]:
    """SearChain and DSP with another model; `second`: their runs, may be empty."""
    groups = second.groupby(["dataset", "system"], sort=False) if len(second) else ()
    for (dataset, system), run in groups:
        metric = measures_of(dataset)[0]
        yield from means_of(dataset, system, **{metric: run[metric]})


@declare("Table 10")
def table_10(runs: Mapping[float, Sequence[pd.DataFrame]]) -> Iterator[dict]:
    """SearChain on ELI5 by ROUGE threshold; `runs`: by threshold, empty if ELI5 was not run."""
    # a long answer agrees with a passage if their ROUGE is above alpha (SearChain A.4.1)
    for alpha, tables in runs.items():
        for run in tables:
            yield from means_of("eli5", ALPHAS[alpha], rouge_l=run["rouge_l"])


@declare("Table 11")
def table_11(benches: Sequence[Setup], systems: Sequence[System]) -> Iterator[dict]:
    """How many examples prompts show: those of the stage that shows most."""
    for bench, system in product(benches, systems):
        prompts = [bench.prompt(stage, system=system) for stage in system.stages]
        most = max((len(prompt.demonstrations) for prompt in prompts), default=0)
        yield from rows_of(bench.dataset.name, system.name, demonstrations=most)
