"""The papers' numbers, as data/reported.csv has them, and tables with ours beside them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from ircotlib.datasets import all_datasets
from ircotlib.files.kept import kept_until_changed
from ircotlib.files.paths import REPORTED
from ircotlib.files.tables import Number, read_table
from ircotlib.results.runs import in_order
from ircotlib.results.statistics import mean_interval, summarise
from ircotlib.systems import RECALL, all_systems

KEYS = ["dataset", "system", "metric"]
NAMED = ["paper", "source", *KEYS, "model", "note"]  # name a row of data/reported.csv
REPORTS = dict.fromkeys(NAMED) | {"value": Number(0), "deviation": Number(0, empty=float("nan"))}
ALL = "all"
# data sets of data/reported.csv that are the questions of one kind in one of our data sets
KINDS = {"hotpotqa_bridge": ("hotpotqa", "bridge"), "musique_2hop": ("musique", "2hop")}
COLUMNS = "profile dataset model system metric mean low high deviation".split()
COLUMNS += ["demonstrations_shown", "n", "reported"]
# columns of SearChain's tables; the last two, the 95% interval of ours, only of means of questions
TABLE = [*KEYS, "model", "paper", "ours", "difference", "n", "low", "high"]


def read_reported(paper: str = "ircot", **wanted: str) -> pd.DataFrame:
    """The rows of data/reported.csv like `wanted`, with our name of each system in `name`."""
    table = _read(REPORTED)
    for column, value in {"paper": paper, **wanted}.items():
        table = table[table[column] == value]
    names = {
        theirs: name for name, system in all_systems().items() for theirs in system.reported_names
    }
    return table.assign(name=table["system"].replace(names))


@kept_until_changed(lambda path: [path])
def _read(path: Path) -> pd.DataFrame:
    """The whole table, read once: claims ask for hundreds of its rows, one by one."""
    table = pd.DataFrame(read_table(path, REPORTS, NAMED))
    return table.mask(table == "")  # an empty cell is a missing value


def beside(
    rows: pd.DataFrame, others: pd.DataFrame, on: Sequence[str] = KEYS, rest: bool = False
) -> pd.DataFrame:
    """A table with the columns of another one beside it, where both have the same in the columns
    `on`. A system of the paper is the one of ours in its column `name`. Of several such rows of
    `others` the first counts. `rest`: the rows of `others` that have no partner come last.
    """
    rows, others = (t if "name" in t else t.assign(name=t["system"]) for t in (rows, others))
    keys = ["name" if column == "system" else column for column in on]
    others = others.drop_duplicates(keys).astype(dict.fromkeys(keys, object))  # also if empty
    table = rows.merge(others.drop(columns="system"), on=keys, how="left")
    if rest:
        alone = ~others.set_index(keys).index.isin(rows.set_index(keys).index)
        table = pd.concat([table, others[alone]], ignore_index=True)
    return table.drop(columns="name")


def with_reported(
    ours: pd.DataFrame,
    reported: pd.DataFrame,
    model: str = "Flan-T5-XXL",
    others: Mapping[str, str] = MappingProxyType({}),
) -> pd.DataFrame:
    """Our means, with the paper's value of a model in `reported`, and then the paper's own rows.
    `others`: those of our models beside which stands another model of the paper's.
    """
    papers = reported.assign(profile="paper", reported=reported["value"])
    theirs = papers.assign(theirs=papers["model"])[[*KEYS, "name", "theirs", "reported"]]
    ours = ours.assign(theirs=[others.get(name, model) for name in ours["model"]])
    table = pd.concat([beside(ours, theirs, [*KEYS, "theirs"]), papers], ignore_index=True)
    return table.reindex(columns=COLUMNS).astype({"n": "Int64"})


def declare(*sources: str) -> Callable:
    """Declare a table of SearChain's paper by a function that yields our rows (`rows_of`): the
    numbers of `sources` in their order, with ours and the difference; then those of ours alone.
    Numbers on data sets that are not here are left out (NaturalQuestions and others of Table 8).
    """

    def declare_rows(yield_ours: Callable[..., Iterator[dict]]) -> Callable[..., pd.DataFrame]:
        @wraps(yield_ours)
        def make_table(*arguments) -> pd.DataFrame:
            papers = pd.concat([read_reported("searchain", source=source) for source in sources])
            here = {*all_datasets(), "all", "unspecified"}
            papers = papers[papers["dataset"].str.partition("_")[0].isin(here)]
            papers = papers.assign(paper=papers["value"])[[*KEYS, "name", "model", "paper"]]
            ours = pd.DataFrame(yield_ours(*arguments), columns=[*KEYS, "ours", "n", "low", "high"])
            table = beside(papers, ours.sort_values(KEYS), rest=True)
            table = table.assign(difference=table["ours"] - table["paper"])
            table = table[TABLE].round(3).astype({"n": "Int64"})
            return table.drop(columns=["low", "high"]) if table["low"].isna().all() else table

        return make_table

    return declare_rows


def rows_of(dataset: str, system: str, n: int | None = None, **values: float) -> Iterator[dict]:
    """Rows of ours, one for each value, which has the name of its metric."""
    for metric, value in values.items():
        yield {"dataset": dataset, "system": system, "metric": metric, "ours": value, "n": n}


def means_of(
    dataset: str, system: str, scale: float = 100.0, **scores: pd.Series
) -> Iterator[dict]:
    """Rows of ours, one for each series of scores of questions, from 0 to 1: the mean, times
    `scale`, with its 95% interval, which is exact for a share (`mean_interval`).
    """
    for metric, values in scores.items():
        values = values.astype(float)
        ends = mean_interval(values) if len(values) else (float("nan"),) * 2
        low, high = (scale * end for end in ends)
        row = {"dataset": dataset, "system": system, "metric": metric, "n": len(values)}
        yield row | {"ours": scale * values.mean(), "low": low, "high": high}


def compare_published(runs: pd.DataFrame, source: str) -> pd.DataFrame:
    """EM and F1, in percent, of the systems in IRCoT's Table 1 or 3 (`source`), next to ours on the
    same kinds of question, with our model. Our systems that the table does not have come last.
    """
    keys = ["dataset", "questions", "system"]
    papers = read_reported(source=source)
    papers["metric"] = "paper " + papers["metric"].str.upper()
    # HpQABr and MQ2H are one kind of the questions of HotpotQA and MuSiQue (IRCoT Table 1)
    kinds = [KINDS.get(name, (name, ALL)) for name in papers["dataset"]]
    papers[["dataset", "questions"]] = pd.DataFrame(kinds, index=papers.index)
    papers = papers.set_index([*keys, "name", "model", "metric"])["value"].unstack(sort=False)
    papers, answers = _on_the_same(papers.reset_index(), runs)
    of_kinds = answers[answers["kind"].isin(papers["questions"])]
    of_kinds = of_kinds.assign(questions=of_kinds["kind"])
    answers = pd.concat([answers.assign(questions=ALL), of_kinds])
    em, f1 = (summarise(answers.assign(metric=metric), keys) for metric in ("em", "f1"))
    models = answers.groupby("system")["model"].first().map(lambda name: Path(name).name)
    ours = {"ours EM": em["mean"], "ours F1": f1["mean"], "our model": em["system"].map(models)}
    ours = em[[*keys, "n"]].assign(**ours)
    ours = ours.merge(papers[["dataset", "questions"]].drop_duplicates())
    table = beside(papers, ours, keys, rest=True)
    table = table.sort_values("questions", key=lambda kinds: kinds == ALL, kind="stable")
    columns = [f"{of} {m}" for of in ("paper", "ours", "difference") for m in ("EM", "F1")]
    return _finish(table, [*keys, "model", "our model", *columns, "n"], runs)


def compare_readers(runs: pd.DataFrame, source: str) -> pd.DataFrame:
    """Answer F1 by data set, system and reader: the values of IRCoT's Table 4 or 6 (`source`), next
    to ours with the same reader or none, with sample deviations over demonstration sets.
    """
    keys = ["dataset", "system", "reader"]
    papers, answers = _on_the_same(read_reported(source=source, metric="f1"), runs)
    papers = papers.rename(columns={"deviation": "paper deviation", "note": "reader"})
    papers = papers.assign(paper=papers["value"])
    # "w/o reader" takes the answer from the chain (IRCoT App. F), and so has no reader here
    reading = answers["system"].isin([s.name for s in all_systems().values() if s.reads])
    answers = answers.assign(metric="f1", reader=answers["reader"].where(reading))
    ours = summarise(answers, keys).rename(columns={"mean": "ours", "deviation": "ours deviation"})
    ours = ours.reindex(columns=[*keys, "ours", "ours deviation", "demonstrations_shown", "n"])
    columns = ["model", "paper", "paper deviation", "ours", "ours deviation"]
    columns += ["demonstrations_shown", "difference", "n"]
    return _finish(beside(papers, ours, keys), [*keys, *columns], runs)


def _on_the_same(papers: pd.DataFrame, runs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The paper's rows and our answers to questions, on the data sets that both have."""
    answers = runs[runs["metric"] != RECALL]
    answers = answers[answers["dataset"].isin(papers["dataset"])]
    return papers[papers["dataset"].isin(runs["dataset"])], answers


def _finish(table: pd.DataFrame, columns: list[str], runs: pd.DataFrame) -> pd.DataFrame:
    """These columns, rounded as the paper prints them, with the differences of what is printed."""
    table = table.round(1)
    for column in (name for name in columns if name.startswith("difference")):
        ours, paper = (table[column.replace("difference", side)] for side in ("ours", "paper"))
        table[column] = (ours - paper).round(1)
    return in_order(table[columns], "dataset", runs["dataset"]).astype({"n": "Int64"})
