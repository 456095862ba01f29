"""IRCoT's tables with our numbers, its Tables 2 and 5, and the values that its claims
compare.
"""

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import pandas as pd

from ircotlib.annotate.factuality import chain_of, list_judged, read_items
from ircotlib.annotate.judgements import judge_all
from ircotlib.data import Paragraph
from ircotlib.experiment.laboratory import find_facts
from ircotlib.experiment.runs import read_predictions
from ircotlib.experiment.setup import both_models, open_corpus, runs_folder
from ircotlib.files import REPORTED_CASES
from ircotlib.papers.claims import values_of
from ircotlib.parameters import OOD, SCALE, Parameters
from ircotlib.prompting.prompt import GPT3
from ircotlib.results.head_to_head import EXPERIMENT, for_head_to_head
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
# data sets of data/reported.csv that are the questions of one kind in one of our data
# sets
KINDS = {"hotpotqa_bridge": ("hotpotqa", "bridge"), "musique_2hop": ("musique", "2hop")}
# in the order of the columns of Tables 2 and 5
SYSTEMS = ("NoR QA", "OneR QA", "IRCoT QA")
RANKS = {"Table 2": 0, "Table 5": 1}  # of the question shown, from 0
CASE = [
    "dataset",
    "id",
    "question",
    "gold answer",
    "gold paragraphs",
    "system",
    "retrieved",
]
CASE += ["chain", "answer", "recall", "score"]


def compare_published(runs: pd.DataFrame, source: str) -> pd.DataFrame:
    """EM and F1, in percent, of the systems in IRCoT's Table 1 or 3 (`source`), next to
    ours on the same kinds of question, with our model. Our systems that the table does
    not have come last.
    """
    keys = ["dataset", "questions", "system"]
    papers = read_reported(source=source)
    papers["metric"] = "paper " + papers["metric"].str.upper()
    # HpQABr and MQ2H are one kind of the questions of HotpotQA and MuSiQue (IRCoT Table
    # 1)
    kinds = [KINDS.get(name, (name, ALL)) for name in papers["dataset"]]
    papers[["dataset", "questions"]] = pd.DataFrame(kinds, index=papers.index)
    papers = papers.set_index([*keys, "name", "model", "metric"])["value"].unstack(
        sort=False
    )
    papers, answers = _on_the_same(papers.reset_index(), runs)
    answers = pd.concat(
        [answers.assign(questions=ALL), answers.assign(questions=answers["kind"])]
    )
    answers = answers.merge(papers[["dataset", "questions"]].drop_duplicates())
    em, f1 = (summarise(answers.assign(metric=metric), keys) for metric in ("em", "f1"))
    models = (
        answers.groupby("system")["model"].first().map(lambda name: Path(name).name)
    )
    ours = {
        "ours EM": em["mean"],
        "ours F1": f1["mean"],
        "our model": em["system"].map(models),
    }
    table = beside(papers, em[[*keys, "n"]].assign(**ours), keys, rest=True)
    table = table.sort_values(
        "questions", key=lambda kinds: kinds == ALL, kind="stable"
    )
    columns = [
        f"{of} {m}" for of in ("paper", "ours", "difference") for m in ("EM", "F1")
    ]
    return _finish(table, [*keys, "model", "our model", *columns, "n"], runs)


def compare_readers(runs: pd.DataFrame, source: str) -> pd.DataFrame:
    """Answer F1, with sample deviations over demonstration sets: the values of IRCoT's
    Table 4 or 6 (`source`), next to ours with the same reader or none, of a model
    prompted in the same style.
    """
    keys = ["dataset", "system", "reader", "model"]
    papers, answers = _on_the_same(read_reported(source=source, metric="f1"), runs)
    papers = papers.rename(columns={"deviation": "paper deviation", "note": "reader"})
    # "w/o reader" takes the answer from the chain (IRCoT App. F), and so has no reader
    # here
    reading = answers["system"].isin(
        [s.name for s in all_systems().values() if s.reads]
    )
    theirs = answers["style"].eq(GPT3.name).map({True: "GPT3", False: "Flan-T5-XXL"})
    answers = answers.assign(
        metric="f1", reader=answers["reader"].where(reading), model=theirs
    )
    ours = summarise(answers, keys).rename(
        columns={"mean": "ours", "deviation": "ours deviation"}
    )
    ours = ours.reindex(
        columns=[*keys, "ours", "ours deviation", "demonstrations_shown", "n"]
    )
    columns = [*keys, "paper", "paper deviation", "ours", "ours deviation"]
    columns += ["demonstrations_shown", "difference", "n"]
    return _finish(
        beside(papers.assign(paper=papers["value"]), ours, keys), columns, runs
    )


