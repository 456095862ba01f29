"""Finds where each word of a transcript that the agent writes comes from."""

import re
from collections import defaultdict
from collections.abc import Iterator
from os.path import commonprefix
from typing import NamedTuple

from ircot_laboratory.official.contexts import find_sentence
from ircot_laboratory.world.records import Fact
from ircotlib.prompting.prompt import TITLE
from training.agent.transcripts import (
    ComparedPair,
    ConcludedAt,
    CopiedName,
    DecidedFact,
    InferredFact,
    RecalledValue,
    StatedFact,
    Transcript,
)
from training.positions import EARLIER, LATER, compare, last_word
from training.teachers.conclusions import ComparedConclusion, named_subjects
from training.teachers.mind import Mind

WORDS = r"\w+|\W"
THUS = "Thus, "  # begins a conclusion
LEAD = r"(?:^\s*|(?:[Aa]nswer is:?|Answer:|A:) |\[\")"  # what stands before an answer
END = r"(?=[.\n\"\]]|$)"  # and after it
ORDER = re.compile(r"\b(?:first|last|earlier|later)\b")  # asks for one of two names
CHOICE = re.compile(r"^Choice (\d+):", re.MULTILINE)
VOTE = re.compile(r" The best choice is (\d+)")


class Places(NamedTuple):
    """Where the value of a fact stands, the place from which the fact is known, and the
    place from which all words of the value are.
    """

    value: int
    known: int
    end: int


def locate_sources(transcript: Transcript, mind: Mind) -> Transcript:
    """Fill in where each name and value that the agent writes comes from."""
    stated, written = (
        dict(_find_stated(transcript, mind)),
        _hide_pages(transcript.text, mind),
    )
    _find_copied(transcript, mind, stated)
    _find_choices(transcript)
    transcript.decided += _find_begun(transcript, mind)
    compared = _find_compared(transcript, mind, written)
    transcript.compared = list(dict.fromkeys(pair for pair, _ in compared.values()))
    transcript.concluded = [
        ConcludedAt(at, source) for at, (_, source) in compared.items()
    ]
    _find_weighed(transcript, mind, stated, written)
    _find_inferred(transcript, mind, stated, written)
    transcript.inferred = list(dict.fromkeys(transcript.inferred))
    transcript.asked = list(_find_asked(transcript, mind))
    return transcript


def _hide_pages(text: str, mind: Mind) -> str:
    """A text of the same length, without the titles and texts of the passages shown."""
    for passage in mind.seen:
        for shown in (f"{TITLE}{passage.title}\n", passage.text):
            text = text.replace(shown, " " * len(shown))
    return text


def _is_written(transcript: Transcript, at: int) -> bool:
    """Whether the agent writes what stands there."""
    return any(span.start <= at < span.end for span in transcript.spans)


def _find_stated(transcript: Transcript, mind: Mind) -> Iterator[tuple[Fact, Places]]:
    """Each fact of the passages shown, with its places."""
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
                end = max(known, value + last_word(passage.text[span.start : span.end]))
                if end > known:  # at its first word, the rest of a value is not known
                    transcript.stated.append(StatedFact(end, end, fact))
                yield fact, Places(value, known, end)


