"""The claims of IRCoT's abstract and §5 that runs can test, in one table: the paper's numbers, our
differences, and verdicts corrected for multiple testing.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from ircotlib.parameters import OOD, SCALE, Parameters
from ircotlib.prompting.prompt import GPT3
from ircotlib.results.analysis import compare, difference, read_reported, read_runs
from ircotlib.running.setup import runs_folder

FOUND, ANSWERED = "IRCoT > OneR", "IRCoT QA > OneR QA"
KNOWN, READER = "IRCoT QA > NoR QA", "IRCoT QA > IRCoT QA w/o reader"
# where the paper makes each claim: for all data sets; with either reader; for every model size;
# for a smaller model against a larger one; with demonstrations of another data set
MAIN = {FOUND: "§5, Figure 3", ANSWERED: "§5, Figure 4", KNOWN: "§5, Figure 4"}
MAIN |= {"OneR QA > NoR QA": "§5, App. E", READER: "App. F, Table 6"}
EITHER = dict.fromkeys((ANSWERED, "OneR QA > NoR QA"), "App. E, Table 4: the other reader")
SIZES = {FOUND: "§5, Figure 8", ANSWERED: "§5, Figure 9"}
ACROSS = {name: "§5, Figure 9: 3B against a 58 times larger GPT3" for name in (ANSWERED, KNOWN)}
OTHERS = {FOUND: "§5, Figure 5", ANSWERED: "§5, Figure 6", KNOWN: "§5, Figure 6"}

NO_NUMBER = "no number printed"
AGAINST = " against "  # between the names of two models
READERS = {"Flan-T5-XXL": "direct", "GPT3": "cot"}  # the better ones, those of §5 (App. E)
WHERE = ["dataset", "model", "demonstrations"]
COLUMNS = ["claim", *WHERE, "source", "paper", "metric", "ours", "low", "high"]
COLUMNS += ["p", "p_holm", "verdict", "n"]


class Claimed(NamedTuple):
    """The runs that the claims are about: `main` of 04_ircot, `sizes` of 06_scale, `others` of
    07_ood, `otherwise` of 04_ircot with the other reader. `left_out`: why runs are missing.
    """

    main: pd.DataFrame
    sizes: pd.DataFrame
    others: pd.DataFrame
    left_out: list[str]
    otherwise: pd.DataFrame = pd.DataFrame()


def read_claimed(p: Parameters) -> Claimed:
    """Read the runs that the claims are about. Only those of 04_ircot with the reader of `p` must
    exist; for others that are missing, `left_out` has the commands that make them.
    """
    found, left_out = [read_runs(p, "04_ircot")], []
    three = [name for name in p.datasets if name != "iirc"]  # as in the paper
    reading = ((_read_sizes, three), (_read_others, three), (_read_otherwise, p.datasets))
    for read, datasets in reading:
        try:
            tables = read(p.change(datasets=datasets)) if datasets else []
        except FileNotFoundError as error:
            tables = []
            left_out.append(str(error))
        found.append(pd.concat(tables, ignore_index=True) if tables else pd.DataFrame())
    main, sizes, others, otherwise = found
    return Claimed(main, sizes, others, left_out, otherwise)


def _read_sizes(p: Parameters) -> list[pd.DataFrame]:
    """The runs of 06_scale, one table per model, in whichever style the model was prompted."""
    tables, how = [], {"experiment": "06_scale", "grid_of": SCALE}
    for name in p.models:
        asked = [p.change(model=name, style=style) for style in (p.style, GPT3.name)]
        made = [one for one in asked if runs_folder(one, **how).is_dir()]
        tables.append(read_runs((made or asked)[0], **how))
    return tables


def _read_others(p: Parameters) -> list[pd.DataFrame]:
    """The runs of 07_ood with demonstrations of another data set."""
    p = p.out_of_distribution()
    tables = [read_runs(p, "07_ood", shown=shown, grid_of=OOD) for shown in p.datasets]
    return [runs[runs["dataset"] != runs["demonstrations"]] for runs in tables]


def _read_otherwise(p: Parameters) -> list[pd.DataFrame]:
    """The runs of 04_ircot with the other reader."""
    return [read_runs(p.other_reader(), "04_ircot")]


def judge_claims(claimed: Claimed) -> pd.DataFrame:
    """The table of claims, one row per claim and comparison: the paper's numbers, our paired
    difference in points with its 95% interval, and a verdict.

    p is corrected over all rows (Holm). Below 0.05 the claim "holds" or "does not hold", by the
    sign of the difference; else the verdict is "cannot tell".
    """
    main, sizes, others, _, otherwise = claimed
    style = main["style"].iloc[0]
    by_size, model = compare_sizes(sizes, style), ("dataset", "model")
    across = by_size["model"].str.contains(AGAINST, regex=False)
    first = _models(sizes, style)[:-1][:1]  # the smallest of several, Figure 9's exception
    smallest = by_size["model"].isin(first) & (by_size["claim"] == ANSWERED)
    tables = [
        _named(compare(main, model), MAIN, READERS),
        _named(_compare(otherwise, model), EITHER, _readers_of(otherwise)),
        compare_readings(main, otherwise),
        _named(by_size[~across & ~smallest], SIZES),
        _named(by_size[across], ACROSS),
        _named(_compare(others, WHERE), OTHERS),
    ]
    tables = [table for table in tables if len(table)]
    if not tables:
        return pd.DataFrame(columns=COLUMNS)
    table = pd.concat(tables, ignore_index=True).rename(columns={"mean": "ours"})
    table[["ours", "low", "high"]] += 0.0  # no -0.0
    table["p_holm"] = holm(table["p"]).round(4)
    told = table["p_holm"] < 0.05
    signs = np.where(table["ours"] > 0, "holds", "does not hold")
    table["verdict"] = np.where(told, signs, "cannot tell")
    return table[COLUMNS]


def _compare(runs: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    return compare(runs, by) if len(runs) else runs


def _readers_of(runs: pd.DataFrame) -> dict[str, str]:
    """The reader of these runs, for each of the paper's models."""
    return dict.fromkeys(READERS, runs["reader"].iloc[0]) if len(runs) else {}


