"""Judgements of sentences (IRCoT §5, Figure 7), a line per click, and how far
annotators agree.
"""

import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from operator import eq
from pathlib import Path
from typing import Literal

import pandas as pd
from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
from sklearn.metrics import cohen_kappa_score

from ircotlib.annotate.factuality import Item, Verdicts
from ircotlib.data import Question
from ircotlib.errors import UserError
from ircotlib.files import DATA

ANNOTATIONS = DATA / "annotations"
JUDGE = "judge"  # a program that judges, as the laboratory has one, beside the people
ADJUDICATOR = "adjudicator"  # the annotator whose verdict overrides all others


@dataclass(frozen=True, config={"strict": True})
class Judgement:
    """One click: a verdict on a sentence of an item, counted from 0. None takes back
    the sentence's last click that stands, so that the one before it counts again.
    """

    annotator: str
    item: str
    sentence: int
    verdict: Literal["true", "false", "unsure"] | None
    time: str = ""


LINE = TypeAdapter(Judgement)


def is_person(annotator: str) -> bool:
    """Whether a person may judge under this name: a file can have it, and it is not
    JUDGE.
    """
    return (
        bool(re.fullmatch(r"[A-Za-z0-9][\w-]*", annotator))
        and annotator.casefold() != JUDGE
    )


def write_judgement(judgement: Judgement, folder: Path = ANNOTATIONS) -> None:
    """Append a judgement to its annotator's file, dated now."""
    if not is_person(name := judgement.annotator):
        raise UserError(
            f"found the annotator's name {name!r}, expected letters, digits, - and _"
        )
    row = asdict(judgement) | {"time": datetime.now(UTC).isoformat(timespec="seconds")}
    Path(folder).mkdir(parents=True, exist_ok=True)
    with (Path(folder) / f"{name}.jsonl").open("a") as file:
        # one write, so that lines of several windows never mix; a kill may have left
        # half a line
        file.write(f"\n{json.dumps(row)}")


def read_clicks(annotator: str, folder: Path = ANNOTATIONS) -> list[Judgement]:
    """The clicks that stand, in order. A line that is no judgement, as a killed process
    may leave it, is left out with a warning.
    """
    path = Path(folder) / f"{annotator}.jsonl"
    standing: list[Judgement] = []
    for line in filter(None, path.read_bytes().split(b"\n") if path.exists() else ()):
        try:
            judgement = LINE.validate_json(line)
        except ValidationError:
            warnings.warn(
                f"{path}: left out {line[:60]!r}, expected a judgement", stacklevel=2
            )
            continue
        if judgement.verdict:
            standing.append(judgement)
            continue
        at = judgement.item, judgement.sentence
        same = [
            n for n, click in enumerate(standing) if (click.item, click.sentence) == at
        ]
        if same:
            standing.pop(same[-1])
    return standing


def read_verdicts(annotator: str, folder: Path = ANNOTATIONS) -> Verdicts:
    """The last verdict on each sentence, in the order of clicks (see `read_clicks`)."""
    verdicts: Verdicts = {}
    for click in read_clicks(annotator, folder):
        verdicts.pop((click.item, click.sentence), None)  # it comes last now
        verdicts[click.item, click.sentence] = click.verdict
    return verdicts


def undo(annotator: str, folder: Path = ANNOTATIONS) -> tuple[str, int] | None:
    """Take back the last click, if any; return its item and sentence, whose verdict
    before the click counts again.
    """
    clicks = read_clicks(annotator, folder)
    if not clicks:
        return None
    last = clicks[-1]
    write_judgement(Judgement(annotator, last.item, last.sentence, None), folder)
    return last.item, last.sentence


def read_judgements(folder: Path = ANNOTATIONS) -> dict[str, Verdicts]:
    """The verdicts of every annotator, and those that several settle on, under joined
    names.
    """
    names = filter(
        is_person, sorted(path.stem for path in Path(folder).glob("*.jsonl"))
    )
    judged = {name: read_verdicts(name, folder) for name in names}
    return judged | ({" + ".join(judged): settle(judged)} if len(judged) > 1 else {})


def judge_all(items: Sequence[Item], judge: Callable[[str, Question], str]) -> Verdicts:
    """The verdicts of a program, which knows the facts, on all sentences that are
    judged.
    """
    return {
        (item.id, n): judge(sentence, item.question)
        for item in items
        for n, sentence in enumerate(item.sentences[: item.facts])
    }


def settle(judged: Mapping[str, Verdicts]) -> Verdicts:
    """One verdict for each sentence that has the adjudicator's, or one that all others
    share.
    """
    given = {}
    for verdicts in judged.values():
        for sentence, verdict in verdicts.items():
            given.setdefault(sentence, set()).add(verdict)
    agreed = {sentence: min(each) for sentence, each in given.items() if len(each) == 1}
    return agreed | judged.get(ADJUDICATOR, {})


def agreement(a: Verdicts, b: Verdicts) -> tuple[float, float, int]:
    """How far two annotators agree on the sentences that both have judged: Cohen's
    kappa, NaN if both gave one verdict throughout; the share of equal verdicts; the
    number of sentences.
    """
    both = [sentence for sentence in a if sentence in b]
    ours, theirs = ([verdicts[sentence] for sentence in both] for verdicts in (a, b))
    same = sum(map(eq, ours, theirs)) / len(both) if both else float("nan")
    kappa = (
        cohen_kappa_score(ours, theirs) if len({*ours, *theirs}) > 1 else float("nan")
    )
    return kappa, same, len(both)


def disagreements(
    items: Sequence[Item], judged: Mapping[str, Verdicts]
) -> pd.DataFrame:
    """The sentences not settled, with each annotator's verdict: work for an
    adjudicator.
    """
    settled = settle(judged)
    rows = []
    for item in items:
        for n, text in enumerate(item.sentences[: item.facts]):
            given = {
                who: each[item.id, n]
                for who, each in judged.items()
                if (item.id, n) in each
            }
            if given and (item.id, n) not in settled:
                row = {"item": item.id, "question": item.question.text, "sentence": n}
                rows.append(row | {"text": text} | given)
    return pd.DataFrame(
        rows, columns=None if rows else ["item", "question", "sentence", "text"]
    )
