"""Worked examples: each step asks for one fact by name, and each name comes from the question, the
main passage or an earlier step.
"""

import pytest

from ircot_laboratory.make import make_dataset
from ircot_laboratory.questions.questions import ALL_DATASETS
from ircot_laboratory.questions.worked import WorkedExample, WorkedStep, refer_back, work_out
from ircot_laboratory.world.records import Fact
from ircotlib.datasets.pooled import make_paragraph
from ircotlib.retrieval.bm25 import open_index
from ircotlib.retrieval.corpus import write_corpus
from ircotlib.text import answer_from_chain


def worked(dataset):
    world, riddles = make_dataset(dataset)
    return [(world, riddle, work_out(world, riddle)) for riddle in riddles]


def test_a_bridge_comparison_is_worked_out_in_four_steps():
    world, riddles = make_dataset("2wikimultihopqa")
    riddle = next(riddle for riddle in riddles if riddle.kind == "bridge_comparison")
    asked = "Which album has the performer who was born earlier, Jealous Piano or Borrowed Orchard?"
    hugo, fritz = "Hugo Wexnick", "Fritz Velwood"
    answers = {"Jealous Piano": (hugo, "1916"), "Borrowed Orchard": (fritz, "1942")}
    steps = []
    for album, (performer, year) in answers.items():
        question, sentence = (
            f"Who is the performer of {album}?",
            f"{album} was recorded by {performer}.",
        )
        steps.append(WorkedStep(question, performer, Fact(album, "performer"), sentence, ()))
        question = f"When was {performer} born?"
        sentence = f"{performer} was born in the year {year}."
        after = (len(steps) - 1,)
        steps.append(WorkedStep(question, year, Fact(performer, "birth"), sentence, after))
    conclusion = ("Thus, Jealous Piano has the performer who was born earlier.",)
    final = "So the answer is: Jealous Piano."
    expected = WorkedExample(asked, "Jealous Piano", tuple(steps), conclusion, final)
    assert work_out(world, riddle) == expected
    assert refer_back(steps[1]) == "When was #1 born?" != refer_back(steps[3])
    worded = work_out(world, riddle, "2wikimultihopqa").steps
    assert worded[0].sentence == "The performer of Jealous Piano is Hugo Wexnick."


def test_members_of_a_band_are_steps_though_the_main_passage_gives_them():
    _, riddle, one = next(one for one in worked("iirc") if one[1].kind == "count")
    band, members = one.steps[0].fact.subject, [step.answer for step in one.steps[:3]]
    assert [step.question for step in one.steps] == [
        *(f"Who is the {role} of {band}?" for role in ("singer", "drummer", "pianist")),
        *(f"Where was {member} born?" for member in members),
    ]
    assert [step.after for step in one.steps] == [(), (), (), (0,), (1,), (2,)]
    assert len(one.conclusion) == 1 and one.final == f"So the answer is: {riddle.answer}."


def test_a_long_answer_is_its_own_final_content():
    riddle, one = next((r, one) for _, r, one in worked("eli5") if r.kind == "why")
    city, country = (step.fact.subject for step in one.steps)
    stated = [step.sentence for step in one.steps]
    assert stated[0] == f"{city} is a city in {country}."
    assert one.conclusion[0].startswith(f"So people in {city} ")
    assert one.final == one.answer == riddle.answer == " ".join([*stated, *one.conclusion])


def test_a_claim_is_worked_out_as_the_facts_that_decide_it():
    world, riddles = make_dataset("fever")
    one = work_out(world, riddles[0])
    asked = "Is it true that The founder of Torder Cinema was trained by Tilda Branby"
    assert one.question == f"{asked} (SUPPORTS or REFUTES)?"
    assert [(step.question, step.answer, step.after) for step in one.steps] == [
        ("Who is the founder of Torder Cinema?", "Rhea Wexby", ()),
        ("Who was the mentor of Rhea Wexby?", "Walter Branman", (0,)),
    ]
    assert one.conclusion == ("Thus, it is Walter Branman, not Tilda Branby.",)
    assert one.final == "So the answer is: REFUTES."


@pytest.mark.parametrize("dataset", ALL_DATASETS)
def test_steps_ask_for_all_facts_by_names_that_are_known(dataset):
    for world, riddle, one in worked(dataset):
        assert tuple(step.fact for step in one.steps) == riddle.facts
        assert (one.question, one.answer) == (riddle.text, riddle.answer)
        assert one.answer in (answer_from_chain(one.final), one.final)
        known = riddle.text
        for number, step in enumerate(one.steps):
            assert step.answer == world.value(*step.fact)
            for text in (step.question, step.sentence):
                assert step.fact.subject in text and step.fact.subject in known
            assert step.answer in step.sentence and step.answer not in step.question
            assert all(one.steps[n].answer == step.fact.subject for n in step.after)
            assert bool(step.after) != (step.fact.subject in riddle.text)
            assert all(n < number for n in step.after)
            assert ("#" in refer_back(step)) == bool(step.after)
            known += f" {step.answer}"


@pytest.mark.parametrize("dataset", ALL_DATASETS)
def test_what_no_step_states_is_concluded(dataset):
    stated = {"bridge", "compositional", "2hop", "3hop1", "4hop1", "span", "slot", "origin"}
    for _, riddle, one in worked(dataset):
        assert bool(one.conclusion) != (riddle.kind in stated)
        if not one.conclusion:
            assert one.answer in (one.steps[-1].answer, one.final)


@pytest.mark.parametrize("dataset", ALL_DATASETS)
def test_the_paragraph_of_a_step_is_found_by_its_question(dataset, tmp_path):
    world, _ = make_dataset(dataset)
    passages = [passage for page in world.pages.values() for passage in page]
    corpus = [make_paragraph(passage.title, passage.text) for passage in passages]
    retriever = open_index(write_corpus(tmp_path / "corpus", corpus), tmp_path / "index")
    ranks = []
    for _, _, one in worked(dataset)[:100]:
        for step in one.steps:
            found = [paragraph.text for paragraph, _ in retriever.search(step.question, 5)]
            gold = world.passage(*step.fact).text
            ranks.append(found.index(gold) if gold in found else 5)
    assert max(ranks) < 5
    # a page of IIRC may have two paragraphs, and both begin with its name
    assert ranks.count(0) > (0.75 if dataset == "iirc" else 0.98) * len(ranks)
