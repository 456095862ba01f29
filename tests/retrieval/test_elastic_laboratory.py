"""The laboratory through both retrievers: IRCoT answers IIRC's questions alike."""

import pytest

from ircot_laboratory.make import make_laboratory
from ircotlib.engine.scheduler import run
from ircotlib.experiment.setup import open_setup, program_of
from ircotlib.parameters import read_parameters
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.systems import all_systems


@pytest.fixture(scope="module")
def benches(tmp_path_factory, elasticsearch_url):
    """A bench with the embedded and one with the Elasticsearch backend, over the same corpus."""
    folder = tmp_path_factory.mktemp("laboratory")
    made = str(make_laboratory(folder / "small", 5, 1200, 60))
    changes = {"model": "data/models/mini-xl", "data_dir": made, "dev": 0, "test": 60}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ircotlib.experiment.setup.DATA", folder / "data")
        patch.setattr("ircotlib.experiment.setup.DATA", folder / "data")
        yield [
            open_setup(read_parameters("mini", changes | {"retriever": where}), "iirc", "try")
            for where in ("embedded", elasticsearch_url)
        ]


@pytest.mark.parametrize("system", ["OneR QA", "IRCoT QA"])
def test_iirc_is_answered_alike_with_both_retrievers(benches, system):
    """App. B in full: titles by the model, the nearest titles, retrieval within these pages."""
    outcomes = []
    assert [type(bench.retriever).__name__ for bench in benches] == ["BM25", "Elasticsearch"]
    for bench in benches:  # replies to equal prompts are cached
        questions = bench.test[:12]
        play = program_of(bench, all_systems()[system], k=4, m=1)
        programs = {question.id: play(question) for question in questions}
        outcomes.append(run(programs, bench.backends, bench.calls)[0])
    for question in questions:
        one, other = (outcome[question.id] for outcome in outcomes)
        assert one.result == other.result
        assert question.passage in one.result.paragraphs and one.result.answer
        nearest = (s.reply for s in one.trace if isinstance(s.request, NearestTitle))
        pages = {title for titles in nearest for title in titles}
        limits = [s.request.titles for s in one.trace if isinstance(s.request, Retrieve)]
        assert pages and all(set(titles) == pages for titles in limits)
