"""Traces as text and as Markdown, and the boxes, without a browser."""

import html
import re
import unicodedata

import pytest

from ircot_laboratory import show as laboratory_show
from ircot_laboratory.questions.questions import make_riddles
from ircot_laboratory.world.encyclopedia import make_world
from ircotlib import program
from ircotlib.data import Paragraph, Question
from ircotlib.explore import box
from ircotlib.explore.trace import trace_as_markdown, trace_as_text
from ircotlib.program import SENTENCE, Generate, Message, Retrieve, Step
from ircotlib.text import escape

QUESTION = Question("q", "Who made <it>?", ("Mack",), ("mack",), "test")
MACK, PARK = Paragraph("mack", "Mack Rides", "A company."), Paragraph("park", "<i>P", "A park.")
CHAT = (Message("user", "<img onerror=x>"), Message("assistant", "Yes."))
DRAWN = program.Sampled("<b>a", -0.5), program.Sampled("", None)
STEPS = [
    Step(Retrieve("Who made <it>?", 2), (MACK, PARK), cached=False),
    Step(Retrieve("nothing\nlike it", 2), (), cached=False),
    Step(Generate("Q: <it>?\nA:", SENTENCE), "Mack\nmade it.", True, 9, 5),
    Step(program.Sample(CHAT, 2, 0.5, ("\n",)), DRAWN, False, 7, 2),
    Step(program.NearestTitle("Mack Ride", 2), ("mack rides", "mack"), cached=False),
    Step(program.Extract("who?", PARK), program.Extracted("Ada", 2.25), False),
    Step(program.Duplicate("who <b>?", ("who?", "what?")), 0.5, False),
    Step(Generate("Q", None), "Mack.", False, 1, 9, ("It is <i>Ada</i>,\n\nor Mack.",)),
    Step(program.Sample("Q", 2), DRAWN, False, 1, 9, ("Hm.", "")),
]
MARKDOWN = [  # unescaped but for HTML
    "*retrieve 2 with “Who made &lt;it&gt;?”*\n\n→ Mack Rides ★ · &lt;i&gt;P",
    "*retrieve 2 with “nothing\nlike it”*\n\n→ nothing",
    "*generate, stop at sentence*\n\n<details><summary>prompt, 9 tokens</summary>"
    "<pre>Q: &lt;it&gt;?\nA:</pre></details>\n\n→ **Mack\nmade it.**",
    "*draw 2 at temperature 0.5, stop at '\\n'*\n\n<details><summary>prompt, 7 tokens</summary>"
    "<pre>user: &lt;img onerror=x&gt;\n\nassistant: Yes.</pre></details>"
    "\n\n→ **&lt;b&gt;a**<br>nothing",
    "*find the page titled most like “Mack Ride”*\n\n→ mack rides · mack",
    "*read “&lt;i&gt;P” for “who?”*\n\n→ Ada (2.25)",
    "*compare with 2 earlier queries “who &lt;b&gt;?”*\n\n→ 0.50",
    "*generate, stop at the end, after thoughts*\n\n<details><summary>prompt, 1 tokens</summary>"
    "<pre>Q</pre></details>\n\n<details><summary>thoughts</summary><pre>It is &lt;i&gt;Ada"
    "&lt;/i&gt;,\n\nor Mack.</pre></details>\n\n→ **Mack.**",
    "*draw 2 at temperature 0.7, stop at the end, after thoughts*\n\n<details><summary>prompt, 1 "
    "tokens</summary><pre>Q</pre></details>\n\n<details><summary>thoughts</summary><pre>Hm."
    "</pre></details>\n\n→ **&lt;b&gt;a**<br>nothing",
]
TEXTS = """
retrieve 2 with “Who made <it>?” → Mack Rides · <i>P
retrieve 2 with “nothing like it” → nothing
generate, stop at sentence → Mack made it.
draw 2 at temperature 0.5, stop at '\\n' → <b>a ·
find the page titled most like “Mack Ride” → mack rides · mack
read “<i>P” for “who?” → Ada (2.25)
compare with 2 earlier queries “who <b>?” → 0.50
generate, stop at the end, after thoughts → Mack.
draw 2 at temperature 0.7, stop at the end, after thoughts → <b>a ·
""".strip().splitlines()
TOLD = list(zip(STEPS, MARKDOWN, TEXTS, strict=True))


