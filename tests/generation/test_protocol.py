"""What is asked of servers in OpenAI's protocol and read from their replies, over real HTTP."""

import json

import pytest
from asking import ask, ask_one
from serving import completion, status

pytest.importorskip("openai", reason="needs the client: pip install -e '.[server]'")

from ircotlib.generation.server import ServerModel
from ircotlib.program import LINE, SENTENCE_OF_LINE, Generate, Sample, Sampled


def model(fake, **options) -> ServerModel:
    return ServerModel("m", fake.url, in_flight=1, **options)


def too_long(limit: int):
    def check(body):
        if len(body["prompt"]) <= limit:
            return completion("short")
        message = "This model's maximum context length is 4097 tokens."
        return status(400, message, code="context_length_exceeded")

    return [check, check]


@pytest.mark.parametrize(("count", "dropped"), [(4, 2), (10, 5)])
def test_a_prompt_that_is_too_long_is_halved_once(fake, capsys, count, dropped):
    shown = [f"Q: {number}\nA: {number}" for number in range(count)]
    prompt = "\n\n\n".join(shown)
    fake.faults = {"all": too_long(len(prompt) - 1)}
    reply = json.loads(ask_one(model(fake), Generate(prompt, LINE, 9)))
    assert (reply["text"], reply["dropped"]) == ("short", dropped)
    assert fake.asked == [prompt, "\n\n\n".join(shown[dropped:])]
    assert "set context_tokens to less than" in capsys.readouterr().err


@pytest.mark.parametrize(("prompt", "times"), [("Q: a\n\n\nQ: b", 2), ("Q: long\nA:", 1)])
def test_a_prompt_that_stays_too_long_is_an_error_that_says_what_to_set(fake, prompt, times):
    fake.faults = {"all": too_long(3)}
    error = ask_one(model(fake), Generate(prompt, LINE, 9))
    assert isinstance(error, ValueError) and "set context_tokens to less than" in str(error)
    assert len(fake.asked) == times


@pytest.mark.parametrize("field", ["max_tokens", "temperature", "stop"])
def test_a_field_that_the_server_does_not_take_is_left_out(fake, field, capsys):
    backend = model(fake, chat=True)
    ask_one(backend, Generate("black"))  # now it is known not to think, and gets stops
    fake.faults = {"all": [status(400, f"Unsupported parameter: '{field}'", param=field)]}
    fake.bodies.clear()
    replies = ask(backend, [Generate(word, LINE, 9) for word in ("red", "green", "blue")])
    assert [backend.decode(reply) for reply in replies] == ["RED", "GREEN", "BLUE"]
    assert field in fake.bodies[0] and not any(field in body for body in fake.bodies[1:])
    assert ("max_completion_tokens" in fake.bodies[-1]) == (field == "max_tokens")
    assert capsys.readouterr().err.count(f"asked without {field}") == 1


def test_a_server_that_gives_fewer_samples_at_a_time_is_asked_for_one_after_the_other(fake, capsys):
    """llama.cpp's, with four slots."""
    refusal = status(400, "Field 'n': Value must be between 1 <= value <= 4, but got 5")
    fake.faults = {"all": [refusal]}
    backend = model(fake)
    assert backend.decode(ask_one(backend, Sample("red", 5))) == (Sampled("RED", None),) * 5
    assert [body.get("n") for body in fake.bodies] == [5, None, None, None, None, None]
    assert capsys.readouterr().err.count("asked without n") == 1


def test_samples_have_the_mean_log_probability_of_what_is_kept(fake):
    """With log-probabilities -1, -2, … of single letters, as completions have them."""
    logs = [{"tokens": [*t], "token_logprobs": [-1, -2, -3, -4][: len(t)]} for t in ("ab", "a\nbc")]
    choices = [{"text": "".join(each["tokens"]), "logprobs": each} for each in logs]
    usage = {"prompt_tokens": 5, "completion_tokens": 6}
    fake.faults = {"red": [{"choices": choices, "usage": usage}]}
    backend = model(fake)
    reply = ask_one(backend, Sample("red", 2, 0.5, LINE, 9))
    assert backend.decode(reply) == (Sampled("ab", -1.5), Sampled("a", -1.0))
    assert json.loads(reply)["prompt_tokens"] == 5
    assert fake.bodies[0]["n"] == 2 and fake.bodies[0]["temperature"] == 0.5


def test_a_server_that_ignores_n_is_asked_n_times(fake):
    backend = model(fake, chat=True)
    reply = ask_one(backend, Sample("red", 3))
    assert backend.decode(reply) == (Sampled("RED", None),) * 3
    assert json.loads(reply)["prompt_tokens"] == 21
    ask_one(backend, Sample("blue", 2))
    assert [body.get("n") for body in fake.bodies] == [3, None, None, None, None]


