"""ReAct and ReAct -> CoT-SC, played by hand."""

import re
from ast import literal_eval
from itertools import takewhile

import pytest
from asking import ask_one
from replying import drawn, family_writers, own_demonstrations, play, writers

from ircotlib.data import Paragraph, Question
from ircotlib.datasets import find_dataset
from ircotlib.program import LINE, Extract, Extracted, Generate, NearestTitle, Retrieve, Sample
from ircotlib.prompting.prompt import read_template
from ircotlib.retrieval.bm25 import BM25
from ircotlib.retrieval.corpus import write_corpus
from ircotlib.systems import FOUR_EXAMPLES, all_systems
from ircotlib.systems.react import OpenPage, react, react_cot_sc, read_action, search_page

QUESTION = Question("q", "Where was the maker of Jaws born?", ("Cincinnati",), (), "test")
JAWS = Paragraph("j", "Jaws (film)", "Jaws is a film. Steven Spielberg directed it.")
FILMS = ("Duel", "Hook", "Lincoln", "Munich", "Jaws", "Amistad")
MANY = " ".join(f"One film is {name}." for name in FILMS)
STEVEN = Paragraph("s", "Steven Spielberg", f"{MANY} He was born in Cincinnati.")
PROMPTS = writers("react", "act", "cot")
HOW = read_template("react", "act").text.partition("Question: ")[0]
STEP = re.compile(r"^Action \d: (.+)\nObservation \d: (.+)$", re.MULTILINE)


def asked(*lines, step, marker="Thought"):
    """The prompt after these lines."""
    return HOW + "\n".join(
        ["Question: Where was the maker of Jaws born?", *lines, f"{marker} {step}:"]
    )


def thinking(*lines, step):
    return Generate(asked(*lines, step=step), (f"\nObservation {step}:",), 100)


LINES = f"""Thought 1: I search Jaws.
Action 1: Search[Jaws]
Observation 1: Could not find Jaws. Similar: ['Jaws (film)', 'Jaws 2'].
Thought 2: The film.
Action 2: Search[jaws (film)]
Observation 2: Jaws is a film. Steven Spielberg directed it.
Thought 3: Then him.
Action 3: Search[Steven Spielberg]
Observation 3: {MANY.removesuffix(" One film is Amistad.")}
Thought 4: Born?
Action 4: Lookup[BORN]
Observation 4: (Result 1 / 1) He was born in Cincinnati.
Thought 5: Again.
Action 5: Lookup[BORN]
Observation 5: No more results.
Thought 6: Done.
Action 6: Finish[Cincinnati]""".splitlines()
REPLIES = [
    *("I search Jaws.\nAction 1: Search[Jaws]", ("Jaws (film)", "Jaws 2")),
    *("The film.\nAction 2: Search[jaws (film)]", ("Jaws (film)",), (JAWS,)),
    *("Then him.\nAction 3: Search[Steven Spielberg]", ("Steven Spielberg",), (STEVEN,)),
    *("Born?\nAction 4: Lookup[BORN]", "Again.\nAction 5: Lookup[BORN]"),
    "Done.\nAction 6: Finish[Cincinnati]",
]


def test_it_searches_looks_up_and_finishes():
    requests, result = play(react(QUESTION, prompts=PROMPTS), REPLIES)
    assert requests == [
        thinking(step=1),
        NearestTitle("Jaws", 5),
        thinking(*LINES[:3], step=2),
        NearestTitle("jaws (film)", 5),
        Retrieve("jaws (film)", 1, ("Jaws (film)",)),
        thinking(*LINES[:6], step=3),
        NearestTitle("Steven Spielberg", 5),
        Retrieve("Steven Spielberg", 1, ("Steven Spielberg",)),
        *(thinking(*LINES[: 3 * step - 3], step=step) for step in (4, 5, 6)),
    ]
    assert result.thoughts == tuple(LINES)
    assert (result.answer, result.reading) == ("Cincinnati", LINES[-1])
    assert (result.paragraphs, result.fault) == ((JAWS, STEVEN), "")


def test_a_second_reader_answers_what_a_thought_wants_to_know():
    thoughts = ["I see. I need to find the maker of Jaws.", "Who was he?"]
    replies = [f"{thoughts[0]}\nAction 1: Search[Jaws (film)]", ("Jaws (film)",), (JAWS,)]
    replies += [Extracted("Steven Spielberg", 1.6)]
    replies += [f"{thoughts[1]}\nAction 2: Search[Steven Spielberg]", ("Steven Spielberg",)]
    replies += [(STEVEN,), Extracted("Duel", 1.5), "Done.\nAction 3: Finish[Cincinnati]"]
    requests, result = play(react(QUESTION, prompts=PROMPTS, extract=True), replies)
    assert requests[3] == Extract("What is the maker of Jaws?", JAWS)
    assert requests[7] == Extract("Who was he?", STEVEN)
    sure = "Observation 1: Jaws is a film. Steven Spielberg directed it. Answer: Steven Spielberg."
    assert result.thoughts[2] == sure and f"\n{sure}\n" in requests[4].prompt
    assert result.thoughts[5].endswith("One film is Munich. One film is Jaws.")  # it was not sure


