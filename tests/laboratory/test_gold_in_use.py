"""The gold reader as a user meets it: asked, replayed, reported, and refused before any work."""

import html

import pytest
from ircotlib.experiment.checks import check_comparison

from ircotlib import (
    UserError,
    all_systems,
    ask,
    name_bench,
    open_setup,
    read_parameters,
    replay,
    run_system,
    show_question,
)
from ircotlib.engine.scheduler import run
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup
from ircotlib.experiment.compare import Comparison
from ircotlib.experiment.runs import Run
from ircotlib.experiment.setup import program_of
from ircotlib.explore import report
from ircotlib.explore.report import write_report
from ircotlib.parameters import GOLD

S = all_systems()


@pytest.fixture
def p(tmp_path, monkeypatch, laboratory):
    for module in (setup, backends, report):
        monkeypatch.setattr(module, "DATA", tmp_path)
    changes = {"data_dir": str(laboratory), "dev": 0, "test": 3, "model": GOLD}
    return read_parameters("mini", changes)


def test_a_question_of_the_data_set_can_be_asked(p):
    every = open_setup(p.change(test=None), "musique", "gold", with_model=False).test
    question = every[-1]
    [answered] = ask(p, f" {question.text} ", ["IRCoT"])
    assert {one.id for one in answered.outcome.result.paragraphs} >= {*question.gold}
    assert str(answered).startswith("IRCoT, gold reader (upper bound)")
    with pytest.raises(UserError, match="found none of musique with the text 'Who is it'"):
        next(ask(p, "Who is it", ["IRCoT"]))
    asked = open_setup(p, "hotpotqa", "gold", with_model=False).test[0].text
    with pytest.raises(UserError, match="asks no sub-questions"):  # before IRCoT is asked
        next(ask(p.change(datasets=["hotpotqa"]), asked, ["IRCoT", "Self-Ask"]))


def test_a_run_is_replayed_and_reported_as_an_upper_bound(p, tmp_path):
    bench, system = open_setup(p, "musique", "gold"), S["SearChain"]
    run_system(bench, system)
    folder = Run(bench, system, "test", {}).folder
    for id, outcome in replay(folder).items():
        shown = html.unescape(show_question(folder, id))
        assert outcome.result.answer in shown and "Replayed" not in shown
        assert "gold reader (upper bound)" in shown
    write_report([folder], tmp_path / "report.html")
    head = (tmp_path / "report.html").read_text(encoding="utf-8").partition("</header>")[0]
    assert "model gold reader (upper bound);" in head


def test_what_it_cannot_play_is_refused_before_any_work(p, tmp_path):
    for dataset, system, words in (
        ("iirc", "IRCoT", "data set states their steps"),
        ("hotpotqa", "SearChain", "asks no sub-questions"),
    ):
        bench = name_bench(p, dataset, "try")
        with pytest.raises(UserError, match=words) as error:
            check_comparison("13_mine", Comparison([bench], [S["OneR"], S[system]], settings=[{}]))
        assert "\n" not in str(error.value) and str(error.value).startswith("13_mine: model: ")
    bench = name_bench(p, "musique", "try")
    check_comparison("13_mine", Comparison([bench], [S["OneR"], S["SearChain"]], settings=[{}]))
    assert not list(tmp_path.iterdir())  # no index, no run


def test_strategyqas_facts_are_said_and_its_sub_questions_refused(shared, p):
    p = p.change(data_dir=str(shared), test=5)
    bench = open_setup(p, "strategyqa", "gold")
    texts = [step.sentence for step in bench.test[0].steps]
    assert len(texts) > 1 and not any(step.question or step.gold for step in bench.test[0].steps)
    [answered] = ask(p.change(datasets=["strategyqa"]), bench.test[0].text, ["IRCoT QA"])
    said = [step.request.query for step in answered.outcome.trace if hasattr(step.request, "query")]
    assert [query.rstrip(".!") for query in said[1:]] == [text.rstrip(". ") for text in texts]
    with pytest.raises(UserError, match="the data set answers none"):
        run_system(bench, S["Self-Ask"])


def collect(bench, system, **setting):
    """The ids of the paragraphs that a system collects for each question."""
    build = program_of(bench, S[system], **bench.choose(S[system], k=4) | setting)
    outcomes, _ = run({q.id: build(q) for q in bench.test}, bench.backends, bench.calls)
    return {id: {one.id for one in outcome.result.paragraphs} for id, outcome in outcomes.items()}


@pytest.mark.parametrize(
    ("system", "as_does"),
    [
        ("SearChain w/o Verification", "SearChain"),
        ("SearChain w/o Completion", "SearChain"),
        ("ReAct -> CoT-SC", "ReAct"),
        ("IRCoT QA", "IRCoT"),
        ("IRCoT QA w/o reader", "IRCoT"),
        ("OneR QA", "OneR"),
        ("InterAug", "OneR"),
    ],
)
def test_what_is_not_played_again_retrieves_as_another_does(shared, p, system, as_does):
    bench = open_setup(p.change(data_dir=str(shared), test=60), "musique", "gold")
    assert collect(bench, system) == collect(bench, as_does)