GOOD = completion("Rome")["choices"][0]
ODD = [[1], "x", 7, {"prompt_tokens": True, "completion_tokens": 1}, {"prompt_tokens": -7}, None]
ODD += [{"prompt_tokens": 7.5, "completion_tokens": None}]


@pytest.mark.parametrize("chat", [False, True])
def test_a_text_that_was_paid_is_kept_whatever_stands_beside_it(fake, chat):
    good = {"message": {"content": "Rome"}} if chat else {"text": "Rome", "message": None}
    odd = [{"usage": usage} for usage in ODD]
    for logs in ([1, 2], "x", {"content": [1, None]}, {"tokens": 3}, {"tokens": [1, "Ro"]}):
        odd.append({"choices": [good | {"logprobs": logs, "finish_reason": 5}]})
        odd[-1]["choices"].append({"text": "", "message": [], "logprobs": {"token_logprobs": "?"}})
    fake.faults = {"all": [{"choices": [good]} | each for each in odd]}
    backend = model(fake, chat=chat)
    replies = ask(backend, [Generate(str(number)) for number in range(len(odd))])
    assert {backend.decode(reply) for reply in replies} == {"Rome"}
    assert all('"estimated": true' in reply for reply in replies)


@pytest.mark.parametrize("odd", [None, "Paris", 3, [], {}, {"text": None}, {"message": "Paris"}])
def test_only_samples_that_are_missing_are_asked_for_again(fake, odd):
    logs = {"tokens": ["Ro", "me"], "token_logprobs": [-1, float("nan")]}
    fake.faults = {"all": [{"choices": [odd, GOOD | {"logprobs": logs}, GOOD]}]}
    backend = model(fake)
    texts = backend.decode(ask_one(backend, Sample("red", 3)))
    assert texts == (Sampled("Rome", None), Sampled("Rome", None), Sampled("RED", None))
    assert [body.get("n") for body in fake.bodies] == [3, None]  # one more
    fake.faults = {"all": [{"choices": [odd, GOOD]}, {"choices": [odd]}]}
    assert backend.decode(ask_one(model(fake), Sample("green", 2))) == (Sampled("Rome", None),)
    fake.faults = {"all": [{"choices": [odd], "usage": [1]}] * 2}
    for request in (Generate("blue"), Sample("blue", 2)):
        error = ask_one(backend, request)
        assert isinstance(error, ValueError) and "AttributeError" not in repr(error)
        assert f"{fake.url}v1: found a" in str(error) and "\n" not in str(error)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("Rome is old. It lies on the Tiber.", "Rome is old."),
        ("A: Rome is old. It lies", "Rome is old."),
        ("Paris is young. Rome is old.", "Rome is old."),
        ('"Rome is old."', "Rome is old."),
        ("**Rome** is old. So", "Rome is old."),
        ("```\nRome is old. So\n```", "Rome is old."),
        ("A:\nRome is old. So", "Rome is old."),
        ("Rome is old\nQ: Who?", "Rome is old"),
        ("\nQ: Who? Rome is old.", ""),
        ("", ""),
    ],
)
def test_whatever_a_chat_model_writes_is_cut_to_one_step(fake, written, kept):
    prompt = "Q: Which is old?\nA: Paris is young."

    def reply(body):  # like a server that applies the stop
        text = written.split("\n")[0] if "stop" in body else written
        return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}

    request = Generate(prompt, SENTENCE_OF_LINE, 9)
    fake.faults = {prompt: [reply, reply, reply]}
    backend = model(fake, chat=True)
    for times in (1, 2 if written.startswith(("```\n", "A:\n")) else 1):
        fake.bodies.clear()
        assert backend.decode(ask_one(backend, request)) == kept
        assert len(fake.bodies) == times
    # until a model is known not to think, no stop is sent that might end its thoughts
    assert fake.bodies[0]["stop"] == ["\n"]


URLS = [("http://127.0.0.1:8000", "0", True), ("https://example.org/v1", "0", True)]
URLS += [("http://example.org", "0", False), ("http://10.0.0.5:8000", "1", True)]


@pytest.mark.parametrize(("url", "in_clear", "sent"), URLS)
def test_a_key_goes_in_clear_only_to_this_machine_or_where_asked(monkeypatch, url, in_clear, sent):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("IRCOT_KEYS_IN_CLEAR", in_clear)
    assert ServerModel("m", url).endpoints.all[0].client.api_key == ("secret" if sent else "none")


def test_a_key_is_sent_and_a_missing_one_is_named(fake, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    ask(model(fake), [Generate("red")])
    request, _ = fake.log[0]
    assert request.headers["Authorization"] == "Bearer secret"
    fake.faults = {"all": [status(401, "who are you")]}
    with pytest.raises(PermissionError, match="who are you; see OPENAI_API_KEY"):
        list(model(fake).answer([Generate("blue")]))


def test_a_proxy_never_gets_what_is_meant_for_this_machine(fake, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    backend = model(fake)
    assert backend.decode(ask_one(backend, Generate("red"))) == "RED"
