"""Refusals of many servers, in their words, and what follows from each, over real HTTP."""

import json

import pytest
from asking import ask, ask_one
from serving import completion
from werkzeug import Response

pytest.importorskip("openai", reason="needs the client: pip install -e '.[server]'")

from ircotlib.generation.server import ServerModel
from ircotlib.generation.server.attempts import Patience
from ircotlib.generation.server.refusals import (
    FIELDS,
    AccessRefused,
    NotServed,
    RequestRefused,
    TemporaryFailure,
    read_refusal,
)
from ircotlib.program import LINE, Generate, Sample

QUICK = Patience(timeout=5, attempts=3, first_pause=0.01, longest_pause=0.02)
RAW = json.dumps({"error": {"message": "Prompt length 5000 exceeds the limit of 4096 tokens"}})
PER_MINUTE = "on tokens per minute (TPM): Limit 6000, Requested 11543"


def model(fake, **options) -> ServerModel:
    return ServerModel("m", fake.url, in_flight=1, patience=QUICK, **options)


def error(message: object, **more) -> dict:
    return {"error": {"message": message, **more}}


def refused(field: str, message: str, **more) -> dict:
    """As FastAPI refuses a field; it repeats what was sent."""
    said = {"type": "extra_forbidden", "loc": ["body", field], "msg": message, **more}
    return {"detail": [said | {"input": "a prompt that is too long, with stop and n"}]}


def respond(status: int, body: object) -> Response:
    return Response(body if isinstance(body, str) else json.dumps(body), status)


TOO_LONG = [
    # OpenAI
    (400, error("This model's maximum context length is 4097 tokens.", param="messages")),
    (400, error("Input tokens exceed the configured limit of 272000 tokens.")),
    (400, error("Invalid 'prompt': string too long.", code="string_above_max_length")),
    (429, error(f"Request too large for gpt-4 {PER_MINUTE}", code="rate_limit_exceeded")),
    # vLLM
    (400, {"object": "error", "message": "This model's maximum context length is 4096 tokens."}),
    (400, error("The decoder prompt (length 5000) is longer than the maximum model length")),
    (400, error("'max_tokens' is too large: 90. This model's maximum context length is 64")),
    # llama.cpp
    (
        400,
        error("the request exceeds the available context size", type="exceed_context_size_error"),
    ),
    (500, error("Context size has been exceeded.", code=500)),
    (500, error("input is too large to process. increase the physical batch size")),
    (200, error("the request exceeds the available context size", code=400)),
    # llama-cpp-python
    (500, error("Requested tokens (5000) exceed context window of 4096")),
    # TGI
    (422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096"}),
    (422, {"error": "Input validation error: `inputs` must have less than 1024 tokens."}),
    # SGLang
    (400, {"message": "The input (5000 tokens) is longer than the model's context length"}),
    (400, {"message": "Input length (5000 tokens) exceeds the maximum allowed length (4090)"}),
    # TensorRT-LLM, RKLLM, Gemini, Groq, Ollama, LM Studio
    (400, {"message": "Prompt length (5000) exceeds maximum input length (4096)."}),
    (500, "The sum of prompt length (5000.0) should not exceed max_num_tokens (4096)"),
    (400, {"error": "Prompt is 11543 tokens but the model context window is 4096 tokens"}),
    (400, [error("The input token count (12) exceeds the maximum number of tokens allowed (9).")]),
    (413, error(f"Request too large for model `llama` {PER_MINUTE}", type="tokens")),
    (400, error("the input length exceeds the context length")),
    (400, {"error": "the model is loaded with context length of only 4096 tokens"}),
    # Anthropic, Mistral, Cohere, a proxy, a provider behind a provider, others
    (400, error("prompt is too long: 208310 tokens > 200000 maximum")),
    (400, error("Prompt contains 40000 tokens, too large for 32768 maximum context length")),
    (400, {"message": "too many tokens: they cannot exceed 4081 - received 4200."}),
    (413, "<html><title>413 Request Entity Too Large</title></html>"),
    (400, error("Provider returned error", metadata={"raw": RAW})),
    (400, {"detail": "Your prompt has 11,543 tokens. The model takes 4,096 tokens."}),
    (200, {"error": "prompt exceeds 4096 tokens"}),
]


@pytest.mark.parametrize(("status", "body"), TOO_LONG, ids=str)
def test_a_prompt_that_is_too_long_is_known_by_the_words_of_many_servers(status, body):
    found = read_refusal("here", status, body, FIELDS)
    assert isinstance(found, RequestRefused) and found.too_long and found.field is None


@pytest.mark.parametrize(("status", "body"), TOO_LONG[::4], ids=str)
def test_such_a_prompt_is_halved_and_the_advice_names_what_to_set(fake, capsys, status, body):
    shown = [f"Q: {number}\nA: {number}" for number in range(4)]
    fake.faults = {"\n\n\n".join(shown): [respond(status, body)]}
    reply = json.loads(ask_one(model(fake), Generate("\n\n\n".join(shown), LINE, 9)))
    assert reply["dropped"] == 2 and fake.asked[-1] == "\n\n\n".join(shown[2:])
    assert "set context_tokens to less than" in capsys.readouterr().err


FIELD = [
    ("logprobs", 403, error("You are not allowed to request logprobs from this model")),
    ("logprobs", 403, {"error": "Log probabilities are part of another plan"}),
    ("n", 403, "n > 1 is for subscribers"),
    ("temperature", 403, {"detail": "temperature is not permitted"}),
    ("logprobs", 400, [error('Invalid JSON payload. Unknown name "logprobs": Cannot find field.')]),
    ("logprobs", 422, refused("logprobs", "Extra inputs are not permitted")),
    ("logprobs", 422, {"message": refused("logprobs", "Extra inputs are not permitted")}),
    ("logprobs", 200, error("logprobs are not supported", code=400)),
    ("logprobs", 400, error("unknown field: top_logprobs")),
    ("stop", 400, error("each stop sequence must contain non-whitespace")),
    ("stop", 400, error("stop_sequences: each stop sequence must contain non-whitespace")),
    ("stop", 400, [error("Invalid value at 'stopSequences': blank")]),
    ("stop", 400, error("At most 1 stop sequences may be given")),
    ("stop", 400, error("Invalid 'stop': array too long.", param="stop")),
    ("stop", 400, error("['\\n'] is too long - 'stop'")),
    ("stop", 400, error("o3 does not support stop")),
    ("stop", 422, refused("stop", "Input should be a valid string")),
    ("max_tokens", 400, error("'max_tokens' is not supported with this model", param="max_tokens")),
    ("temperature", 400, error("'temperature' does not support 0.7 with this model")),
    ("n", 400, error("best_of must be 1")),
    ("n", 501, "n is not implemented"),
]


@pytest.mark.parametrize(("field", "status", "body"), FIELD, ids=str)
def test_what_refuses_a_field_is_asked_without_it(fake, capsys, field, status, body):
    fake.faults = {"all": [respond(status, body)]}
    backend = model(fake)
    samples = backend.decode(ask_one(backend, Sample("a red\nsea", 2, 0.7, LINE, 9)))
    assert {sample.text for sample in samples} == {"A RED"}  # cut here
    first, *others = fake.bodies
    assert field in first and not any(field in body for body in others)
    assert capsys.readouterr().err.count(f"asked without {field}") == 1


ENDS = [
    (401, error("maximum context length"), AccessRefused),
    (402, {"error": "logprobs are not supported"}, AccessRefused),
    (403, error("Your country is not allowed"), AccessRefused),
    (400, [error("API key not valid. Please pass a valid API key.")], AccessRefused),
    (200, error("no credit", code="insufficient_quota"), AccessRefused),
    (200, error("No such model", code=404), NotServed),
    (404, error("The model `x` does not exist"), NotServed),
    (400, error("max_tokens is too large: 9000. This model supports at most 4096 completion tokens",
                param="max_tokens"), RequestRefused),
    (422, refused("top_p", "Input should be less than or equal to 1"), RequestRefused),
    (200, error("wrong", type="invalid_request_error"), RequestRefused),
    (429, error(f"Rate limit reached {PER_MINUTE}, Used 9000."), TemporaryFailure),
    (504, "The request took too long to respond", TemporaryFailure),
    (500, {"error": "The model took too long"}, TemporaryFailure),
    (500, error("Unexpected error, the server will stop"), TemporaryFailure),
    (200, error("Provider returned error", code=502), TemporaryFailure),
    (200, error("slow down", code="429"), TemporaryFailure),
    (200, error("later", type="overloaded_error"), TemporaryFailure),
    (200, {"error": "the model crashed"}, TemporaryFailure),
    (200, error("odd", code="9" * 9_000), TemporaryFailure),
    (200, {"object": "error", "message": "x", "code": 503}, TemporaryFailure),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "kind"), ENDS, ids=str)
