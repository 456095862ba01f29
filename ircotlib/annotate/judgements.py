"""Judgements of sentences (IRCoT §5, Figure 7), a line per click, and agreement."""

import json
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
from sklearn.metrics import cohen_kappa_score

from ircotlib.annotate.factuality import Item, Verdicts
from ircotlib.data import Question
from ircotlib.files import DATA

ANNOTATIONS = DATA / "annotations"
JUDGE = "judge"  # a program that judges, as the laboratory has one, beside the people
Verdict = Literal["true", "false", "unsure"]


@dataclass(frozen=True, config={"strict": True})
class Judgement:
    """One click: a verdict on a sentence of an item, counted from 0; None, in files of
    earlier versions: it was taken back.
    """

    annotator: str
    item: str
    sentence: int
    verdict: Verdict | None
    time: str = ""


LINE = TypeAdapter(Judgement)


def is_person(annotator: str) -> bool:
    """Whether a person may judge under this name: it is a file's, and not JUDGE."""
    names_a_file = re.fullmatch(r"[A-Za-z0-9][\w-]{0,59}", annotator) is not None
    return names_a_file and annotator.casefold() != JUDGE


def write_judgement(judgement: Judgement, folder: Path = ANNOTATIONS) -> None:
    """Append a judgement to the file of its annotator, who `is_person`, dated now."""
    row = asdict(judgement) | {"time": datetime.now(UTC).isoformat(timespec="seconds")}
    Path(folder).mkdir(parents=True, exist_ok=True)
    with (Path(folder) / f"{judgement.annotator}.jsonl").open("a") as file:
        # one write: lines of windows never mix; a kill may have left half a line before
        file.write(f"\n{json.dumps(row)}")


def read_verdicts(annotator: str, folder: Path = ANNOTATIONS) -> Verdicts:
    """The last verdict on each sentence. A line that is no judgement, as a killed
    process may leave it, is left out with a warning.
    """
    path = Path(folder) / f"{annotator}.jsonl"
    content = path.read_bytes() if path.exists() else b""
    verdicts: Verdicts = {}
    for line in filter(None, content.split(b"\n")):
        try:
            click = LINE.validate_json(line)
        except ValidationError:
            message = f"{path}: left out {line[:60]!r}, expected a judgement"
            warnings.warn(message, stacklevel=2)
            continue
        verdicts.pop((click.item, click.sentence), None)
        if click.verdict:
            verdicts[click.item, click.sentence] = click.verdict
    return verdicts


def read_judgements(folder: Path = ANNOTATIONS) -> dict[str, Verdicts]:
    """The verdicts of each annotator, by name."""
    names = sorted(path.stem for path in Path(folder).glob("*.jsonl"))
    return {name: read_verdicts(name, folder) for name in names if is_person(name)}


def judge_all(items: Sequence[Item], judge: Callable[[str, Question], str]) -> Verdicts:
    """The verdicts of a program, which knows the facts, on all that is judged."""
    return {
        (item.id, n): judge(sentence, item.question)
        for item in items
        for n, sentence in enumerate(item.sentences[: item.facts])
    }


def agreement(a: Verdicts, b: Verdicts) -> tuple[float, int]:
    """Cohen's kappa of two annotators on the sentences that both have judged, NaN if
    they gave one verdict throughout; and the number of these sentences.
    """
    shared = [sentence for sentence in a if sentence in b]
    ours = [a[sentence] for sentence in shared]
    theirs = [b[sentence] for sentence in shared]
    if len({*ours, *theirs}) < 2:
        return float("nan"), len(shared)
    return cohen_kappa_score(ours, theirs), len(shared)
