"""A model behind a server: mini-causal behind `transformers serve`, a process on loopback, compared
with the same model loaded directly; the costs of runs; parameters.
"""

import json
import math
from dataclasses import replace

import pytest
from asking import ask_one
from serving import copy_model, serve_model
from tiny import read

pytest.importorskip("openai", reason="needs the client: pip install -e '.[server]'")
pytest.importorskip("uvicorn", reason="needs a server: pip install -e '.[dev]'")

from ircot_laboratory.make import make_laboratory
from ircotlib.files.paths import PRICES
from ircotlib.generation.budget import find_price
from ircotlib.generation.local import LocalModel
from ircotlib.generation.server import ServerModel
from ircotlib.parameters import read_parameters
from ircotlib.program import LINE, SENTENCE, SENTENCE_OF_LINE, Generate, Message, Sample
from ircotlib.prompting.demonstrations import find_demonstrations
from ircotlib.prompting.prompt import GPT3, render_demonstration
from ircotlib.results.runs import read_costs
from ircotlib.running import setup as bench
from ircotlib.running.costs import most_generations
from ircotlib.running.experiment import replay, run_system
from ircotlib.running.folder import run_folder
from ircotlib.running.setup import open_bench
from ircotlib.systems import IRCOT, all_systems

S = all_systems()
STOPS = (SENTENCE, SENTENCE_OF_LINE, LINE, (" was", " in"), None)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    server = serve_model(copy_model(tmp_path_factory.mktemp("models") / "copy"))
    yield server
    server.kill()


@pytest.fixture(scope="module")
def local(served):
    return LocalModel(served.model)


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory):
    folder = tmp_path_factory.mktemp("laboratory") / "small"
    return make_laboratory(folder, seed=5, size=600, questions=40)


@pytest.fixture
def parameters(tmp_path, monkeypatch, laboratory, served):
    monkeypatch.setattr(bench, "DATA", tmp_path)
    changes = {"data_dir": str(laboratory), "dev": 0, "test": 2, "datasets": ["hotpotqa"]}
    changes |= {"model": served.model, "server": served.url, "context_tokens": 1050}
    return read_parameters("mini", changes | {"ircot_k": [2], "max_steps": 5})


@pytest.fixture(scope="module")
def prompt() -> str:
    shown = find_demonstrations("prompts/laboratory", "hotpotqa", "cot", "codex", 1, 0)[:2]
    examples = [render_demonstration(demonstration) for demonstration in shown]
    return "\n\n\n".join([examples[0], examples[1].rpartition("\nA: ")[0] + "\nA:"])


def test_completions_are_those_of_the_same_model_on_this_machine(served, local, prompt):
    requests = [Generate(prompt, stop, 25) for stop in STOPS]
    backend = ServerModel(served.model, served.url)
    for ours, theirs in zip(read(local, requests), read(backend, requests), strict=True):
        assert ours["text"] == theirs["text"] and ours["prompt_tokens"] == theirs["prompt_tokens"]
        assert ours["tokens"] <= theirs["tokens"] <= 25
    texts = {reply["text"] for reply in read(local, requests)}
    assert len(texts) > 2


def test_chats_are_those_of_the_same_model_on_this_machine(served, local, prompt):
    messages = (Message("system", prompt[:-40]), Message("user", prompt[-40:]))
    backend = ServerModel(served.model, served.url, chat=True)
    request, as_text = Generate(messages, LINE, 25), Generate(prompt, LINE, 25)
    text = backend.decode(ask_one(backend, request))
    assert text == local.decode(ask_one(local, request)) == local.decode(ask_one(local, as_text))
    assert text == backend.decode(ask_one(backend, as_text)) != ""
    error = ask_one(ServerModel(served.model, served.url), request)
    assert "2 messages; set chat=true" in str(error)


def test_a_server_that_ignores_n_and_log_probabilities_still_draws(served, prompt):
    backend = ServerModel(served.model, served.url)
    first, second = backend.decode(ask_one(backend, Sample(prompt, 2, 100.0, LINE, 8)))
    assert first.log_probability is second.log_probability is None and first.text != second.text


def test_a_wrong_name_of_a_model_says_what_the_server_says(served):
    error = ask_one(ServerModel("other", served.url), Generate("Q: Who?\nA:"))
    assert "status 400, Server is pinned to" in str(error)


def test_a_whole_run_is_that_of_the_same_model_on_this_machine(parameters, served, capsys):
    opened = open_bench(parameters.change(prices=[1.0, 10.0]), "hotpotqa", "04_ircot")
    system, setting = S["IRCoT QA"], {"k": 2, "m": 1, "demonstration_set": 0}
    run_system(opened, system, **setting)
    folder = run_folder(opened, system, "test", setting)
    theirs, printed = _read(folder), capsys.readouterr().err
    answers = [outcome.result.answer for outcome in replay(folder).values()]
    assert answers == [row["answer"] for row in theirs]
    local = LocalModel(served.model)
    local.count_tokens = opened.model.count_tokens  # so that prompts are cut in the same way
    about = json.loads((folder / "run.json").read_text())
    run_system(replace(opened, model=local), system, **setting)
    assert [_without_counts(row) for row in _read(folder)] == [_without_counts(r) for r in theirs]
    assert all(len(row["trace"]) >= 5 and row["answer"] for row in theirs)
    counts, cost = about["counts"]["Generate"], about["cost"]
    usd = (counts["prompt_tokens"] + 10 * counts["tokens"]) / 1e6
    assert cost["usd"] == cost["paid"] == pytest.approx(usd)
    assert cost["per_question"] == pytest.approx(usd / 2) and usd > 0
    assert f"2 questions: at most 12 generations of {served.model}" in printed


