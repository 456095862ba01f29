"""Models that think before they write, behind a server: only the text counts."""

import json
from functools import partial

import pytest
import tiny
from asking import ask, ask_one
from serving import completion, status
from thinking import CHATS, TAGS, THOUGHTS, Thinker

pytest.importorskip("openai", reason="needs the client: pip install -e '.[server]'")

from ircotlib.generation.choices import split_thoughts
from ircotlib.generation.server import ServerModel
from ircotlib.program import LINE, SENTENCE, SENTENCE_OF_LINE, Generate, Message, Sample, Sampled

pytestmark = pytest.mark.usefixtures("quick")
WRITTEN = "It is Ann. She is old.\nNo more."
KEPT = {SENTENCE: "It is Ann.", SENTENCE_OF_LINE: "It is Ann.", LINE: "It is Ann. She is old."}
KEPT |= {("No", " old"): "It is Ann. She is", None: WRITTEN}


@pytest.fixture
def thinker(httpserver):
    return partial(Thinker, httpserver)


def model(fake, **options) -> ServerModel:
    return ServerModel("m", fake.url, **{"in_flight": 1} | options)


WAYS = [(way, True) for way in CHATS] + [(way, False) for way in TAGS]


@pytest.mark.parametrize(("way", "chat"), WAYS)
@pytest.mark.parametrize(("most", "first"), [(9, 0), (300, 2)])
def test_what_is_kept_is_the_text_wherever_the_thoughts_stand(thinker, way, chat, most, first):
    """With a limit that thoughts exceed, and one that they do not."""
    fake, prompts = thinker(way), {stop: f"Who? {stop}" for stop in KEPT}
    fake.texts = {prompt: [(WRITTEN, -0.5)] for prompt in prompts.values()}
    backend, stops = model(fake, chat=chat), [*KEPT]
    for asked, stop in enumerate(stops[first:] + stops[:first], start=1):
        reply = json.loads(ask_one(backend, Generate(prompts[stop], stop, most)))
        assert reply["text"] == KEPT[stop]
        told = "" if way == "hidden" else THOUGHTS
        assert "".join(reply.get("thoughts", [""])).strip() == told
        assert reply["tokens"] > len(THOUGHTS.split())
        assert len(fake.asked) <= asked + 1  # it is known to think after the first reply


SOME = [("think", True), ("opened", True), ("parts", True), ("reasoning", True), ("harmony", False)]


@pytest.mark.parametrize(("way", "chat"), SOME)
def test_samples_have_the_mean_log_probability_of_their_texts_alone(thinker, way, chat):
    fake, expected = thinker(way), [("It is Ann.", -0.25), ("No.", -0.75), ("It is Ann.", -0.125)]
    fake.texts = {"Who?": [(f"{text}\nIt", log) for text, log in expected]}
    backend = model(fake, chat=chat)
    reply = ask_one(backend, Sample("Who?", 3, 0.5, LINE, 60))
    assert backend.decode(reply) == tuple(Sampled(*each) for each in expected)
    assert len(json.loads(reply).get("thoughts", "...")) == 3


@pytest.mark.parametrize(("way", "chat"), [*SOME[2:], ("hidden", True), ("think", False)])
def test_thoughts_without_an_end_or_that_leave_no_room_are_no_text(thinker, way, chat):
    """Of the second text, the room for thoughts leaves 30 of 300 tokens."""
    fake = thinker(way, THOUGHTS * 250)
    error = ask_one(model(fake, chat=chat), Generate("red", LINE, 9))
    assert isinstance(error, ValueError) and "no whole text among them" in str(error)
    fake.thoughts = " ".join(["so"] * 4_270)
    fake.texts = {"red": [("It is Ann and " * 200, -0.5)]}
    assert isinstance(ask_one(model(fake, chat=chat), Generate("red", LINE, 300)), ValueError)


