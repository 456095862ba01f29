"""Servers that are busy, broken, slow or unreachable, over real HTTP: replies are kept, and a
second run asks only for the missing ones.
"""

import json
import socket
import threading
import time
from email.utils import formatdate

import pytest
from asking import ask
from pytest_httpserver import HTTPServer
from serving import serve_echo
from werkzeug import Response

pytest.importorskip("openai", reason="needs the client: pip install -e '.[server]'")

from ircotlib.generation.budget import Budget, BudgetSpent, Price
from ircotlib.generation.endpoints import Patience
from ircotlib.generation.server import ServerModel
from ircotlib.program import LINE, Generate, Sample, Sampled
from ircotlib.running.cache import Calls
from ircotlib.running.scheduler import run

QUICK = Patience(timeout=0.5, attempts=3, first_pause=0.01, longest_pause=0.02, longest_wait=1.5)
WORDS = ("red", "green", "blue", "black")


def completion(text: str, **more) -> dict:
    usage = {"prompt_tokens": 7, "completion_tokens": 2}
    return {"choices": [{"text": text, "index": 0, **more}], "usage": usage}


class Fake:
    """Answers each prompt with itself in capitals. `faults`: what to answer first, by prompt."""

    def __init__(self, httpserver):
        self.faults, self.asked, self.bodies, self.times = {}, [], [], []
        self.url = httpserver.url_for("/")
        for path in ("/v1/completions", "/v1/chat/completions"):
            httpserver.expect_request(path).respond_with_handler(self.reply)

    def reply(self, request) -> Response:
        body = json.loads(request.get_data())
        prompt = body.get("prompt") or body["messages"][-1]["content"]
        self.asked.append(prompt)
        self.bodies.append(body)
        self.times.append(time.monotonic())
        faults = self.faults.get(prompt) or self.faults.get("all")
        fault = faults.pop(0) if faults else completion(prompt.upper())
        fault = fault if isinstance(fault, dict | Response) else fault(body)
        return Response(json.dumps(fault), 200) if isinstance(fault, dict) else fault


@pytest.fixture
def httpserver():
    with HTTPServer(threaded=True) as server:
        yield server


@pytest.fixture
def fake(httpserver) -> Fake:
    return Fake(httpserver)


def model(fake_or_url, **how) -> ServerModel:
    url = fake_or_url if isinstance(fake_or_url, str) else fake_or_url.url
    return ServerModel("m", url, **({"patience": QUICK} | how))


def programs(prompts=WORDS) -> dict:
    def program(prompt):
        return (yield Generate(prompt, LINE, 9))

    return {prompt: program(prompt) for prompt in prompts}


def play(backend, calls, prompts=WORDS) -> dict[str, str]:
    return {id: one.result for id, one in run(programs(prompts), [backend], calls)[0].items()}


def status(number: int, message: str = "", headers=None, **error) -> Response:
    body = {"error": {"message": message, **error}}
    return Response(json.dumps(body), number, headers, content_type="application/json")


def rerun_asks_only(fake, calls, missing: list[str]) -> None:
    fake.faults, fake.asked = {}, []
    assert play(model(fake), calls) == {word: word.upper() for word in WORDS}
    assert sorted(fake.asked) == sorted(missing)


@pytest.mark.parametrize(
    "fault",
    [
        lambda: status(429, "slow down"),
        lambda: status(429, "slow down", {"Retry-After": "0.05"}),
        lambda: status(500, "broken"),
        lambda: status(503, "loading"),
        lambda: Response("<html>oops</html>", 200),
        lambda: Response('{"choices": [{"te', 200, content_type="application/json"),
    ],
)
def test_what_passes_is_asked_again_and_nothing_is_lost(fake, fault):
    fake.faults = {"blue": [fault(), fault()]}
    with Calls() as calls:
        assert play(model(fake), calls) == {word: word.upper() for word in WORDS}
        assert sorted(fake.asked) == sorted([*WORDS, "blue", "blue"])
        rerun_asks_only(fake, calls, [])


