"""The benchmark of the systems' seconds per question: python -m bench.systems. Writes
figures/bench_systems.csv.

Every system answers the first test questions of each data set with the first setting of
its grid, in one process with one thread, starting from an empty call cache.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pandas as pd

from bench import timed
from ircotlib.engine.cache import Calls
from ircotlib.experiment.runs import answer_all
from ircotlib.experiment.setup import Setup, open_setup
from ircotlib.options import new_parser
from ircotlib.parameters import Parameters, read_parameters
from ircotlib.results.figures import save_figure
from ircotlib.results.head_to_head import for_head_to_head, systems_of
from ircotlib.retrieval import retriever_name
from ircotlib.systems import System

QUESTIONS = 10  # of each data set


def time_system(setup: Setup, system: System) -> float:
    """The seconds per question that a system takes for all test questions at once."""
    setting = setup.settings(system)[0]
    with Calls() as calls:
        empty = replace(setup, calls=calls)
        answer = partial(answer_all, empty, system, setup.test, **setting)
        _, wall, _ = timed(answer)
        return wall / len(setup.test)


def time_all(p: Parameters) -> Iterator[dict]:
    """A row for each data set and system; models are read before the first one."""
    systems = systems_of(p)
    for dataset in p.datasets:
        setup = open_setup(p, dataset, "bench")
        setup = replace(setup, test=setup.test[:QUESTIONS])
        time_system(replace(setup, test=setup.test[:1]), systems[-1])
        for system in systems:
            yield {
                "profile": p.profile,
                "model": p.model,
                "dataset": dataset,
                "retriever": retriever_name(p.retriever),
                "system": system.name,
                "seconds": round(time_system(setup, system), 3),
                "n": len(setup.test),
            }
            print(dataset, system.name, flush=True)


def main() -> None:
    new_parser(__doc__).parse_args()
    import torch  # takes seconds, so only once the options are read

    torch.set_num_threads(1)
    table = pd.DataFrame(time_all(for_head_to_head(read_parameters("mini"))))
    save_figure(None, table, "bench_systems")
    print(table.groupby("system", sort=False)["seconds"].mean().round(2).to_string())


if __name__ == "__main__":
    main()
