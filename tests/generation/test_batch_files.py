"""Batch files, with a server process on loopback: slow, partly failed, expired; clients killed."""

import os
import signal
import time
from itertools import cycle
from multiprocessing import get_context

import pytest
from asking import ask
from serving import serve_batches

pytest.importorskip("openai", reason="needs the client: pip install -e '.[server]'")

from ircotlib.engine.cache import Calls
from ircotlib.engine.scheduler import run
from ircotlib.generation.budget import Budget, Price
from ircotlib.generation.server import ServerModel, batch_files
from ircotlib.generation.server.attempts import Patience
from ircotlib.program import LINE, SENTENCE, Generate, Message, Sample
from ircotlib.prompting.prompt import BETWEEN_DEMONSTRATIONS

QUICK = Patience(timeout=5, attempts=3, first_pause=0.02, longest_pause=0.05)
CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload(["openai", "ircotlib.generation.server"])
NAMES = ("Red", "Green", "Blue", "Black", "White")


@pytest.fixture(scope="module")
def started():
    with serve_batches() as server:
        yield server


@pytest.fixture
def server(started):
    started.plan()
    return started


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "batches"


def model(server, folder, **options) -> ServerModel:
    return ServerModel("m", server.url, folder=folder, **{"patience": QUICK} | options)


def chain(name: str, steps: int):
    """Asks so many times, each time with all replies until then."""
    texts = [f"{name} Hill"]
    while len(texts) <= steps:
        texts.append((yield Generate("\n".join(texts), LINE, 9)))
    return texts


def play(backend, calls, names=NAMES, steps=1) -> dict:
    chains = {name: chain(name, steps + at % 2) for at, name in enumerate(names)}
    return {id: outcome.result for id, outcome in run(chains, [backend], calls)[0].items()}


def notes(folder) -> list:
    return [path for path in folder.glob("*") if path.name != "lock"]


SHOWN = BETWEEN_DEMONSTRATIONS.join(f"Q: Who is Old Mary {n}?\nA: Mary." for n in range(9))
REQUESTS = [Generate("Green Hill", SENTENCE), Generate("Green Hill", LINE), Sample("Red Sea", 3)]
REQUESTS += [Generate(SHOWN, LINE, 20), Generate("Too Long " * 99, LINE), Generate("Blue", None, 0)]


@pytest.mark.parametrize("chat", [False, True])
def test_replies_are_those_of_requests_one_by_one(server, folder, chat):
    """With fields that it refuses, a prompt that is too long, samples that it does not give, and an
    empty text before the stop.
    """
    how = {"longest": 200, "refused": "logprobs", "ignores_n": True}
    server.plan(**how)
    alone = ServerModel("m", server.url, chat=chat, patience=QUICK, in_flight=1)
    together = model(server, folder, chat=chat)
    for each in (alone, together):  # after that a chat model is known not to think
        ask(each, [Generate("Black Hill")])
    expected = ask(alone, REQUESTS)
    sent = len(server.log()["single"])
    found = ask(together, REQUESTS)
    assert list(map(str, found)) == list(map(str, expected))
    assert [type(reply) for reply in found[-2:]] == [ValueError] * 2
    log = server.log()
    assert len(log["single"]) == sent == len(server.lines()) > 8 and len(log["batches"]) <= 6
    assert not notes(folder) and not together.files._reserved
    messages = Generate((Message("user", "Green Hill"),), LINE)
    assert isinstance(ask(together, [messages])[0], str if chat else ValueError)


def test_a_request_was_paid_until_a_run_has_counted_it(server, folder):
    backend, (first, second, failing) = model(server, folder), (*REQUESTS[:2], REQUESTS[-1])
    assert not backend.was_paid(first)
    ask(backend, [first, second, failing])
    for _ in range(2):  # a question changes nothing
        assert backend.was_paid(first) and backend.was_paid(second)
        assert not backend.was_paid(failing)
    backend.count_paid([first])
    assert not backend.was_paid(first) and backend.was_paid(second)


def test_what_failed_costs_only_its_question_and_what_expired_is_sent_again(server, folder, capsys):
    statuses = {"Green": 500, "Blue": 400}
    with Calls() as calls:
        expected = play(ServerModel("m", server.url), Calls())
        server.plan({"status": "expired", "answered": 3, "statuses": statuses, "seconds": 0.2}, {})
        with pytest.raises(RuntimeError, match="'Blue'.*1 of 5 questions failed.*400, found Blue"):
            play(model(server, folder), calls)
        first, *others = server.log()["batches"]
        assert len(first) == 5 and list(map(len, others)) == [3, 2] and server.log()["looks"] > 3
        assert {*others[0]} < {*first} and not notes(folder)
        server.plan()
        assert play(model(server, folder), calls) == expected
        assert len(server.lines()) == 1
    assert capsys.readouterr().err.count("requests as batch") == 4