def _read(folder) -> list[dict]:
    return [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]


def _without_counts(row: dict) -> dict:
    """A prediction without token counts: a local model stops at once, but a server writes on."""
    trace = [{n: v for n, v in step.items() if "tokens" not in n} for step in row["trace"]]
    return row | {"trace": trace}


# What runs cost


def test_costs_are_in_the_table_and_an_unknown_one_is_not_zero(parameters):
    for prices, each in ([1.0, 0.0], None), (None, math.nan):
        opened = open_bench(parameters.change(prices=prices), "hotpotqa", "04_ircot")
        run_system(opened, S["NoR QA"], demonstration_set=0)
        [row] = read_costs(opened.parameters, "04_ircot").to_dict("records")
        each = row["prompt tokens"] / 2e6 if each is None else each
        assert row["a question, USD"] == pytest.approx(each, nan_ok=True)
        assert row["cost, USD"] == pytest.approx(2 * each, nan_ok=True)
    folder = run_folder(opened, S["NoR QA"], "test", {"demonstration_set": 0})
    assert json.loads((folder / "run.json").read_text())["cost"]["usd"] is None


def test_the_most_generations_are_those_of_the_longest_chain(parameters):
    opened = open_bench(parameters, "hotpotqa", "04_ircot")
    ours = {name: system for name, system in S.items() if system.study == IRCOT}
    most = {name: most_generations(opened, system) for name, system in ours.items()}
    expected = {"NoR QA": 1, "OneR": 0, "OneR QA": 1}
    assert most == expected | {"IRCoT": 5, "IRCoT QA w/o reader": 5, "IRCoT QA": 6}


def test_prices_are_dated_and_may_be_set():
    header, *rows = PRICES.read_text().splitlines()
    assert header == "model,input,output,date,source" and len(rows) > 5
    price = find_price("gpt-4o-mini")
    assert price.of(1_000_000, 500_000) == pytest.approx(price.input + price.output / 2)
    assert min(price[:2]) > 0
    assert find_price("gpt-4o-mini", [0, 0]).of(10, 10) == 0
    assert find_price("no such model") is None


# Parameters


def test_with_a_server_the_profile_sample_needs_nothing_else():
    p = read_parameters("sample", {"model": "m", "server": "http://127.0.0.1:1"})
    assert (p.style, p.reader, p.context_tokens, p.models) == (GPT3.name, "cot", None, ["m"])
    assert p.server == "http://127.0.0.1:1/v1" and p.demonstrations == "prompts/own"
    p = read_parameters("sample", {"model": "m", "server": p.server, "style": "flan_t5"})
    assert p.style == "flan_t5"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"server": "127.0.0.1:8000"}, "server: .*expected http://127.0.0.1:8000"),
        ({"server": "http://me:word@a"}, "expected one without user and password"),
        ({"server": "http://a", "max_cost": 1}, "max_cost: found 1.0 and no price of .*set prices"),
        ({"max_cost": 1}, "max_cost or max_requests and no server"),
        ({"server": "http://a", "prices": [1]}, "prices"),
        ({"server": "http://a", "in_flight": 0}, "in_flight"),
        ({"server": "http://a", "timeout": 0}, "timeout"),
    ],
)
def test_wrong_parameters_of_a_server_fail_before_any_work(changes, named):
    with pytest.raises(ValueError, match=named):
        read_parameters("mini", changes)


@pytest.mark.parametrize("dataset", ["hotpotqa", "2wikimultihopqa", "musique"])
@pytest.mark.parametrize("style", ["codex", "flan_t5"])
def test_own_demonstrations_have_all_that_the_grid_asks_for(dataset, style):
    for number in range(3):
        where = "prompts/own", dataset
        chains = find_demonstrations(*where, "cot", style, 0, number)
        answers = find_demonstrations(*where, "direct", style, 0, number)
        assert len(chains) >= 5 and not any(chain.paragraphs for chain in chains)
        for chain, answer in zip(chains, answers, strict=True):
            assert chain.answer.endswith(f"So the answer is: {answer.answer}.")
        bare = find_demonstrations(*where, "cot", style, 1, number)
        for m in (2, 3):
            more = find_demonstrations(*where, "cot", style, m, number)
            assert [chain.id for chain in more] == [chain.id for chain in chains]
            for chain, less in zip(more, bare, strict=True):
                assert len(chain.paragraphs) == len(less.paragraphs) + m - 1
                assert len({paragraph.title for paragraph in chain.paragraphs}) >= 2 + m
