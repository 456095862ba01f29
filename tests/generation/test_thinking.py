"""Models that think before they write, behind a server and here: only the text counts."""

import json
from functools import partial

import pytest
import tiny
import torch
from asking import ask, ask_one
from serving import completion, status
from thinking import CHATS, TAGS, THOUGHTS, Thinker

pytest.importorskip("openai", reason="needs the client: pip install -e '.[server]'")

from ircotlib.engine.cache import Calls
from ircotlib.engine.scheduler import run
from ircotlib.errors import UserError
from ircotlib.generation.server import ServerModel
from ircotlib.generation.server.attempts import Patience
from ircotlib.generation.thoughts import split_thoughts
from ircotlib.program import LINE, SENTENCE, SENTENCE_OF_LINE, Generate, Message, Sample, Sampled

QUICK = Patience(timeout=5, attempts=3, first_pause=0.01, longest_pause=0.02)
WRITTEN = "It is Ann. She is old.\nNo more."
KEPT = {SENTENCE: "It is Ann.", SENTENCE_OF_LINE: "It is Ann.", LINE: "It is Ann. She is old."}
KEPT |= {("No", " old"): "It is Ann. She is", None: WRITTEN}


@pytest.fixture
def thinker(servers):
    servers[0].clear()
    return partial(Thinker, servers[0])


def model(fake, **options) -> ServerModel:
    return ServerModel("m", fake.url, **{"in_flight": 1, "patience": QUICK} | options)


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


TOKENS = [("Ro", b"Ro"), ("m\\xc3", b"m\xc3"), ("\\xa9 is", b"\xa9 is"), (" old.", None)]


@pytest.mark.parametrize(
    ("tokens", "mean"),
    [
        (TOKENS, -2.5),
        ([(text, None) for text, _ in TOKENS], None),  # do not spell it
        ([("token_id:7", None)] * 4, None),
        ([("Romé", None), (" is", "?"), (" old.", None), ("<end>", None)], -2.0),
        ([("Romé is old. ", [700]), ("And", None)], -1.0),
        ([*TOKENS[:-1], (" old.", None), (" It is Rom", None)], -2.5),
    ],
)
def test_tokens_that_do_not_spell_the_text_give_no_log_probability(fake, tokens, mean):
    listed = [{"token": t, "bytes": list(b) if isinstance(b, bytes) else b} for t, b in tokens]
    logs = [token | {"logprob": -1.0 - at} for at, token in enumerate(listed)]
    spelt = "Romé is old. And" if mean == -1.0 else "Romé is old. It is Rom"
    spelt = spelt if mean in (-1.0, -2.5) and len(tokens) != 4 else "Romé is old."
    choice = {"message": {"content": spelt}, "logprobs": {"content": logs}}
    fake.faults = {"all": [{"choices": [choice]}]}
    backend = model(fake, chat=True)
    reply = ask_one(backend, Sample("Which?", 1, 0.5, SENTENCE, 60))
    assert backend.decode(reply) == (Sampled("Romé is old.", mean),)


def play(backend, calls, words=("red", "blue")):
    def program(prompt):
        return (yield Generate(prompt, LINE, 9))

    outcomes, counts = run({word: program(word) for word in words}, [backend], calls)
    return {id: outcome.result for id, outcome in outcomes.items()}, counts["Generate"]


@pytest.mark.parametrize(("way", "chat"), [*SOME[2:], ("hidden", True), ("think", False)])
def test_thoughts_without_an_end_are_told_in_one_line_and_not_stored(thinker, way, chat):
    fake = thinker(way, THOUGHTS * 50)
    with Calls() as calls:
        named = "only thoughts, expected a text; set thinking_tokens to more than 70"
        with pytest.raises(RuntimeError, match=f"2 of 2 questions failed.*{named}") as error:
            play(model(fake, chat=chat, thinking_tokens=70), calls)
        assert "\n" not in str(error.value) and len(calls) == 0
        fake.thoughts = THOUGHTS
        replies, counts = play(model(fake, chat=chat), calls)
    assert replies == {"red": "RED", "blue": "BLUE"}
    assert counts["tokens"] > 2 * len(THOUGHTS.split())


