"""The head to head of all systems: which run, on what, and by which measures (ours)."""

import pandas as pd

from ircotlib.datasets import find_dataset
from ircotlib.parameters import Parameters
from ircotlib.systems import ANSWER, SEARCHAIN, System, choose_systems

EXPERIMENT = "11_head_to_head"
# without retrieval: its right answers count as what the model knows (ours)
KNEW = "CoT"


def systems_of(p: Parameters) -> list[System]:
    """SearChain's systems and IRCoT's with a reader; or those of `p` that answer."""
    if p.systems:
        return [each for each in choose_systems(p.systems) if each.tuned_by == ANSWER]
    of_ircot = [each for each in choose_systems() if each.reads]
    return choose_systems(study=SEARCHAIN) + of_ircot


def for_head_to_head(p: Parameters) -> Parameters:
    """The parameters with the model for all systems, and with both papers' data."""
    test = p.head_to_head_test or p.test
    return p.for_agent().change(datasets=p.head_to_head, test=test)


def measures_of(dataset: str) -> list[str]:
    """Cover-EM, as in SearChain, or the data set's own measure; then F1, as in IRCoT,
    if any.
    """
    record = find_dataset(dataset)
    measures = [record.covering, "f1"] if "f1" in record.scores else [record.covering]
    return list(dict.fromkeys(measures))


def first_measures(table: pd.DataFrame) -> pd.Series:
    """ROUGE-L for ELI5, for all others cover-EM (SearChain §4.1.1), row by row."""
    first = {name: measures_of(name)[0] for name in table["dataset"].unique()}
    return table["dataset"].map(first)
