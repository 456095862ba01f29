"""Traces as text and as HTML, and the boxes, without a browser."""

import html
import re
import unicodedata
from xml.etree import ElementTree

import pytest

from ircot_laboratory import show as laboratory_show
from ircot_laboratory.questions.questions import make_riddles
from ircot_laboratory.world.encyclopedia import make_world
from ircotlib import program
from ircotlib.data import Node, Paragraph, Prediction, Question
from ircotlib.explore import box
from ircotlib.explore.markup import align, answers_as_html, steps_as_html, tree_as_html
from ircotlib.explore.trace import tell, trace_as_text
from ircotlib.program import SENTENCE, Generate, Message, Outcome, Retrieve, Step
from ircotlib.systems import System, all_systems
from ircotlib.text import escape

QUESTION = Question("q", "Who made <it>?", ("Mack",), ("mack",), "test")
MACK, PARK = Paragraph("mack", "Mack Rides", "A company."), Paragraph("park", "<i>P", "A park.")
CHAT = (Message("user", "<img onerror=x>"), Message("assistant", "Yes."))
DRAWN = tuple(program.Sampled(text, None) for text in ("<b>a", "", "c"))
ASKED = program.with_purpose("Q: <it>?\nA:", "Ada & Co writes")
STEPS = [
    Step(Retrieve("Who made <it>?", 2), (MACK, PARK), cached=False),
    Step(Retrieve("nothing\nlike it", 2), (), cached=False),
    Step(Generate(ASKED, SENTENCE), "Mack\nmade it.", True, 9, 5),
    Step(program.Sample(CHAT, 3, 0.5, ("\n",)), DRAWN, False, 7, 2),
    Step(program.NearestTitle("Mack Ride", 2), ("mack rides", "mack"), cached=False),
    Step(program.Extract("who?", PARK), program.Extracted("Ada", 2.25), False),
    Step(program.Extract("when?", MACK), program.Extracted("", -2.25), False),
    Step(program.Duplicate("who <b>?", ("who?", "what?")), 0.5, False),
    Step(program.Duplicate("who?", ("who?", "what?")), 0.97, False),
    Step(Generate("Q", None), "", False, 1, 9, ("It is <i>Ada</i>,\n\nor Mack.",)),
]
NODES = (
    Node("who?", "Ida", 1, 1, passage="park", found="Ada", feedback="verification", mark=1),
    Node("where?", "Ulm", 1, 2),
    Node("who?", "Ada", 2, 1, after=0),
    Node("when?", "", 2, 2, True, 2, "mack", "1780", 0.5, "completion", 2),
    Node("when?", "1780", 3, 1, after=3, passage="mack"),
)
HTML = [  # unescaped but for HTML
    "looks up “Who made &lt;it&gt;?”</em> → Mack Rides ★ · &lt;i&gt;P<details><summary>2 paragraphs"
    "</summary><pre>Mack Rides\nA company.\n\n&lt;i&gt;P\nA park.</pre></details>",
    "looks up “nothing\nlike it”</em> → nothing",
    'Ada &amp; Co writes</em><div class="said">Mack\nmade it.</div>'
    "<details><summary>prompt, 9 tokens</summary><pre>Q: &lt;it&gt;?\nA:</pre></details>",
    'the model writes, drawn 3 times</em><div class="said">&lt;b&gt;a</div><details><summary>2 '
    'others</summary><div class="said">–</div><div class="said">c</div></details>'
    "<details><summary>prompt, 7 tokens</summary><pre>user: &lt;img onerror=x&gt;\n\n"
    "assistant: Yes.</pre></details>",
    "opens the page titled most like “Mack Ride”</em> → mack rides · mack",
    "reads “&lt;i&gt;P” for “who?”</em> → Ada (sure, 2.2)",
    "reads “Mack Rides” for “when?”</em> → nothing",
    "“who &lt;b&gt;?” was not asked before</em>",
    "“who?” was asked before: skipped</em>",
    'the model writes, after thoughts</em><div class="said">–</div><details><summary>prompt, 1 '
    "tokens</summary><pre>Q</pre></details><details><summary>thoughts</summary><pre>It is &lt;i"
    "&gt;Ada&lt;/i&gt;,\n\nor Mack.</pre></details>",
]
KINDS = ["looked up", "looked up", "wrote", "wrote", "looked up", "corrected", "completed"]
KINDS += ["compared", "skipped", "wrote"]
TEXTS = """
looks up “Who made <it>?” → Mack Rides · <i>P
looks up “nothing like it” → nothing
Ada & Co writes → Mack made it.
the model writes, drawn 3 times → <b>a ·  · c
opens the page titled most like “Mack Ride” → mack rides · mack
reads “<i>P” for “who?” → Ada (sure, 2.2): corrected
reads “Mack Rides” for “when?” → nothing: completed
“who <b>?” was not asked before
“who?” was asked before: skipped
the model writes, after thoughts → nothing
""".strip().splitlines()
TOLD = list(zip(STEPS, KINDS, HTML, TEXTS, strict=True))


@pytest.mark.parametrize(("step", "kind", "shown", "text"), TOLD)
def test_a_step_is_told_in_html_and_in_one_line(step, kind, shown, text):
    page = steps_as_html([step, step], QUESTION.gold, NODES)
    page = re.sub(r"&#(\d+);", lambda mark: chr(int(mark[1])), page)  # escapes of HTML stay
    line = f'<li class="{kind}"><em>{shown}</li>'
    assert page == f'<ol start="1">{line}{line}</ol>'
    assert tell(step, nodes=NODES).kind == kind
    assert trace_as_text([step, step], NODES) == f"1. {text}\n2. {text}"


