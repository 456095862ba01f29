"""Requests to a server, and the effects of its replies and faults, over real HTTP."""

import time
import traceback

import pytest
from asking import ask, ask_one, read, reply_to
from serving import Fake, completion, copy_model, model, said, serve_model, status
from werkzeug import Response

from ircotlib.engine.cache import Calls
from ircotlib.engine.scheduler import run
from ircotlib.errors import Unavailable, UserError
from ircotlib.models.local import LocalModel
from ircotlib.models.server import Price, ServerModel
from ircotlib.program import (
    LINE,
    SENTENCE,
    SENTENCE_OF_LINE,
    Generate,
    Message,
    Sample,
    Sampled,
)

WORDS = ("red", "green", "blue", "black")
CAPITALS = {word: word.upper() for word in WORDS}


def send(backend, calls, prompts=WORDS) -> dict[str, str]:
    def program(prompt):
        return (yield Generate(prompt, LINE, 9))

    outcomes, _ = run({prompt: program(prompt) for prompt in prompts}, [backend], calls)
    return {id: outcome.result for id, outcome in outcomes.items()}


def test_the_content_of_requests(fake):
    messages = (Message("system", "Be brief."), Message("user", "q"))
    backend, chats = model(fake), model(fake, chat=True)
    for request in (Generate("q", LINE, 9), Generate("q", tuple("abcdef"), 9)):
        ask_one(backend, request)
    for stop in (("Q:",), ("Q:",), SENTENCE_OF_LINE):  # the first might end thoughts
        ask_one(chats, Generate(messages, stop, 9))
    usual = {"model": "m", "temperature": 0, "max_tokens": 9, "stream": False}
    prompt = {"prompt": "q"}
    chat = {"messages": [{"role": role, "content": text} for role, text in messages]}
    expected = [prompt | {"stop": ["\n"]}, prompt | {"stop": [*"abcd"]}]
    expected += [chat, chat | {"stop": ["Q:"]}, chat]
    assert fake.bodies == [usual | more for more in expected]
    fake.bodies.clear()
    fake.faults = {"q": [{"choices": completion("A")["choices"] * 3}] * 2}
    only = {"messages": [{"role": "user", "content": "q"}]}
    for each, logprobs, asked in ((backend, 1, prompt), (chats, True, only)):
        ask_one(each, Sample("q", 3, 0.5, SENTENCE, 9))
        drawn = usual | {"temperature": 0.5, "n": 3, "logprobs": logprobs}
        assert fake.bodies.pop() == drawn | asked


def hang(body):
    time.sleep(0.7)
    return completion("late")


def reset(body):
    """A reply that is cut off in its middle."""
    response = Response('{"choices": [{"te', 200)
    response.headers["Content-Length"] = "500"
    return response


def half(**ends) -> dict:
    return completion("Ann Lee was the", **ends)


PASSES = {
    "broken": said("broken", 500),
    "reset": reset,
    "a page": said("<html>Welcome", kind="text/html"),
    "no choice": {"choices": []},
    "an error beside half a text": half() | {"error": {"message": "lost"}},
    "finish_reason error": half(finish_reason="error"),
    "an error of the choice": half(error={"code": 502}),
    "an unknown reason": half(finish_reason="abort"),
    "a provider's error": half(native_finish_reason="ERROR"),
    "a provider's time": half(finish_reason="STOP", native_finish_reason="timeout"),
    "a stream of parts": said('data: {"choices": [{"text": "RE"}]}\n\ndata: {'),
}


@pytest.mark.parametrize("fault", PASSES.values(), ids=PASSES)
def test_after_a_temporary_fault_the_request_is_repeated_and_no_fault_kept(fake, fault):
    fake.faults = {"red": [fault, fault]}
    with Calls() as calls:
        assert send(model(fake, chat=True), calls) == CAPITALS
    assert sorted(fake.asked) == sorted([*WORDS, "red", "red"])


LIMIT = "This model's maximum context length is 4097 tokens. You sent 5000, n tokens"
TOO_LARGE = "max_tokens is too large: 9000. This model supports at most 4096 tokens"
ONE = [  # the reply, how often it is asked for, and words of the error
    (said("broken <b>\x1b[31m", 500, "text/html"), 3, "status 500, .*broken"),
    ({"choices": []}, 3, "in place of a text.*asked 3 times"),
    (half(finish_reason="content_filter"), 1, "found a refusal"),
    (half(native_finish_reason="PROHIBITED_CONTENT"), 1, "found a refusal"),
    (completion("", finish_reason="tool_calls"), 1, "found a refusal.*tool_calls"),
    (half(finish_reason="length"), 1, "no whole text"),
    (completion(None, message={"refusal": "No."}), 1, "found a refusal.*No"),
    (status(400, LIMIT, param="messages"), 1, "status 400, .*length is 4097"),
    (status(400, TOO_LARGE, param="max_tokens"), 1, "is too large: 9000"),
]