def test_a_thought_without_its_action_is_asked_for_the_action():
    replies = ["I know it.\nAction: Finish", "Finish[Ohio]"]
    requests, result = play(react(QUESTION, prompts=PROMPTS), replies)
    after = asked("Thought 1: I know it.", step=1, marker="Action")
    assert requests == [thinking(step=1), Generate(after, LINE, 100)]
    assert (result.answer, result.fault) == ("Ohio", "")


def test_invalid_actions_are_observed_and_seven_actions_are_the_most():
    """ReAct §3.2."""
    replies = [f"Hm.\nAction {step}: Think[more]" for step in range(1, 8)]
    requests, result = play(react(QUESTION, prompts=PROMPTS), replies)
    assert len(requests) == 7
    assert result.thoughts[:2] == ("Thought 1: Hm.", "Action 1: Think[more]")
    assert result.thoughts[2] == "Observation 1: Invalid action: Think[more]"
    assert requests[1] == thinking(*result.thoughts[:3], step=2)
    assert (result.answer, result.fault) == ("", "no Finish in 7 actions")
    assert result.reading == "Hm."  # which is scored
    short = play(react(QUESTION, prompts=PROMPTS, max_actions=5), replies[:5])[1]
    assert short.fault == "no Finish in 5 actions"


def test_an_empty_finish_is_a_fault():
    _, result = play(react(QUESTION, prompts=PROMPTS), ["So.\nAction 1: Finish[]"])
    assert (result.answer, result.fault) == ("", "Finish without an answer")


def test_a_search_of_the_corpus_instead_of_titles():
    replies = ["A.\nAction 1: Search[shark]", (JAWS,), "B.\nAction 2: Search[]", ()]
    program = react(QUESTION, prompts=PROMPTS, by_title=False, max_actions=2)
    requests, result = play(program, replies)
    assert requests[1::2] == [Retrieve("shark", 1, None), Retrieve("", 1, None)]
    assert result.thoughts[2] == "Observation 1: Jaws is a film. Steven Spielberg directed it."
    assert result.thoughts[5] == "Observation 2: Could not find . Similar: []."


def test_actions_are_read_whole():
    assert read_action("Search[The [REC] film]") == ("search", "The [REC] film")
    assert read_action("finish[ Rome ]") == ("finish", "Rome")
    assert read_action("Finish[cities [1]\nRome [2]]") == ("finish", "cities [1]\nRome [2]")
    another = "Question: Who?\nThought 1: I search.\nAction 1: Search[him]"
    for between in ("\n", "\n\n\n"):
        assert read_action(f"Finish[Rome]{between}{another}") == ("finish", "Rome")
    made_up = "Finish[a]\nThought 2: Hm.\nAction 2: Finish[b]"
    assert read_action(made_up) == ("finish", "a")
    assert {read_action(action) for action in ("Lookup[a]b", "Ask[a]", "")} == {("", "")}


def test_another_text_is_looked_up_from_the_first_sentence_again():
    page = OpenPage((STEVEN,))
    assert page.look_up("film").startswith("(Result 1 / 6) One film is Duel.")
    assert page.look_up("film").startswith("(Result 2 / 6) One film is Hook.")
    assert page.look_up("born").startswith("(Result 1 / 1)")
    assert page.look_up("film").startswith("(Result 1 / 6)")
    assert OpenPage(()).look_up("film") == "No more results."


def test_where_react_finishes_no_chain_is_drawn():
    requests, result = play(react_cot_sc(QUESTION, prompts=PROMPTS), REPLIES)
    assert len(requests) == len(REPLIES) and result.answer == "Cincinnati"


