"""ReAct and ReAct -> CoT-SC, with replies by hand."""

from replying import drawn, send, writers

from ircotlib.data import Paragraph, Question
from ircotlib.program import LINE, Generate, Sample
from ircotlib.prompting.prompt import read_template
from ircotlib.systems.react import OpenPage, react, react_cot_sc, read_action

QUESTION = Question(
    "q", "Where was the maker of Jaws born?", ("Cincinnati",), (), "test"
)
JAWS = Paragraph("j", "Jaws (film)", "Jaws is a film. Steven Spielberg directed it.")
FILMS = ("Duel", "Hook", "Lincoln", "Munich", "Jaws", "Amistad")
MANY = " ".join(f"One film is {name}." for name in FILMS)
STEVEN = Paragraph("s", "Steven Spielberg", f"{MANY} He was born in Cincinnati.")
PROMPTS = writers("react", "act", "cot")
HOW = read_template("react", "act").text.partition("Question: ")[0]


def asked(*lines, step, marker="Thought"):
    """The prompt after these lines."""
    question = "Question: Where was the maker of Jaws born?"
    return HOW + "\n".join([question, *lines, f"{marker} {step}:"])


def thinking(*lines, step):
    return Generate(asked(*lines, step=step), (f"\nObservation {step}:",), 100)


def test_a_thought_without_its_action_is_asked_for_the_action():
    replies = ["I know it.\nAction: Finish", "Finish[Ohio]"]
    requests, result = send(react(QUESTION, prompts=PROMPTS), replies)
    after = asked("Thought 1: I know it.", step=1, marker="Action")
    assert requests == [thinking(step=1), Generate(after, LINE, 100)]
    assert (result.answer, result.fault) == ("Ohio", "")


def test_invalid_actions_are_observed_and_seven_actions_are_the_most():
    """ReAct §3.2."""
    replies = [f"Hm.\nAction {step}: Think[more]" for step in range(1, 8)]
    requests, result = send(react(QUESTION, prompts=PROMPTS), replies)
    assert len(requests) == 7
    assert result.thoughts[2] == "Observation 1: Invalid action: Think[more]"
    assert requests[1] == thinking(*result.thoughts[:3], step=2)
    assert (result.answer, result.fault) == ("", "no Finish in 7 actions")
    assert result.reading == ""  # no thought is scored
    _, result = send(react(QUESTION, prompts=PROMPTS), ["So.\nAction 1: Finish[]"])
    assert (result.answer, result.fault) == ("", "Finish without an answer")
    assert result.reading == ""  # it has a 1


def test_actions_are_read_whole():
    assert read_action("Search[The [REC] film]") == ("search", "The [REC] film")
    assert read_action("finish[ Rome ]") == ("finish", "Rome")
    inner = "cities [1]\nRome [2]"
    assert read_action(f"Finish[{inner}]") == ("finish", inner)
    another = "Question: Who?\nThought 1: I search.\nAction 1: Search[him]"
    assert read_action(f"Finish[Rome]\n\n\n{another}") == ("finish", "Rome")
    made_up = "Finish[a]\nThought 2: Hm.\nAction 2: Finish[b]"
    assert read_action(made_up) == ("finish", "a")
    for action in ("Lookup[a]b", "Ask[a]", ""):
        assert read_action(action) == ("", "")


def test_another_text_is_looked_up_from_the_first_sentence_again():
    page = OpenPage((STEVEN,))
    found = [page.look_up(text)[:14] for text in ("film", "film", "born", "film")]
    assert found == [f"(Result {n})" for n in ("1 / 6", "2 / 6", "1 / 1", "1 / 6")]
    assert OpenPage(()).look_up("film") == "No more results."


def test_where_it_does_not_finish_21_chains_vote():
    """ReAct §3.2: n 21, temperature 0.7."""
    acts = ["A.\nAction 1: Search[Jaws (film)]", ("Jaws (film)",), (JAWS,)]
    chains = drawn("He is. The answer is Ohio.", *["So. The answer is Cincinnati."] * 2)
    program = react_cot_sc(QUESTION, prompts=PROMPTS, max_actions=1)
    requests, result = send(program, [*acts, chains])
    sampled = requests[-1]
    assert isinstance(sampled, Sample) and (sampled.n, sampled.temperature) == (21, 0.7)
    assert sampled.prompt == "Q: Where was the maker of Jaws born?\nA:"
    assert (result.answer, result.paragraphs) == ("Cincinnati", (JAWS,))
    assert result.fault == ""
    assert result.thoughts[:2] == ("Thought 1: A.", "Action 1: Search[Jaws (film)]")
    assert result.thoughts[-1].endswith("The answer is Cincinnati.")
