"""Programs that are written in a cell are tried on questions."""

from types import SimpleNamespace

from ircotlib import Generate, Paragraph, Prediction, Question, Retrieve, Setup
from ircotlib.datasets import find_dataset
from ircotlib.engine.cache import Calls
from ircotlib.explore.ask import try_program
from ircotlib.models.own import OwnModel
from ircotlib.parameters import read_parameters
from ircotlib.retrieval.own import OwnRetriever

PAGES = {"Rome": "Rome is a city in Italy.", "Oslo": "Oslo is a city in Norway."}
QUESTIONS = [
    Question(name, f"Where is {name}?", (where,), (), "musique")
    for name, where in {"Rome": "Italy", "Oslo": "Sweden"}.items()
]


def test_the_steps_and_the_score_are_printed(capsys):
    def retrieve(query, k):
        titles = [title for title in PAGES if title in query]
        return [Paragraph(title, title, PAGES[title]) for title in titles[:k]]

    model = SimpleNamespace(write=lambda prompt, most: prompt.split()[-1])
    setup = Setup(
        read_parameters("mini"),
        find_dataset("musique"),
        "try",
        retriever=OwnRetriever(SimpleNamespace(search=retrieve)),
        calls=Calls(),
        model=OwnModel(model),
    )

    def read(question):
        yield Generate("A first prompt, which is not shown")
        [page] = yield Retrieve(question.text, 1)
        place = yield Generate(f"a demonstration\n\n\nRepeat: {page.text.rstrip('.')}")
        return Prediction(place)

    assert try_program(setup, read, QUESTIONS) == 50
    steps = ["writes → shown", "looks up “Where is Rome?” → Rome", "writes → Italy"]
    last = ["read answers: Italy", "", "read: f1 50.0%, 2 questions"]
    printed = capsys.readouterr().out.replace("the model ", "").splitlines()
    assert printed[1:] == [f"{n}. {step}" for n, step in enumerate(steps, 1)] + last