@pytest.mark.parametrize("code", [500, 200])
def test_a_request_that_always_fails_costs_only_its_question(fake, code):
    fake.faults = {"blue": [Response("broken", code) for _ in range(3)]}
    with Calls() as calls:
        failed = "question 'blue': 1 of 4 questions failed.*asked 3 times"
        with pytest.raises(RuntimeError, match=failed):
            play(model(fake), calls)
        assert len(calls) == 3
        rerun_asks_only(fake, calls, ["blue"])


@pytest.mark.parametrize("wait", ["0.4", "a date"])
def test_retry_after_is_obeyed_a_number_or_a_date(fake, wait):
    def busy(body):  # a date has whole seconds
        said = formatdate(time.time() + 2, usegmt=True) if wait == "a date" else wait
        return status(429, "slow down", {"Retry-After": said})

    fake.faults = {"all": [busy]}
    backend = model(fake, patience=Patience(timeout=5, first_pause=0.01, longest_wait=3))
    assert backend.decode(ask(backend, [Generate("red")])[0]) == "RED"
    assert 0.35 < fake.times[1] - fake.times[0] < 2.5


def test_a_wait_that_is_too_long_ends_the_run_in_good_order(fake):
    fake.faults = {"blue": [status(429, "quota", {"Retry-After": "3600"})]}
    with Calls() as calls:
        with pytest.raises(RuntimeError, match="asks to wait for 3600 s.*are kept") as error:
            play(model(fake, in_flight=1), calls)
        assert "\n" not in str(error.value) and len(calls) == 2
        rerun_asks_only(fake, calls, ["blue", "black"])


def test_pauses_grow_and_are_bounded(fake):
    fake.faults = {"red": [status(503) for _ in range(5)]}
    patience = Patience(attempts=6, first_pause=0.02, longest_pause=0.05)
    ask(model(fake, patience=patience), [Generate("red")])
    pauses = [after - before for before, after in zip(fake.times, fake.times[1:])]
    assert len(pauses) == 5 and pauses[1] > 0.04 and all(0.02 < pause < 0.5 for pause in pauses)


@pytest.fixture
def broken():
    """Servers on plain sockets that read a request and then do what the test asks for."""
    sockets = []

    def start(then) -> str:
        listening = socket.create_server(("127.0.0.1", 0))
        sockets.append(listening)

        def serve():
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                connection.recv(65536)
                sockets.append(connection)
                then(connection)

        threading.Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{listening.getsockname()[1]}"

    yield start
    for listening in sockets:
        listening.close()


def cut_in_mid_body(connection):
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n"
    connection.sendall(f'{head}{{"choices": [{{"text": "He'.encode())
    connection.close()


@pytest.mark.parametrize(
    ("then", "reason"),
    [(cut_in_mid_body, "no connection"), (lambda connection: None, "no answer in 0.5 s")],
)
def test_a_server_that_hangs_or_is_cut_off_ends_the_run_and_a_rerun_goes_on(
    fake, broken, then, reason
):
    with Calls() as calls:
        play(model(fake), calls, WORDS[:2])
        with pytest.raises(RuntimeError, match=f"{reason}.*all replies are kept.*in the cache"):
            play(model(broken(then)), calls)
        assert len(calls) == 2
        rerun_asks_only(fake, calls, list(WORDS[2:]))


def test_of_two_addresses_the_working_one_takes_over(fake, broken, capsys):
    backend = model(f"{broken(cut_in_mid_body)},{fake.url}", in_flight=2)
    with Calls() as calls:
        assert play(backend, calls) == {word: word.upper() for word in WORDS}
    assert capsys.readouterr().err.count("its requests go to") == 1


