"""The papers' claims that runs can test, and a table of them with our corrected verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pandas as pd

from ircotlib.results.reported import read_reported
from ircotlib.results.statistics import holm, paired_difference, per_question, verdicts
from ircotlib.systems import all_systems

PLACE = ("dataset", "model", "demonstrations")
NO_NUMBER = "no number printed"
AGAINST = " against "  # between the names of two models
# Values by question id: of each place, those of the sides by name. Their name is their metric.
Values = Mapping[tuple[str, ...], Mapping[str, pd.Series]]


@dataclass(frozen=True)
class Claim:
    """A claim of a paper: one side has higher values than each of some others."""

    source: str  # where the paper makes it
    better: str  # the sides are mostly systems
    worse: tuple[str, ...] = ()  # none: those of the better one's record (`System.better_than`)
    values: str = "scores"  # the name of the values it is about (`evidence`)
    # Which rows of data/reported.csv have the paper's values, or their difference if the metric is
    # a gain; None: the paper prints none.
    printed: Mapping[str, str] | None = None
    statement: str = "{better} > {worse}"
    side: str = "name"  # the column of these rows that has the sides
    readers: Mapping[str, str] | None = None  # by model, the reader that these rows must have
    lower: bool = False  # of the printed values the lower is the better
    wording: str = "{:+.2f}"  # of the paper's difference


READERS = {"Flan-T5-XXL": "direct", "GPT3": "cot"}  # the better ones, those of §5 (App. E)
OF_MODELS = "{:+.1f} with {}"  # how a difference of IRCoT's models is worded
TABLE_4, TABLE_6 = ({"paper": "ircot", "source": source} for source in ("Table 4", "Table 6"))
GAINS = {"paper": "ircot", "source": "§5 text", "metric": "recall_gain"}
LARGER = "§5, Figure 9: 3B against a 58 times larger GPT3"
_with_reader = partial(Claim, printed=TABLE_4, readers=READERS, wording=OF_MODELS)


def _with_other_reader(reader: str) -> list[Claim]:
    source, values = "App. E, Table 4: the other reader", f"other reader: {reader}"
    pairs = (("IRCoT QA", ("OneR QA",)), ("OneR QA", ("NoR QA",)))
    readers = dict.fromkeys(READERS, reader)
    return [_with_reader(source, *pair, values, readers=readers) for pair in pairs]


def _of_readers(model: str, better: str, worse: str) -> list[Claim]:
    claim = partial(Claim, "App. E, Table 4", better, (worse,), side="note", wording=OF_MODELS)
    return [
        claim(
            f"readers of {system}, prompted as {model}",
            TABLE_4 | {"system": system, "model": model},
            f"{system}: {{better}} > {{worse}}",
        )
        for system in ("NoR QA", "OneR QA", "IRCoT QA")
    ]


IRCOT = [
    Claim("§5, Figure 3", "IRCoT", ("OneR",), printed=GAINS, wording=OF_MODELS),
    _with_reader("§5, Figure 4", "IRCoT QA", ("OneR QA",)),
    _with_reader("§5, Figure 4", "IRCoT QA", ("NoR QA",)),
    _with_reader("§5, App. E", "OneR QA", ("NoR QA",)),
    _with_reader("App. F, Table 6", "IRCoT QA", ("IRCoT QA w/o reader",), printed=TABLE_6),
    *_with_other_reader("direct"),
    *_with_other_reader("cot"),
    *_of_readers("Flan-T5-XXL", "direct", "cot"),
    *_of_readers("GPT3", "cot", "direct"),
    Claim("§5, Figure 8", "IRCoT", ("OneR",), "sizes"),
    Claim("§5, Figure 9", "IRCoT QA", ("OneR QA",), "sizes but the smallest"),
    Claim(LARGER, "IRCoT QA", ("OneR QA",), "two sizes"),
    Claim(LARGER, "IRCoT QA", ("NoR QA",), "two sizes"),
    Claim("§5, Figure 5", "IRCoT", ("OneR",), "other demonstrations"),
    Claim("§5, Figure 6", "IRCoT QA", ("OneR QA",), "other demonstrations"),
    Claim("§5, Figure 6", "IRCoT QA", ("NoR QA",), "other demonstrations"),
]
MISLED = ("Self-Ask", "ReAct", "Plan-and-Solve w/ IR", "Verify-and-Edit", "Tree-of-Thought w/ IR")
DECOMPOSING = ("CoT", "Self-Ask w/o IR", "Least-to-Most")
_printed = partial(dict, paper="searchain")
SEARCHAIN = [
    Claim("abstract, §4.2 (2), Table 1", "SearChain", printed=_printed(source="Table 1")),
    Claim("§4.2 (1), Table 1", "SearChain w/o IR", printed=_printed(source="Table 1")),
    Claim(
        *("§4.3.2 (2), Table 3(b)", "SearChain", (*MISLED, "DSP"), "right where the model knows"),
        printed=_printed(source="Table 3(b)"),
        statement="{better} misled less than {worse}",
        lower=True,
    ),
    Claim(
        *("§4.3.2 (1), Table 3(a)", "SearChain", ("SearChain w/o IR",), "scores where IR helps"),
        printed=_printed(source="Table 3(a)", metric="cover_em_where_ir_helps"),
        statement="{better} > {worse} where IR helps",
    ),
    Claim(
        *("§4.3.3 (1), Table 4", "SearChain w/o IR", DECOMPOSING, "steps"),
        printed=_printed(source="Table 4", metric="reasoning_steps"),
        statement="{better} takes more steps than {worse}",
        wording="{:+.2f} (mean of 2 to 4 hops)",
    ),
    Claim("A.2.1, Figure 10", "knowledge in the prompt", ("sub-questions alone",), "forms"),
    Claim("A.3, Table 9", "SearChain", ("DSP",), "second model", _printed(source="Table 9")),
]
TEST = ["low", "high", "p", "p_holm", "verdict", "n"]
CLAIMS = {  # by paper, with the columns of their table
    "ircot": (IRCOT, ["claim", *PLACE, "source", "paper", "metric", "ours", *TEST]),
    "searchain": (SEARCHAIN, ["source", "claim", "dataset", "model", "paper", "ours", *TEST]),
}


def judge_claims(paper: str, values: Mapping[str, Values]) -> pd.DataFrame:
    """The table of a paper's claims, one row per claim and comparison: the paper's difference, ours
    with its 95% interval, and a verdict by p corrected for testing all rows at once (Holm).
    `values`: from `evidence`, by name, in percent or steps. What was not run is left out.
    """
    rows, (claims, columns) = [], CLAIMS[paper]
    for claim in claims:
        for place, sides in values.get(claim.values, {}).items():
            for worse in claim.worse or all_systems()[claim.better].better_than:
                if {claim.better, worse} <= set(sides):
                    row = dict(zip(PLACE, place, strict=True)) | {"source": claim.source}
                    row |= {"claim": claim.statement.format(better=claim.better, worse=worse)}
                    row |= {"paper": paper_says(claim, worse, row["dataset"])}
                    rows.append(row | difference(sides[claim.better], sides[worse]))
    if not rows:
        return pd.DataFrame(columns=columns)
    table = pd.DataFrame(rows).rename(columns={"mean": "ours"})
    # p of scores of runs, which have a metric, is corrected as `compare` shows it
    table["p_holm"] = holm(table["p"].where(table["metric"].isna(), table["p"].round(4)))
    table["verdict"] = verdicts(table["p_holm"], table["ours"])
    table[["ours", "low", "high"]] = table[["ours", "low", "high"]].round(2) + 0.0  # no -0.0
    return table.round({"p": 4, "p_holm": 4})[columns]


def paper_says(claim: Claim, worse: str, dataset: str) -> str:
    """The paper's difference for a claim on a data set, in words: as printed, or computed from its
    tables; a mean if they have parts of the data set, such as musique_2hop.
    """
    if claim.printed is None:
        return NO_NUMBER
    table = read_reported(**claim.printed)
    table = table[table["dataset"].str.partition("_")[0] == dataset]
    if claim.readers:
        reader = table["model"].map(claim.readers)
        table = table[table["note"].isna() | (table["note"] == reader)]
    is_gain = claim.printed.get("metric", "").endswith("_gain")
    printed = table.groupby(["model", claim.side])["value"].mean().unstack()
    printed = printed.reindex(columns=[claim.better, worse], fill_value=0.0 if is_gain else None)
    differences = (printed[claim.better] - printed[worse]) * (-1 if claim.lower else 1)
    texts = [claim.wording.format(value, model) for model, value in differences.dropna().items()]
    return ", ".join(texts) or NO_NUMBER


def compare(
    scores: pd.DataFrame, by: Sequence[str] = ("dataset",), against: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Test the claims of the systems' records (`System.better_than`), each by itself, by
    `paired_difference` in points, separately for each value of the columns `by`. `against`: the
    scores of the worse systems, if they were run with another model.
    """
    rows, values = [], values_of(scores, by)
    values_against = values if against is None else values_of(against, by)
    for place, sides in values.items():
        others = values_against.get(place, {})
        for better, system in all_systems().items():
            for worse in system.better_than:
                if better in sides and worse in others:
                    row = dict(zip(by, place, strict=True)) | {"claim": f"{better} > {worse}"}
                    rows.append(row | difference(sides[better], others[worse]))
    table = pd.DataFrame(rows, columns=[*by, "claim", "metric", "mean", "low", "high", "p", "n"])
    table["verdict"] = verdicts(table["p"], table["mean"])
    return table.round({"mean": 2, "low": 2, "high": 2, "p": 4})


