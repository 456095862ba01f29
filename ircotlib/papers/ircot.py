"""IRCoT's tables with our numbers, its Tables 2 and 5, and the values that its claims
compare.
"""

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import pandas as pd

from ircotlib.annotate.factuality import chain_of, list_judged, read_items
from ircotlib.annotate.judgements import judge_all
from ircotlib.data import Paragraph, Question
from ircotlib.experiment.laboratory import find_facts
from ircotlib.experiment.setup import both_models, change_model, open_corpus
from ircotlib.experiment.stored import read_predictions
from ircotlib.files import REPORTED_CASES
from ircotlib.papers.claims import values_of
from ircotlib.parameters import OOD, SCALE, Parameters
from ircotlib.prompting.prompt import GPT3
from ircotlib.results.runs import (
    beside,
    find_runs,
    has_runs,
    in_order,
    read_reported,
    read_runs,
)
from ircotlib.results.statistics import summarise
from ircotlib.systems import RECALL, all_systems
from ircotlib.text import sentences

ALL = "all"
DIGITS = 1  # of a number in the paper
# data sets of data/reported.csv that are one kind of the questions of one of ours
KINDS = {"hotpotqa_bridge": ("hotpotqa", "bridge"), "musique_2hop": ("musique", "2hop")}
# in the order of the columns of Tables 2 and 5
SYSTEMS = ("NoR QA", "OneR QA", "IRCoT QA")
RANKS = {"Table 2": 0, "Table 5": 1}  # of the question shown, from 0
CASE = [
    *("dataset", "id", "question", "gold answer", "gold paragraphs", "system"),
    *("retrieved", "chain", "answer", "recall", "score"),
]


def compare_published(runs: pd.DataFrame, source: str) -> pd.DataFrame:
    """EM and F1, in percent, of the systems in IRCoT's Table 1 or 3 (`source`), next to
    ours on the same kinds of question, with our model. Our systems that the table does
    not have come last.
    """
    keys = ["dataset", "questions", "system"]
    papers = read_reported(source=source)
    papers["metric"] = "paper " + papers["metric"].str.upper()
    # HpQABr and MQ2H are one kind of the questions of HotpotQA and MuSiQue (Table 1)
    kinds = [KINDS.get(name, (name, ALL)) for name in papers["dataset"]]
    papers[["dataset", "questions"]] = pd.DataFrame(kinds, index=papers.index)
    papers = papers.set_index([*keys, "name", "model", "metric"])["value"]
    papers, answers = _on_the_same(papers.unstack(sort=False).reset_index(), runs)
    of_kinds = answers.assign(questions=answers["kind"])
    answers = pd.concat([answers.assign(questions=ALL), of_kinds])
    answers = answers.merge(papers[["dataset", "questions"]].drop_duplicates())
    em = summarise(answers.assign(metric="em"), keys, DIGITS)
    f1 = summarise(answers.assign(metric="f1"), keys, DIGITS)
    models = answers.groupby("system")["model"].first()
    ours = em[[*keys, "n"]].assign(**{"ours EM": em["mean"], "ours F1": f1["mean"]})
    ours["our model"] = ours["system"].map(models.map(lambda name: Path(name).name))
    table = beside(papers, ours, keys, rest=True)
    table["all last"] = table["questions"] == ALL
    table = table.sort_values("all last", kind="stable")
    sides = product(("paper", "ours", "difference"), ("EM", "F1"))
    values = [f"{side} {metric}" for side, metric in sides]
    return _finish(table, [*keys, "model", "our model", *values, "n"], runs)


def compare_readers(runs: pd.DataFrame, source: str) -> pd.DataFrame:
    """Answer F1, with sample deviations over demonstration sets: the values of IRCoT's
    Table 4 or 6 (`source`), next to ours with the same reader or none, of a model
    prompted in the same style.
    """
    keys = ["dataset", "system", "reader", "model"]
    papers, answers = _on_the_same(read_reported(source=source, metric="f1"), runs)
    papers = papers.assign(paper=papers["value"])
    papers = papers.rename(columns={"deviation": "paper deviation", "note": "reader"})
    # "w/o reader" takes the answer from the chain (App. F), and has no reader here
    read = answers["system"].isin([s.name for s in all_systems().values() if s.reads])
    is_gpt3 = answers["style"] == GPT3.name
    answers = answers.assign(
        metric="f1",
        reader=answers["reader"].where(read),
        model=is_gpt3.map({True: "GPT3", False: "Flan-T5-XXL"}),
    )
    ours = summarise(answers, keys, DIGITS)
    ours = ours.rename(columns={"mean": "ours", "deviation": "ours deviation"})
    shown = "demonstrations_shown"
    ours = ours.reindex(columns=[*keys, "ours", "ours deviation", shown, "n"])
    columns = [*keys, "paper", "paper deviation", "ours", "ours deviation", shown]
    table = _finish(beside(papers, ours, keys), [*columns, "difference", "n"], runs)
    return table.rename(columns={"model": "prompted as"})


