"""Judgements of the sentences of chains of thought, by people or by the laboratory's judge, in
data/annotations (IRCoT §5, Figure 7). `agreement` compares annotators, `factuality` counts errors.

One file an annotator, one line a click; nothing is ever changed or removed in it. Several windows
may write to it at once, if it is on a local disk.
"""

import json
import os
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from ircotlib.data import Question
from ircotlib.factuality import Item
from ircotlib.paths import DATA

ANNOTATIONS = DATA / "annotations"
TRUE, FALSE, UNSURE = VERDICTS = ("true", "false", "unsure")
JUDGE = "judge"  # the name under which a program judges
NAME = re.compile(r"[A-Za-z0-9][\w-]*")
Verdicts = dict[tuple[str, int], str]  # by item and sentence


@dataclass(frozen=True, slots=True)
class Judgement:
    """One click: what an annotator says of a sentence of an item; sentences count from 0.

    `verdict`: "true", "false" or "unsure"; None takes the last judgement of this sentence back.
    """

    annotator: str
    item: str
    sentence: int
    verdict: str | None
    note: str = ""
    time: str = ""


def judge_sentence(
    annotator: str,
    item: str,
    sentence: int,
    verdict: str | None,
    note: str = "",
    folder: Path = ANNOTATIONS,
) -> Judgement:
    """Append a judgement to the annotator's file; it is on the disk when this returns."""
    judgement = Judgement(annotator, item, sentence, verdict, note)
    return write_judgements([judgement], folder)[0]


def write_judgements(judgements: Iterable[Judgement], folder: Path = ANNOTATIONS) -> list:
    """Append judgements, dated now, to the files of their annotators: one write a line, so that
    lines of several windows never mix, and one fsync a file.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    dated = [Judgement(**asdict(one) | {"time": one.time or now}) for one in judgements]
    for one in dated:
        if one.verdict not in (*VERDICTS, None):
            expected = f"{', '.join(VERDICTS)}, or None to take one back"
            raise ValueError(f"found the verdict {one.verdict!r}, expected {expected}")
    for annotator in dict.fromkeys(one.annotator for one in dated):
        lines = [json.dumps(asdict(one)) for one in dated if one.annotator == annotator]
        _append(file_of(annotator, folder), lines)
    return dated


def _append(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            os.write(file, b"\n")  # ends the line of a process that was killed
        for line in lines:
            written = f"{line}\n".encode()
            if os.write(file, written) < len(written):
                raise OSError(f"found no room to write a judgement to {path}: free some space")
        os.fsync(file)
    finally:
        os.close(file)


def file_of(annotator: str, folder: Path = ANNOTATIONS) -> Path:
    """The file of an annotator; ValueError for a name that could be no file's."""
    if not NAME.fullmatch(annotator):
        expected = "letters, digits, - and _, as ada"
        raise ValueError(f"found the annotator's name {annotator!r}, expected {expected}")
    return Path(folder) / f"{annotator}.jsonl"


def all_annotators(folder: Path = ANNOTATIONS) -> list[str]:
    """Who has a file, by name."""
    return sorted(path.stem for path in Path(folder).glob("*.jsonl"))


def read_judgements(annotator: str, folder: Path = ANNOTATIONS) -> list[Judgement]:
    """The judgements of an annotator that count, in order: those that were taken back are left out.

    A line that is no judgement, as a kill in the middle of writing leaves it, is left out with a
    warning.
    """
    standing, path = [], file_of(annotator, folder)
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            judgement = _read(line)
        except (ValueError, TypeError):
            found = f"{path}, line {number}: found {line[:60]!r}, expected a judgement"
            warnings.warn(f"{found}; the line is left out", stacklevel=2)
            continue
        if judgement.verdict is not None:
            standing.append(judgement)
        elif taken := _last(standing, (judgement.item, judgement.sentence)):
            standing.remove(taken)
    return standing


def _read(line: bytes) -> Judgement:
    """The judgement in a line; ValueError or TypeError where it is none."""
    judgement = Judgement(**json.loads(line))
    named = isinstance(judgement.item, str) and type(judgement.sentence) is int
    if not named or judgement.verdict not in (*VERDICTS, None):
        raise ValueError(f"found {judgement}, expected a judgement")
    return judgement


def _last(judgements: Sequence[Judgement], place: tuple[str, int]) -> Judgement | None:
    found = (one for one in reversed(judgements) if (one.item, one.sentence) == place)
    return next(found, None)


def undo(annotator: str, folder: Path = ANNOTATIONS) -> Judgement | None:
    """Take back the annotator's last judgement that counts; return it, or None if there is none.
    What was said of the sentence before counts again.
    """
    standing = read_judgements(annotator, folder)
    if not standing:
        return None
    judge_sentence(annotator, standing[-1].item, standing[-1].sentence, None, folder=folder)
    return standing[-1]


def verdicts(judgements: Iterable[Judgement]) -> Verdicts:
    """What counts: the last judgement of each sentence."""
    return {(one.item, one.sentence): one.verdict for one in judgements}


def read_verdicts(annotator: str, folder: Path = ANNOTATIONS) -> Verdicts:
    """What counts of an annotator."""
    return verdicts(read_judgements(annotator, folder))


def let_judge(
    items: Sequence[Item], says: Callable[[str, Question], str], folder: Path = ANNOTATIONS
) -> Verdicts:
    """Let a program judge all sentences that are facts, as the annotator "judge", and return what
    it says; only what it has not said before is written.
    """
    facts = [(item, n) for item in items for n in range(item.facts)]
    said = {(item.id, n): says(item.sentences[n], item.question) for item, n in facts}
    before = read_verdicts(JUDGE, folder)
    new = [(place, verdict) for place, verdict in said.items() if before.get(place) != verdict]
    write_judgements([Judgement(JUDGE, *place, verdict) for place, verdict in new], folder)
    return said


class Progress(NamedTuple):
    """How many sentences are judged, of how many; and the same of whole chains."""

    sentences: int
    of_sentences: int
    chains: int
    of_chains: int


def progress(items: Sequence[Item], judged: Verdicts) -> Progress:
    """How far an annotator is."""
    left = [sum((item.id, n) not in judged for n in range(item.facts)) for item in items]
    total = sum(item.facts for item in items)
    return Progress(total - sum(left), total, left.count(0), len(items))


def first_open(items: Sequence[Item], judged: Verdicts) -> tuple[int, int] | None:
    """Where to go on: the place of the first item with a sentence not judged, and that sentence."""
    places = ((i, n) for i, item in enumerate(items) for n in range(item.facts))
    return next((place for place in places if (items[place[0]].id, place[1]) not in judged), None)
