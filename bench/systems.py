"""The benchmark of the systems' seconds per question: python -m bench.systems. Writes
figures/bench_systems.csv.

Every system answers the first test questions of each data set with the first setting of
its grid, in one process with one thread, starting from an empty call cache.
"""

import time
from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from ircotlib.engine.cache import Calls
from ircotlib.engine.scheduler import run
from ircotlib.experiment.plan import find_plan
from ircotlib.experiment.setup import Setup, open_setup
from ircotlib.options import new_parser
from ircotlib.parameters import read_parameters
from ircotlib.results.figures import save_figure
from ircotlib.results.head_to_head import for_head_to_head, systems_of
from ircotlib.retrieval import retriever_name
from ircotlib.systems import System


def time_system(setup: Setup, system: System) -> float:
    """The seconds per question that a system takes for all test questions at once."""
    build = find_plan(setup, system, setup.settings(system)[0]).program
    with Calls() as calls:
        started = time.perf_counter()
        programs = {question.id: build(question) for question in setup.test}
        run(programs, setup.backends, calls)
        return (time.perf_counter() - started) / len(setup.test)


def time_all(p, questions: int) -> Iterator[dict]:
    """A row for each data set and system; models are read before the first one."""
    systems = systems_of(p)
    for dataset in p.datasets:
        setup = open_setup(p, dataset, "bench")
        setup = replace(setup, test=setup.test[:questions])
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
    parser = new_parser(__doc__)
    parser.add_argument("--profile", default="mini")
    parser.add_argument("--questions", type=int, default=10, help="of each data set")
    options = parser.parse_args()
    import torch  # takes seconds, so only once the options are read

    torch.set_num_threads(1)
    p = for_head_to_head(read_parameters(options.profile))
    table = pd.DataFrame(time_all(p, options.questions))
    save_figure(None, table, "bench_systems", p)
    print(table.groupby("system", sort=False)["seconds"].mean().round(2).to_string())


if __name__ == "__main__":
    main()
