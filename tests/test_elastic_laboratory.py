"""The laboratory through both retrievers: questions and gold thoughts find the same, and IRCoT
answers IIRC's questions alike.
"""

import pytest
from test_elastic import compare

from ircotlib.calls import Calls
from ircotlib.experiment import Bench, open_dataset, program_of
from ircotlib.generation.local import load
from ircotlib.laboratory.make import make_dataset, make_laboratory
from ircotlib.laboratory.questions import STYLES
from ircotlib.paths import MODELS, PROMPTS
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.scheduler import run

SEED, SIZE, QUESTIONS = 5, 1200, 60


@pytest.fixture(scope="module")
def open_both(tmp_path_factory, elasticsearch_url):
    """open_both(style): its questions, and the embedded and the Elasticsearch backend over its
    corpus.
    """
    folder = tmp_path_factory.mktemp("laboratory")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ircotlib.experiment.DATA", folder / "data")
        made = make_laboratory(folder / "small", SEED, SIZE, QUESTIONS)

        def open_style(style: str):
            (_, questions, embedded), (_, _, server) = (
                open_dataset(style, made, 0, QUESTIONS, 0, r)
                for r in ("embedded", elasticsearch_url)
            )
            return questions, embedded, server

        yield open_style


@pytest.mark.parametrize("style", STYLES)
def test_questions_and_thoughts_find_the_same_paragraphs_in_the_same_order(open_both, style):
    questions, embedded, server = open_both(style)
    thoughts = [
        thought.text
        for riddle in make_dataset(style, SEED, SIZE, QUESTIONS)[1]
        for thought in riddle.thoughts
    ]
    queries = dict.fromkeys([question.text for question in questions] + thoughts)
    assert len(queries) > 2 * QUESTIONS
    compare(embedded, server, [Retrieve(query, 15) for query in queries])


@pytest.mark.parametrize("system", ["OneR QA", "IRCoT QA"])
def test_iirc_is_answered_alike_with_both_retrievers(open_both, tmp_path, system):
    """App. B in full: titles by the model, the nearest titles, retrieval within these pages, the
    main passage always there.
    """
    questions, embedded, server = open_both("iirc")
    outcomes = []
    for retriever in (embedded, server):
        with Calls(tmp_path / f"{len(outcomes)}.sqlite") as calls:
            model = load(MODELS / "mini-xl")
            bench = Bench(
                "try",
                "iirc",
                [],
                questions,
                retriever,
                calls,
                model,
                demonstrations=PROMPTS / "laboratory",
                context_tokens=1050,
            )
            play = program_of(bench, system, k=4, m=1)
            outcomes.append(
                run({q.id: play(q) for q in questions[:12]}, [retriever, model], calls)[0]
            )
    for question in questions[:12]:
        one, other = (outcome[question.id] for outcome in outcomes)
        assert one.result == other.result
        assert question.passage in one.result.paragraphs and one.result.answer
        requests = [step.request for step in one.trace]
        pages = {
            title
            for step in one.trace
            if isinstance(step.request, NearestTitle)
            for title in step.reply
        }
        assert pages and all(
            set(request.titles) == pages for request in requests if isinstance(request, Retrieve)
        )
