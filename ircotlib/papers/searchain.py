"""The numbers of SearChain's Tables 1 to 6 and 8 to 11, and the values that its claims
compare.

A measure yields rows (`Row`) for `compare_reported`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from statistics import fmean

import pandas as pd

from ircotlib.annotate.factuality import judge_reference, read_references
from ircotlib.data import Node
from ircotlib.datasets import COVER_EM, all_datasets, find_dataset
from ircotlib.experiment.laboratory import find_facts
from ircotlib.experiment.runs import read_predictions, replay
from ircotlib.experiment.setup import Setup, open_corpus
from ircotlib.metrics import cover_em
from ircotlib.papers.claims import VALUES, values_of
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
FEEDBACK = {
    "of_llm": "",
    "corrected_by_ir": VERIFICATION,
    "completed_by_ir": COMPLETION,
}
HELPED = "cover_em_where_ir_helps"
# of Table 10, with the names of their systems
ALPHAS = {a: f"SearChain (alpha {a:.2f})" for a in (0.30, 0.35, 0.40, 0.45, 0.50)}
# data set, system and metric, with values of questions by id, or a number and of how
# many it is
Row = tuple[str, str, str, pd.Series | tuple[float, int | None]]
# the unit of a paper's numbers, where they are no percentages
SCALES = {"reasoning_steps": 1, "amp": 1, "accuracy_where_parts_known": 1}
# the last two, the 95% interval of ours, are there only of means of questions
TABLE = [*KEYS, "model", "paper", "ours", "difference", "n", "low", "high"]
# by data set and system, from `read_all_runs`
Runs = Mapping[tuple[str, str], pd.DataFrame]


def compare_reported(rows: Iterable[Row], *sources: str) -> pd.DataFrame:
    """A table of SearChain's paper: the numbers of `sources` in their order, with ours
    and the difference; then those of ours alone. Numbers on data sets that are not here
    are left out (NaturalQuestions and others of Table 8). A mean of questions has its
    95% interval, which is exact for a share (`mean_interval`).
    """
    papers = pd.concat(
        [read_reported("searchain", source=source) for source in sources]
    )
    here = {*all_datasets(), "all", "unspecified"}
    papers = papers[papers["dataset"].str.partition("_")[0].isin(here)]
    papers = papers.assign(paper=papers["value"])[[*KEYS, "name", "model", "paper"]]
    ours = pd.DataFrame(map(_tell, rows), columns=[*KEYS, "ours", "n", "low", "high"])
    table = beside(papers, ours.sort_values(KEYS), rest=True)
    table = table.assign(difference=table["ours"] - table["paper"])
    table = table[TABLE].round(3).astype({"n": "Int64"})
    return table.drop(columns=["low", "high"]) if table["low"].isna().all() else table


def _tell(row: Row) -> list:
    *named, metric, values = row
    if isinstance(values, tuple):
        return [*named, metric, *values, None, None]
    scale, values = SCALES.get(metric, 100), values.astype(float)
    low, high = mean_interval(values) if len(values) else (float("nan"),) * 2
    return [
        *named,
        metric,
        scale * values.mean(),
        len(values),
        scale * low,
        scale * high,
    ]


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


def _datasets(source: str, runs: Runs, *systems: str) -> list[str]:
    """The data sets of a table of the paper on which these systems were run."""
    names = read_reported("searchain", source=source)["dataset"].unique()
    return [
        name for name in names if {(name, system) for system in systems} <= runs.keys()
    ]


def _systems(source: str, runs: Runs, dataset: str) -> list[str]:
    """Our names of the systems of a table of the paper that were run on a data set."""
    names = read_reported("searchain", source=source)["name"].unique()
    return [name for name in names if (dataset, name) in runs]


def measure_answers(scores: pd.DataFrame) -> Iterator[Row]:
    """The scores of systems by the first measure of each data set (Tables 1, 9 and 10)."""
    for (dataset, system), of in scores.groupby(["dataset", "system"], sort=False):
        metric = measures_of(dataset)[0]
        yield dataset, system, metric, per_question(of, metric)


def knowledge_of(nodes: Iterable[Node]) -> list[str]:
    """Where the knowledge of nodes is from: their feedback, "" for the model's own; of
    those compared with a passage, except unsolved ones without feedback (ours).
    """
    compared = [node for node in nodes if node.passage]
    return [node.feedback for node in compared if node.feedback or not node.unsolved]


def measure_knowledge(runs: Runs) -> Iterator[Row]:
    """Where the knowledge of SearChain's nodes comes from (Table 2)."""
    for dataset in _datasets("Table 2", runs, WHOLE):
        # the nodes of all questions of a data set together (SearChain §4.3.1)
        known = pd.Series(
            sum(map(knowledge_of, runs[dataset, WHOLE]["nodes"]), []), dtype=object
        )
        for source, kind in FEEDBACK.items():
            share = 100 * (known == kind).mean(), len(runs[dataset, WHOLE])
            yield dataset, WHOLE, f"knowledge_{source}", share


