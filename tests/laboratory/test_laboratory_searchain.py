"""The laboratory's StrategyQA, zsRE, T-REx, FEVER and ELI5: the official loaders can read them, the
paragraphs answer all questions, and no answer can be guessed.
"""

import json
import re
from collections import Counter, defaultdict

import pytest
import solver
from solver_searchain import answer

from ircot_laboratory.judge.laboratory_facts import judge
from ircot_laboratory.make import TASKS, make_dataset
from ircot_laboratory.official.contexts import aliases
from ircot_laboratory.questions.contexts import gold_passages, ranks_of_gold
from ircot_laboratory.questions.questions import SEARCHAIN_DATASETS
from ircot_laboratory.world.encyclopedia import make_popular, make_world
from ircot_laboratory.world.names import LISTS
from ircotlib.data import Prediction, read_jsonl
from ircotlib.datasets import find_dataset
from ircotlib.datasets.files import read_dataset
from ircotlib.datasets.full import make_full_corpus
from ircotlib.datasets.scoring import score
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup
from ircotlib.experiment.setup import open_dataset
from ircotlib.parameters import read_parameters
from ircotlib.retrieval.bm25 import open_index
from ircotlib.retrieval.corpus import write_corpus

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


def test_kilts_data_sets_share_their_pages_and_the_facts_are_those_of_all(loaded, folder, tmp_path):
    corpora = [loaded[dataset][1] for dataset in TASKS]
    assert all(corpus == corpora[0] for corpus in corpora)
    worlds = {dataset: make_dataset(dataset).world for dataset in SEARCHAIN_DATASETS}
    entities = make_dataset("hotpotqa").world.entities
    assert all(world.entities == entities for world in worlds.values())
    assert worlds["strategyqa"].pages != worlds["zsre"].pages == make_world(0, dataset="eli5").pages
    full = make_full_corpus(find_dataset("zsre").full_corpus, folder, tmp_path / "full")
    assert {paragraph.id: paragraph for paragraph in full} == corpora[0]


def test_kinds_have_their_shares_and_both_verdicts_half_of_each():
    drawn = {dataset: make_dataset(dataset).riddles for dataset in SEARCHAIN_DATASETS}
    assert {d: Counter(riddle.kind for riddle in drawn[d]) for d in drawn} == KINDS
    for dataset, verdicts in (("strategyqa", ("Yes", "No")), ("fever", ("SUPPORTS", "REFUTES"))):
        counts = Counter((riddle.kind, riddle.answer) for riddle in drawn[dataset])
        for kind, count in KINDS[dataset].items():
            assert {counts[kind, verdict] for verdict in verdicts} == {count / 2}
    for riddles in drawn.values():  # as often as those of IRCoT
        assert 30 <= sum(riddle.facts[0].subject in make_popular() for riddle in riddles) <= 90


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


@each_dataset
def test_nothing_in_the_whole_corpus_gives_another_answer(loaded, dataset):
    questions, corpus = loaded[dataset]
    for question in questions[:20]:
        assert answer(dataset, question.text, corpus.values()) == question.answers[0]


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


def test_the_question_of_strategyqa_does_not_lead_to_what_it_does_not_name(loaded, tmp_path):
    questions, corpus = loaded["strategyqa"]
    stored = write_corpus(tmp_path / "corpus", corpus.values())
    retriever = open_index(stored, tmp_path / "index")
    ranks = ranks_of_gold(questions[:200], make_dataset("strategyqa").riddles, retriever)
    hidden = [rank for rank in ranks if rank.by_thought]
    assert {rank.kind for rank in hidden} == {"time", "place"} and len(hidden) > 100
    assert sum(rank.by_question > 15 for rank in hidden) > 0.9 * len(hidden)
    assert sum(rank.by_thought <= 15 for rank in hidden) > 0.99 * len(hidden)


def test_decompositions_of_strategyqa_name_earlier_answers(folder):
    path = folder / "strategyqa/strategyqa_train.json"
    records = json.loads(path.read_text(encoding="utf-8"))
    assert all(len(r["decomposition"]) == len(r["evidence"][0]) for r in records)
    record = next(record for record in records if "alive when" in record["question"])
    asked = ["Who is the founder of Kelgate Records?", "When was #1 born?"]
    asked += ["When did Iron Island come out?", "Is #2 before #3?"]
    named = [[[f"{title}-1"]] for title in ("Kelgate Records", "Berta Linsen", "Iron Island")]
    assert (record["decomposition"], record["evidence"]) == (asked, [[*named, ["operation"]]])


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


def test_template_questions_of_zsre_ask_for_the_same(folder):
    world, riddles = make_dataset("zsre")
    records = read_jsonl(folder / "zsre" / TASKS["zsre"])
    for record, riddle in zip(records, riddles, strict=True):
        first, second = record["meta"]["template_questions"]
        assert solver.answer("hotpotqa", first, gold_passages(world, riddle)) == riddle.answer
        assert second != first and riddle.facts[0].subject in second
        assert record["input"].startswith(f"{riddle.facts[0].subject} [SEP] ")


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


@each_dataset
def test_the_profile_mini_opens_them(dataset, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "DATA", tmp_path)
    monkeypatch.setattr(backends, "DATA", tmp_path)
    p = read_parameters("mini", {"datasets": [dataset], "data_dir": str(folder)})
    dev, test, retriever = open_dataset(p, dataset)
    assert (len(dev), len(test), len(retriever.corpus)) == (30, 100, 2439)
    assert all(question.answers and question.dataset == dataset for question in dev + test)
    assert all(bool(question.gold) == (dataset == "strategyqa") for question in dev + test)