def _find_copied(
    transcript: Transcript, mind: Mind, stated: dict[Fact, Places]
) -> None:
    """Find where each name and value is copied from: where the agent first states it,
    from the passage that it has read; otherwise from where it stood last. There the
    agent has also decided what to write about, and may have made it up.
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
                # of its first and last word
                starts = dict.fromkeys((at, at + last_word(name)))
                transcript.decided += [
                    DecidedFact(start, first.fact) for start in starts
                ]
            if first and first.made_up:
                transcript.made_up.append((at, at + len(name)))
            elif source and source.value < at:
                transcript.copied.append(
                    CopiedName(at, source.value, source.known, name)
                )
            elif name in stood:
                transcript.copied.append(CopiedName(at, stood[name], stood[name], name))
        stood[name] = at


def _pattern(mind: Mind) -> re.Pattern:
    """A pattern of all names and values that the agent may write, the longest first."""
    names = {
        name for belief in mind.beliefs for name in (belief.value, belief.fact.subject)
    }
    names |= {step.fact.subject for step in mind.steps}
    names |= {*mind.values.values(), mind.riddle.sought}
    names = sorted(filter(None, names), key=len, reverse=True)
    return re.compile(r"\b(?:" + "|".join(map(re.escape, names)) + r")\b")


def _find_choices(transcript: Transcript) -> None:
    """A vote copies the number of a choice from the line break after it, where that
    number must be known. How the choice ends, and the thought before the vote, must be
    known just before.
    """
    votes = {vote[1]: vote for vote in VOTE.finditer(transcript.text)}
    for heading in CHOICE.finditer(transcript.text):
        number, at = heading[1], heading.start(1)
        end = transcript.text.index("\n\n", at)
        transcript.recalled.append(_recall_end(transcript.text, end, end + 1))
        transcript.recalled.append(RecalledValue(end + 1, -1, number, at))
        if vote := votes.get(number):
            transcript.recalled.append(
                _recall_end(transcript.text, vote.start(), vote.start(1))
            )
            transcript.copied.append(CopiedName(vote.start(1), at, end + 1, number))


def _recall_end(text: str, end: int, at: int) -> RecalledValue:
    """Just before `at`, the last two words of the sentence that ends at `end` must be
    known.
    """
    words = text[:end].rstrip(" .").split(" ")[-2:]
    place = len(text[:end].rstrip(" .")) - len(words[-1])
    return RecalledValue(at, 0, " ".join(words), place + last_word(words[-1]))


def _find_begun(transcript: Transcript, mind: Mind) -> Iterator[DecidedFact]:
    """Where a text about a fact begins, or the name of one of two compared entities."""
    facts = mind.phrases | {text: fact for text, (_, fact) in mind.worded.items()}
    if mind.worked.answer in (names := named_subjects(mind.riddle)):
        relation = mind.riddle.thoughts[mind.riddle.compared[0]].fact.relation
        facts = {name: Fact(name, relation) for name in names} | facts
    pattern = "|".join(map(re.escape, sorted(facts, key=len, reverse=True)))
    for match in re.finditer(pattern, transcript.text) if facts else ():
        if _is_written(transcript, at := match.start()):
            yield DecidedFact(at, fact := facts[match[0]])
            if match[0].startswith(fact.subject) and " " in fact.subject:
                yield DecidedFact(at + last_word(fact.subject), fact)


def _find_inferred(
    transcript: Transcript, mind: Mind, stated: dict[Fact, Places], written: str
) -> None:
    """Find the facts that lead to what is written about, if their answers stand only on
    pages. Of several, each but the first two is known a layer later.
    """
    decided, transcript.decided = transcript.decided, []
    for at, fact in decided:
        facts = _lead_to(fact, written[:at], mind)
        later = max(0, len(facts) - 2)
        if len(facts) > 1:
            _infer(transcript, at, 0, facts, later, stated)
        else:
            transcript.decided.append(DecidedFact(at, fact))


def _lead_to(fact: Fact, written: str, mind: Mind) -> list[Fact]:
    """A fact, and before it the facts that lead to it and whose answers are not
    written.
    """
    answered = {
        belief.value: belief.fact for belief in mind.beliefs if not belief.made_up
    }
    facts = [fact]
    while facts[-1].subject not in written and facts[-1].subject in answered:
        facts.append(answered[facts[-1].subject])
        if len(facts) == len(mind.steps):
            break
    return facts


def _infer(
    transcript: Transcript,
    at: int,
    early: int,
    facts: list[Fact],
    later: int,
    stated: dict[Fact, Places],
) -> None:
    """Add a fact and those that lead to it, and the values of the latter."""
    for back, fact in enumerate(facts):
        transcript.inferred.append(InferredFact(at, fact, back - later, early))
        if back:
            source = min(at, stated[fact].end) if fact in stated else at
            value = RecalledValue(
                at, early, facts[back - 1].subject, source, back - later
            )
            transcript.recalled.append(value)


def _find_weighed(
    transcript: Transcript, mind: Mind, stated: dict[Fact, Places], written: str
) -> None:
    """Find where values decide that are not written: what must be recalled there and
    compared.
    """
    weighed, concluded = {}, {place.at for place in transcript.concluded}
    for conclusion in mind.conclusions:
        for at in {*_find_decisive(transcript, conclusion)} - concluded:
            known = [
                stated[fact].end
                if fact in stated
                else at
                if mind.knows(fact) == value
                else None
                for fact, value in zip(conclusion.facts, conclusion.values, strict=True)
            ]
            if None not in known and max(known) <= at:
                weighed[at] = conclusion, known
    transcript.decided = [
        decided for decided in transcript.decided if decided.at not in weighed
    ]
    for at, ((_, _, values, facts), known) in weighed.items():
        for early, n in enumerate(reversed(range(len(facts)))):
            transcript.recalled.append(RecalledValue(at, early, values[n], known[n]))
            _infer(
                transcript, at, early, _lead_to(facts[n], written[:at], mind), 0, stated
            )
        named = _find_sought(written[:at], mind) if mind.riddle.sought else at
        if named is not None:
            values = mind.riddle.sought or values[0], values[-1]
            transcript.weighed.append(ComparedPair(at, named, compare(*values)))


def _find_sought(text: str, mind: Mind) -> int | None:
    """The place in the question of the last word of the value that it names."""
    asked, sought = text.find(mind.riddle.text), mind.riddle.sought
    return (
        asked + mind.riddle.text.rindex(sought) + last_word(sought)
        if asked >= 0
        else None
    )


def _find_compared(
    transcript: Transcript, mind: Mind, written: str
) -> dict[int, tuple[ComparedPair, int]]:
    """Where a comparison decides what is written, its values (of several, the last
    pair), and the one to look at: that of the name that is written, or the later one.
    At a value it must be known which of the names it is about.
    """
    pairs: dict[int, tuple[ComparedPair, int]] = {}
    for conclusion in mind.conclusions:
        for at in _find_decisive(transcript, conclusion):
            if places := _find_values(written[:at], mind, conclusion):
                (other, a), (here, b) = sorted(places)
                source = here
                names = zip(
                    named_subjects(mind.riddle), places, conclusion.facts, strict=False
                )
                for name, (place, value), fact in names:
                    if (name in conclusion.text) != (name in conclusion.otherwise):
                        source = place if name in conclusion.text else source
                        after = place + len(value) - last_word(value)
                        about = Fact(name, fact.relation)
                        transcript.inferred.append(InferredFact(after, about, 1))
                pair = ComparedPair(here, other, compare(a, b))
                pairs[at] = max(pairs.get(at, (pair, source)), (pair, source))
    return pairs


def _find_asked(transcript: Transcript, mind: Mind) -> Iterator[ComparedPair]:
    """The word of the question that says whether the earlier or the later one is to be
    named.
    """
    asked = ORDER.search(mind.riddle.text)
    for at in [
        place.at for place in (*transcript.concluded, *transcript.weighed) if asked
    ]:
        question = transcript.text.rfind(mind.riddle.text, 0, at)
        if question >= 0:
            outcome = EARLIER if asked[0] in ("first", "earlier") else LATER
            yield ComparedPair(at, question + asked.start(), outcome)


def _find_decisive(
    transcript: Transcript, conclusion: ComparedConclusion
) -> Iterator[int]:
    """The first word that would differ if the values of a conclusion compared
    otherwise.
    """
    text, otherwise = conclusion.text, conclusion.otherwise
    alike = len(
        "".join(commonprefix([re.findall(WORDS, text), re.findall(WORDS, otherwise)]))
    )
    lead, end = ("", "") if text.startswith(THUS) else (LEAD, END)
    for span in transcript.spans if text and text != otherwise else ():
        written = transcript.text[span.start : span.end]
        for match in re.finditer(f"{lead}(?P<text>{re.escape(text)}){end}", written):
            if not lead or THUS not in written[: match.start()]:
                yield span.start + match.start("text") + alike


def _find_values(
    text: str, mind: Mind, conclusion: ComparedConclusion
) -> list[tuple[int, str]]:
    """The places and texts of the two compared values, if they are in a text, at the
    ends of sentences.
    """
    values, sought = list(conclusion.values), mind.riddle.sought
    places = [next(reversed(_mentions(text, value)), None) for value in values]
    if len(values) == 2 and values[0] == values[1]:
        places = _mentions(text, values[0])[-2:]
    if sought:
        places, values = [_find_sought(text, mind), *places], [sought, *values]
    if None in places or len(places) < 2 or places[0] == places[1]:
        return []
    return list(zip(places, values, strict=True))


def _mentions(text: str, value: str) -> list[int]:
    """The places of the last words of a value where it ends a sentence or a line."""
    matches = re.finditer(rf"{re.escape(value)}(?=\.|\n| \[\d+\]\.)", text)
    return [match.start() + last_word(value) for match in matches]
