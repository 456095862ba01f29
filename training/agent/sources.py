"""Finds where each word of a transcript that the agent writes comes from."""

import re
from collections import defaultdict
from collections.abc import Iterator
from os.path import commonprefix

from ircot_laboratory.official.contexts import find_sentence
from ircot_laboratory.world.records import Fact
from ircotlib.prompting.prompt import TITLE
from training.agent.transcripts import (
    AskedOrder,
    ComparedPair,
    ConcludedAt,
    CopiedName,
    DecidedFact,
    InferredFact,
    StatedFact,
    Transcript,
)
from training.positions import DIFFERENT, EARLIER, LATER, SAME, last_word
from training.teachers.conclusions import ComparedConclusion, named_subjects
from training.teachers.mind import Mind

WORDS = r"\w+|\W"
THUS = "Thus, "  # begins a conclusion
LEAD = r"(?:^\s*|(?:[Aa]nswer is:?|Answer:|A:) |\[\")"  # what stands before an answer
END = r"(?=[.\n\"\]]|$)"  # and after it
ORDER = re.compile(r"\b(?:first|last|earlier|later)\b")  # asks for one of two names
CHOSEN = re.compile(r"The best choice is (\d+)")  # a vote


def locate_sources(transcript: Transcript, mind: Mind) -> Transcript:
    """Fill in where each name and value that the agent writes comes from."""
    stated = dict(_find_stated(transcript, mind))
    _find_copied(transcript, mind, stated)
    transcript.copied += _find_chosen(transcript)
    transcript.decided += _find_begun(transcript, mind)
    transcript.inferred = list(_find_inferred(transcript, mind))
    compared = _find_compared(transcript, mind)
    transcript.inferred = list(dict.fromkeys(transcript.inferred))
    transcript.compared = list(dict.fromkeys(pair for pair, _ in compared.values()))
    transcript.concluded = [ConcludedAt(at, source) for at, (_, source) in compared.items()]
    transcript.asked = list(_find_asked(transcript, mind))
    return transcript


def _is_written(transcript: Transcript, at: int) -> bool:
    """Whether the agent writes what stands there."""
    return any(span.start <= at < span.end for span in transcript.spans)


def _find_stated(transcript: Transcript, mind: Mind) -> Iterator[tuple[Fact, tuple[int, int]]]:
    """Each fact of the passages shown, with the places of its value and from which it is known."""
    for passage in mind.seen:
        for span in passage.spans:
            _, match = find_sentence(passage, span.relation)
            sentence = match[0].strip()
            at = transcript.text.find(sentence)
            if at >= 0:
                value = at + span.start - passage.text.index(sentence, match.start())
                end = at + len(sentence) - 1
                known = end if end > value + span.end - span.start else value
                fact = Fact(passage.title, span.relation)
                transcript.stated.append(StatedFact(known, value, fact))
                yield fact, (value, known)


def _find_copied(transcript: Transcript, mind: Mind, stated: dict[Fact, tuple[int, int]]) -> None:
    """Find where each name and value is copied from: where the agent first states it, from the
    passage that it has read; otherwise from where it stood last. There the agent has also decided
    what to write about, and may have made it up.
    """
    beliefs, stood = defaultdict(list), {}
    for belief in mind.beliefs:
        beliefs[belief.value].append(belief)
    for match in _pattern(mind).finditer(transcript.text):
        name, at = match[0], match.start()
        if _is_written(transcript, at):
            first = beliefs[name].pop(0) if beliefs[name] else None
            source = stated.get(first.fact) if first and first.passage else None
            if first:
                transcript.decided.append(DecidedFact(at, first.fact))
            if first and first.made_up:
                transcript.made_up.append((at, at + len(name)))
            elif source and source[0] < at:
                transcript.copied.append(CopiedName(at, *source, name))
            elif name in stood:
                transcript.copied.append(CopiedName(at, stood[name], stood[name], name))
        stood[name] = at


def _pattern(mind: Mind) -> re.Pattern:
    """A pattern of all names and values that the agent may write, the longest first."""
    names = {name for belief in mind.beliefs for name in (belief.value, belief.fact.subject)}
    names |= {step.fact.subject for step in mind.steps}
    names |= {*mind.values.values(), mind.riddle.sought}
    names = sorted(filter(None, names), key=len, reverse=True)
    return re.compile(r"\b(?:" + "|".join(map(re.escape, names)) + r")\b")


def _find_chosen(transcript: Transcript) -> Iterator[CopiedName]:
    """The number voted for, copied from its heading, known at the end of the choice."""
    for span in transcript.spans:
        if match := CHOSEN.search(transcript.text, span.start, span.end):
            heading = transcript.text.find(f"Choice {match[1]}:")
            if heading >= 0:
                source = heading + len("Choice ")
                end = transcript.text.index("\n\n", source)
                yield CopiedName(match.start(1), source, end - 1, match[1])


