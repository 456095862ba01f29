"""What a claim of a paper is, and where the paper prints its numbers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from ircotlib.results.claims.comparing import PLACE, Values, difference
from ircotlib.results.reported import read_reported

NO_NUMBER = "no number printed"
FIXED = "cannot fail here"  # begins the note of a claim that nothing measured could refute


@dataclass(frozen=True)
class Printed:
    """A paper's values of the sides of a claim: rows of data/reported.csv."""

    paper: str
    source: str
    rows: Mapping[str, str] = field(default_factory=dict)  # further columns that they share
    side: str = "name"  # the column that has the sides
    of_each: str = "model"  # the column whose values have a difference each
    base: float = float("nan")  # the value of a side that is not among them: 0 if they are gains
    readers: Mapping[str, str] = field(default_factory=dict)  # by model, the rows' reader
    scale: Callable[[float], float] = float  # makes a value comparable with ours, more is better
    wording: str = "{:+.2f}"  # of a difference

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
    """A claim of a paper: in each pair, and wherever they were compared, the first side has higher
    values than the second.
    """

    pairs: Sequence[tuple[str, str]]  # of sides, which are mostly systems
    values: Callable[..., Values]  # finds the sides' values in what was measured
    printed: Printed | None = None  # None: the paper prints no number
    comparison: str = "{} > {}"  # how a pair is worded
    paired: bool = True  # both sides have values of the same questions
    margin: float = 0.0  # by which the first side may be lower: the claim is "hardly lower"
    # finds how many demonstrations sides were shown, by place and side, if it is about them
    shown: Callable[..., Mapping[tuple[str, ...], float]] | None = None
    note: str = ""  # what to know before its verdict is read: see FIXED

    def compare(self, measured: object, values: Values) -> Iterator[dict]:
        """Test each pair at each place where both sides have values; yield rows of a table.
        `tested`: not if the claim is about demonstrations and a side was shown fewer than one a
        prompt on average. `contradicted`: the paper's own number is against the claim.
        """
        shown = self.shown(measured) if self.shown else {}
        for place, sides in values.items():
            for better, worse in self.pairs:
                if len(sides.get(better, ())) and len(sides.get(worse, ())):
                    row = dict(zip(PLACE, place, strict=True)) | {"paper": NO_NUMBER}
                    row |= {"comparison": self.comparison.format(better, worse), "note": self.note}
                    row |= {"contradicted": False}
                    if self.printed:
                        theirs = self.printed.differences(better, worse, row["dataset"])
                        row["paper"] = self.printed.describe(theirs)
                        row["contradicted"] = bool((theirs < -self.margin).any())
                    counts = [shown[key] for s in (better, worse) if (key := (*place, s)) in shown]
                    row["tested"] = not self.shown or min(counts, default=0) >= 1
                    pair = sides[better], sides[worse]
                    yield row | difference(*pair, self.paired, self.margin)


def over(better: str, *worse: str) -> list[tuple[str, str]]:
    """The pairs of a side with each of the sides it is better than."""
    return [(better, other) for other in worse]
