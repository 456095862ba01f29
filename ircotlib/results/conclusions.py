"""What was found, in sentences made of the numbers: what a notebook says first, for any model and
data. Each function returns Markdown.
"""

from collections.abc import Mapping

import pandas as pd

from ircotlib.results.shown import title_of
from ircotlib.results.statistics import LEVEL, VERDICTS

FEW = 4  # places that are named, of more only how many
VERBS = {"recall": "finds more than", "factual": "writes fewer chains with a false fact than"}
UNITS = {"recall": "points of recall", "f1": "points of F1"}
LEANS = {
    "for": ("leans towards the paper", "lean towards the paper"),
    "mixed": ("is mixed", "are mixed"),
    "equal": ("is equal", "are equal"),
    "against": ("leans against it", "lean against it"),
}


def conclude_claims(claims: pd.DataFrame) -> str:
    """One line for each claim of `compare`: where it holds, where the opposite does, and where the
    questions are too few to tell, with the differences.
    """
    if claims.empty:
        return "No two of these systems are compared by a paper."
    places = [c for c in claims if c in ("dataset", "model", "demonstrations")]
    lines = []
    for claim, rows in claims.groupby("claim", sort=False):
        better, worse = claim.split(" > ")
        verb = VERBS.get(rows["metric"].iloc[0], "answers better than")
        parts = []
        for verdict, first, later in (
            ("holds", f"**{better} {verb} {worse}**", ""),
            ("does not hold", f"**{worse} {verb} {better}**", "the opposite holds"),
            ("cannot tell", f"Whether {better} {verb} {worse} cannot be told", "cannot be told"),
            ("not tested", f"That {better} {verb} {worse} was not tested", "not tested"),
        ):
            if len(chosen := rows[rows["verdict"] == verdict]):
                every = "all" if "hold" in verdict else "any of the"
                of_places = _name_places(chosen[places], len(rows), every)
                parts.append(f"{later if parts else first} {of_places}{_range(chosen)}")
        lines.append(f"- {'; '.join(parts)}.")
    n = sorted(set(claims["n"]))
    counts = str(n[0]) if len(n) == 1 else f"{n[0]} to {n[-1]}"
    lines.append(f"\nExact paired tests of {counts} questions each, uncorrected, p < {LEVEL}.")
    return "\n".join(lines)


def _name_places(places: pd.DataFrame, of: int, every: str) -> str:
    """Such as "on HotpotQA (mini-xxl) and IIRC (mini-xxl)", or "in 12 of 15 comparisons"."""
    if len(places) == of > 1:
        return f"in {every} {of} comparisons"
    if len(places) > FEW:
        return f"in {len(places)} of {of} comparisons"
    names = []
    for dataset, *others in places.itertuples(index=False):
        also = f" ({', '.join(map(title_of, others))})" if others else ""
        names.append(f"{title_of(dataset)}{also}")
    *first, last = names
    return f"on {', '.join(first)} and {last}" if first else f"on {last}"


def _range(rows: pd.DataFrame) -> str:
    ends = rows["mean"].agg(["min", "max"]).round(1) + 0.0  # no -0.0
    texts = dict.fromkeys(f"{end:+.1f}" for end in ends)
    return f" ({' to '.join(texts)} {UNITS.get(rows['metric'].iloc[0], 'points')})"


def conclude_verdicts(claims: pd.DataFrame, comparisons: pd.DataFrame) -> str:
    """How many of a paper's claims, and of their comparisons (`judge_claims`), hold, do not, or are
    undecided, and which claims.
    """
    if claims.empty:
        return "None of the paper's claims could be tested."
    lines = [f"Of the paper's {len(claims)} claims {count_verdicts(claims)}."]
    lines[0] += f" Of their {len(comparisons)} comparisons {count_verdicts(comparisons)}."
    for verdict in VERDICTS:
        of_verdict = claims[claims["verdict"] == verdict]
        names = of_verdict["claim"]
        if verdict == "not counted":
            names = names + " (" + of_verdict["note"] + ")"
        if len(names):
            lines.append(f"- *{verdict}*: {'; '.join(names)}")
    return "\n".join(lines)


def count_verdicts(table: pd.DataFrame) -> str:
    """How often claims or comparisons hold, do not, or are undecided, and which way these lean."""

    def say(column: str, words: Mapping[str, tuple[str, str]]) -> list[str]:
        counts = {name: int((table[column] == name).sum()) for name in words}
        return [f"{n} {words[name][n > 1]}" for name, n in counts.items() if n]

    hold = say("verdict", {"holds": ("holds", "hold")}) or ["none holds"]
    fail = say("verdict", {"does not hold": ("does not", "do not")}) or ["none is refuted"]
    undecided = ", ".join(say("verdict", {"cannot tell": ("is undecided", "are undecided")}))
    if leaning := say("leans", LEANS):
        undecided += f" ({', '.join(leaning)})"
    others = {name: (f"is {name}", f"are {name}") for name in ("not tested", "not counted")}
    parts = [*hold, *fail, undecided, *say("verdict", others)]
    return ", ".join(filter(None, parts))
