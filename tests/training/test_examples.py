"""Training examples: the systems' prompts, and nothing to guess."""

import random
from functools import partial
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
    """An example, its question, and the data set of its two demonstrations, if any."""

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
    """Chains, direct answers and titles, of all kinds of questions and dialects."""
    rows = []
    for dataset, world in worlds.items():
        rng = random.Random(dataset)
        for kind in (*DATASETS[dataset], *(["1hop"] if dataset != "iirc" else [])):
            for number, dialect in enumerate(("", *DATASETS) * 3):
                asked, count = dialect or dataset, 2 * bool(dialect)
                riddle = draw_riddle(world, rng, dataset, kind, asked)
                draw_shot = partial(draws.draw_training_question, world, rng, asked)
                shots = [draw_shot() for _ in range(count)]
                plan = Plan(4, count, begun=0.5)
                task = "chain"
                example = draws.draw_chain(world, riddle, shots, rng, plan)
                if number % 6 == 5:
                    task = "direct"
                    example = draws.draw_direct(world, riddle, shots, rng, plan)
                elif number % 6 == 4 and dataset == "iirc" and dialect in ("", "iirc"):
                    task = "titles"
                    example = draws.show_titles(world, riddle, shots, FLAN_T5)
                rows.append(Drawn(dataset, task, riddle, dialect, example))
    return [one for one in rows if one.example.target]


def test_prompt_and_target_are_the_gold_chain(drawn):
    for one in drawn:
        if one.task == "direct":
            assert (one.begun, one.example.target) == ("", one.riddle.answer)
        elif one.task == "titles":
            subjects = dict.fromkeys(fact.subject for fact in one.riddle.facts)
            del subjects[one.riddle.main.subject]
            assert (one.begun, one.example.target) == ("", ", ".join(subjects))
        else:
            chain = f"{one.begun} {one.example.target}".strip()
            assert one.riddle.chain.startswith(chain)
            assert one.example.complete == (chain == one.riddle.chain)
    assert sum(bool(one.begun) for one in drawn) > 50


def test_the_target_states_what_is_in_the_prompt_or_popular_and_no_less(drawn, worlds):
    popular, cut = make_popular(), 0
    for one in drawn:
        world, target = worlds[one.dataset], one.example.target
        thoughts = one.riddle.thoughts
        if one.task == "titles":
            assert all(title in one.end for title in target.split(", "))
            continue
        known = {}
        for fact in one.riddle.facts:
            is_shown = world.passage(*fact).text in one.end
            known[fact] = is_shown or fact.subject in popular
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


def test_every_word_is_in_the_vocabulary_but_for_titles_in_lower_case(drawn, worlds):
    rng, tokenizer = random.Random(0), make_tokenizer()
    checked = [one.example for one in drawn]
    for dataset in CONCLUDED:
        world = worlds[dataset]
        checked += [draws.draw_conclusion(world, rng, dataset) for _ in range(20)]
    for example in checked:
        assert tokenizer.unk_token_id not in tokenizer(example.target)["input_ids"]
        for line in example.prompt.splitlines():
            if tokenizer.unk_token_id in tokenizer(line)["input_ids"]:
                lead, title = line[:17], line[17:]
                assert lead == "Wikipedia Title: " and title == title.lower()
