"""Servers that are busy, broken, slow or away, over real HTTP: replies are kept, reruns go on."""

import time
from email.utils import formatdate

import pytest
from asking import ask, ask_one
from serving import Fake, completion, status
from werkzeug import Response

pytest.importorskip("openai", reason="needs the client: pip install -e '.[server]'")

from ircotlib.engine.cache import Calls
from ircotlib.engine.scheduler import run
from ircotlib.generation.budget import Budget, BudgetSpent, Price
from ircotlib.generation.server import ServerModel
from ircotlib.generation.server.attempts import Patience
from ircotlib.program import LINE, Generate

QUICK = Patience(timeout=0.5, attempts=3, first_pause=0.01, longest_pause=0.02, longest_wait=1.5)
WORDS = ("red", "green", "blue", "black")
CAPITALS = {word: word.upper() for word in WORDS}


def model(*fakes: Fake, **options) -> ServerModel:
    return ServerModel("m", ",".join(fake.url for fake in fakes), **{"patience": QUICK} | options)


def play(backend, calls, prompts=WORDS) -> dict[str, str]:
    def program(prompt):
        return (yield Generate(prompt, LINE, 9))

    outcomes, _ = run({prompt: program(prompt) for prompt in prompts}, [backend], calls)
    return {id: outcome.result for id, outcome in outcomes.items()}


def rerun_asks_only(fake, calls, missing: list[str]) -> None:
    fake.faults, fake.asked = {}, []
    assert play(model(fake), calls) == CAPITALS
    assert sorted(fake.asked) == sorted(missing)


@pytest.mark.parametrize(
    "fault",
    [
        lambda body: status(429, "slow down", {"Retry-After": "0.05"}),
        lambda body: status(503, "loading"),
        lambda body: Response('{"choices": [{"te', 200, content_type="application/json"),
    ],
)
def test_what_passes_is_asked_again_and_nothing_is_lost(fake, fault):
    fake.faults = {"blue": [fault, fault]}
    with Calls() as calls:
        assert play(model(fake), calls) == CAPITALS
        assert sorted(fake.asked) == sorted([*WORDS, "blue", "blue"])
        rerun_asks_only(fake, calls, [])


@pytest.mark.parametrize(
    ("replies", "named"),
    [
        (3 * [Response("broken", 500)], "asked 3 times"),
        (3 * [Response("broken", 200)], "asked 3 times"),
        ([{"choices": []}], "without a choice"),
        ([{"choices": [{"index": 0}]}], "empty choice"),
        (2 * [completion("", finish_reason="length")], "cut by length"),
        ([completion("", finish_reason="content_filter")], "refusal"),
        ([{"choices": [{"message": {"content": None, "refusal": "No."}}]}], "refusal .'No.'"),
        ([status(400, "max_tokens is too large: 9000", param="max_tokens")], "too large"),
    ],
)
def test_a_request_that_always_fails_costs_only_its_question(fake, replies, named):
    fake.faults = {"blue": list(replies)}
    with Calls() as calls:
        with pytest.raises(RuntimeError, match=f"'blue': 1 of 4 questions failed.*{named}"):
            play(model(fake), calls)
        assert len(calls) == 3
        rerun_asks_only(fake, calls, ["blue"])


@pytest.mark.parametrize(
    ("reply", "named"),
    [
        (status(401, "key"), "status 401, key"),
        (status(404, "no such model"), "status 404, no such model"),
        (status(429, "no credit", code="insufficient_quota"), "status 429, no credit"),
        (status(429, "quota", {"Retry-After": "3600"}), "3600 s"),
    ],
)
def test_what_no_request_gets_past_ends_the_run_at_once(fake, reply, named):
    fake.faults = {"green": [reply]}
    with Calls() as calls:
        with pytest.raises(RuntimeError, match=named) as error:
            play(model(fake, in_flight=1), calls)
        assert fake.asked == ["red", "green"] and "\n" not in str(error.value)
        rerun_asks_only(fake, calls, ["green", "blue", "black"])


