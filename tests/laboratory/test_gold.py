"""The gold reader: which steps the official files state, how they are worded, what is retrieved
for them, and what is refused.
"""

import json
from dataclasses import replace

import pytest

from ircot_laboratory.gold.mind import GoldMind, as_sentence
from ircot_laboratory.gold.reader import GoldExtractor, GoldReader
from ircotlib import UserError, all_systems, open_setup, read_parameters, run_system
from ircotlib.data import GoldStep, Paragraph, Question
from ircotlib.datasets.files import read_dataset
from ircotlib.engine.cache import Calls
from ircotlib.engine.scheduler import run
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup
from ircotlib.experiment.runs import name_model
from ircotlib.experiment.setup import program_of
from ircotlib.parameters import GOLD
from ircotlib.program import Extract, Generate
from ircotlib.systems import ircot

MOSS = Question(
    "1",
    "Where was the father of Ada Moss's teacher born?",
    ("Lindton",),
    ("ada", "ben", "cy"),
    "own",
    steps=(
        GoldStep("Ada Moss >> teacher", "Ben Roe", ("ada",), "Ada Moss", "Ada Moss"),
        GoldStep("Who was the father of #1?", "Cy {Roe}", ("ben",), "Ben Roe (painter)"),
        GoldStep("Where was #2 born, whom #1 taught?", "Lindton, D.C.", ("cy",), "Cy Roe"),
    ),
)


@pytest.fixture
def p(tmp_path, monkeypatch, laboratory):
    monkeypatch.setattr(setup, "DATA", tmp_path)
    monkeypatch.setattr(backends, "DATA", tmp_path)
    changes = {"data_dir": str(laboratory), "dev": 0, "test": 12, "model": GOLD}
    return read_parameters("mini", changes)


def play(p, dataset, system, **setting):
    """The share of questions whose gold paragraphs were all found, and the outcomes."""
    bench = open_setup(p, dataset, "gold")
    system = all_systems()[system]
    build = program_of(bench, system, **bench.choose(system, k=4) | setting)
    outcomes, _ = run({q.id: build(q) for q in bench.test}, bench.backends, Calls(None))
    found = {id: {one.id for one in o.result.paragraphs} for id, o in outcomes.items()}
    whole = [found[question.id] >= {*question.gold} for question in bench.test]
    return round(100 * sum(whole) / len(whole), 1), outcomes


def test_steps_are_asked_and_said_in_the_data_sets_words():
    mind = GoldMind(MOSS)
    assert [mind.ask(n) for n in range(3)] == [
        "Ada Moss >> teacher",
        "Who was the father of Ben Roe?",
        "Where was Cy {Roe} born, whom Ben Roe taught?",
    ]
    assert mind.say(1) == "Who was the father of Ben Roe: Cy {Roe}."
    assert mind.say(2).startswith("Where was Cy {Roe} born, whom Ben Roe taught: Lindton, D.C.")
    assert [mind.subject(n) for n in range(3)] == ["Ada Moss", "Ben Roe", "Ben Roe"]
    assert [mind.steps[n].after for n in range(3)] == [(), (0,), (1, 0)]
    assert mind.phrase(0) == "the teacher of Ada Moss"
    # a plan has no words but the question's
    assert mind.relation(1).phrase.format(x=mind.phrase(0)) == (
        "Who was the father of the teacher of Ada Moss"
    )
    assert "Cy {Roe}" in mind.relation(2).questions[0].format(x="Ben Roe")
    assert "Cy" not in mind.relation(2).phrase.format(x="?")


def test_a_sentence_ends_where_ircot_ends_it():
    assert as_sentence("He lived  there") == "He lived there."
    assert as_sentence("on: Self Made Vol.") == "On: Self Made Vol!"
    assert as_sentence("He left. She stayed.") == "He left."


def test_a_step_is_read_where_its_paragraph_is_shown_or_once_it_was_asked():
    mind = GoldMind(MOSS)
    page = Paragraph("ben", "Ben Roe (painter)", "He was a son of Cy.")
    assert not mind.settle(1, (), guess=False) and 1 not in mind.values
    assert mind.settle(1, (page,), guess=False) and mind.values[1] == "Cy {Roe}"
    mind.ask(2)
    assert not mind.settle(2, (page,), guess=False)
    mind.read([page])
    assert mind.settle(2, (page,), guess=False)


def test_the_extractor_answers_sub_questions_from_the_paragraphs_that_support_them():
    extractor = GoldExtractor([MOSS])
    pages = [Paragraph(id, "Roe", "A son of Cy.") for id in ("ben", "ada")]
    requests = [Extract("Who was the father of Ben Roe?", page) for page in pages]
    replies = [extractor.decode(reply) for _, reply in extractor.answer(requests)]
    assert [reply.text for reply in replies] == ["Cy {Roe}", ""]
    assert replies[0].confidence > 1.5 > replies[1].confidence


