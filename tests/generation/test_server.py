"""mini-causal behind `transformers serve`, compared with itself on this machine; costs."""

import json
import math
from dataclasses import replace
from functools import partial
from itertools import product

import pytest
from asking import ask, ask_one
from serving import copy_model, serve_model
from tiny import read

pytest.importorskip("openai", reason="needs the client: pip install -e '.[server]'")
pytest.importorskip("uvicorn", reason="needs a server: pip install -e '.[dev]'")

from ircotlib.experiment.costs import most_generations

from ircotlib.experiment import backends, bench
from ircotlib.experiment.compare import run_system
from ircotlib.experiment.runs import Run, replay
from ircotlib.experiment.setup import open_setup
from ircotlib.generation.budget import find_price
from ircotlib.generation.local import LocalModel
from ircotlib.generation.server import ServerModel
from ircotlib.parameters import read_parameters
from ircotlib.program import LINE, SENTENCE, SENTENCE_OF_LINE, Generate, Message
from ircotlib.prompting.demonstrations import find_demonstrations
from ircotlib.prompting.prompt import GPT3, render_demonstration
from ircotlib.results.runs import read_costs
from ircotlib.systems import IRCOT, all_systems

S = all_systems()
STOPS = (SENTENCE, SENTENCE_OF_LINE, LINE, (" was", " in"), None)


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    return LocalModel(copy_model(tmp_path_factory.mktemp("models")))


@pytest.fixture(scope="module")
def url(local):
    with serve_model(local.folder) as url:
        yield url


@pytest.fixture
def parameters(tmp_path, monkeypatch, laboratory, local, url):
    monkeypatch.setattr(bench, "DATA", tmp_path)
    monkeypatch.setattr(backends, "DATA", tmp_path)
    changes = {"data_dir": str(laboratory), "dev": 0, "test": 2, "datasets": ["hotpotqa"]}
    changes |= {"model": local.name, "server": url, "context_tokens": 1050}
    return read_parameters("mini", changes | {"ircot_k": [2], "max_steps": 5})


@pytest.fixture(scope="module")
def prompt() -> str:
    shown = find_demonstrations("prompts/laboratory", "hotpotqa", "cot", "codex", 1, 0)[:2]
    examples = [render_demonstration(demonstration) for demonstration in shown]
    return "\n\n\n".join([examples[0], examples[1].rpartition("\nA: ")[0] + "\nA:"])


def test_completions_are_those_of_the_same_model_on_this_machine(local, url, prompt):
    requests = [Generate(prompt, stop, 25) for stop in STOPS]
    ours, theirs = read(local, requests), read(ServerModel(local.name, url), requests)
    for reply, other in zip(ours, theirs, strict=True):
        assert reply["text"] == other["text"] and reply["prompt_tokens"] == other["prompt_tokens"]
        assert reply["tokens"] <= other["tokens"] <= 25
    assert len({reply["text"] for reply in ours}) > 2


def test_chats_are_those_of_the_same_model_on_this_machine(local, url, prompt):
    messages = (Message("system", prompt[:-40]), Message("user", prompt[-40:]))
    requests = Generate(messages, LINE, 25), Generate(prompt, LINE, 25)
    texts = set()
    for backend in (local, ServerModel(local.name, url, chat=True)):
        texts |= {backend.decode(reply) for reply in ask(backend, requests)}
    assert len(texts) == 1 and texts != {""}
    assert isinstance(ask_one(ServerModel(local.name, url), requests[0]), ValueError)


def test_a_whole_run_is_that_of_the_same_model_on_this_machine(parameters, local, capsys):
    opened = open_setup(parameters.change(prices=[1.0, 10.0]), "hotpotqa", "04_ircot")
    system, setting = S["IRCoT QA"], {"k": 2, "m": 1, "demonstration_set": 0}
    run_system(opened, system, **setting)
    assert f"2 questions: at most 12 generations of {local.name}" in capsys.readouterr().err
    folder = Run(opened, system, "test", setting).folder
    theirs, about = _read(folder), json.loads((folder / "run.json").read_text())
    assert [row["answer"] for row in theirs] == [o.result.answer for o in replay(folder).values()]
    assert all(len(row["trace"]) >= 5 and row["answer"] for row in theirs)
    same = LocalModel(local.name)
    same.count_tokens = opened.model.count_tokens  # so that prompts are cut in the same way
    run_system(replace(opened, model=same), system, **setting)
    assert _read(folder) == theirs
    counts, cost = about["counts"]["Generate"], about["cost"]
    usd = (counts["prompt_tokens"] + 10 * counts["tokens"]) / 1e6
    assert cost["usd"] == cost["paid"] == pytest.approx(usd)
    assert cost["per_question"] == pytest.approx(usd / 2) and usd > 0