def test_a_passage_that_no_node_of_searchain_was_compared_with_is_only_read():
    read = program.Extract("who?", MACK), program.Extract("when?", PARK)
    told = [tell(Step(each, program.Extracted("Ada", 0.5), False), nodes=NODES) for each in read]
    assert [(each.kind, each.parts, each.at) for each in told] == [
        ("read", ("Ada (not sure, 0.5)",), "who?"),
        ("read", ("Ada (not sure, 0.5)",), "when?"),
    ]
    last = Step(program.Extract("when?", MACK), program.Extracted("", 0.5), False)
    assert tell(last, nodes=NODES[4:]).kind == "kept"


def test_the_tree_has_each_chain_below_the_node_whose_feedback_it_follows():
    tree = tree_as_html(NODES)
    [top] = ElementTree.fromstring(f"<r>{tree}</r>")

    def read(items):
        rows = []
        for item in items:
            span, *below = item
            rows += [(span.get("class"), "".join(span.itertext())), *map(read, below)]
        return rows

    chain = [("completed", "[2] when? → ? 1780"), [("kept", "when? → 1780")]]
    assert read(top) == [
        ("corrected", "[1] who? → Ida Ada"),
        [("", "who? → Ada"), *chain],
        ("", "where? → Ulm"),
    ]
    assert tree_as_html(()) == ""


def look_up(query: str, *ids: str) -> Step:
    return Step(Retrieve(query, 2), tuple(Paragraph(id, id, "") for id in ids), False)


def test_steps_of_two_systems_that_find_the_same_are_in_one_row():
    wrote = Step(Generate("p"), "text", False)
    ircot = [look_up("q", "a", "x"), wrote, look_up("s", "a", "b"), wrote, look_up("t", "c"), wrote]
    chain = [wrote, look_up("1", "x", "a"), wrote, wrote, look_up("2", "b")]
    own = [Step(program.NearestTitle("b"), ("b",), False), look_up("b", "b"), wrote]

    def rows(first, second, gold=()):
        spans = align(first, second, gold)
        return [tuple((s.start, s.stop) if s.stop > s.start else () for s in row) for row in spans]

    # the first finds b with its second query; without gold paragraphs only the best ones count
    paired = [((), (0, 1)), ((0, 2), (1, 4)), ((2, 4), (4, 5)), ((4, 6), ())]
    assert rows(ircot, chain, ("a", "b")) == paired
    assert rows(ircot, chain) == [((), (0, 1)), ((0, 2), ()), ((2, 4), ()), ((4, 6), ())] + [
        ((), (1, 4)),
        ((), (4, 5)),
    ]
    assert rows(chain, own)[-1] == ((4, 5), (0, 3))  # a page that is opened and read is one look-up
    for rows_of in (rows(ircot, own), rows(own, own, ("b",)), rows([], chain)):
        for side, trace in ((0, rows_of), (1, rows_of)):
            places = [row[side] for row in trace if row[side]]
            assert [end for _, end in places[:-1]] == [start for start, _ in places[1:]]
    shown = answers_as_html(
        {name: Outcome("q", Prediction(), tuple(t)) for name, t in (("A", ircot), ("B", chain))},
        ("a", "b"),
    )
    assert shown.count("<tr>") == 5 and shown.count("★ gold") == 1 and "<ul>" not in shown


def test_what_could_not_be_read_is_said_and_nothing_else():
    right, odd = (Outcome("q", Prediction("Ada", fault=fault), ()) for fault in ("", "no <i>"))
    shown = answers_as_html({"A": right, "B": odd}, notes=["<b>France"])
    assert shown.count("not parsed") == 1 and "not parsed: no &lt;i&gt;" in shown
    assert "<p>&lt;b&gt;France</p>" in shown and 'class="key"' not in shown


@pytest.mark.parametrize("name", all_systems())
def test_every_stage_of_every_system_is_in_words(name):
    system = all_systems()[name]
    for stage in system.stages:
        words = system.purpose(stage)
        assert words.startswith(f"{name} ") and "writes: " not in words


def test_a_prompt_that_says_its_purpose_is_the_same_prompt():
    prompt = program.with_purpose("p", "Ada writes")
    assert program.with_purpose(prompt, "Ida reads") is prompt and prompt.purpose == "Ida reads"
    for request in (Generate, lambda text: program.Sample(text, 2)):
        assert request(prompt) == request("p")
        assert program.key(request(prompt), "f") == program.key(request("p"), "f")
    own = System("Mine", look_up, stages={"ask": "writes: ask"})
    assert own.purpose("ask") == "Mine writes: ask"  # in the words of a system without any


def test_what_is_no_request_is_an_error():
    with pytest.raises(TypeError, match="found the request 5"):
        trace_as_text([Step(5, "", False)])


def test_nothing_that_is_said_is_markup_and_a_prompt_stays_in_its_fold():
    said = "# [a](b) *c* _d_ `e` \\<f>\n\n1. g"
    text = escape(said)
    assert not set("*_`[]\\\n<>") & set(text) and html.unescape(text) == said
    shown = steps_as_html([Step(Generate(said), said, False)])
    prompt = re.search("<details><summary>[^<]*</summary><pre>(.*?)</pre></details>", shown)[1]
    assert html.unescape(prompt) == said and f'<div class="said">{text}</div>' in shown


def test_what_is_printed_does_not_control_the_terminal():
    said = "".join(map(chr, range(256)))
    step = Step(Generate(said), said, False)
    for text in (escape(said), steps_as_html([step]), trace_as_text([step])):
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
    monkeypatch.setenv("IRCOT_BATCH", "1")
    box.ask_box("{} asked of {}".format, ["NoR QA"])
    laboratory_show.browse_box(["Leo Ashby"], str)
    assert len(displayed) == 2
