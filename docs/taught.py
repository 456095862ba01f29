"""What the pages say of the shipped models: how they were trained, and how well the agent plays."""

import json
from collections import Counter

import pandas as pd

from docs.pages import as_table, read
from ircotlib.files.paths import MODELS
from training.agent.draw_transcripts import LESSONS, taught_stages

PAPERS = "as in the papers"

AGENTS = "agent", "agent-by-system"  # the shipped one, and one whose plays were drawn by system


def trainings() -> dict[str, dict]:
    """The records of the shipped models: the T5s by size, then the causal ones."""
    records = {path.parent: json.loads(path.read_text()) for path in MODELS.glob("*/training.json")}
    records = {folder: record for folder, record in records.items() if folder.name != AGENTS[1]}
    causal = {f: "is_encoder_decoder" not in (f / "config.json").read_text() for f in records}
    order = sorted(records, key=lambda folder: (causal[folder], records[folder]["parameters"]))
    return {folder.name: records[folder] for folder in order}


def models() -> dict:
    rows = []
    for name, record in trainings().items():
        legs, seconds = [record], Counter()
        while legs[-1].get("start"):
            legs.append(legs[-1]["start"])
        for leg in legs:  # the first record lacks its device: that was one core
            cores = "one core" if leg.get("threads", 1) == 1 else "two cores"
            seconds["a GPU" if leg.get("device") == "cuda" else cores] += leg["seconds"]
        steps = sum(leg.get("steps_taken", leg["steps"]) for leg in legs)
        start = "an earlier model, not shipped" if len(legs) > 1 else "scratch"
        devices = sorted(seconds, key=["one core", "two cores", "a GPU"].index)
        minutes = ", ".join(f"{round(seconds[device] / 60):,} on {device}" for device in devices)
        rows.append([name, f"{record['parameters'] / 1e6:.2f}", start, f"{steps:,}", minutes])
    head = ["", "parameters, millions", "starts from", "steps in all", "minutes in all"]
    sizes, steps = ({row[0]: row[n] for row in rows} for n in (1, 3))
    times = float(sizes["mini-xxl"]) / float(sizes["mini-xl"])
    share = 100 / (len(taught_stages()) + sum(LESSONS.values()))
    return {
        "models": as_table(head, rows),
        "times larger": [f"{times:.1f}"],
        "steps": [steps["mini-base"], steps["mini-xxl"]],
        "shares": [str(len(taught_stages())), f"{share:.1f}"],
    }


def agent() -> dict:
    """How well the agent plays, beside the one before it, whose plays were drawn by system."""
    now, before = (json.loads((MODELS / f / "playing.json").read_text()) for f in AGENTS)
    closed = pd.DataFrame(now["closed"]).groupby("system", sort=False)[["parsed", "mean"]].mean()
    stages = [(stage, right, before["by stage"][stage]) for stage, right in now["by stage"].items()]
    curve = pd.read_json(MODELS / AGENTS[0] / "training.jsonl", lines=True).set_index("step")
    curve = curve["turns"][[5_000, 10_000, 15_000]]
    heads = [read("head_to_head_equal"), read("head_to_head_by_system")]
    heads = [head.pivot(index="system", columns="setting", values="mean") for head in heads]
    turns = pd.DataFrame({0: now["by system"], 1: before["by system"]}) * 100
    taught = turns.join(heads[0].join(heads[1].add_suffix(" before")), how="right")
    taught = taught.sort_values(PAPERS, ascending=False)
    ranks = [
        taught[[n, column]].corr("spearman").iloc[0, 1]
        for n, column in enumerate((PAPERS, f"{PAPERS} before"))
    ]
    changes = taught[0] - taught[1], taught[PAPERS] - taught[f"{PAPERS} before"]
    ranks.append(changes[0].corr(changes[1], "spearman"))
    order = [0, 1, *(f"{name}{when}" for name in heads[0] for when in ("", " before"))]
    head = ["", "turns right, %", "drawn by system"]
    head += [cell for name in heads[0] for cell in (f"{name}, right, %", "drawn by system")]
    return {
        "turns": [f"{now['turns']:,}"],
        "stages": as_table(
            ["stage", "turns right, %", "drawn by system"],
            [[name, *(f"{100 * x:.0f}" for x in shares)] for name, *shares in stages],
        ),
        "curve": [x for n, y in curve.items() for x in (f"{100 * y:.0f}", f"{n:,}")][:-1],
        "closed": as_table(
            ["system", "parsed, %", "mean of the data sets' measures, %"],
            [[name, *(f"{100 * x:.0f}" for x in row)] for name, *row in closed.itertuples()],
        ),
        "teaching": as_table(
            head, [[name, *(f"{x:.1f}" for x in row)] for name, *row in taught[order].itertuples()]
        ),
        "ranks": [f"{rank:.2f}" for rank in ranks],
    }
