"""Judgements of sentences (IRCoT §5, Figure 7), a line per click, and agreement."""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from sklearn.metrics import cohen_kappa_score

from ircotlib.annotate.factuality import Item, Verdicts
from ircotlib.data import Question
from ircotlib.files import DATA

ANNOTATIONS = DATA / "annotations"
JUDGE = "judge"  # a program that judges, as the laboratory has one, beside the people


@dataclass(frozen=True)
class Judgement:
    """One click: a verdict on a sentence of an item, counted from 0. None takes back
    the sentence's last click that stands, so that the one before it counts again.
    """

    annotator: str
    item: str
    sentence: int
    verdict: str | None  # "true", "false", "unsure"
    time: str = ""

    @property
    def place(self) -> tuple[str, int]:
        return self.item, self.sentence


def is_person(annotator: str) -> bool:
    """Whether a person may judge under this name: it is a file's, and not JUDGE."""
    names_a_file = re.fullmatch(r"[A-Za-z0-9][\w-]*", annotator) is not None
    return names_a_file and annotator.casefold() != JUDGE


def write_judgement(judgement: Judgement, folder: Path = ANNOTATIONS) -> None:
    """Append a judgement to the file of its annotator (`is_person`), dated now."""
    row = asdict(judgement) | {"time": datetime.now(UTC).isoformat(timespec="seconds")}
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{judgement.annotator}.jsonl").open("a") as file:
        # one write, so that lines of several windows never mix; it begins with the line
        # break, because a kill may have left half a line
        file.write(f"\n{json.dumps(row)}")


def read_clicks(annotator: str, folder: Path = ANNOTATIONS) -> list[Judgement]:
    """The clicks that stand, in order; none without the name of a person."""
    standing: list[Judgement] = []
    path = folder / f"{annotator}.jsonl"
    if not is_person(annotator) or not path.exists():
        return standing
    for line in path.read_text().splitlines():
        with suppress(ValueError):  # empty, or half a line: its sentence is still open
            click = Judgement(**json.loads(line))
            same = [n for n, each in enumerate(standing) if each.place == click.place]
            if click.verdict:
                standing.append(click)
            elif same:
                del standing[same[-1]]
    return standing


def read_verdicts(annotator: str, folder: Path = ANNOTATIONS) -> Verdicts:
    """The last verdict on each sentence."""
    clicks = read_clicks(annotator, folder)
    return {click.place: str(click.verdict) for click in clicks}


def undo(annotator: str, folder: Path = ANNOTATIONS) -> tuple[str, int] | None:
    """Take back the last click, if any; return its item and sentence, whose verdict
    before the click counts again.
    """
    clicks = read_clicks(annotator, folder)
    if not clicks:
        return None
    write_judgement(Judgement(annotator, *clicks[-1].place, None), folder)
    return clicks[-1].place


def read_judgements(folder: Path = ANNOTATIONS) -> dict[str, Verdicts]:
    """The verdicts of each person."""
    names = sorted(path.stem for path in folder.glob("*.jsonl"))
    return {name: read_verdicts(name, folder) for name in names if is_person(name)}


def judge_all(items: Sequence[Item], judge: Callable[[str, Question], str]) -> Verdicts:
    """The verdicts of a program, which knows the facts, on all that is judged."""
    return {
        (item.id, n): judge(sentence, item.question)
        for item in items
        for n, sentence in enumerate(item.sentences[: item.facts])
    }


def agreement(a: Verdicts, b: Verdicts) -> tuple[float, float, int]:
    """How far two annotators agree on the sentences that both have judged: Cohen's
    kappa, NaN if both gave one verdict throughout; the share of equal verdicts; the
    number of sentences.
    """
    shared = [sentence for sentence in a if sentence in b]
    ours = [a[sentence] for sentence in shared]
    theirs = [b[sentence] for sentence in shared]
    kappa = same = float("nan")
    if shared:
        same = sum(a[sentence] == b[sentence] for sentence in shared) / len(shared)
    if len({*ours, *theirs}) > 1:
        kappa = cohen_kappa_score(ours, theirs)
    return kappa, same, len(shared)
