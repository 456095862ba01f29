"""Traces as text, and the box to ask a question of one's own, without a browser."""

import ipywidgets
from IPython.display import Markdown

from ircotlib import show
from ircotlib.data import Paragraph, Question
from ircotlib.program import SENTENCE, Generate, Retrieve
from ircotlib.scheduler import Step

QUESTION = Question("q", "Who made <it>?", ("Mack",), ("mack",), "test")
MACK, PARK = Paragraph("mack", "Mack Rides", "A company."), Paragraph("park", "Walibi", "A park.")


def test_a_trace_shows_every_prompt_retrieval_and_sentence():
    trace = (
        Step(Retrieve("Who made <it>?", 2), (MACK, PARK), cached=False),
        Step(Generate("Q: Who made <it>?\nA:", SENTENCE), "Mack made it.", cached=True, prompt_tokens=9, tokens=5),
        Step(Retrieve("nothing like it", 2), (), cached=False),
    )
    text = show.trace_as_markdown(trace, QUESTION)
    assert "**1.** *retrieve 2 with* “Who made <it>?”" in text
    assert "Mack Rides ★ · Walibi" in text
    assert "<summary>prompt, 9 tokens</summary><pre>Q: Who made &lt;it&gt;?\nA:</pre>" in text
    assert "→ **Mack made it.**" in text
    assert "→ nothing" in text


def test_the_box_asks_what_is_typed(monkeypatch):
    shown, asked = [], []
    monkeypatch.delenv("IRCOT_BATCH", raising=False)
    monkeypatch.setattr(show, "display", shown.append)
    show.ask_box(lambda text, system: asked.append((text, system)) or "an answer", ["IRCoT QA", "NoR QA"], "first?")
    (box,) = shown
    typed, row, output = box.children
    system, button = row.children
    assert isinstance(output, ipywidgets.Output)
    typed.value, system.value = "second?", "NoR QA"
    button.click()
    assert asked == [("second?", "NoR QA")]
    assert isinstance(shown[-1], Markdown) and shown[-1].data == "an answer"


def test_the_box_is_silent_in_batch(monkeypatch):
    shown = []
    monkeypatch.setenv("IRCOT_BATCH", "1")
    monkeypatch.setattr(show, "display", shown.append)
    show.ask_box(lambda text, system: "", ["NoR QA"])
    assert shown == []
