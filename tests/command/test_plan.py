"""`ircotlib plan` says what runs then take."""

import pandas as pd

from ircotlib.__main__ import main
from ircotlib.command.plan import ALL, REPLAY, START, make_plan, show
from ircotlib.comparing.costs import most_generations
from ircotlib.comparing.plans import plan_runs
from ircotlib.generation.budget import find_price
from ircotlib.parameters import read_parameters
from ircotlib.results.runs import count_requests
from ircotlib.running.bench import open_benches
from ircotlib.running.experiment import compare_systems
from ircotlib.running.run import read_about
from ircotlib.systems import choose_systems

FEW = {"model": "simulated", "datasets": ["musique", "iirc"], "dev": 10, "test": 20}
FEW |= {"oner_k": [5, 9, 15], "ircot_k": [2, 4], "distractors": [1, 2], "both_readers": False}
EXPECTED = {"generations": "calls", "retrievals": "retrievals"}
EXPECTED |= {"prompt_tokens": "tokens_in", "tokens": "tokens_out"}


def test_what_is_planned_is_what_runs_then_take():
    p = read_parameters("mini", FEW | {"demonstration_sets": 2})
    plan = make_plan(p, ["04_ircot", "08_factuality"], 5, None).set_index("notebook")
    benches = open_benches(p, "04_ircot")
    compare_systems(benches, choose_systems(), p.demonstration_sets)
    folders = [path.parent for bench in benches for path in bench.runs.rglob("run.json")]
    took = pd.DataFrame(count_requests(read_about(folder)) for folder in folders).sum()
    planned = plan.loc["04_ircot"]
    assert planned["runs"] == len(folders)
    assert planned["answers"] == sum(read_about(folder)["questions"] for folder in folders)
    for name, column in EXPECTED.items():
        assert took[column] / 1.5 < planned[name] < took[column] * 1.5, name
    assert took["calls"] <= planned["most_generations"]
    assert planned["new_retrievals"] < planned["retrievals"]
    # the other notebook reads only
    assert plan.loc["08_factuality", "requests"] == 0 < plan.loc["08_factuality", "minutes"]
    assert plan.loc[ALL, "generations"] == planned["generations"]


def test_what_notebooks_share_counts_once():
    p = read_parameters("mini", FEW | {"head_to_head": ["musique"], "datasets": ["musique"]})
    plan = make_plan(p, ["11_searchain", "13_head_to_head"], 2, None).set_index("notebook")
    assert plan.loc[ALL, "generations"] == plan["generations"].iloc[:2].sum()
    new = plan["new_generations"]
    assert new["13_head_to_head"] <= new[ALL] < 1.1 * new["13_head_to_head"]


def test_without_a_sample_the_most_is_known_without_data_or_model():
    changes = {"server": "http://127.0.0.1:1", "model": "gpt-4o-mini", "data_dir": "/nonexistent"}
    p = read_parameters("paper", changes | {"both_readers": False})
    table = make_plan(p, ["04_ircot"], 0, None)
    plan = table.set_index("notebook").loc["04_ircot"]
    [of] = plan_runs(p, "04_ircot")
    assert [bench.dataset for bench in of.benches] == p.datasets
    generations = 0
    for bench in of.benches:
        for system in of.systems:
            dev, test = of.count_runs(bench, system)
            generations += (dev * 100 + test * 500) * most_generations(bench, system)
    assert plan["most_generations"] == generations > 100_000
    price = find_price("gpt-4o-mini").of(8000, 0)
    assert generations * price < plan["most_usd"] < generations * price * 1.5
    assert "generations" not in plan and "at most USD" in show(table)


def test_a_server_that_is_away_leaves_the_most(capsys):
    arguments = ["--only", "12_baselines", "--set", "server=http://127.0.0.1:1", "--set", "model=x"]
    assert main(["plan", *arguments]) == 0
    printed = capsys.readouterr()
    assert "without a sample" in printed.err and "at most" in printed.out


def test_each_model_is_timed():
    models = ["data/models/mini-base", "data/models/mini-causal"]
    changes = {"models": models, "systems": ["OneR QA"], "datasets": ["musique"]}
    p = read_parameters("mini", changes)
    plan = make_plan(p, ["06_scale"], 1, 1).iloc[0]
    # 100 questions with each model, and more than is needed to start and to draw
    assert plan["runs"] == 2 and plan["generations"] == 200
    assert plan["minutes"] * 60 > START + 400 * REPLAY and plan["gigabytes"] < 2
    assert pd.isna(plan["most_usd"])
