"""The scheduler with real programs, small backends and a real cache."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from replying import QUESTION, stages

from ircotlib.data import Paragraph
from ircotlib.engine.cache import Calls
from ircotlib.engine.scheduler import find_missing, run
from ircotlib.errors import UserError
from ircotlib.program import SENTENCE, Generate, Outcome, Retrieve, Sample, Step
from ircotlib.systems.cot import cot_sc


class Upper:
    """Generates prompts in capitals, the 4 shortest at a time; keeps its batches."""

    answers = Generate
    fingerprint = "upper"

    def __init__(self, rows=4, seconds=0.0):
        self.rows, self.seconds = rows, seconds
        self.batches = []

    def take(self, requests):
        lengths = [len(request.prompt) for request in requests]
        return sorted(range(len(requests)), key=lengths.__getitem__)[: self.rows]

    def answer(self, requests):
        time.sleep(self.seconds)
        prompts = [request.prompt for request in requests]
        self.batches.append(prompts)
        for index, prompt in enumerate(prompts):
            reply = {"text": prompt.upper(), "prompt_tokens": len(prompt), "tokens": 2}
            yield index, json.dumps(reply)

    def decode(self, reply, request):
        return json.loads(reply)["text"]


class Words:
    """Retrieves a paragraph for each of the first k words of the query."""

    answers = Retrieve
    fingerprint = "words"

    def __init__(self):
        self.batches = []

    def answer(self, requests):
        self.batches.append([request.query for request in requests])
        for place, request in enumerate(requests):
            yield place, json.dumps(request.query.split()[: request.k])

    def decode(self, reply, request):
        words = json.loads(reply)[: request.k]
        return tuple(Paragraph(word, word, word) for word in words)


def chain(question, steps):
    """Retrieve, then write and retrieve in turn, as IRCoT does."""
    paragraphs, thoughts = list((yield Retrieve(question, 1))), []
    while len(thoughts) < steps:
        thoughts.append((yield Generate(" ".join([question, *thoughts]), SENTENCE)))
        paragraphs += yield Retrieve(thoughts[-1], 1)
    return [paragraph.id for paragraph in paragraphs], thoughts


def results_of(outcomes):
    """The results by question, as JSON gives them back."""
    results = {id: outcome.result for id, outcome in outcomes.items()}
    return json.loads(json.dumps(results))


def chains(count=10):
    """Chains of 1, 2 and 3 steps in turn."""
    return {f"q{n}": chain(f"question {n}", 1 + n % 3) for n in range(count)}


def test_one_program_from_request_to_outcome():
    outcomes, counts = run({"q": chain("ab cd", 2)}, [Words(), Upper()], Calls())
    paragraph, capital = Paragraph("ab", "ab", "ab"), Paragraph("AB", "AB", "AB")
    trace = (
        Step(Retrieve("ab cd", 1), (paragraph,), False),
        Step(Generate("ab cd", SENTENCE), "AB CD", False, 5, 2),
        Step(Retrieve("AB CD", 1), (capital,), False),
        Step(Generate("ab cd AB CD", SENTENCE), "AB CD AB CD", False, 11, 2),
        Step(Retrieve("AB CD AB CD", 1), (capital,), False),
    )
    result = ["ab", "AB", "AB"], ["AB CD", "AB CD AB CD"]
    assert outcomes == {"q": Outcome("q", result, trace)}
    names = ("requests", "computed", "prompt_tokens", "tokens")
    numbers = {"Retrieve": (3, 3, 0, 0), "Generate": (2, 2, 16, 4)}
    assert counts == {kind: dict(zip(names, row)) for kind, row in numbers.items()}
    assert json.loads(json.dumps(counts)) == counts  # for run.json


def test_one_retrieval_serves_every_smaller_k():
    words, calls = Words(), Calls()
    words.prepare = lambda request: replace(request, k=max(4, request.k))
    programs = {k: asks(Retrieve("a b c d e f", k)) for k in (2, 3, 4, 5)}
    outcomes, counts = run(programs, [words], calls)
    for k, outcome in outcomes.items():
        assert [paragraph.id for paragraph in outcome.result] == [*"abcde"[:k]]
    steps = [outcome.trace[0] for outcome in outcomes.values()]
    assert [step.request.k for step in steps] == [2, 3, 4, 5]
    assert [step.cached for step in steps] == [False, True, True, False]
    assert counts["Retrieve"]["requests"] == 4 and len(words.batches) == 1
    assert counts["Retrieve"]["computed"] == 2


@pytest.mark.parametrize("turned", [False, True])
def test_batches_are_refilled_as_questions_end(turned):
    words, upper = Words(), Upper()
    backends = [upper, words] if turned else [words, upper]
    outcomes, counts = run(chains(), backends, Calls())
    assert list(outcomes) == [f"q{number}" for number in range(10)]
    lengths = [len(outcome.result[1]) for outcome in outcomes.values()]
    assert lengths == [1, 2, 3, 1, 2, 3, 1, 2, 3, 1]
    assert counts["Generate"]["computed"] == 19
    assert [len(batch) for batch in upper.batches] == [4, 4, 4, 4, 3]
    assert len(words.batches[0]) == 10  # all waiting requests at once
    assert [len(batch) for batch in words.batches[1:]] == [4, 4, 4, 4, 3]
    again = Words(), Upper()  # the same programs make the same batches
    run(chains(), again[::-1] if turned else again, Calls())
    assert [again[0].batches, again[1].batches] == [words.batches, upper.batches]


def test_a_second_run_asks_no_backend_and_reports_the_same_tokens(tmp_path):
    with Calls(tmp_path / "calls.sqlite") as calls:
        outcomes, counts = run(chains(), [Words(), Upper()], calls)
    again = Words(), Upper()
    with Calls(tmp_path / "calls.sqlite") as calls:
        replayed, recounts = run(chains(), again, calls)
    assert again[0].batches == again[1].batches == []
    assert results_of(replayed) == results_of(outcomes)
    assert all(step.cached for outcome in replayed.values() for step in outcome.trace)
    for kind in ("Retrieve", "Generate"):
        assert recounts[kind] == counts[kind] | {"computed": 0}


def test_requests_that_the_cache_lacks_are_found_without_a_backend():
    calls, words, upper = Calls(), Words(), Upper()
    asked = Words(), Upper()
    assert find_missing(chains(2), asked, calls) == ["q0", "q1"]
    run({"q0": chain("question 0", 1)}, [words, upper], calls)
    programs = {"q0": chain("question 0", 1), "q1": chain("question 0", 2)}
    assert find_missing(programs, asked, calls) == ["q1"]
    run(chains(), [words, upper], calls)
    assert find_missing(chains(), asked, calls) == []
    asked[1].fingerprint = None  # whose replies are never stored
    assert len(find_missing(chains(), asked, calls)) == 10
    assert asked[0].batches == asked[1].batches == []


def asks(request):
    """A program that returns the reply to one request."""
    return (yield request)


@pytest.mark.parametrize("request_", [Retrieve(None, 2), Generate(3)])
def test_a_request_without_a_text_is_said_at_its_question(request_):
    words, upper = Words(), Upper()
    message = "question 'q0': failed after 0 replies: TypeError.*found the (query|prom)"
    with pytest.raises(RuntimeError, match=message):
        run({"q0": asks(request_), "q1": chain("a", 1)}, [words, upper], Calls())
    assert words.batches == upper.batches == []


def test_a_sample_without_a_text_is_an_error_of_its_question():
    class Silent(Upper):
        answers = Sample

        def decode(self, reply, request):
            return ()

    with pytest.raises(RuntimeError, match="question 'q': .*found none of 3 texts"):
        run({"q": cot_sc(QUESTION, prompts=stages("cot"), n=3)}, [Silent()], Calls())


def test_a_request_that_no_backend_serves_is_an_error():
    message = "'q' asked a Generate, but the backends serve Retrieve: "
    with pytest.raises(UserError, match=message):
        run({"q": chain("question 1", 1)}, [Words()], Calls())


def test_a_failing_backend_names_question_and_request_and_keeps_what_was_answered():
    class Fails(Upper):
        def answer(self, requests):
            if any("7" in request.prompt for request in requests):
                raise MemoryError("too big")
            return super().answer(requests)

    calls = Calls()
    message = r"question 'q\d' \(and 3 others with it\): Fails failed: MemoryError"
    message += r".*Generate\(prompt='question"
    with pytest.raises(RuntimeError, match=message):
        run(chains(), [Words(), Fails()], calls)
    again = Words(), Upper()
    _, counts = run(chains(), again, calls)
    assert counts["Generate"]["computed"] == 19 - 4
    assert len(again[0].batches[0]) == 4


def run_slowly(path):
    """What the processes below do; prints how many requests were computed."""
    with Calls(path) as calls:
        outcomes, counts = run(chains(30), [Words(), Upper(seconds=0.03)], calls)
    print(json.dumps([counts["Generate"]["computed"], results_of(outcomes)]))


def start_running(path):
    code = f"from test_scheduler import run_slowly; run_slowly({str(path)!r})"
    folders = (str(Path(__file__).parents[up]) for up in range(3))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(folders)}
    command = [sys.executable, "-c", code]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def expected():
    outcomes, counts = run(chains(30), [Words(), Upper()], Calls())
    return counts["Generate"]["computed"], results_of(outcomes)


def test_a_killed_run_continues_where_it_was(tmp_path):
    path = tmp_path / "calls.sqlite"
    process = start_running(path)
    deadline, stored = time.monotonic() + 15, 0
    while stored < 50:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.005)
        if path.exists():
            with Calls(path) as calls:
                stored = len(calls)
    process.send_signal(signal.SIGKILL)
    assert process.communicate()[0] == "" and process.returncode == -signal.SIGKILL
    with Calls(path) as calls:
        kept = len(calls)
        outcomes, counts = run(chains(30), [Words(), Upper()], calls)
        everything = len(calls)
    assert kept >= 50
    computed = counts["Generate"]["computed"] + counts["Retrieve"]["computed"]
    assert computed == everything - kept > 0
    assert results_of(outcomes) == expected()[1]


def test_two_processes_run_on_one_cache(tmp_path):
    both = [start_running(tmp_path / "calls.sqlite") for _ in range(2)]
    printed = [json.loads(process.communicate(timeout=15)[0]) for process in both]
    total, results = expected()
    assert [result for _, result in printed] == [results, results]
    assert all(computed <= total for computed, _ in printed)
    with Calls(tmp_path / "calls.sqlite") as calls:
        _, counts = run(chains(30), [Words(), Upper()], calls)
    assert counts["Generate"]["computed"] == 0


def test_a_request_that_fails_costs_only_its_question():
    class Picky(Upper):
        def answer(self, requests):
            for place, reply in super().answer(requests):
                bad = requests[place].prompt == "question 7"
                yield place, ValueError("too long") if bad else reply

    calls = Calls()
    message = r"'q7': 1 of 10 questions failed, this one with: ValueError\('too long'\)"
    with pytest.raises(RuntimeError, match=message):
        run(chains(), [Words(), Picky()], calls)
    words, upper = Words(), Upper()
    outcomes, counts = run(chains(), [words, upper], calls)
    assert len(outcomes) == 10
    # all else was kept
    assert upper.batches == [["question 7"], ["question 7 QUESTION 7"]]
    assert counts["Generate"]["computed"] == 2


@pytest.mark.parametrize("damaged", ["", '{"texts": 5}', b"?"])
def test_a_damaged_reply_blames_the_call_cache(damaged):
    with Calls() as calls:
        run({"q": asks(Generate("Who?"))}, [Upper()], calls)
        calls._file.execute("UPDATE calls SET reply = ?", (damaged,))
        blamed = "question 'q': .*cannot read the reply .*delete the call cache"
        with pytest.raises(RuntimeError, match=blamed) as error:
            run({"q": asks(Generate("Who?"))}, [Upper()], calls)
        assert "\n" not in str(error.value)
