"""Reads the tables in this folder."""

import csv
from pathlib import Path


def read_table(name: str) -> list[dict[str, str]]:
    """The rows of <name>.csv, each a dictionary by column name."""
    with Path(__file__).with_name(f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
