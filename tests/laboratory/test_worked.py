"""Worked examples: each step asks for one fact by a name that is known by then."""

import pytest

from ircot_laboratory.make import make_dataset
from ircot_laboratory.questions.contexts import gold_passages
from ircot_laboratory.questions.questions import ALL_DATASETS
from ircot_laboratory.questions.worked import work_out


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
        gold = {passage.text for passage in gold_passages(world, riddle)}
        assert gold == {world.passage(*fact).text for fact in riddle.facts}
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
