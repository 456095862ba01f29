"""`ircotlib plan` says what runs then take."""

import pandas as pd
from ircotlib.command.plan import ALL, REPLAY, START, make_plan, show
from ircotlib.experiment.costs import most_generations
from ircotlib.experiment.plans import read_all_comparisons, read_comparisons

from ircotlib.__main__ import main
from ircotlib.experiment.compare import compare_systems
from ircotlib.experiment.runs import read_about
from ircotlib.experiment.setup import open_benches
from ircotlib.generation.budget import find_price
from ircotlib.parameters import read_parameters
from ircotlib.results.runs import count_requests
from ircotlib.systems import choose_systems

FEW = {"model": "simulated", "datasets": ["musique", "iirc"], "dev": 10, "test": 20}
FEW |= {"oner_k": [5, 9, 15], "ircot_k": [2, 4], "distractors": [1, 2], "both_readers": False}
EXPECTED = {"generations": "calls", "retrievals": "retrievals"}
EXPECTED |= {"prompt_tokens": "tokens_in", "tokens": "tokens_out"}


def make(notebooks, questions, changes, profile="mini", workers=None):
    """The plan of notebooks, by name."""
    p = read_parameters(profile, changes)
    comparisons, _ = read_all_comparisons(profile, changes, notebooks)
    return make_plan(p, comparisons, questions, workers).set_index("notebook")


def test_what_is_planned_is_what_runs_then_take():
    p = read_parameters("mini", FEW | {"demonstration_sets": 2})
    plan = make(["04_ircot", "08_factuality"], 5, FEW | {"demonstration_sets": 2})
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
    changes = FEW | {"head_to_head": ["musique"], "datasets": ["musique"]}
    plan = make(["11_searchain", "13_head_to_head"], 2, changes)
    assert plan.loc[ALL, "generations"] == plan["generations"].iloc[:2].sum()
    new = plan["new_generations"]
    assert new["13_head_to_head"] <= new[ALL] < 1.1 * new["13_head_to_head"]


def test_without_a_sample_the_most_is_known_without_data_or_model():
    changes = {"server": "http://127.0.0.1:1", "model": "gpt-4o-mini", "data_dir": "/nonexistent"}
    changes |= {"both_readers": False}
    p = read_parameters("paper", changes)
    table = make(["04_ircot"], 0, changes, "paper").reset_index()
    plan = table.set_index("notebook").loc["04_ircot"]
    of, _ = read_comparisons("04_ircot", "paper", changes)
    assert [bench.dataset.name for bench in of.benches] == p.datasets
    generations, sizes = 0, {"dev": 100, "test": 500}
    for run in of.runs:
        generations += sizes[run.part] * most_generations(run.bench, run.system)
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
    plan = make(["06_scale"], 1, changes, workers=1).iloc[0]
    # 100 questions with each model, and more than is needed to start and to draw
    assert plan["runs"] == 2 and plan["generations"] == 200
    assert plan["minutes"] * 60 > START + 400 * REPLAY and plan["gigabytes"] < 2
    assert pd.isna(plan["most_usd"])
