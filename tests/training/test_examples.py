"""Training examples: prompts are those of the systems, copies and places are correct, and nothing
has to be guessed.
"""

import random
import re
from functools import cache
from typing import NamedTuple

import pytest

pytest.importorskip("torch")

from ircot_laboratory.questions.draw import Draw
from ircot_laboratory.questions.questions import DATASETS, draw_riddle, make_riddles
from ircot_laboratory.world.encyclopedia import make_popular, make_world
from ircot_laboratory.world.records import Riddle
from ircotlib.data import Paragraph, Question
from ircotlib.prompting.prompt import FLAN_T5, GPT3, Prompt, read_template, render
from training.positions import DIFFERENT, EARLIER, LATER, SAME, YEARS_AFTER
from training.t5 import draw_examples as draws
from training.t5 import examples
from training.t5.draw_examples import CONCLUDED, Plan, draw_context
from training.t5.model import make_tokenizer


class Drawn(NamedTuple):
    """An example, its question, and the data set of its two demonstrations, "" without any."""

    dataset: str
    task: str
    riddle: Riddle
    dialect: str
    example: examples.PromptExample

    @property
    def end(self) -> str:
        """The prompt without its demonstrations."""
        return self.example.prompt.rpartition("\n\n\n")[2]

    @property
    def begun(self) -> str:
        """The chain so far."""
        return self.end.rpartition("\nA:")[2].strip()


@pytest.fixture(scope="module")
def worlds():
    return {d: make_world(1_000_003, 600, d, held_out=False, variety=0.35) for d in DATASETS}


@pytest.fixture(scope="module")
def drawn(worlds):
    """Chains, partly written, direct answers and titles of all kinds of questions and dialects."""
    rows = []
    for dataset, world in worlds.items():
        rng = random.Random(dataset)
        for kind in (*DATASETS[dataset], *(["1hop"] if dataset != "iirc" else [])):
            for number, dialect in enumerate(("", *DATASETS) * 6):
                asked, count = dialect or dataset, 2 * bool(dialect)
                riddle = draw_riddle(world, rng, dataset, kind, asked)
                shots = [draws.draw_training_question(world, rng, asked) for _ in range(count)]
                drawing = (world, riddle, shots, rng, Plan(4, count, begun=0.5))
                task, example = "chain", draws.draw_chain(*drawing)
                if number % 6 == 5:
                    task, example = "direct", draws.draw_direct(*drawing)
                elif number % 6 == 4 and dataset == "iirc" and dialect in ("", "iirc"):
                    task, example = "titles", draws.show_titles(world, riddle, shots, FLAN_T5)
                rows.append(Drawn(dataset, task, riddle, dialect, example))
    return [one for one in rows if one.example.target]


@pytest.fixture(scope="module")
def conclusions(worlds):
    """Comparisons with only the conclusion left to write."""
    rng = random.Random(0)
    drawn = [dataset for dataset in CONCLUDED for _ in range(60)]
    return [(dataset, draws.draw_conclusion(worlds[dataset], rng, dataset)) for dataset in drawn]


@pytest.fixture(scope="module")
def checked(drawn, conclusions):
    return [(one.dataset, one.example) for one in drawn] + conclusions


@cache
def tokenized():
    tokenizer = make_tokenizer()
    return tokenizer, cache(lambda text: tokenizer(text, return_offsets_mapping=True))


@cache
def token_starts(text: str) -> frozenset[int]:
    _, tokens = tokenized()
    return frozenset(start for start, _ in tokens(text)["offset_mapping"][:-1])


# The prompt