def compare_sizes(scores: pd.DataFrame, style: str) -> pd.DataFrame:
    """Paired differences of each model; then of a style's largest two (IRCoT Figures 8 and 9)."""
    tables = [compare(scores, ("dataset", "model"))]
    last = scores[scores["style"] == style]["model"].unique()[-2:]  # they are from small to large
    if len(last) > 1:
        second, largest = (scores[scores["model"] == name] for name in last)
        tables.append(compare(second, against=largest).assign(model=AGAINST.join(last)))
    return pd.concat(tables, ignore_index=True)


def values_of(
    scores: pd.DataFrame, by: Sequence[str] = PLACE, side: str = "system"
) -> dict[tuple, dict[str, pd.Series]]:
    """The scores of runs in percent, by their metric, as values that claims are about."""
    values = {}
    for (*place, name), runs in scores.groupby([*by, side], sort=False):
        metric = runs["metric"].iloc[0]
        values.setdefault(tuple(place), {})[name] = 100 * per_question(runs, metric)
    return values


def difference(better: pd.Series, worse: pd.Series) -> dict:
    """The test of one pair of sides, on the questions that both have values of."""
    pair = pd.concat([better, worse], axis=1, join="inner").astype(float)
    test = paired_difference(*pair.to_numpy().T)
    return {"metric": better.name, **test._asdict(), "n": len(pair)}


def count_verdicts(claims: pd.DataFrame) -> pd.DataFrame:
    """How many claims of each source hold, do not hold, or cannot be decided."""
    counts = claims.groupby("source", sort=False)["verdict"].value_counts().unstack(fill_value=0)
    return counts.reindex(columns=["holds", "does not hold", "cannot tell"], fill_value=0)
