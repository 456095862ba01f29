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
from training.teachers.conclusions import (
    ComparedConclusion,
    named_subjects,
    pattern_of,
)
from training.teachers.mind import Mind

WORDS = r"\w+|\W"
THUS = "Thus, "  # begins a conclusion
LEAD = r"(?:^\s*|(?:[Aa]nswer is:?|Answer:|A:) |\[\")"  # what stands before an answer
END = r"(?=[.\n\"\]]|$)"  # and after it
ORDER = re.compile(r"\b(?:first|last|earlier|later)\b")  # asks for one of two names
CHOICE = re.compile(r"^Choice (\d+):", re.MULTILINE)
VOTE = re.compile(r" The best choice is (\d+)")


class Places(NamedTuple):
    """Where a passage that is shown states a fact."""

    value: int  # where its value begins
    known: int  # from where the fact is known
    end: int  # from where all words of the value are known


def locate_sources(transcript: Transcript, mind: Mind) -> Transcript:
    """Fill in where each name and value that the agent writes comes from."""
    stated = dict(_find_stated(transcript, mind))
    written = _hide_pages(transcript.text, mind)
    _find_copied(transcript, mind, stated)
    _find_choices(transcript)
    transcript.decided += _find_begun(transcript, mind)
    compared = _find_compared(transcript, mind, written)
    transcript.compared = list(dict.fromkeys(pair for pair, _ in compared.values()))
    sources = ((at, source) for at, (_, source) in compared.items())
    transcript.concluded = [ConcludedAt(at, source) for at, source in sources]
    _find_weighed(transcript, mind, stated, written)
    _find_inferred(transcript, mind, stated, written)
    transcript.inferred = list(dict.fromkeys(transcript.inferred))
    transcript.asked = list(_find_asked(transcript, mind))
    return transcript


def _hide_pages(text: str, mind: Mind) -> str:
    """A text of the same length, without the titles and texts of the passages shown."""
    for passage in mind.seen:
        for part in (f"{TITLE}{passage.title}\n", passage.text):
            text = text.replace(part, " " * len(part))
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
            if at < 0:
                continue
            value = at + span.start - passage.text.index(sentence, match.start())
            full_stop = at + len(sentence) - 1
            # "Its author was X." is known at X, "X wrote it." only after it
            known = full_stop if full_stop > value + span.end - span.start else value
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
    beliefs = defaultdict(list)
    for belief in mind.beliefs:
        beliefs[belief.value].append(belief)
    stood: dict[str, int] = {}
    for match in _pattern(mind).finditer(transcript.text):
        name, at = match[0], match.start()
        if _is_written(transcript, at):
            first = beliefs[name].pop(0) if beliefs[name] else None
            source = stated.get(first.fact) if first and first.passage else None
            if first:
                for start in dict.fromkeys((at, at + last_word(name))):
                    transcript.decided.append(DecidedFact(start, first.fact))
            if first and first.made_up:
                transcript.made_up.append((at, at + len(name)))
            elif source and source.value < at:
                copied = CopiedName(at, source.value, source.known, name)
                transcript.copied.append(copied)
            elif name in stood:
                transcript.copied.append(CopiedName(at, stood[name], stood[name], name))
        stood[name] = at


def _pattern(mind: Mind) -> re.Pattern:
    """A pattern of all names and values that the agent may write, the longest first."""
    names = {
        *(belief.value for belief in mind.beliefs),
        *(belief.fact.subject for belief in mind.beliefs),
        *(step.fact.subject for step in mind.steps),
        *mind.values.values(),
        mind.riddle.sought,
    }
    return pattern_of(filter(None, names))


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
            thought = _recall_end(transcript.text, vote.start(), vote.start(1))
            transcript.recalled.append(thought)
            transcript.copied.append(CopiedName(vote.start(1), at, end + 1, number))


def _recall_end(text: str, end: int, at: int) -> RecalledValue:
    """Before `at`, the last two words of the sentence up to `end` must be known."""
    words = text[:end].rstrip(" .").split(" ")[-2:]
    place = len(text[:end].rstrip(" .")) - len(words[-1])
    return RecalledValue(at, 0, " ".join(words), place + last_word(words[-1]))


def _find_begun(transcript: Transcript, mind: Mind) -> Iterator[DecidedFact]:
    """Where a text about a fact begins, or the name of one of two compared entities."""
    facts = mind.phrases | {text: fact for text, (_, fact) in mind.worded.items()}
    names = named_subjects(mind.riddle)
    if mind.worked.answer in names:
        relation = mind.riddle.thoughts[mind.riddle.compared[0]].fact.relation
        facts = {name: Fact(name, relation) for name in names} | facts
    pattern = "|".join(map(re.escape, sorted(facts, key=len, reverse=True)))
    for match in re.finditer(pattern, transcript.text) if facts else ():
        at, fact = match.start(), facts[match[0]]
        if _is_written(transcript, at):
            yield DecidedFact(at, fact)
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
    """A fact, then those that lead to it and whose answers are not written."""
    answered = {b.value: b.fact for b in mind.beliefs if not b.made_up}
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
            value = facts[back - 1].subject
            source = min(at, stated[fact].end) if fact in stated else at
            recalled = RecalledValue(at, early, value, source, back - later)
            transcript.recalled.append(recalled)