def test_where_it_does_not_finish_21_chains_vote():
    """ReAct §3.2: n 21, temperature 0.7."""
    acts = ["A.\nAction 1: Search[Jaws (film)]", ("Jaws (film)",), (JAWS,)]
    chains = drawn("He is. The answer is Ohio.", *["So. The answer is Cincinnati."] * 2)
    program = react_cot_sc(QUESTION, prompts=PROMPTS, max_actions=1)
    requests, result = play(program, [*acts, chains])
    sampled = requests[-1]
    assert isinstance(sampled, Sample) and (sampled.n, sampled.temperature) == (21, 0.7)
    assert sampled.prompt == "Q: Where was the maker of Jaws born?\nA:"
    assert (result.answer, result.paragraphs, result.fault) == ("Cincinnati", (JAWS,), "")
    assert result.thoughts[:2] == ("Thought 1: A.", "Action 1: Search[Jaws (film)]")
    assert result.thoughts[-1].endswith("The answer is Cincinnati.")


def test_a_made_up_step_below_an_action_is_left_out():
    replies = ["A.\nAction 1: Search[Duel]\nThought 2: B.\nAction 2: Finish[Lund]"]
    replies += [("Duel",), (JAWS,), "C.\nAction 2: Finish[Ohio]\nAction 3: Finish[Lund]"]
    requests, result = play(react(QUESTION, prompts=PROMPTS), replies)
    lines = ["Thought 1: A.", "Action 1: Search[Duel]", f"Observation 1: {JAWS.text}"]
    assert requests[1:3] == [NearestTitle("Duel", 5), Retrieve("Duel", 1, ("Duel",))]
    assert requests[3] == thinking(*lines, step=2)
    assert (result.answer, result.reading) == ("Ohio", "Action 2: Finish[Ohio]")


@pytest.mark.parametrize("dataset", "hotpotqa musique strategyqa zsre fever eli5".split())
def test_a_real_model_is_told_its_actions_and_sees_each_of_them(dataset):
    """The first two examples, which all data sets show, have a Lookup and a page not found."""
    prompt = next(react(QUESTION, prompts=family_writers("ReAct", dataset))).prompt
    *examples, last = prompt.split("\n\n\n")
    assert last == asked(step=1)
    assert re.findall(r"^(\w+)\[", HOW, re.M) == ["Search", "Lookup", "Finish"]
    assert len(examples) == all_systems()["ReAct"].count_examples(find_dataset(dataset))
    first_two = "\n\n\n".join(examples[:2])
    assert all(shown in first_two for shown in ("1: Could not find ", ": Lookup[", ": Finish["))


@pytest.mark.parametrize("family", FOUR_EXAMPLES)
def test_the_program_observes_what_the_examples_say(family):
    """A page that is looked up has more than the sentences that a search shows."""
    for example in own_demonstrations("react", "act", family):
        steps = [(*read_action(action), observed) for action, observed in STEP.findall(example)]
        for number, (verb, text, observed) in enumerate(steps):
            if observed.startswith("Could not find"):
                titles = literal_eval(observed.partition("Similar: ")[2].removesuffix("."))
                assert len(titles) == 5 and text not in titles
                assert play(search_page(text, True), [tuple(titles)])[1] == ((), observed)
            elif verb == "search":
                looked_up = takewhile(lambda step: step[0] == "lookup", steps[number + 1 :])
                below = [shown.partition(") ")[2] for _, _, shown in looked_up]
                paragraph = Paragraph("p", text, " ".join([observed, *below]))
                paragraphs, seen = play(search_page(text, True), [(text,), (paragraph,)])[1]
                assert seen == observed
                page = OpenPage(paragraphs)
            else:
                assert page.look_up(text) == observed


@pytest.mark.parametrize("family", FOUR_EXAMPLES)
def test_every_action_of_an_example_is_read_and_the_last_one_finishes(family):
    for example in own_demonstrations("react", "act", family):
        actions = re.findall(r"^Action \d: (.*)$", example, re.M)
        verbs = [read_action(action)[0] for action in actions]
        assert all(verbs) and verbs[-1] == "finish" and "finish" not in verbs[:-1]
        assert len(verbs) <= {"fever": 5}.get(family, 7)


def test_pages_of_a_real_index(tmp_path):
    other = Paragraph("n", "Jaws (novel)", "Jaws is a novel. Peter Benchley wrote it.")
    corpus = write_corpus(tmp_path / "corpus", [other, JAWS, STEVEN])
    retriever, observed = BM25(corpus, tmp_path / "index"), {}
    for entity in ("jaws (FILM)", "Jaws"):
        program, reply = search_page(entity, by_title=True), None
        try:
            while True:
                reply = retriever.decode(ask_one(retriever, program.send(reply)))
        except StopIteration as end:
            observed[entity] = end.value
    assert observed["jaws (FILM)"] == ((JAWS,), JAWS.text)
    paragraphs, text = observed["Jaws"]
    assert paragraphs == () and text.startswith("Could not find Jaws. Similar: ['Jaws (")
