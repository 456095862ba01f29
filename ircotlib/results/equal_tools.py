"""What it changes to count a reply that could not be read as no answer."""

from collections.abc import Iterable

import pandas as pd

from ircotlib.results.causes import read_attempt
from ircotlib.systems import all_systems


def compare_rules(runs: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """What the rule for replies that could not be read decides, by system, over all data sets: how
    many answers are whole texts, the mean in percent with this rule (`score`), and with the other
    one, by which such a reply is no answer. `runs`: tables of `find_causes`; systems of which all
    replies were read are left out.
    """
    rows = []
    for table in runs:
        system = table["system"].iloc[0]
        unmarked = not all_systems()[system].study.whole_texts
        parsed = [read_attempt(row, unmarked=unmarked).parsed for row in table.to_dict("records")]
        scores = 100 * table[table["metric"].iloc[0]]
        row = {"system": system, "answers": len(parsed), "whole texts": len(parsed) - sum(parsed)}
        rows.append(row | {"mean": scores.mean(), "as no answer": (scores * parsed).mean()})
    columns = ["system", "answers", "whole texts", "mean", "as no answer"]
    by_system = pd.DataFrame(rows, columns=columns).groupby("system", sort=False)
    counts = by_system[["answers", "whole texts"]].sum()
    table = counts.join(by_system[["mean", "as no answer"]].mean())
    return table[table["whole texts"] > 0].sort_values("whole texts", ascending=False)
