"""Systems on two data sets behind a server of batch files: few waves, and runs as without."""

import json

import pytest
from serving import serve_batches

pytest.importorskip("openai", reason="needs the client: pip install -e '.[server]'")

from ircot_laboratory.make import make_laboratory
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup
from ircotlib.experiment.compare import Comparison, run_system
from ircotlib.experiment.runs import FILES, read_about
from ircotlib.experiment.setup import name_benches, open_benches
from ircotlib.parameters import read_parameters
from ircotlib.systems import choose_systems

SYSTEMS = choose_systems(["OneR", "IRCoT QA", "CoT-SC", "Self-Ask", "Verify-and-Edit"])


@pytest.fixture
def server():
    with serve_batches() as server:
        server.plan()
        yield server


@pytest.fixture
def parameters(tmp_path, server):
    folder = make_laboratory(tmp_path / "world", 5, 100, 10)
    few = {
        "dev": 2,
        "test": 4,
        "distractors": [1],
        "ircot_k": [2, 3],
        "oner_k": [2],
        "max_steps": 4,
    }
    few |= {"data_dir": str(folder), "datasets": ["hotpotqa", "musique"], "extractor": ""}
    return read_parameters("mini", few | {"model": "m", "server": server.url, "prices": [1, 1]})


def compare(p, folder, monkeypatch) -> tuple[dict[str, bytes], list[dict]]:
    """The files of all runs by name, and what run.json says of them."""
    monkeypatch.setattr(setup, "DATA", folder)
    monkeypatch.setattr(backends, "DATA", folder)
    monkeypatch.setattr(backends, "DATA", folder)
    Comparison(name_benches(p, "together"), SYSTEMS).run()
    runs = sorted(path.parent for path in folder.rglob("run.json"))
    files = {
        str(run.relative_to(folder) / f): (run / f).read_bytes() for run in runs for f in FILES
    }
    return files, [read_about(run) for run in runs]


def steps(files: dict[str, bytes], part: str) -> int:
    """The most texts, one after another, that a question of the dev or test runs asked for."""
    texts = [text for name, text in files.items() if f"/{part}/" in name and "predict" in name]
    traces = [json.loads(line)["trace"] for text in texts for line in text.splitlines()]
    return max(sum("tokens" in step for step in trace) for trace in traces)


def test_runs_are_as_without_and_waves_as_many_as_the_longest_program_has(
    tmp_path, monkeypatch, parameters, server
):
    alone, costs = compare(parameters, tmp_path / "alone", monkeypatch)
    sent = len(server.log()["single"])
    server.plan()
    together, others = compare(parameters.change(batch=True), tmp_path / "together", monkeypatch)
    assert together == alone and len(alone) == 2 * 2 * (2 + 5)
    log = server.log()
    assert len(server.lines()) == sent > 60 and not log["single"]
    assert len(log["batches"]) == steps(alone, "dev") + steps(alone, "test")
    assert steps(alone, "test") == 5
    for name in ("usd", "paid"):
        totals = [sum(about["cost"][name] for about in each) for each in (costs, others)]
        assert totals[0] == pytest.approx(totals[1]) and totals[0] > 0


@pytest.mark.parametrize(("prices", "paid"), [([1, 1], "USD"), (None, "unknown cost")])
def test_what_systems_may_cost_and_cost_is_told_once_for_all(
    tmp_path, monkeypatch, parameters, server, capsys, prices, paid
):
    p = parameters.change(prices=prices, datasets=["hotpotqa"])
    compare(p, tmp_path, monkeypatch)
    lines = [line for line in capsys.readouterr().err.splitlines() if "hotpotqa, " in line]
    most, sent = (line for line in lines if "cost" in line)
    assert most.startswith("hotpotqa, 5 systems, 24 questions: at most ") and paid in most
    assert f": {len(server.log()['single'])} requests were sent, " in sent and paid in sent
    compare(p, tmp_path, monkeypatch)  # nothing is asked again
    assert "requests were sent" not in capsys.readouterr().err
    bench, setting = open_benches(p, "alone")[0], {"k": 2, "demonstration_set": 0}
    run_system(bench, SYSTEMS[1], **setting)
    assert capsys.readouterr().err.count("hotpotqa, IRCoT QA, 4 questions: ") in (1, 2)
