"""Programs that are written in a cell are tried on questions."""

from ircotlib import (
    Generate,
    Paragraph,
    Prediction,
    Question,
    Retrieve,
    setup_of_functions,
)
from ircotlib.explore.ask import try_program
from ircotlib.parameters import read_parameters

PAGES = {"Rome": "Rome is a city in Italy.", "Oslo": "Oslo is a city in Norway."}
QUESTIONS = [
    Question(name, f"Where is {name}?", (where,), (), "musique")
    for name, where in {"Rome": "Italy", "Oslo": "Sweden"}.items()
]


def test_the_steps_and_the_score_are_printed(capsys):
    def retrieve(query, k):
        titles = [title for title in PAGES if title in query]
        return [Paragraph(title, title, PAGES[title]) for title in titles[:k]]

    p = read_parameters("mini")
    setup = setup_of_functions(p, retrieve, lambda prompt: prompt.split()[-1])

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
