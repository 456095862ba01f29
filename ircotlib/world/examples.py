"""Training examples from a miniature encyclopedia: prompts, targets, and where each word of a target comes from."""

import random
from collections import defaultdict
from dataclasses import dataclass

from ircotlib.data import Paragraph
from ircotlib.prompts import FLAN_T5
from ircotlib.world.encyclopedia import World
from ircotlib.world.questions import Riddle, draw_riddle

TRAINING_SHARES = {"1hop": 0.26, "2hop": 0.22, "3hop": 0.18, "4hop": 0.14, "comparison": 0.14, "same": 0.06}
EARLIER, LATER, SAME, DIFFERENT = range(4)  # how a value compares with the other one of its question
PROMPT, TARGET = range(2)  # where a chain of thought stands


@dataclass(frozen=True, slots=True)
class Comparison:
    """Where the two values that a question compares stand, both in the PROMPT or both in the TARGET, and how each compares with the other."""

    side: int
    starts: tuple[int, int]
    outcomes: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Example:
    """One training example. All places are in characters; that of a value is where its last word begins (a year: its last two digits).

    `copies`: (start in target, start in prompt, length) of text copied word for word. `stated`: (place in prompt, subject, relation) of
    every fact's value. `decided`: (start in target, subject, relation) of what is written about that subject, or the subject itself.
    `silent`: length of the part of the target that is given, not learned. `complete`: whether the target ends the chain.
    """

    prompt: str
    target: str
    copies: tuple[tuple[int, int, int], ...]
    stated: tuple[tuple[int, str, str], ...]
    decided: tuple[tuple[int, str, str], ...]
    compared: Comparison | None
    silent: int
    complete: bool


class Confusers:
    """Titles of a world by the words in them."""

    def __init__(self, world: World):
        self.by_word = defaultdict(list)
        for title in world.entities:
            for word in title.split():
                self.by_word[word].append(title)

    def draw(self, title: str, rng: random.Random) -> str:
        """A title that shares a word with this one (or this one itself)."""
        return rng.choice(self.by_word[rng.choice(title.split())])


def draw_context(world: World, riddle: Riddle, known: int, count: int, confusers: Confusers, rng: random.Random) -> list[str]:
    """Draw the titles of about `count` paragraphs: those of the first `known` facts, and distractors that resemble them.

    Distractors: paragraphs of wrong values (what else a needed paragraph mentions), titles that share a word with a needed
    one or with such a value, and any others; never the paragraphs of later facts.
    """
    needed = list(dict.fromkeys(subject for subject, _ in riddle.facts[:known]))
    later = {subject for subject, _ in riddle.facts[known:]} - set(needed)
    titles = dict.fromkeys(needed)
    for _ in range(8 * count):
        if len(titles) >= count:
            break
        anchor = rng.choice(list(titles)) if rng.random() < 0.4 else rng.choice(needed)
        values = [value for value in world.entities[anchor].facts.values() if value in world.entities]
        draw = rng.random()
        if draw < 0.35 and values:
            title = rng.choice(values)
        elif draw < 0.85:
            title = confusers.draw(rng.choice([*values, anchor]), rng)
        else:
            title = rng.choice(list(world.entities))
        if title not in later:
            titles.setdefault(title)
    return rng.sample(list(titles), len(titles))


def draw_example(world: World, confusers: Confusers, rng: random.Random, paragraphs: int, begun: float = 0.37) -> Example:
    """Draw one example: a question, about `paragraphs` paragraphs, a part of the gold chain, and its continuation.

    `begun`: the share of examples whose prompt holds a sentence of the chain or more.
    """
    kind = rng.choices(list(TRAINING_SHARES), list(TRAINING_SHARES.values()))[0]
    riddle = draw_riddle(world, rng, kind)
    done = rng.randrange(1, len(riddle.thoughts)) if rng.random() < begun else 0
    known = len(riddle.facts) if rng.random() < 0.5 else min(done + 1, len(riddle.facts))
    return make_example(world, riddle, draw_context(world, riddle, known, paragraphs, confusers, rng), done)


def draw_conclusion(world: World, rng: random.Random) -> Example:
    """Draw a comparison without paragraphs, both facts given as the chain so far: only the conclusion is left to write.

    Half the time the facts are in the prompt, as in an IRCoT step, else they begin the target, as in a reader's own chain.
    """
    riddle = draw_riddle(world, rng, rng.choice(("comparison", "comparison", "comparison", "same")))
    return make_example(world, riddle, [], done=2) if rng.random() < 0.5 else make_example(world, riddle, [], done=0, silent=2)


