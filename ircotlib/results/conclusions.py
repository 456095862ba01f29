"""What was found, in sentences made of the numbers: what a notebook says first, for any model and
data. Each function returns Markdown.
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from ircotlib.results.shown import title_of
from ircotlib.results.statistics import LEVEL, VERDICTS

FEW = 4  # places that are named, of more only how many
VERBS = {"recall": "finds more than", "factual": "writes fewer chains with a false fact than"}
UNITS = {"recall": "points of recall", "f1": "points of F1"}
NO_ORDER = "No order of the papers' is there to compare with."
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


def conclude_means(means: pd.DataFrame) -> str:
    """Which system of the head to head answers best, by how much, and what cannot be told apart
    from SearChain; of each retriever.
    """
    lines = []
    for retriever, rows in means.groupby("retriever", sort=False):
        ranked = rows.sort_values("mean", ascending=False, kind="stable")
        best = ranked.iloc[0]
        text = f"With {retriever}, **{best['system']} answers best: {best['mean']:.1f}%**"
        for label, mask in (
            ("the best that searches once,", ranked["retrievals"].between(0.01, 1)),
            ("the best that does not search,", ranked["retrievals"] == 0),
        ):
            if mask.any():
                row = ranked[mask].iloc[0]
                text += f"; {label} {row['system']} ({row['mean']:.1f}%)"
        lines.append(f"{text}.")
        if told := _beside_searchain(ranked):
            lines.append(f"In points, {told}.")
    return "\n\n".join(lines) or "No system was run on all data sets."


def conclude_causes(causes: pd.DataFrame) -> str:
    """Each system's most frequent cause of wrong answers, over all data sets."""
    lines = []
    for system, rows in causes.groupby("system", sort=False):
        counts = rows.groupby("cause", observed=True)["n"].sum()
        if wrong := counts.sum():
            share = 100 * wrong / rows.drop_duplicates("dataset")["answers"].sum()
            most = f"{100 * counts.max() / wrong:.0f}% of them *{counts.idxmax()}*"
            lines.append(f"- **{system}** answers {share:.0f}% wrong, {most}.")
        else:
            lines.append(f"- **{system}** answers nothing wrong.")
    return "\n".join(lines)


def conclude_settings(settings: pd.DataFrame) -> str:
    """Which conclusion the head to head allows as in the papers, and which with equal tools
    (`compare_settings`): who is told apart from SearChain, and who gains.
    """
    if settings.empty:
        return "No system was run on all data sets."
    lines = []
    told = {}  # by setting, the systems that are told apart from SearChain
    for setting, rows in settings.groupby("setting", sort=False):
        best = rows.loc[rows["mean"].idxmax()]
        text = f"- *{setting}*: {best['system']} has the highest mean, {best['mean']:.1f}%"
        told[setting] = set(rows.loc[rows["p_holm"] < LEVEL, "system"])
        beside = _beside_searchain(rows)
        lines.append(f"{text}; {beside}." if beside else f"{text}.")
    gains = settings.dropna(subset="gain_p_holm") if "gain_p_holm" in settings else settings[:0]
    if len(gains):
        found = gains[gains["gain_p_holm"] < LEVEL]
        lines.append(
            f"- Of {len(gains)} systems that get anything in addition, these change: "
            f"{_with_points(found, 'gain')}; of the others it cannot be told."
        )
    if len(told) > 1:
        before, after = told.values()
        only = ", ".join(sorted(before - after)) or "none"
        lines.append(
            f"- Told apart from SearChain as in the papers, but not with equal tools: {only}."
        )
    return "\n".join(lines)


def _beside_searchain(rows: pd.DataFrame) -> str:
    """Which systems are better than SearChain, and which cannot be told apart from it; "" if none
    was compared with it.
    """
    tested = rows.dropna(subset="p_holm")
    better = tested[(tested["p_holm"] < LEVEL) & (tested["difference"] > 0)]
    alike = tested[tested["p_holm"] >= LEVEL]
    if tested.empty:
        return ""
    first, second = (_with_points(some, "difference") for some in (better, alike))
    return f"better than SearChain: {first}; not told apart from it: {second}"


def _with_points(rows: pd.DataFrame, column: str) -> str:
    """Such as "Self-Ask (+5.3), ReAct (+1.0)", the most first; of more than twice FEW so many."""
    ranked = rows.sort_values(column, ascending=False, kind="stable")[["system", column]]
    texts = [f"{system} ({value:+.1f})" for system, value in ranked.to_numpy()[: 2 * FEW]]
    more = len(ranked) - len(texts)
    return ", ".join(texts + ([f"and {more} more"] if more else [])) or "none"


def conclude_told_apart(first: pd.DataFrame, systems: Sequence[str]) -> str:
    """Where single data sets tell some systems apart, of which the means may not: by the corrected
    tests against SearChain, IRCoT QA and the best of the data set. `first`: rows of the big table
    with the first measure of each data set.
    """
    lines = []
    for dataset, rows in first.groupby("dataset", sort=False):
        mean = rows.set_index("system")["mean"]
        rivals = {"p_against_searchain": "SearChain", "p_against_ircot": "IRCoT QA"}
        rivals |= {"p_against_best": mean.idxmax()}
        pairs = {}
        for column, rival in rivals.items():
            apart = rows[(rows[column] < LEVEL) & rows["system"].isin(systems)]["system"]
            for system in apart if rival in systems else ():
                pair = sorted((system, rival), key=mean.__getitem__)
                pairs[tuple(pair)] = (
                    f"{pair[0]} ({mean[pair[0]]:.0f}) < {pair[1]} ({mean[pair[1]]:.0f})"
                )
        if pairs:
            lines.append(f"- {title_of(dataset)}: {', '.join(pairs.values())}")
    names = ", ".join(systems)
    if not lines:
        return f"No data set tells any of these apart: {names}."
    return "\n".join([f"Of {names}, single data sets tell apart only:", "", *lines])


def conclude_orders(orders: pd.DataFrame) -> str:
    """How far our order of systems is that of the papers (`agree_in_order`): among all, and within
    those with retrieval and those without.
    """
    if orders.empty:
        return NO_ORDER
    lines = []
    tested = orders.dropna(subset="tau")
    for (among, metric), rows in tested.groupby(["among", "metric"], sort=False):
        ends = rows["tau"].agg(["min", "max"])
        sure = int((rows["p"] < LEVEL).sum())
        lines.append(
            f"- {among}, {title_of(metric)}: tau {ends.iloc[0]:+.2f} to {ends.iloc[1]:+.2f}; "
            f"an agreement is shown on **{sure} of {len(rows)}** data sets"
        )
    return "\n".join(lines) or NO_ORDER