@pytest.mark.parametrize(("fault", "times", "words"), ONE)
def test_a_refused_request_costs_only_its_question(fake, fault, times, words):
    fake.faults = {"blue": [fault] * 9}
    replies = ask(model(fake), [Generate(word, LINE, 90) for word in WORDS])
    assert [isinstance(reply, str) for reply in replies] == [True, True, False, True]
    assert fake.asked == ["red", "green", *["blue"] * times, "black"]
    assert str(replies[2]).isprintable() and len(str(replies[2])) < 500
    with pytest.raises((ValueError, RuntimeError), match=words):
        raise replies[2]


ALL = [
    (status(401, "who are you"), 1, "status 401, .*who are you.*see OPENAI_API_KEY"),
    (status(403, "denied"), 1, "status 403, .*denied.*see OPENAI_API_KEY"),
    (Response("", 307), 1, "status 307, .*see OPENAI_API_KEY"),
    (status(503, "away"), 3, ".*away.*all replies are kept"),
    (reset, 3, "no connection .*all replies are kept"),
    (hang, 3, "no connection .*timed out.*all replies are kept"),
]


@pytest.mark.parametrize(("fault", "times", "words"), ALL)
def test_a_fault_of_all_requests_ends_the_run_and_a_rerun_continues(
    fake, fault, times, words
):
    fake.faults = {"green": [fault] * 9}
    with Calls() as calls:
        with pytest.raises(RuntimeError, match=f"ServerModel failed.*{words}") as error:
            send(model(fake), calls)
        assert isinstance(error.value.__cause__, Unavailable)
        assert "\n" not in str(error.value)
        assert fake.asked == ["red", *["green"] * times] and len(calls) == 1
        fake.faults = {}
        fake.bodies.clear()
        assert send(model(fake), calls) == CAPITALS
        assert fake.asked == ["green", "blue", "black"]


class Picky(Fake):
    """A server that refuses fields, and does not say why."""

    refused: tuple[str, ...] = ()

    def answer(self, body: dict):
        if body.keys() & set(self.refused):
            number = 403 if self.refused == ("logprobs",) else 422  # not allowed
            return status(number, "Bad request")
        return super().answer(body)


# the fields that a server refuses, and the tries until it is asked without them
FIELDS = {
    ("n",): 1,
    ("logprobs",): 2,
    ("stop",): 3,
    ("temperature",): 4,
    ("max_tokens",): 4,  # of a chat, which has no stop at first
    ("temperature", "max_tokens"): 7,
}


@pytest.mark.parametrize(("refused", "tries"), FIELDS.items())
def test_fields_that_the_server_refuses_are_left_out_from_then_on(
    httpserver, capsys, refused, tries
):
    fake = Picky(httpserver)
    fake.refused = refused
    backend = model(fake, chat="max_tokens" in refused)
    request = Sample("a red\nsea", 5, 0.7, LINE, 9)
    # cut here; asked one by one
    assert [text for text, _ in reply_to(backend, request)] == ["A RED"] * 5
    assert len(fake.bodies) == tries + 5 and backend.left_out >= set(refused)
    assert len(refused) > 1 or backend.left_out == set(refused)
    named = {"max_tokens", "max_completion_tokens"}
    assert all(len(body.keys() & named) == 1 for body in fake.bodies)
    ask_one(backend, request)
    assert len(fake.bodies) == tries + 10
    assert capsys.readouterr().err.count("asked without") == 1


def test_the_first_refusal_is_raised_and_what_was_taken_is_not_left_out(fake):
    fake.faults = {"red": [status(400, f"fault {n}") for n in range(9)]}
    backend = model(fake)
    requests = [Generate(word, LINE, 9) for word in ("red", "green", "red", "blue")]
    first, _, second, _ = ask(backend, requests)
    assert "fault 0" in str(first) and backend.left_out == set()
    assert fake.asked == [*["red"] * 4, "green", "red", "blue"]
    assert "fault 4" in str(second)


def choice(text: str | None, **more) -> dict:
    return completion(text, **more)["choices"][0]


def test_samples_come_in_their_order_and_what_is_missing_is_asked_for(fake):
    several = [choice(text, index="abcd".index(text)) for text in "cabd"]
    broken = choice("half", index=0, finish_reason="error")
    odd = [broken, choice("b", index=1)]
    fake.faults = {"all": [{"choices": each} for each in (several[:3], several, odd)]}
    backend = model(fake)
    drawn = [reply_to(backend, Sample("red", n)) for n in (3, 3, 2)]
    texts = [[text for text, _ in samples] for samples in drawn]
    assert texts == [["a", "b", "c"], ["a", "b", "c"], ["b", "RED"]]
    assert [body.get("n") for body in fake.bodies] == [3, 3, 2, None]


TOKENS = ["Ro", "mé", " is", " old."]
QUOTED = "<think>Romé is old.</think>"
SPELT = [
    ("Romé is old.", TOKENS, -2.5),
    (f"{QUOTED}Romé is old.", [QUOTED, *TOKENS], -3.5),
    ("Romé is old.", ["Ro", "m\\xc3", "\\xa9 is", " old."], None),  # do not spell it
]


