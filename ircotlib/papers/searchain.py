"""The numbers of SearChain's Tables 1 to 6 and 8 to 11, beside ours.

A measure yields cells, `Measured`, for `compare_reported`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from statistics import fmean
from typing import Any, NamedTuple

import pandas as pd

from ircotlib.data import Node
from ircotlib.datasets import COVER_EM, all_datasets, find_dataset
from ircotlib.experiment.replay import replay
from ircotlib.experiment.setup import Setup, open_corpus
from ircotlib.experiment.stored import read_predictions
from ircotlib.metrics import cover_em
from ircotlib.papers.claims import values_of
from ircotlib.parameters import Parameters
from ircotlib.program import Generate, Outcome, Retrieve, Sample
from ircotlib.results.head_to_head import EXPERIMENT, KNEW, first_measures, measures_of
from ircotlib.results.runs import KEYS, beside, find_test_runs, read_reported
from ircotlib.results.statistics import mean_interval, per_question
from ircotlib.systems import System
from ircotlib.systems.searchain import COMPLETION, VERIFICATION, citations
from ircotlib.text import sentences

WHOLE, ALONE = "SearChain", "SearChain w/o IR"
ONE_RETRIEVAL = "OneR QA"  # as KNEW, but with the question's passages (Table 8; ours)
# of Table 10, with the names of their systems
ALPHAS = {a: f"SearChain (alpha {a:.2f})" for a in (0.30, 0.35, 0.40, 0.45, 0.50)}
FEEDBACK = {  # of nodes, by the metrics of Table 2
    "knowledge_of_llm": "",
    "knowledge_corrected_by_ir": VERIFICATION,
    "knowledge_completed_by_ir": COMPLETION,
}
HELPED = "cover_em_where_ir_helps"
# the unit of a paper's numbers, where they are no percentages
SCALES = {"reasoning_steps": 1, "accuracy_where_parts_known": 1}
# the last two, the 95% interval of ours, are there only of means of questions
TABLE = [*KEYS, "paper's model", "paper", "ours", "difference", "n", "low", "high"]
# by data set and system, from `read_all_runs`
Runs = Mapping[tuple[str, str], pd.DataFrame]


class Measured(NamedTuple):
    """A cell of a table of the paper: the mean of a value for each question, by their
    ids and before SCALES, so 0 to 1 for a percentage; or, if it is no mean of
    questions, a number in the paper's unit.
    """

    dataset: str
    system: str
    metric: str
    values: Any  # pd.Series, or float
    n: int | None = None  # of how many questions the number is, if that can be said


def compare_reported(rows: Iterable[Measured], *sources: str) -> pd.DataFrame:
    """A table of SearChain's paper: the numbers of `sources` in their order, with ours
    and the difference; then those of ours alone. Numbers on data sets that are not here
    are left out (NaturalQuestions and others of Table 8). A mean of questions has its
    95% interval, which is exact for a share (`mean_interval`).
    """
    papers = pd.concat([read_reported("searchain", source=name) for name in sources])
    here = {*all_datasets(), "all", "unspecified"}
    papers = papers[papers["dataset"].str.partition("_")[0].isin(here)]
    papers = papers.assign(system=papers["name"])[[*KEYS, "name", "model", "value"]]
    papers = papers.rename(columns={"model": "paper's model", "value": "paper"})
    columns = [*KEYS, "ours", "n", "low", "high"]
    ours = pd.DataFrame(map(_describe, rows), columns=columns).sort_values(KEYS)
    table = beside(papers, ours, rest=True)
    table["difference"] = table["ours"] - table["paper"]
    table = table[TABLE].round(3).astype({"n": "Int64"})
    return table.drop(columns=["low", "high"]) if table["low"].isna().all() else table


def _describe(row: Measured) -> dict[str, object]:
    named = dict(zip(KEYS, row[:3], strict=True))
    if not isinstance(row.values, pd.Series):
        return named | {"ours": row.values, "n": row.n}
    scale = SCALES.get(row.metric, 100)
    values = row.values.astype(float)
    low, high = mean_interval(values) if len(values) else (float("nan"),) * 2
    ours = {"ours": scale * values.mean(), "low": scale * low, "high": scale * high}
    return named | ours | {"n": len(values)}


def read_all_runs(p: Parameters) -> dict[tuple[str, str], pd.DataFrame]:
    """The test runs of the head to head by data set and system, with their questions by
    id; `score` is by the first measure of the data set, the same for all.
    """
    runs = {}
    for (dataset, system), folder in find_test_runs(p, EXPERIMENT).items():
        measure = measures_of(dataset)[0]
        run = read_predictions(folder, measure).set_index("id")
        nodes = [tuple(Node(**node) for node in nodes) for nodes in run["nodes"]]
        runs[dataset, system] = run.assign(score=run[measure], nodes=nodes)
    return runs


def datasets_of(source: str, runs: Runs, *systems: str) -> list[str]:
    """The data sets of a table of the paper on which all these systems were run."""
    names = read_reported("searchain", source=source)["dataset"].unique()
    return [name for name in names if all((name, each) in runs for each in systems)]


def systems_of(source: str, runs: Mapping, dataset: str) -> list[str]:
    """Our names of the systems of a table of the paper that were run on a data set."""
    names = read_reported("searchain", source=source)["name"].unique()
    return [name for name in names if (dataset, name) in runs]


def measure_answers(scores: pd.DataFrame) -> Iterator[Measured]:
    """Scores of systems by the first measure of each data set (Tables 1, 9 and 10)."""
    for (dataset, system), rows in scores.groupby(["dataset", "system"], sort=False):
        metric = measures_of(dataset)[0]
        yield Measured(dataset, system, metric, per_question(rows, metric))


def knowledge_of(nodes: Iterable[Node]) -> list[str]:
    """Where the knowledge of nodes is from: their feedback, "" for the model's own; of
    those compared with a passage, except unsolved ones without feedback (ours).
    """
    compared = [node for node in nodes if node.passage]
    return [node.feedback for node in compared if node.feedback or not node.unsolved]


def measure_knowledge(runs: Runs) -> Iterator[Measured]:
    """Where the knowledge of SearChain's nodes comes from (Table 2)."""
    for dataset in datasets_of("Table 2", runs, WHOLE):
        run = runs[dataset, WHOLE]
        # the nodes of all questions of a data set together (SearChain §4.3.1)
        sources = pd.Series(sum(map(knowledge_of, run["nodes"]), []), dtype=object)
        for metric, source in FEEDBACK.items():
            share = 100 * (sources == source).mean()
            yield Measured(dataset, WHOLE, metric, share, len(run))


