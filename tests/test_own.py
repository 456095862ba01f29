"""A model and a retriever of one's own, in a plug-in or a cell; first mistakes."""

import sys

import pytest

from ircotlib import (
    Generate,
    Paragraph,
    Prediction,
    Question,
    Retrieve,
    Sample,
    System,
    all_systems,
    answer,
    answer_all,
    choose_systems,
    compare,
    open_setup,
    own_model,
    own_retriever,
    read_parameters,
    system,
)
from ircotlib.errors import UserError
from ircotlib.experiment.replay import replay
from ircotlib.experiment.stored import find_folders
from ircotlib.models.own import OwnModel
from ircotlib.program import NearestTitle

MODEL = '''
import re
from ircotlib import own_model

@own_model("last-line")
class LastLine:
    fingerprint = "last line 1"

    def write(self, prompt, max_tokens):
        """Names the first paragraph that it is shown."""
        titles = re.findall("Wikipedia Title: (.*)", prompt) or ["Rome"]
        return f"It is {titles[0]}. So the answer is: Rome."

    def count_tokens(self, text):
        return len(text.split())
'''
RETRIEVER = '''
from ircotlib import own_retriever

@own_retriever("words")
class Words:
    fingerprint = "words 1"

    def __init__(self, corpus):
        self.pages = list(corpus)

    def search(self, query, k):
        """Ranks paragraphs by the number of words that they share with the query."""
        asked = set(query.lower().split())

        def shared(page):
            return len(asked & set(f"{page.title} {page.text}".lower().split()))

        return sorted(self.pages, key=shared, reverse=True)[:k]
'''


@pytest.fixture
def p(plugins, tmp_path, monkeypatch, laboratory):
    """The parameters of a small experiment with both plug-ins."""
    monkeypatch.setattr("ircotlib.experiment.setup.DATA", tmp_path / "data")
    (plugins / "mine.py").write_text(MODEL)
    (plugins / "found.py").write_text(RETRIEVER)
    changes = {"data_dir": str(laboratory), "datasets": ["hotpotqa"]}
    changes |= {"model": "last-line", "retriever": "words"}
    return read_parameters("mini", changes | {"distractors": [], "dev": 0, "test": 3})


def test_both_of_ones_own_run_all_systems_that_need_no_samples(p):
    setup = open_setup(p, "hotpotqa", "own")
    failed = set()
    for each in all_systems().values():
        setting = setup.choose(each, k=2, m=1)
        try:
            outcomes = answer_all(setup, each, setup.test, **setting)
        except RuntimeError as error:
            assert "LastLine draws no samples: give it the method `draw`" in str(error)
            failed.add(each.name)
            continue
        steps = [step for outcome in outcomes.values() for step in outcome.trace]
        assert all(isinstance(one.result, Prediction) for one in outcomes.values())
        if any(isinstance(step.request, Generate) for step in steps):
            assert any("is" in str(step.reply) for step in steps), each.name
        assert not any(isinstance(step.request, Sample) for step in steps)
    assert 0 < len(failed) <= 8, failed
    assert not failed & {"IRCoT QA", "SearChain", "ReAct", "Auto-CoT", "Self-Ask"}
    found = compare([setup], ["ircot qa", "OneR QA"], settings=[{"k": 2}])
    assert set(found.scores["system"]) == {"IRCoT QA", "OneR QA"}
    for folder in find_folders(setup.runs):
        assert all(step.cached for out in replay(folder).values() for step in out.trace)


def test_replies_without_a_fingerprint_are_not_kept_and_titles_are_the_nearest(p):
    setup = open_setup(p, "hotpotqa", "own")
    retriever = setup.retriever
    page = retriever.corpus[7]
    [(_, reply)] = retriever.answer([NearestTitle(page.title.lower(), 2)])
    assert retriever.decode(reply)[0] == page.title
    [(_, reply)] = retriever.answer([Retrieve(page.text, 3, (page.title,))])
    assert {found.title for found in retriever.decode(reply)} == {page.title}
    setup.model.fingerprint = None
    before = len(setup.calls)
    answer(setup, "NoR QA", setup.test[0])
    assert len(setup.calls) == before


class DrawsFew:
    def __init__(self, drawn):
        self.drawn = drawn

    def write(self, prompt, max_tokens):
        return "Rome"

    def draw(self, prompt, n, temperature, max_tokens):
        return self.drawn


@pytest.mark.parametrize("drawn", [None, ["a", "b"], "abc"], ids=str)
def test_too_few_samples_are_an_error_of_their_question(drawn):
    requests = [Sample("a", 3), Generate("b")]
    replies = [reply for _, reply in OwnModel(DrawsFew(drawn)).answer(requests)]
    assert str(replies[0]) == f"DrawsFew drew {drawn!r}, not 3 texts"
    assert isinstance(replies[1], str)


def in_cell(thing):
    """A class or program as if it were declared in a cell of a notebook."""
    thing.__module__ = "__main__"
    return thing


@pytest.fixture
def cells(monkeypatch):
    """What cells declare, which is forgotten after the test."""
    for name in ("SYSTEMS", "MODELS", "RETRIEVERS"):
        monkeypatch.setattr(sys.modules["__main__"], name, [], raising=False)