def _on_the_same(
    papers: pd.DataFrame, runs: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The paper's rows and our answers to questions, on the data sets that both have."""
    answers = runs[(runs["metric"] != RECALL) & runs["dataset"].isin(papers["dataset"])]
    return papers[papers["dataset"].isin(runs["dataset"])], answers


def _finish(
    table: pd.DataFrame, columns: list[str], runs: pd.DataFrame
) -> pd.DataFrame:
    """These columns, rounded as the paper prints them, with the differences of what is
    printed.
    """
    table = table.round(1)
    for column in (name for name in columns if name.startswith("difference")):
        ours, paper = (
            table[column.replace("difference", side)] for side in ("ours", "paper")
        )
        table[column] = (ours - paper).round(1)
    return in_order(table[columns], "dataset", runs["dataset"]).astype({"n": "Int64"})


def read_compared(p: Parameters) -> pd.DataFrame:
    """What the three systems of IRCoT's Tables 2 and 5 answered, from
    `read_predictions`.
    """
    # as in the paper
    p = p.change(datasets=[name for name in p.datasets if name != "iirc"])
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
        # a gold paragraph that OneR QA found, so that its error comes late; gains; the
        # chain
        row, other = ircot.loc[id], oner.loc[id]
        gains = (other[name] - row[name] for name in ("recall", row["metric"]))
        chain = sentences(chain_of(row["reading"], row["thoughts"], row["reader"]))
        return not other["gold_found"], *gains, -len(chain), id

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
            by_system = of_dataset[of_dataset["id"] == id].set_index(
                "system", drop=False
            )
            gold = by_system.at["IRCoT QA", "gold_found"]
            for row in by_system.loc[[*SYSTEMS]].to_dict("records"):
                row |= {
                    "gold answer": row["answers"][0],
                    "retrieved": _show_trace(row, gold, find),
                }
                row |= {"gold paragraphs": " · ".join(find(id).title for id in gold)}
                row |= {
                    "chain": chain_of(row["reading"], row["thoughts"], row["reader"])
                }
                row |= {"score": round(100 * row[row["metric"]], 1)}
                rows.append(row | {"recall": round(100 * row["recall"], 1)})
    papers = pd.read_csv(REPORTED_CASES, dtype=object, keep_default_na=False)
    papers = papers[papers["source"] == source].drop(columns="source")
    table = pd.DataFrame(rows, columns=CASE).astype(
        {"dataset": object, "system": object}
    )
    return beside(table, papers, ["dataset", "system"])


def _show_trace(
    row: dict, gold: Sequence[str], find: Callable[[str], Paragraph]
) -> str:
    retrieved = []
    for step in (step for step in row["trace"] if "retrieve" in step):
        query = step["retrieve"]
        query = "the question" if query == row["question"] else f"“{query}”"
        titles = [find(id).title + " ★" * (id in gold) for id in step["found"]]
        retrieved.append(f"{query} → {' · '.join(titles) or 'nothing'}")
    return "\n".join(retrieved)


def read_ircot(p: Parameters) -> tuple[pd.DataFrame, list[str]]:
    """The runs that IRCoT's claims are about, in one table, and the commands that make
    those that are missing. At least those of 04_ircot must exist.
    """
    _, *second = both_models(p)
    tables = [read_runs(p, "04_ircot").assign(experiment="04_ircot")]
    wanted = [("04_ircot", one, {}) for one in (*second, p.other_reader())]
    # in Figures 5, 6, 8, 9 and Table 1
    three = [name for name in p.datasets if name != "iirc"]
    for one in (p.change(model=name, datasets=three) for name in p.models if three):
        styles = (one, one.change(style=GPT3.name))  # in whichever it was prompted
        made = [s for s in styles if runs_folder(s, "06_scale", grid_of=SCALE).is_dir()]
        wanted.append(("06_scale", (made or styles)[0], {"grid_of": SCALE}))
    for one, shown in product((p, *second), three):
        wanted.append(
            ("07_ood", one.out_of_distribution(), {"shown": shown, "grid_of": OOD})
        )
    if three:
        wanted.append((EXPERIMENT, for_head_to_head(p).change(datasets=three), {}))
    missing = {}
    for experiment, one, options in wanted:
        try:
            runs = read_runs(one, experiment, **options)
            tables.append(runs.assign(experiment=experiment))
        except FileNotFoundError as error:
            missing.setdefault(experiment, str(error))
    return pd.concat(tables, ignore_index=True), [*missing.values()]


def measure_ircot(p: Parameters, runs: pd.DataFrame) -> pd.DataFrame:
    """The values that IRCoT's claims compare (`judge_claims`); `runs`: from
    `read_ircot`.
    """
    names = "04_ircot", "06_scale", "07_ood", EXPERIMENT
    main, sizes, other, published = (runs[runs["experiment"] == name] for name in names)
    own = main[main["model"] == p.model]
    style = "GPT3" if p.style == GPT3.name else "Flan-T5-XXL"
    readers = own.assign(system=own["system"] + ": " + own["reader"])
    # with other demonstrations only runs that showed some; unknown for those that only
    # retrieve
    shown = ~(other["demonstrations_shown"].astype(float) < 1)
    tables = {
        "scores": own[own["reader"] == p.reader],
        "scores of both models": main[main["reader"] == p.reader],
        f"scores with the {p.other_reader().reader} reader": own[
            own["reader"] != p.reader
        ],
        f"both readers, prompted as {style}": readers,
        "chains without an error": judge_chains(p),
        "other demonstrations": other[
            shown & (other["dataset"] != other["demonstrations"])
        ],
        "published systems": list_published(published),
        "sizes": sizes,
    }
    # from small to large
    models = [*sizes[sizes["style"] == p.style]["model"].unique()]
    tables["sizes but the smallest"] = sizes[~sizes["model"].isin(models[:1])]
    if len(models) > 1:
        smallest, smaller, largest = models[0], *models[-2:]
        of_two = sizes["system"].eq("IRCoT QA").map({True: smaller, False: largest})
        two = sizes[sizes["model"] == of_two].assign(
            model=f"{smaller} against {largest}"
        )
        tables["IRCoT QA with the smaller of two models"] = two
        ends = sizes["model"].map({largest: ", largest", smallest: ", smallest"})
        of_ends = sizes.assign(
            system=sizes["system"] + ends, model=f"{largest} against {smallest}"
        )
        tables["largest and smallest model"] = of_ends[ends.notna()]
    return pd.concat([values_of(table, measured) for measured, table in tables.items()])


def judge_chains(p: Parameters) -> pd.DataFrame:
    """Whether each chain of a reader that writes some is without factual errors, as the
    judge of the laboratory sees it, with both models (IRCoT Figure 7); no rows where no
    facts are known.
    """
    facts = {dataset: find_facts(p, dataset) for dataset in p.datasets}
    tables = [list_judged((), {}).assign(model="")]
    for one in both_models(p if p.reader == "cot" else p.other_reader()):
        if has_runs(one, "04_ircot"):
            items = [item for item in read_items(one) if facts[item.dataset]]
            judged = judge_all(
                items, lambda said, asked: facts[asked.dataset].judge(said, asked)
            )
            tables.append(list_judged(items, judged).assign(model=one.model))
    chains = pd.concat(tables)
    return chains.assign(demonstrations=chains["dataset"])


def list_published(runs: pd.DataFrame) -> pd.DataFrame:
    """The head to head, by the measures and on the questions for which IRCoT's Table 1
    prints a number of a system. A side is a system and a measure, such as "DecomP: f1".
    """
    tables = [runs[:0]]
    for row in read_reported(source="Table 1").itertuples():
        dataset, kind = KINDS.get(row.dataset, (row.dataset, ALL))
        of = runs[(runs["dataset"] == dataset) & (runs["system"] == row.name)]
        of = of[(of["kind"] == kind) | (kind == ALL)]
        named = {"dataset": row.dataset, "metric": row.metric}
        tables.append(of.assign(system=f"{row.name}: {row.metric}", **named))
    return pd.concat(tables)
