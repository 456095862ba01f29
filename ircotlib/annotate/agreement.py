"""Several annotators: how far they agree, where they disagree, and the verdicts they settle on."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from ircotlib.annotate.judgements import (
    ANNOTATIONS,
    JUDGE,
    Judgement,
    Verdicts,
    all_annotators,
    read_judgements,
    read_verdicts,
)
from ircotlib.results.factuality import Item

ADJUDICATOR = "adjudicator"  # the annotator whose verdict overrides all others


def read_all(folder: Path = ANNOTATIONS) -> dict[str, Verdicts]:
    """The current verdicts of every annotator, by name; with several people also the verdicts that
    they settle on (`settle`), under their joined names.
    """
    judged = {name: read_verdicts(name, folder) for name in all_annotators(folder)}
    names = [name for name in judged if name != JUDGE]
    together = {" + ".join(names): settle({name: judged[name] for name in names})}
    return judged | (together if len(names) > 1 else {})


class Agreement(NamedTuple):
    """Agreement of two annotators: Cohen's kappa, the share of equal verdicts, the number of
    sentences.
    """

    kappa: float
    same: float
    n: int


def agreement(a: Verdicts, b: Verdicts) -> Agreement:
    """How far two annotators agree on the sentences that both have judged (Cohen 1960).

    Kappa is NaN if both gave one and the same verdict throughout, or share no sentence.
    """
    both = [(a[place], b[place]) for place in a if place in b]
    if not both:
        return Agreement(float("nan"), float("nan"), 0)
    n, firsts, seconds = len(both), *(Counter(said) for said in zip(*both, strict=True))
    same = sum(x == y for x, y in both) / n
    chance = sum(firsts[verdict] * seconds[verdict] for verdict in firsts) / n**2
    kappa = (same - chance) / (1 - chance) if chance < 1 else float("nan")
    return Agreement(kappa, same, n)


def settle(judged: Mapping[str, Verdicts]) -> Verdicts:
    """One verdict per sentence from several annotators: the adjudicator's if there is one, else
    the verdict on which all who judged the sentence agree. Others are left out.
    """
    places = dict.fromkeys(place for said in judged.values() for place in said)
    last_word, settled = judged.get(ADJUDICATOR, {}), {}
    for place in places:
        said = {of[place] for of in judged.values() if place in of}
        if place in last_word or len(said) == 1:
            settled[place] = last_word.get(place) or said.pop()
    return settled


def disagreements(items: Sequence[Item], judged: Mapping[str, Verdicts]) -> pd.DataFrame:
    """The sentences that are not settled, with each annotator's verdict: work for an adjudicator,
    who judges them under the name "adjudicator".
    """
    settled, rows = settle(judged), []
    for item in items:
        for n, text in enumerate(item.sentences[: item.facts]):
            said = {who: of[item.id, n] for who, of in judged.items() if (item.id, n) in of}
            if said and (item.id, n) not in settled:
                row = {"item": item.id, "question": item.question.text}
                rows.append(row | {"sentence": n, "text": text} | said)
    return pd.DataFrame(rows, columns=None if rows else ["item", "question", "sentence", "text"])


def as_table(
    items: Sequence[Item], annotators: Sequence[str], folder: Path = ANNOTATIONS
) -> pd.DataFrame:
    """The current judgements of several annotators, to be written as CSV: one row per sentence and
    annotator. Judgements of items that are not in `items` are left out.
    """
    by_id, rows = {item.id: item for item in items}, []
    for annotator in annotators:
        last = {(one.item, one.sentence): one for one in read_judgements(annotator, folder)}
        for (id, n), one in last.items():
            if id in by_id and n < len(by_id[id].sentences):
                item = by_id[id]
                row = {"dataset": item.dataset, "system": item.system, "id": item.question.id}
                text = {"question": item.question.text, "text": item.sentences[n]}
                rows.append(row | text | asdict(one))
    columns = ["dataset", "system", "id", "question", "text", *Judgement.__slots__]
    return pd.DataFrame(rows, columns=columns)
