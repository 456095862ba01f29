"""The head to head with equal tools (ours): K is tuned for every system that retrieves, and the
extractive reader, which in the papers SearChain alone has, is offered to all that ask or state
single facts. Beside it, what it changes to count a reply that could not be read as no answer.
"""

from collections.abc import Iterable, Sequence

import pandas as pd

from ircotlib.comparing.comparison import Comparison
from ircotlib.parameters import EQUAL, Parameters
from ircotlib.results.causes import read_attempt
from ircotlib.results.head_to_head import (
    EXPERIMENT,
    against_zero,
    compare_means,
    count_costs,
    of_answers,
    score_questions,
)
from ircotlib.results.runs import in_order
from ircotlib.running.bench import name_benches
from ircotlib.systems import System, all_systems

PAPERS, EQUAL_TOOLS = "as in the papers", "equal tools"
EXAMPLES = 2  # in each prompt with equal tools: as few as SearChain's shows (its Table 11)
COLUMNS = "setting system mean low high difference p_holm tokens extractions".split()
GAIN = ["gain", "gain_low", "gain_high", "gain_p_holm"]


def with_equal_tools(p: Parameters, systems: Sequence[System]) -> Comparison:
    """The comparison of those systems that get anything in addition or, if the model sees examples,
    of all; of none if `equal_k` is empty. All others are, with equal tools, as in the papers.
    """
    benches = name_benches(with_equal_examples(p), EXPERIMENT, grid_of=EQUAL)
    sees_examples = benches[0].style.demonstrated
    equal = [system for system in systems if system.equal or sees_examples]
    return Comparison(benches, equal if p.equal_k else [])


def with_equal_examples(p: Parameters) -> Parameters:
    """The parameters with one budget of demonstrations for all systems."""
    return p.change(most_demonstrations=min(EXAMPLES, p.most_demonstrations))


def compare_settings(runs: pd.DataFrame, equal: pd.DataFrame, p: Parameters) -> pd.DataFrame:
    """The means over data sets whose answers are right or wrong, with both settings: one row per
    setting and system, with the columns of `compare_means`, tokens and extractions per question.
    With equal tools also the gain on the same questions, with its interval and p of the exact
    paired test, corrected for all systems (Holm). `runs`: scores of all systems; `equal`: of those
    that get anything in addition.
    """
    runs, equal = of_answers(runs), of_answers(equal)
    others = runs[~runs["system"].isin(equal["system"].unique())]
    scores = {PAPERS: runs}
    scores |= {EQUAL_TOOLS: pd.concat([others, equal], ignore_index=True)} if len(equal) else {}
    costs = count_costs(p)
    more = count_costs(with_equal_examples(p), grid_of=EQUAL)
    kept = costs[~costs["system"].isin(more["system"])]
    costs = {PAPERS: costs, EQUAL_TOOLS: pd.concat([kept, more], ignore_index=True)}
    tables = []
    for setting, of_setting in scores.items():
        by_dataset = score_questions(of_setting)
        if not by_dataset:
            continue
        mean = sum(one.mean() for one in by_dataset) / len(by_dataset)
        cost = costs[setting][costs[setting]["dataset"].isin(runs["dataset"].unique())]
        cost = cost.drop(columns="dataset").groupby("system").mean()
        table = compare_means(of_setting).set_index("system")
        table = table.assign(mean=mean.round(2), tokens=cost["tokens_in"] + cost["tokens_out"])
        tables.append(table.assign(extractions=cost["extractions"], setting=setting).reset_index())
    if not tables:
        return pd.DataFrame(columns=[*COLUMNS, *GAIN])
    tables[-1] = tables[-1].join(_find_gains(runs, equal), on="system")
    table = pd.concat(tables, ignore_index=True)
    first = ["setting", "system", "mean"]
    table = table[[*first, *(column for column in table if column not in first)]].round(4)
    return in_order(in_order(table, "system", all_systems()), "setting", scores)


def _find_gains(runs: pd.DataFrame, equal: pd.DataFrame) -> pd.DataFrame:
    """What equal tools add to each system (rows)."""
    before, after = score_questions(runs), score_questions(equal)
    if not (before and after):
        return pd.DataFrame(columns=GAIN)
    systems = after[0].columns.intersection(before[0].columns)
    gains = [new[systems] - old[systems] for old, new in zip(before, after, strict=True)]
    names = {"difference": "gain", "difference_low": "gain_low", "difference_high": "gain_high"}
    return against_zero(gains).rename(columns=names | {"p_holm": "gain_p_holm"})[GAIN].round(4)


def beside_each_other(settings: pd.DataFrame) -> pd.DataFrame:
    """The table of `compare_settings` with a row for each system, the best with equal tools first:
    its mean in both settings and what it gains, with 95% intervals, and its difference to
    SearChain in both.
    """
    rows = settings.set_index("system")
    rows = rows.sort_values("mean", ascending=False, kind="stable")
    before, after = (rows[rows["setting"] == name] for name in (PAPERS, EQUAL_TOOLS))
    columns = {
        EQUAL_TOOLS: _with_interval(after, "mean", "low", "high"),
        PAPERS: _with_interval(before, "mean", "low", "high"),
        "gain": _with_interval(after, *GAIN[:3]),
        "p of the gain": after["gain_p_holm"],
        "minus SearChain, equal": after["difference"],
        "p, equal": after["p_holm"],
        "minus SearChain, papers": before["difference"],
        "p, papers": before["p_holm"],
        "tokens, equal": after["tokens"],
        "extractions, equal": after["extractions"],
    }
    order = after.index if len(after) else before.index
    return pd.DataFrame(columns, index=order).rename_axis("system")


def _with_interval(rows: pd.DataFrame, mean: str, low: str, high: str) -> pd.Series:
    """Such as "85.3 (82.0 to 88.1)"; nothing where there is no mean."""
    numbers = zip(rows[mean], rows[low], rows[high], strict=True)
    texts = [f"{x:.1f} ({y:.1f} to {z:.1f})" if pd.notna(x) else "" for x, y, z in numbers]
    return pd.Series(texts, rows.index, dtype=object)


def tabulate_chosen(chosen: pd.DataFrame) -> pd.DataFrame:
    """The K that was chosen on the dev questions, by system (rows) and data set."""
    tuned = chosen.dropna(subset="k").astype({"k": int, "dataset": str})
    wide = tuned.pivot_table("k", "system", "dataset", "first", sort=False)
    return wide.reindex(columns=list(dict.fromkeys(tuned["dataset"])))


def compare_rules(runs: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """What the rule for replies that could not be read decides, by system, over all data sets: how
    many answers are whole texts, the mean in percent with this rule (`score`), and with the other
    one, by which such a reply is no answer. `runs`: tables of `find_causes`; systems of which all
    replies were read are left out.
    """
    rows = []
    for table in runs:
        system = table["system"].iloc[0]
        unmarked = not all_systems()[system].study.whole_texts
        parsed = [read_attempt(row, unmarked=unmarked).parsed for row in table.to_dict("records")]
        scores = 100 * table[table["metric"].iloc[0]]
        row = {"system": system, "answers": len(parsed), "whole texts": len(parsed) - sum(parsed)}
        rows.append(row | {"mean": scores.mean(), "as no answer": (scores * parsed).mean()})
    columns = ["system", "answers", "whole texts", "mean", "as no answer"]
    by_system = pd.DataFrame(rows, columns=columns).groupby("system", sort=False)
    counts = by_system[["answers", "whole texts"]].sum()
    table = counts.join(by_system[["mean", "as no answer"]].mean())
    return table[table["whole texts"] > 0].sort_values("whole texts", ascending=False)