def _on_the_same(
    papers: pd.DataFrame, runs: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The paper's rows and our runs that answer, on the data sets that both have."""
    answers = runs[(runs["metric"] != RECALL) & runs["dataset"].isin(papers["dataset"])]
    return papers[papers["dataset"].isin(runs["dataset"])], answers


def _finish(
    table: pd.DataFrame, columns: list[str], runs: pd.DataFrame
) -> pd.DataFrame:
    """These columns, with the differences of what is printed."""
    for column in columns:
        if column.startswith("difference"):
            ours = table[column.replace("difference", "ours")]
            paper = table[column.replace("difference", "paper")]
            table[column] = (ours - paper).round(DIGITS)
    return in_order(table[columns], "dataset", runs["dataset"]).astype({"n": "Int64"})


def read_compared(p: Parameters) -> pd.DataFrame:
    """The predictions of the three systems of IRCoT's Tables 2 and 5."""
    p = p.change(datasets=p.out_of_distribution().datasets)  # these have no IIRC, too
    tables = [
        read_predictions(folder)
        for folder, about in find_runs(p, "04_ircot").items()
        if about["system"] in SYSTEMS and not about["setting"].get("demonstration_set")
    ]
    return pd.concat(tables, ignore_index=True)


def rank_late_errors(rows: pd.DataFrame) -> list[str]:
    """The ids of a data set's questions that best show IRCoT's Tables 2 and 5, the best
    first (ours): IRCoT QA is right, with all gold paragraphs, and the other two are
    wrong.
    """
    # NoR errs at once, OneR late, IRCoT not (captions of IRCoT Tables 2 and 5)
    nor, oner, ircot = (
        rows[rows["system"] == name].set_index("id") for name in SYSTEMS
    )
    wins = ircot["right"] & (ircot["recall"] == 1) & ~oner["right"] & ~nor["right"]

    def order(id: str) -> tuple:
        ours = ircot.loc[id]
        other = oner.loc[id]
        errs_late = bool(other["gold_found"])  # it found a gold paragraph
        gains = (ours[name] - other[name] for name in ("recall", ours["metric"]))
        chain = sentences(chain_of(ours["reading"], ours["thoughts"], ours["reader"]))
        return (not errs_late, *(-gain for gain in gains), -len(chain), id)

    return sorted(wins.index[wins], key=order)


def show_cases(compared: pd.DataFrame, p: Parameters, source: str) -> pd.DataFrame:
    """IRCoT's Table 2 or 5 (`source`), one question per data set, one row per system:
    queries with the titles found (gold: a star), chain, answer, recall, score, and the
    paper's case.
    """
    rows = []
    for dataset, of_dataset in compared.groupby("dataset", sort=False):
        find = open_corpus(p, dataset)[2].find
        for id in rank_late_errors(of_dataset)[RANKS[source] :][:1]:
            answers = of_dataset[of_dataset["id"] == id]
            by_system = answers.set_index("system", drop=False).loc[[*SYSTEMS]]
            gold = by_system.at["IRCoT QA", "gold_found"]  # it found all
            for row in by_system.to_dict("records"):
                chain = chain_of(row["reading"], row["thoughts"], row["reader"])
                case = {
                    "gold answer": row["answers"][0],
                    "gold paragraphs": " · ".join(find(id).title for id in gold),
                    "retrieved": _show_trace(row, gold, find),
                    "chain": chain,
                    "recall": round(100 * row["recall"], 1),
                    "score": round(100 * row[row["metric"]], 1),
                }
                rows.append(row | case)
    papers = pd.read_csv(REPORTED_CASES, dtype=object, keep_default_na=False)
    papers = papers[papers["source"] == source].drop(columns="source")
    table = pd.DataFrame(rows, columns=CASE)
    table = table.astype({"dataset": object, "system": object})
    return beside(table, papers, ["dataset", "system"])


def _show_trace(
    row: dict, gold: Sequence[str], find: Callable[[str], Paragraph]
) -> str:
    lines = []
    for step in row["trace"]:
        if "retrieve" in step:
            is_first = step["retrieve"] == row["question"]
            query = "the question" if is_first else f"“{step['retrieve']}”"
            titles = [find(id).title + " ★" * (id in gold) for id in step["found"]]
            lines.append(f"{query} → {' · '.join(titles) or 'nothing'}")
    return "\n".join(lines)


def read_ircot(p: Parameters) -> tuple[pd.DataFrame, list[str]]:
    """The runs that IRCoT's claims are about, in one table, and the commands that make
    those that are missing. At least those of 04_ircot must exist.
    """
    tables = [read_runs(p, "04_ircot").assign(experiment="04_ircot")]
    missing: dict[str, str] = {}

    def add(experiment: str, p: Parameters, **options: str) -> None:
        try:
            runs = read_runs(p, experiment, **options)
            tables.append(runs.assign(experiment=experiment))
        except FileNotFoundError as error:
            missing.setdefault(experiment, str(error))

    _, *second = both_models(p)
    for each in (*second, p.other_reader()):
        add("04_ircot", each)
    datasets = [name for name in p.datasets if name != "iirc"]  # of Figures 5 to 9
    if datasets:
        for model in p.models:
            of_model = change_model(p, model).change(datasets=datasets)
            add("06_scale", of_model, grid_of=SCALE)
        for each, shown in product((p, *second), datasets):
            add("07_ood", each.out_of_distribution(), shown=shown, grid_of=OOD)
    return pd.concat(tables, ignore_index=True), [*missing.values()]


def measure_ircot(p: Parameters, runs: pd.DataFrame) -> pd.DataFrame:
    """The values that IRCoT's claims compare (`list_comparisons`), of `read_ircot`."""
    main = runs[runs["experiment"] == "04_ircot"]
    sizes = runs[runs["experiment"] == "06_scale"]
    other = runs[runs["experiment"] == "07_ood"]
    own = main[main["model"] == p.model]
    is_reader = own["reader"] == p.reader
    style = "GPT3" if p.style == GPT3.name else "Flan-T5-XXL"
    second_reader = p.other_reader().reader
    # only runs that showed demonstrations; unknown for those that only retrieve
    shown = ~(other["demonstrations_shown"].astype(float) < 1)
    elsewhere = other["dataset"] != other["demonstrations"]
    smallest = [*sizes[sizes["style"] == p.style]["model"].unique()][:1]
    tables = {
        "scores": own[is_reader],
        "scores of both models": main[main["reader"] == p.reader],
        f"scores with the {second_reader} reader": own[~is_reader],
        f"both readers, prompted as {style}": own.assign(
            system=own["system"] + ": " + own["reader"]
        ),
        "chains without an error": judge_chains(p),
        "other demonstrations": other[shown & elsewhere],
        "sizes": sizes,
        "sizes but the smallest": sizes[~sizes["model"].isin(smallest)],
    }
    return pd.concat([values_of(table, measured) for measured, table in tables.items()])


def judge_chains(p: Parameters) -> pd.DataFrame:
    """Whether each chain of a reader that writes some is without factual errors, as the
    judge of the laboratory sees it, with both models (IRCoT Figure 7); no rows where no
    facts are known.
    """
    facts = {name: find_facts(p, name) for name in p.datasets}
    known = {name: judge for name, judge in facts.items() if judge}

    def judge(sentence: str, question: Question) -> str:
        return known[question.dataset].judge(sentence, question)

    tables = [list_judged((), {}).assign(model="")]
    for each in both_models(p if p.reader == "cot" else p.other_reader()):
        if has_runs(each, "04_ircot"):
            items = [item for item in read_items(each) if item.dataset in known]
            verdicts = judge_all(items, judge)
            tables.append(list_judged(items, verdicts).assign(model=each.model))
    chains = pd.concat(tables)
    return chains.assign(demonstrations=chains["dataset"])