def _find_weighed(
    transcript: Transcript, mind: Mind, stated: dict[Fact, Places], written: str
) -> None:
    """Find where values decide that are not written, to be recalled and compared."""
    weighed = {}
    concluded = {place.at for place in transcript.concluded}
    for conclusion in mind.conclusions:
        for at in {*_find_decisive(transcript, conclusion)} - concluded:
            known = _find_known(mind, stated, conclusion, at)
            if known and max(known) <= at:
                weighed[at] = conclusion, known
    transcript.decided = [d for d in transcript.decided if d.at not in weighed]
    sought = mind.riddle.sought
    for at, ((_, _, values, facts), known) in weighed.items():
        for early, n in enumerate(reversed(range(len(facts)))):
            transcript.recalled.append(RecalledValue(at, early, values[n], known[n]))
            before = _lead_to(facts[n], written[:at], mind)
            _infer(transcript, at, early, before, 0, stated)
        named = _find_sought(written[:at], mind) if sought else at
        if named is not None:
            outcome = compare(sought or values[0], values[-1])
            transcript.weighed.append(ComparedPair(at, named, outcome))


def _find_known(
    mind: Mind, stated: dict[Fact, Places], conclusion: ComparedConclusion, at: int
) -> list[int]:
    """From where each value is known, `at` if by heart; none if one is not known."""
    known = []
    for fact, value in zip(conclusion.facts, conclusion.values, strict=True):
        if fact not in stated and mind.knows(fact) != value:
            return []
        known.append(stated[fact].end if fact in stated else at)
    return known


def _find_sought(text: str, mind: Mind) -> int | None:
    """The place in the question of the last word of the value that it names."""
    question, sought = mind.riddle.text, mind.riddle.sought
    at = text.find(question)
    return at + question.rindex(sought) + last_word(sought) if at >= 0 else None


def _find_compared(
    transcript: Transcript, mind: Mind, written: str
) -> dict[int, tuple[ComparedPair, int]]:
    """Where a comparison decides what is written, its values (of several, the last
    pair), and the one to look at: that of the name that is written, or the later one.
    At a value it must be known which of the names it is about.
    """
    pairs: dict[int, tuple[ComparedPair, int]] = {}
    subjects = named_subjects(mind.riddle)
    for conclusion in mind.conclusions:
        for at in _find_decisive(transcript, conclusion):
            places = _find_values(written[:at], mind, conclusion)
            if not places:
                continue
            (other, a), (here, b) = sorted(places)
            source = here
            names = zip(subjects, places, conclusion.facts, strict=False)
            for name, (place, value), fact in names:
                if (name in conclusion.text) != (name in conclusion.otherwise):
                    source = place if name in conclusion.text else source
                    after = place + len(value) - last_word(value)
                    named = Fact(name, fact.relation)
                    transcript.inferred.append(InferredFact(after, named, 1))
            pair = ComparedPair(here, other, compare(a, b)), source
            pairs[at] = max(pairs.get(at, pair), pair)
    return pairs


def _find_asked(transcript: Transcript, mind: Mind) -> Iterator[ComparedPair]:
    """The word of the question that says whether it asks for the earlier or later."""
    asked = ORDER.search(mind.riddle.text)
    if not asked:
        return
    outcome = EARLIER if asked[0] in ("first", "earlier") else LATER
    for place in (*transcript.concluded, *transcript.weighed):
        question = transcript.text.rfind(mind.riddle.text, 0, place.at)
        if question >= 0:
            yield ComparedPair(place.at, question + asked.start(), outcome)


def _find_decisive(
    transcript: Transcript, conclusion: ComparedConclusion
) -> Iterator[int]:
    """The first word that would differ if the values compared otherwise."""
    text, otherwise = conclusion.text, conclusion.otherwise
    if not text or text == otherwise:
        return
    same = commonprefix([re.findall(WORDS, text), re.findall(WORDS, otherwise)])
    alike = len("".join(same))
    is_thought = text.startswith(
        THUS
    )  # otherwise it is an answer, decided by a thought
    pattern = f"(?P<text>{re.escape(text)})"
    for span in transcript.spans:
        written = transcript.text[span.start : span.end]
        for match in re.finditer(
            pattern if is_thought else LEAD + pattern + END, written
        ):
            if is_thought or THUS not in written[: match.start()]:
                yield span.start + match.start("text") + alike


def _find_values(
    text: str, mind: Mind, conclusion: ComparedConclusion
) -> list[tuple[int, str]]:
    """The places and texts of the compared values, if they end sentences of a text."""
    values = list(conclusion.values)
    places = [next(reversed(_mentions(text, value)), None) for value in values]
    if len(values) == 2 and values[0] == values[1]:
        places = _mentions(text, values[0])[-2:]
    if mind.riddle.sought:
        values.insert(0, mind.riddle.sought)
        places.insert(0, _find_sought(text, mind))
    if None in places or len(places) < 2 or places[0] == places[1]:
        return []
    return list(zip(places, values, strict=True))


def _mentions(text: str, value: str) -> list[int]:
    """The places of the last words of a value where it ends a sentence or a line."""
    matches = re.finditer(rf"{re.escape(value)}(?=\.|\n| \[\d+\]\.)", text)
    return [match.start() + last_word(value) for match in matches]
