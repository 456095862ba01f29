"""Training examples: prompts are those of the systems, copies and places are correct, and nothing
has to be guessed.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import pytest

pytest.importorskip("torch")

from ircot_laboratory.questions.draw import Draw
from ircot_laboratory.questions.questions import DATASETS, draw_riddle, make_riddles
from ircot_laboratory.world.encyclopedia import make_popular, make_world
from ircot_laboratory.world.records import Fact, Riddle, Thought, World
from ircotlib.data import Demonstration, Paragraph, Question
from ircotlib.prompting.prompt import FLAN_T5, GPT3, Prompt, read_template, render
from training.t5 import draws, examples
from training.t5.draws import CONCLUDED, Plan
from training.t5.encode import IGNORED, encode
from training.t5.examples import Example, needed
from training.t5.model import make_tokenizer
from training.t5.places import (
    DIFFERENT,
    EARLIER,
    LATER,
    PROMPT,
    SAME,
    TARGET,
    YEARS_AFTER,
    last_word,
)

TASKS = ("chain", "direct", "titles", "closed book")


@dataclass(frozen=True)
class Drawn:
    """An example, its question, and the data set of its demonstrations, None without any."""

    dataset: str
    task: str
    riddle: Riddle
    shown: str | None
    example: Example


@pytest.fixture(scope="module")
def worlds():
    return {
        dataset: make_world(1_000_003, 600, dataset, held_out=False, variety=0.35)
        for dataset in DATASETS
    }


@pytest.fixture(scope="module")
def drawn(worlds):
    return [
        found
        for dataset in DATASETS
        for found in (
            *draw_each_kind(worlds[dataset], dataset),
            *draw_mixed(worlds[dataset], dataset),
        )
    ]


def draw_each_kind(world: World, dataset: str) -> list[Drawn]:
    """Every kind of question: with its chain at every stage, answered directly, and without
    paragraphs. There are no demonstrations.
    """
    rng, found = random.Random(dataset), []
    for kind in (*DATASETS[dataset], *(["1hop"] if dataset != "iirc" else [])):
        riddle = draw_riddle(world, rng, dataset, kind)
        context = draws.draw_context(world, riddle, len(riddle.thoughts), 6, rng)
        chains = [
            examples.make_example(world, riddle, context, done)
            for done in range(len(riddle.thoughts))
        ]
        found += [Drawn(dataset, "chain", riddle, None, example) for example in chains]
        found.append(
            Drawn(dataset, "direct", riddle, None, examples.make_direct(world, riddle, context))
        )
        if dataset == "iirc":
            found.append(
                Drawn(dataset, "titles", riddle, None, examples.make_titles(world, riddle))
            )
    return found


def draw_mixed(world: World, dataset: str) -> list[Drawn]:
    """Examples as training draws them, without demonstrations and with two."""
    recorded, draw_question = [], draws.draw_question
    rng, found = random.Random(dataset), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            draws,
            "draw_question",
            lambda *arguments: recorded.append(draw_question(*arguments)) or recorded[-1],
        )
        for number in range(240):
            recorded.clear()
            example = draws.draw_example(world, dataset, rng, Plan(4, 2 * (number % 2), begun=0.5))
            *shots, asked = split(example.prompt)
            (shown,) = {dataset_of(recorded, shot) for shot in shots} or {None}
            riddle = next(riddle for riddle in reversed(recorded) if riddle.text in asked.question)
            found.append(Drawn(dataset, task_of(example.prompt, asked), riddle, shown, example))
    return [one for one in found if one.example.target]


def split(prompt: str) -> list[Demonstration]:
    """The demonstrations of a prompt, and its end as the last one."""
    return [read(number, text) for number, text in enumerate(prompt.split("\n\n\n"))]


def read(number: int, text: str) -> Demonstration:
    context, _, asked = text.rpartition("Q: ")
    (instruction, question), answer = (
        asked.partition("\nA:")[0].split("\n"),
        asked.partition("\nA:")[2],
    )
    assert instruction in (FLAN_T5.chain_of_thought, FLAN_T5.direct)
    pieces = [
        piece.removeprefix("Wikipedia Title: ").split("\n") for piece in context.split("\n\n")[:-1]
    ]
    return Demonstration(
        str(number),
        tuple(Paragraph(title, title, body) for title, body in pieces),
        question,
        answer.strip(),
    )


def state(dialect: str, world: World, fact: Fact) -> Thought:
    """The sentence that states a fact in a dialect."""
    return Draw(world, random.Random(0), dialect, "1hop", dialect).state(fact)


def dataset_of(riddles: Sequence[Riddle], shot: Demonstration) -> str:
    return next(riddle.dataset for riddle in riddles if riddle.text in shot.question)


def task_of(prompt: str, asked: Demonstration) -> str:
    if asked.question.startswith("The question is:"):
        return "titles"
    return (
        "direct" if prompt.count(FLAN_T5.direct) else "chain" if asked.paragraphs else "closed book"
    )


@cache
def tokenized():
    tokenizer = make_tokenizer()
    return tokenizer, cache(lambda text: tokenizer(text, return_offsets_mapping=True))


@cache
def token_starts(text: str) -> frozenset[int]:
    _, tokens = tokenized()
    return frozenset(start for start, _ in tokens(text)["offset_mapping"][:-1])


def conclusions(worlds) -> list[tuple[str, Example]]:
    rng = random.Random(0)
    return [
        (dataset, draws.draw_conclusion(worlds[dataset], rng, dataset))
        for dataset in CONCLUDED
        for _ in range(60)
    ]


def asked_of(example: Example) -> tuple[Demonstration, str]:
    """The end of the prompt without demonstrations, and the whole chain, from there and from the
    target.
    """
    asked = split(example.prompt)[-1]
    return asked, f"{asked.answer} {example.target}".strip()


def test_every_dataset_task_and_kind_is_there_without_and_with_demonstrations(drawn):
    wanted = {
        (dataset, task, n)
        for dataset in DATASETS
        for task in TASKS
        for n in (0, 2)
        if task != "titles" or dataset == "iirc"
    }
    assert {(one.dataset, one.task, 2 if one.shown else 0) for one in drawn} == wanted
    chains = {
        (one.dataset, one.riddle.kind, bool(one.shown)) for one in drawn if one.task == "chain"
    }
    assert chains >= {
        (dataset, kind, shown)
        for dataset, kinds in DATASETS.items()
        for kind in kinds
        for shown in (False, True)
    }
    assert {(one.dataset, one.shown) for one in drawn if one.shown} == {
        (dataset, shown) for dataset in DATASETS for shown in DATASETS
    }


# The prompt


@pytest.mark.parametrize("style", [FLAN_T5, GPT3], ids=["flan_t5", "codex"])
def test_without_demonstrations_the_prompt_is_that_of_the_systems(worlds, style):
    for dataset, world in worlds.items():
        rng = random.Random(dataset)
        for kind in DATASETS[dataset]:
            riddle = draw_riddle(world, rng, dataset, kind)
            context = draws.draw_context(world, riddle, len(riddle.thoughts), 6, rng, style)
            main = world.passage(*riddle.main).title if riddle.main else None
            lower = [
                passage.title.lower() if main and passage.title != main else passage.title
                for passage in context
            ]
            paragraphs = [
                Paragraph(title, title, passage.text)
                for title, passage in zip(lower, context, strict=True)
            ]
            shown = paragraphs[-1 if style.passage_last else 0] if main else None
            question = Question("q", riddle.text, ("a",), (), dataset, passage=shown)
            thoughts = [thought.text for thought in riddle.thoughts[:2]]
            write = Prompt([], len, style.template("cot"), passage_last=style.passage_last)
            assert examples.make_example(
                world, riddle, context, done=2, style=style
            ).prompt == write(question, paragraphs, thoughts)
            assert examples.make_direct(world, riddle, context, style).prompt == render(
                paragraphs, riddle.text, "", style.template("direct")
            )
            if main:
                asked = read_template("ircot", "titles").ask(riddle.text, n=3)
                assert examples.make_titles(world, riddle, n=3, style=style).prompt == render(
                    [shown], asked, "", style.template("titles")
                )


def test_with_demonstrations_the_prompt_is_that_of_the_systems(drawn):
    for one in drawn:
        *shots, asked = split(one.example.prompt)
        assert len(shots) == (2 if one.shown else 0)
        passage = asked.paragraphs[-1] if one.riddle.main and asked.paragraphs else None
        question = Question("q", asked.question, ("a",), (), one.dataset, passage=passage)
        template = FLAN_T5.template("direct" if one.task in ("direct", "titles") else "cot")
        write = Prompt(
            shots, len, template, max_prompt_tokens=100_000, passage_last=FLAN_T5.passage_last
        )
        assert write(question, asked.paragraphs, [asked.answer]) == one.example.prompt


def test_chains_of_demonstrations_are_whole_and_their_paragraphs_state_what_they_say(drawn):
    for one in drawn:
        for shot in split(one.example.prompt)[:-1]:
            assert one.task in ("direct", "titles") or "So the answer is: " in shot.answer
            if one.task == "titles":
                assert shot.question.count(f" {shot.answer.count(',') + 1} Wikipedia pages") == 1
            elif one.task == "chain":
                stated = [
                    sentence
                    for sentence in shot.answer[:-1].split(". ")
                    if not re.match("Thus|So the answer", sentence)
                ]
                texts = " ".join(paragraph.text for paragraph in shot.paragraphs)
                assert stated and all(
                    re.findall(r"[A-Z]\w+ [A-Z]\w+|\d{4}", sentence)[-1] in texts
                    for sentence in stated
                )


def test_the_dialect_of_a_chain_follows_the_demonstrations(drawn, worlds):
    followed = set()
    for one in drawn:
        dialect, (_, chain) = one.shown or one.dataset, asked_of(one.example)
        for thought in one.riddle.thoughts if one.task in ("chain", "closed book") else ():
            if thought.fact and thought.text in chain:
                assert thought == state(dialect, worlds[one.dataset], thought.fact)
                followed.add((one.dataset, dialect))
    assert len(followed) == len(DATASETS) ** 2


def test_the_dialects_of_one_fact(worlds):
    film = next(entity for entity in make_popular().values() if "director" in entity.facts)
    s, o = film.name, film.facts["director"]
    stated = [state(dialect, worlds["musique"], Fact(s, "director")).text for dialect in DATASETS]
    assert stated == [
        f"{s} was directed by {o}.",
        f"The director of {s} is {o}.",
        f"{o} directed {s}.",
        f"{s}'s director was {o}.",
    ]


# The target


def test_prompt_and_target_are_the_gold_chain(drawn):
    begun = 0
    for one in drawn:
        asked, chain = asked_of(one.example)
        begun += bool(asked.answer)
        if one.task == "direct":
            assert (asked.answer, one.example.target) == ("", one.riddle.answer)
        elif one.task == "titles":
            subjects = dict.fromkeys(
                subject for subject, _ in one.riddle.facts if subject != one.riddle.main[0]
            )
            assert (asked.answer, one.example.target) == ("", ", ".join(subjects))
        else:
            done = sum(
                len(thought.text) + 1
                for thought in one.riddle.thoughts
                if thought.text in asked.answer
            )
            assert chain == one.riddle.chain[: len(chain)] and len(asked.answer) == max(0, done - 1)
            assert one.example.complete == (chain == one.riddle.chain)
    assert begun > 300


def test_the_target_states_what_is_in_the_prompt_or_popular_and_no_less(drawn, worlds):
    popular, cut = make_popular(), 0
    for one in drawn:
        world, texts = (
            worlds[one.dataset],
            {paragraph.text for paragraph in asked_of(one.example)[0].paragraphs},
        )
        if one.task == "titles":
            assert all(title in " ".join(texts) for title in one.example.target.split(", "))
            continue
        known = {
            fact: fact[0] in popular or world.passage(*fact).text in texts
            for fact in one.riddle.facts
        }
        if one.task == "direct":
            assert all(fact[0] in popular or known[fact] for fact in one.riddle.facts)
            continue
        assert all(known[fact] for fact in one.riddle.given)
        assert all(
            known[t.fact] for t in one.riddle.thoughts if t.fact and t.text in one.example.target
        )
        if not one.example.complete:
            following = next(
                t for t in one.riddle.thoughts if t.text not in asked_of(one.example)[1]
            )
            assert not known[following.fact]
            cut += 1
    assert cut > 100


def test_context_is_the_needed_paragraphs_and_none_of_later_facts(worlds):
    for dataset, world in worlds.items():
        rng = random.Random(dataset)
        for riddle in make_riddles(world, 24, dataset, 1):
            known = rng.randrange(1, len(riddle.thoughts) + 1)
            context = draws.draw_context(world, riddle, known, 8, rng)
            gold, later = (
                needed(world, riddle, known),
                set(needed(world, riddle)) - set(needed(world, riddle, known)),
            )
            assert (
                len(context) == len(set(context)) == 8
                and set(gold) <= set(context)
                and not later & set(context)
            )
            assert riddle.main is None or context[-1] == world.passage(*riddle.main)


# Copies and places


def test_copies_are_the_same_text(drawn, worlds):
    checked = [one.example for one in drawn] + [example for _, example in conclusions(worlds)]
    assert sum(len(example.copies) for example in checked) > 3000
    for example in checked:
        for at, source, length in example.copies:
            written, read = (
                example.target[at : at + length],
                example.prompt[source : source + length],
            )
            assert written == read or (
                example.target.startswith(f"{written} years old", at)
                and example.prompt[source - 2 : source + 2].isdigit()
            )
            assert (
                at in token_starts(example.target)
                and source in token_starts(example.prompt)
                and at >= example.silent
            )
    assert all(one.example.copies for one in drawn if one.task == "titles")


def test_stated_values_begin_where_they_say(drawn, worlds):
    """In paragraphs this is their first word, in the chain so far their last one."""
    checked = [(one.dataset, one.example) for one in drawn] + conclusions(worlds)
    for dataset, example in checked:
        answer = example.prompt.rindex("\nA:")
        for at, named, subject, relation in example.stated:
            value = worlds[dataset].entities[subject].facts[relation]
            assert example.prompt.startswith(value, at if at < answer else at - last_word(value))
            assert {at, named} <= set(token_starts(example.prompt)) and example.prompt.startswith(
                subject, named
            )
            assert subject in example.prompt[example.prompt.rindex("\n", 0, at) :]
    assert all(one.example.stated for one in drawn if one.task != "closed book")


def test_decided_values_begin_where_they_say(drawn, worlds):
    checked = [(one.dataset, one.example) for one in drawn] + conclusions(worlds)
    for dataset, example in checked:
        for at, subject, relation in example.decided:
            assert example.target.startswith(
                (worlds[dataset].entities[subject].facts[relation], subject), at
            )
            assert at in token_starts(example.target) and at >= example.silent
    for one in drawn:
        stated = {t.fact for t in one.riddle.thoughts if t.fact and t.text in one.example.target}
        assert one.task in ("direct", "titles") or stated <= {
            decided[1:] for decided in one.example.decided
        }


ASKING_WORDS = {  # what asks for these relations and for no others, in any data set
    "mentor": {"mentor", "trained"},
    "father": {"father", "child"},
    "death": {"die", "died"},
    "birth": {"born"},
    "birthplace": {"birthplace", "born"},
    "river": {"river", "flows", "lie"},
    "star": {"star", "lead"},
    "publisher": {"publisher", "published"},
    "spouse": {"spouse", "married"},
}


def test_the_word_that_asks_for_a_fact_is_in_the_question_and_names_the_relation(worlds):
    """Each fact of a walk has another word. On either side of the first subject, words are further
    away from it for later facts.
    """
    rng, found = random.Random(4), {}
    for dataset, kind in (
        ("hotpotqa", "bridge"),
        ("2wikimultihopqa", "compositional"),
        ("musique", "4hop1"),
        ("iirc", "span"),
    ):
        for _ in range(150):
            riddle = draw_riddle(worlds[dataset], rng, dataset, kind)
            assert len(set(riddle.asked)) == len(riddle.facts)
            for (_, relation), at in zip(riddle.facts, riddle.asked, strict=True):
                found.setdefault(relation, set()).add(re.match(r"\w+", riddle.text[at:])[0])
            start = riddle.text.index(riddle.facts[0][0])
            before, after = (
                [at for at in riddle.asked if (at > start) == is_after]
                for is_after in (False, True)
            )
            assert (before, after) == (sorted(before, reverse=True), sorted(after))
    assert {relation: found[relation] for relation in ASKING_WORDS} == {
        relation: words & found[relation] for relation, words in ASKING_WORDS.items()
    }


def test_every_sentence_of_a_walk_is_asked_for_in_the_question(drawn):
    checked = 0
    for one in drawn:
        question = one.example.prompt.rindex(one.riddle.text) if one.example.asked else 0
        sentences = [t for t in one.riddle.thoughts if t.fact]
        for at, source, length in one.example.asked:
            number = next(
                n for n, t in enumerate(sentences) if t.text == one.example.target[at : at + length]
            )
            assert source == question + one.riddle.asked[number] and source in token_starts(
                one.example.prompt
            )
            checked += 1
        assert not one.riddle.compared or not one.example.asked
    assert checked > 500


def test_the_subject_of_a_written_value_was_mentioned_where_it_says(drawn):
    """The last mention is in the target, otherwise in the question or the chain so far. Entities
    that are counted are only in the main passage.
    """
    sides = {PROMPT: 0, TARGET: 0}
    for one in drawn:
        subjects = {at: subject for at, subject, _ in one.example.decided}
        for at, side, place in one.example.about:
            text, first = (
                (one.example.target[:at], 0)
                if side == TARGET
                else (one.example.prompt, one.example.prompt.rindex("Q: "))
            )
            assert text.rindex(subjects[at], first) == place
            sides[side] += 1
        stated = sum(1 for t in one.riddle.thoughts if t.fact and t.text in one.example.target)
        assert (
            len(one.example.about) == stated
            if one.task == "chain" and one.riddle.kind != "count"
            else len(one.example.about) <= stated
        )
    assert min(sides.values()) > 100


def test_compared_values_and_their_outcomes(drawn, worlds):
    found = {}
    for one in [*drawn, *concluded_riddles(worlds)]:
        for compared in one.example.compared:
            value, other = (read_value(one.example, *place) for place in compared.places)
            assert {value, other} <= {
                one.riddle.sought,
                *(
                    worlds[one.dataset].value(*one.riddle.thoughts[n].fact)
                    for n in one.riddle.compared
                ),
            }
            if not value.isdigit():
                assert compared.outcome == (SAME if value == other else DIFFERENT)
            elif one.riddle.kind == "age" and int(value) > int(other):
                assert (
                    compared.outcome
                    == YEARS_AFTER + int(one.riddle.answer)
                    == YEARS_AFTER + int(value) - int(other)
                )
            else:
                assert compared.outcome == (EARLIER if int(value) < int(other) else LATER)
            sides = compared.side, compared.other_side
            found.setdefault((one.dataset, one.riddle.kind, sides), set()).add(
                min(compared.outcome, YEARS_AFTER)
            )
    within, across = ((PROMPT, PROMPT), (TARGET, TARGET)), (TARGET, PROMPT)
    for sides in (*within, across):
        assert found["hotpotqa", "comparison", sides] == {EARLIER, LATER, SAME, DIFFERENT}
        assert found["2wikimultihopqa", "bridge_comparison", sides] == {EARLIER, LATER}
        assert found["iirc", "age", sides] == (
            {EARLIER, YEARS_AFTER} if sides == within[0] else {YEARS_AFTER}
        )
    assert found["iirc", "count", within[0]] == found["iirc", "count", across] == {SAME, DIFFERENT}
    assert ("iirc", "count", within[1]) not in found


def read_value(example: Example, side: int, start: int) -> str:
    """The name or number whose last word starts there."""
    text = (example.prompt, example.target)[side]
    assert start in token_starts(text)
    return re.search(r"[A-Z]\w+ $|\d\d$|$", text[:start])[0] + re.match(r"\w+", text[start:])[0]


def concluded_riddles(worlds) -> list[Drawn]:
    """Comparisons with only the conclusion left to write; their facts are in the prompt or in the
    target.
    """
    found = []
    for dataset, kind in (
        ("hotpotqa", "comparison"),
        ("2wikimultihopqa", "bridge_comparison"),
        ("iirc", "age"),
    ):
        rng = random.Random(kind)
        for n in range(40):
            riddle = draw_riddle(worlds[dataset], rng, dataset, kind)
            stated = sum(thought.fact is not None for thought in riddle.thoughts)
            setting = {"done": 0, "silent": stated} if n % 2 else {"done": stated}
            found.append(
                Drawn(
                    dataset,
                    "conclusion",
                    riddle,
                    None,
                    examples.make_example(worlds[dataset], riddle, [], **setting),
                )
            )
    return found


def test_a_difference_is_that_of_its_two_years_and_nothing_is_asked(worlds):
    rng, sides = random.Random(0), set()
    for _ in range(40):
        example = draws.draw_difference(worlds["iirc"], rng)
        given = example.prompt.split("step-by-step.\n\nA:")[1] + example.target[: example.silent]
        birth, event = map(int, re.findall(r"\b\d{4}\b", given))
        assert example.target.endswith(f"So the answer is: {event - birth}.") and not re.search(
            r"\d{4}", example.target[example.silent :]
        )
        [*_, compared] = sorted(example.compared, key=lambda one: one.outcome)
        assert compared.outcome == YEARS_AFTER + event - birth and read_value(
            example, compared.side, compared.start
        ) == str(event)
        sides.add(compared.side)
    assert sides == {PROMPT, TARGET}


def test_of_a_conclusion_only_the_end_is_learned(worlds):
    for _, example in conclusions(worlds):
        asked, chain = asked_of(example)
        assert not asked.paragraphs and example.complete
        assert re.match(r"Thus, .*\. So the answer is: .*\.$", example.target[example.silent :])
        assert bool(asked.answer) != bool(example.silent) and chain.count("So the answer is: ") == 1


# Tokens


def test_every_word_is_in_the_vocabulary_but_for_titles_in_lower_case(drawn, worlds):
    tokenizer, tokens = tokenized()
    for example in [one.example for one in drawn] + [example for _, example in conclusions(worlds)]:
        assert tokenizer.unk_token_id not in tokens(example.target)["input_ids"]
        found = tokens(example.prompt)
        unknown = [
            start
            for id, (start, _) in zip(found["input_ids"], found["offset_mapping"], strict=True)
            if id == tokenizer.unk_token_id
        ]
        lines = {
            example.prompt[example.prompt.rfind("\n", 0, at) + 1 :].partition("\n")[0]
            for at in unknown
        }
        titles = [
            line.removeprefix("Wikipedia Title: ")
            for line in lines
            if line.startswith("Wikipedia Title: ")
        ]
        assert len(titles) == len(lines) and all(title == title.lower() for title in titles)
    assert any(
        "Wikipedia Title: " + title.lower() in one.example.prompt
        for one in drawn
        for title in worlds["iirc"].pages
    )


def test_a_year_has_two_tokens():
    tokenizer, _ = tokenized()
    assert tokenizer.tokenize("1931.") == ["19", "##31", "."]
    assert [last_word(value) for value in ("1931", "Old Burton", "Fosse")] == [2, 4, 0]


def test_chains_questions_and_titles_come_back_from_the_tokenizer(drawn):
    tokenizer, tokens = tokenized()
    for dataset in DATASETS:
        for riddle in make_riddles(make_world(2, 1200, dataset), 100, dataset, 2):
            for text in (riddle.chain, riddle.text):
                assert (
                    tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True) == text
                )
    for one in drawn:
        assert (
            tokenizer.decode(tokens(one.example.target)["input_ids"], skip_special_tokens=True)
            == one.example.target
        )


def test_an_encoded_batch_points_at_equal_tokens(drawn, worlds):
    tokenizer, _ = tokenized()
    batch = encode(
        [one.example for one in drawn[::40]]
        + [example for _, example in conclusions(worlds)[::10]],
        tokenizer,
    )
    rows, columns = (batch["sources"] >= 0).nonzero(as_tuple=True)
    written = batch["decoder_input_ids"].roll(-1, 1)
    assert len(rows) > 100
    sources = batch["input_ids"][rows, batch["sources"][rows, columns]]
    last = batch["labels"][rows, columns]
    years_old = written[
        rows, (columns + 1).clamp(max=written.shape[1] - 1)
    ] == tokenizer.convert_tokens_to_ids("years")
    assert ((last == sources) | (last == IGNORED) | years_old).all() and (
        last == sources
    ).sum() > 100
    both = (batch["labels"][:, :-1] != IGNORED) & (batch["labels"][:, 1:] != IGNORED)
    assert (written[:, :-1] == batch["labels"][:, :-1])[both].all()
    rows, columns = (batch["asked"] >= 0).nonzero(as_tuple=True)
    asking = tokenizer.batch_decode(
        batch["input_ids"][rows, batch["asked"][rows, columns]][:, None]
    )
    assert (
        len(rows) > 100
        and set(asking) & {"mentor", "mayor", "founder"}
        and not set(asking) & {"the", "of", "?", "¶", "A"}
    )
    row, position, first_word, last_word, _ = batch["decided"].T
    assert len(row) > 20 and (batch["labels"][row, position] != IGNORED).all()
    assert all(
        " " in tokenizer.decode(pair)
        for pair in zip(first_word.tolist(), last_word.tolist(), strict=True)
    )
