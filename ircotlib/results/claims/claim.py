"""What a claim of a paper is, where the paper prints its numbers, and how a pair is compared."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from ircotlib.experiment.runs import expect_one_measure
from ircotlib.results import statistics
from ircotlib.results.reported import read_reported
from ircotlib.systems import all_systems

PLACE = ("dataset", "model", "demonstrations")
# What the sides of claims are measured to have. By place, such as ("musique", "m/xxl", "musique"),
# and there by side, such as "IRCoT QA": values by question id, in percent if they are scores. The
# name of the series is the measure, such as "f1".
Values = Mapping[tuple[str, ...], Mapping[str, pd.Series]]
NO_NUMBER = "no number printed"
CONTRADICTED = "the paper's own number is against it"
ALIKE = 0.9  # a side does not vary if this share of its values is the same (ours)


@dataclass(frozen=True)
class Printed:
    """A paper's values of the sides of a claim: rows of data/reported.csv."""

    paper: str
    source: str
    # columns with the value that all rows have, such as {"metric": "seconds"}
    rows: Mapping[str, str] = field(default_factory=dict)
    # the column in which the sides are named; "name" has our names of systems
    side: str = "name"
    # the column for each of whose values there is a difference, such as "+9.4 with Flan-T5-XXL"
    of_each: str = "model"
    # the value of a side that the table does not have, such as 0 where it prints gains
    base: float = float("nan")
    # by model, the reader whose rows count; {}: any
    readers: Mapping[str, str] = field(default_factory=dict)
    # makes a value comparable with ours, where more is better
    scale: Callable[[float], float] = float
    # of a difference and what it is of
    wording: str = "{:+.2f}"

    def differences(self, better: str, worse: str, dataset: str) -> pd.Series:
        """The paper's differences on a data set, as printed or computed from its tables; of means
        if they only have parts of the data set, such as musique_2hop.
        """
        table = read_reported(self.paper, source=self.source, **self.rows)
        table["reading"] = table["name"] + ": " + table["note"]
        table["measured"] = table["name"] + ": " + table["metric"]
        if self.side != "dataset":
            whole = table["dataset"].isin([dataset, "unspecified"])
            parts = table["dataset"].str.partition("_")[0] == dataset
            table = table[whole if whole.any() else parts]
        if self.readers:
            reader = table["model"].map(self.readers)
            table = table[table["note"].isna() | (table["note"] == reader)]
        table = table.assign(value=table["value"].map(self.scale))
        means = table.groupby([self.of_each, self.side])["value"].mean().unstack()
        if {better, worse}.isdisjoint(means):
            return means.iloc[:0].sum(axis=1)
        means = means.reindex(columns=[better, worse], fill_value=self.base)
        return (means[better] - means[worse]).dropna()

    def describe(self, differences: pd.Series) -> str:
        """The paper's differences in words."""
        texts = [self.wording.format(value, each) for each, value in differences.items()]
        return ", ".join(texts) or NO_NUMBER


@dataclass(frozen=True)
class Claim:
    """A claim of a paper: in each pair, and wherever both were measured, the first side has higher
    values than the second.
    """

    pairs: Sequence[tuple[str, str]]  # of sides, which are mostly systems
    values: Callable[..., Values]  # finds the sides' values in what was measured
    printed: Printed | None = None  # None: the paper prints no number
    comparison: str = "{} > {}"  # how a pair is worded
    paired: bool = True  # both sides have values of the same questions
    margin: float = 0.0  # by which the first side may be lower: the claim is "hardly lower"
    # of a claim about demonstrations: finds how many each side was shown a prompt on average, by
    # place and side, such as ("musique", "m/xxl", "iirc", "IRCoT QA")
    shown: Callable[..., Mapping[tuple[str, ...], float]] | None = None
    # by side: what is settled beforehand if it does not vary, as its questions are so chosen or the
    # model is so taught
    settled: Mapping[str, str] = field(default_factory=dict)
    note: str = ""  # what to know before its verdict is read

    def compare(
        self, measured: object, values: Values, by: Sequence[str] = PLACE
    ) -> Iterator[dict]:
        """Test each pair at each place where both sides have values; yield the rows of a table, as
        dicts. `by`: the columns that say the place. `tested`: False if the claim is about
        demonstrations and a side was shown fewer than one. `not_counted`: why the comparison says
        nothing about the claim, or "". `against`: those of the paper's models whose own numbers are
        against the claim.
        """
        shown = self.shown(measured) if self.shown else {}
        for place, sides in values.items():
            for better, worse in self.pairs:
                if not (len(sides.get(better, ())) and len(sides.get(worse, ()))):
                    continue
                row = dict(zip(by, place, strict=True)) | {"note": self.note, "paper": NO_NUMBER}
                row |= {"comparison": self.comparison.format(better, worse), "against": ""}
                row["not_counted"] = self._why_settled({s: sides[s] for s in (better, worse)})
                if self.printed:
                    theirs = self.printed.differences(better, worse, row["dataset"])
                    row["paper"] = self.printed.describe(theirs)
                    against = theirs < -self.margin
                    row["against"] = " and ".join(map(str, theirs.index[against]))
                    if len(theirs) and against.all():
                        row["not_counted"] = row["not_counted"] or CONTRADICTED
                counts = [shown[key] for s in (better, worse) if (key := (*place, s)) in shown]
                row["tested"] = not self.shown or min(counts, default=0) >= 1
                yield row | difference(sides[better], sides[worse], self.paired, self.margin)

    def _why_settled(self, pair: Mapping[str, pd.Series]) -> str:
        """Why only one outcome was possible: the sides are the same on every question, so that
        neither is lower by any margin; or a side that `settled` names does not vary. "": neither.
        """
        better, worse = pair.values()
        if self.margin and better.equals(worse):
            return "cannot fail: both sides are the same on every question"
        named = [side for side in pair if side in self.settled]
        common = [pair[side].value_counts(normalize=True).iloc[0] for side in named]
        return self.settled[named[0]] if named and min(common) >= ALIKE else ""