def measure_effects(runs: Runs) -> Iterator[Row]:
    """What retrieval gains where it corrects or completes, or misleads (Table 3)."""
    for dataset in _datasets("Table 3(a)", runs, WHOLE, ALONE, KNEW):
        helped = runs[dataset, WHOLE]["nodes"].map(
            lambda nodes: any(n.feedback for n in nodes)
        )
        # on S, all questions, and on S_IR, those that retrieval helps (SearChain
        # §4.3.2)
        yield dataset, ALONE, COVER_EM, runs[dataset, ALONE]["score"]
        for system in (ALONE, WHOLE):
            yield dataset, system, HELPED, runs[dataset, system]["score"][helped]
        knew = runs[dataset, KNEW]["right"]
        # of the questions that the model alone answers right (SearChain §4.3.2), as
        # KNEW (ours)
        for system in _systems("Table 3(b)", runs, dataset):
            yield dataset, system, "misled_by_ir", ~runs[dataset, system]["right"][knew]


def count_steps(run: pd.DataFrame, system: str) -> pd.Series:
    """The number of reasoning steps of each question (SearChain Table 4): of nodes on
    the correct path of a chain of query, else of Self-Ask's follow-up questions, else
    of thoughts or sentences but the one that gives the answer; of Least-to-Most, of the
    sub-questions and the question itself, which it answers last (ours: the paper does
    not say).
    """
    counts = []
    for row in run.itertuples():
        lines = row.thoughts or sentences(row.reading)
        follow_ups = [line for line in lines if line.startswith("Follow up:")]
        steps = follow_ups or [line for line in lines if "answer is" not in line]
        last = 1 if row.thoughts and system == "Least-to-Most" else 0
        counts.append(
            sum(node.mark > 0 for node in row.nodes) if row.nodes else len(steps) + last
        )
    return pd.Series(counts, run.index, dtype=float)


def measure_steps(runs: Runs) -> Iterator[Row]:
    """Reasoning steps by number of hops, and accuracy, without retrieval on MuSiQue
    (Table 4).
    """
    # MuSiQue, because its questions are the most complex (SearChain §4.3.3)
    for system in _systems("Table 4", runs, "musique"):
        run = runs["musique", system]
        hops = "musique_" + run["kind"].str.extract(r"^(\dhop)")[0]
        for kind, steps in count_steps(run, system).groupby(hops):
            yield kind, system, "reasoning_steps", steps
        yield "musique", system, "accuracy", run["score"]


