"""The table of the retrieval benchmark: which hits differ, and which targets are met."""

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

MEASURES = {  # the measures of each step: their names in the table and their units
    "build": {
        "wall": ("build, wall", "s"),
        "CPU": ("build, CPU", "s"),
        "peak": ("build, peak memory", "MB"),
        "size": ("index on disk", "MB"),
        "load": ("build, load before", "processes"),
    },
    "build-alone": {
        "wall": ("build in one process, wall", "s"),
        "CPU": ("build in one process, CPU", "s"),
        "peak": ("build in one process, peak memory", "MB"),
        "analysis": ("build in one process, CPU of analysis", "s"),
    },
    "search": {"peak": ("search, peak memory", "MB"), "load": ("search, load before", "processes")},
}
RATES = {
    "wall": ("", "queries/s"),
    "CPU": (", CPU", "queries/CPU-s"),
    "server": (", CPU of the server", "queries/CPU-s"),
}


class Row(NamedTuple):
    """One row of the table: a measure of a backend on a corpus of `paragraphs` paragraphs."""

    backend: str
    paragraphs: int
    measure: str
    value: float
    unit: str


def tabulate(results: dict[int, dict[str, dict]]) -> pd.DataFrame:
    """A table with one Row for each measure."""
    rows = [
        Row(backend, size, *row)
        for size, backends in results.items()
        for backend, steps in backends.items()
        for row in list_measures(steps)
    ]
    return pd.DataFrame(rows, columns=Row._fields)


def list_measures(steps: dict[str, dict]) -> Iterator[tuple[str, float, str]]:
    for step, found in steps.items():
        for key, (name, unit) in MEASURES.get(step, {}).items():
            if found[key] is not None:
                yield name, found[key], unit
    for way, rates in steps["search"]["rates"].items():
        for kind, (name, unit) in RATES.items():
            if kind in rates:
                yield way + name, rates[kind], unit


def compare_hits(results: dict[int, dict[str, dict]]) -> Iterator[str]:
    """For each other backend, a line: for how many queries it found the same hits in the same order
    as the embedded index, and what share of the hits both found in any order.
    """
    for size, backends in results.items():
        for backend in [backend for backend in backends if backend != "embedded"]:
            found = (backends[name]["search"]["hits"] for name in ("embedded", backend))
            pairs = list(zip(*found, strict=True))
            different = [pair for pair in pairs if positions_of(pair[0]) != positions_of(pair[1])]
            rounded = sum(map(differ_by_rounding, different))
            shared = sum(
                len({*positions_of(one)} & {*positions_of(other)}) / len(one)
                for one, other in pairs
            ) / len(pairs)
            same = len(pairs) - len(different)
            yield (
                f"{size:,} paragraphs, embedded and {backend}: the same hits in the same order for "
                f"{same} of {len(pairs)} queries, and for {rounded} more except for scores rounded "
                f"differently; share of hits in both: {shared:.3f}"
            )


def positions_of(hits: list) -> list[int]:
    return [position for position, _ in hits]


def differ_by_rounding(pair: tuple[list, list]) -> bool:
    """Whether both lists have the same scores, up to a difference in the third decimal."""
    return len(pair[0]) == len(pair[1]) and all(
        abs(one - other) < 0.0015 for (_, one), (_, other) in zip(*pair)
    )


def check_targets(table: pd.DataFrame) -> Iterator[str]:
    """The targets for the corpora that were measured, each with its numbers and whether it is met;
    for other sizes only the ratios.
    """
    found = table.set_index(["backend", "paragraphs", "measure"])["value"].sort_index()
    for size in table["paragraphs"].unique():
        ours = found["embedded", size]
        if size == 5_000_000:
            yield judge(
                f"embedded builds 5M in {ours['build, CPU'] / 60:.1f} CPU-minutes, at most 15",
                ours["build, CPU"] <= 15 * 60,
            )
            yield judge(
                f"with a peak memory of {ours['build, peak memory']:,.0f} MB, at most 1,024",
                ours["build, peak memory"] <= 1024,
            )
        share = ours["build in one process, CPU of analysis"] / ours["build in one process, CPU"]
        yield judge(
            f"{size:,} paragraphs: analysis is {share:.0%} of the CPU time of a build in one "
            "process, at most half",
            share <= 0.5,
        )
        for backend, wanted in (("Elasticsearch", 1.5), ("bm25s", 4.0)):
            if (backend, size, "build, CPU") in found.index:
                yield from compare_rates(size, backend, wanted, ours, found[backend, size])


def compare_rates(
    size: int, backend: str, wanted: float, ours: pd.Series, theirs: pd.Series
) -> Iterator[str]:
    """The ratios of queries per CPU-second, with the target for 1M paragraphs."""
    for way in (way for way in ours.index if way.endswith(", CPU") and not way.startswith("build")):
        ratio = ours[way] / theirs[way]
        times = f"{ratio:.2f} times as many queries a CPU-second as {backend}"
        words = f"{size:,} paragraphs, {way}: embedded answers {times}"
        yield judge(f"{words}, at least {wanted}", ratio >= wanted) if size == 1_000_000 else words


def judge(words: str, is_met: bool) -> str:
    return f"{'met' if is_met else 'not met'}: {words}"
