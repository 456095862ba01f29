"""Steps in words, as text and as HTML; no text in them acts as markup."""

import html
import re
import unicodedata
from xml.etree import ElementTree

import pytest

from ircotlib import program
from ircotlib.data import Node, Paragraph, Prediction, Question
from ircotlib.explore.ask import Answered
from ircotlib.explore.markup import (
    MACROS,
    answers_as_html,
    step_in_words,
    trace_as_text,
)
from ircotlib.program import SENTENCE, Generate, Message, Outcome, Retrieve, Step

MACK = Paragraph("mack", "Mack Rides", "A company.")
PARK = Paragraph("park", "<i>P", "A park.")
CHAT = (Message("user", "<img onerror=x>"), Message("assistant", "Yes."))
DRAWN = tuple(program.Sampled(text, None) for text in ("<b>a", "", "c"))
ASKED = program.Prompt("Q: <it>?\nA:", "Ada & Co writes")
STEPS = [
    Step(Retrieve("Who made <it>?", 2), (MACK, PARK), cached=False),
    Step(Retrieve("nothing\nlike it", 2), (), cached=False),
    Step(Generate(ASKED, SENTENCE), "Mack\nmade it.", True, 9, 5),
    Step(program.Sample(CHAT, 3, 0.5, ("\n",)), DRAWN, False, 7, 2),
    Step(program.NearestTitle("Mack Ride", 2), ("mack rides", "mack"), cached=False),
    Step(program.Extract("who?", PARK), program.Extracted("Ada", 2.25), False),
    Step(program.Extract("when?", MACK), program.Extracted("", -2.25), False),
    Step(program.Duplicate("who <b>?", ("who?", "what?")), 0.0, False),
    Step(program.Duplicate("who?", ("who?", "what?")), 1.0, False),
    Step(Generate("Q", None), "", False, 1, 9),
]
NODES = (
    Node("who?", "Ida", 1, 1, False, None, "park", "Ada", 0.0, "verification", 1),
    Node("where?", "Ulm", 1, 2),
    Node("who?", "Ada", 2, 1, after=0),
    Node("when?", "", 2, 2, True, 2, "mack", "1780", 0.5, "completion", 2),
    Node("when?", "1780", 3, 1, after=3, passage="mack"),
)
HTML = {  # of some of these steps
    0: "looks up “Who made &lt;it&gt;?”</em> → Mack Rides ★ · &lt;i&gt;P<details>"
    "<summary>paragraphs: 2</summary><pre>Mack Rides\nA company.\n\n&lt;i&gt;P"
    "\nA park.</pre></details>",
    1: "looks up “nothing\nlike it”</em> → nothing",
    2: 'Ada &amp; Co writes</em><div class="said">Mack\nmade it.</div><details>'
    "<summary>prompt, 9 tokens</summary><pre>Q: &lt;it&gt;?\nA:</pre></details>",
    3: 'the model writes, drawn 3 times</em><div class="said">&lt;b&gt;a</div>'
    '<div class="said">–</div><div class="said">c</div>'
    "<details><summary>prompt, 7 tokens</summary><pre>user: &lt;img onerror=x&gt;"
    "\n\nassistant: Yes.</pre></details>",
    7: "“who &lt;b&gt;?” was not asked before</em>",
}
KINDS = ["looked up", "looked up", "wrote", "wrote", "looked up", "corrected"]
KINDS += ["completed", "compared", "compared", "wrote"]
TEXTS = """
looks up “Who made <it>?” → Mack Rides · <i>P
looks up “nothing like it” → nothing
Ada & Co writes → Mack made it.
the model writes, drawn 3 times → <b>a · · c
opens the page titled most like “Mack Ride” → mack rides · mack
reads “<i>P” for “who?” → Ada (sure, 2.2): corrected
reads “Mack Rides” for “when?” → nothing: completed
“who <b>?” was not asked before
“who?” was asked before: skipped
the model writes → nothing
""".strip().splitlines()
EVIL = "<img src=x onerror=alert(1)> $\\href{javascript:a(1)}{x}$ </script>\x00\u202e"
EVIL += "x" * 15_000