def over(better: str, *worse: str) -> list[tuple[str, str]]:
    """The pairs of a side with each of the sides it is better than."""
    return [(better, other) for other in worse]


def values_of(scores: pd.DataFrame, by: Sequence[str] = PLACE) -> Values:
    """The values of systems: their scores by their own metric, in percent."""
    values = {}
    if scores.empty:  # then it may lack the columns, too
        return values
    for (*place, name), runs in scores.groupby([*by, "system"], sort=False):
        metric = runs["metric"].iloc[0]
        values.setdefault(tuple(place), {})[name] = 100 * statistics.per_question(runs, metric)
    return values


def difference(
    better: pd.Series, worse: pd.Series, paired: bool = True, margin: float = 0.0
) -> dict:
    """The test of a pair, on the questions that both sides have values of (`paired`) or on those of
    each: whether the difference is above -margin. `deviation`: the standard deviation of the
    differences, for `questions_needed`; of two groups, as if they were one. Raises UserError if
    the sides are not values by the same measure, which is their name.
    """
    expect_one_measure([better.name, worse.name])
    if paired:
        both = pd.concat([better, worse], axis=1, join="inner").astype(float)
        a, b = both.to_numpy().T
        test = statistics.paired_difference(a + margin, b)
        n = len(both)
        variance = (a - b).var()
    else:
        test = statistics.unpaired_difference(better + margin, worse)
        n = len(better) + len(worse)
        variance = sum(n / len(side) * side.var(ddof=0) for side in (better, worse))
    moved = {name: getattr(test, name) - margin for name in ("mean", "low", "high")}
    row = {"metric": better.name, "n": n, "deviation": variance**0.5, "above": 0.0 - margin}
    return row | {"p": test.p} | moved


# the systems that the paper says SearChain w/o IR outperforms, and SearChain (§4.2, Table 1)
ABLATIONS = ("SearChain w/o Verification", "SearChain w/o Completion")
CHAINS_OF_THOUGHT = ("CoT", "Auto-CoT", "CoT-SC", "Recite-and-answer")
SUB_QUESTIONS = ("Self-Ask w/o IR", "Least-to-Most")
WITH_IR = (
    "Direct Retrieval",
    "ToolFormer",
    "Self-Ask",
    "Plan-and-Solve w/ IR",
    "ReAct -> CoT-SC",
    "Verify-and-Edit",
    "Tree-of-Thought w/ IR",
    "DSP",
)
BETTER_THAN = {
    "OneR QA": ("NoR QA",),  # IRCoT App. E, Table 4
    "IRCoT": ("OneR",),  # §5, Figure 3
    "IRCoT QA": ("NoR QA", "OneR QA", "IRCoT QA w/o reader"),  # §5, Figure 4; App. F, Table 6
    "SearChain w/o IR": CHAINS_OF_THOUGHT + SUB_QUESTIONS,
    "SearChain": (*WITH_IR, "SearChain w/o IR", *ABLATIONS),
}


def compare_claims(scores: pd.DataFrame, by: Sequence[str] = ("dataset",)) -> pd.DataFrame:
    """Test the claims of the systems' records (BETTER_THAN), each by itself, by
    `paired_difference` in points, separately for each value of the columns `by`.
    """
    named = [name for name in all_systems() if name in BETTER_THAN]
    pairs = [pair for name in named for pair in over(name, *BETTER_THAN[name])]
    rows = list(Claim(pairs, values_of).compare(scores, values_of(scores, by), by))
    columns = [*by, "comparison", "metric", "mean", "low", "high", "p", "n"]
    table = pd.DataFrame(rows, columns=columns).rename(columns={"comparison": "claim"})
    table["verdict"] = statistics.verdicts(table["p"], table["mean"])
    return table.round({"mean": 2, "low": 2, "high": 2, "p": 4})