def measure_effects(runs: Runs) -> Iterator[Measured]:
    """What retrieval gains where it corrects or completes, or misleads (Table 3)."""
    for dataset in datasets_of("Table 3(a)", runs, WHOLE, ALONE, KNEW):
        nodes = runs[dataset, WHOLE]["nodes"]
        helped = nodes.map(lambda of_one: any(node.feedback for node in of_one))
        # on S, all questions, and on S_IR, those that retrieval helps (§4.3.2)
        yield Measured(dataset, ALONE, COVER_EM, runs[dataset, ALONE]["score"])
        for system in (ALONE, WHOLE):
            score = runs[dataset, system]["score"]
            yield Measured(dataset, system, HELPED, score[helped])
        # of what the model alone answers right (§4.3.2), which is KNEW (ours)
        knew = runs[dataset, KNEW]["right"]
        for system in systems_of("Table 3(b)", runs, dataset):
            misled = ~runs[dataset, system]["right"][knew]
            yield Measured(dataset, system, "misled_by_ir", misled)


def measure_claimed(
    scores: pd.DataFrame, runs: Runs, other: pd.DataFrame
) -> pd.DataFrame:
    """The values that SearChain's claims compare (`list_comparisons`): of the head to
    head (`scores`, and its `runs`), and of a second model (`other`).
    """
    tables = [
        values_of(scores.assign(metric=first_measures), "scores"),
        values_of(other.assign(metric=first_measures), "scores of the second model"),
    ]
    for row in measure_effects(runs):
        table = pd.DataFrame({"id": row.values.index, "value": 100.0 * row.values})
        place = {"dataset": row.dataset, "demonstrations": row.dataset}
        named = {"measured": row.metric, "metric": row.metric, "side": row.system}
        tables.append(table.assign(**place, **named, model=scores["model"].iloc[0]))
    return pd.concat(tables, ignore_index=True)


def count_steps(run: pd.DataFrame, system: str) -> pd.Series:
    """The number of reasoning steps of each question (SearChain Table 4): of nodes on
    the correct path of a chain of query, else of Self-Ask's follow-up questions, else
    of thoughts or sentences but the one that gives the answer; of Least-to-Most, of the
    sub-questions and the question itself, which it answers last (ours: the paper does
    not say).
    """
    counts = []
    for row in run.itertuples():
        if row.nodes:
            counts.append(sum(node.mark > 0 for node in row.nodes))
            continue
        lines = row.thoughts or sentences(row.reading)
        follow_ups = [line for line in lines if line.startswith("Follow up:")]
        steps = follow_ups or [line for line in lines if "answer is" not in line]
        asks_last = bool(row.thoughts) and system == "Least-to-Most"
        counts.append(len(steps) + asks_last)
    return pd.Series(counts, run.index, dtype=float)


def measure_steps(runs: Runs) -> Iterator[Measured]:
    """Reasoning steps by number of hops, and accuracy, without retrieval (Table 4)."""
    # on MuSiQue, because its questions are the most complex (SearChain §4.3.3)
    for system in systems_of("Table 4", runs, "musique"):
        run = runs["musique", system]
        hops = "musique_" + run["kind"].str.extract(r"^(\dhop)")[0]
        for kind, steps in count_steps(run, system).groupby(hops):
            yield Measured(kind, system, "reasoning_steps", steps)
        yield Measured("musique", system, "accuracy", run["score"])


