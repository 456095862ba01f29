"""Joins turns into transcripts: prompts that extend one text are one sequence."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ircot_laboratory.world.records import Fact
from training.teachers.play import Reply, Turn


class WrittenSpan(NamedTuple):
    """A part that the agent writes: text[start:end]."""

    stage: str
    start: int
    end: int
    ends: bool  # whether it stops there
    knowable: bool = True  # whether it can know this text (made-up names apart)


class CopiedName(NamedTuple):
    """A name or value at `at` that already stands at `source`."""

    at: int
    source: int
    known: int  # from where a causal model can know it; in "X wrote it.", the full stop
    name: str


class StatedFact(NamedTuple):
    """A fact of a passage: the place from which it is known, and that of its value."""

    known: int
    value: int
    fact: Fact


class DecidedFact(NamedTuple):
    """A place just before which the agent must know what it writes about, and the fact:
    where a value is written, or where a question, phrase or sentence about the fact
    begins.
    """

    at: int
    fact: Fact


class InferredFact(NamedTuple):
    """A fact that the agent must know just before `at` without having written it,
    because its answer is the subject of what it writes about there.
    """

    at: int
    fact: Fact
    # by how many facts it precedes that one, and so by how many layers; below 0: later
    back: int
    early: int = 0  # by how many tokens


class RecalledValue(NamedTuple):
    """A value that the agent must know just before `at`, or `early` tokens earlier,
    without having written it; `source`: the place from which a page states all of it,
    or `at`, if it knows it by heart; `back`: that of its fact.
    """

    at: int
    early: int
    value: str
    source: int
    back: int = 0


class ComparedPair(NamedTuple):
    """Two values that are compared, the later one and the earlier one, and the outcome
    (positions.py). For a Transcript's `weighed`, the agent has not written them: just
    before `at` it recalls one, and the question names the other at `other` or, if that
    is `at`, it recalls that one token earlier. For `asked`, it must know just before
    `at` which of two values is asked for; `other`: the word of the question that says
    so; the outcome that it asks for.
    """

    at: int
    other: int
    outcome: int


class ConcludedAt(NamedTuple):
    """Just before `at`, it must be known how two values compare; the later one."""

    at: int
    source: int


@dataclass
class Transcript:
    """A text, the spans that the agent writes, and where their words come from; all
    positions are in characters.
    """

    text: str
    spans: list[WrittenSpan] = field(default_factory=list)
    stop: str = ""  # the text that ended the last reply
    reply: Reply | None = None  # the last one
    copied: list[CopiedName] = field(default_factory=list)
    stated: list[StatedFact] = field(default_factory=list)
    decided: list[DecidedFact] = field(default_factory=list)
    inferred: list[InferredFact] = field(default_factory=list)
    compared: list[ComparedPair] = field(default_factory=list)
    concluded: list[ConcludedAt] = field(default_factory=list)
    asked: list[ComparedPair] = field(default_factory=list)
    recalled: list[RecalledValue] = field(default_factory=list)
    weighed: list[ComparedPair] = field(default_factory=list)
    # the start and end of each made-up name where it is first written
    made_up: list[tuple[int, int]] = field(default_factory=list)


# the lists of a transcript, and the fields of their members that are positions
POSITIONS = {
    "spans": ("start", "end"),
    "copied": ("at", "source", "known"),
    "stated": ("known", "value"),
    "decided": ("at",),
    "inferred": ("at",),
    "compared": ("at", "other"),
    "concluded": ("at", "source"),
    "asked": ("at", "other"),
    "recalled": ("at", "source"),
    "weighed": ("at", "other"),
}


def join_turns(turns: Sequence[Turn]) -> list[Transcript]:
    """A play's transcripts: a prompt that begins with an earlier one extends that."""
    transcripts: list[Transcript] = []
    for turn in turns:
        for transcript in reversed(transcripts):
            if turn.prompt.startswith(transcript.text):
                break
        else:
            transcript = Transcript(turn.prompt)
            transcripts.append(transcript)
        _write_turn(transcript, turn)
    for transcript in transcripts:
        _finish(transcript)
    return transcripts


def _write_turn(transcript: Transcript, turn: Turn) -> None:
    if transcript.spans and turn.prompt.startswith(transcript.text + transcript.stop):
        last = transcript.spans[-1]
        transcript.spans[-1] = last._replace(end=last.end + len(transcript.stop))
    whole = _after(turn.reply.text)
    received = whole[: whole.index(turn.received) + len(turn.received)]
    transcript.text = turn.prompt + received
    transcript.stop = turn.stop
    transcript.reply = turn.reply
    span = WrittenSpan(
        turn.stage,
        start=len(turn.prompt),
        end=len(transcript.text),
        ends=turn.reply.ends and not turn.stop and received == whole.rstrip(),
        knowable=turn.reply.knowable,
    )
    transcript.spans.append(span)


def _after(reply: str) -> str:
    """A reply as it follows its prompt: after its own line break, else a space."""
    return reply if reply.startswith("\n") else f" {reply}"


def _finish(transcript: Transcript) -> None:
    """Extend the last span to the whole reply, also if only a part was received."""
    last = transcript.spans[-1]
    transcript.text = transcript.text[: last.start] + _after(transcript.reply.text)
    ends = transcript.reply.ends
    transcript.spans[-1] = last._replace(end=len(transcript.text), ends=ends)


def join_transcripts(transcripts: Sequence[Transcript], between: str) -> Transcript:
    """One transcript of several independent ones, with a text between them."""
    whole = Transcript("")
    for transcript in transcripts:
        whole.text += between if whole.text else ""
        at = len(whole.text)
        whole.text += transcript.text
        whole.made_up += [(at + start, at + end) for start, end in transcript.made_up]
        for name, fields in POSITIONS.items():
            for member in getattr(transcript, name):
                moved = {field: at + getattr(member, field) for field in fields}
                getattr(whole, name).append(member._replace(**moved))
    return whole