NO_RETRIEVAL = {"CoT", "Auto-CoT", "CoT-SC", "Direct Prompting", "NoR QA", "Recite-and-answer"}
NO_RETRIEVAL |= {"Self-Ask w/o IR", "Least-to-Most", "Plan-and-Solve", "SearChain w/o IR"}


@pytest.mark.parametrize("dataset", ["musique", "2wikimultihopqa"])
def test_every_system_plays_a_laboratorys_official_files(p, dataset):
    for name in all_systems():
        setting = {"always_edit": True} if name == "Verify-and-Edit" else {}
        _, outcomes = play(p, dataset, name, **setting)
        found = [outcome.result.paragraphs for outcome in outcomes.values()]
        assert len(found) == 12 and all(map(bool, found)) == (name not in NO_RETRIEVAL), name
        faults = {outcome.result.fault for outcome in outcomes.values()}
        assert faults <= {"", "no Finish in 7 actions"}, name


def test_each_step_that_is_asked_with_enough_paragraphs_is_found(p):
    """In a laboratory, a sub-question's page is the first hit."""
    for name in ("Self-Ask", "SearChain", "DecomP", "IRCoT QA", "Tree-of-Thought w/ IR"):
        assert play(p, "2wikimultihopqa", name)[0] == 100, name
    assert play(p, "musique", "DSP")[0] < 100  # two hops
    assert play(p, "musique", "OneR", k=4)[0] < 20


def test_what_it_cannot_play(p):
    reader, systems = GoldReader(), all_systems()
    unstated = replace(MOSS, steps=())
    unworded = replace(MOSS, steps=(GoldStep("", "", ("ada",), "Ada", "Ada", "She learnt."),))
    mine = replace(systems["CoT"], program=play, stages=("mine",))
    for question, system, words in (
        (unstated, systems["IRCoT"], "has not"),
        (unworded, systems["Self-Ask"], "asks no sub-questions"),
        (MOSS, mine, "have teachers"),
    ):
        with pytest.raises(UserError, match=words) as error:
            reader.listen(question, system)
        assert "\n" not in str(error.value) and "docs/gold.md" in str(error.value)
    assert reader.listen(unworded, systems["IRCoT QA"])
    with pytest.raises(UserError, match="no known stage"):
        reader.reply(Generate("Who wrote Hamlet?"))
    with pytest.raises(UserError, match="a server and a gold reader"):
        p.change(server="http://127.0.0.1:1")


def test_it_makes_a_run_that_says_that_it_is_an_upper_bound(p):
    assert "upper bound" in name_model(p)
    bench = open_setup(p, "musique", "gold")
    system = all_systems()["Self-Ask"]
    assert set(run_system(bench, system)["model"]) == {"gold reader (upper bound)"}


def test_steps_of_ones_own(tmp_path):
    steps = [{"question": "Who?", "answer": "Cy", "title": "B"}, {"sentence": "Cy is old."}]
    pages = [{"title": t, "text": f"{t} is {t}.", "is_supporting": True} for t in "AB"]
    row = {"id": "1", "question": "?", "answers": ["x"], "paragraphs": pages, "steps": steps}
    (tmp_path / "questions.jsonl").write_text(json.dumps(row))
    [question], _ = read_dataset("own", tmp_path)
    assert question.steps == (
        GoldStep("Who?", "Cy", (question.gold[1],), "B", "B"),
        GoldStep("", "", (), "", "", "Cy is old."),
    )


def test_steps_of_the_real_data_sets(shared):
    stated = {name: read_dataset(name, shared)[0] for name in ("musique", "2wikimultihopqa")}
    stated["hotpotqa"] = read_dataset("hotpotqa", shared)[0]
    for name, questions in stated.items():
        supported = [{id for step in q.steps for id in step.gold} for q in questions]
        assert supported == [{*q.gold} for q in questions], name
    natural = [q for q in stated["musique"] if not any(">>" in s.question for s in q.steps)]
    assert len(natural) == 89


def test_what_can_be_found_on_real_text(shared, p):
    """As by a prototype that was written apart from this."""
    p = p.change(data_dir=str(shared), test=None)
    assert play(p, "musique", "Self-Ask")[0] == 31.0
    assert play(p, "musique", "Self-Ask", k=3)[0] == 63.3
    assert play(p, "musique", "SearChain")[0] == 31.0
    assert play(p, "musique", "OneR", k=15)[0] == 31.9
    assert play(p, "musique", "IRCoT")[0] == 81.9
    assert play(p, "hotpotqa", "IRCoT")[0] > 90


def test_what_ircots_rule_about_near_duplicates_costs(shared, p, monkeypatch):
    p = p.change(data_dir=str(shared), test=None)
    monkeypatch.setattr(ircot, "_is_near", lambda a, b: a == b)
    assert play(p, "musique", "IRCoT")[0] == 85.7
    assert play(p, "musique", "IRCoT", k=8)[0] == 82.4