FAILED = [{"finish_reason": name} for name in ("error", "abort", "cancelled", "timeout")]
FAILED += [{"native_finish_reason": "ERROR", "finish_reason": "stop"}, {"error": {"code": 502}}]
FAILED += [{"finish_reason": "insufficient_system_resource", "error": None}]


@pytest.mark.parametrize("text", ["", "Ann Lee was the mo", None])
@pytest.mark.parametrize("fault", FAILED, ids=str)
def test_what_a_provider_failed_to_write_is_asked_for_again_and_not_stored(fake, fault, text):
    failed = {"choices": [{"text": text, "message": {"content": text}} | fault]}
    with Calls() as calls:
        fake.faults = {"red": [failed] * 2}
        assert play(model(fake, chat=True), calls)[0] == {"red": "RED", "blue": "BLUE"}
        assert sorted(fake.asked) == ["blue", "red", "red", "red"]
        fake.faults = {"green": [failed] * 9}
        with pytest.raises(RuntimeError, match="'green'.*found a text that failed.*asked 3 times"):
            play(model(fake), calls, ["green"])
        assert len(calls) == 2
    good = completion("Ann.")["choices"]
    fake.faults = {"black": [{"choices": failed["choices"] + good}] * 2}
    backend = model(fake)
    drawn = backend.decode(ask_one(backend, Sample("black", 2)))
    assert [sampled.text for sampled in drawn] == ["Ann.", "Ann."]


CALL = {"content": None, "tool_calls": [{"function": {"name": "search"}}]}
REFUSED = {"content": [{"type": "refusal", "refusal": "No."}]}


@pytest.mark.parametrize(
    ("message", "named"), [(CALL, "call of a tool"), (REFUSED, "refusal ('No.')")]
)
def test_a_reply_without_a_text_says_what_stands_there(fake, message, named):
    fake.faults = {"all": [{"choices": [{"message": message}]}]}
    error = ask_one(model(fake, chat=True), Generate("red"))
    assert isinstance(error, ValueError) and named in str(error) and len(fake.asked) == 1


SPLIT = [
    ("The element <think> is no HTML.", None),
    ("The tags <think> and </think> are unknown, she said.", None),
    ("`</think>` ends the thoughts.", None),
    ("In the analysis channel he says so.", None),
    ("analysis shows that it is Ann.", None),
    ("It may be\n</think>\nIt is Ann.", "It is Ann."),
    ("It may be Ann </think> It is Ann.", "It is Ann."),
    ("<think>a</think>\n<think>b</think> It is Ann.", "It is Ann."),
    ("<think>I close it with `</think>` then.</think>It is Ann.", "It is Ann."),
    ("<seed:think>a</seed:think>It is Ann.", "It is Ann."),
    ("◁think▷a◁/think▷It is Ann.", "It is Ann."),
    (
        "<|begin_of_thought|>a<|end_of_thought|>\n\n<|begin_of_solution|>\nIt.\n<|end_of_solution|>",
        "It.",
    ),
    ("<|channel|>final<|message|>It is Ann.<|return|>", "It is Ann."),
]


@pytest.mark.parametrize(("written", "text"), SPLIT)
def test_a_text_that_only_mentions_a_tag_stays_whole(written, text):
    assert split_thoughts(written)[1] == (written if text is None else text)