@pytest.mark.parametrize(("spelt", "tokens", "mean"), SPELT)
def test_samples_have_the_mean_log_probability_of_the_text(fake, spelt, tokens, mean):
    logs = [{"token": token, "logprob": -1.0 - at} for at, token in enumerate(tokens)]
    plain = {"tokens": ["ab", "\nc"], "token_logprobs": [-1, -2]}
    choices = choice(spelt, logprobs={"content": logs}), choice("ab\nc", logprobs=plain)
    fake.faults = {"all": [{"choices": [each]} for each in choices]}
    backend = model(fake, chat=True)
    stops = (SENTENCE, LINE)
    drawn = [reply_to(backend, Sample("Which?", 1, 0.5, stop, 60)) for stop in stops]
    assert drawn == [(Sampled("Romé is old.", mean),), (Sampled("ab", -1.0),)]


LEADING = [LINE, SENTENCE_OF_LINE, ("\n\n", "Q:")]


@pytest.mark.parametrize("stop", LEADING, ids=str)
def test_a_chat_may_begin_with_line_ends(fake, stop):
    def said_before_its_text(body):
        text = "\n\n Ann Lee founded it.\n\nMore."
        ends = [at for mark in body.get("stop", ()) if (at := text.find(mark)) >= 0]
        return completion(text[: min(ends, default=None)])

    fake.faults = {"red": [said_before_its_text] * 2}
    backend = model(fake, chat=True)
    request = Generate("red", stop, 9)
    for _ in range(2):
        assert reply_to(backend, request) == "Ann Lee founded it."
    assert fake.bodies[1].get("stop", []) == (["Q:"] if "Q:" in stop else [])


def test_nothing_is_sent_once_the_budget_is_spent(fake):
    # a dollar for each token written: 2
    paid = {"price": Price(1.0, 1_000_000.0), "max_cost": 5.0}
    spent = pytest.raises(RuntimeError, match="spent 6 USD of max_cost 5.0; all")
    with Calls() as calls, spent:
        send(model(fake, **paid), calls)
    assert len(fake.asked) == 3
    with pytest.raises(UserError, match="no price of m is known; set prices"):
        model(fake, max_cost=1.0)


KEY = "sk-SECRET-SECRET-SECRET"


@pytest.mark.parametrize("number", [200, 400, 401])
def test_a_key_that_is_repeated_is_not_shown_nor_a_part_of_it(
    fake, monkeypatch, number
):
    """It is hidden before the words of a server are cut."""
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    for length in (0, *range(210, 310, 15)):
        words = "x" * length + KEY
        replies = [status(number, words), said(words, number)]
        replies.append(completion(None, message={"refusal": words}))
        for reply in replies:
            fake.faults = {"red": [reply] * 3}
            try:
                shown = repr(ask_one(model(fake), Generate("red")))
            except Unavailable as error:
                shown = "".join(traceback.format_exception(error))
            assert "SEC" not in shown and ("…" in shown or length > 100)
    assert fake.log[0][0].headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("url", ["http://a.org", "http://127.0.0.1:1", "https://a"])
def test_a_key_goes_in_clear_only_to_this_machine_and_past_a_proxy(
    fake, monkeypatch, url
):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    sent = "none" if url == "http://a.org" else "secret"
    assert ServerModel("m", url).client.api_key == sent
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    assert reply_to(model(fake), Generate("red")) == "RED"


ASKED = "Q: Who wrote it?\nA:"
SHOWN = f"{ASKED} It is a film. So the answer is: Ann Lee.\n\n\n{ASKED}"


def test_texts_are_those_of_the_same_model_on_this_machine(tmp_path, monkeypatch):
    for package in ("openai", "uvicorn"):
        pytest.importorskip(package, reason="needs a server: pip install -e '.[dev]'")
    monkeypatch.setattr("ircotlib.models.server.TIMEOUT", 60.0)
    local = LocalModel(copy_model(tmp_path))
    stops = (SENTENCE, LINE, (" is", " in"), None)
    requests = [Generate(SHOWN, stop, 25) for stop in stops]
    messages = (Message("system", SHOWN[:-20]), Message("user", SHOWN[-20:]))
    with serve_model(local.folder) as url:
        chats = ServerModel(local.name, url, chat=True)
        theirs = read(ServerModel(local.name, url), requests)
        [chat] = read(chats, [Generate(messages, LINE, 25)])
    ours = read(local, requests)
    for reply, other in zip(ours, theirs, strict=True):
        assert reply["text"] == other["text"]
        assert reply["prompt_tokens"] == other["prompt_tokens"]
        assert reply["tokens"] <= other["tokens"] <= 25
    assert len({reply["text"] for reply in ours}) > 2
    assert chat["text"] == ours[1]["text"] != ""
