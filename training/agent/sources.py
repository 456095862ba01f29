"""Finds where each word of a transcript that the agent writes comes from."""

import re
from collections import defaultdict
from collections.abc import Iterator
from os.path import commonprefix

from ircot_laboratory.official.contexts import find_sentence
from ircot_laboratory.teachers.conclusions import Weighed, named
from ircot_laboratory.teachers.mind import Mind, Told
from ircot_laboratory.world.records import Fact
from ircotlib.prompting.prompt import TITLE
from training.agent.transcripts import (
    Compared,
    Concluded,
    Copied,
    Decided,
    Inferred,
    Stated,
    Transcript,
)
from training.t5.places import DIFFERENT, EARLIER, LATER, SAME, last_word

WORDS = r"\w+|\W"
THUS = "Thus, "  # begins a conclusion
LEAD = r"(?:^\s*|(?:[Aa]nswer is:?|Answer:|A:) |\[\")"  # what stands before an answer
END = r"(?=[.\n\"\]]|$)"  # and after it
CHOSEN = re.compile(r"The best choice is (\d+)")  # a vote


def locate(transcript: Transcript, mind: Mind) -> Transcript:
    """Fill in where each name and value that the agent writes comes from."""
    told = defaultdict(list)
    for one in mind.told:
        told[one.value].append(one)
    sentences, seen = dict(_find_stated(transcript, mind)), {}
    for found in _pattern(mind).finditer(transcript.text):
        name, at = found[0], found.start()
        if any(span.start <= at < span.end for span in transcript.spans):
            _locate_name(transcript, name, at, seen.get(name), told[name], sentences)
        seen[name] = at
    transcript.copied += _find_chosen(transcript)
    transcript.decided += _find_begun(transcript, mind)
    transcript.inferred = list(_find_inferred(transcript, mind))
    compared = _find_compared(transcript, mind)
    transcript.compared = list(dict.fromkeys(compared.values()))
    transcript.concluded = [Concluded(at, one.at) for at, one in compared.items()]
    return transcript


def _find_chosen(transcript: Transcript) -> Iterator[Copied]:
    """Find the number of the choice that the agent votes for, copied from its heading, which only
    the end of the choice can tell.
    """
    for span in transcript.spans:
        if found := CHOSEN.search(transcript.text, span.start, span.end):
            heading = transcript.text.find(f"Choice {found[1]}:")
            if heading >= 0:
                source = heading + len("Choice ")
                end = transcript.text.index("\n\n", source)
                yield Copied(found.start(1), source, end - 1, found[1])


def _find_begun(transcript: Transcript, mind: Mind) -> Iterator[Decided]:
    """Find where the agent begins a sub-question, a phrase or a sentence about a fact, and where it
    writes which of two entities a comparison is about.
    """
    facts = mind.aims | {text: fact for text, (_, fact) in mind.asked.items()}
    if mind.worked.answer in (names := named(mind.riddle)):
        relation = mind.riddle.thoughts[mind.riddle.compared[0]].fact.relation
        facts = {name: Fact(name, relation) for name in names} | facts
    texts = sorted(facts, key=len, reverse=True)
    for found in re.finditer("|".join(map(re.escape, texts)), transcript.text) if texts else ():
        if any(span.start <= found.start() < span.end for span in transcript.spans):
            yield Decided(found.start(), facts[found[0]])


def _find_inferred(transcript: Transcript, mind: Mind) -> Iterator[Inferred]:
    """Find the facts that lead to what the agent writes about, if their answers stand nowhere but
    on the pages.
    """
    found = {one.value: one.fact for one in mind.told if not one.made_up}
    for at, fact in transcript.decided:
        written = _without_pages(transcript.text[:at], mind)
        for back in range(1, len(mind.steps)):
            if fact.subject in written or fact.subject not in found:
                break
            fact = found[fact.subject]
            yield Inferred(at, fact, back)