@pytest.mark.parametrize("style", [FLAN_T5, GPT3], ids=["flan_t5", "codex"])
def test_without_demonstrations_the_prompt_is_that_of_the_systems(worlds, style):
    for dataset, world in worlds.items():
        rng = random.Random(dataset)
        for kind in DATASETS[dataset]:
            riddle = draw_riddle(world, rng, dataset, kind)
            context = draw_context(world, riddle, len(riddle.thoughts), 6, rng, style)
            main = world.passage(*riddle.main).title if riddle.main else None
            titles = [p.title.lower() if main and p.title != main else p.title for p in context]
            pairs = zip(titles, context, strict=True)
            paragraphs = [Paragraph(title, title, passage.text) for title, passage in pairs]
            shown = paragraphs[-1 if style.passage_last else 0] if main else None
            question = Question("q", riddle.text, ("a",), (), dataset, passage=shown)
            thoughts = [thought.text for thought in riddle.thoughts[:2]]
            write = Prompt([], len, style.template("cot"), arrange=style.arrange)
            chain = examples.make_chain(world, riddle, context, done=2, style=style)
            assert chain.prompt == write(question, paragraphs, thoughts)
            expected = render(paragraphs, riddle.text, "", style.template("direct"))
            assert examples.make_direct(world, riddle, context, style).prompt == expected
            if main:
                asked = read_template("ircot", "titles").ask(riddle.text, n=3)
                expected = render([shown], asked, "", style.template("titles"))
                assert examples.make_titles(world, riddle, n=3, style=style).prompt == expected


def test_demonstrations_are_in_the_format_of_the_systems_and_whole(drawn):
    for one in drawn:
        *shots, _ = one.example.prompt.split("\n\n\n")
        assert len(shots) == (2 if one.dialect else 0)
        template = FLAN_T5.template("cot" if one.task == "chain" else "direct")
        for shot in shots:
            context, _, asked = shot.rpartition("Q: ")
            pages = [page.removeprefix("Wikipedia Title: ") for page in context.split("\n\n")[:-1]]
            paragraphs = [Paragraph(p, *p.split("\n")) for p in pages]
            question, answer = asked.partition("\n")[2].split("\nA: ")
            assert render(paragraphs, question, answer, template) == shot
            assert one.task != "chain" or answer.split(". ")[-1].startswith("So the answer is: ")
            if one.task == "titles":
                assert f" {answer.count(',') + 1} Wikipedia pages" in question


def test_the_dialect_of_a_chain_follows_the_demonstrations(drawn, worlds):
    for one in drawn:
        dialect, chain = one.dialect or one.dataset, f"{one.begun} {one.example.target}"
        for thought in one.riddle.thoughts if one.task == "chain" else ():
            if thought.fact and thought.text in chain:
                draw = Draw(worlds[one.dataset], random.Random(0), dialect, "1hop", dialect)
                assert thought == draw.state(thought.fact)


# The target


def test_prompt_and_target_are_the_gold_chain(drawn):
    for one in drawn:
        if one.task == "direct":
            assert (one.begun, one.example.target) == ("", one.riddle.answer)
        elif one.task == "titles":
            subjects = dict.fromkeys(fact.subject for fact in one.riddle.facts)
            titles = [subject for subject in subjects if subject != one.riddle.main.subject]
            assert (one.begun, one.example.target) == ("", ", ".join(titles))
        else:
            chain = f"{one.begun} {one.example.target}".strip()
            assert one.riddle.chain.startswith(chain)
            assert one.example.complete == (chain == one.riddle.chain)
    assert sum(bool(one.begun) for one in drawn) > 100


def test_the_target_states_what_is_in_the_prompt_or_popular_and_no_less(drawn, worlds):
    popular, cut = make_popular(), 0
    for one in drawn:
        world, thoughts, target = worlds[one.dataset], one.riddle.thoughts, one.example.target
        if one.task == "titles":
            assert all(title in one.end for title in target.split(", "))
            continue
        facts = one.riddle.facts
        known = {f: f.subject in popular or world.passage(*f).text in one.end for f in facts}
        assert all(known[fact] for fact in one.riddle.given)
        if one.task == "direct":
            assert all(known.values())
            continue
        assert all(known[t.fact] for t in thoughts if t.fact and t.text in target)
        if not one.example.complete:
            chain = f"{one.begun} {target}"
            assert not known[next(t.fact for t in thoughts if t.text not in chain)]
            cut += 1
    assert cut > 50


