"""Training examples: the systems' prompts, correct copies and places, and nothing to
guess.
"""

import random
from functools import cache
from typing import NamedTuple

import pytest

pytest.importorskip("torch")

from ircot_laboratory.questions.questions import DATASETS, draw_riddle
from ircot_laboratory.world.encyclopedia import make_popular, make_world
from ircot_laboratory.world.records import Riddle
from ircotlib.prompting.prompt import FLAN_T5
from training.t5 import draw_examples as draws
from training.t5 import examples
from training.t5.draw_examples import CONCLUDED, Plan
from training.t5.model import make_tokenizer


class Drawn(NamedTuple):
    """An example, its question, and the data set of its two demonstrations, "" without
    any.
    """

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
    return {
        d: make_world(1_000_003, 600, d, held_out=False, variety=0.35) for d in DATASETS
    }


@pytest.fixture(scope="module")
def drawn(worlds):
    """Chains, partly written, direct answers and titles of all kinds of questions and
    dialects.
    """
    rows = []
    for dataset, world in worlds.items():
        rng = random.Random(dataset)
        for kind in (*DATASETS[dataset], *(["1hop"] if dataset != "iirc" else [])):
            for number, dialect in enumerate(("", *DATASETS) * 3):
                asked, count = dialect or dataset, 2 * bool(dialect)
                riddle = draw_riddle(world, rng, dataset, kind, asked)
                shots = [
                    draws.draw_training_question(world, rng, asked)
                    for _ in range(count)
                ]
                drawing = (world, riddle, shots, rng, Plan(4, count, begun=0.5))
                task, example = "chain", draws.draw_chain(*drawing)
                if number % 6 == 5:
                    task, example = "direct", draws.draw_direct(*drawing)
                elif number % 6 == 4 and dataset == "iirc" and dialect in ("", "iirc"):
                    task, example = (
                        "titles",
                        draws.show_titles(world, riddle, shots, FLAN_T5),
                    )
                rows.append(Drawn(dataset, task, riddle, dialect, example))
    return [one for one in rows if one.example.target]


@pytest.fixture(scope="module")
def conclusions(worlds):
    """Comparisons with only the conclusion left to write."""
    rng = random.Random(0)
    drawn = [dataset for dataset in CONCLUDED for _ in range(20)]
    return [
        (dataset, draws.draw_conclusion(worlds[dataset], rng, dataset))
        for dataset in drawn
    ]


@pytest.fixture(scope="module")
def checked(drawn, conclusions):
    return [(one.dataset, one.example) for one in drawn] + conclusions


@cache
def tokenized():
    tokenizer = make_tokenizer()
    return tokenizer, cache(lambda text: tokenizer(text, return_offsets_mapping=True))


def test_prompt_and_target_are_the_gold_chain(drawn):
    for one in drawn:
        if one.task == "direct":
            assert (one.begun, one.example.target) == ("", one.riddle.answer)
        elif one.task == "titles":
            subjects = dict.fromkeys(fact.subject for fact in one.riddle.facts)
            titles = [
                subject for subject in subjects if subject != one.riddle.main.subject
            ]
            assert (one.begun, one.example.target) == ("", ", ".join(titles))
        else:
            chain = f"{one.begun} {one.example.target}".strip()
            assert one.riddle.chain.startswith(chain)
            assert one.example.complete == (chain == one.riddle.chain)
    assert sum(bool(one.begun) for one in drawn) > 50


def test_the_target_states_what_is_in_the_prompt_or_popular_and_no_less(drawn, worlds):
    popular, cut = make_popular(), 0
    for one in drawn:
        world, thoughts, target = (
            worlds[one.dataset],
            one.riddle.thoughts,
            one.example.target,
        )
        if one.task == "titles":
            assert all(title in one.end for title in target.split(", "))
            continue
        facts = one.riddle.facts
        known = {
            f: f.subject in popular or world.passage(*f).text in one.end for f in facts
        }
        assert all(known[fact] for fact in one.riddle.given)
        if one.task == "direct":
            assert all(known.values())
            continue
        assert all(known[t.fact] for t in thoughts if t.fact and t.text in target)
        if not one.example.complete:
            chain = f"{one.begun} {target}"
            assert not known[next(t.fact for t in thoughts if t.text not in chain)]
            cut += 1
    assert cut > 20


def test_every_word_is_in_the_vocabulary_but_for_titles_in_lower_case(checked):
    tokenizer, tokens = tokenized()
    for _, example in checked:
        assert tokenizer.unk_token_id not in tokens(example.target)["input_ids"]
        encoding = tokens(example.prompt)
        for id, (at, _) in zip(
            encoding["input_ids"], encoding["offset_mapping"], strict=True
        ):
            if id == tokenizer.unk_token_id:
                line = example.prompt[
                    example.prompt.rfind("\n", 0, at) + 1 :
                ].partition("\n")[0]
                assert line.startswith("Wikipedia Title: ") and line[1:] == (
                    f"ikipedia Title: {line[17:].lower()}"
                )
