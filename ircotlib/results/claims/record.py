"""What a claim of a paper is, and where the paper prints its numbers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ircotlib.results.claims.comparing import PLACE, Values, difference
from ircotlib.results.reported import read_reported

NO_NUMBER = "no number printed"


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

    def difference(self, better: str, worse: str, dataset: str) -> str:
        """The paper's difference on a data set, in words: as printed, or computed from its tables;
        a mean if they have parts of the data set, such as musique_2hop.
        """
        table = read_reported(self.paper, source=self.source, **self.rows)
        table["reading"] = table["name"] + ": " + table["note"]
        if self.side != "dataset":
            of = table["dataset"].str.partition("_")[0]
            table = table[of.isin([dataset, "unspecified"])]
        if self.readers:
            reader = table["model"].map(self.readers)
            table = table[table["note"].isna() | (table["note"] == reader)]
        table = table.assign(value=table["value"].map(self.scale))
        means = table.groupby([self.of_each, self.side])["value"].mean().unstack()
        if {better, worse}.isdisjoint(means):
            return NO_NUMBER
        means = means.reindex(columns=[better, worse], fill_value=self.base)
        differences = (means[better] - means[worse]).dropna()
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

    def compare(self, values: Values) -> Iterator[dict]:
        """Test each pair at each place where both sides have values; yield rows of a table."""
        for place, sides in values.items():
            for better, worse in self.pairs:
                if len(sides.get(better, ())) and len(sides.get(worse, ())):
                    row = dict(zip(PLACE, place, strict=True)) | {"paper": NO_NUMBER}
                    row["comparison"] = self.comparison.format(better, worse)
                    if self.printed:
                        row["paper"] = self.printed.difference(better, worse, row["dataset"])
                    pair = sides[better], sides[worse]
                    yield row | difference(*pair, self.paired, self.margin)


def over(better: str, *worse: str) -> list[tuple[str, str]]:
    """The pairs of a side with each of the sides it is better than."""
    return [(better, other) for other in worse]