def test_one_of_two_server_processes_dies_in_mid_run(capsys):
    servers = [serve_echo(), serve_echo()]
    prompts = [f"line\nword {number}" for number in range(60)]
    try:
        backend = model(",".join(one.url for one in servers), in_flight=4)
        replies = backend.answer([Generate(prompt, LINE, 9) for prompt in prompts])
        found = dict(next(replies) for _ in range(10))
        servers[0].kill()
        found |= dict(replies)
    finally:
        for one in servers:
            one.kill()
    texts = [backend.decode(found[place]) for place in range(60)]
    assert texts == [f"word {number}" for number in range(60)]
    assert capsys.readouterr().err.count(f"{servers[0].url}/v1 does not answer") == 1


def test_replies_are_yielded_when_they_come(fake):
    fake.faults = {"red": [lambda body: time.sleep(0.3) or completion("late")]}
    places = [place for place, _ in model(fake).answer([Generate(word) for word in WORDS])]
    assert places[-1] == 0 and sorted(places) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("reply", "named"),
    [
        ({"choices": []}, "without a choice"),
        ({"choices": [{"index": 0}]}, "empty choice"),
        (completion("", finish_reason="length"), "cut by length before"),
        (completion("", finish_reason="content_filter"), "refusal"),
        ({"choices": [{"message": {"content": None, "refusal": "No."}}]}, "refusal .'No.'"),
    ],
)
def test_bad_replies_are_named_and_cost_only_their_question(fake, reply, named):
    fake.faults = {"blue": [reply]}
    with Calls() as calls:
        with pytest.raises(RuntimeError, match=f"1 of 4 questions failed.*{named}"):
            play(model(fake), calls)
        rerun_asks_only(fake, calls, ["blue"])


def test_a_text_cut_by_length_is_a_text_as_any_other(fake):
    fake.faults = {"red": [completion("He was", finish_reason="length")]}
    backend = model(fake)
    assert backend.decode(ask(backend, [Generate("red", LINE, 2)])[0]) == "He was"


@pytest.mark.parametrize(
    ("code", "error"), [(401, "key"), (403, "key"), (404, "no such model"), (429, "no credit")]
)
def test_what_no_request_gets_past_ends_the_run_at_once(fake, code, error):
    more = {"code": "insufficient_quota"} if code == 429 else {}
    fake.faults = {"green": [status(code, error, **more)]}
    with Calls() as calls:
        with pytest.raises(RuntimeError, match=f"status {code}, {error}"):
            play(model(fake, in_flight=1), calls)
        assert fake.asked == ["red", "green"]
        rerun_asks_only(fake, calls, ["green", "blue", "black"])


# Prompts that are too long


def too_long(limit: int):
    def check(body):
        if len(body["prompt"]) <= limit:
            return completion("short")
        message = "This model's maximum context length is 4097 tokens."
        return status(400, message, code="context_length_exceeded")

    return check


PROMPT = "\n\n\n".join(["Q: one\nA: 1", "Q: two\nA: 2", "Q: three\nA: 3", "Q: four\nA:"])


def test_a_prompt_that_is_too_long_loses_demonstrations_once(fake, capsys):
    fake.faults = {"all": [too_long(40), too_long(40)]}
    reply = json.loads(ask(model(fake), [Generate(PROMPT, LINE, 9)])[0])
    assert (reply["text"], reply["dropped"]) == ("short", 2)
    assert fake.asked == [PROMPT, "Q: three\nA: 3\n\n\nQ: four\nA:"]
    assert "set context_tokens to less than" in capsys.readouterr().err


def test_half_a_prompt_is_kept_where_it_has_so_many_demonstrations(fake):
    long = "\n\n\n".join(f"Q: {number}\nA: {number}" for number in range(10))
    fake.faults = {"all": [too_long(60), too_long(60)]}
    reply = json.loads(ask(model(fake), [Generate(long, LINE, 9)])[0])
    assert reply["dropped"] == 5 and len(fake.asked[1]) <= len(long) / 2