def _find_begun(transcript: Transcript, mind: Mind) -> Iterator[DecidedFact]:
    """Where a text about a fact begins, or the name of one of two compared entities."""
    facts = mind.phrases | {text: fact for text, (_, fact) in mind.worded.items()}
    if mind.worked.answer in (names := named_subjects(mind.riddle)):
        relation = mind.riddle.thoughts[mind.riddle.compared[0]].fact.relation
        facts = {name: Fact(name, relation) for name in names} | facts
    pattern = "|".join(map(re.escape, sorted(facts, key=len, reverse=True)))
    for match in re.finditer(pattern, transcript.text) if facts else ():
        if _is_written(transcript, match.start()):
            yield DecidedFact(match.start(), facts[match[0]])


def _find_inferred(transcript: Transcript, mind: Mind) -> Iterator[InferredFact]:
    """The facts that lead to what is written about, if their answers stand only on pages."""
    answered = {belief.value: belief.fact for belief in mind.beliefs if not belief.made_up}
    for at, fact in transcript.decided:
        written = transcript.text[:at]
        for passage in mind.seen:
            written = written.replace(passage.text, "").replace(f"{TITLE}{passage.title}\n", "")
        for back in range(1, len(mind.steps)):
            if fact.subject in written or fact.subject not in answered:
                break
            fact = answered[fact.subject]
            yield InferredFact(at, fact, back)


def _find_compared(transcript: Transcript, mind: Mind) -> dict[int, tuple[ComparedPair, int]]:
    """Where a comparison decides what is written, its values (of several, the last pair), and the
    one to look at: that of the name that is written, or the later one. At a value it must be known
    which of the names it is about.
    """
    pairs: dict[int, tuple[ComparedPair, int]] = {}
    for conclusion in mind.conclusions:
        for at in _find_decisive(transcript, conclusion):
            if places := _find_values(transcript, mind, conclusion, at):
                (other, a), (here, b) = sorted(places)
                source = here
                names = zip(named_subjects(mind.riddle), places, conclusion.facts, strict=False)
                for name, (place, value), fact in names:
                    if (name in conclusion.text) != (name in conclusion.otherwise):
                        source = place if name in conclusion.text else source
                        after = place + len(value) - last_word(value)
                        about = Fact(name, fact.relation)
                        transcript.inferred.append(InferredFact(after, about, 1))
                pair = ComparedPair(here, other, _compare(a, b))
                pairs[at] = max(pairs.get(at, (pair, source)), (pair, source))
    return pairs


def _find_asked(transcript: Transcript, mind: Mind) -> Iterator[AskedOrder]:
    """The word of the question that says whether the earlier or the later one is to be named."""
    asked = ORDER.search(mind.riddle.text)
    for at, _ in transcript.concluded if asked else ():
        question = transcript.text.rfind(mind.riddle.text, 0, at)
        if question >= 0:
            outcome = EARLIER if asked[0] in ("first", "earlier") else LATER
            yield AskedOrder(at, question + asked.start(), outcome)


def _compare(a: str, b: str) -> int:
    """How the value b compares with an earlier one."""
    if a == b or not (a.isdigit() and b.isdigit()):
        return SAME if a == b else DIFFERENT
    return LATER if a < b else EARLIER


def _find_decisive(transcript: Transcript, conclusion: ComparedConclusion) -> Iterator[int]:
    """The first word that would differ if the values of a conclusion compared otherwise."""
    text, otherwise = conclusion.text, conclusion.otherwise
    alike = len("".join(commonprefix([re.findall(WORDS, text), re.findall(WORDS, otherwise)])))
    lead, end = ("", "") if text.startswith(THUS) else (LEAD, END)
    for span in transcript.spans if text and text != otherwise else ():
        written = transcript.text[span.start : span.end]
        for match in re.finditer(f"{lead}(?P<text>{re.escape(text)}){end}", written):
            if not lead or THUS not in written[: match.start()]:
                yield span.start + match.start("text") + alike


def _find_values(
    transcript: Transcript, mind: Mind, conclusion: ComparedConclusion, at: int
) -> list[tuple[int, str]]:
    """The places and texts of the two compared values, if they are found before `at`: where
    sentences end with them, else where pages state them.
    """
    text, values, sought = transcript.text[:at], list(conclusion.values), mind.riddle.sought
    known = {stated.fact: stated.known for stated in transcript.stated}
    places = [next(reversed(_mentions(text, value)), None) for value in values]
    if len(values) == 2 and values[0] == values[1]:
        places = _mentions(text, values[0])[-2:]
    if None in places or len(places) < len(values):
        places = [known.get(fact) for fact in conclusion.facts]
    if sought:
        asked = text.find(mind.riddle.text)
        named = asked + mind.riddle.text.rindex(sought) + last_word(sought) if asked >= 0 else None
        places, values = [named, places[0]], [sought, values[0]]
    if None in places or places[0] == places[1] or max(places) >= at:
        return []
    return list(zip(places, values, strict=True))


def _mentions(text: str, value: str) -> list[int]:
    """The places of the last words of a value where it ends a sentence or a line."""
    matches = re.finditer(rf"{re.escape(value)}(?=\.|\n| \[\d+\]\.)", text)
    return [match.start() + last_word(value) for match in matches]
