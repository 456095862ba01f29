"""What servers send: other types, tails, redirects, counts, and errors of all forms."""

import json
import time

import pytest
from asking import ask, ask_one
from serving import Fake, completion, said, status
from werkzeug import Response

pytest.importorskip("openai", reason="needs: pip install -e '.[server]'")

from ircotlib.errors import Unavailable
from ircotlib.models.prices import Price
from ircotlib.models.server import ServerModel
from ircotlib.program import LINE, SENTENCE, Generate, Sample

pytestmark = pytest.mark.usefixtures("quick")
RED = Generate("red", LINE, 9)


def model(fake, **options) -> ServerModel:
    return ServerModel("m", fake.url, **{"in_flight": 1} | options)


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
    backend = model(fake, chat=chat)
    assert backend.decode(ask_one(backend, RED)) == "RED"
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


@pytest.mark.parametrize("number", [307, 308])
def test_a_redirect_that_keeps_the_post_is_followed(fake, number):
    moved = Response("", number, {"Location": f"{fake.url}v1/chat/completions"})
    fake.faults = {"red": [moved]}
    backend = model(fake)
    assert backend.decode(ask_one(backend, RED)) == "RED"


USAGES = [10**400, -5, 1.5, "7", None]


@pytest.mark.parametrize("count", USAGES)
def test_a_count_of_tokens_that_is_none_loses_no_text(fake, count):
    usage = {"prompt_tokens": count, "completion_tokens": count, "total_tokens": count}
    fake.faults = {"red": [completion("RED") | {"usage": usage}]}
    backend = model(fake, price=Price(1.0, 1.0), max_cost=1.0)
    reply = json.loads(ask_one(backend, RED))
    assert (reply["text"], reply["prompt_tokens"], reply["tokens"]) == ("RED", 1, 1)
    assert 0 < backend.spent < 1


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
    backend = model(fake)
    assert len(backend.decode(ask_one(backend, Sample("red", 3)))) == 3
    assert [each.get("n") for each in fake.bodies] == [3, None, None, None]
    said_so = capsys.readouterr().err
    assert "asked without n: " in said_so and "one at a time" in said_so


class Forbids(Fake):
    """A server that may not tell log-probabilities."""

    def answer(self, body: dict):
        if "logprobs" in body:
            return status(403, "You are not allowed to request logprobs")
        return super().answer(body)


def test_a_forbidden_field_is_left_out(httpserver):
    backend = model(Forbids(httpserver), chat=True)
    for _ in range(2):
        drawn = backend.decode(ask_one(backend, Sample("red", 1)))
        assert drawn == (("RED", None),)
    assert backend.left_out == {"logprobs"}


def test_a_key_is_hidden_before_an_error_is_cut(fake, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-SECRET-SECRET-SECRET")
    for length in range(80, 330, 10):
        words = "x" * length + "sk-SECRET-SECRET-SECRET"
        refusal = completion(None, message={"refusal": words})
        for reply in ({"error": {"message": words}}, refusal, said(words)):
            fake.faults = {"red": [reply] * 3}
            assert "SEC" not in repr(ask_one(model(fake), RED))


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


def test_a_text_beside_a_call_of_a_tool_is_kept(fake):
    message = {"content": "It is Ann.", "tool_calls": CALL}
    fake.faults = {"red": [completion(None, message=message)]}
    backend = model(fake, chat=True)
    assert backend.decode(ask_one(backend, RED)) == "It is Ann."


def test_a_provider_that_failed_is_asked_again(fake):
    fake.faults = {"red": [completion("Half a", native_finish_reason="ERROR")]}
    backend = model(fake, chat=True)
    assert backend.decode(ask_one(backend, RED)) == "RED"
    assert fake.asked == ["red"] * 2


BELOW = "It is hers. So the answer is:\n\n Ann Lee\n\nMore."


def test_in_a_chat_the_answer_may_be_below_its_phrase(fake):
    fake.faults = {"red": [completion(BELOW), completion(f"**{BELOW}**")]}
    backend = model(fake, chat=True)
    texts = [backend.decode(ask_one(backend, RED)) for _ in range(2)]
    assert texts == ["It is hers. So the answer is: Ann Lee"] * 2
    fake.faults = {"red": [completion(BELOW)]}
    completing = model(fake)
    text = completing.decode(ask_one(completing, Generate("red", SENTENCE, 9)))
    assert text == "It is hers."
