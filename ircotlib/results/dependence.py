"""Whether answers depend on the demonstrations that are shown: without that, an experiment with
those of other data sets (IRCoT §5, OOD) shows only how a model copes with them (ours).
"""

from collections.abc import Iterable

import pandas as pd

from ircotlib.results.statistics import paired_difference
from ircotlib.running.predictions import read_predictions
from ircotlib.running.run import Run

NONE = "none"  # in place of a data set's name
BY = ["model", "dataset", "system"]
COLUMNS = [*BY, "demonstrations", "texts", "answers", "other", "own", "gain", "low", "high"]
COLUMNS += ["p", "n"]


def read_texts(runs: Iterable[Run], shown: str = "") -> pd.DataFrame:
    """What readers wrote in finished test runs: text, answer and score of each question. `shown`:
    what the prompts showed, if that is not a data set's demonstrations.
    """
    tables = []
    for run in runs:
        if run.part == "test" and run.system.reads:
            table = read_predictions(run.folder)
            table["score"] = table[table["metric"].iloc[0]]
            tables.append(table.assign(demonstrations=shown) if shown else table)
    columns = [*BY, "demonstrations", "id", "reading", "answer", "score"]
    return pd.concat([pd.DataFrame(columns=columns), *tables], ignore_index=True)[columns]


def measure_dependence(texts: pd.DataFrame) -> pd.DataFrame:
    """What becomes of the answers (`read_texts`) when other demonstrations are shown, or none, in
    place of a data set's own: the shares of `texts` and of `answers` that differ, the mean score
    with these and with its `own`, by how much that is higher (`gain`), its 95% interval, all in
    percent, and the exact paired `p`.
    """
    rows = []
    for (model, dataset, system), of_system in texts.groupby(BY, sort=False):
        by_shown = dict(list(of_system.set_index("id").groupby("demonstrations", sort=False)))
        own = by_shown.pop(dataset)
        for shown, other in by_shown.items():
            other = other.loc[own.index]
            gain = paired_difference(own["score"], other["score"])
            differ = [(own[name] != other[name]).mean() for name in ("reading", "answer")]
            shares = [*differ, other["score"].mean(), own["score"].mean(), *gain[:3]]
            percent = [round(100 * share, 2) for share in shares]
            rows.append([model, dataset, system, shown, *percent, round(gain.p, 4), len(own)])
    return pd.DataFrame(rows, columns=COLUMNS)


def describe_shown(scores: pd.DataFrame) -> str:
    """How many demonstrations the last prompts of each system showed on average, for titles."""
    shown = scores.dropna(subset="demonstrations_shown")
    texts = []
    shown = shown.astype({"demonstrations_shown": float})
    for system, rows in shown.groupby("system", sort=False):
        by_place = rows.groupby(["dataset", "model", "demonstrations"])["demonstrations_shown"]
        ends = dict.fromkeys(f"{end:.1f}" for end in by_place.mean().agg(["min", "max"]))
        texts.append(f"{system} {' to '.join(ends)}")
    return f"demonstrations in the last prompt: {', '.join(texts)}" if texts else ""
