"""Writes the numbers in README.md from figures/*.csv, between marker comments such as
<!-- classes -->: python -m docs.write_numbers
"""

import re

import pandas as pd

from ircot_studies.ask_or_state import RESOLVED, SENTENCE
from ircot_studies.real_gains import AGAIN, MORE, NEVER, TWO
from ircotlib.files import ROOT
from ircotlib.results.tables import title_of
from ircotlib.systems import CLOSED, ONCE, STEPWISE, all_systems

FIGURES = ROOT / "figures"


def classes() -> str:
    """The range of the means of the head to head, by how systems search."""
    table = pd.read_csv(FIGURES / "head_to_head_means.csv")
    kinds = {name: system.family[0] for name, system in all_systems().items()}
    kinds |= {"SearChain": STEPWISE, "SearChain w/o IR": CLOSED}
    means = table.groupby(table["system"].map(kinds))["mean"]
    ends = means.agg(["min", "max"]).round().astype(int)
    said = {kind: f"{row['min']} to {row['max']}%" for kind, row in ends.iterrows()}
    return (
        f"systems that search again answer {said[STEPWISE]} of the questions with open "
        f"answers, those that search once or plan ahead {said[ONCE]}, those that do "
        f"not search {said[CLOSED]}"
    )


def ask() -> str:
    """What a sub-question and a sentence find of later hops, by data set and K."""
    shares = pd.read_csv(FIGURES / "ask_or_state_sample.csv")
    found = shares.set_index(["query", "k", "dataset"])["mean"]
    tests = pd.read_csv(FIGURES / "ask_or_state_contrasts_sample.csv")
    tests = tests[(tests["second"] == SENTENCE) & (tests["k"] == tests["second_k"])]
    parts = []
    for test in tests.sort_values("dataset", ascending=False).itertuples():
        both = [found[query, test.k, test.dataset] for query in (RESOLVED, SENTENCE)]
        parts.append(
            f"{both[0]:.0f}% against {both[1]:.0f}% on {title_of(test.dataset)}, K = "
            f"{test.k} ({test.difference:+.1f} points "
            f"[{test.low:.1f}, {test.high:.1f}])"
        )
    return ", ".join(parts)


def chains() -> str:
    """How often a sentence of Llama's brings in a missing page, if it names it."""
    sentences = pd.read_csv(ROOT / "data" / "real_chains.csv.gz")
    share = 100 * sentences.groupby("names")["brings"].mean()
    return f"{share[1]:.1f}% of cases, any other sentence in {share[0]:.1f}%"


def hops() -> str:
    """What retrieval step by step adds to Llama's answers on MuSiQue, by hops."""
    table = pd.read_csv(FIGURES / "real_outputs_hops.csv")
    table = table.set_index(["model", "contrast", "hops"]).sort_index()
    gains = table.loc["Llama-3.1-8B-Instruct", f"{AGAIN} − {NEVER}"]
    parts = [
        f"{row.difference:+.1f} [{row.low:.1f}, {row.high:.1f}] with {row.Index}"
        for row in gains.loc[[TWO, MORE]].itertuples()
    ]
    return ", ".join(parts)


def write(text: str) -> str:
    """The page with the current numbers."""
    for number in (ask, chains, hops, classes):
        name = number.__name__
        place = re.compile(f"(?s)(?<=<!-- {name} -->).*?(?=<!-- /{name} -->)")
        text, found = place.subn(number(), text)
        assert found == 1, f"README.md: found {found} places for {name}, expected one"
    return text


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(write(readme.read_text(encoding="utf-8")), encoding="utf-8")
