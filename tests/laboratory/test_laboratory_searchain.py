"""The laboratory's StrategyQA, zsRE, T-REx, FEVER and ELI5: the official loaders can read them, the
paragraphs answer all questions, and no answer can be guessed.
"""

import re
from collections import Counter, defaultdict

import pytest
import solver
from solver_searchain import answer

from ircot_laboratory.judge.laboratory_facts import judge
from ircot_laboratory.make import TASKS, make_dataset
from ircot_laboratory.official.contexts import aliases
from ircot_laboratory.questions.contexts import gold_passages
from ircot_laboratory.questions.questions import SEARCHAIN_DATASETS
from ircot_laboratory.world.names import LISTS
from ircotlib.data import Prediction, read_jsonl
from ircotlib.datasets import score
from ircotlib.datasets.files import read_dataset

KINDS = {
    "strategyqa": {"time": 240, "same": 180, "place": 180},
    "zsre": {"slot": 300, "country_slot": 300},
    "trex": {"slot": 450, "country_slot": 150},
    "fever": {"claim": 240, "bridge_claim": 360},
    "eli5": {"why": 150, "origin": 300, "meeting": 150},
}
RIGHT = {"strategyqa": "accuracy", "zsre": "em", "trex": "em", "fever": "accuracy"}
WORDS = "|".join(word for words in LISTS.values() for word in words)
each_dataset = pytest.mark.parametrize("dataset", SEARCHAIN_DATASETS)


@pytest.fixture(scope="module")
def loaded(folder):
    read = {dataset: read_dataset(dataset, folder) for dataset in SEARCHAIN_DATASETS}
    return {d: (questions, {p.id: p for p in corpus}) for d, (questions, corpus) in read.items()}


@each_dataset
def test_loaders_give_back_questions_answers_and_corpus(loaded, dataset):
    (questions, corpus), (world, riddles) = loaded[dataset], make_dataset(dataset)
    assert len(questions) == len({question.text for question in questions}) == 600
    for question, riddle in zip(questions, riddles, strict=True):
        assert question.text == riddle.text
        assert question.answers == (riddle.answer, *aliases(world, riddle.answer))
        gold = gold_passages(world, riddle) if dataset == "strategyqa" else []
        assert [corpus[id].text for id in question.gold] == [passage.text for passage in gold]
    pages = {(passage.title, passage.text) for page in world.pages.values() for passage in page}
    assert {(paragraph.title, paragraph.text) for paragraph in corpus.values()} == pages
    assert len(corpus) == 2439


@each_dataset
def test_gold_answers_score_in_full(loaded, dataset):
    for question in loaded[dataset][0][:50]:
        text = question.answers[0] if dataset == "eli5" else f"{question.answers[0]}."
        scores = score(question, Prediction(text))
        assert scores[RIGHT.get(dataset, "rouge_l")] > 0.999


@each_dataset
def test_questions_are_answered_by_all_their_paragraphs_and_not_by_fewer(dataset):
    for laboratory in ((0, 2400, 600), (7, 1200, 200), (8, 6000, 60)):
        world, riddles = make_dataset(dataset, *laboratory)
        for riddle in riddles:
            needed = gold_passages(world, riddle)
            assert answer(dataset, riddle.text, needed) == riddle.answer, riddle
            for missing in needed:
                fewer = [passage for passage in needed if passage != missing]
                assert answer(dataset, riddle.text, fewer) is None, (riddle, missing)


def wording(riddle):
    """A question without its names, years, and words from lists."""
    text = re.sub(r"\d{4}", "Y", re.sub(solver.NAME, "N", riddle.text))
    return re.sub(rf"\b({WORDS})\b", "V", text)


@pytest.mark.parametrize("dataset", ["strategyqa", "fever"])
@pytest.mark.parametrize("seen", [lambda riddle: riddle.kind, wording])
def test_what_is_right_cannot_be_guessed(dataset, seen):
    """Guess the answer that is more frequent in other worlds, for the same kind or wording."""
    counts = defaultdict(Counter)
    for seed in (1, 2, 3):
        for riddle in make_dataset(dataset, seed).riddles:
            counts[seen(riddle)][riddle.answer] += 1
    riddles = [riddle for riddle in make_dataset(dataset).riddles if seen(riddle) in counts]
    guessed = [counts[seen(riddle)].most_common(1)[0][0] == riddle.answer for riddle in riddles]
    assert len(guessed) > 550 and 0.44 < sum(guessed) / len(guessed) < 0.56


def test_provenance_of_kilt_is_where_it_says(folder):
    pages = {page["_id"]: page for page in read_jsonl(folder / "kilt/kilt_knowledgesource.json")}
    for page in list(pages.values())[:100]:
        for anchor in page["anchors"]:
            text = page["text"][anchor["paragraph_id"]]
            assert text[anchor["start"] : anchor["end"]] == anchor["text"]
    for dataset, file in TASKS.items():
        world, riddles = make_dataset(dataset)
        for record, riddle in zip(read_jsonl(folder / dataset / file), riddles, strict=True):
            shown = []
            for source in record["output"][0]["provenance"]:
                page = pages[source["wikipedia_id"]]
                text = page["text"][source["start_paragraph_id"]]
                assert page["wikipedia_title"] == source["title"] == page["text"][0].strip()
                shown.append(text[source["start_character"] : source["end_character"]])
                assert shown[-1] == text.strip()
            assert shown == [passage.text for passage in gold_passages(world, riddle)]


@each_dataset
def test_the_judge_reads_their_chains_but_for_what_decides_claims(dataset):
    world, riddles = make_dataset(dataset)
    verdicts = {
        (judge(thought.text, riddle.text, (riddle.answer,), world.entities), thought.text[:11])
        for riddle in riddles
        for thought in riddle.thoughts
    }
    unsure = {text for verdict, text in verdicts if verdict == "unsure"}
    assert unsure == ({"Thus, it is"} if dataset == "fever" else set())
    assert not any(verdict == "false" for verdict, _ in verdicts)