def test_every_other_refusal_means_what_its_status_or_its_code_means(status, body, kind):
    found = read_refusal("here", status, body, FIELDS)
    assert type(found) is kind and not getattr(found, "too_long", getattr(found, "field", None))


@pytest.mark.parametrize("code", [502, 429, "503", "rate_limit_exceeded", None])
def test_an_error_in_a_reply_of_status_200_is_asked_again(fake, code):
    fake.faults = {"red": [error("Provider returned error", code=code)] * 2}
    backend = model(fake)
    assert backend.decode(ask_one(backend, Generate("red"))) == "RED" and len(fake.asked) == 3


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ({"error": "plain words"}, "plain words"),
        ([{"error": {"message": "in a list"}}], "in a list"),
        ({"detail": [{"loc": ["body", 1], "msg": "wrong"}, {"msg": "odd"}]}, "body.1: wrong; odd"),
        ({"message": "beside"}, "beside"),
        ({"error": {"error": [{"errors": "deep"}]}}, "deep"),
        ({"unknown": {"form": 1}}, '{"unknown": {"form": 1}}'),
        ("just\r\ntext", "just text"),
        ("<html>\x1b[31mSorry\x07\u202e</html>", "<html> [31mSorry </html>"),
        ("[" * 9_000, "[[[[["),
        ("", "without a word"),
        (None, "null"),
    ],
)
def test_what_a_server_said_is_shown_in_one_plain_line(fake, body, shown):
    fake.faults = {"red": [respond(418, body)]}
    said = str(ask_one(model(fake), Generate("red")))
    assert f"status 418, {shown}" in said and said.isprintable() and len(said) < 500


def test_a_control_code_of_a_server_that_is_asked_again_stays_out_of_the_terminal(fakes, capsys):
    bad, good = fakes
    bad.faults = {"all": [respond(500, {"error": "\x1b]0;title\x07 broken"})] * 9}
    ask(
        ServerModel("m", f"{bad.url},{good.url}", patience=QUICK), [Generate(str(n)) for n in "abc"]
    )
    said = capsys.readouterr().err
    assert "broken" in said and "\x1b" not in said and "\x07" not in said


def test_a_whole_reply_with_an_error_beside_it_is_used(fake):
    fake.faults = {"red": [completion("Rome") | {"error": None}]}
    assert json.loads(ask_one(model(fake), Generate("red")))["text"] == "Rome"
