"""The files of StrategyQA, zsRE, T-REx, FEVER and ELI5; no answer can be guessed."""

import re
from collections import Counter, defaultdict

import pytest
import solver

from ircot_laboratory.judge.laboratory_facts import judge
from ircot_laboratory.make import make_dataset
from ircot_laboratory.official.contexts import aliases
from ircot_laboratory.questions.contexts import gold_passages
from ircot_laboratory.questions.questions import SEARCHAIN_DATASETS
from ircot_laboratory.world.names import LISTS
from ircotlib.datasets.files import read_dataset

WORDS = "|".join(word for words in LISTS.values() for word in words)
each_dataset = pytest.mark.parametrize("dataset", SEARCHAIN_DATASETS)


@each_dataset
def test_loaders_give_back_questions_answers_and_corpus(folder, dataset):
    questions, paragraphs = read_dataset(dataset, folder)
    corpus = {paragraph.id: paragraph for paragraph in paragraphs}
    world, riddles = make_dataset(dataset)
    assert len(questions) == len({question.text for question in questions}) == 600
    for question, riddle in zip(questions, riddles, strict=True):
        assert question.text == riddle.text
        assert question.answers == (riddle.answer, *aliases(world, riddle.answer))
        gold = gold_passages(world, riddle) if dataset == "strategyqa" else []
        assert [corpus[id].text for id in question.gold] == [p.text for p in gold]
    pages = {(p.title, p.text) for page in world.pages.values() for p in page}
    assert {(paragraph.title, paragraph.text) for paragraph in corpus.values()} == pages
    assert len(corpus) == 2439


VERDICTS = {"strategyqa": ("No", "Yes"), "fever": ("REFUTES", "SUPPORTS")}


def answer(riddle, paragraphs):
    """The answer that the paragraphs give, None if they lack a fact that is needed."""
    stated = solver.read_facts(paragraphs)
    values = [stated.get((subject.lower(), name)) for subject, name in riddle.facts]
    if None in values:
        return None
    if riddle.dataset == "eli5":  # it states all of them
        assert all(value in riddle.answer for value in values)
        return riddle.answer
    if riddle.dataset not in VERDICTS:  # a slot
        return values[-1]
    compared = [values[number] for number in riddle.compared]
    compared += [riddle.sought] if riddle.sought else []
    agree = len({*compared}) == 1
    if riddle.kind == "time":
        born, happened = compared
        agree = born < happened
    return VERDICTS[riddle.dataset][agree]


@each_dataset
def test_questions_are_answered_by_all_their_paragraphs_and_not_by_fewer(dataset):
    for laboratory in ((0, 2400, 600), (8, 3000, 30)):
        world, riddles = make_dataset(dataset, *laboratory)
        for riddle in riddles[:200]:
            needed = gold_passages(world, riddle)
            assert answer(riddle, needed) == riddle.answer, riddle
            for missing in needed:
                fewer = [passage for passage in needed if passage != missing]
                assert answer(riddle, fewer) is None, (riddle, missing)


def wording(riddle):
    """A question without its names, years, and words from lists."""
    text = re.sub(r"\d{4}", "Y", re.sub(solver.NAME, "N", riddle.text))
    return re.sub(rf"\b({WORDS})\b", "V", text)


@pytest.mark.parametrize("dataset", ["strategyqa", "fever"])
@pytest.mark.parametrize("seen", [lambda riddle: riddle.kind, wording])
def test_right_answers_cannot_be_guessed(dataset, seen):
    """Guess the answer more frequent elsewhere, for the same kind or wording."""
    counts = defaultdict(Counter)
    for seed in (1, 2):
        for riddle in make_dataset(dataset, seed).riddles:
            counts[seen(riddle)][riddle.answer] += 1
    guessed = []
    for riddle in make_dataset(dataset).riddles:
        if seen(riddle) in counts:
            [(guess, _)] = counts[seen(riddle)].most_common(1)
            guessed.append(guess == riddle.answer)
    assert len(guessed) > 550 and 0.44 < sum(guessed) / len(guessed) < 0.56


@each_dataset
def test_the_judge_reads_their_chains_but_for_what_decides_claims(dataset):
    world, riddles = make_dataset(dataset)
    unsure = set()
    for riddle in riddles:
        for text in (thought.text for thought in riddle.thoughts):
            verdict = judge(text, riddle.text, (riddle.answer,), world.entities)
            assert verdict in ("true", "unsure"), text
            unsure |= {text[:11]} if verdict == "unsure" else set()
    assert unsure == ({"Thus, it is"} if dataset == "fever" else set())