def _without_pages(text: str, mind: Mind) -> str:
    for passage in mind.shown:
        text = text.replace(passage.text, "").replace(f"{TITLE}{passage.title}\n", "")
    return text


def _locate_name(transcript, name, at, before, told: list[Told], sentences) -> None:
    """Find where a name is copied from: at the place where the agent first states it, from the
    passage that it has read; otherwise from where the name stood last.
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
    """Find the facts of the shown passages in the text, each with the place of its value and the
    place from which it is known.
    """
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


def _find_compared(transcript: Transcript, mind: Mind) -> dict[int, Compared]:
    """Find where the outcome of a comparison decides what the agent writes, and the two values that
    are compared for it: of several pairs, the one that stands last.
    """
    found: dict[int, Compared] = {}
    for one in mind.weighed:
        for at in _find_decisive(transcript, one):
            compared = _find_values(transcript, mind, one, at)
            if compared and (at not in found or found[at] < compared):
                found[at] = compared
    return found


def _find_decisive(transcript: Transcript, one: Weighed) -> Iterator[int]:
    """Find the first word of a conclusion that would differ if the values compared the other way,
    wherever the agent writes it; for an answer, only if no conclusion stands before it.
    """
    words, others = re.findall(WORDS, one.text), re.findall(WORDS, one.otherwise)
    alike = len("".join(commonprefix([words, others])))
    lead, end = ("", "") if one.text.startswith(THUS) else (LEAD, END)
    for span in transcript.spans if one.text and one.text != one.otherwise else ():
        written = transcript.text[span.start : span.end]
        for found in re.finditer(f"{lead}(?P<text>{re.escape(one.text)}){end}", written):
            if not lead or THUS not in written[: found.start()]:
                yield span.start + found.start("text") + alike


def _find_values(transcript: Transcript, mind: Mind, one: Weighed, at: int) -> Compared | None:
    """Find the values that decide what is written at `at`, or the value and the one that the
    question names: where sentences before end with them, otherwise where pages state them.
    """
    text, values, sought = transcript.text[:at], list(one.values), mind.riddle.sought
    known = {stated.fact: stated.known for stated in transcript.stated}
    places = [_last_mention(text, value) for value in values]
    if len(values) == 2 and values[0] == values[1]:
        places = _mentions(text, values[0])[-2:]
    if None in places or len(places) < len(values):
        places = [known.get(fact) for fact in one.facts]
    if sought:
        asked = text.find(mind.riddle.text)
        named = asked + mind.riddle.text.rindex(sought) + last_word(sought) if asked >= 0 else None
        places, values = [named, places[0]], [sought, values[0]]
    if None in places or places[0] == places[1] or max(places) >= at:
        return None
    (other, a), (here, b) = sorted(zip(places, values, strict=True))
    return Compared(here, other, _outcome(a, b))


def _outcome(a: str, b: str) -> int:
    """How the second of two values compares with the first."""
    if a == b or not (a.isdigit() and b.isdigit()):
        return SAME if a == b else DIFFERENT
    return LATER if a < b else EARLIER


def _mentions(text: str, value: str) -> list[int]:
    """The places of the last words of a value where it ends a sentence or a line."""
    found = re.finditer(rf"{re.escape(value)}(?=\.|\n| \[\d+\]\.)", text)
    return [one.start() + last_word(value) for one in found]


def _last_mention(text: str, value: str) -> int | None:
    return next(reversed(_mentions(text, value)), None)


def _pattern(mind: Mind) -> re.Pattern:
    """A pattern of all names and values that the agent may write, the longest first."""
    names = {name for told in mind.told for name in (told.value, told.fact.subject)}
    names |= {step.fact.subject for step in mind.steps} | {
        *mind.values.values(),
        mind.riddle.sought,
    }
    names = sorted(filter(None, names), key=len, reverse=True)
    return re.compile(r"\b(?:" + "|".join(map(re.escape, names)) + r")\b")
