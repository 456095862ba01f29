"""The benchmark of the systems' seconds per question: python -m bench.systems, or make bench.
Writes figures/bench_systems.csv, which `13_head_to_head` and SearChain's Table 6 show.

It runs every system of the head to head on the first test questions of each data set, with the
first setting of its grid, in one process with one thread, starting from empty call caches.

    python -m bench.systems --set agent=FOLDER --questions 20
"""

import time
from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from ircotlib.engine.cache import Calls
from ircotlib.engine.scheduler import run
from ircotlib.experiment.runs import name_model
from ircotlib.experiment.setup import Setup, open_setup, program_of
from ircotlib.files.options import new_parser, parse_changes, read_count, refusing
from ircotlib.files.progress import track
from ircotlib.parameters import Parameters, read_parameters
from ircotlib.results.figures.panels import save_figure
from ircotlib.results.head_to_head import EXPERIMENT, TIMES, panels_of, systems_of
from ircotlib.retrieval import retriever_name
from ircotlib.systems import System

QUESTIONS = 10  # of each data set


def time_system(bench: Setup, system: System, again: bool = False) -> float:
    """The seconds per question that a system takes with an empty call cache, answering all test
    questions of the bench at once; `again`: those of CPU when it answers them once more.
    """
    clock = time.process_time if again else time.perf_counter
    setting = {name: values[0] for name, values in bench.grid(system).items()}
    build = program_of(bench, system, **setting)
    with Calls() as calls:
        for _ in range(1 + again):
            started = clock()
            run({question.id: build(question) for question in bench.test}, bench.backends, calls)
        return (clock() - started) / len(bench.test)


def time_all(p: Parameters, questions: int, driver: bool = False) -> Iterator[dict]:
    """A row for each data set and system. The first run of a bench, which opens everything, is not
    counted. `driver`: in milliseconds, without retrieving.
    """
    systems = systems_of(p)
    for dataset in p.datasets:
        bench = open_setup(p, dataset, EXPERIMENT)
        bench = replace(bench, test=bench.test[:questions])
        time_system(replace(bench, test=bench.test[:1]), systems[-1])
        for system in track(systems, f"{dataset}, systems"):
            row = {"profile": p.profile, "model": name_model(p), "dataset": dataset}
            row |= {"retriever": retriever_name(p.retriever), "system": system.name}
            seconds = time_system(bench, system, driver)
            row |= {"ms": round(1e3 * seconds, 2)} if driver else {"seconds": round(seconds, 3)}
            row |= {"n": len(bench.test)}
            yield row


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--profile", default="mini")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--questions", type=read_count, default=QUESTIONS, help="of each data set")
    options = parser.parse_args()
    with refusing():
        p = read_parameters(options.profile, parse_changes(options.set))
        p = panels_of(p)[0]
    import torch  # takes seconds, so only once the options are read

    torch.set_num_threads(1)
    table = pd.DataFrame(time_all(p, options.questions))
    save_figure(None, table, TIMES, p)
    print(table.groupby("system", sort=False)["seconds"].mean().round(2).to_string())


if __name__ == "__main__":
    main()
