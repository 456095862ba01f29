"""The laboratory through both retrievers: questions and gold thoughts find the same, and IRCoT
answers IIRC's questions alike.
"""

import pytest
from corpora import compare

from ircot_laboratory.make import make_dataset, make_laboratory
from ircot_laboratory.questions.questions import DATASETS
from ircotlib.parameters import read_parameters
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.running.scheduler import run
from ircotlib.running.setup import open_bench, program_of
from ircotlib.systems import all_systems

SEED, SIZE, QUESTIONS = 5, 1200, 60


@pytest.fixture(scope="module")
def open_both(tmp_path_factory, elasticsearch_url):
    """open_both(dataset): a bench with the embedded and one with the Elasticsearch backend, over
    the same corpus and questions.
    """
    folder = tmp_path_factory.mktemp("laboratory")
    made = str(make_laboratory(folder / "small", SEED, SIZE, QUESTIONS))
    mini = read_parameters("mini", {"model": "data/models/mini-xl", "data_dir": made, "dev": 0})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ircotlib.running.setup.DATA", folder / "data")
        yield lambda dataset: [
            open_bench(mini.change(retriever=where, test=QUESTIONS), dataset, "try")
            for where in ("embedded", elasticsearch_url)
        ]


@pytest.mark.parametrize("dataset", DATASETS)
def test_questions_and_thoughts_find_the_same_paragraphs_in_the_same_order(open_both, dataset):
    embedded, server = open_both(dataset)
    riddles = make_dataset(dataset, SEED, SIZE, QUESTIONS)[1]
    queries = dict.fromkeys(question.text for question in embedded.test)
    queries |= dict.fromkeys(thought.text for riddle in riddles for thought in riddle.thoughts)
    assert len(queries) > 2 * QUESTIONS
    compare(embedded.retriever, server.retriever, [Retrieve(query, 15) for query in queries])


@pytest.mark.parametrize("system", ["OneR QA", "IRCoT QA"])
def test_iirc_is_answered_alike_with_both_retrievers(open_both, system):
    """App. B in full: titles by the model, the nearest titles, retrieval within these pages, the
    main passage always there.
    """
    outcomes = []
    for bench in open_both("iirc"):  # replies to equal prompts are cached
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
