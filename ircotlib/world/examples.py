"""Training examples from a miniature encyclopedia: prompts, targets, and where each word of a target comes from."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ircotlib.prompts import FLAN_T5
from ircotlib.systems.iirc import ASK_FOR_TITLES
from ircotlib.world.encyclopedia import Passage, World, make_popular
from ircotlib.world.questions import STYLES, Fact, Riddle, Thought, draw_riddle, value_of

ONE_HOP = 0.25  # of the training questions have a single hop: only they show whether values are read, not guessed
CONCLUDED = {"hotpotqa": ("comparison",), "2wikimultihopqa": ("comparison", "bridge_comparison"), "iirc": ("age", "age", "count")}
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
    """One training example. All places are in characters; that of a compared value is where its last word begins (a year: its last two digits).

    `copies`: (start in target, start in prompt, length) of text copied word for word. `stated`: (place in prompt, subject, relation) of
    every fact's value, in the chain so far of its last word. `decided`: (start in target, subject, relation) of what is written about that
    subject, or the subject itself.
    `silent`: length of the part of the target that is given, not learned. `complete`: whether the target ends the chain.
    """

    prompt: str
    target: str
    copies: tuple[tuple[int, int, int], ...] = ()
    stated: tuple[tuple[int, str, str], ...] = ()
    decided: tuple[tuple[int, str, str], ...] = ()
    compared: Comparison | None = None
    silent: int = 0
    complete: bool = True


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


def draw_question(world: World, rng: random.Random, style: str, dialect: str | None = None) -> Riddle:
    """Draw a training question of a style, of one hop or of one of its kinds (all alike, for the longer ones are harder)."""
    one_hop = style != "iirc" and rng.random() < ONE_HOP
    return draw_riddle(world, rng, style, "1hop" if one_hop else rng.choice(list(STYLES[style])), dialect)


def needed(world: World, riddle: Riddle, known: int | None = None) -> list[Passage]:
    """The paragraphs of the facts that the first `known` thoughts state (None: all), each once, in order; the main passage is the last."""
    thoughts = riddle.thoughts if known is None else riddle.thoughts[:known]
    main = [world.passage(*riddle.main)] if riddle.main else []
    found = dict.fromkeys(world.passage(*thought.fact) for thought in thoughts if thought.fact)
    return [*(passage for passage in found if passage not in main), *main]


def draw_context(world: World, riddle: Riddle, known: int, count: int, confusers: Confusers, rng: random.Random) -> list[Passage]:
    """Draw about `count` paragraphs: those of the first `known` thoughts, and distractors that resemble them; the main passage is the last.

    Distractors: paragraphs of wrong values (what else a needed paragraph mentions), titles that share a word with a needed
    one or with such a value, and any others; never the paragraphs of later facts.
    """
    gold = needed(world, riddle, known)
    later = set(needed(world, riddle)) - set(gold)
    titles = [passage.title for passage in gold] or [riddle.facts[0][0]]
    chosen = dict.fromkeys(gold)
    for _ in range(8 * count):
        if len(chosen) >= count:
            break
        passage = rng.choice(world.pages[_draw_distractor(world, rng.choice(titles), confusers, rng)])
        if passage not in later:
            chosen.setdefault(passage)
            titles.append(passage.title)
    main = gold[-1:] if riddle.main else []
    rest = [passage for passage in chosen if passage not in main]
    return rng.sample(rest, len(rest)) + main


def _draw_distractor(world: World, anchor: str, confusers: Confusers, rng: random.Random) -> str:
    values = [value for value in world.entities[anchor].facts.values() if value in world.entities]
    draw = rng.random()
    if draw < 0.35 and values:
        return rng.choice(values)
    return confusers.draw(rng.choice([*values, anchor]), rng) if draw < 0.85 else rng.choice(list(world.entities))


@dataclass(frozen=True, slots=True)
class Plan:
    """What the examples of a step are like: so many paragraphs and demonstrations, and the share of chains that have begun."""

    paragraphs: int
    demonstrations: int
    begun: float = 0.37


def draw_example(world: World, style: str, confusers: Confusers, rng: random.Random, plan: Plan) -> Example:
    """Draw one example of a world in a style: mostly a chain of thought, sometimes a direct answer, titles, or a chain without paragraphs.

    Three times in ten the demonstrations, and with them the chain, are in the dialect of another style: what they show is to be followed.
    """
    dialect = rng.choice(list(STYLES)) if plan.demonstrations and rng.random() < 0.3 else style
    draw = rng.random()
    riddle = draw_question(world, rng, style, dialect)
    shots = [draw_question(world, rng, dialect) for _ in range(plan.demonstrations)]
    if draw < 0.06:
        return _shift(_show_closed(shots), _closed_book(world, rng, style, dialect))
    if draw < 0.16:
        context = draw_context(world, riddle, len(riddle.thoughts), plan.paragraphs, confusers, rng)
        return _shift(_show(world, shots, confusers, rng, direct=True), make_direct(world, riddle, context))
    if style == "iirc" and draw < 0.3:
        shots = [draw_question(world, rng, style) for _ in shots]
        return _shift(_show_titles(world, shots), make_titles(world, riddle, n=3))
    done = rng.randrange(1, len(riddle.thoughts)) if rng.random() < plan.begun else 0
    known = len(riddle.thoughts) if rng.random() < 0.5 else done + 1
    context = draw_context(world, riddle, known, plan.paragraphs, confusers, rng)
    return _shift(_show(world, shots, confusers, rng), make_example(world, riddle, context, done))


def _show(world: World, shots: list[Riddle], confusers: Confusers, rng: random.Random, direct: bool = False) -> str:
    """Demonstrations with their paragraphs and up to two distractors."""
    text = ""
    for riddle in shots:
        gold = needed(world, riddle)
        context = draw_context(world, riddle, len(riddle.thoughts), len(gold) + rng.choice((0, 1, 2)), confusers, rng)
        prompt = write_prompt(riddle, context, instruction=FLAN_T5.direct if direct else FLAN_T5.chain_of_thought)[0]
        text += f"{prompt} {riddle.answer if direct else riddle.chain}\n\n\n"
    return text


def _show_closed(shots: list[Riddle]) -> str:
    return "".join(f"{write_prompt(riddle, [])[0]} {riddle.chain}\n\n\n" for riddle in shots)


def _show_titles(world: World, shots: list[Riddle]) -> str:
    """Demonstrations of title generation, which ask for the true number."""
    examples = [make_titles(world, riddle) for riddle in shots]
    return "".join(f"{example.prompt} {example.target}\n\n\n" for example in examples)


def _shift(before: str, example: Example) -> Example:
    """The example with a text before its prompt."""
    n = len(before)
    compared = example.compared
    if compared and compared.side == PROMPT:
        compared = Comparison(PROMPT, (compared.starts[0] + n, compared.starts[1] + n), compared.outcomes)
    copies = tuple((at, source + n, length) for at, source, length in example.copies)
    stated = tuple((at + n, subject, relation) for at, subject, relation in example.stated)
    return Example(before + example.prompt, example.target, copies, stated, example.decided, compared, example.silent, example.complete)


def _closed_book(world: World, rng: random.Random, style: str, dialect: str) -> Example:
    """A question without paragraphs whose first fact at least is a popular one, to be known by heart."""
    while True:
        riddle = draw_question(world, rng, style, dialect)
        if riddle.facts[0][0] in make_popular() and not riddle.given:
            return make_example(world, riddle, [], done=0)


def draw_conclusion(world: World, rng: random.Random, style: str) -> Example:
    """Draw a question without paragraphs, all facts given as the chain so far: only the conclusion is left to write.

    Half the time the facts are in the prompt, as in an IRCoT step, else they begin the target, as in a reader's own chain.
    """
    riddle = draw_riddle(world, rng, style, rng.choice(CONCLUDED[style]))
    stated = sum(thought.fact is not None for thought in riddle.thoughts)
    return make_example(world, riddle, [], done=stated) if rng.random() < 0.5 else make_example(world, riddle, [], done=0, silent=stated)


def make_direct(world: World, riddle: Riddle, context: Sequence[Passage]) -> Example:
    """The example of a direct reader: the answer alone."""
    prompt, places, question_start = write_prompt(riddle, context, instruction=FLAN_T5.direct)
    sources = _sources(world, riddle, places, question_start)
    last = next(thought.fact for thought in reversed(riddle.thoughts) if thought.fact)
    decided = ((0, *last),) if value_of(world, last) == riddle.answer else ()
    return Example(prompt, riddle.answer, tuple(_find_copies(riddle.answer, 0, sources)), tuple(_all_stated(places)), decided)


def make_titles(world: World, riddle: Riddle, n: int | None = None) -> Example:
    """The example of title generation (IRCoT App. B): main passage and question, and the titles of the other gold pages.

    `n`: the number the prompt asks for, None: the true one, which is written in any case.
    """
    titles = list(dict.fromkeys(subject for subject, _ in riddle.facts if subject != riddle.main[0]))
    question = ASK_FOR_TITLES.format(question=riddle.text, n=n or len(titles))
    prompt, places, start = write_prompt(riddle, [world.passage(*riddle.main)], instruction=FLAN_T5.direct, question=question)
    sources = _sources(world, riddle, places, start + question.index(riddle.text))
    target = ", ".join(titles)
    return Example(prompt, target, tuple(_find_copies(target, 0, sources)), tuple(_all_stated(places)))


def make_example(world: World, riddle: Riddle, context: Sequence[Passage], done: int, silent: int = 0) -> Example:
    """Make the example: the chain's first `done` sentences in the prompt, the rest as target, cut where a fact is neither shown nor popular.

    `silent`: so many sentences of the target are given, whether or not there are paragraphs for them.
    """
    prompt, places, question_start = write_prompt(riddle, context, done)
    sources = _sources(world, riddle, places, question_start)
    thoughts = riddle.thoughts
    shown = [n < silent or _is_known(world, thoughts[n].fact, places) for n in range(done, len(thoughts))]
    end = done + (shown.index(False) if False in shown else len(shown))
    target, starts = _join(thoughts[done:end])
    chain, chain_starts = _join(thoughts[:done])
    in_prompt = {n: len(prompt) - len(chain) + chain_starts[n] for n in range(done) if thoughts[n].fact}
    in_target = {n: starts[n - done] for n in range(done, end) if thoughts[n].fact}
    silent_length = starts[silent] if silent else 0
    stated_so_far = tuple((at + _value_place(world, thoughts[n]), *thoughts[n].fact) for n, at in in_prompt.items())
    return Example(
        prompt=prompt,
        target=target,
        copies=tuple(_find_copies(target, silent_length, sources)),
        stated=(*_all_stated(places), *stated_so_far),
        decided=tuple(_decided(world, riddle, {n: at for n, at in in_target.items() if n >= silent}, target, starts, done)),
        compared=_compared(world, riddle, in_prompt, in_target),
        silent=silent_length,
        complete=end == len(thoughts),
    )


def _is_known(world: World, fact: Fact | None, places: dict[Passage, int]) -> bool:
    return fact is None or fact[0] in make_popular() or world.passage(*fact) in places


def _join(thoughts: Sequence[Thought]) -> tuple[str, list[int]]:
    """The thoughts joined by a space, and where each begins."""
    starts = [sum(len(t.text) + 1 for t in thoughts[:n]) for n in range(len(thoughts))]
    return " ".join(thought.text for thought in thoughts), starts


def write_prompt(
    riddle: Riddle, context: Sequence[Passage], done: int = 0, instruction: str = FLAN_T5.chain_of_thought, question: str = ""
) -> tuple[str, dict[Passage, int], int]:
    """The prompt, where each paragraph's text starts in it, and where the question does (form: ircotlib.prompts).

    In the style "iirc" titles are in lower case, but for the main passage's, as in the official files.
    """
    prompt, places = "", {}
    for passage in context:
        lower = riddle.main and passage.title != riddle.main[0]
        prompt += f"Wikipedia Title: {passage.title.lower() if lower else passage.title}\n"
        places[passage] = len(prompt)
        prompt += passage.text + "\n\n"
    prompt += f"Q: {instruction}\n"
    question_start = len(prompt)
    prompt += f"{question or riddle.text}\nA: " + _join(riddle.thoughts[:done])[0]
    return prompt.rstrip(), places, question_start


def _value_place(world: World, thought: Thought) -> int:
    """Where the value's last word begins in a thought."""
    value = value_of(world, thought.fact)
    return thought.text.rindex(value) + last_word(value)


