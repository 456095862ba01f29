"""The claims of SearChain's abstract, §4 and App. A that runs can test, in one table: the paper's
numbers, our paired differences, and verdicts corrected for multiple testing.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ircotlib.results.analysis import compare, difference, read_reported
from ircotlib.results.claims_ircot import NO_NUMBER, holm
from ircotlib.results.head_to_head import measures_of, our_names
from ircotlib.results.measures import count_steps
from ircotlib.results.statistics import paired_difference
from ircotlib.results.tables_searchain import KNEW, WHOLE, WITHOUT, Run, misleading
from ircotlib.systems import SEARCHAIN, all_systems

COLUMNS = ["source", "claim", "dataset", "model", "paper", "ours", "low", "high", "p", "p_holm"]
COLUMNS += ["verdict", "n"]
STEPS_OF = ("CoT", "Self-Ask w/o IR", "Least-to-Most")  # Table 4
OUTPERFORMS = {WITHOUT: "§4.2 (1), Table 1", WHOLE: "abstract, §4.2 (2), Table 1"}


def judge_searchain(
    scores: pd.DataFrame, runs: Run, forms: pd.DataFrame, second: pd.DataFrame
) -> pd.DataFrame:
    """The table of claims; differences are in percentage points, except Table 4's, in steps.

    `scores`: the test runs of all systems. `runs`: the same by data set and system. `forms`: from
    `forms.compare_forms`. `second`: the runs with a second model, may be empty. `verdict`: as in
    `claims.judge_claims`.
    """
    model = scores["model"].iloc[0]
    tables = [_outperforms(scores), _misleads(runs), _helps(runs), _steps(runs), _forms(forms)]
    tables = [pd.DataFrame(table).assign(model=model) for table in tables]
    if len(second):
        tables.append(_second(second))
    table = pd.concat([one for one in tables if len(one)], ignore_index=True)
    table["p_holm"] = holm(table["p"])
    signs = np.where(table["ours"] > 0, "holds", "does not hold")
    table["verdict"] = np.where(table["p_holm"] < 0.05, signs, "cannot tell")
    table[["ours", "low", "high"]] = table[["ours", "low", "high"]].round(2) + 0.0
    return table.assign(p=table["p"].round(4), p_holm=table["p_holm"].round(4))[COLUMNS]


def _outperforms(scores: pd.DataFrame) -> pd.DataFrame:
    """SearChain, with and without retrieval, outperforms other systems (Table 1)."""
    ours = [name for name, one in all_systems().items() if one.study == SEARCHAIN]
    scores = scores[scores["system"].isin(ours)]
    first = scores["dataset"].map(lambda name: measures_of(name)[0])
    found = compare(scores.assign(metric=first), ("dataset", "model"))
    pairs = found["claim"].str.split(" > ", expand=True)
    printed = _printed("Table 1")
    paper = [_gap(printed, *row) for row in zip(found["dataset"], pairs[0], pairs[1], strict=True)]
    found = found.assign(paper=paper, source=pairs[0].map(OUTPERFORMS))
    found = found.rename(columns={"mean": "ours"})
    return found.sort_values("source", kind="stable", key=lambda names: names.str.startswith("§"))


def _printed(source: str) -> dict[tuple[str, str], float]:
    """The paper's values by data set and our names of systems."""
    table = read_reported("searchain", source=source).replace({"system": our_names()})
    return table.set_index(["dataset", "system"])["value"].to_dict()


def _gap(printed: Mapping, dataset: str, better: str, worse: str) -> str:
    """The difference between two systems' values in the paper, or that it prints none, in words."""
    values = [printed.get((dataset, name)) for name in (better, worse)]
    return NO_NUMBER if None in values else f"{values[0] - values[1]:+.2f}"


def _row(claim: str, dataset: str, source: str, paper: str, pair: list) -> dict:
    """A row of the table: a claim, the paper's number, and the test on two systems' values."""
    named = {"claim": claim, "dataset": dataset, "source": source, "paper": paper}
    return named | _test(*pair)


