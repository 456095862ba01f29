"""What servers send: other types, tails, redirects, counts, and errors of all forms."""

import json
import time

import pytest
from asking import ask, ask_one, reply_to
from serving import completion, model, said, status
from werkzeug import Response

from ircotlib.errors import Unavailable
from ircotlib.models.server import Price
from ircotlib.program import LINE, SENTENCE, Generate, Sample, Sampled

RED = Generate("red", LINE, 9)
WRITTEN = json.dumps(completion("RED"))
FORMS = {
    "text": said(WRITTEN, kind="text/plain"),
    "a page": said(WRITTEN, kind="text/html"),
    "no type": said(WRITTEN, kind=""),
    "a tail": said(f"{WRITTEN}\n\ndata: [DONE]\n\n", kind="text/plain"),
    "a stream of one": said(
        f"data: {WRITTEN}\n\ndata: [DONE]", kind="text/event-stream"
    ),
    "a mark of byte order": said(f"\ufeff{WRITTEN}"),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("chat", [True, False])
def test_a_text_is_read_whatever_the_reply_is_called_and_asked_for_once(
    fake, form, chat
):
    fake.faults = {"red": [form]}
    assert reply_to(model(fake, chat=chat), RED) == "RED"
    assert fake.asked == ["red"] and fake.bodies[0]["stream"] is False


@pytest.mark.parametrize(
    "content", ["[" * 100_000, '{"choices": ' * 50_000, "9" * 5000]
)
def test_what_is_no_json_object_costs_its_question(fake, content):
    fake.faults = {"red": [said(content)] * 3}
    error = ask_one(model(fake), RED)
    assert isinstance(error, RuntimeError) and "found no JSON object" in str(error)
    assert len(str(error)) < 500


@pytest.mark.parametrize("number", [301, 302, 303])
def test_a_redirect_that_makes_a_get_is_said(fake, number):
    moved = Response("", number, {"Location": "https://a.org/v1/completions"})
    fake.faults = {"red": [moved]}
    with pytest.raises(Unavailable, match="moved to https://a.org/v1/comp.*; set serv"):
        ask_one(model(fake), RED)
    assert fake.asked == ["red"]


def test_a_password_in_a_redirect_is_not_shown(fake):
    moved = Response("", 302, {"Location": "https://u:secret@a.org/v1"})
    for reply, address in ((moved, "a.org/v1"), (Response("", 301), "nowhere")):
        fake.faults = {"red": [reply]}
        with pytest.raises(Unavailable, match=f"moved to {address}") as error:
            ask_one(model(fake), RED)
        assert "secret" not in str(error.value)


@pytest.mark.parametrize("number", [307, 308])
def test_a_redirect_that_keeps_the_post_is_followed(fake, number):
    moved = Response("", number, {"Location": f"{fake.url}v1/chat/completions"})
    fake.faults = {"red": [moved]}
    assert reply_to(model(fake), RED) == "RED"


@pytest.mark.parametrize("count", [10**400, -5, 1.5, "7", None])
def test_a_count_of_tokens_that_is_none_loses_no_text(fake, count):
    usage = {"prompt_tokens": count, "completion_tokens": count, "total_tokens": count}
    fake.faults = {"red": [completion("RED") | {"usage": usage}]}
    backend = model(fake, price=Price(1.0, 1.0), max_cost=1.0)
    reply = json.loads(ask_one(backend, RED))
    assert (reply["text"], reply["prompt_tokens"], reply["tokens"]) == ("RED", 1, 1)
    assert 0 < backend.spent < 1


ODD = [10**400, "x", None, [-1], float("nan")]


@pytest.mark.parametrize("value", ODD, ids=type)
def test_an_odd_log_probability_loses_no_text(fake, value):
    logs = {"content": [{"token": "A", "logprob": value}]}
    fake.faults = {"red": [completion("A", logprobs=logs)]}
    request = Sample("red", 1, 0.5, LINE, 9)
    assert reply_to(model(fake, chat=True), request) == (Sampled("A", None),)


class Slow(Price):
    def of(self, prompt_tokens, tokens):
        time.sleep(0.002)
        return super().of(prompt_tokens, tokens)


def test_what_eight_threads_spend_is_counted_whole(fake):
    backend = model(fake, price=Slow(0.0, 1e6), max_cost=1e6, in_flight=8)
    prompts = [f"red {number}" for number in range(40)]
    assert len(ask(backend, [Generate(prompt, LINE, 9) for prompt in prompts])) == 40
    assert backend.spent == 80  # two tokens each


def test_a_wrong_key_that_is_forbidden_ends_the_run_after_few_requests(fake):
    fake.faults = {"all": [status(403, "Access denied")] * 20}
    with pytest.raises(Unavailable, match="status 403, .*denied.*; see OPENAI_API_KEY"):
        ask(model(fake), [RED, Generate("blue")])
    assert fake.asked == ["red"] * 3


BODIES = {
    "vllm": {"object": "error", "message": "one at a time", "param": None, "code": 400},
    "llama.cpp": {"error": {"code": 400, "message": "one at a time", "type": "x"}},
    "ollama": {"error": "one at a time"},
    "azure": {"error": {"code": "NotSupported", "message": "one at a time"}},
    "fastapi": {"detail": [{"loc": ["body"], "msg": "one at a time"}]},
    "list": ["one at a time"],
    "text": "one at a time",
}


@pytest.mark.parametrize("number", [400, 403, 422])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_refusal_in_any_form_leaves_the_field_out_and_shows_its_words(
    fake, capsys, body, number
):
    text = body if isinstance(body, str) else json.dumps(body)
    fake.faults = {"red": [said(text, number)]}
    assert len(reply_to(model(fake), Sample("red", 3))) == 3
    assert [each.get("n") for each in fake.bodies] == [3, None, None, None]
    said_so = capsys.readouterr().err
    assert "asked without n: " in said_so and "one at a time" in said_so


CALL = [{"type": "function", "function": {"name": "search", "arguments": "{}"}}]
CALLS = [
    completion("", finish_reason="tool_calls"),
    completion(None, finish_reason="function_call"),
    completion(None, message={"content": "", "tool_calls": CALL}),
    completion(" ", native_finish_reason="MALFORMED_FUNCTION_CALL"),
]


@pytest.mark.parametrize("reply", CALLS)
def test_a_call_of_a_tool_is_no_text(fake, reply):
    fake.faults = {"red": [reply] * 3}
    error = ask_one(model(fake, chat=True), RED)
    assert isinstance(error, ValueError) and "call of a tool" in str(error)
    assert fake.asked == ["red"]


BELOW = "It is hers. So the answer is:\n\n Ann Lee\n\nMore."
ONE_LINE = "It is hers. So the answer is: Ann Lee"
BESIDE = completion(None, message={"content": "It is Ann.", "tool_calls": CALL})
TEXTS = [
    (BESIDE, "It is Ann."),
    (completion(BELOW), ONE_LINE),
    (completion(f"**{BELOW}**"), ONE_LINE),
    (completion(BELOW.replace("Ann Lee", "```\nAnn Lee\n```")), ONE_LINE),
    (completion(BELOW.replace("is:", "is")), ONE_LINE.replace("is:", "is")),
]


@pytest.mark.parametrize(("reply", "text"), TEXTS)
def test_the_text_of_a_chat_beside_a_call_or_below_the_phrase(fake, reply, text):
    fake.faults = {"red": [reply]}
    assert reply_to(model(fake, chat=True), RED) == text
    assert fake.asked == ["red"]


def test_in_a_completion_a_line_ends_the_sentence(fake):
    fake.faults = {"red": [completion(BELOW)]}
    assert reply_to(model(fake), Generate("red", SENTENCE, 9)) == "It is hers."