def measure_references(runs: Runs) -> Iterator[Measured]:
    """References (Table 5): the mean number of marked items of knowledge (SKC). Differs
    from the paper: without the share of marks in the right place, which people judge.
    """
    datasets = datasets_of("Table 2", runs, WHOLE)
    if not datasets:
        return
    marked = pd.concat([runs[dataset, WHOLE] for dataset in datasets])
    counts = []
    for reading, nodes in zip(marked["reading"], marked["nodes"], strict=True):
        # a mark is of a node on the correct path (SearChain §4.3.4); adjacent ones,
        # such as [1][2], mark one item, and those of no passage do not count (ours)
        passages = {node.mark for node in nodes if node.mark and node.passage}
        groups = citations(reading)
        counts.append(sum(not passages.isdisjoint(marks) for marks in groups))
    yield Measured("unspecified", WHOLE, "skc", fmean(counts), len(counts))


def count_words(outcome: Outcome) -> dict[str, int]:
    """The words that the model reads and writes, and the rounds of retrieval, for a
    question (#n, #m, #r of SearChain §4.3.5). A round is all retrieval before the model
    writes again.
    """
    counts = {"words_in": 0, "words_out": 0, "rounds": 0}
    is_retrieving = False
    for step in outcome.trace:
        request, reply = step.request, step.reply
        if isinstance(request, Retrieve):
            counts["rounds"] += not is_retrieving
            is_retrieving = True
        elif isinstance(request, Generate | Sample):
            is_retrieving = False
            counts["words_in"] += _words(request.prompt)
            counts["words_out"] += _words(reply)
    return counts


def _words(text) -> int:
    """The words of a text, or of messages or samples."""
    parts = [text] if isinstance(text, str) else [part.text for part in text]
    return sum(len(part.split()) for part in parts)


def measure_efficiency(p: Parameters, scores: pd.DataFrame) -> Iterator[Measured]:
    """Words and rounds of retrieval per question, on the first data set, from replayed
    runs, and the mean of Table 1 (Table 6). Differs from the paper: no seconds, which
    are the model's.
    """
    means = {
        (row.dataset, row.system): 100 * row.values.mean()
        for row in measure_answers(scores)
    }
    folders = find_test_runs(p, EXPERIMENT)
    first = p.datasets[0]
    for system in systems_of("Table 6", folders, first):
        counts = pd.DataFrame(map(count_words, replay(folders[first, system]).values()))
        for metric, mean in counts.mean().items():
            yield Measured("unspecified", system, metric, mean)
        average = fmean(means[dataset, system] for dataset in p.datasets)
        yield Measured("all", system, "average", average)


def measure_conflicts(runs: Runs, p: Parameters) -> Iterator[Measured]:
    """How retrieval helps and harms a model that knows the answer or does not (Table
    8): how often the best passage has a gold answer (ours: the paper does not say how
    it judges that), and the accuracy, on data sets whose pages can hold an answer: not
    "yes", or a whole text.
    """
    for dataset in p.datasets:
        scores = find_dataset(dataset).scores
        was_run = {(dataset, KNEW), (dataset, ONE_RETRIEVAL)} <= runs.keys()
        if not was_run or COVER_EM not in scores or "accuracy" in scores:
            continue
        alone = runs[dataset, KNEW]["right"]
        with_ir = runs[dataset, ONE_RETRIEVAL]
        find = open_corpus(p, dataset)[2].find
        best = [find(ids[0]).text if ids else "" for ids in with_ir["collected"]]
        has_answer = pd.Series(map(cover_em, best, with_ir["answers"]), with_ir.index)
        # S_t and S_f: what the model alone answers right and wrong (A.2.2)
        for side, is_right in {"right": True, "wrong": False}.items():
            ids = alone.index[alone == is_right]
            accuracy = f"accuracy_where_llm_{side}"
            top = f"top1_where_llm_{side}"
            yield Measured(dataset, "retriever", top, has_answer[ids] == 1)
            yield Measured(dataset, "LLM", accuracy, 100.0 * is_right, len(ids))
            yield Measured(dataset, "LLM w/ IR", accuracy, with_ir["right"][ids])


def count_examples(
    setups: Sequence[Setup], systems: Sequence[System]
) -> Iterator[Measured]:
    """How many examples prompts show: of the stage that shows most (Table 11)."""
    for setup, system in product(setups, systems):
        prompts = [setup.prompt(stage, system=system) for stage in system.stages]
        most = max((len(prompt.demonstrations) for prompt in prompts), default=0)
        yield Measured(setup.dataset.name, system.name, "demonstrations", most)