@pytest.mark.parametrize("stop", [None, ("Q:",), "refused"])
def test_a_chat_model_that_does_not_think_is_asked_once_for_each_text(fake, stop, capsys):
    """Its first reply is cut off by the limit: it might be thoughts, so more is asked for once."""
    fake.faults = {"red": [completion("It is red", finish_reason="length")] * 2}
    if stop == "refused":
        fake.faults["red"][1] = status(400, "max_tokens is too large: 4004")
    backend = model(fake, chat=True)
    words = ["red", "green", "blue"]
    stop = ("Q:",) if stop else None
    replies = ask(backend, [Generate(word, stop, 4) for word in words])
    assert [backend.decode(reply) for reply in replies] == ["It is red", "GREEN", "BLUE"]
    assert fake.asked == ["red", *words] and capsys.readouterr().err == ""
    assert [body["max_tokens"] for body in fake.bodies] == [4, 4004, 4, 4]
    assert ["stop" in body for body in fake.bodies] == [False, False, bool(stop), bool(stop)]


HARMONY = "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>"
SPLIT = {  # the text of what is written; None: all of it; "": there is none
    "It is Ann.": None,
    "The element <think> is no HTML.": None,
    "The tags <think> and </think> are unknown, she said.": None,
    "`</think>` ends the thoughts.": None,
    "In the analysis channel he says so.": None,
    "analysis shows that it is Ann.": None,
    "<b>It</b> [THINK about] it.": None,
    "It may be\n</think>\nIt is Ann.": "It is Ann.",
    "It may be Ann </think> It is Ann.": "It is Ann.",
    "It may be\n[/THINK]It is Ann.": "It is Ann.",
    "<think>a</think>\n<think>b</think> It is Ann.": "It is Ann.",
    "<think>a <think>b</think> c</think>It is Ann.": "It is Ann.",
    "<think>\n\n</think>\n\nIt is Ann.": "It is Ann.",
    "<think>I close it with `</think>` then.</think>It is Ann.": "It is Ann.",
    "<think>a": "",
    "<think>a</think>\n<think>b": "",
    "<thinking>a</thinking>It is Ann.": "It is Ann.",
    "<seed:think>a</seed:think>It is Ann.": "It is Ann.",
    "<longcat_think>a</longcat_think>It is Ann.": "It is Ann.",
    "[THINK]a[/THINK]It is Ann.": "It is Ann.",
    "◁think▷a◁/think▷It is Ann.": "It is Ann.",
    "<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>It is Ann.<|END_RESPONSE|>": "It is Ann.",
    "<|begin_of_thought|>a<|end_of_thought|>\n\n<|begin_of_solution|>\nIt is Ann.\n"
    "<|end_of_solution|>": "It is Ann.",
    "<think>a</think><answer>It is Ann.</answer>": "It is Ann.",
    "<think>a</think><|begin_of_box|>It is Ann.<|end_of_box|>": "It is Ann.",
    "<|inner_prefix|>a<|inner_suffix|>It is Ann.": "It is Ann.",
    "<|channel>thought\na<channel|>It is Ann.": "It is Ann.",
    "Here is my thought process:\na\nHere is my response:\nIt is Ann.": "It is Ann.",
    f"{HARMONY}It is Ann.<|return|>": "It is Ann.",
    "<|channel|>final<|message|>It is Ann.": "It is Ann.",
    "<|channel|>analysis<|message|>a": "",
    "analysisIt may be Ann.assistantfinalIt is Ann.": "It is Ann.",
    "analysisIt may be Ann.": "",
}


@pytest.mark.parametrize("written", SPLIT)
def test_thoughts_are_told_from_the_text_by_their_marks(written):
    text = SPLIT[written]
    assert split_thoughts(written)[1] == (written if text is None else text or None)


def test_a_model_on_this_machine_that_thinks_is_refused(tmp_path):
    local = tiny.spell(tmp_path, tiny.byte_tokenizer(), "<think>Ben. No")
    for request in (Generate("Q", SENTENCE, 9), Sample("Q", 2, 1e-3, SENTENCE, 9)):
        error = ask_one(local, request)
        assert isinstance(error, ValueError) and "found thoughts" in str(error)
    error = ask_one(local, Generate((Message("user", "Q"),)))
    assert isinstance(error, ValueError) and "found 1 messages" in str(error)
