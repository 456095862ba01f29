"""Whether answers depend on the demonstrations that are shown: without that, an experiment with
those of other data sets (IRCoT §5, OOD) shows only how a model copes with them (ours).
"""

from collections.abc import Iterable

import pandas as pd

from ircotlib.experiment.runs import Run, read_predictions
from ircotlib.results.shown import title_of
from ircotlib.results.statistics import LEVEL, paired_difference

NONE, WRONG = "none", "own, wrong answers"  # in place of a data set's name
BY = ["model", "dataset", "system"]
COLUMNS = [*BY, "demonstrations", "texts", "answers", "other", "own", "gain", "low", "high"]
COLUMNS += ["p", "n"]
NO_GAIN = "**No gain by demonstrations is found, so that with others answers can only get worse.**"


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


def conclude_dependence(table: pd.DataFrame) -> str:
    """Whether a data set's own demonstrations help, in sentences (`measure_dependence`)."""
    lines = []
    for model, of_model in table.groupby("model", sort=False):
        shown = of_model["demonstrations"]
        none, wrong = of_model[shown == NONE], of_model[shown == WRONG]
        others = of_model[~shown.isin([NONE, WRONG])]
        helped = ((none["gain"] > 0) & (none["p"] < LEVEL)).sum()
        text = f"- With a data set's own demonstrations {title_of(model)} answers better than with "
        text += f"none in {helped} of {len(none)} comparisons{_range(none['gain'], '+.1f')}. "
        text += f"Answers change{_range(wrong['answers'])} if these end in wrong ones"
        text += f", and{_range(others['answers'])} with those of another data set. "
        lines.append(text + ("" if helped else NO_GAIN))
    return "\n".join(lines)


def _range(values: pd.Series, form: str = ".0f") -> str:
    """Such as " (+0.2 to +5.0 points)"."""
    ends = dict.fromkeys(format(round(end, 1) + 0.0, form) for end in values.agg(["min", "max"]))
    return f" ({' to '.join(ends)} {'points' if '+' in form else '%'})" if len(values) else ""


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
