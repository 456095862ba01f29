"""Programs that are written in a cell are tried on questions."""

from ircotlib import (
    Generate,
    Paragraph,
    Prediction,
    Question,
    Retrieve,
    Sample,
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
        pages = [
            Paragraph(title, title, text)
            for title, text in PAGES.items()
            if title in query
        ]
        return pages[:k]

    setup = setup_of_functions(
        read_parameters("mini"), retrieve, lambda prompt: prompt.split()[-1]
    )

    def read(question):
        yield Generate("A first prompt, which is not shown")
        [page] = yield Retrieve(question.text, 1)
        place = yield Generate(f"a demonstration\n\n\nRepeat: {page.text.rstrip('.')}")
        return Prediction(place)

    assert try_program(setup, read, QUESTIONS) == 50
    assert capsys.readouterr().out.splitlines()[1:] == [
        "1. the model writes → shown", "2. looks up “Where is Rome?” → Rome",
        "3. the model writes → Italy", "read answers: Italy", "", "read: f1 50.0%, 2 questions",
    ]  # fmt: skip

    def vote(question):
        drawn = yield Sample("Say Italy", n=2)
        return Prediction(drawn[0].text)

    assert try_program(setup, vote, QUESTIONS[1:]) == 0
    assert "drawn 2 times → Italy · Italy\n" in capsys.readouterr().out

    def say(question):
        return Prediction("Italy")
        yield

    assert try_program(setup, say, QUESTIONS[:1]) == 100  # it writes no prompt
