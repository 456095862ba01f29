"""Worked examples: each step asks for one fact by a name that is known by then."""

import pytest

from ircot_laboratory.make import make_dataset
from ircot_laboratory.questions.questions import ALL_DATASETS
from ircot_laboratory.questions.worked import work_out
from ircotlib.datasets import make_paragraph
from ircotlib.retrieval.bm25 import BM25
from ircotlib.retrieval.corpus import write_corpus


def worked(dataset):
    world, riddles = make_dataset(dataset)
    return [(world, riddle, work_out(world, riddle)) for riddle in riddles]


def test_a_question_is_worked_out_in_steps():
    _, riddle, one = next(w for w in worked("fever") if w[1].kind == "bridge_claim")
    claim = "The founder of Torder Cinema was trained by Tilda Branby"
    assert riddle.text == f"Is it true that {claim} (SUPPORTS or REFUTES)?"
    assert [(step.question, step.answer, step.after) for step in one.steps] == [
        ("Who is the founder of Torder Cinema?", "Rhea Wexby", ()),
        ("Who was the mentor of Rhea Wexby?", "Walter Branman", (0,)),
    ]
    assert one.conclusion == ("Thus, it is Walter Branman, not Tilda Branby.",)


@pytest.mark.parametrize("dataset", ALL_DATASETS)
def test_steps_ask_for_all_facts_by_names_that_are_known(dataset):
    for world, riddle, one in worked(dataset):
        assert tuple(step.fact for step in one.steps) == riddle.facts
        assert one.answer == riddle.answer
        known = riddle.text
        for number, step in enumerate(one.steps):
            assert step.answer == world.value(*step.fact)
            for text in (step.question, step.sentence):
                assert step.fact.subject in text and step.fact.subject in known
            assert step.answer in step.sentence and step.answer not in step.question
            assert all(one.steps[n].answer == step.fact.subject for n in step.after)
            assert bool(step.after) != (step.fact.subject in riddle.text)
            assert all(n < number for n in step.after)
            known += f" {step.answer}"


@pytest.mark.parametrize("dataset", ALL_DATASETS)
def test_the_paragraph_of_a_step_is_found_by_its_question(dataset, tmp_path):
    world, _ = make_dataset(dataset)
    passages = [passage for page in world.pages.values() for passage in page]
    corpus = [make_paragraph(passage.title, passage.text) for passage in passages]
    retriever = BM25(write_corpus(tmp_path / "corpus", corpus), tmp_path / "index")
    ranks = []
    for _, _, one in worked(dataset)[:50]:
        for step in one.steps:
            found = [
                paragraph.text for paragraph, _ in retriever.search(step.question, 5)
            ]
            ranks.append(found.index(world.passage(*step.fact).text))
    # a page of IIRC may have two paragraphs, and both begin with its name
    assert ranks.count(0) > (0.75 if dataset == "iirc" else 0.98) * len(ranks)