@pytest.mark.parametrize("stop", [None, LINE, "refused"])
def test_a_chat_model_that_does_not_think_is_asked_once_for_each_text(fake, stop, capsys):
    """Its first reply is cut off by the limit: it might be thoughts, so more is asked for once."""
    fake.faults = {"red": [completion("It is red", finish_reason="length")] * 2}
    if stop == "refused":
        fake.faults["red"][1] = status(400, "max_tokens is too large: 4009")
    backend = model(fake, chat=True)
    words = ["red", "green", "blue"]
    replies = ask(backend, [Generate(word, LINE if stop else None, 9) for word in words])
    assert [backend.decode(reply) for reply in replies] == ["It is red", "GREEN", "BLUE"]
    assert fake.asked == ["red", *words] and capsys.readouterr().err == ""
    assert [body["max_tokens"] for body in fake.bodies] == [9, 4009, 9, 9]
    assert ["stop" in body for body in fake.bodies] == [False, False, bool(stop), bool(stop)]


def spell(folder, written, template=None):
    """A causal model that writes a text, token by token, after the prompt "Q", or a chat of it."""
    tokenizer = tiny.byte_tokenizer()
    tokenizer.chat_template = template
    prompt = "Q" if template is None else template.replace("{{ messages[0]['content'] }}", "Q")
    return tiny.spell(folder, tokenizer, written, prompt)


CHAT = (Message("user", "Q"),)
OPENED = "{{ messages[0]['content'] }}<think>"
LOCAL = [(f"<think>\nBen. No\n</think>\n\n{WRITTEN}", None, "Q")]
LOCAL += [(f"<think>\nBen. No\n</think>\n\n{WRITTEN}", "{{ messages[0]['content'] }}", CHAT)]
LOCAL += [(f"\nBen. No\n</think>\n\n{WRITTEN}", OPENED, CHAT)]


@pytest.mark.parametrize(("written", "template", "prompt"), LOCAL)
def test_a_model_here_has_room_for_its_thoughts_and_stops_after_them(
    tmp_path, written, template, prompt
):
    backend = spell(tmp_path, written, template)
    for stop, text in KEPT.items():
        [reply] = tiny.read(backend, [Generate(prompt, stop, 60)])
        assert (reply["text"], reply["thoughts"]) == (text, ["Ben. No"])
    [short] = tiny.read(backend, [Generate(prompt, None, 6)])  # a limit for the text alone
    assert short["tokens"] > 20 and WRITTEN.startswith(short["text"]) and short["text"]
    [drawn] = tiny.read(backend, [Sample(prompt, 2, 1e-3, SENTENCE, 60)])
    assert [text for text, _ in drawn["samples"]] == ["It is Ann."] * 2
    assert drawn["thoughts"] == ["Ben. No"] * 2
    backend.thinking_tokens = 0
    for request in (Generate(prompt, LINE, 9), Sample(prompt, 2, 1e-3, LINE, 9)):
        error = ask_one(backend, request)
        assert isinstance(error, UserError) and "9 tokens of thoughts, expected a text" in str(
            error
        )
        assert "set thinking_tokens to more" in str(error)


def test_the_log_probability_of_a_model_here_is_that_of_its_text_alone(tmp_path):
    """It is sure of its text, and less so of its thoughts."""
    thoughts, text = "<think>Ben</think>", "It is Ann.\nNo"
    plain, backend = spell(tmp_path / "a", text), spell(tmp_path / "b", thoughts + text)
    with torch.no_grad():
        backend.model.lm_head.weight[:, : len(backend.tokens.encode(thoughts))] *= 0.7
    means = [tiny.read(each, [Sample("Q", 1, 1e-3, LINE, 60)]) for each in (plain, backend)]
    [[text, mean]], [[same, other]] = (reply["samples"] for [reply] in means)
    assert text == same == "It is Ann." and other == pytest.approx(mean, rel=0.05)


def test_thoughts_end_at_the_window_of_a_model_here(tmp_path):
    backend = spell(tmp_path, "<think>" + "Ben or Ann? " * 9)
    backend.limit = 50
    error = ask_one(backend, Generate("Q", LINE, 9))
    assert isinstance(error, UserError) and "found 49 tokens of thoughts" in str(error)
