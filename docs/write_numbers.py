"""Writes the numbers in README.md from figures/*.csv, between marker comments such as
<!-- classes -->: python -m docs.write_numbers
"""

import re
from pathlib import Path

import pandas as pd

from ircot_studies import real_gains
from ircot_studies.ask_or_state import RESOLVED, SENTENCE
from ircotlib.results.tables import title_of
from ircotlib.systems import CLOSED, ONCE, STEPWISE, all_systems

ROOT = Path(__file__).resolve().parents[1]
AGAIN, BEFORE, NEVER = "search again", "search once or plan ahead", "do not search"
CLASSES = {STEPWISE: AGAIN, ONCE: BEFORE, CLOSED: NEVER}
# of one system, not rivals
PARTS = ("SearChain w/o Verification", "SearChain w/o Completion")


def classes() -> str:
    """The range of the means of the head to head, by how systems search."""
    table = pd.read_csv(ROOT / "figures" / "head_to_head_means.csv")
    kinds = {name: system.family[0] for name, system in all_systems().items()}
    kinds["SearChain"] = STEPWISE
    kinds["SearChain w/o IR"] = CLOSED
    table["class"] = table["system"].map(kinds).map(CLASSES)
    table = table[~table["system"].isin(PARTS)]
    ranges = table.groupby("class")["mean"].agg(["min", "max"]).round().astype(int)
    texts = {name: f"{row['min']} to {row['max']}%" for name, row in ranges.iterrows()}
    return (
        f"systems that {AGAIN} answer {texts[AGAIN]} of the questions with open "
        f"answers, those that {BEFORE} {texts[BEFORE]}, those that {NEVER} "
        f"{texts[NEVER]}"
    )


def ask() -> str:
    """What a sub-question and a sentence find of later hops, by data set and K."""
    shares = pd.read_csv(ROOT / "figures" / "ask_or_state_sample.csv")
    found = shares.set_index(["query", "k", "dataset"])["mean"]
    tests = pd.read_csv(ROOT / "figures" / "ask_or_state_contrasts_sample.csv")
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
    named = sentences.groupby("names")["brings"].agg(["mean", "size"])
    share = {names: f"{100 * row['mean']:.1f}%" for names, row in named.iterrows()}
    return f"{share[1]} of cases, any other sentence in {share[0]}"


def hops() -> str:
    """What retrieval step by step adds to Llama's answers on MuSiQue, by hops."""
    table = pd.read_csv(ROOT / "figures" / "real_outputs_hops.csv")
    contrast = f"{real_gains.AGAIN} − {real_gains.NEVER}"
    of_llama = table["model"] == "Llama-3.1-8B-Instruct"
    rows = table[of_llama & (table["contrast"] == contrast)].set_index("hops")
    parts = [
        f"{row['difference']:+.1f} [{row['low']:.1f}, {row['high']:.1f}] with {name}"
        for name, row in rows.loc[[real_gains.TWO, real_gains.MORE]].iterrows()
    ]
    return ", ".join(parts)


def write(text: str) -> str:
    """The page with the current numbers."""
    numbers = {"ask": ask(), "chains": chains(), "hops": hops(), "classes": classes()}
    for name, number in numbers.items():
        place = re.compile(f"(?s)(?<=<!-- {name} -->).*?(?=<!-- /{name} -->)")
        text, found = place.subn(number, text)
        assert found == 1, f"README.md: found {found} places for {name}, expected one"
    return text


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(write(readme.read_text(encoding="utf-8")), encoding="utf-8")
