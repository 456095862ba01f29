"""What the panels of 15_abilities share: plays at points, and their means with intervals."""

from collections.abc import Mapping, Sequence

import pandas as pd

from ircotlib.parameters import Parameters
from ircotlib.results.abilities.plays import Play, play_all
from ircotlib.results.statistics import summarise


def play_points(p: Parameters, points: Sequence[tuple[Mapping, Play]]) -> pd.DataFrame:
    """The rows of `play_all`, with the labels of each point, such as panel and x, as columns. Equal
    plays are made once.
    """
    plays = {repr(play): play for _, play in points}
    number = {text: n for n, text in enumerate(plays)}
    rows = play_all(p, list(plays.values()), p.abilities_test)
    labels = pd.DataFrame([{**label, "play": number[repr(play)]} for label, play in points])
    kept = rows[["play", "dataset", "system", "metric", "id", "score", "recall"]]
    return labels.merge(kept.drop(columns=labels.columns.drop("play"), errors="ignore"), on="play")


def average(scores: pd.DataFrame, *by: str) -> pd.DataFrame:
    """The mean score of each group in percent, with its 95% bootstrap interval over the questions
    of all its data sets.
    """
    ids = scores["dataset"] + " " + scores["id"]
    scores = scores.assign(id=ids, metric="score", demonstration_set=0)
    return summarise(scores, by).drop(columns=["metric", "deviation"])


def describe_plays(p: Parameters) -> str:
    """What a figure was made with, for its title."""
    return f"simulated reader, profile {p.profile}, n = {p.abilities_test} questions a data set"