@pytest.mark.parametrize("wait", ["0.4", "a date"])
def test_retry_after_is_obeyed_a_number_or_a_date(fake, wait):
    def busy(body):  # a date has whole seconds
        value = formatdate(time.time() + 2, usegmt=True) if wait == "a date" else wait
        return status(429, "slow down", {"Retry-After": value})

    fake.faults = {"all": [busy]}
    backend = model(fake, patience=Patience(timeout=5, first_pause=0.01, longest_wait=3))
    assert backend.decode(ask_one(backend, Generate("red"))) == "RED"
    assert 0.35 < fake.times[1] - fake.times[0] < 2.5


def test_pauses_grow_and_are_bounded(fake):
    fake.faults = {"red": [status(503) for _ in range(5)]}
    patience = Patience(attempts=6, first_pause=0.02, longest_pause=0.05)
    ask(model(fake, patience=patience), [Generate("red")])
    pauses = [after - before for before, after in zip(fake.times, fake.times[1:])]
    assert len(pauses) == 5 and pauses[1] > 0.04 and all(0.02 < pause < 0.5 for pause in pauses)


def test_replies_are_yielded_when_they_come(fake):
    fake.faults = {"red": [lambda body: time.sleep(0.3) or completion("late")]}
    order = [index for index, _ in model(fake).answer([Generate(word) for word in WORDS])]
    assert order[-1] == 0 and sorted(order) == [0, 1, 2, 3]


def hang(body):
    time.sleep(0.7)
    return completion("late")


def cut(body):
    """A reply cut off in its middle."""
    response = Response('{"choices": [{"text": "He', 200)
    response.headers["Content-Length"] = "500"
    return response


def drip(body):
    """A body that comes blank by blank, without end."""
    blanks = (time.sleep(0.05) or " " for _ in range(500))
    return Response(blanks, 200, content_type="application/json")


LATE = "no whole answer in 0.5 s"
CAUSES = [(cut, "no connection"), (hang, LATE), (drip, LATE)]


@pytest.mark.parametrize(("fault", "reason"), CAUSES)
def test_a_server_that_hangs_or_is_cut_off_ends_the_run_and_a_rerun_goes_on(fake, fault, reason):
    with Calls() as calls:
        play(model(fake), calls, WORDS[:2])
        fake.faults = {"all": [fault] * 9}
        with pytest.raises(RuntimeError, match=f"{reason}.*all replies are kept"):
            play(model(fake), calls)
        assert len(calls) == 2
        rerun_asks_only(fake, calls, list(WORDS[2:]))


def stream(body):
    """A stream of events that does not end."""
    events = (time.sleep(0.02) or "data: {}\n\n" for _ in range(500))
    return Response(events, 200, content_type="text/event-stream")


def page(body):
    return Response("<html>Welcome", 200, content_type="text/html")


BROKEN = {
    "500": (lambda body: Response("broken", 500), "status 500"),
    "503": (lambda body: status(503, "loading"), "status 503, loading"),
    "429": (lambda body: status(429, "slow", {"Retry-After": "9"}), "status 429, slow"),
    "quota": (lambda body: status(429, "quota", {"Retry-After": "3600"}), "status 429, quota"),
    "404": (lambda body: status(404, "no such model"), "status 404"),
    "401": (lambda body: status(401, "key"), "see OPENAI_API_KEY"),
    "400": (lambda body: status(400, "wrong"), "status 400, wrong"),
    "redirect": (lambda body: Response("", 302, {"Location": "/"}), "status 302"),
    "cut": (cut, "no connection"),
    "hang": (hang, LATE),
    "page": (page, "not a JSON object, but '<html>Welcome'; correct server"),
    "drip": (drip, LATE),
    "stream": (stream, "found a stream"),
    "no choice": (lambda body: {"choices": []}, "without a choice"),
    "null": (lambda body: {"choices": [None]}, "a choice that is no object"),
}
RESTS = Patience(timeout=0.5, first_pause=9)  # longer than a test