def measure_references(runs: Runs, p: Parameters) -> Iterator[Row]:
    """References (Table 5): the mean number of marked items of knowledge (SKC), and the
    share of marks in the right place (AMP), if a judge knows the facts.
    """
    if not (datasets := _datasets("Table 2", runs, WHOLE)):
        return
    marked, counts = pd.concat([runs[dataset, WHOLE] for dataset in datasets]), []
    for reading, nodes in zip(marked["reading"], marked["nodes"], strict=True):
        # a mark is of a node on the correct path (SearChain §4.3.4); adjacent ones,
        # such as [1][2], mark one item, and those of no passage do not count (ours)
        passages = {node.mark for node in nodes if node.mark and node.passage}
        counts.append(
            sum(not passages.isdisjoint(marks) for marks in citations(reading))
        )
    yield "unspecified", WHOLE, "skc", (fmean(counts), len(counts))
    # AMP: in SearChain §4.3.4 three people judge, here a program that knows the facts
    facts = {dataset: find_facts(p, dataset) for dataset in datasets}
    if all(facts.values()):
        every = p.change(datasets=datasets, judged=len(marked))
        items = read_references(every, EXPERIMENT, [WHOLE])
        marks = [
            (item, n, facts[item.dataset]) for item in items for n in range(item.facts)
        ]
        right = [judge_reference(*mark) == "true" for mark in marks]
        yield "unspecified", WHOLE, "amp", pd.Series(right, dtype=float)


def count_words(outcome: Outcome) -> dict[str, int]:
    """The words that the model reads and writes, and the rounds of retrieval, for a
    question (#n, #m, #r of SearChain §4.3.5). A round is all retrieval before the model
    writes again.
    """
    counts, retrieving = {"words_in": 0, "words_out": 0, "rounds": 0}, False
    for request, reply in ((step.request, step.reply) for step in outcome.trace):
        if isinstance(request, Retrieve):
            counts["rounds"] += not retrieving
            retrieving = True
        elif isinstance(request, Generate | Sample):
            prompt, retrieving = request.prompt, False
            read = (
                [prompt] if isinstance(prompt, str) else [part.text for part in prompt]
            )
            wrote = (
                [reply] if isinstance(reply, str) else [sample.text for sample in reply]
            )
            counts["words_in"] += sum(len(text.split()) for text in read)
            counts["words_out"] += sum(len(text.split()) for text in wrote)
    return counts


def measure_efficiency(p: Parameters, scores: pd.DataFrame) -> Iterator[Row]:
    """Words and rounds of retrieval per question, on the first data set, from replayed
    runs, and the mean of Table 1 (Table 6). Differs from the paper: no seconds, which
    are the model's.
    """
    answered = {row[:2]: 100 * row[3].mean() for row in measure_answers(scores)}
    folders = find_test_runs(p, EXPERIMENT)
    for system in _systems("Table 6", folders, p.datasets[0]):
        outcomes = replay(folders[p.datasets[0], system]).values()
        for metric, value in pd.DataFrame(map(count_words, outcomes)).mean().items():
            yield "unspecified", system, metric, (value, None)
        mean = fmean(answered[name, system] for name in p.datasets)
        yield "all", system, "average", (mean, None)


def measure_conflicts(runs: Runs, p: Parameters) -> Iterator[Row]:
    """How retrieval helps and harms a model that knows the answer or does not (Table
    8): how often the best passage has a gold answer (ours: the paper does not say how
    it judges that), and the accuracy, on data sets whose pages can hold an answer: not
    "yes", or a whole text.
    """
    for dataset in p.datasets:
        kinds = find_dataset(dataset).scores
        asked = {(dataset, KNEW), (dataset, ONE_RETRIEVAL)} <= runs.keys()
        if not asked or COVER_EM not in kinds or "accuracy" in kinds:
            continue
        alone, with_ir = runs[dataset, KNEW]["right"], runs[dataset, ONE_RETRIEVAL]
        find = open_corpus(p, dataset)[2].find
        best = [
            "".join(find(id).text for id in ids[:1]) for ids in with_ir["collected"]
        ]
        best = [cover_em(*of) == 1 for of in zip(best, with_ir["answers"], strict=True)]
        best = pd.Series(best, with_ir.index)
        # S_t and S_f: the questions that the model alone answers right and wrong
        # (SearChain A.2.2)
        for side, ids in (
            ("right", alone.index[alone]),
            ("wrong", alone.index[~alone]),
        ):
            accuracy = f"accuracy_where_llm_{side}"
            yield dataset, "retriever", f"top1_where_llm_{side}", best[ids]
            yield dataset, "LLM", accuracy, (100.0 * (side == "right"), len(ids))
            yield dataset, "LLM w/ IR", accuracy, with_ir["right"][ids]