def _read(folder) -> list[dict]:
    """The predictions without token counts: a local model stops at once, but a server writes on."""
    rows = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
    for row in rows:
        steps = (step.items() for step in row["trace"])
        row["trace"] = [{n: v for n, v in step if "tokens" not in n} for step in steps]
    return rows


def test_costs_are_in_the_table_and_an_unknown_one_is_not_zero(parameters):
    for prices, each in ([1.0, 0.0], None), (None, math.nan):
        opened = open_setup(parameters.change(prices=prices), "hotpotqa", "04_ircot")
        run_system(opened, S["NoR QA"], demonstration_set=0)
        [row] = read_costs(opened.parameters, "04_ircot").to_dict("records")
        each = row["prompt tokens"] / 2e6 if each is None else each
        assert row["a question, USD"] == pytest.approx(each, nan_ok=True)
        assert row["cost, USD"] == pytest.approx(2 * each, nan_ok=True)
    folder = Run(opened, S["NoR QA"], "test", {"demonstration_set": 0}).folder
    assert json.loads((folder / "run.json").read_text())["cost"]["usd"] is None


def test_the_most_generations_are_those_of_the_longest_chain(parameters):
    opened = open_setup(parameters, "hotpotqa", "04_ircot")
    ours = {name: system for name, system in S.items() if system.study == IRCOT}
    most = {name: most_generations(opened, system) for name, system in ours.items()}
    expected = {"NoR QA": 1, "OneR": 0, "OneR QA": 1, "IRCoT": 5, "IRCoT QA": 6}
    assert most == expected | {"IRCoT QA w/o reader": 5}


def test_prices_are_dated_and_may_be_set():
    price = find_price("gpt-4o-mini")
    assert price.of(1_000_000, 500_000) == pytest.approx(price.input + price.output / 2)
    assert min(price[:2]) > 0 and "20" in price.about
    assert find_price("gpt-4o-mini", [0, 0]).of(10, 10) == 0
    assert find_price("no such model") is None
    # with a server, the profile `sample` needs nothing else
    p = read_parameters("sample", {"model": "m", "server": "http://127.0.0.1:1"})
    assert (p.style, p.reader, p.context_tokens, p.models) == (GPT3.name, "cot", None, ["m"])
    assert p.server == "http://127.0.0.1:1/v1" and p.demonstrations == "prompts/own"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"server": "127.0.0.1:8000"}, "server: .*expected http://127.0.0.1:8000"),
        ({"server": "http://a", "max_cost": 1}, "max_cost: found 1.0 and no price of .*set prices"),
        ({"max_cost": 1}, "max_cost and no server"),
        ({"batch": True}, "batch and no server"),
        ({"server": "http://a,http://b", "batch": True}, "http://b/v1, expected one"),
        ({"server": "http://a", "prices": [1]}, "prices"),
        ({"server": "http://a", "in_flight": 0}, "in_flight"),
    ],
)
def test_wrong_parameters_of_a_server_fail_before_any_work(changes, named):
    with pytest.raises(ValueError, match=named):
        read_parameters("mini", changes)


@pytest.mark.parametrize("dataset", ["hotpotqa", "2wikimultihopqa", "musique"])
def test_own_demonstrations_have_all_that_the_grid_asks_for(dataset):
    for style, number in product(("codex", "flan_t5"), range(3)):
        find = partial(find_demonstrations, "prompts/own", dataset)
        answers, chains = find("direct", style, 0, number), find("cot", style, 0, number)
        assert len(chains) >= 5 and not any(chain.paragraphs for chain in chains)
        for chain, answer in zip(chains, answers, strict=True):
            assert chain.answer.endswith(f"So the answer is: {answer.answer}.")
        for m in (2, 3):
            more, bare = find("cot", style, m, number), find("cot", style, 1, number)
            assert [chain.id for chain in more] == [chain.id for chain in chains]
            for chain, less in zip(more, bare, strict=True):
                assert len(chain.paragraphs) == len(less.paragraphs) + m - 1
                assert len({paragraph.title for paragraph in chain.paragraphs}) >= 2 + m