@pytest.mark.parametrize(("prompt", "asked"), [(PROMPT, 2), ("Q: a long question\nA:", 1)])
def test_a_prompt_that_stays_too_long_is_an_error_that_says_what_to_set(fake, prompt, asked):
    fake.faults = {"all": [too_long(3), too_long(3)]}
    [error] = ask(model(fake), [Generate(prompt, LINE, 9)])
    assert isinstance(error, ValueError) and "set context_tokens to less than" in str(error)
    assert len(fake.asked) == asked


# Fields that a server does not take


@pytest.mark.parametrize("field", ["max_tokens", "temperature", "stop"])
def test_a_field_that_the_server_does_not_take_is_left_out(fake, field, capsys):
    refusal = status(400, f"Unsupported parameter: '{field}'", param=field)
    fake.faults = {"all": [refusal]}
    backend = model(fake, chat=True, in_flight=1)
    replies = ask(backend, [Generate(word, LINE, 9) for word in WORDS])
    assert [backend.decode(reply) for reply in replies] == [word.upper() for word in WORDS]
    assert field in fake.bodies[0] and not any(field in body for body in fake.bodies[1:])
    assert ("max_completion_tokens" in fake.bodies[-1]) == (field == "max_tokens")
    assert capsys.readouterr().err.count(f"asked without {field}") == 1


def test_another_refusal_costs_only_its_question(fake):
    fake.faults = {"blue": [status(400, "max_tokens is too large: 9000", param="max_tokens")]}
    with Calls() as calls:
        with pytest.raises(RuntimeError, match="1 of 4 questions failed.*too large"):
            play(model(fake), calls)
        rerun_asks_only(fake, calls, ["blue"])


# Budgets


def test_max_requests_ends_the_run_and_a_rerun_goes_on(fake):
    with Calls() as calls:
        with pytest.raises(RuntimeError, match="spent unknown cost with 3 requests.*kept") as error:
            play(model(fake, budget=Budget(max_requests=3)), calls)
        assert len(calls) == len(fake.asked) == 3 and "\n" not in str(error.value)
        rerun_asks_only(fake, calls, [word for word in WORDS if word not in fake.asked])


def test_max_cost_is_never_exceeded_whatever_is_in_flight(fake):
    price = Price(1.0, 1_000_000.0, "test")  # a dollar for each token written, of at most 9
    budget = Budget(price, max_cost=14.0)
    with Calls() as calls:
        with pytest.raises(RuntimeError, match="spent 6 USD with 3 requests.*max_cost 14"):
            play(model(fake, budget=budget), calls)
        assert len(calls) == len(fake.asked) == 3
        assert 6 < budget.spent < 6.1
        rerun_asks_only(fake, calls, [word for word in WORDS if word not in fake.asked])


def test_what_nobody_knows_is_counted_as_its_most(broken):
    budget = Budget(Price(0.0, 1_000_000.0, "test"), max_cost=20.0)
    backend = model(broken(lambda connection: None), budget=budget)
    with pytest.raises(BudgetSpent, match="spent 18 USD with 2 requests"):
        list(backend.answer([Generate("red", LINE, 9)]))


def test_a_budget_needs_a_price():
    with pytest.raises(ValueError, match="no price"):
        Budget(None, max_cost=1.0)


# Samples


def test_a_server_that_gives_fewer_samples_at_a_time_is_asked_for_one_after_the_other(fake, capsys):
    """llama.cpp's, with four slots."""
    refusal = status(400, "Field 'n': Value must be between 1 <= value <= 4, but got 5")
    fake.faults = {"all": [refusal]}
    backend = model(fake, in_flight=1)
    [reply] = ask(backend, [Sample("red", 5)])
    assert backend.decode(reply) == (Sampled("RED", None),) * 5
    assert [body.get("n") for body in fake.bodies] == [5, None, None, None, None, None]
    assert capsys.readouterr().err.count("asked without n") == 1


