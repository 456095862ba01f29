"""What servers send: other types, redirects, counts, refusals, and calls of tools."""

import json
import time

import pytest
from asking import ask, ask_one, reply_to
from serving import completion, model, said
from werkzeug import Response

from ircotlib.errors import Unavailable
from ircotlib.models.server import Price
from ircotlib.program import LINE, SENTENCE, Generate, Sample, Sampled

RED = Generate("red", LINE, 9)


WRITTEN = json.dumps(completion("RED"))
FORMS = [
    said(WRITTEN, kind="text/plain"),
    said(WRITTEN, kind=""),
    said(f"data: {WRITTEN}\n\ndata: [DONE]", kind="text/event-stream"),
]


@pytest.mark.parametrize("form", FORMS, ids=["text", "no type", "a stream of one"])
@pytest.mark.parametrize("chat", [True, False])
def test_a_text_is_read_whatever_the_reply_is_called(fake, form, chat):
    fake.faults = {"red": [form]}
    assert reply_to(model(fake, chat=chat), RED) == "RED"
    assert fake.asked == ["red"] and fake.bodies[0]["stream"] is False


MOVED = [
    (301, {"Location": "https://a.org/v1/completions"}, "https://a.org/v1/completions"),
    (302, {"Location": "https://u:secret@a.org/v1"}, "a.org/v1"),  # no password
    (303, {}, "nowhere"),
]


@pytest.mark.parametrize(("number", "headers", "address"), MOVED)
def test_a_redirect_that_makes_a_get_is_said(fake, number, headers, address):
    fake.faults = {"red": [Response("", number, headers)]}
    with pytest.raises(Unavailable, match=f"moved to {address}; set server") as error:
        ask_one(model(fake), RED)
    assert fake.asked == ["red"] and "secret" not in str(error.value)


@pytest.mark.parametrize("number", [307, 308])
def test_a_redirect_that_keeps_the_post_is_followed(fake, number):
    moved = Response("", number, {"Location": f"{fake.url}v1/chat/completions"})
    fake.faults = {"red": [moved]}
    assert reply_to(model(fake), RED) == "RED"


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": 10**400}])
def test_tokens_that_are_not_counted_are_estimated_and_paid(fake, usage):
    fake.faults = {"red": [completion("RED") | {"usage": usage}]}
    backend = model(fake, price=Price(1.0, 1.0), max_cost=1.0)
    reply = json.loads(ask_one(backend, RED))
    assert (reply["text"], reply["prompt_tokens"], reply["tokens"]) == ("RED", 1, 1)
    assert 0 < backend.spent < 1


@pytest.mark.parametrize("value", [None, 10**400, float("nan")])
def test_an_unknown_log_probability_loses_no_text(fake, value):
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


BODIES = {
    "vllm": {"object": "error", "message": "one at a time", "param": None, "code": 400},
    "openai": {"error": {"code": "NotSupported", "message": "one at a time"}},
    "fastapi": {"detail": [{"loc": ["body"], "msg": "one at a time"}]},
    "text": "one at a time",
}


@pytest.mark.parametrize("number", [400, 422])
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


BELOW = "It is hers. So the answer is:\n\n Ann Lee\n\nMore."


def test_in_a_completion_a_line_ends_the_sentence(fake):
    fake.faults = {"red": [completion(BELOW)]}
    assert reply_to(model(fake), Generate("red", SENTENCE, 9)) == "It is hers."