def compare_readings(main: pd.DataFrame, otherwise: pd.DataFrame) -> pd.DataFrame:
    """Test, for each system that was run with both readers, the claim that one reader is better:
    "direct" for a model prompted as Flan-T5, "cot" for one prompted as GPT3 (IRCoT App. E).
    """
    if not len(otherwise):
        return otherwise
    rows, both = [], pd.concat([main, otherwise], ignore_index=True)
    paper = "GPT3" if both["style"].iloc[0] == GPT3.name else "Flan-T5-XXL"
    better = READERS[paper]
    worse = "cot" if better == "direct" else "direct"
    both = both[both["system"].isin(otherwise["system"])]
    for (dataset, model, system), runs in both.groupby(["dataset", "model", "system"], sort=False):
        pair = [runs[runs["reader"] == reader] for reader in (better, worse)]
        if all(map(len, pair)):
            named = {"claim": f"{system}: {better} > {worse}", "dataset": dataset, "model": model}
            named |= {"demonstrations": dataset, "source": "App. E, Table 4"}
            values = [_printed("Table 4", dataset, {paper: reader}) for reader in (better, worse)]
            found = (values[0] - values[1]).get(system, pd.Series())
            rows.append(named | {"paper": _say(found)} | difference(*pair))
    return pd.DataFrame(rows).round({"mean": 2, "low": 2, "high": 2, "p": 4})


def compare_sizes(scores: pd.DataFrame, style: str) -> pd.DataFrame:
    """Paired differences for each model; then, if a style has at least two models, those of the
    second largest against the largest (IRCoT Figures 8 and 9).
    """
    if not len(scores):
        return pd.DataFrame(columns=["dataset", "model", "claim"], dtype=str)
    tables, last = [compare(scores, ("dataset", "model"))], _models(scores, style)[-2:]
    if len(last) > 1:
        second, largest = (scores[scores["model"] == name] for name in last)
        tables.append(compare(second, against=largest).assign(model=AGAINST.join(last)))
    return pd.concat(tables, ignore_index=True)


def _models(scores: pd.DataFrame, style: str) -> list[str]:
    """The models of a style in the order of their runs: from small to large."""
    return list(scores[scores["style"] == style]["model"].unique()) if len(scores) else []


def _named(
    table: pd.DataFrame, sources: dict[str, str], readers: dict[str, str] | None = None
) -> pd.DataFrame:
    """The rows whose claims the paper makes, in its order, with source and the paper's numbers.
    `readers`: with which reader they were printed (`paper_says`); None: the paper prints none.
    """
    if not len(table):
        return table
    order = {name: place for place, name in enumerate(sources)}
    table = table[table["claim"].isin(sources)]
    table = table.sort_values("claim", key=lambda names: names.map(order), kind="stable")
    table["source"] = table["claim"].map(sources)
    table["demonstrations"] = table.get("demonstrations", table["dataset"])
    pairs = zip(table["claim"], table["dataset"], strict=True)
    table["paper"] = [paper_says(*pair, readers) if readers else NO_NUMBER for pair in pairs]
    return table


def paper_says(claim: str, dataset: str, readers: dict[str, str] = READERS) -> str:
    """The differences for a claim on a data set, in words, for the paper's two models: as printed,
    or computed from its tables (IRCoT §5, Tables 4 and 6). `readers`: by model, the reader.
    """
    better, worse = claim.split(" > ")
    gains = read_reported(source="§5 text", metric="recall_gain", dataset=dataset, system=better)
    found = gains.set_index("model")["value"]
    if found.empty:
        value = _printed("Table 6" if claim == READER else "Table 4", dataset, readers)
        found = value[better] - value[worse] if {better, worse} <= set(value) else found
    return _say(found)


def _printed(source: str, dataset: str, readers: dict[str, str]) -> pd.DataFrame:
    """A table of the paper: one row per model, one column per system. Of each model the rows that
    name its reader in `readers`, or no reader.
    """
    table = read_reported(source=source, dataset=dataset)
    table = table[table["note"].isna() | (table["note"] == table["model"].map(readers))]
    return table.set_index(["model", "system"])["value"].unstack("system")


def _say(differences: pd.Series) -> str:
    """Differences by model in words."""
    found = differences.dropna()
    said = [f"{found[model]:+.1f} with {model}" for model in READERS if model in found]
    return ", ".join(said) or NO_NUMBER


def holm(p: Sequence[float]) -> np.ndarray:
    """Correct p-values for multiple testing (Holm 1979): the smallest is multiplied by their number
    m, the next by m - 1, and so on; none is below the one before it or above 1.
    """
    p = np.asarray(p, dtype=float)
    order, corrected = p.argsort(kind="stable"), np.empty_like(p)
    corrected[order] = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)).clip(max=1)
    return corrected