def _misleads(runs: Run) -> list[dict]:
    """Of the questions that the model alone answers right, SearChain still answers more right than
    other systems with retrieval (Table 3b).
    """
    rows, printed = [], _printed("Table 3(b)")
    for dataset in dict.fromkeys(dataset for dataset, _ in printed):
        systems = [one for one in misleading(runs, dataset) if one != WHOLE]
        needed = {(dataset, WHOLE), (dataset, KNEW)} <= set(runs)
        knew = runs[dataset, KNEW]["right"] if needed else []
        for system in systems if any(knew) else ():
            claim, paper = (
                f"{WHOLE} misled less than {system}",
                _gap(printed, dataset, system, WHOLE),
            )
            pair = [100.0 * runs[dataset, name]["right"][knew] for name in (WHOLE, system)]
            rows.append(_row(claim, dataset, "§4.3.2 (2), Table 3(b)", paper, pair))
    return rows


def _helps(runs: Run) -> list[dict]:
    """Where retrieval corrects or completes a node, SearChain answers better than without retrieval
    (Table 3a).
    """
    rows, table = [], read_reported("searchain", source="Table 3(a)")
    table = table[table["metric"] == "cover_em_where_ir_helps"]
    printed = table.set_index(["dataset", "system"])["value"].to_dict()
    for dataset in dict.fromkeys(table["dataset"]):
        if not {(dataset, WHOLE), (dataset, WITHOUT)} <= set(runs):
            continue
        helped = runs[dataset, WHOLE]["nodes"].map(lambda ns: any(node.feedback for node in ns))
        if helped.any():
            claim, paper = (
                f"{WHOLE} > {WITHOUT} where IR helps",
                _gap(printed, dataset, WHOLE, WITHOUT),
            )
            pair = [100 * runs[dataset, name]["score"][helped] for name in (WHOLE, WITHOUT)]
            rows.append(_row(claim, dataset, "§4.3.2 (1), Table 3(a)", paper, pair))
    return rows


def _steps(runs: Run) -> list[dict]:
    """SearChain without retrieval takes more steps than other systems without it (Table 4)."""
    rows, printed = [], read_reported("searchain", source="Table 4", metric="reasoning_steps")
    means = printed.groupby("system")["value"].mean()
    for system in (name for name in STEPS_OF if ("musique", name) in runs):
        if ("musique", WITHOUT) in runs:
            claim = f"{WITHOUT} takes more steps than {system}"
            paper = f"{means[WITHOUT] - means[system]:+.2f} (mean of 2 to 4 hops)"
            pair = [count_steps(runs["musique", name]) for name in (WITHOUT, system)]
            rows.append(_row(claim, "musique", "§4.3.3 (1), Table 4", paper, pair))
    return rows


def _forms(forms: pd.DataFrame) -> list[dict]:
    """Knowledge in the prompt helps more than sub-questions alone: panel (a) of Figure 10 against
    panel (b), where the prompt shows at least one part.
    """
    some = forms[forms["i"] < forms["hops"]].set_index(["id", "i"])
    pair = [100.0 * some[some["panel"] == panel]["right"] for panel in "ab"]
    if not all(map(len, pair)):
        return []
    named = {"claim": "knowledge in the prompt > sub-questions alone", "dataset": "musique"}
    return [named | {"source": "A.2.1, Figure 10", "paper": NO_NUMBER} | _test(*pair)]


def _second(scores: pd.DataFrame) -> pd.DataFrame:
    """SearChain outperforms DSP with another model too (Table 9)."""
    rows, printed = [], _printed("Table 9")
    for (dataset, model), runs in scores.groupby(["dataset", "model"], sort=False):
        runs = runs.assign(metric=measures_of(dataset)[0])
        pair = [runs[runs["system"] == name] for name in (WHOLE, "DSP")]
        named = {"claim": f"{WHOLE} > DSP", "dataset": dataset, "model": model}
        named |= {"source": "A.3, Table 9", "paper": _gap(printed, dataset, WHOLE, "DSP")}
        found = difference(*pair)
        rows.append(named | found | {"ours": found["mean"]})
    return pd.DataFrame(rows)


def _test(better: pd.Series, worse: pd.Series) -> dict:
    """The paired difference between two systems' values on the same questions."""
    pair = pd.concat([better.astype(float), worse.astype(float)], axis=1, join="inner")
    found = paired_difference(*pair.to_numpy().T)
    return {"ours": found.mean, "low": found.low, "high": found.high, "p": found.p, "n": len(pair)}


def count_verdicts(claims: pd.DataFrame) -> pd.DataFrame:
    """How many claims of each source hold, do not hold, or cannot be decided."""
    counts = claims.groupby("source", sort=False)["verdict"].value_counts().unstack(fill_value=0)
    return counts.reindex(columns=["holds", "does not hold", "cannot tell"], fill_value=0)