def drawn(*texts: str) -> dict:
    """Samples with log-probabilities -1, -2, … of single letters, as completions have them."""
    known = [{"tokens": [*t], "token_logprobs": [-1 - at for at, _ in enumerate(t)]} for t in texts]
    choices = [{"text": t, "logprobs": tokens} for t, tokens in zip(texts, known, strict=True)]
    return {"choices": choices, "usage": {"prompt_tokens": 5, "completion_tokens": 6}}


def test_samples_have_the_mean_log_probability_of_what_is_kept(fake):
    fake.faults = {"red": [drawn("ab", "a\nbc")]}
    backend = model(fake)
    [reply] = ask(backend, [Sample("red", 2, 0.5, LINE, 9)])
    assert backend.decode(reply) == (Sampled("ab", -1.5), Sampled("a", -1.0))
    assert json.loads(reply)["prompt_tokens"] == 5
    assert fake.bodies[0]["n"] == 2 and fake.bodies[0]["temperature"] == 0.5


def test_a_server_that_ignores_n_is_asked_n_times(fake):
    backend = model(fake, chat=True)
    [reply] = ask(backend, [Sample("red", 3)])
    assert backend.decode(reply) == (Sampled("RED", None),) * 3
    assert json.loads(reply)["prompt_tokens"] == 21
    ask(backend, [Sample("blue", 2)])
    assert [body.get("n") for body in fake.bodies] == [3, None, None, None, None]


# Chats


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Rome is old. It lies on the Tiber.", "Rome is old."),
        ("A: Rome is old. It lies", "Rome is old."),
        ("A: Paris is young. Rome is old. It lies", "Rome is old."),
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
def test_whatever_a_chat_model_writes_is_cut_to_one_step(fake, said, kept):
    prompt = "Q: Which is old?\nA: Paris is young."

    def reply(body):  # like a server that applies the stop
        text = said.split("\n")[0] if "stop" in body else said
        return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}

    fake.faults = {prompt: [reply, reply]}
    backend = model(fake, chat=True)
    assert backend.decode(ask(backend, [Generate(prompt, "sentence of line", 9)])[0]) == kept
    assert fake.bodies[0]["stop"] == ["\n"]
    assert len(fake.asked) == (2 if said.startswith(("```\n", "A:\n")) else 1)


# Keys


@pytest.mark.parametrize("where", ["127.0.0.1", "localhost", "[::1]"])
def test_a_key_goes_to_this_machine_and_never_in_clear_beyond(monkeypatch, where):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")

    def key(url):
        return model(url).endpoints.all[0].client.api_key

    assert key(f"http://{where}:8000") == key("https://example.org/v1") == "secret"
    assert key("http://example.org") == key("http://10.0.0.5:8000") == "none"


def test_a_key_is_sent_and_a_missing_one_is_named(fake, httpserver, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    ask(model(fake), [Generate("red")])
    request, _ = httpserver.log[0]
    assert request.headers["Authorization"] == "Bearer secret"
    fake.faults = {"all": [status(401, "who are you")]}
    with pytest.raises(PermissionError, match="who are you; see OPENAI_API_KEY"):
        list(model(fake).answer([Generate("blue")]))


@pytest.mark.parametrize(
    "server", ["ftp://a", "http://", "a:80", "http://me:word@a", "http://a?k=1"]
)
def test_wrong_addresses_are_refused_and_passwords_not_shown(server):
    with pytest.raises(ValueError, match="expected") as error:
        ServerModel("m", server)
    assert "word" not in str(error.value).replace("password", "")


def test_a_proxy_never_gets_what_is_meant_for_this_machine(fake, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    assert play(model(fake), Calls())["red"] == "RED"


def test_a_key_goes_in_clear_beyond_only_where_that_is_asked_for(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("IRCOT_KEYS_IN_CLEAR", "1")
    assert model("http://10.0.0.5:8000").endpoints.all[0].client.api_key == "secret"