def make_example(world: World, riddle: Riddle, titles: list[str], done: int, silent: int = 0) -> Example:
    """Make the example: the chain's first `done` sentences in the prompt, the rest as target, cut where a paragraph is missing.

    `silent`: so many sentences of the target are given, whether or not there are paragraphs for them.
    """
    prompt, places, question_start = _write_prompt(world, riddle, titles, done)
    sources = {**_named_in_question(riddle, question_start), **_stated_values(world, riddle, places)}
    shown = [n >= len(riddle.facts) or n < silent or riddle.facts[n][0] in places for n in range(done, len(riddle.thoughts))]
    end = done + (shown.index(False) if False in shown else len(shown))
    target, starts = _join(riddle.thoughts[done:end])
    silent_length = starts[silent] if silent else 0
    chain, chain_starts = prompt[len(prompt) - len(" ".join(riddle.thoughts[:done])) :], _join(riddle.thoughts[:done])[1]
    in_prompt = {n: len(prompt) - len(chain) + chain_starts[n] for n in range(min(done, len(riddle.facts)))}
    in_target = {n: starts[n - done] for n in range(done, min(end, len(riddle.facts)))}
    return Example(
        prompt=prompt,
        target=target,
        copies=tuple(_find_copies(target, silent_length, sources)),
        stated=(*_all_stated(world, places), *((_value_place(world, riddle, n, at), *riddle.facts[n]) for n, at in in_prompt.items())),
        decided=tuple(_decided(world, riddle, in_target, silent, target, starts, done)),
        compared=_compared(world, riddle, in_prompt, in_target),
        silent=silent_length,
        complete=end == len(riddle.thoughts),
    )


def _join(sentences: tuple[str, ...]) -> tuple[str, list[int]]:
    """The sentences joined by a space, and where each begins."""
    starts = [sum(len(s) + 1 for s in sentences[:n]) for n in range(len(sentences))]
    return " ".join(sentences), starts


def _write_prompt(world: World, riddle: Riddle, titles: list[str], done: int) -> tuple[str, dict[str, int], int]:
    """The prompt, where each title's paragraph text starts in it, and where the question does."""
    prompt, places = "", {}
    for title in titles:
        prompt += f"Wikipedia Title: {title}\n"
        places[title] = len(prompt)
        prompt += world.paragraphs[title].text + "\n\n"
    prompt += f"Q: {FLAN_T5.chain_of_thought}\n"
    question_start = len(prompt)
    prompt += f"{riddle.text}\nA: " + " ".join(riddle.thoughts[:done])
    return prompt.rstrip(), places, question_start


def _value(world: World, riddle: Riddle, number: int) -> str:
    subject, relation = riddle.facts[number]
    return world.entities[subject].facts[relation]


def _value_place(world: World, riddle: Riddle, number: int, start: int) -> int:
    """Where the value's last word begins in the thought that starts at `start`."""
    value = _value(world, riddle, number)
    return start + riddle.thoughts[number].rindex(value) + last_word(value)


def last_word(value: str) -> int:
    """Where the last word of a value begins; of a year, its last two digits."""
    return 2 if value.isdigit() else value.rfind(" ") + 1


def _named_in_question(riddle: Riddle, question_start: int) -> dict[str, int]:
    subjects = {subject for subject, _ in riddle.facts}
    return {name: question_start + riddle.text.index(name) for name in subjects if name in riddle.text}


def _stated_values(world: World, riddle: Riddle, places: dict[str, int]) -> dict[str, int]:
    sources = {}
    for subject, relation in riddle.facts:
        if subject in places:
            span = next(span for span in world.spans[subject] if span.relation == relation)
            sources.setdefault(world.entities[subject].facts[relation], places[subject] + span.start)
    return sources


def _all_stated(world: World, places: dict[str, int]) -> list[tuple[int, str, str]]:
    return [(place + span.start, title, span.relation) for title, place in places.items() for span in world.spans[title]]


def _find_copies(target: str, start: int, sources: dict[str, int]) -> list[tuple[int, int, int]]:
    """Every name or value with a known source in target[start:]."""
    copies = []
    for name, source in sources.items():
        at = target.find(name, start)
        while at >= 0:
            copies.append((at, source, len(name)))
            at = target.find(name, at + 1)
    return copies


def _decided(world: World, riddle: Riddle, in_target: dict[int, int], silent: int, target: str, starts: list[int], done: int) -> list[tuple]:
    """The values that the target states, and the name that concludes a comparison of years."""
    found = [(at + riddle.thoughts[n].rindex(_value(world, riddle, n)), *riddle.facts[n]) for n, at in in_target.items() if n >= silent]
    conclusion = len(riddle.facts) - done
    if riddle.kind == "comparison" and 0 <= conclusion < len(starts):
        found.append((target.index(riddle.answer, starts[conclusion]), riddle.answer, riddle.facts[0][1]))
    return found


def _compared(world: World, riddle: Riddle, in_prompt: dict[int, int], in_target: dict[int, int]) -> Comparison | None:
    if riddle.kind not in ("comparison", "same"):
        return None
    for side, places in ((PROMPT, in_prompt), (TARGET, in_target)):
        if len(places) == 2:
            a, b = (_value(world, riddle, n) for n in (0, 1))
            outcomes = ((SAME if a == b else DIFFERENT,) * 2) if riddle.kind == "same" else ((EARLIER, LATER) if int(a) < int(b) else (LATER, EARLIER))
            return Comparison(side, tuple(_value_place(world, riddle, n, places[n]) for n in (0, 1)), outcomes)
    return None


def gold_paragraphs(world: World, riddle: Riddle) -> list[Paragraph]:
    """The paragraphs that state the question's facts, in order, each once."""
    return [world.paragraphs[title] for title in dict.fromkeys(subject for subject, _ in riddle.facts)]