@pytest.mark.parametrize(("step", "markdown", "text"), TOLD)
def test_a_step_is_told_in_markdown_and_in_one_line(step, markdown, text):
    shown = trace_as_markdown([step, step], QUESTION).replace("&nbsp;&nbsp;", "")
    shown = re.sub(r"&#(\d+);", lambda mark: chr(int(mark[1])), shown)  # escapes of HTML stay
    assert shown == f"**1.** {markdown}\n\n**2.** {markdown}"
    assert trace_as_text([step, step]) == f"1. {text}\n2. {text}"


def test_what_is_no_request_is_an_error():
    with pytest.raises(TypeError, match="found the request 5"):
        trace_as_text([Step(5, "", False)])


def test_nothing_that_is_said_is_markdown_and_a_prompt_stays_in_its_fold():
    said = "# [a](b) *c* _d_ `e` \\<f>\n\n1. g"
    text = escape(said)
    assert not set("*_`[]\\\n<>") & set(text) and html.unescape(text) == said
    shown = trace_as_markdown([Step(Generate(said), said, False)], QUESTION)
    _, prompt, reply = shown.split("\n\n")
    assert prompt.startswith("<details>") and prompt.endswith("</pre></details>")
    assert html.unescape(re.search("<pre>(.*)</pre>", prompt)[1]) == said
    assert reply == f"&nbsp;&nbsp;→ **{text}**"


def test_markdown_that_is_printed_does_not_control_the_terminal():
    said = "".join(map(chr, range(256)))
    step = Step(Generate(said), said, False)
    for text in (escape(said), trace_as_markdown([step], QUESTION), trace_as_text([step])):
        assert {c for c in text if unicodedata.category(c) == "Cc"} <= {"\n", "\t"}


def test_questions_and_pages_of_the_laboratory_are_shown():
    worlds = {dataset: make_world(4, 300, dataset) for dataset in ("musique", "iirc")}
    world, riddles = worlds["musique"], make_riddles(worlds["musique"], 20, "musique", 4)
    riddle = next(riddle for riddle in riddles if riddle.kind == "3hop1")
    head, chain, gold = laboratory_show.riddle_as_markdown(riddle, world).split("\n\n")
    assert head == f"**{riddle.text}** → {riddle.answer} (musique, 3hop1)"
    assert chain.splitlines() == [f"{n}. {t.text}" for n, t in enumerate(riddle.thoughts, start=1)]
    passages = [world.passage(*fact) for fact in riddle.facts]
    assert gold.splitlines() == [f"- **{p.title}.** {p.text}" for p in passages]
    title = next(title for title, page in worlds["iirc"].pages.items() if len(page) == 2)
    first, second = laboratory_show.page_as_markdown(title, worlds).splitlines()
    assert first == f"- *musique*: {world.pages[title][0].text}"
    assert second == f"- *iirc*: {' | '.join(p.text for p in worlds['iirc'].pages[title])}"


@pytest.fixture
def displayed(monkeypatch):
    """What the boxes display: themselves, then their answers."""
    parts = []
    monkeypatch.delenv("IRCOT_BATCH", raising=False)
    for module in (box, laboratory_show):
        monkeypatch.setattr(module, "display", parts.append)
    return parts


def test_the_boxes_show_what_is_picked_or_typed_and_are_silent_in_batch(displayed, monkeypatch):
    laboratory_show.browse_box(["Ada Bransen", "Leo Ashby"], "about {}".format)
    name, _ = displayed[0].children
    name.value = "Leo Ashby"
    assert displayed[1].data == "about Leo Ashby"
    box.ask_box("{} asked of {}".format, ["IRCoT QA", "NoR QA"], "first?")
    text, row, *_ = displayed[2].children
    system, button = row.children
    text.value, system.value = "second?", "NoR QA"
    button.click()
    assert displayed[3].data == "second? asked of NoR QA"
    monkeypatch.setenv("IRCOT_BATCH", "1")
    box.ask_box("{} asked of {}".format, ["NoR QA"])
    laboratory_show.browse_box(["Leo Ashby"], str)
    assert len(displayed) == 4