def test_context_is_the_needed_paragraphs_and_none_of_later_facts(worlds):
    for dataset, world in worlds.items():
        rng = random.Random(dataset)
        for riddle in make_riddles(world, 24, dataset, 1):
            known = rng.randrange(1, len(riddle.thoughts) + 1)
            context = draw_context(world, riddle, known, 8, rng)
            gold = set(examples.needed_passages(world, riddle, known))
            assert len(context) == len(set(context)) == 8 and gold <= set(context)
            assert not (set(examples.needed_passages(world, riddle)) - gold) & set(context)
            assert riddle.main is None or context[-1] == world.passage(*riddle.main)


# Copies and places


def test_copies_are_the_same_text(checked):
    assert sum(len(example.copies) for _, example in checked) > 1000
    for _, example in checked:
        prompt, target = example.prompt, example.target
        for at, source, length in example.copies:
            written = target[at : at + length]
            years = target.startswith(f"{written} years old", at)
            assert written == prompt[source : source + length] or (
                years and prompt[source - 2 : source + 2].isdigit()
            )
            assert at in token_starts(target) and source in token_starts(prompt)
            assert at >= example.silent


def read_value(example: examples.PromptExample, side: int, start: int) -> str:
    """The name or number whose last word starts there."""
    text = (example.prompt, example.target)[side]
    assert start in token_starts(text)
    return re.search(r"[A-Z]\w+ $|\d\d$|$", text[:start])[0] + re.match(r"\w+", text[start:])[0]


def test_compared_values_and_their_outcomes(drawn, worlds):
    outcomes = {}
    for one in drawn:
        riddle, world = one.riddle, worlds[one.dataset]
        values = {world.value(*riddle.thoughts[n].fact) for n in riddle.compared}
        for *places, outcome in one.example.compared:
            value, other = (read_value(one.example, *place) for place in places)
            assert {value, other} <= {riddle.sought, *values}
            if not value.isdigit():
                assert outcome == (SAME if value == other else DIFFERENT)
            elif riddle.kind == "age" and int(value) > int(other):
                assert outcome - YEARS_AFTER == int(riddle.answer) == int(value) - int(other)
            else:
                assert outcome == (EARLIER if int(value) < int(other) else LATER)
            outcomes.setdefault(riddle.kind, set()).add(min(outcome, YEARS_AFTER))
    assert outcomes["comparison"] == {EARLIER, LATER, SAME, DIFFERENT}
    assert outcomes["bridge_comparison"] == {EARLIER, LATER}
    assert outcomes["age"] - {EARLIER} == {YEARS_AFTER} and outcomes["count"] == {SAME, DIFFERENT}


def test_of_a_conclusion_only_the_end_is_learned(conclusions):
    for _, example in conclusions:
        assert "Wikipedia Title" not in example.prompt and example.complete
        assert re.match(r"Thus, .*\. So the answer is: .*\.$", example.target[example.silent :])
        assert example.prompt.endswith("A:") == bool(example.silent)


# Tokens


def test_every_word_is_in_the_vocabulary_but_for_titles_in_lower_case(checked):
    tokenizer, tokens = tokenized()
    for _, example in checked:
        assert tokenizer.unk_token_id not in tokens(example.target)["input_ids"]
        encoding = tokens(example.prompt)
        for id, (at, _) in zip(encoding["input_ids"], encoding["offset_mapping"], strict=True):
            if id == tokenizer.unk_token_id:
                line = example.prompt[example.prompt.rfind("\n", 0, at) + 1 :].partition("\n")[0]
                assert line.startswith("Wikipedia Title: ") and line[1:] == (
                    f"ikipedia Title: {line[17:].lower()}"
                )
