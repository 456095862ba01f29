"""Turns joined to transcripts: all that the agent writes of one text that grows is one sequence,
with where each word of it comes from.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ircotlib.laboratory.official import find_sentence
from ircotlib.laboratory.records import Fact
from training.agent_mind import Mind, Told
from training.agent_play import Reply, Turn
from training.places import DIFFERENT, EARLIER, LATER, SAME, last_word


class Span(NamedTuple):
    """What the agent writes: text[start:end], whether it stops there, and whether all of it can be
    known but for names.
    """

    stage: str
    start: int
    end: int
    ends: bool
    sure: bool = True


class Copied(NamedTuple):
    """A name or value, where it stands in what was read or written before, and where it is known
    there (of "X wrote it.", at the end).
    """

    at: int
    source: int
    known: int
    name: str


class Stated(NamedTuple):
    """Where a fact of a passage is known, and where its value stands."""

    known: int
    value: int
    fact: Fact


class Decided(NamedTuple):
    """Where a value is written, or what asks for it or states it begins, and of which fact."""

    at: int
    fact: Fact


class Compared(NamedTuple):
    """A value, the other one before it, and how they compare (places.py)."""

    at: int
    other: int
    outcome: int


@dataclass
class Transcript:
    """A text, the spans of it that the agent writes, and where its words come from, in characters.

    `stopped`: what stopped the last reply; `reply`: that reply. `made_up`: names that cannot be
    known, where they are written first.
    """

    text: str
    spans: list[Span] = field(default_factory=list)
    stopped: str = ""
    reply: Reply | None = None
    copied: list[Copied] = field(default_factory=list)
    stated: list[Stated] = field(default_factory=list)
    decided: list[Decided] = field(default_factory=list)
    compared: list[Compared] = field(default_factory=list)
    made_up: list[tuple[int, int]] = field(default_factory=list)


def join_turns(turns: Sequence[Turn]) -> list[Transcript]:
    """The transcripts of a play: a prompt that goes on where a text ended is part of it."""
    transcripts: list[Transcript] = []
    for turn in turns:
        grows = (t for t in reversed(transcripts) if turn.prompt.startswith(t.text))
        before = next(grows, None)
        if before is None:
            before = Transcript(turn.prompt)
            transcripts.append(before)
        _write_turn(before, turn)
    for transcript in transcripts:
        _finish(transcript)
    return transcripts


def _write_turn(transcript: Transcript, turn: Turn) -> None:
    if transcript.spans and turn.prompt.startswith(transcript.text + transcript.stopped):
        last = transcript.spans[-1]
        transcript.spans[-1] = last._replace(end=last.end + len(transcript.stopped))
    whole = _after(turn.reply.text)
    taken = whole[: whole.index(turn.taken) + len(turn.taken)]
    text = turn.prompt + taken
    ends = turn.reply.ends and not turn.stopped and taken == whole.rstrip()
    transcript.spans.append(Span(turn.stage, len(turn.prompt), len(text), ends, turn.reply.sure))
    transcript.text, transcript.stopped, transcript.reply = text, turn.stopped, turn.reply


def _after(reply: str) -> str:
    """A reply as it stands after its prompt: on a new line, or after a space."""
    return reply if reply.startswith("\n") else f" {reply}"


def _finish(transcript: Transcript) -> None:
    """The last reply is shown whole, whatever the program took of it."""
    last = transcript.spans[-1]
    transcript.text = transcript.text[: last.start] + _after(transcript.reply.text)
    ends = transcript.reply.ends
    transcript.spans[-1] = last._replace(end=len(transcript.text), ends=ends)


def locate(transcript: Transcript, mind: Mind) -> Transcript:
    """Find where each name and value that the agent writes comes from."""
    told = defaultdict(list)
    for one in mind.told:
        told[one.value].append(one)
    sentences, seen = dict(_find_stated(transcript, mind)), {}
    for found in _pattern(mind).finditer(transcript.text):
        name, at = found[0], found.start()
        if any(span.start <= at < span.end for span in transcript.spans):
            _locate_name(transcript, name, at, seen.get(name), told[name], sentences)
        seen[name] = at
    transcript.decided += _find_begun(transcript, mind)
    transcript.compared = list(_find_compared(transcript, mind))
    return transcript


def _find_begun(transcript: Transcript, mind: Mind) -> Iterator[Decided]:
    """Where a sub-question, a phrase or a sentence about a fact begins."""
    facts = mind.aims | {text: fact for text, (_, fact) in mind.asked.items()}
    texts = sorted(facts, key=len, reverse=True)
    for found in re.finditer("|".join(map(re.escape, texts)), transcript.text) if texts else ():
        if any(span.start <= found.start() < span.end for span in transcript.spans):
            yield Decided(found.start(), facts[found[0]])


def _locate_name(transcript, name, at, before, told: list[Told], sentences) -> None:
    """Where a name is copied from: the passage that states it, when it is told of first, else
    where it stood last.
    """
    first = told.pop(0) if told else None
    place = sentences.get(first.fact) if first and first.passage else None
    if first:
        transcript.decided.append(Decided(at, first.fact))
    if first and first.made_up:
        transcript.made_up.append((at, at + len(name)))
    elif place and place[0] < at:
        transcript.copied.append(Copied(at, *place, name))
    elif before is not None:
        transcript.copied.append(Copied(at, before, before, name))


def _find_stated(transcript: Transcript, mind: Mind) -> Iterator[tuple[Fact, tuple[int, int]]]:
    """The facts that shown passages state in the text: where the value is, and where known."""
    for passage in mind.shown:
        for span in passage.spans:
            _, found = find_sentence(passage, span.relation)
            sentence = found[0].strip()
            at = transcript.text.find(sentence)
            if at >= 0:
                value = at + span.start - passage.text.index(sentence, found.start())
                end = at + len(sentence) - 1
                known = end if end > value + span.end - span.start else value
                fact = Fact(passage.title, span.relation)
                transcript.stated.append(Stated(known, value, fact))
                yield fact, (value, known)


def _find_compared(transcript: Transcript, mind: Mind) -> Iterator[Compared]:
    """The comparison of the two values that the question compares, or of one with that which it
    asks after, where both stand.
    """
    facts = [mind.riddle.thoughts[n].fact for n in mind.riddle.compared]
    steps = [n for n, step in enumerate(mind.steps) if step.fact in facts and n in mind.values]
    values, sought = [mind.values[n] for n in steps], mind.riddle.sought
    if sought and values:
        asked = transcript.text.find(mind.riddle.text)
        places = [asked + mind.riddle.text.rindex(sought)] if asked >= 0 else []
        places += _mentions(transcript, values[0])[-1:]
        values = [sought, values[0]]
    elif len(values) == 2 and values[0] == values[1]:
        places = _mentions(transcript, values[0])[-2:]
    elif len(values) == 2:
        places = [at for value in values for at in _mentions(transcript, value)[-1:]]
    else:
        return
    if len(places) == 2 and places[0] < places[1]:
        a, b = values
        at, other = (place + last_word(v) for place, v in zip(places[::-1], (b, a), strict=True))
        yield Compared(at, other, _outcome(a, b))


def _outcome(a: str, b: str) -> int:
    """How the second of two values compares with the first."""
    if a == b or not (a.isdigit() and b.isdigit()):
        return SAME if a == b else DIFFERENT
    return LATER if a < b else EARLIER


def _mentions(transcript: Transcript, value: str) -> list[int]:
    """Where a value ends a sentence."""
    return [found.start() for found in re.finditer(re.escape(f"{value}."), transcript.text)]


def _pattern(mind: Mind) -> re.Pattern:
    """Any name or value that the agent may write."""
    names = {name for told in mind.told for name in (told.value, told.fact.subject)}
    names |= {step.fact.subject for step in mind.steps} | {
        *mind.values.values(),
        mind.riddle.sought,
    }
    names = sorted(filter(None, names), key=len, reverse=True)
    return re.compile(r"\b(?:" + "|".join(map(re.escape, names)) + r")\b")
