"""Says what notebooks will take, before they run: requests, tokens, time, disk, memory, money.

ircotlib plan                                     the mini profile
ircotlib plan --only 04_ircot --set "ircot_k=[4]"
ircotlib plan --set "prices=[0.15, 0.6]"          and what a server of these prices would bill
ircotlib plan --profile paper --no-sample         only the most it can be: needs no data, no model

Likely values come from a sample: each system answers a few questions for real, with the first and
the last of its settings. These replies are kept: the notebooks do not ask for them again.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from ircotlib.command.figures import add_notebooks, choose_notebooks
from ircotlib.comparing.checks import check_notebooks, has_data
from ircotlib.comparing.comparison import Comparison
from ircotlib.comparing.costs import most_texts, most_usd, report_cost
from ircotlib.comparing.estimates import Planned, add_up, group_runs, play_sample
from ircotlib.comparing.plans import read_all_comparisons
from ircotlib.comparing.workers import count_workers
from ircotlib.errors import Unavailable
from ircotlib.files.checksums import one_line
from ircotlib.files.notebooks import about_notebook
from ircotlib.files.options import new_parser, parse_changes, read_count, read_workers
from ircotlib.files.paths import check_target
from ircotlib.files.processes import count_cores
from ircotlib.files.tables import write_table
from ircotlib.generation.budget import find_price
from ircotlib.parameters import Parameters, read_parameters
from ircotlib.running.bench import Bench

# measured with the mini profile (docs/cluster.md)
REPLY, ANSWER = 270, 1_400  # bytes: of a reply in the call cache, of an answered question in a run
PROCESS = 0.8  # GB of memory of a process, without its model
SHARE = 0.9  # of what one worker does alone, what each of two does (bench.workers)
START, REPLAY = 3.0, 0.0003  # seconds: to start a notebook, and to replay a request and draw
ALL = "all together"
WORDS = {"runs": "runs", "answers": "answers", "generations": "texts", "new_generations": "new"}
WORDS |= {"most_generations": "at most", "new_prompt_tokens": "read", "new_tokens": "written"}
WORDS |= {"retrievals": "retrievals", "minutes": "minutes", "megabytes": "MB", "gigabytes": "GB"}
WORDS |= {"usd": "USD", "most_usd": "at most USD"}
MEANING = {
    "runs": "each a system with one setting, on the questions of a data set, which it answers",
    "texts": "asked of the model; new: without what another system, setting or notebook asks, too",
    "at most": "if each chain is as long as it may be, and, in USD, if each text fills the window",
    "read": "tokens of the new texts, as written; none is taken to be in the call cache yet",
    "minutes": "on this machine, or behind this server",
    "MB": "on disk, for replies and runs; GB: of memory",
}


def list_planned(planned: Mapping[str, Sequence[Comparison]], opened: bool) -> Iterator[Planned]:
    """What notebooks run. `opened`: on benches that are opened, which needs data and models."""
    for notebook, comparisons in planned.items():
        for comparison in comparisons:
            known = opened and all(has_data(bench) for bench in comparison.benches)
            yield from group_runs(notebook, (comparison.open() if known else comparison).runs)


def make_plan(
    p: Parameters,
    comparisons: Mapping[str, Sequence[Comparison]],
    questions: int,
    workers: int | None,
) -> pd.DataFrame:
    """What notebooks will take that compare this: a row for each, and one for all, in which what
    several ask counts once. `questions`: that each system answers now; 0: none, and only the most
    is known. `workers`: that will play the runs; None: as many as there will be here.
    """
    planned = list(list_planned(comparisons, questions > 0))
    sampled = [one for one in planned if one.sample(questions)]
    workers = None if p.server else workers  # a server has none
    most = max((count_workers(one.runs[0].bench) for one in sampled), default=1)
    count = workers or min(count_cores(), most)
    requests = _play(sampled, questions, count) if sampled else None
    price = find_price(p.model, p.prices) if p.server or p.prices else None
    reading = {*comparisons} - {one.notebook for one in sampled}
    rows = []
    for name in [*comparisons, ALL]:
        chosen = [one for one in planned if name in (one.notebook, ALL)]
        runs = [run for one in chosen for run in one.runs]
        row = {"notebook": name, "workers": count, "runs": len(runs)}
        row |= {"answers": sum(one.answers for one in chosen)}
        row |= {"most_generations": most_texts(runs)}
        row |= {"most_usd": most_usd(runs) if price else None}
        if sampled:
            row |= add_up(requests[(requests["notebook"] == name) | (name == ALL)])
            row |= {"usd": price and price.of(row["new_prompt_tokens"], row["new_tokens"])}
            row |= {"megabytes": (row["new_requests"] * REPLY + row["answers"] * ANSWER) / 1e6}
            memory = [_memory(one.runs[0].bench, count) for one in chosen if one in sampled]
            row |= {"gigabytes": max(memory, default=PROCESS)}
        if questions:
            seconds = row.pop("seconds", 0) / (SHARE * count if count > 1 else 1)
            started = {one.notebook for one in chosen} - reading
            seconds += REPLAY * row.get("requests", 0) + START * len(started)
            as_in_mini = [about_notebook(n).minutes for n in reading if name in (n, ALL)]
            row |= {"minutes": seconds / 60 + sum(as_in_mini)}
        rows.append(row)
    return pd.DataFrame(rows)


def _play(sampled: Sequence[Planned], questions: int, count: int) -> pd.DataFrame:
    """The requests of a sample, whose cost is reported first."""
    runs = [run for one in sampled for run in one.sample(questions)]
    with report_cost(runs):
        return play_sample(sampled, questions, one_core=count > 1)


def _memory(bench: Bench, workers: int) -> float:
    """The GB of memory of the process of a notebook, and of its workers if there are several."""
    parameters = 0 if bench.parameters.server else getattr(bench.model, "parameters", 0)
    model = parameters * (4 if bench.parameters.dtype == "float32" else 2) / 1e9
    return PROCESS + model if workers == 1 else PROCESS + workers * (PROCESS + model)


def show(table: pd.DataFrame) -> str:
    """The table in words, without columns of which nothing is known, and what the words mean."""
    shown = table.set_index("notebook").dropna(axis=1, how="all").rename(columns=WORDS)
    shown = shown[[name for name in WORDS.values() if name in shown]].astype(float)
    text = shown.to_string(float_format=lambda n: f"{n:,.0f}" if n >= 10 else f"{n:.2g}")
    meaning = [f"{name}: {MEANING[name]}" for name in MEANING if name in shown]
    meaning += [f"workers: {table['workers'].max()}"] if "minutes" in shown else []
    return "\n".join([text, "", *meaning])


def is_plan(path: Path) -> bool:
    """Whether a file is a table that --csv wrote."""
    with path.open("rb") as file:
        return file.read(9) == b"notebook,"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__, "ircotlib plan")
    add = parser.add_argument
    add_notebooks(parser)
    add("--questions", type=read_count, default=5, help="that each system answers for the sample")
    workers = "for N workers, not those of this machine"
    add("--workers", type=read_workers, metavar="N", help=workers)
    add("--no-sample", action="store_true", help="only the most that it can be")
    add("--csv", type=Path, metavar="FILE", help="write the table, with more columns")
    options = parser.parse_args(arguments)
    changes = parse_changes(options.set)
    p = read_parameters(options.profile, changes)
    notebooks = choose_notebooks(options.only, p)
    questions = 0 if options.no_sample else options.questions
    if options.csv:
        check_target(options.csv, "such a table", ".csv", is_plan)
    changes |= {"batch": False}  # a sample waits for no batch files
    try:
        if questions:
            planned = check_notebooks(p, changes, notebooks)
        else:
            planned, _ = read_all_comparisons(p.profile, changes, notebooks)
        table = make_plan(p, planned, questions, options.workers)
    except (Unavailable, RuntimeError) as error:
        if not isinstance(error.__cause__ or error, (Unavailable, ConnectionError)):
            raise
        print(f"{one_line(error, most=None)}; without a sample:", file=sys.stderr, flush=True)
        planned, _ = read_all_comparisons(p.profile, changes, notebooks)
        table = make_plan(p, planned, 0, options.workers)
    if options.csv:
        write_table(options.csv, table)
    print(show(table))