def last_word(value: str) -> int:
    """Where the last word of a value begins; of a year, its last two digits."""
    return 2 if value.isdigit() else value.rfind(" ") + 1


def _sources(world: World, riddle: Riddle, places: dict[Passage, int], question_start: int) -> dict[str, int]:
    """Where each name and value can be copied from: the question, or the paragraph that states it."""
    subjects = dict.fromkeys(subject for subject, _ in riddle.facts)
    sources = {name: question_start + riddle.text.index(name) for name in subjects if name in riddle.text}
    for fact in riddle.facts:
        passage = world.passage(*fact)
        if passage in places:
            sources.setdefault(value_of(world, fact), places[passage] + passage.span(fact[1]).start)
    return sources


def _all_stated(places: dict[Passage, int]) -> list[tuple[int, str, str]]:
    return [(at + span.start, passage.title, span.relation) for passage, at in places.items() for span in passage.spans]


def _find_copies(target: str, start: int, sources: dict[str, int]) -> list[tuple[int, int, int]]:
    """Every name or value with a known source in target[start:]."""
    copies = []
    for name, source in sources.items():
        at = target.find(name, start)
        while at >= 0:
            copies.append((at, source, len(name)))
            at = target.find(name, at + 1)
    return copies


def _decided(world: World, riddle: Riddle, in_target: dict[int, int], target: str, starts: list[int], done: int) -> list[tuple]:
    """The values that the target states, and the name that concludes a comparison."""
    found = [(at + riddle.thoughts[n].text.rindex(value_of(world, riddle.thoughts[n].fact)), *riddle.thoughts[n].fact) for n, at in in_target.items()]
    conclusion = len(riddle.thoughts) - 2 - done
    if "comparison" in riddle.kind and riddle.answer in world.entities and 0 <= conclusion < len(starts):
        relation = next(relation for subject, relation in riddle.facts if subject == riddle.answer)
        found.append((target.index(riddle.answer, starts[conclusion]), riddle.answer, relation))
    return found


def _compared(world: World, riddle: Riddle, in_prompt: dict[int, int], in_target: dict[int, int]) -> Comparison | None:
    if not riddle.compared:
        return None
    for side, places in ((PROMPT, in_prompt), (TARGET, in_target)):
        if all(n in places for n in riddle.compared):
            thoughts = [riddle.thoughts[n] for n in riddle.compared]
            starts = tuple(places[n] + _value_place(world, thought) for n, thought in zip(riddle.compared, thoughts, strict=True))
            return Comparison(side, starts, _outcomes(*(value_of(world, thought.fact) for thought in thoughts)))
    return None


def _outcomes(a: str, b: str) -> tuple[int, int]:
    if not a.isdigit():
        return ((SAME if a == b else DIFFERENT),) * 2
    return (EARLIER, LATER) if int(a) < int(b) else (LATER, EARLIER)