def test_a_request_that_is_never_answered_is_given_up(server, folder):
    server.plan(*[{"status": "cancelled", "answered": 0}] * 3)
    with Calls() as calls:
        given_up = "3 of 3 questions failed.*not executed in time.*it was sent 3 times"
        with pytest.raises(RuntimeError, match=given_up) as error:
            play(model(server, folder), calls, NAMES[:3])
        assert "\n" not in str(error.value) and len(server.lines()) == 9 and not notes(folder)
        server.plan()
        play(model(server, folder), calls, NAMES[:3])


@pytest.mark.parametrize("chat", [False, True])
def test_thoughts_in_batch_files_are_told_from_texts(server, folder, chat):
    plain = play(ServerModel("m", server.url), Calls())
    server.plan(thoughts="<think>It may be\nAnn.</think>\n\n")
    expected = play(ServerModel("m", server.url, chat=chat), Calls())
    assert chat or expected == plain
    with Calls() as calls:
        assert play(model(server, folder, chat=chat), calls) == expected
        # the first stop ended thoughts, unless it was not sent; from then on none is sent
        assert list(map(len, server.log()["batches"])) == ([5, 2] if chat else [5, 5, 2])
        server.plan(thoughts="<think>It may be Ann")
        with pytest.raises(RuntimeError, match="only thoughts, expected a text; set thinking"):
            play(model(server, folder, chat=chat), calls, ["Grey"])
        assert len(calls) == 7


def test_what_a_provider_failed_to_write_is_sent_again(server, folder):
    expected = play(ServerModel("m", server.url), Calls())
    server.plan({"reasons": {"Green": "error", "Red": "abort"}}, {"reasons": {"Red": "timeout"}})
    with Calls() as calls:
        assert play(model(server, folder), calls) == expected
        assert list(map(len, server.log()["batches"])) == [5, 2, 1, 2]
        server.plan(*[{"reasons": {"Grey": "cancelled"}}] * 3)
        with pytest.raises(RuntimeError, match="a text that failed .*it was sent 3 times"):
            play(model(server, folder), calls, ["Grey"])
        assert len(calls) == 7


class Dying(Calls):
    """A call cache whose process is killed once it has stored so many replies."""

    left = 0

    def put_many(self, replies):
        stored = super().put_many(replies)
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)
        return stored


def work(server_url, folder, left=0) -> None:
    """Play, in a process of its own."""
    with Dying(folder / "calls.sqlite") as calls:
        calls.left = left
        slow = Patience(timeout=200, first_pause=0.02, longest_pause=0.2)
        play(ServerModel("m", server_url, folder=folder / "batches", patience=slow), calls)


KILLS = {
    "between upload and batch": {"stuck": "before"},
    "when the batch has begun": {"stuck": "after"},
    "while it waits": {"seconds": 1e9},
    "while it stores replies": 3,
    "between two waves": 5,
    "in the second wave": 7,
}


@pytest.mark.parametrize("kill", KILLS.values(), ids=KILLS)
def test_a_killed_client_goes_on_and_nothing_is_sent_twice(server, tmp_path, kill):
    server.plan(*([kill] if isinstance(kill, dict) else []))
    left = kill if isinstance(kill, int) else 0
    process = CONTEXT.Process(target=work, args=(server.url, tmp_path, left))
    process.start()
    if not left:
        while not (log := server.log())["stuck"] and log["looks"] < 2:
            assert process.is_alive()
            time.sleep(0.02)
        process.kill()
    process.join(200)
    assert process.exitcode == -signal.SIGKILL
    server.end_batches()
    with Calls(tmp_path / "calls.sqlite") as calls:
        assert len(calls) == left
        found = play(model(server, tmp_path / "batches"), calls)
    assert found == play(ServerModel("m", server.url), Calls())
    lines = server.lines()
    assert len(lines) == len({*lines}) == 7 and len(notes(tmp_path / "batches")) == bool(left)
    again = kill in (KILLS["between upload and batch"], KILLS["while it stores replies"])
    assert server.log()["uploads"] == 2 + again


def test_files_stay_within_the_servers_limits(server, folder, monkeypatch):
    names = [f"Red {n}" for n in range(10)]
    monkeypatch.setattr(batch_files, "MOST_BYTES", 600)
    play(model(server, folder), Calls(), names)
    assert {*map(len, server.log()["batches"][:3])} <= {3, 4} and len(server.lines()) == 15
    monkeypatch.undo()
    full = {"status": "failed", "error": ["token_limit_exceeded", "Enqueued token limit reached"]}
    server.plan(full, full)
    play(model(server, folder), Calls(), names)
    assert list(map(len, server.log()["batches"])) == [2, 2, 2, 2, 2, 2, 2, 1]
    server.plan(*[full | {"error": ["invalid", "No such model"]}] * 3)
    with pytest.raises(RuntimeError, match="2 of 2 questions failed.*failed; No such model"):
        play(model(server, folder), Calls(), names[:2])


