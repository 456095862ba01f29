"""Several annotators: how far they agree, where they disagree, and the verdicts they settle on."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from ircotlib.annotate import judgements
from ircotlib.annotate.judgements import ANNOTATIONS, JUDGE, Verdicts
from ircotlib.results.factuality import Item

ADJUDICATOR = "adjudicator"  # the annotator whose verdict overrides all others


def read_judgements(folder: Path = ANNOTATIONS) -> dict[str, Verdicts]:
    """The current verdicts of every annotator, by name; with several people also the verdicts that
    they settle on (`settle`), under their joined names.
    """
    names = sorted(path.stem for path in Path(folder).glob("*.jsonl"))
    judged = {name: judgements.read_verdicts(name, folder) for name in names}
    names = [name for name in judged if name != JUDGE]
    together = {" + ".join(names): settle({name: judged[name] for name in names})}
    return judged | (together if len(names) > 1 else {})


class Agreement(NamedTuple):
    """Of two annotators: Cohen's kappa, the share of equal verdicts, the number of sentences."""

    kappa: float
    same: float
    n: int


def agreement(a: Verdicts, b: Verdicts) -> Agreement:
    """How far two annotators agree on the sentences that both have judged (Cohen 1960). Kappa is
    NaN if both gave one and the same verdict throughout, or share no sentence.
    """
    pairs = [(a[sentence], b[sentence]) for sentence in a if sentence in b]
    if not pairs:
        return Agreement(float("nan"), float("nan"), 0)
    n, (of_a, of_b) = len(pairs), map(Counter, zip(*pairs, strict=True))
    same = sum(x == y for x, y in pairs) / n
    chance = sum(of_a[verdict] * of_b[verdict] for verdict in of_a) / n**2
    kappa = (same - chance) / (1 - chance) if chance < 1 else float("nan")
    return Agreement(kappa, same, n)


def settle(judged: Mapping[str, Verdicts]) -> Verdicts:
    """One verdict per sentence from several annotators: the adjudicator's if there is one, else
    the verdict on which all who judged the sentence agree. Others are left out.
    """
    given = {}
    for verdicts in judged.values():
        for sentence, verdict in verdicts.items():
            given.setdefault(sentence, set()).add(verdict)
    agreed = {sentence: min(each) for sentence, each in given.items() if len(each) == 1}
    return agreed | judged.get(ADJUDICATOR, {})


def disagreements(items: Sequence[Item], judged: Mapping[str, Verdicts]) -> pd.DataFrame:
    """The sentences not settled, with each annotator's verdict: work for an adjudicator."""
    settled = settle(judged)
    rows = []
    for item in items:
        for n, text in enumerate(item.sentences[: item.facts]):
            given = {who: each[item.id, n] for who, each in judged.items() if (item.id, n) in each}
            if given and (item.id, n) not in settled:
                row = {"item": item.id, "question": item.question.text}
                rows.append(row | {"sentence": n, "text": text} | given)
    return pd.DataFrame(rows, columns=None if rows else ["item", "question", "sentence", "text"])
