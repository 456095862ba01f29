"""Traces as text, and the box for asking your own question, without a browser."""

import html
import re

import ipywidgets
import pytest
from IPython.display import Markdown

from ircot_laboratory.questions.questions import make_riddles
from ircot_laboratory.world.encyclopedia import make_world
from ircotlib.data import Paragraph, Question
from ircotlib.explore import show
from ircotlib.program import (
    SENTENCE,
    Duplicate,
    Extract,
    Extracted,
    Generate,
    Message,
    NearestTitle,
    Retrieve,
    Sample,
    Sampled,
    Step,
)
from ircotlib.text import escape


def unescape(text: str) -> str:
    """Undo the escapes of Markdown; those of HTML stay."""
    return re.sub(r"&#(\d+);", lambda mark: chr(int(mark[1])), text)


QUESTION = Question("q", "Who made <it>?", ("Mack",), ("mack",), "test")
MACK, PARK = Paragraph("mack", "Mack Rides", "A company."), Paragraph("park", "Walibi", "A park.")


def test_a_trace_shows_every_prompt_retrieval_and_sentence():
    trace = (
        Step(Retrieve("Who made <it>?", 2), (MACK, PARK), cached=False),
        Step(
            Generate("Q: Who made <it>?\nA:", SENTENCE),
            "Mack made it.",
            cached=True,
            prompt_tokens=9,
            tokens=5,
        ),
        Step(Retrieve("nothing like it", 2), (), cached=False),
        Step(NearestTitle("Mack Ride", 2), ("mack rides", "mack"), cached=False),
        Step(NearestTitle("Nothing"), (), cached=False),
    )
    text = unescape(show.trace_as_markdown(trace, QUESTION))
    assert "**1.** *retrieve 2 with* “Who made &lt;it&gt;?”" in text
    assert "Mack Rides ★ · Walibi" in text
    assert "<summary>prompt, 9 tokens</summary><pre>Q: Who made &lt;it&gt;?\nA:</pre>" in text
    assert "→ **Mack made it.**" in text
    assert "**3.** *retrieve 2 with* “nothing like it”\n\n&nbsp;&nbsp;→ nothing" in text
    assert (
        "**4.** *find the page titled most like* “Mack Ride”\n\n&nbsp;&nbsp;→ mack rides · mack"
        in text
    )
    assert text.endswith(
        "**5.** *find the page titled most like* “Nothing”\n\n&nbsp;&nbsp;→ nothing"
    )


def test_chats_samples_and_spans_are_shown_and_nothing_in_them_is_markup():
    chat = (Message("user", "<img onerror=x>"), Message("assistant", "Yes."))
    trace = (
        Step(
            Sample(chat, 2, 0.5, ("\n",)), (Sampled("<b>a", -0.5), Sampled("", None)), False, 7, 2
        ),
        Step(Extract("who?", Paragraph("p", "<i>P", "Ada.")), Extracted("Ada", 2.25), False),
        Step(Duplicate("who <b>?", ("who?", "what?")), 0.5, False),
        Step(Extract("who?", PARK), Extracted("", -1.0), False),
    )
    text = unescape(show.trace_as_markdown(trace, QUESTION))
    assert "*draw 2 at temperature 0.5, stop at '\\n'*" in text
    assert "<pre>user: &lt;img onerror=x&gt;\n\nassistant: Yes.</pre>" in text
    assert "→ **&lt;b&gt;a**<br>nothing" in text
    assert "*read* &lt;i&gt;P *for* “who?”\n\n&nbsp;&nbsp;→ **Ada** (2.25)" in text
    assert "*compare with 2 earlier queries* “who &lt;b&gt;?”\n\n&nbsp;&nbsp;→ 0.50" in text
    assert text.endswith("*read* Walibi *for* “who?”\n\n&nbsp;&nbsp;→ nothing")


def test_nothing_that_is_said_is_markdown_and_a_prompt_stays_in_its_fold():
    said = "# [a](b) *c* _d_ `e` \\<f>\n\n1. g"
    text = escape(said)
    assert not set("*_`[]\\\n<>") & set(text) and html.unescape(text) == said
    trace = show.trace_as_markdown([Step(Generate(said), said, False)], QUESTION)
    prompt, reply = trace.split("\n\n")[1:]
    assert prompt.startswith("<details>") and prompt.endswith("</pre></details>")
    assert html.unescape(re.search("<pre>(.*)</pre>", prompt)[1]) == said
    assert reply == f"&nbsp;&nbsp;→ **{text}**"


def test_what_is_no_request_is_an_error():
    with pytest.raises(TypeError, match="found the request 5, expected Retrieve, NearestTitle"):
        show.trace_as_markdown([Step(5, "", False)], QUESTION)


def test_a_question_of_the_laboratory_is_shown_with_chain_and_paragraphs():
    world = make_world(4, 300, "musique")
    riddle = next(
        riddle for riddle in make_riddles(world, 20, "musique", 4) if riddle.kind == "3hop1"
    )
    head, chain, paragraphs = show.riddle_as_markdown(riddle, world).split("\n\n")
    assert head == f"**{riddle.text}** → {riddle.answer} (musique, 3hop1)"
    assert chain.splitlines() == [
        f"{number}. {thought.text}" for number, thought in enumerate(riddle.thoughts, start=1)
    ]
    assert paragraphs.splitlines() == [
        f"- **{subject}.** {world.passage(subject, relation).text}"
        for subject, relation in riddle.facts
    ]


def test_a_page_is_shown_as_every_data_set_has_it():
    worlds = {dataset: make_world(4, 300, dataset) for dataset in ("hotpotqa", "iirc")}
    title = next(title for title, page in worlds["iirc"].pages.items() if len(page) == 2)
    first, second = show.page_as_markdown(title, worlds).splitlines()
    assert first == f"- *hotpotqa*: {worlds['hotpotqa'].pages[title][0].text}"
    assert (
        second == f"- *iirc*: {' | '.join(passage.text for passage in worlds['iirc'].pages[title])}"
        and " | " in second
    )


def test_the_box_describes_the_name_that_is_picked(monkeypatch):
    shown = []
    monkeypatch.delenv("IRCOT_BATCH", raising=False)
    monkeypatch.setattr(show, "display", shown.append)
    show.browse_box(["Ada Bransen", "Leo Ashby"], "about {}".format)
    (box,) = shown
    name, output = box.children
    assert isinstance(output, ipywidgets.Output) and name.options == ("Ada Bransen", "Leo Ashby")
    name.value = "Leo Ashby"
    assert [part.data for part in shown[1:]] == ["about Leo Ashby"]


def test_the_box_asks_what_is_typed(monkeypatch):
    shown, asked = [], []
    monkeypatch.delenv("IRCOT_BATCH", raising=False)
    monkeypatch.setattr(show, "display", shown.append)
    show.ask_box(
        lambda text, system: asked.append((text, system)) or "an answer",
        ["IRCoT QA", "NoR QA"],
        "first?",
    )
    (box,) = shown
    typed, row, output = box.children
    system, button = row.children
    assert isinstance(output, ipywidgets.Output)
    typed.value, system.value = "second?", "NoR QA"
    button.click()
    assert asked == [("second?", "NoR QA")]
    assert isinstance(shown[-1], Markdown) and shown[-1].data == "an answer"


def test_the_boxes_are_silent_in_batch(monkeypatch):
    shown = []
    monkeypatch.setenv("IRCOT_BATCH", "1")
    monkeypatch.setattr(show, "display", shown.append)
    show.ask_box(lambda text, system: "", ["NoR QA"])
    show.browse_box(["Leo Ashby"], str)
    assert shown == []