def test_what_a_cell_declares_is_found_and_declared_again_replaces(cells, p):
    for said in ("Oslo", "Bergen"):

        class Says:
            text = said

            def write(self, prompt, max_tokens):
                return self.text

        own_model("says")(in_cell(Says))

        def my_system(question, *, prompts, k, said=said):
            yield Retrieve(question.text, k)
            return Prediction((yield Generate(said)))

        system("My system", k=(2, 3))(in_cell(my_system))
    assert [s.name for s in choose_systems("my SYSTEM")] == ["My system"]
    changed = read_parameters("mini", {**p.model_dump(), "model": "says", "agent": ""})
    setup = open_setup(changed, "hotpotqa", "own")
    outcome = answer(setup, "My system", setup.test[0], k=2)
    assert outcome.result.answer == "Bergen"
    found = compare([setup], "my system", settings=[{"k": 3}])
    assert list(found.scores["k"]) == [3, 3, 3]


def test_texts_are_cut_at_a_systems_stops_and_its_requests_are_those_of_the_paper(
    cells, p
):
    prompts, asked = [], []

    class Writes:
        def write(self, prompt, max_tokens):
            prompts.append(prompt)
            return "Ann is old. She is 9. So the answer is: 9."

        def draw(self, prompt, n, temperature, max_tokens):
            return [self.write(prompt, max_tokens) for _ in range(n)]

    class Finds:
        def __init__(self, corpus):
            pass

        def search(self, query, k):
            asked.append((query, k))
            return [Paragraph(name, name, f"{name} is old.") for name in ("Ann", "Ben")]

    own_model("writes")(in_cell(Writes))
    own_retriever("finds")(in_cell(Finds))
    changes = {"model": "writes", "retriever": "finds", "style": "codex"}
    p = read_parameters("mini", p.model_dump() | changes | {"context_tokens": 2000})
    setup = open_setup(p, "musique", "own")
    question = Question("1", "Who?", (), (), "musique")
    result = answer(setup, "IRCoT QA", question, k=1).result
    assert asked[:2] == [("Who?", 1), ("Ann is old.", 1)]
    assert [page.id for page in result.paragraphs] == ["Ann"] and result.answer == "9"
    assert result.thoughts[0] == "Ann is old."
    assert "Ann is old." in prompts[0] and setup.model.count_tokens(prompts[0]) < 2000
    sampled = answer(setup, "CoT-SC", question)
    assert len(sampled.trace[0].reply) > 1 and sampled.result.answer == "9"


def no_yield(question):
    return Prediction("Rome")


def no_k(question):
    yield Retrieve(question.text)


def no_query(question):
    yield Retrieve(None, 2)


def wrong_k(question):
    yield Retrieve(question.text, -1)


def returns(value):
    """A program that returns this."""

    def program(question):
        yield Retrieve(question.text, 2)
        return value

    return program


PAGE = Paragraph("1", "Rome", "A city.")
MISTAKES = [
    (no_query, ".*found the query None, expected a text"),
    (wrong_k, ".*found the k -1, expected a count"),
    (no_k, ".*missing 1 required positional argument: 'k'"),
    (no_yield, "its program returned Prediction.* expected a generator, "),
    (returns("Rome"), "found 'Rome', expected a Prediction"),
    (returns(Prediction(None)), "answer: Input should be a valid string"),
    (returns(Prediction("", ("a",))), "paragraphs: Input should be .* Paragraph"),
    (returns(Prediction("", PAGE)), "paragraphs: Input should be a valid tuple"),
]


@pytest.mark.parametrize(("program", "says"), MISTAKES, ids=[m for _, m in MISTAKES])
def test_first_mistakes_get_a_sentence(p, program, says):
    setup = open_setup(p, "hotpotqa", "own")
    said = f"Mine(, question .*)?: {says}"
    with pytest.raises((UserError, RuntimeError), match=said):
        answer_all(setup, System("Mine", program), setup.test)


def test_wrong_names_get_a_sentence():
    unknown = "unknown system 'IRCot Q', expected .*IRCoT QA"
    with pytest.raises(UserError, match=unknown):
        choose_systems(["IRCot Q"])
    with pytest.raises(UserError, match=r"@system: found <func.*expected @system\(na"):
        system(no_yield)


def test_questions_of_one_id_are_refused(p):
    setup = open_setup(p, "hotpotqa", "own", with_model=False)
    asked = [
        Question("", text, ("Rome",), (), "hotpotqa") for text in ("Who?", "Where?")
    ]
    with pytest.raises(UserError, match="found 2 questions of 1 ids"):
        answer_all(setup, "OneR", asked, k=2)


@pytest.mark.parametrize(
    ("declare", "parameter", "says"),
    [
        (own_model, "model", "no method `write`"),
        (own_retriever, "retriever", "`search`"),
    ],
)
def test_a_class_without_its_method_gets_a_sentence(p, cells, declare, parameter, says):
    declare("empty")(in_cell(type("Empty", (), {"__init__": lambda *of: None})))
    changed = read_parameters("mini", {**p.model_dump(), parameter: "empty"})
    with pytest.raises(UserError, match=f"Empty: found .*{says}"):
        open_setup(changed, "hotpotqa", "own")