def count_examples(setups: Sequence[Setup], systems: Sequence[System]) -> Iterator[Row]:
    """How many examples prompts show: those of the stage that shows most (Table 11)."""
    for setup, system in product(setups, systems):
        prompts = [setup.prompt(stage, system=system) for stage in system.stages]
        most = max((len(prompt.demonstrations) for prompt in prompts), default=0)
        yield setup.dataset.name, system.name, "demonstrations", (most, None)


def measure_searchain(
    scores: pd.DataFrame,
    runs: Runs,
    forms: pd.DataFrame,
    other: pd.DataFrame,
    alphas: pd.DataFrame,
) -> pd.DataFrame:
    """The values that SearChain's claims compare (`judge_claims`): of the head to head,
    of forms of knowledge (`compare_forms`), of a second model (`other`) and of
    thresholds of ROUGE (`alphas`).
    """
    tables = []
    for table, measured in ((scores, "scores"), (other, "scores of the second model")):
        tables.append(values_of(table.assign(metric=first_measures), measured))
    effects, steps = [*measure_effects(runs)], [*measure_steps(runs)]
    rows = [(row[2], *row) for row in (*effects, *steps, *measure_answers(alphas))]
    without = {row[0]: row[3] for row in effects if row[1:3] == (ALONE, COVER_EM)}
    for dataset, of in (
        (row[0], row[3]) for row in effects if row[1:3] == (ALONE, HELPED)
    ):
        rows.append(("w/o IR", dataset, "where IR helps", COVER_EM, of))
        rows.append(
            ("w/o IR", dataset, "elsewhere", COVER_EM, without[dataset].drop(of.index))
        )
    for kind, *_, metric, of in (row for row in steps if row[1] == ALONE):
        rows.append(("steps by hops", "musique", kind, metric, of))
    for dataset in _datasets("Table 2", runs, WHOLE):
        known = runs[dataset, WHOLE]["nodes"].map(knowledge_of)
        own = known[known.map(bool)].map(lambda kinds: kinds.count("") / len(kinds))
        rows.append(
            ("own knowledge", dataset, "the model's own", "knowledge_of_llm", own)
        )
        rows.append(
            ("own knowledge", dataset, "half", "knowledge_of_llm", own * 0 + 0.5)
        )
        rows.append(
            (
                "own knowledge by data set",
                "strategyqa",
                dataset,
                "knowledge_of_llm",
                own,
            )
        )
    for i, of in forms[forms["panel"] == "a"].set_index("id").groupby("i")["right"]:
        rows.append(("knowledge", "musique", f"last {i} by heart", COVER_EM, of))
    some = forms[forms["i"] < forms["hops"]].set_index(["id", "i", "panel"])["right"]
    # the i of one are no sample
    both = some.astype(float).unstack().dropna().groupby("id").mean()
    names = {"a": "knowledge in the prompt", "b": "sub-questions alone"}
    rows += [("knowledge", "musique", names[of], COVER_EM, both[of]) for of in both]
    for measured, dataset, side, metric, of in rows:
        value = SCALES.get(metric, 100) * of.to_numpy(float)
        named = measured, dataset, scores["model"].iloc[0], dataset, side, metric
        about = dict(zip(VALUES, named))
        tables.append(pd.DataFrame({"id": of.index, "value": value}).assign(**about))
    return pd.concat(tables, ignore_index=True)
