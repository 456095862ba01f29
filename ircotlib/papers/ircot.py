"""IRCoT's tables with our numbers, and the values that its claims compare. Tables 2 and
5, which show single questions, are not made: 09_explorer shows any.
"""

from itertools import product
from pathlib import Path

import pandas as pd

from ircotlib.annotate.factuality import list_judged, read_items
from ircotlib.annotate.judgements import judge_all
from ircotlib.data import Question
from ircotlib.experiment.laboratory import find_facts
from ircotlib.experiment.setup import both_models, change_model
from ircotlib.papers.claims import values_of
from ircotlib.parameters import OOD, SCALE, Parameters
from ircotlib.prompting.prompt import GPT3
from ircotlib.results.runs import (
    beside,
    find_runs,
    in_order,
    read_reported,
    read_runs,
)
from ircotlib.results.statistics import summarise
from ircotlib.systems import RECALL, all_systems

ALL = "all"
DIGITS = 1  # of a number in the paper
# data sets of data/reported.csv that are one kind of the questions of one of ours
KINDS = {"hotpotqa_bridge": ("hotpotqa", "bridge"), "musique_2hop": ("musique", "2hop")}


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
    for metric in ("EM", "F1"):
        gain = table[f"ours {metric}"] - table[f"paper {metric}"]
        table[f"difference {metric}"] = gain.round(DIGITS)
    table = table[[*keys, "model", "our model", *values, "n"]]
    return in_order(table, "dataset", runs["dataset"]).astype({"n": "Int64"})


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
    table = beside(papers, ours, keys)
    table["difference"] = (table["ours"] - table["paper"]).round(DIGITS)
    columns = [*keys, "paper", "paper deviation", "ours", "ours deviation", shown]
    table = table[[*columns, "difference", "n"]].rename(
        columns={"model": "prompted as"}
    )
    return in_order(table, "dataset", runs["dataset"]).astype({"n": "Int64"})


def _on_the_same(
    papers: pd.DataFrame, runs: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The paper's rows and our runs that answer, on the data sets that both have."""
    answers = runs[(runs["metric"] != RECALL) & runs["dataset"].isin(papers["dataset"])]
    return papers[papers["dataset"].isin(runs["dataset"])], answers


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
        try:
            find_runs(each, "04_ircot")
        except FileNotFoundError:  # `read_ircot` names them
            continue
        items = [item for item in read_items(each) if item.dataset in known]
        verdicts = judge_all(items, judge)
        tables.append(list_judged(items, verdicts).assign(model=each.model))
    chains = pd.concat(tables)
    return chains.assign(demonstrations=chains["dataset"])