@pytest.mark.parametrize(("fault", "reason"), BROKEN.values(), ids=BROKEN)
def test_an_address_that_fails_in_any_way_rests_and_costs_no_question(fakes, capsys, fault, reason):
    bad, good = fakes
    bad.faults = {"all": [fault] * 40}
    words = [f"word {number}" for number in range(16)]
    with Calls() as calls:
        replies = play(model(bad, good, patience=RESTS, in_flight=4), calls, words)
    assert replies == {word: word.upper() for word in words}
    assert 1 <= len(bad.asked) <= 4 and sorted(good.asked) == sorted(words)
    [line] = capsys.readouterr().err.splitlines()
    assert f"{bad.url}v1: " in line and reason in line
    assert line.endswith(f"its requests go to {good.url}v1, and it is asked again later")


def test_an_address_that_rested_is_asked_again_with_one_request(fakes):
    other, fake = fakes
    other.faults = {"all": [lambda body: completion("HERE")] * 2 + [cut] * 3}
    fake.faults = {"all": [lambda body: time.sleep(0.02) or completion("THERE")] * 60}
    backend = model(*fakes, in_flight=4, patience=Patience(first_pause=0.05))
    texts = [backend.decode(each) for each in ask(backend, [Generate(str(n)) for n in range(60)])]
    assert set(texts) <= {"HERE", "THERE"} | {str(n) for n in range(60)}
    assert len(fake.asked) + len(other.asked) == 63 and len(other.asked) > 6
    failed = other.times[2:5]  # the first two may have been sent at once, the last was alone
    assert failed[2] - failed[1] > 0.04 and other.times[5] - failed[2] > 0.09


def test_a_request_is_given_up_only_when_all_addresses_refused_it(fakes):
    one, two = fakes
    one.faults = {"blue": [status(400, "too blue")] * 2, "red": [status(400, "too red")]}
    two.faults = {"blue": [Response("broken", 500)] * 9}
    with Calls() as calls:
        with pytest.raises(RuntimeError, match="'blue': 1 of 4 questions failed.*too blue"):
            play(model(one, two), calls)
        assert len(calls) == 3 and two.asked.count("blue") == 3


ALONE = [name for name in BROKEN if name not in ("400", "429", "hang", "503")]


@pytest.mark.parametrize(("fault", "reason"), [BROKEN[name] for name in ALONE], ids=ALONE)
def test_a_server_that_never_answers_is_told_once_and_soon(fake, capsys, fault, reason):
    """Not question by question; six times only if it says that it is busy."""
    fake.faults = {"all": [fault] * 99}
    backend = model(fake, patience=Patience(timeout=0.5, first_pause=0.05))
    with Calls() as calls, pytest.raises(RuntimeError, match=f"ServerModel failed.*{reason}"):
        play(backend, calls)
    assert len(fake.asked) <= 3 * len(WORDS) and capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("price", "limits", "named"),
    [
        (None, {"max_requests": 3}, "unknown cost with 3 requests"),
        # a dollar for each token written, of at most 9: after 3 x 2, another 9 is too much
        (Price(1.0, 1_000_000.0, "test"), {"max_cost": 14.0}, "spent 6 USD with 3 requests"),
    ],
)
def test_a_limit_is_never_exceeded_whatever_is_in_flight(fake, price, limits, named):
    budget = Budget(price, **limits)
    with Calls() as calls:
        with pytest.raises(RuntimeError, match=named) as error:
            play(model(fake, budget=budget), calls)
        assert len(calls) == len(fake.asked) == 3 and "\n" not in str(error.value)
        assert price is None or 6 < budget.spent < 6.1
        rerun_asks_only(fake, calls, [word for word in WORDS if word not in fake.asked])


def test_what_nobody_knows_is_counted_as_its_most(fake):
    fake.faults = {"all": [hang] * 9}
    budget = Budget(Price(0.0, 1_000_000.0, "test"), max_cost=20.0)
    with pytest.raises(BudgetSpent, match="spent 18 USD with 2 requests"):
        list(model(fake, budget=budget).answer([Generate("red", LINE, 9)]))
    with pytest.raises(ValueError, match="no price"):
        Budget(None, max_cost=1.0)