def test_a_budget_holds_and_what_was_answered_is_kept(server, folder):
    with Calls() as calls:
        for most in (3, 2):
            server.plan()
            with pytest.raises(RuntimeError, match="BudgetSpent.*all replies are kept"):
                play(model(server, folder, budget=Budget(max_requests=most)), calls)
            assert list(map(len, server.log()["batches"])) == [most] and not notes(folder)
        play(model(server, folder, budget=Budget(max_requests=2)), calls)
    most = 9e-6  # each writes 9 tokens at most
    server.plan()
    budget = Budget(Price(0, 1, ""), max_cost=4.5 * most)
    with Calls() as calls, pytest.raises(RuntimeError, match="spent 3.6e-05 USD with 4 requests"):
        play(model(server, folder, budget=budget), calls)


def test_a_server_that_is_away_is_looked_at_again(server, folder, capsys):
    server.plan({"seconds": 0.3}, {}, silent=8)
    assert len(play(model(server, folder), Calls(), NAMES[:3])) == 3
    assert "status 503" in capsys.readouterr().err


def test_what_takes_no_batch_files_is_one_line(folder, httpserver):
    alone = ServerModel("m", httpserver.url_for("/"), folder=folder, patience=QUICK)
    httpserver.expect_request("/v1/batches").respond_with_data("no", 404)
    with pytest.raises(RuntimeError, match="status 404.*batch=false") as error:
        play(alone, Calls(), NAMES[:2])
    assert "\n" not in str(error.value)
    httpserver.clear()
    httpserver.expect_request("/v1/batches").respond_with_data("<html>Hi", content_type="text/html")
    with pytest.raises(
        RuntimeError, match="not a JSON object, but '<html>Hi'.*it was asked 3 times"
    ) as error:
        play(alone, Calls(), NAMES[:2])
    assert "\n" not in str(error.value)
    notes(folder)[0].write_text("{}")
    with pytest.raises(RuntimeError, match="found another text, expected a note"):
        play(alone, Calls(), NAMES[:2])


GOOD = {"choices": [{"text": "So the answer is: Old."}]}
ODD_LINES = [5, None, "x", [1], {"custom_id": ["a"]}, {"custom_id": 7, "response": GOOD}]
ODD_LINES += [{"custom_id": "ID", "response": other} for other in ("x", [1], None, {}, {"body": 5})]
ODD_LINES += [
    {"custom_id": "ID", "response": {"status_code": "200", "body": GOOD}},
    {"custom_id": "ID", "error": ["\x1b[31mlate", 5]},
    {"custom_id": "ID", "response": {"status_code": 200, "body": {"error": {"code": 502}}}},
    {"custom_id": "ID", "response": {"status_code": 503, "body": "<html>"}},
]


ODD_ERRORS = cycle([None, "x", {"data": [7, {"message": [3]}]}])


@pytest.mark.parametrize(("odd", "errors"), [*zip(ODD_LINES, ODD_ERRORS, strict=False)], ids=str)
def test_an_odd_line_counts_as_one_without_a_reply(server, folder, odd, errors, capsys):
    server.plan({"odd": odd, "errors": errors})
    replies = play(model(server, folder), Calls(), NAMES[:2], steps=1)
    assert replies == play(ServerModel("m", server.url), Calls(), NAMES[:2], steps=1)
    first, again, *_ = server.log()["batches"]
    assert len(first) == 2 and {*again} & {*first} and not notes(folder)
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize("status", [None, "weird", 5, "\x1b[2J"])
def test_a_status_of_its_own_is_told_and_not_waited_for_without_end(server, folder, capsys, status):
    server.plan({"status": status})
    with Calls() as calls:
        found = "found the status .* expected completed, failed.*batch=false, or delete .*json"
        with pytest.raises(RuntimeError, match=found):
            play(model(server, folder), calls, NAMES[:2])
        assert "it is asked again later" in (said := capsys.readouterr().err) and "\x1b" not in said
        [note] = notes(folder)
        note.unlink()
        assert len(play(model(server, folder), calls, NAMES[:2])) == 2


@pytest.mark.parametrize("status", ["COMPLETED", "Expired"])
def test_a_status_in_capitals_is_that_status(server, folder, status):
    server.plan({"status": status})
    assert len(play(model(server, folder), Calls(), NAMES[:2])) == 2


@pytest.mark.parametrize("reply", ["null", "<html>Hi", "5", {}, {"id": 7}, {"error": "full"}])
def test_a_file_is_not_uploaded_again_after_an_odd_reply(server, folder, reply):
    server.plan(upload=reply)
    for uploads in (1, 2):
        with pytest.raises(RuntimeError, match="in reply to a file, expected.*or delete .*json"):
            play(model(server, folder), Calls(), NAMES[:2])
        assert server.log()["uploads"] == uploads and len(notes(folder)) == 1
    server.plan()
    assert len(play(model(server, folder), Calls(), NAMES[:2])) == 2 and not notes(folder)
