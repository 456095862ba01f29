"""Judgements of the sentences of chains of thought, by people or by the laboratory's judge, in
data/annotations (IRCoT §5, Figure 7). `agreement` compares annotators, `factuality` counts errors.

Each annotator has one file, to which each click appends a line; no line is ever changed or removed.
Several windows may write to the same file at once if it is on a local disk.
"""

import json
import os
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from ircotlib.data import Question
from ircotlib.errors import DataError
from ircotlib.files.paths import DATA
from ircotlib.results.factuality import Item

ANNOTATIONS = DATA / "annotations"
TRUE, FALSE, UNSURE = VERDICTS = ("true", "false", "unsure")
JUDGE = "judge"  # the program that judges, as an annotator
NAME = re.compile(r"[A-Za-z0-9][\w-]*")
Verdicts = dict[tuple[str, int], str]  # by item and sentence


@dataclass(frozen=True, slots=True)
class Judgement:
    """One click: an annotator's verdict on a sentence of an item, counted from 0; None takes back
    the last one.
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
    """Append a judgement to the annotator's file; it is on the disk when this returns. Raises
    DataError for the name of the program that judges.
    """
    if not is_person(annotator):
        expected = f"expected letters, digits, - and _, and not {JUDGE!r}, which is the program"
        raise DataError(f"found the annotator's name {annotator!r}, {expected}")
    return write_judgements([Judgement(annotator, item, sentence, verdict, note)], folder)[0]


def write_judgements(judgements: Iterable[Judgement], folder: Path = ANNOTATIONS) -> list:
    """Append judgements to the files of their annotators, dated now, and return them. Each line is
    one write, so that lines of several windows never mix. Raises DataError for an unknown verdict,
    OSError if the disk is full.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    lines = {}
    dated = [replace(judgement, time=now) for judgement in judgements]
    for judgement in dated:
        if judgement.verdict not in (*VERDICTS, None):
            expected = f"{', '.join(VERDICTS)}, or None to take one back"
            raise DataError(f"found the verdict {judgement.verdict!r}, expected {expected}")
        path = file_of(judgement.annotator, folder)
        lines.setdefault(path, []).append(json.dumps(asdict(judgement)))
    for path in lines:
        _append(path, lines[path])
    return dated


def _append(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            os.write(file, b"\n")  # ends a line that a killed process left unfinished
        for line in lines:
            written = f"{line}\n".encode()
            if os.write(file, written) < len(written):
                raise OSError(f"found no room to write a judgement to {path}: free some space")
        os.fsync(file)
    finally:
        os.close(file)


def is_person(annotator: str) -> bool:
    """Whether a person may judge by this name: it can be a file name, and is not the program's."""
    return NAME.fullmatch(annotator) is not None and annotator.casefold() != JUDGE


def file_of(annotator: str, folder: Path = ANNOTATIONS) -> Path:
    """The file of an annotator; raises ValueError for a name that cannot be a file name."""
    if not NAME.fullmatch(annotator):
        expected = "letters, digits, - and _, such as ada"
        raise DataError(f"found the annotator's name {annotator!r}, expected {expected}")
    return Path(folder) / f"{annotator}.jsonl"


def read_judgements(annotator: str, folder: Path = ANNOTATIONS) -> list[Judgement]:
    """The judgements of an annotator in order, without those that were taken back. A line that is
    none, such as one cut off by a kill, is left out with a warning.
    """
    path = file_of(annotator, folder)
    standing = []
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            judgement = Judgement(**json.loads(line))
            texts = judgement.item, judgement.note, judgement.time
            typed = all(isinstance(text, str) for text in texts) and type(judgement.sentence) is int
            if not typed or judgement.verdict not in (*VERDICTS, None):
                raise ValueError
        except (ValueError, TypeError, RecursionError):
            problem = f"{path}, line {number}: found {line[:60]!r}, expected a judgement"
            warnings.warn(f"{problem}; the line is left out", stacklevel=2)
            continue
        sentence = judgement.item, judgement.sentence
        if judgement.verdict is not None:
            standing.append(judgement)
        elif same := [n for n, j in enumerate(standing) if (j.item, j.sentence) == sentence]:
            del standing[same[-1]]
    return standing


def undo(annotator: str, folder: Path = ANNOTATIONS) -> Judgement | None:
    """Take back the annotator's last judgement, if any, and return it; an earlier judgement of the
    sentence then counts again.
    """
    standing = read_judgements(annotator, folder)
    if not standing:
        return None
    judge_sentence(annotator, standing[-1].item, standing[-1].sentence, None, folder=folder)
    return standing[-1]


def read_verdicts(annotator: str, folder: Path = ANNOTATIONS) -> Verdicts:
    """The current verdicts of an annotator: the last judgement of each sentence counts."""
    judgements = read_judgements(annotator, folder)
    return {(judgement.item, judgement.sentence): judgement.verdict for judgement in judgements}


def judge_all(
    items: Sequence[Item], judge: Callable[[str, Question], str], folder: Path = ANNOTATIONS
) -> Verdicts:
    """Let a program judge all sentences that state facts, as the annotator "judge", and return its
    verdicts; only new or changed ones are written.
    """
    before = read_verdicts(JUDGE, folder)
    verdicts = {}
    for item in items:
        for n, sentence in enumerate(item.sentences[: item.facts]):
            verdicts[item.id, n] = judge(sentence, item.question)
    new = [(key, verdict) for key, verdict in verdicts.items() if before.get(key) != verdict]
    write_judgements([Judgement(JUDGE, *key, verdict) for key, verdict in new], folder)
    return verdicts
