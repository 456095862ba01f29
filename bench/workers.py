"""The benchmark of workers: python -m bench.workers. Writes figures/bench_workers.csv.

It plays all systems of the head to head, tuning included, with 1 worker, 2, and on as there are
cores, each from an empty call cache. `seconds` include the start of the workers. Where other
programs run, seconds mislead; `cpu` is the CPU seconds of all processes, `longest` those of the
process that waits and of its busiest worker: what it takes on an idle machine. `again`: the CPU
seconds of replaying all runs from the call cache. `others`: how many answers and scores are not
those of one worker, to the last digit.

    python -m bench.workers --questions 30 --set 'head_to_head=[hotpotqa]'
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from hashlib import blake2b
from operator import ne
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import psutil

from ircotlib.comparing.comparison import compare_systems
from ircotlib.files.options import new_parser, parse_changes, read_count, refusing
from ircotlib.files.paths import DATA
from ircotlib.files.processes import count_cores
from ircotlib.parameters import Parameters, read_parameters
from ircotlib.results.figures.panels import save_figure
from ircotlib.results.head_to_head import panels_of, systems_of
from ircotlib.running.bench import open_benches
from ircotlib.running.run import FILES, read_about

COUNTS = (1, 2, 4, 8)
EXPERIMENT = "workers"


def cpu_seconds(process: psutil.Process) -> float:
    """The CPU seconds that a process has taken so far."""
    times = process.cpu_times()
    return times.user + times.system


def measure(play: Callable[[], object]) -> dict:
    """The seconds and CPU seconds that it takes to play."""
    own, started = psutil.Process(), time.perf_counter()
    before = cpu_seconds(own)
    play()
    seconds, driver = time.perf_counter() - started, cpu_seconds(own) - before
    workers = [cpu_seconds(child) for child in own.children()]
    cpu, longest = driver + sum(workers), driver + max(workers, default=0.0)
    return {"seconds": seconds, "cpu": cpu, "longest": longest, "driver": driver}


def play_all(p: Parameters) -> dict:
    """Play all systems, then replay them; a row of the table, and hashes of the runs' lines."""
    benches, systems = open_benches(p, EXPERIMENT), systems_of(p)
    row = {"workers": p.workers}
    row |= measure(lambda: compare_systems(benches, systems, 1))
    row |= {"again": measure(lambda: compare_systems(benches, systems, 1))["driver"]}
    folders = [path.parent for path in sorted(benches[0].runs.parent.rglob("run.json"))]
    counts = [kind for folder in folders for kind in read_about(folder)["counts"].values()]
    row |= {"requests": sum(kind["requests"] for kind in counts)}
    files = [(folder / name).read_bytes() for folder in folders for name in FILES]
    lines = [line for file in files for line in file.splitlines()]
    return row | {"lines": [blake2b(line, digest_size=8).hexdigest() for line in lines]}


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--profile", default="mini")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--questions", type=read_count, default=30, help="of each data set")
    parser.add_argument("--play", type=read_count, help="play with so many workers, here and now")
    options = parser.parse_args()
    with refusing():
        changes = parse_changes(options.set)
        few = {"test": options.questions, "dev": 10} | changes
        p = panels_of(read_parameters(options.profile, changes).change(**few))[0]
    if options.play:
        print(json.dumps(play_all(p.change(workers=options.play))))
        return
    open_benches(p, EXPERIMENT)  # makes what is missing
    rows = []
    for count in [count for count in COUNTS if count <= count_cores()]:
        with TemporaryDirectory() as folder:
            for name in ("corpora", "indexes", "laboratory"):
                (Path(folder) / name).symlink_to(DATA / name)
            command = [sys.executable, "-m", "bench.workers", *sys.argv[1:], "--play", str(count)]
            surroundings = os.environ | {"IRCOT_DATA": folder, "IRCOT_BATCH": "1"}
            piped = {"stdout": subprocess.PIPE, "text": True, "check": True}
            rows.append(json.loads(subprocess.run(command, env=surroundings, **piped).stdout))
    table = pd.DataFrame(rows).drop(columns="lines")
    table["others"] = [sum(map(ne, row["lines"], rows[0]["lines"])) for row in rows]
    table["faster"] = table["longest"].iloc[0] / table["longest"]
    save_figure(None, table.round(2), "bench_workers", p)
    print(table.round(2).to_string(index=False))


if __name__ == "__main__":
    main()
