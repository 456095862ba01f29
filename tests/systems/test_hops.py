"""The steps that programs say they took: what was asked or written, answered, and retrieved for it,
on the way to real answers of the simulated reader.
"""

import pytest

from ircotlib.data import Hop
from ircotlib.experiment.runs import answer
from ircotlib.experiment.setup import open_setup
from ircotlib.parameters import read_parameters
from ircotlib.systems import all_systems

S = all_systems()
# systems whose questions to themselves have answers, and those that write sentences
ASKING = ("Self-Ask w/o IR", "Self-Ask", "DecomP", "Least-to-Most", "SearChain", "SearChain w/o IR")
WRITING = ("ReAct", "ToolFormer", "DSP", "Tree-of-Thought w/ IR", "Verify-and-Edit")

CHAINS = ("NoR QA", "CoT", "CoT-SC", "Plan-and-Solve")


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """With a reader that knows all and errs nowhere."""
    folder = tmp_path_factory.mktemp("hops")
    with pytest.MonkeyPatch.context() as patch:
        for module in ("bench", "backends"):
            patch.setattr(f"ircotlib.experiment.{module}.DATA", folder)
        changes = {"model": "simulated", "dials": {"knows": 1.0}, "datasets": ["musique"]}
        yield open_setup(read_parameters("mini", changes | {"dev": 0, "test": 30}), "musique", "x")


@pytest.fixture(scope="module")
def question(bench):
    return next(question for question in bench.test if question.kind == "3hop1")


def hops_of(bench, name, question) -> tuple[Hop, ...]:
    outcome = answer(bench, S[name], question)
    assert outcome.result.fault == ""
    searched = {step.request.query for step in outcome.trace if hasattr(step.request, "titles")}
    hops = outcome.result.hops
    assert {hop.query for hop in hops if hop.query} <= searched
    return hops


@pytest.mark.parametrize("name", ASKING)
def test_a_question_to_itself_has_its_answer(bench, question, name):
    hops = hops_of(bench, name, question)
    # the last hop of some is the question itself
    assert len(hops) >= 2 and all(hop.text.endswith("?") and hop.answer for hop in hops)
    assert any(hop.query for hop in hops) == (name in ("Self-Ask", "DecomP", "SearChain"))


@pytest.mark.parametrize("name", WRITING)
def test_what_is_written_is_a_sentence_without_an_answer(bench, question, name):
    hops = hops_of(bench, name, question)
    assert hops and all(hop.text and not hop.answer for hop in hops)
    assert not any("→" in hop.text or "Observation" in hop.text for hop in hops)


@pytest.mark.parametrize("name", CHAINS)
def test_the_sentences_of_a_chain_are_its_hops(bench, question, name):
    result = answer(bench, S[name], question).result
    assert result.hops and all(hop.text in result.reading for hop in result.hops)
    assert {(hop.answer, hop.query) for hop in result.hops} == {("", "")}


def test_ircot_retrieves_with_each_thought_but_the_last_and_then_reads(bench, question):
    outcome = answer(bench, S["IRCoT QA"], question, k=4)
    result, thoughts = outcome.result, outcome.result.thoughts
    retrieving = result.hops[: len(thoughts)]
    assert len(thoughts) >= 3 and tuple(hop.text for hop in retrieving) == thoughts
    assert [hop.query for hop in retrieving] == [*thoughts[:-1], ""]
    read = result.hops[len(thoughts) :]
    assert read and all(hop.text in result.reading and not hop.query for hop in read)