def show(steps, nodes=(), gold=(), answer="", name="S", fault=""):
    """A system's answer and steps, as HTML."""
    outcome = Outcome("q", Prediction(answer, nodes=nodes, fault=fault), tuple(steps))
    return answers_as_html({name: outcome}, gold)


def test_a_step_is_described_in_html_and_in_one_line():
    page = show(STEPS, gold=["mack"])
    items = re.findall('<li class="([^"]*)">(.*?)</li>', page, re.DOTALL)
    for at, shown in HTML.items():
        assert "".join(items[at][1].split()) == "".join(f"<em>{shown}".split())
    assert [step_in_words(step, nodes=NODES).kind for step in STEPS] == KINDS
    without_nodes = [*KINDS[:5], "read", "read", *KINDS[7:]]
    assert [kind for kind, _ in items] == without_nodes
    lines = [f"{n}. {text}" for n, text in enumerate(TEXTS, start=1)]
    assert trace_as_text(STEPS, NODES).splitlines() == lines


def test_a_passage_that_no_node_of_searchain_was_compared_with_is_only_read():
    read = Step(program.Extract("who?", MACK), program.Extracted("Ada", 0.5), False)
    words, parts, kind = step_in_words(read, nodes=NODES)
    assert (words, kind) == ("reads “Mack Rides” for “who?”", "read")
    assert parts == ("Ada (not sure, 0.5)",)
    last = Step(program.Extract("when?", MACK), program.Extracted("", 0.5), False)
    assert step_in_words(last, nodes=NODES[4:]).kind == "kept"


def test_the_tree_has_each_chain_below_the_node_whose_feedback_it_follows():
    tree = re.search("<ul>.*</ul>", show([], NODES), re.DOTALL)[0]
    [top] = ElementTree.fromstring(f"<r>{tree}</r>")

    def read(items):
        rows = []
        for item in items:
            span, *below = item
            text = " ".join("".join(span.itertext()).split())
            rows += [(span.get("class"), text), *(read(each) for each in below)]
        return rows

    chain = [("completed", "[2] when? → ? 1780"), [("kept", "when? → 1780")]]
    assert read(top) == [
        ("corrected", "[1] who? → Ida Ada"),
        [("", "who? → Ada"), *chain],
        ("", "where? → Ulm"),
    ]
    assert "<ul>" not in show([])


def test_no_text_acts_as_markup_or_a_formula():
    paragraph = Paragraph("p", EVIL, EVIL)
    # as of a file of another's
    nodes = (Node(EVIL, EVIL, 1, 1, passage="p", mark=EVIL),)
    steps = [Step(Retrieve(EVIL, 1), (paragraph,), False)]
    steps.append(Step(Generate(EVIL), EVIL, False))
    question = Question(EVIL, EVIL, (EVIL, EVIL), ("p",), "x", EVIL)
    page = show(steps, nodes, ["p"], EVIL, EVIL, EVIL)
    page += MACROS["question"](question, [paragraph])
    tags = " ".join(sorted(set(re.findall(r"<(\w+)", page))))
    assert tags == "b details div em h3 h4 li ol p pre span style summary ul"
    assert html.unescape(page).count(EVIL) >= 14
    assert page.startswith('<div class="ircot tex2jax_ignore mathjax_ignore">')


def test_printed_texts_do_not_control_the_terminal():
    said = "".join(map(chr, range(256))) + "\u202e"
    step = Step(Generate(said), said, False)
    text = str(Answered(said, said, Outcome("q", Prediction(said), (step,))))
    assert {c for c in text if unicodedata.category(c) in ("Cc", "Cf")} == {"\n"}
    assert "\\x1b" in text and "\\u202e" in text


def test_an_unknown_request_is_an_error():
    with pytest.raises(TypeError, match="unknown request 5"):
        trace_as_text([Step(5, "", False)])
